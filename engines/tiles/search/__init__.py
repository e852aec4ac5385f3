"""Expectimax over an n-tuple network.

searcher     one search: iterative deepening until a limit is reached
root         the kernels that a search calls: the value of each slide or drop, in one thread or several
expectimax   the kernel below them: random or evil environment, with a transposition table
leaves       its last layer: the slides after a drop, each board evaluated once
keys         keys of its tables
score        points as scores
"""
