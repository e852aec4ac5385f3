"""What can be wrong with a file of weights."""


class BadWeights(Exception):
    """A file of weights that cannot be used: corrupt, cut short, of another kind, or for another game."""
