"""Network values of many positions, in numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.batch.lines import LETTER_B
from plyd.engines.tiles.bitboard import slides_of, with_tile
from plyd.engines.tiles.ntuple.moves import best_slide
from plyd.engines.tiles.ntuple.network import network_of, value
from plyd.engines.tiles.search.expectimax import TileModel


@njit(cache=True, nogil=True)
def values_of(
    model: TileModel,
    empty: Any,
    scratch: NDArray[np.uint64],
    letters: NDArray[np.uint8],
    cells: NDArray[np.uint8],
    values: NDArray[np.float64],
    moves: NDArray[np.int64],
) -> None:
    """Value of each position, searched one slide deep if the player is to move, and that slide or -1; NaN for letter 0.

    Points to come are never negative, so a negative network value counts as 0.
    """
    net, slides = network_of(model.weights, model.shape, scratch), slides_of(model.rows)
    for i in range(letters.size):
        values[i], moves[i] = np.nan, -1
        if letters[i] != 0:
            board = empty
            for cell in range(16):
                board = with_tile(board, cell, cells[i, cell])
            if letters[i] == LETTER_B:
                moves[i], worth, _, _ = best_slide(board, slides, net)
                values[i] = max(0.0, np.float64(worth))
            else:
                values[i] = max(0.0, np.float64(value(board, net)))
