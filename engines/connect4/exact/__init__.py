"""The exact solver of boards up to 8x6, and its opening books.

solver       a position's result, and that of every column
valuation    the exact value of one position, by a sequence of null windows
book         exact values of early positions, from a file
kernel       alpha-beta that answers: is the value greater than alpha?
words        boards as 64-bit words; what parity decides without a search
table        the transposition table, which grows with the search
levels       all positions of a ply; build: `plyd book connect4`
"""
