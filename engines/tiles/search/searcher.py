"""The searcher of tile games: expectimax over a trained network with iterative deepening, on all spare cores."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.cores import CORES
from plyd.engines.core.errors import BadOption
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.memory import touched_megabytes
from plyd.engines.core.options import Option, OptionValue, memory_option, threads_option
from plyd.engines.core.search import Limits, Line, Report, StopReason, upper
from plyd.engines.core.search_run import DepthRun, helper_threads, run
from plyd.engines.tiles.bitboard import Word
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE, downgraded
from plyd.engines.tiles.ntuple.player import Player
from plyd.engines.tiles.rulebook import SLIDES, Position
from plyd.engines.tiles.search import expectimax, root
from plyd.engines.tiles.search.expectimax import DepthPolicy, ExpectimaxLimit, ExpectimaxMemory, memory_for, shared
from plyd.engines.tiles.search.score import GAME_OVER, points

ENTRY_BYTES = 16
FEWEST_ENTRIES = 1 << 14
ENTRIES_A_SECOND = 1 << 19  # estimated after-states that a search stores in the table
SHARED_DEPTH = 3  # from this depth on, a search is worth the start of other threads
LONGEST_LINE = 9  # maximum plies of a line of play
OPTIONS = (
    Option(
        "environment",
        "chance: random drops. evil: random tiles, each on the worst cell for the player.",
        default="chance",
        choices=("chance", "evil"),
    ),
    Option(
        "tile",
        "Index of the tile for which an evil environment's move is searched; 0: the more likely tile.",
        default=0,
        minimum=0,
        maximum=31,
    ),
    Option(
        "adaptive",
        "Search boards with many empty cells less deep than crowded ones. Ignored with a depth limit.",
        default=True,
    ),
    Option(
        "reduce_rare",
        "Search the drops of the rare tile one slide less deep, where its probability is 0.1 or less. "
        "Ignored with a depth limit.",
        default=True,
    ),
    threads_option(),
    memory_option(default=64, minimum=1, maximum=4096),
)
DOWNGRADE = Option(
    "downgrade",
    "Search a late board with all tiles above the largest missing one halved: the network knows such boards better. "
    "The reported points are those of the board that was searched.",
    default=True,
)
UNLIMITED = ExpectimaxLimit(np.int64(NEVER), np.int64(NEVER), np.zeros(1, np.uint8))
REASONS = {
    expectimax.OUT_OF_TIME: StopReason.TIME,
    expectimax.OUT_OF_NODES: StopReason.NODES,
    expectimax.TOLD_TO_STOP: StopReason.STOPPED,
}


class TileSearcher:
    """Searches positions of one variant. Keeps its table from one search to the next."""

    def __init__(self, player: Player, options: Mapping[str, OptionValue], megabytes: int) -> None:
        self.player = player
        self.rules = player.game.variants[player.variant]
        self.evil = options["environment"] == "evil"
        spawns = self.rules.spawns
        self.tile = int(options["tile"]) or max(spawns, key=lambda index: spawns[index])
        if self.tile not in spawns:
            allowed = " or ".join(map(str, spawns))
            raise BadOption(f"option tile is {self.tile}; allowed is 0, or a drop of {player.variant}: {allowed}")
        self.threads = int(options["threads"])
        self.adaptive = bool(options["adaptive"])
        self.reduced = bool(options["reduce_rare"]) and player.is_rare_reduced
        self.downgrade_from = player.downgrade_from if options.get(DOWNGRADE.name) else NEVER_DOWNGRADE
        self._most_entries = max(FEWEST_ENTRIES, megabytes * (1 << 20) // ENTRY_BYTES)
        self._reserved: ExpectimaxMemory | None = None
        self.memory: ExpectimaxMemory | None = None  # the part that the last search used
        self.helpers: list[ExpectimaxMemory] = []  # of further threads, with the same table

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report for each completed depth, then the final one."""
        if not self.rules.legal_moves(position):
            yield GAME_OVER
        else:
            yield from run(partial(TileRun, self, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        return touched_megabytes((self._reserved.keys, self._reserved.values) if self._reserved else ())

    def memory_for(self, limits: Limits, seconds: float | None) -> ExpectimaxMemory:
        """Memory with a table large enough for a search within these limits, at most the granted memory.

        The table's address space is reserved once; the limits determine how much of it is used.
        """
        wanted = min(upper(limits.max_nodes), NEVER if seconds is None else int(seconds * ENTRIES_A_SECOND))
        entries = power_of_two(min(max(wanted, FEWEST_ENTRIES), self._most_entries))
        if self._reserved is None:
            self._reserved = memory_for(self.player.model.shape, power_of_two(self._most_entries))
        keys, values = self._reserved.keys, self._reserved.values
        if self.memory is None or self.memory.keys.size < entries:
            self.memory = self._reserved._replace(keys=keys[:entries], values=values[:entries])
            self.helpers = []
        if limits.max_nodes is not None:  # so that its result does not depend on earlier searches
            self.memory.counts[1] += 1
        return self.memory

    def helpers_for(self, memory: ExpectimaxMemory, count: int) -> list[ExpectimaxMemory]:
        """Memory for further threads of a search."""
        while len(self.helpers) < count:
            self.helpers.append(shared(memory, self.player.model.shape))
        for helper in self.helpers:
            helper.counts[1] = memory.counts[1]
        return self.helpers[:count]


class TileRun(DepthRun):
    """One search: each step completes one depth."""

    max_depth = expectimax.MAX_DEPTH

    def __init__(self, owner: TileSearcher, position: Position, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self._owner, self._position = owner, position
        self._player, self._rules = owner.player, owner.rules
        self._memory = owner.memory_for(limits, self.budget.seconds)
        for each in (self._memory, *owner.helpers):
            each.counts[0] = 0
        self._until = ExpectimaxLimit(np.int64(self.deadline_ns), np.int64(self.max_nodes), stop.flag)
        self._adaptive = owner.adaptive and limits.max_depth is None
        self._reduced = owner.reduced and limits.max_depth is None
        self._best = Report(points(0.0, exact=False))

    @property
    def nodes(self) -> int:
        """Positions searched with the player to move."""
        return sum(int(each.counts[0]) for each in (self._memory, *self._owner.helpers))

    @property
    def has_answer(self) -> bool:
        """Whether a depth is complete."""
        return self.depth > 0

    def step(self) -> None:
        """Search one slide deeper; the first depth is always completed."""
        policy = DepthPolicy(np.int64(self.depth + 1), self._owner.evil, self._adaptive, self._reduced)
        values, status = self._values(self._position, policy, self._until if self.has_answer else UNLIMITED)
        if status != expectimax.COMPLETED:
            self.give_up(REASONS[status])
            return
        self.complete()
        self._best = replace(
            self._ranked(values, policy), nodes=self.nodes, depth=self.depth, seconds=self.budget.elapsed_seconds
        )

    def report(self, reason: StopReason | None) -> Report:
        """The result of the last completed depth."""
        if reason is None:
            return self._best
        return replace(self._best, nodes=self.nodes, seconds=self.budget.elapsed_seconds, stop_reason=reason)

    def _values(self, position: Position, policy: DepthPolicy, limit: ExpectimaxLimit) -> tuple[dict[str, float], int]:
        """The value of each move for the player, its points included; and the reason if the search was stopped."""
        if not any(position.cells):  # another drop follows the first one
            return self._first_drops(position, policy, limit)
        board = self._player.game.board(position.cells)
        if self._owner.downgrade_from:  # only boards of one word are
            board = Word(downgraded(board, self._owner.downgrade_from))
        if position.before:
            slides = np.empty(4)
            status = self._search(position, policy, board, limit, slides)
            return {name: w for name, w in zip(SLIDES, slides.tolist(), strict=True) if not math.isnan(w)}, status
        drops = np.empty((2, 16))
        status = self._search(position, policy, board, limit, drops)
        return {
            f"{index}@{cell}": float(drops[tile, cell])
            for tile, index in enumerate(self._rules.spawns)
            for cell in range(16)
            if position.cells[cell] == 0
        }, status

    def _search(
        self, position: Position, policy: DepthPolicy, board: Any, limit: ExpectimaxLimit, values: NDArray[np.float64]
    ) -> int:
        """Writes the value of each slide or drop; returns the reason if the search was stopped."""
        model, memory = self._player.model, self._memory
        threads = self.threads_for(self._owner.threads, CORES.count) if policy.depth >= SHARED_DEPTH else 1
        if threads == 1 or (position.before and policy.evil):  # there, the worst cell so far cuts off others
            search = root.search_each_slide if position.before else root.search_each_drop
            return search(model, policy, board, limit, memory, values)
        tasks = root.tasks_for(self._player.game.words)
        prepare = root.prepare_slides if position.before else root.prepare_drops
        prepare(model, policy, board, tasks)
        work = partial(root.search_tasks, model, policy, board, limit)
        others = [
            helper_threads().submit(work, helper, tasks) for helper in self._owner.helpers_for(memory, threads - 1)
        ]
        status = work(memory, tasks)
        status = max([status, *(other.result() for other in others)])
        if status == expectimax.COMPLETED:
            if position.before:
                root.collect_slides(model, board, tasks, values)
            else:
                root.collect_drops(board, tasks, values)
        return status

    def _first_drops(
        self, position: Position, policy: DepthPolicy, limit: ExpectimaxLimit
    ) -> tuple[dict[str, float], int]:
        values, status = {}, expectimax.COMPLETED
        for move in self._rules.legal_moves(position):
            one_tile = self._rules.play(position, move.text).position
            after_it, status = self._values(one_tile, policy, limit)
            if status != expectimax.COMPLETED:
                break
            odds = {second.text: second.probability or 0.0 for second in self._rules.legal_moves(one_tile)}
            values[move.text] = sum(odds[text] * value for text, value in after_it.items())
        return values, status

    def _ranked(self, values: dict[str, float], policy: DepthPolicy) -> Report:
        """The report for these values of moves: best slide, worst drop or likeliest drop first."""
        position, evil, tile = self._position, self._owner.evil, self._owner.tile
        odds = {move.text: move.probability for move in self._rules.legal_moves(position)}
        if position.before:
            order = sorted(values, key=lambda move: -values[move])
            value = values[order[0]]
            move: str | None = order[0]
        elif evil:
            order = sorted(values, key=lambda move: (not move.startswith(f"{tile}@"), values[move]))
            move = order[0] if order[0].startswith(f"{tile}@") else None
            value = sum(
                chance * min(values[m] for m in values if m.startswith(f"{index}@"))
                for index, chance in self._rules.spawns.items()
            )
        else:
            order = sorted(values, key=lambda move: -(odds[move] or 0.0))
            move, value = None, sum((odds[m] or 0.0) * each for m, each in values.items())
        lines = tuple(
            Line(
                (text, *self._follow(text, policy)),
                points(values[text], exact=False),
                depth=int(policy.depth),
                probability=odds[text] if not evil else None,
            )
            for text in order[: self.limits.max_lines]
        )
        return Report(points(value, exact=False), move, lines)

    def _follow(self, move: str, policy: DepthPolicy) -> list[str]:
        """The likely line after a slide, within the searched depth; nothing after a drop."""
        if not self._position.before or policy.depth == 1:
            return []
        after = self._rules.play(self._position, move).position
        actions: NDArray[np.int64] = np.zeros(min(LONGEST_LINE, 2 * int(policy.depth) - 1), np.int64)
        board = self._player.game.board(after.cells)
        length = root.likely_line(self._player.model, policy, board, self._memory, actions)
        return [SLIDES[a] if a < 4 else f"{a >> 4}@{a & 15}" for a in actions[:length].tolist()]


def power_of_two(number: int) -> int:
    """The largest power of two not above a number."""
    return 1 << (number.bit_length() - 1)
