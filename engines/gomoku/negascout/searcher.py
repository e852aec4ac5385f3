"""The NegaScout searcher: iterative deepening until a limit is reached, on all spare cores."""

import math
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.memory import touched_megabytes
from plyd.engines.core.options import OptionValue
from plyd.engines.core.search import Limits, Line, Proven, Report, Result, Score, StopReason, WinProbability
from plyd.engines.core.search_run import SearchRun, game_over, helper_threads, run
from plyd.engines.core.time_control import MOST_EFFORT
from plyd.engines.gomoku.board.board import FREE, Board, O, X, board_of, place_of, set_up
from plyd.engines.gomoku.board.evaluation import SCALE
from plyd.engines.gomoku.board.network import PatternNetwork, frames_for, shipped_network, weights_with
from plyd.engines.gomoku.board.vcf import ATTACKER, vcf_for
from plyd.engines.gomoku.board.vct import vct_for
from plyd.engines.gomoku.forced import line_beside
from plyd.engines.gomoku.negascout.kernel import FINISHED, search_slice
from plyd.engines.gomoku.negascout.table import ENTRY, follow, store_win, table_for
from plyd.engines.gomoku.negascout.techniques import shipped
from plyd.engines.gomoku.negascout.workspace import (
    BEST,
    BEST_MOVE,
    DECIDED,
    END,
    GENERATION,
    LISTED,
    MOST_PLIES,
    NEXT,
    NODES,
    ROOT_MOVES,
    SURE,
    VALUE,
    WON,
    NegaScoutLimit,
    begin_search,
    workspace_for,
)
from plyd.engines.gomoku.prover import Prover, Refuter, slice_of
from plyd.engines.gomoku.rules import SIDES, GomokuRules, Position, move_at

DEEPEST = 60
SLICE_NS, SLICE_NODES = 15_000_000, 4_000
FEWEST_ENTRIES, ENTRIES_A_SECOND = 1 << 16, 1_500_000  # of the transposition table
ASPIRATION_WINDOW = 80  # initial half-width around the last value
VCT_SLOTS = 1 << 18  # positions in the VCT prover's table
PROVE_SHARE, REFUTE_SHARE = 0.15, 0.1  # of the nodes: for a VCT of our own, and of the opponent's after the best move
CALM_EFFORT, UNREST_EFFORT = 0.7, 0.6  # see `effort`
FAR_PLIES = 400  # plies of a result whose length is not known


class Worker:
    """The workspace of one search thread."""

    def __init__(self, rules: GomokuRules, network: PatternNetwork | None) -> None:
        self._rules, self._network = rules, network
        self.board: Board
        self._size = 0
        self.vcf, self.space = vcf_for(), workspace_for()

    def prepare(self, position: Position, generation: int = 0, *, forget: bool) -> None:
        """Set the board to a position; with `forget`, clear the results of earlier searches."""
        if position.size != self._size:
            self.board = board_of(position, self._rules.rule, weights_with(self._network))
            self.frames = frames_for(self._network, MOST_PLIES + 2)
            self._size = position.size
            forget = True
        else:
            set_up(self.board, position)
        if forget:
            for array in (*self.space, *self.vcf):
                array.fill(0)
        self.space.history[:] //= 4
        self.space.killers.fill(0)
        self.space.barred.fill(0)
        self.space.state.fill(0)
        self.space.state[GENERATION] = generation

    @property
    def nodes(self) -> int:
        """Nodes of the current search."""
        return int(self.space.state[NODES])


