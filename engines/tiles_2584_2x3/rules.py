"""The rulebook of 2584 on 2x3."""

from plyd.engines.tiles.fibonacci import CLASSIC, merge, tile
from plyd.engines.tiles.rulebook import TileRules

RULES = TileRules(
    summary="the environment drops a 1 with probability 0.9 and a 2 with 0.1, on a random empty cell",
    rows=2,
    columns=3,
    merge=merge,
    tile=tile,
    spawns=CLASSIC,
)
