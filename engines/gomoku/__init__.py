"""Gomoku: five in a row on a square board."""
