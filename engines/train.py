"""`plyd train`: one command for each game that has a network to train."""

import click

from plyd.engines.gomoku.train.cli import gomoku
from plyd.engines.tiles.games import GAMES
from plyd.engines.tiles.train.cli import train_command


@click.group(short_help="Train a network for 2048, 2584 or Gomoku.")
def train() -> None:
    """Train a network by playing. Ctrl-C saves and stops; the same command resumes the run."""


for command in (*(train_command(game) for game in GAMES), gomoku):
    train.add_command(command)

if __name__ == "__main__":
    train()
