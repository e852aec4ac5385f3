"""Expectimax over an n-tuple network.

searcher     one search: a depth a step, until a limit binds
expectimax   the kernel: chance and evil environments, with a table of boards searched before
score        points as scores
"""
