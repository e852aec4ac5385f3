"""`plyd book`: one command for each game that has an opening book."""

import click

from plyd.engines.connect4.exact.build import connect4


@click.group(short_help="Make an opening book of Connect Four.")
def book() -> None:
    """Make an opening book by solving positions. Ctrl-C saves and stops; the same command resumes."""


book.add_command(connect4)
