"""The searcher of tile games: expectimax over a trained network, one slide deeper each time, as time allows."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.errors import BadOption
from plyd.engines.core.intrinsics import NEVER, Stop, deadline_ns
from plyd.engines.core.options import Option, OptionValue
from plyd.engines.core.rules import Side
from plyd.engines.core.search import ExpectedPoints, Limits, Line, Report, Score, StopReason, upper
from plyd.engines.tiles.ntuple.player import Player
from plyd.engines.tiles.rulebook import SLIDES, Position
from plyd.engines.tiles.search import expectimax
from plyd.engines.tiles.search.expectimax import How, Limit, Memory, memory_for

ENTRY_BYTES = 16
FEWEST_ENTRIES = 1 << 14
ENTRIES_A_SECOND = 1 << 19  # after-states that a search stores in the table, about
LONGEST_LINE = 9  # plies of a line of play
OPTIONS = (
    Option(
        "environment",
        "Who drops tiles: chance, or evil, which chooses the cell that hurts the player most (the tile stays chance).",
        default="chance",
        choices=("chance", "evil"),
    ),
    Option(
        "tile",
        "The index that an evil environment has to drop, when it is asked for its move; 0 for the likelier one.",
        default=0,
        minimum=0,
        maximum=31,
    ),
    Option(
        "adaptive",
        "Look less far where much is free, if no depth is asked for; depths then mean: where it is tight.",
        default=True,
    ),
    Option("memory", "Megabytes of a search's table, at most.", default=64, minimum=1, maximum=4096),
)
REASONS = {
    expectimax.OUT_OF_TIME: StopReason.TIME,
    expectimax.OUT_OF_NODES: StopReason.NODES,
    expectimax.TOLD_TO_STOP: StopReason.STOPPED,
}


class TileSearcher:
    """Searches positions of one variant; the table it keeps between searches is only room, not knowledge."""

    def __init__(self, player: Player, options: Mapping[str, OptionValue]) -> None:
        self._player = player
        self._rules = player.game.variants[player.variant]
        self._evil = options["environment"] == "evil"
        spawns = self._rules.spawns
        self._tile = int(options["tile"]) or max(spawns, key=lambda index: spawns[index])
        if self._tile not in spawns:
            allowed = " or ".join(map(str, spawns))
            raise BadOption(f"option tile is {self._tile}; allowed is 0, or what {player.variant} drops: {allowed}")
        self._adaptive = bool(options["adaptive"])
        self._most_entries = int(options["memory"]) * (1 << 20) // ENTRY_BYTES
        self._memory: Memory | None = None

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report for each depth completed, then the final one."""
        began = time.monotonic_ns()
        if not self._rules.legal_moves(position):
            yield Report(points(0.0, exact=True), stop_reason=StopReason.NO_SEARCH)
            return
        memory = self._room(limits)
        memory.counts[0], memory.counts[1] = 0, memory.counts[1] + 1
        never = Limit(np.int64(NEVER), np.int64(NEVER), np.zeros(1, np.uint8))
        until = Limit(
            np.int64(deadline_ns(began, limits.budget_seconds())), np.int64(upper(limits.max_nodes)), stop.flag
        )
        adaptive = self._adaptive and limits.max_depth is None
        last = min(upper(limits.max_depth), expectimax.MAX_DEPTH)
        best, reason = Report(points(0.0, exact=False)), StopReason.DEPTH
        for depth in range(1, last + 1):
            how = How(np.int64(depth), self._evil, adaptive)
            worths, status = self._worths(position, how, never if depth == 1 else until, memory)
            if status != expectimax.COMPLETED:
                reason = REASONS[status]
                break
            seconds = (time.monotonic_ns() - began) / 1e9
            best = replace(
                self._ranked(position, worths, how, limits, memory),
                nodes=int(memory.counts[0]),
                depth=depth,
                seconds=seconds,
            )
            if depth < last:
                yield best
        yield replace(
            best, nodes=int(memory.counts[0]), seconds=(time.monotonic_ns() - began) / 1e9, stop_reason=reason
        )

    def _room(self, limits: Limits) -> Memory:
        """Memory with a table large enough for a search within these limits, and no larger than the option allows."""
        seconds = limits.budget_seconds()
        wanted = min(upper(limits.max_nodes), NEVER if seconds is None else int(seconds * ENTRIES_A_SECOND))
        wanted = min(max(wanted, FEWEST_ENTRIES), self._most_entries)
        entries = 1 << (wanted.bit_length() - 1)
        if self._memory is None or self._memory.keys.size < entries:
            self._memory = memory_for(self._player.brain.shape, entries)
        return self._memory

    def _worths(self, position: Position, how: How, limit: Limit, memory: Memory) -> tuple[dict[str, float], int]:
        """What each move leaves the player to expect, its points included; and why the search was stopped."""
        if not any(position.cells):  # after the first drop comes another one, then the player
            return self._first_drops(position, how, limit, memory)
        board = self._player.game.board(position.cells)
        brain = self._player.brain
        if position.before:
            slides = np.empty(4)
            status = expectimax.think_slides(brain, how, board, limit, memory, slides)
            return {name: float(w) for name, w in zip(SLIDES, slides, strict=True) if not np.isnan(w)}, status
        drops = np.empty((2, 16))
        status = expectimax.think_drops(brain, how, board, limit, memory, drops)
        return {
            f"{index}@{cell}": float(drops[tile, cell])
            for tile, index in enumerate(self._rules.spawns)
            for cell in range(16)
            if position.cells[cell] == 0
        }, status

    def _first_drops(self, position: Position, how: How, limit: Limit, memory: Memory) -> tuple[dict[str, float], int]:
        worths, status = {}, expectimax.COMPLETED
        for move in self._rules.legal_moves(position):
            one_tile = self._rules.play(position, move.text).position
            after_it, status = self._worths(one_tile, how, limit, memory)
            if status != expectimax.COMPLETED:
                break
            odds = {second.text: second.probability or 0.0 for second in self._rules.legal_moves(one_tile)}
            worths[move.text] = sum(odds[text] * worth for text, worth in after_it.items())
        return worths, status

    def _ranked(self, position: Position, worths: dict[str, float], how: How, limits: Limits, memory: Memory) -> Report:
        """The report on a position whose moves have these worths: best slide, worst drop or likeliest drop first."""
        odds = {move.text: move.probability for move in self._rules.legal_moves(position)}
        if position.before:
            order = sorted(worths, key=lambda move: -worths[move])
            value = worths[order[0]]
            move: str | None = order[0]
        elif self._evil:
            order = sorted(worths, key=lambda move: (not move.startswith(f"{self._tile}@"), worths[move]))
            move = order[0] if order[0].startswith(f"{self._tile}@") else None
            value = sum(
                chance * min(worths[m] for m in worths if m.startswith(f"{index}@"))
                for index, chance in self._rules.spawns.items()
            )
        else:
            order = sorted(worths, key=lambda move: -(odds[move] or 0.0))
            move, value = None, sum((odds[m] or 0.0) * worth for m, worth in worths.items())
        lines = tuple(
            Line(
                (text, *self._follow(position, text, how, memory)),
                points(worths[text], exact=False),
                depth=int(how.depth),
                probability=odds[text] if not self._evil else None,
            )
            for text in order[: limits.max_lines]
        )
        return Report(points(value, exact=False), move, lines)

    def _follow(self, position: Position, move: str, how: How, memory: Memory) -> list[str]:
        """How play may go on after a slide, no further than was searched; nothing after a drop."""
        if not position.before or how.depth == 1:
            return []
        after = self._rules.play(position, move).position
        actions: NDArray[np.int64] = np.zeros(min(LONGEST_LINE, 2 * int(how.depth) - 1), np.int64)
        length = expectimax.think_on(self._player.brain, how, self._player.game.board(after.cells), memory, actions)
        return [SLIDES[a] if a < 4 else f"{a >> 4}@{a & 15}" for a in actions[:length].tolist()]


def points(value: float, *, exact: bool) -> Score:
    """A score in points, which are always the player's."""
    return Score(Side.PLAYER_ONE, ExpectedPoints(value), exact)
