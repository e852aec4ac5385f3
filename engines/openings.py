"""`plyd openings`: one command for each game whose engine makes openings for matches."""

import click

from plyd.engines.gomoku.openings import gomoku


@click.group(short_help="Make openings of Gomoku for matches.")
def openings() -> None:
    """Make openings for `plyd match` and `plyd tournament`. The same command continues a file."""


openings.add_command(gomoku)
