"""NegaScout (principal variation search) over the pattern board.

searcher     iterative deepening, threads, and VCT provers beside it
techniques   what is searched less deep or not at all, as tables and margins
kernel       the search itself, with its stack in arrays
moves        which moves of a position are searched, and in what order
table        the transposition table
workspace    a thread's arrays, the fields of its frames, and the values of results
"""
