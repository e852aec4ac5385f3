"""Many positions of tile games at once: `b` and `a` lines in, values out.

answers   a batch of lines answered by a function that looks many positions up
lines     the kernel that reads lines and writes answers
values    the kernel that values positions with a network
"""
