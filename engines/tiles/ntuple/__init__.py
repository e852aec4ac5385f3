"""The n-tuple network of tile games.

network   tables of weights; the value of a board is the sum over patterns and symmetries
stages    which of its tables a network has for late boards
moves     the result of a slide, and the best slide by points plus value
player    the network of one variant: the one that ships, or one from a file
"""
