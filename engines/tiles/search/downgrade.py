"""Tile-downgrading: a late board of 2048 is searched as an earlier one, which the network knows better.

Every tile above the largest missing one is halved. Tiles that were equal stay equal and tiles that differed still
differ, so the same slides are legal and merge the same tiles:

    16384  8192   512    64                8192  4096   512    64
      256   128    32     8    no 4096       256   128    32     8
        4     2     .     .   -------->        4     2     .     .
        2     .     .     .                    2     .     .     .

In 2584 neighbours of the sequence merge too, so two missing neighbours would be needed; that was tried and gained
nothing.
"""

from typing import Any

from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import cell_at, emptied, with_tile

NEVER_DOWNGRADE = 0


@njit(cache=True, nogil=True)
def downgraded(board: Any, least_sum: int) -> Any:
    """The board with all tiles above its largest missing one halved, if its tiles have at least this sum; else the
    board itself, and always for a sum of NEVER_DOWNGRADE.
    """
    if least_sum == NEVER_DOWNGRADE:
        return board
    total, present = 0, 0
    for cell in range(16):
        index = cell_at(board, cell)
        total += 1 << index if index > 0 else 0
        present |= 1 << index
    if total < least_sum:
        return board
    missing = 15
    while missing > 0 and present >> missing == 0:  # above the largest tile
        missing -= 1
    while missing > 0 and present >> missing & 1:
        missing -= 1
    return _halved_above(board, missing) if missing > 0 else board


@njit(cache=True, nogil=True)
def _halved_above(board: Any, missing: int) -> Any:
    """The board with every tile above an index halved."""
    halved = emptied(board)
    for cell in range(16):
        index = cell_at(board, cell)
        if index > 0:
            halved = with_tile(halved, cell, index - 1 if index > missing else index)
    return halved
