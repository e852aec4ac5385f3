"""Monte-Carlo search of a graph of positions.

searcher   keeps the graph between moves; one search alternates simulations and solving
kernel     simulations: descend, play out, backpropagate, propagate proofs
memory     nodes and edges in arrays, found by key, recycled when they run out
features   features of a move, for its prior
"""
