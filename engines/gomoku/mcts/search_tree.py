"""The MCTS tree: grown with the network's evaluations, kept from move to move, searched by one or more threads."""

import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import NEVER
from plyd.engines.core.memory import dense_zeros
from plyd.engines.gomoku.board.board import MARGIN, NOBODY, ROWS, STRIDE, WALL, X, count_anew, empty_board
from plyd.engines.gomoku.board.vcf import FAIL as NOTHING_FOUND
from plyd.engines.gomoku.board.vcf import PLIES, continue_vcf, vcf_for
from plyd.engines.gomoku.board.vcf import WIN as FORCE_WINS
from plyd.engines.gomoku.board.vct import continue_vct, vct_for
from plyd.engines.gomoku.mcts.inference import Evaluates
from plyd.engines.gomoku.mcts.nodes import (
    IS_WHOLE,
    LOSS,
    NODE,
    OPEN,
    ROOT,
    SIMULATIONS,
    UNKNOWN_PLIES,
    USED,
    WIN,
    order,
    plant,
    transplant,
)
from plyd.engines.gomoku.mcts.tree import (
    LeafBatch,
    MctsParams,
    PositionWorkspace,
    expand_leaves,
    leaf_batch_for,
    select_leaves,
)
from plyd.engines.gomoku.rules import Rule

C_PUCT, DOUBT, WIDTH = 1.2, 0.25, 24  # see MctsParams
VCF_NODES, VCT_NODES = 60, 40
BATCH = 4  # leaves per network call
ROOM = 2 * BATCH * 400  # upper bound of the nodes that a batch adds
MIDDLE = 2  # the first stone is at most this many steps from the centre
SEEK_NODES = 1000  # between polls of the clock
COPY_SHARE = 0.25  # maximum share of the remaining time for copying a full tree
COPY_NS = 500  # to copy a node, several times what is usual
BLOCKED_SECONDS = 0.0002  # wait if all leaves are pending in other threads
Cells = NDArray[np.uint8]


def params_of(c_puct: float = C_PUCT, width: int = WIDTH) -> MctsParams:
    """Parameters of the simulations."""
    return MctsParams(np.float64(c_puct), np.float64(DOUBT), np.int64(width), np.int64(VCF_NODES), np.int64(VCT_NODES))


@dataclass(slots=True)
class SearchThread:
    """One thread's workspace for searching the tree."""

    workspace: PositionWorkspace
    batch: LeafBatch


