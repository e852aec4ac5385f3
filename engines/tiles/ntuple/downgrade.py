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

from numba.extending import overload

from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import Word, cell_at, is_word
from plyd.engines.tiles.ntuple.stages import cells_from

NEVER_DOWNGRADE = 0


def halved(board: Any) -> Any:
    """A board with all tiles above its largest missing one halved; itself if no tile is missing, or if it is a pair."""


@njit(cache=True, nogil=True)
def _halved_word(board: Word) -> Word:
    present = 0
    for cell in range(16):
        present |= 1 << cell_at(board, cell)
    missing = 15
    while missing > 0 and present >> missing == 0:  # above the largest tile
        missing -= 1
    while missing > 0 and present >> missing & 1:
        missing -= 1
    return board - cells_from(board, Word(missing + 1)) if missing > 0 else board  # each index above it less one


@overload(halved)
def _halved(board):  # noqa: ANN001, ANN202
    if is_word(board):
        return lambda board: _halved_word(board)
    return lambda board: board


@njit(cache=True, nogil=True)
def downgraded(board: Any, least_sum: int) -> Any:
    """The board with all tiles above its largest missing one halved, if its tiles have at least this sum; else the
    board itself, and always for a sum of NEVER_DOWNGRADE.
    """
    if least_sum == NEVER_DOWNGRADE:
        return board
    total = 0
    for cell in range(16):
        index = cell_at(board, cell)
        total += 1 << index if index > 0 else 0
    return halved(board) if total >= least_sum else board
