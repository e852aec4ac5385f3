"""The n-tuple network of tile games.

network   tables of weights, and the value of a board: the sum over patterns and symmetries
moves     what a slide leads to, and the best slide by reward plus value
player    the network of one variant, as it ships or from a file
"""