class SearchTree:
    """A tree of positions, rooted at the current one."""

    def __init__(
        self,
        evaluate: Evaluates,
        size: int,
        *,
        rule: Rule = Rule.FREESTYLE,
        params: MctsParams | None = None,
        threads: int = 1,
        most_nodes: int = 1 << 22,
    ) -> None:
        self.evaluate, self.size, self.params = evaluate, size, params or params_of()
        self.threads = [
            SearchThread(PositionWorkspace(empty_board(size, rule), vcf_for(), vct_for()), leaf_batch_for(size, BATCH))
            for _ in range(threads)
        ]
        self.nodes: Any = dense_zeros(most_nodes, NODE)  # address space; the system commits memory as nodes are used
        self._spare: Any = dense_zeros(most_nodes, NODE)  # where a full tree is copied to
        self.state = np.zeros(4, np.int64)
        self.cells: Cells = np.zeros((size, size), np.uint8)
        self.mover = X
        self._lock = threading.Lock()
        self.is_sought = False  # whether a forced win was searched for at the root
        plant(self.nodes, self.state)

    @property
    def arrays(self) -> tuple[Any, Any]:
        """The arrays of nodes: the tree, and what it was before it was last shrunk."""
        return self.nodes, self._spare

    def begin(self, cells: Cells, mover: int) -> None:
        """Make a position the root, and keep its subtree if it is in the tree."""
        line = self._moves_to(cells, mover)
        if line == []:
            return
        if line is None:
            for thread in self.threads:
                if not np.array_equal(cells == WALL, self.cells == WALL):  # other blocked points: clear VCF and VCT
                    thread.workspace.vcf.failed.fill(0)
                    thread.workspace.vct.key.fill(0)
            plant(self.nodes, self.state)
        else:
            for cell in line:
                self._follow(cell)
        self.cells, self.mover, self.is_sought = cells.copy(), mover, False
        self._show()

    def play(self, cell: int) -> None:
        """Advance the root by a move."""
        self._follow(cell)
        self.cells = self.cells.copy()
        self.cells.reshape(-1)[cell] = self.mover
        self.mover, self.is_sought = 3 - self.mover, False
        self._show()

    def simulate_batch(self, want: int, most: int, number: int = 0) -> int:
        """Runs one batch of up to `want` leaves (select, evaluate, backpropagate); returns the simulations made."""
        thread = self.threads[number]
        start = np.array([self.mover, X, most], np.int64)
        with self._lock:
            before = int(self.state[SIMULATIONS])
            waiting = select_leaves(
                self.nodes, self.state, thread.workspace, self.params, thread.batch, start, min(want, BATCH)
            )
            simulations = int(self.state[SIMULATIONS]) - before
        if waiting:
            logits, values = self.evaluate(thread.batch.planes[:waiting])
            with self._lock:
                expand_leaves(self.nodes, self.state, self.params, thread.batch, logits, values, waiting)
        elif not simulations:
            time.sleep(BLOCKED_SECONDS)
        return simulations

    def seek_win(self, nodes: int, deadline_ns: int, *, by_threes: bool) -> None:
        """Search for a VCF, or with `by_threes` a VCT, at the root, with at most `nodes` nodes."""
        board, vcf, vct = self.threads[0].workspace
        root, is_new = self.root, True
        while nodes > 0 and time.monotonic_ns() < deadline_ns and root["status"] == OPEN:
            slice_nodes = min(nodes, SEEK_NODES)
            if by_threes:
                verdict, reply, _ = continue_vct(board, vct, self.mover, slice_nodes, is_new)
            else:
                verdict, reply = continue_vcf(board, vcf, self.mover, slice_nodes, is_new)
            if verdict == NOTHING_FOUND:
                break
            if verdict == FORCE_WINS:
                self.root["reply"] = reply
                self.root["plies"] = UNKNOWN_PLIES if by_threes else vcf.state[PLIES]
                self.root["status"] = WIN
            nodes, is_new = nodes - slice_nodes, False
        self._show()  # an unfinished search leaves its moves on the board

    def refute(self, point: int, reply: int | None) -> None:
        """Mark the root's move at a point as lost to a reply."""
        with self._lock:
            children = self.children_of(self.root)
            [at] = np.flatnonzero(children["point"] == point)
            if children[at]["status"] == OPEN:
                children["reply"][at], children["plies"][at], children["status"][at] = reply, UNKNOWN_PLIES, WIN
            if self.root["flags"] & IS_WHOLE and np.all(children["status"] == WIN):
                self.root["plies"], self.root["status"] = children["plies"].max() + 1, LOSS

    def simulate(self, simulations: int) -> None:
        """Run `simulations` simulations in this thread; fewer if the result is proven first."""
        done = 0
        while done < simulations and self.root["status"] == OPEN:
            self.make_room(ROOM)
            done += self.simulate_batch(BATCH if self.root["visits"] > 2 * BATCH else 1, simulations - done)

    def keep_to_middle(self) -> None:
        """Keep only the root's moves near the centre, and renormalise their priors."""
        root, children = self.root, self.children_of(self.root)
        cells = np.array([self.cell_of(int(point)) for point in children["point"]])
        steps = np.abs(np.stack(np.divmod(cells, self.size)) - (self.size - 1) / 2).max(axis=0)
        kept = children[steps <= MIDDLE].copy()
        if len(kept) < len(children):
            kept["prior"] /= kept["prior"].sum()
            children[: len(kept)] = kept
            root["count"], root["flags"] = len(kept), root["flags"] & ~np.uint8(IS_WHOLE)

    @property
    def root(self) -> Any:
        """The root's record."""
        return self.nodes[self.state[ROOT]]

    def children_of(self, node: Any) -> Any:
        """The records of a node's children."""
        return self.nodes[node["first"] : node["first"] + node["count"]] if node["count"] else self.nodes[:0]

    def cell_of(self, point: int) -> int:
        """The cell, row * size + column, of a point of the grid."""
        return (point // STRIDE - MARGIN) * self.size + point % STRIDE - MARGIN

    def best(self) -> int:
        """The cell to play: a proven win, else the most visited move not proven to lose, else the longest loss."""
        root = self.root
        if root["status"] == WIN or not root["count"]:
            return self.cell_of(int(root["reply"]))
        return self.cell_of(int(order(self.children_of(root))[0]["point"]))

    def visits(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cells and their visits, as a policy target; a proven win gets all visits."""
        root = self.root
        if root["status"] == WIN or not root["count"]:
            return np.array([self.cell_of(int(root["reply"]))]), np.array([1])
        children = self.children_of(root)
        tried_once = int(children["visits"].max(initial=0)) > 1
        children = children[children["visits"] > tried_once]  # a single visit may be due to noise alone
        if np.any(children["status"] != WIN):
            children = children[children["status"] != WIN]  # drop moves that are proven to lose
        if not len(children):
            return np.array([self.best()]), np.array([1])
        return np.array([self.cell_of(int(point)) for point in children["point"]]), children["visits"].astype(np.int64)

    def add_noise(self, chance: np.random.Generator, share: float, alpha: float) -> None:
        """Mix Dirichlet noise into the root's priors, for exploration in self-play."""
        children = self.children_of(self.root)
        if len(children):
            noise = chance.dirichlet(np.full(len(children), alpha))
            children["prior"] = (1 - share) * children["prior"] + share * noise
            children[:] = children[np.argsort(-children["prior"], kind="stable")]

    def _moves_to(self, cells: Cells, mover: int) -> list[int] | None:
        """The moves (at most two) from the root to a position; None if it does not follow from the root."""
        old = self.cells
        if cells.shape != old.shape or np.any((old != NOBODY) & (old != cells)):
            return None
        new = np.flatnonzero((cells != old).reshape(-1))
        stones = cells.reshape(-1)[new]
        mine, theirs = list(new[stones == self.mover]), list(new[stones == 3 - self.mover])
        turn = len(mine) - len(theirs)
        if len(new) > 2 or len(mine) + len(theirs) != len(new) or turn != (mover != self.mover):
            return None
        return [int(cell) for pair in zip(mine, [*theirs, -1], strict=False) for cell in pair if cell >= 0]

    def _follow(self, cell: int) -> None:
        """Make the child at a cell the root; if there is none, start a new tree."""
        root = self.root
        for i in range(root["first"], root["first"] + root["count"]):
            if self.cell_of(int(self.nodes[i]["point"])) == cell:
                self.state[ROOT] = i
                return
        plant(self.nodes, self.state)

    def _show(self) -> None:
        for thread in self.threads:
            grid = thread.workspace.board.stone.reshape(ROWS, STRIDE)
            grid[MARGIN : MARGIN + self.size, MARGIN : MARGIN + self.size] = self.cells
            count_anew(thread.workspace.board)

    def make_room(self, needed: int, deadline_ns: int = NEVER) -> None:
        """If the array is almost full, drop what the root does not lead to, and what is least visited."""
        used = int(self.state[USED])
        if used + needed >= len(self.nodes) and used > len(self.nodes) // 2:
            self.shrink(deadline_ns)

    def shrink(self, deadline_ns: int = NEVER) -> None:
        """Copy what is most visited below the root, at most half of the array, to the spare array, and swap the two.

        Takes a share of the time until the deadline at most. No thread may be using the tree.
        """
        share_ns = COPY_SHARE * max(0, deadline_ns - time.monotonic_ns())
        most, fewest = min(len(self.nodes) // 2, int(share_ns / COPY_NS)), 1
        if most <= ROOM:
            return  # too little time: the search goes on without new nodes
        while not transplant(self.nodes, self.state, self._spare, most, fewest):
            fewest *= 2
        self.nodes, self._spare = self._spare, self.nodes
