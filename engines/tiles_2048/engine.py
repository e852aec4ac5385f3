"""2048 as an engine: its card."""

from collections.abc import Mapping
from pathlib import Path

from plyd.engines.tiles.engine import TileEngine, tile_card
from plyd.engines.tiles_2048.rules import GAME

CARD = tile_card(
    GAME,
    title="2048",
    summary="Expectimax over an n-tuple network trained by temporal-difference learning.",
    tiles="1 2 3 4 ... for the tiles 2 4 8 16 ...",
    examples=("b 1 0 0 0 0 2 0 0 0 0 0 0 0 0 0 0", "a 11 4 2 0 3 2 1 0 1 0 0 0 0 0 0 0"),
)


class Game2048(TileEngine):
    """Plays 2048."""

    def __init__(self, files: Mapping[str, Path] | None = None) -> None:
        super().__init__(GAME, CARD, files)
