"""Forced wins beside a search: of the side to move, and of the opponent after a move that is about to be played.

A Prover runs one VCT search in slices. A Refuter asks the opponent's question: "after this move, do I win by threats?".
A search gives both a share of its nodes, and does not play a move that is refuted.
"""

from collections.abc import Sequence

from plyd.engines.gomoku.board.board import HASH, Board, board_of, count_anew, set_up
from plyd.engines.gomoku.board.vcf import UNDECIDED, WIN
from plyd.engines.gomoku.board.vct import Vct, continue_vct, vct_for
from plyd.engines.gomoku.rules import Position, Rule

SLICE_NODES = 4_000  # largest slice
SMALLEST_SLICE = 200
MOST_NODES = 400_000  # on one move of those that may be refuted; then the next is looked at


class Prover:
    """Searches for a VCT of a colour, which is to move, one slice at a time. The board is its own."""

    def __init__(self, board: Board, vct: Vct, colour: int) -> None:
        self._board, self._vct, self._colour = board, vct, colour
        self._is_new, self.verdict = True, UNDECIDED
        self.nodes = 0
        self.winner: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is a verdict."""
        return bool(self.verdict != UNDECIDED)

    def work(self, nodes: int) -> None:
        """Continue for `nodes` nodes."""
        self.verdict, point, used = continue_vct(self._board, self._vct, self._colour, nodes, self._is_new)
        self._is_new = False
        self.nodes += used
        if self.verdict == WIN:
            self.winner = int(point)


class Refuter:
    """Looks for the opponent's VCT after moves of one position."""

    def __init__(self, rule: Rule, slots: int) -> None:
        self._rule, self._vct = rule, vct_for(slots)
        self._position: Position | None = None
        self._board: Board | None = None
        self._point = 0
        self.forget()

    def forget(self) -> None:
        """Start without results of earlier positions."""
        for array in self._vct:
            array.fill(0)

    def begin(self, position: Position, colour: int) -> None:
        """Set the position whose moves are looked at, and the colour that is to move in it."""
        if self._board is None or self._position is None or self._position.size != position.size:
            self._board = board_of(position, self._rule)
        self._position, self._colour = position, colour
        self._provers: dict[int, Prover] = {}
        self._point = 0
        self.keys: dict[int, int] = {}  # hash of the position after each move

    @property
    def nodes(self) -> int:
        """Nodes for the current position."""
        return sum(prover.nodes for prover in self._provers.values())

    def reply_to(self, point: int) -> int | None:
        """The opponent's move that refutes a move, or None."""
        prover = self._provers.get(point)
        return prover.winner if prover else None

    def open_move(self, points: Sequence[int]) -> int | None:
        """The first of these moves whose search has no verdict, and nodes left; None if there is none."""
        for point in points:
            prover = self._provers.get(point)
            if prover is None or (not prover.is_over and prover.nodes < MOST_NODES):
                return point
        return None

    def work(self, point: int, nodes: int) -> bool:
        """Continue with a move for `nodes` nodes; whether it is refuted now."""
        if point != self._point:
            self._show(point)
        prover = self._provers[point]
        prover.work(nodes)
        return prover.winner is not None

    def _show(self, point: int) -> None:
        """Put the position after a move on the board. A search that was left begins again; its table knows the way."""
        assert self._board is not None
        assert self._position is not None
        set_up(self._board, self._position)
        self._board.stone[point] = self._colour
        count_anew(self._board)
        self._point, self.keys[point] = point, int(self._board.state[HASH])
        before = self._provers.get(point)
        self._provers[point] = prover = Prover(self._board, self._vct, 3 - self._colour)
        if before:
            prover.nodes = before.nodes


def slice_of(share: float, used: int, total: int) -> int:
    """Nodes to use now so that `used` becomes this share of `total`; 0 if it is more already."""
    if used > share * total:
        return 0
    return max(SMALLEST_SLICE, min(SLICE_NODES, int(share * total) - used))
