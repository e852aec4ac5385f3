"""2584 on 4x4 as an engine: its card."""

from collections.abc import Mapping
from pathlib import Path

from plyd.engines.tiles.engine import TileEngine, tile_card
from plyd.engines.tiles_2584.rules import GAME

CARD = tile_card(
    GAME,
    title="2584 on 4x4",
    summary="Expectimax over n-tuple networks trained by TD learning, one per variant; also for an evil environment.",
    tiles="1 2 3 4 5 6 ... for the tiles 1 2 3 5 8 13 ...",
    examples=("b 1 0 0 0 0 2 0 0 0 0 0 0 0 0 0 0", "a 17 15 8 0 12 6 3 1 2 0 0 0 0 0 0 0"),
    formats=("record", "text"),
)


class Fibonacci4x4(TileEngine):
    """Plays 2584, classic and hard."""

    def __init__(self, files: Mapping[str, Path] | None = None) -> None:
        super().__init__(GAME, CARD, files)
