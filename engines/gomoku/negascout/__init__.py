"""NegaScout (principal variation search) over the patterned board.

searcher   iterative deepening, threads, and a VCT prover beside it; one search
kernel     the search itself, on a stack in arrays
"""
