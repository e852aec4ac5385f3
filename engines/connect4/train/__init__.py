"""Fits the weights of Connect Four's move features to self-play games: `fitting`, a script run by hand."""