class NegaScoutSearcher:
    """Keeps its transposition table from one position to the next."""

    def __init__(
        self,
        rules: GomokuRules,
        options: Mapping[str, OptionValue],
        megabytes: int,
        network: PatternNetwork | None = None,
    ) -> None:
        self.rules, self.network = rules, network or shipped_network(rules.rule)
        self.threads = int(options["threads"])
        self.workers = [Worker(rules, self.network) for _ in range(max(self.threads, CORES.count))]
        self.vct, self.refuter, self._spare = vct_for(VCT_SLOTS), Refuter(rules.rule, VCT_SLOTS), Worker(rules, None)
        self._most_entries = 1 << (megabytes * 2**20 // ENTRY.itemsize).bit_length() - 1
        self._reserved, self._entries = table_for(self._most_entries), 0
        self.generation = 0  # number of searches

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report every tenth of a second, then the final one."""
        if over := game_over(self.rules.outcome(position), SIDES[position.mover]):
            yield over
        else:
            yield from run(partial(NegaScoutRun, self, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        return touched_megabytes([self._reserved])

    def spare_board(self, position: Position) -> Board:
        """The position on a board that no thread uses."""
        self._spare.prepare(position, forget=False)
        return self._spare.board

    def table(self, entries: int, *, anew: bool) -> NDArray[Any]:
        """The transposition table, for about `entries` positions; cleared if `anew`.

        Address space is reserved once. The part in use grows with the time of searches and never shrinks. When it
        grows, half of the positions keep their slots, and the others are lost.
        """
        wanted = 1 << (max(FEWEST_ENTRIES, min(entries, self._most_entries)) - 1).bit_length()
        wanted = min(wanted, self._most_entries)
        if anew and self._entries:  # it has been used
            self._reserved = table_for(self._most_entries)
        self._entries = wanted if anew else max(wanted, self._entries)
        return self._reserved[: self._entries]


class NegaScoutRun(SearchRun):
    """One search: turns of deepening and of proving."""

    def __init__(self, owner: NegaScoutSearcher, position: Position, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self._owner, self._position = owner, position
        self._line_beside = cache(partial(line_beside, owner.rules, position))
        self._colour = X if position.mover == "x" else O
        self._threads = self.wanted_threads(owner.threads, len(owner.workers))
        is_again = limits.max_nodes is not None  # reproducible: start from an empty table
        owner.generation += 1
        for worker in owner.workers[: self._threads]:
            worker.prepare(position, owner.generation, forget=is_again)
        seconds = self.budget.seconds
        in_time = NEVER if seconds is None else int(seconds * ENTRIES_A_SECOND * self._threads)
        self._table = owner.table(min(in_time, self.max_nodes), anew=is_again)
        self._params = shipped(network=int(owner.network is not None))
        self._main = owner.workers[0]
        if is_again:
            owner.refuter.forget()
            for array in owner.vct:
                array.fill(0)
        self._prover = Prover(board_of(position, owner.rules.rule), owner.vct, self._colour)
        self._refuter = owner.refuter
        self._refuter.begin(position, self._colour)
        self._help = Stop()
        self._jobs: list[Future[Any]] = []
        self._depth, self._window = 1, (-SURE, SURE)
        self._found: list[tuple[int, int, int]] = []  # (move, value, depth) of each line at the last complete depth
        self._fresh: list[tuple[int, int, int]] = []  # the same at the current depth
        self._is_begun = False
        self._is_finished = False
        self._is_doubtful = False  # all moves that were searched lose: next time all are searched
        self._unrest = 0.0  # changes of the best move, each half as much as the one a depth later

    @property
    def effort(self) -> float:
        """Less than usual while the best move stays the same from depth to depth, more when it changes."""
        if self._main.space.frame[LISTED] == 1 and not self._is_doubtful:
            return 0.0
        return min(MOST_EFFORT, CALM_EFFORT + UNREST_EFFORT * self._unrest)

    @property
    def is_finished(self) -> bool:
        """Whether the result is proven, or the maximum depth is reached."""
        return self._is_finished

    def is_deep_enough(self, depth: int) -> bool:
        """Whether this depth is complete."""
        return self._depth > depth

    def step(self) -> None:
        """One turn: a slice of the VCT prover if due, then a slice of deepening."""
        self._call_help()
        if self.has_answer and self.limits.max_depth is None and self._prove():
            return
        if not self._is_begun:
            self._store_refutations()
            begin_search(self._main.space, self._depth, *self._window, every_move=self._is_doubtful)
            self._is_begun = True
        nodes, end, stop = NEVER, NEVER, Stop()  # no limits until there is an answer
        if self.has_answer:
            nodes = self.max_nodes - (self.nodes - self._main.nodes)
            end, stop = min(self.deadline_ns, time.monotonic_ns() + SLICE_NS), self.stop
            if self.limits.max_nodes is not None:  # slices by nodes, not time: reproducible
                nodes, end = min(nodes, self._main.nodes + SLICE_NODES), self.deadline_ns
        if self._run(self._main, nodes, end, stop) == FINISHED:
            self._is_begun = False
            self._finish_line()

    def _prove(self) -> bool:
        """The provers' turns; whether the result is proven."""
        left, best = self.max_nodes - self.nodes, self._known()[0][0]
        nodes = slice_of(PROVE_SHARE, self._prover.nodes, self.nodes)
        if nodes and not self._prover.is_over:
            self._prover.work(min(nodes, max(1, left)))
            if self._prover.winner is not None:
                self._found = [(self._prover.winner, SURE, 0)]
                self._fresh, self._is_begun = [], False
                self._is_finished = True
                return True
        nodes = slice_of(REFUTE_SHARE, self._refuter.nodes, self.nodes)
        if nodes and self._refuter.open_move([best]) and self._refuter.work(best, min(nodes, max(1, left))):
            self._begin_again()
        return False

    def _begin_again(self) -> None:
        """The best move is refuted: deepen from the first ply again, with the refutation in the table."""
        set_up(self._main.board, self._position)
        self._main.space.barred.fill(0)
        self._fresh, self._is_begun = [], False
        self._depth, self._window = 1, (-SURE, SURE)

    def _store_refutations(self) -> None:
        """Put the refuted moves into the transposition table, as won by the opponent."""
        for point, key in self._refuter.keys.items():
            if (reply := self._refuter.reply_to(point)) is not None:
                key_after = np.uint64(key) ^ ATTACKER[3 - self._colour]
                store_win(self._table, key_after, SURE - FAR_PLIES, reply, self._owner.generation)

    def _run(self, worker: Worker, nodes: int, end: int, stop: Stop) -> int:
        limit = NegaScoutLimit(np.int64(nodes), np.int64(end), stop.flag)
        arrays = worker.board, worker.vcf, worker.space, self._table, self._params, worker.frames
        return int(search_slice(*arrays, self._colour, limit))

    def _finish_line(self) -> None:
        """After a line is searched: widen the aspiration window if it failed, else go to the next line or depth."""
        value, (low, high) = int(self._main.space.state[VALUE]), self._window
        if (value <= low and low > -SURE) or (value >= high and high < SURE):
            self._window = (-SURE, high) if value <= low else (low, SURE)
            return
        move = int(self._main.space.frame[BEST_MOVE])
        self._window = (-SURE, SURE)
        is_another = move != 0 and not self._main.space.barred[move]
        if is_another:
            self._fresh.append((move, value, self._depth))
            self._main.space.barred[move] = 1
        if is_another and len(self._fresh) < self.limits.max_lines:
            return
        before = self._found
        self._found, self._fresh = sorted(self._fresh, key=lambda line: -line[1]), []
        self._unrest = self._unrest / 2 + (bool(before) and before[0][0] != self._found[0][0])
        self._main.space.barred.fill(0)
        best = self._found[0][1]
        if abs(best) > DECIDED or self._depth >= min(DEEPEST, int(self._main.board.state[FREE])):
            self._is_finished = True
            return
        self._depth += 1
        self._is_doubtful = best < -WON
        if self._depth > 4 and self.limits.max_lines == 1:
            self._window = (max(-SURE, best - ASPIRATION_WINDOW), min(SURE, best + ASPIRATION_WINDOW))

    def close(self) -> None:
        """Stop the helpers."""
        self._help.set()
        for job in self._jobs:
            job.result()
        self._jobs = []

    def _call_help(self) -> None:
        """Start helpers on spare cores; stop them when other searches need the cores."""
        if self._threads == 1:
            return
        if not self._jobs and CORES.spare() > 0:
            self._help = self.stop.follower()
            for i, worker in enumerate(self._owner.workers[1 : self._threads][: CORES.spare()]):
                worker.prepare(self._position, self._owner.generation, forget=False)
                self._jobs.append(helper_threads().submit(self._deepen, worker, self._depth + i % 2, self._help))
        elif self._jobs and CORES.spare() == 0:
            self.close()

    def _deepen(self, worker: Worker, depth: int, stop: Stop) -> None:
        """A helper's work: fill the shared transposition table (lazy SMP)."""
        while depth <= DEEPEST and not stop.poll():
            begin_search(worker.space, depth, -SURE, SURE)
            if self._run(worker, NEVER, self.deadline_ns, stop) != FINISHED:
                return
            depth = max(depth + 1, self._depth)

    @property
    def has_answer(self) -> bool:
        """Whether there is a move to report."""
        return bool(self._known())

    @property
    def nodes(self) -> int:
        """Positions searched, by all threads and by the provers."""
        return (
            sum(worker.nodes for worker in self._owner.workers[: self._threads])
            + self._prover.nodes
            + self._refuter.nodes
        )

    def report(self, reason: StopReason | None) -> Report:
        """The result so far."""
        lines = tuple(self._line(*found) for found in self._known()[: self.limits.max_lines])
        if self.limits.max_lines > len(lines) == 1 and (lost := self._line_beside(lines[0].moves[0])):
            lines += (lost,)
        return self.report_of(lines, reason, nodes=self.nodes, depth=max(line.depth or 0 for line in lines))

    def _known(self) -> list[tuple[int, int, int]]:
        """Move, value and depth of each line: those of the current depth first, then those of the last."""
        known = list(self._fresh)
        space = self._main.space
        if self._is_begun and not self._fresh and space.state[ROOT_MOVES] and space.frame[BEST_MOVE]:
            value = int(space.frame[BEST])
            low, high = self._window
            is_whole = space.frame[NEXT] >= space.frame[END]
            is_news = value > -WON or is_whole or not self._found  # if the first move loses, a later one may not
            if is_news and (value > low or low == -SURE):
                known.append((int(space.frame[BEST_MOVE]), min(value, high), self._depth))
        moves = {move for move, _, _ in known}
        known += [found for found in self._found if found[0] not in moves]
        return known

    def _line(self, move: int, value: int, depth: int) -> Line:
        moves = follow(self._owner.spare_board(self._position), self._table, self._colour, move, max(1, depth))
        size = self._position.size
        return Line(
            tuple(move_at(*place_of(int(point)), size) for point in moves),
            score_of(self._position, value),
            depth=depth,
        )


def score_of(position: Position, value: int) -> Score:
    """A value of the search as a Score for the side to move."""
    side = SIDES[position.mover]
    if abs(value) > DECIDED:
        plies = SURE - abs(value)
        return Score(side, Proven(Result.WIN if value > 0 else Result.LOSS, plies if 0 < plies < FAR_PLIES else None))
    return Score(side, WinProbability(1 / (1 + math.exp(-value / SCALE))))
