"""Batch evaluation of tile positions: `b` and `a` lines in, values out.

answers   a batch of lines, answered by a function that looks up many positions
lines     the kernel that reads lines and writes answers
values    the kernel that evaluates positions with a network
"""
