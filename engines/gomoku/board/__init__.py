"""The board of Gomoku as kernels see it.

board        stones, and the line patterns of every point, updated by each move and its undoing
patterns     tables: what a line makes of a point, and which combinations there are
evaluation   the weights of combinations, from a file
fouls        moves that renju forbids
vcf, vct     wins by continuous fours, and by fours and open threes
"""
