"""Expectimax over an n-tuple network.

searcher     one search: iterative deepening until a limit is reached
expectimax   the kernel: random or evil environment, with a transposition table
score        points as scores
"""
