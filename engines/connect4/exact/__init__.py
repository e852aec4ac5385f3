"""The exact solver of boards up to 8x6, and its opening books.

solver       a position's result, and that of every column
valuation    the exact value of one position, by a sequence of null windows
book         exact values of early positions, from a file
kernel       alpha-beta that answers: is the value greater than alpha?
parity       what can be said of all moves of a position without a search
ordering     which move to try first
words        boards as 64-bit words
table        the transposition table, which grows with the search; entries: what it holds
levels       all positions of a ply; build: `plyd book connect4`
"""
