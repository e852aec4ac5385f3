"""NegaScout (principal variation search) over the pattern board.

searcher   iterative deepening, threads, and a VCT prover beside it
kernel     the search itself, with its stack in arrays
"""
