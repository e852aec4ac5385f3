"""The error of every reader of weights."""


class BadWeights(Exception):
    """A file of weights that cannot be used: corrupt, cut short, of another kind, or for another game."""
