"""UCT with random playouts, a baseline for the other searches.

searcher   one search in a new tree
kernel     the simulations
"""
