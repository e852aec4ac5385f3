"""UCT with random playouts, the yardstick of the other searches.

searcher   one search in a new tree
kernel     the simulations
"""
