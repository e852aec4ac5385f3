"""The rulebook of 2048, and its TileGame for kernels."""

from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.rulebook import TileRules

MAX_INDEX = 15  # 32768: the largest index in four bits per cell, so two of them do not merge

DOWNGRADE_FROM = 16384 + 8192  # the best of those tried: 16384, 20480, 24576, 32768


def tile(index: int) -> int:
    """The face value of an index."""
    return 1 << index if index else 0


def merge(one: int, other: int) -> int | None:
    """The index of the merged tile; None if the tiles differ or are the largest."""
    return one + 1 if one == other < MAX_INDEX else None


CLASSIC = TileRules(
    summary="the environment drops a 2 with probability 0.9 and a 4 with 0.1, on a random empty cell",
    rows=4,
    columns=4,
    merge=merge,
    tile=tile,
    spawns={1: 0.9, 2: 0.1},
    max_index=MAX_INDEX,
)
GAME = TileGame("2048", bits=4, variants={"classic": CLASSIC}, downgrade_from=DOWNGRADE_FROM)
