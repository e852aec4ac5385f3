"""`plyd train`: one command for each game that has something to learn."""

import click

from plyd.engines.gomoku.train.cli import gomoku
from plyd.engines.tiles.games import GAMES
from plyd.engines.tiles.train.cli import trainer_of


@click.group(short_help="Train a network for 2048, 2584 or Gomoku.")
def train() -> None:
    """Train a network to play a game by playing it."""


for command in (*(trainer_of(game) for game in GAMES), gomoku):
    train.add_command(command)

if __name__ == "__main__":
    train()
