"""The rulebook of 2584 on 4x4, in both variants, and its TileGame for kernels."""

from plyd.engines.tiles.fibonacci import merge, tile
from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.rulebook import TileRules

MAX_INDEX = 31  # 3524578: the largest index in five bits per cell; no game comes near it


def merge_up_to(one: int, other: int) -> int | None:
    """The index of the merged tile, or None if the tiles do not merge or a cell cannot hold it."""
    merged = merge(one, other)
    return merged if merged is not None and merged <= MAX_INDEX else None


def _rules(summary: str, spawns: dict[int, float]) -> TileRules:
    return TileRules(summary, rows=4, columns=4, merge=merge_up_to, tile=tile, spawns=spawns, max_index=MAX_INDEX)


HARD = _rules(
    "the environment drops a 1 with probability 0.75 and a 3 with 0.25, on a random empty cell", {1: 0.75, 3: 0.25}
)
CLASSIC = _rules(
    "the environment drops a 1 with probability 0.9 and a 2 with 0.1, on a random empty cell", {1: 0.9, 2: 0.1}
)
GAME = TileGame("2584", bits=5, variants={"classic": CLASSIC, "hard": HARD})
