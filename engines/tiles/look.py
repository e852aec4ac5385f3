"""How a tile game looks."""

from plyd.engines.core.look import BoardKind, BoardLook, SideLook
from plyd.engines.core.rules import Side

TILE_LOOK = BoardLook(BoardKind.TILES)
TILE_SIDES = (SideLook(Side.PLAYER_ONE, "Player"), SideLook(Side.ENVIRONMENT, "Tiles"))
