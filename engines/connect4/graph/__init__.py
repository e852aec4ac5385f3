"""Monte-Carlo search of a graph of positions.

searcher   keeps the graph between moves; one search: rounds of simulations and of solving
kernel     simulations: descend, play out, backpropagate, propagate proofs
memory     nodes and edges in arrays, found by key, recycled when they run out
features   what a move looks like, for its prior
"""
