"""What can be seen of a move before any search, as numbers: the search asks first what looks best.

- threats: winning cells that the move makes, by the parity of their row, for the side that moves first and the other
  apart. Near the end, when nobody likes to move, the one needs odd rows and the other even ones.
- denials: the same for the other side, had it taken the cell.
- pressing: one of the new threats can be carried out at once, so the other side has to answer.
- saving: the other side would have made such a threat here.
- wasting: the move is under a cell that wins for its own side; the other side will take that cell.
- lines: lines of four through the cell, as a share of the most that any cell has.
- company: stones of each side beside the cell.
"""

from typing import Any

from numba import njit

from plyd.engines.connect4.board import playable, several, under, winning_cells
from plyd.engines.core.lanes import Lanes, aside, count_all, is_any, up

NAMES = (
    "threats in odd rows, first",
    "threats in even rows, first",
    "threats in odd rows, second",
    "threats in even rows, second",
    "denials in odd rows, first",
    "denials in even rows, first",
    "denials in odd rows, second",
    "denials in even rows, second",
    "pressing",
    "saving",
    "wasting",
    "lines",
    "company of its own",
    "company of others",
)


@njit(cache=True, nogil=True)
def odd_rows_of(ones: Lanes) -> Lanes:
    """Every other row, the lowest among them."""
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
    """Write down what is seen of a move; whether it wins, as it makes two threats that can be carried out at once."""
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
