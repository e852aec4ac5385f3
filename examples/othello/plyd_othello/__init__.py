"""Othello as a plug-in game of plyd.

rules     the rulebook in slow, obvious Python: the tests' oracle
kernel    the board, its evaluation and the alpha-beta search, compiled
search    the searcher: iterative deepening around the kernel
engine    the card and the engine, which the entry point in pyproject.toml names
"""
