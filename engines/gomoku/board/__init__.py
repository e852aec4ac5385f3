"""The Gomoku board for kernels.

board        stones and the line patterns of every point, updated by each move and undo
patterns     tables: the pattern that a stone makes in a line, and the combinations of four lines
evaluation   the weights of combinations, read from a file
fouls        moves that renju forbids
vcf, vct     wins by continuous fours, and by fours and open threes
"""
