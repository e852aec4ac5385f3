"""Features of a move, computed before any search; they give the move's prior.

- threats: winning cells that the move makes, by the parity of their row, separately for the first and second player.
  Near the end, in zugzwang, the first player needs odd rows and the second player even rows.
- denials: the threats that the opponent would have made with this cell.
- pressing: one of the new threats is playable at once, so the opponent has to block.
- saving: the opponent would have made such a threat here.
- wasting: the move is below a winning cell of its own side; the opponent will take that cell.
- lines: lines of four through the cell, as a share of the maximum over all cells.
- company: stones of each side next to the cell.
"""

from typing import Any

import numpy as np

from plyd.engines.connect4.board import OPEN, glance, playable, several, under, winning_cells
from plyd.engines.core.intrinsics import lowest_bit_index
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import Lanes, aside, count_all, is_any, lane_of, load, only_lane, up, used_lanes

WEIGHTS = {  # log-odds per unit of each feature, fitted by `python -m plyd.engines.connect4.train.fitting`
    "threats in odd rows, first": 0.38,
    "threats in even rows, first": 0.47,
    "threats in odd rows, second": 0.40,
    "threats in even rows, second": 0.41,
    "denials in odd rows, first": 0.33,
    "denials in even rows, first": 0.25,
    "denials in odd rows, second": 0.40,
    "denials in even rows, second": 0.31,
    "pressing": 0.29,
    "saving": 0.13,
    "wasting": -0.84,
    "lines": 1.54,
    "company of its own": -0.08,
    "company of others": 0.01,
}


@njit(cache=True, nogil=True)
def odd_rows_of(ones: Lanes) -> Lanes:
    """Every other row, starting with the lowest."""
    pairs = ones | up(ones, 2)
    pairs |= up(pairs, 4)
    return pairs | up(pairs, 8)


@njit(cache=True, nogil=True)
def look_at(
    move: Lanes,
    mine: Lanes,
    yours: Lanes,
    taken: Lanes,
    my_wins: Lanes,
    your_wins: Lanes,
    below: Lanes,
    ones: Lanes,
    lines: float,
    seen: Any,
) -> bool:
    """Write the features of a move to `seen`; returns True if the move wins by making two playable threats."""
    free, next_cells = ~(taken | move), playable(taken | move, ones)
    wins = winning_cells(mine | move) & free
    if several(wins & next_cells):
        return True
    odd = odd_rows_of(ones)
    threats, denials = wins & ~my_wins, winning_cells(yours | move) & free & ~your_wins
    side = 0 if count_all(mine) == count_all(yours) else 2
    for i in range(8):
        seen[i] = 0.0
    seen[side], seen[side + 1] = count_all(threats & odd), count_all(threats & ~odd)
    seen[4 + side], seen[5 + side] = count_all(denials & odd), count_all(denials & ~odd)
    seen[8] = 1.0 if is_any(threats & next_cells) else 0.0
    seen[9] = 1.0 if is_any(denials & next_cells) else 0.0
    seen[10] = 1.0 if is_any(move & under(my_wins, below)) else 0.0
    seen[11] = lines
    around = move | up(move, 1) | up(move, -1)
    around = around | aside(around, 1) | aside(around, -1)
    seen[12], seen[13] = count_all(around & mine), count_all(around & yours)
    return False


@njit(cache=True, nogil=True)
def look_at_all(boards: Any, lines: Any, seen: Any, is_open: Any) -> None:
    """Features of each move of many positions (boards, columns, features), and whether the move is worth searching.

    Positions that `glance` or a double threat decides have no such moves.
    """
    for i in range(len(boards)):
        board = boards[i]
        mine, yours, taken, below, ones = load(board, 0), load(board, 1), load(board, 2), load(board, 3), load(board, 4)
        my_wins, your_wins = winning_cells(mine) & ~taken, winning_cells(yours) & ~taken
        status, _, moves = glance(playable(taken, ones), my_wins, your_wins, below)
        lanes = used_lanes(moves)
        while status == OPEN and lanes != np.uint64(0):
            column = lowest_bit_index(lanes)
            lanes &= lanes - np.uint64(1)
            move = only_lane(moves, column)
            share = lines[i, 16 * column + lowest_bit_index(lane_of(move, column))]
            is_open[i, column] = True
            if look_at(move, mine, yours, taken, my_wins, your_wins, below, ones, share, seen[i, column]):
                is_open[i, :] = False
                break
