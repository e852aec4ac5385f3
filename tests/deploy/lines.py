"""Command lines of plyd that stand in files."""

from plyd.clients.cli import main


def parsed(words):
    """What plyd reads out of a command line, below `plyd` itself: a command keeps the help of the first that asks."""
    name, *rest = words
    plyd = main.make_context("plyd", [*words])
    return main.get_command(plyd, name).make_context(name, rest, parent=plyd)
