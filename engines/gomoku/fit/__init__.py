"""Fits the pattern weights of Gomoku's evaluation and move ordering to games. Scripts, run by hand.

pattern_games   plays games of NegaScout against itself
records         the file format of these games
fitting         fits the weights and writes them to a .plyd file
"""
