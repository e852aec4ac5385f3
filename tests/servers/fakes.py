"""An engine with nothing behind it, whose searches do what their options say: for testing servers without an engine.

The game: some sticks lie in a row, two players take 1 or 2 in turn, whoever takes the last one wins. A position is the
number of sticks and who is to move:

    7 one   --2-->   5 two   --1-->   4 one   ...   1 two   --1-->   0 one (player two has won)
"""

import random
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from plyd.engines.core.engine import Capability, Card, Engine, Model
from plyd.engines.core.errors import BadMove, BadPosition, quoted
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.look import BoardKind, BoardLook, SideLook, StartForm
from plyd.engines.core.options import Option, OptionValue
from plyd.engines.core.rules import Board, Move, Outcome, Side, Step, grid
from plyd.engines.core.search import (
    ExpectedPoints,
    Limits,
    Line,
    Proven,
    Report,
    Result,
    Score,
    StopReason,
    Unreachable,
    WinProbability,
)
from plyd.engines.core.time_control import Budget
from plyd.engines.tiles.rulebook import TileRules

SECRET = "/home/secret/weights.bin"  # in the text of a fault; must never reach a caller
SCORES = {
    "points": ExpectedPoints(12.5),
    "probability": WinProbability(0.625),
    "proven": Proven(Result.LOSS, 3),
    "unreachable": Unreachable(),
}


@dataclass(frozen=True, slots=True)
class Sticks:
    left: int
    to_move: Side


@dataclass(frozen=True)
class SticksRules:
    summary: str
    most: int
    is_quick: bool = True

    def start(self) -> Sticks:
        return Sticks(7, Side.PLAYER_ONE)

    def parse(self, text: str) -> Sticks:
        left, _, player = text.partition(" ")
        if not re.fullmatch("[0-9]{1,4}", left) or player not in ("one", "two"):
            raise BadPosition(f'cannot read {quoted(text)}; expected a number and one or two, like "7 one"')
        return Sticks(int(left), Side.PLAYER_ONE if player == "one" else Side.PLAYER_TWO)

    def text(self, position: Sticks) -> str:
        return f"{position.left} {'one' if position.to_move is Side.PLAYER_ONE else 'two'}"

    def to_move(self, position: Sticks) -> Side | None:
        return position.to_move if position.left else None

    def outcome(self, position: Sticks) -> Outcome:
        if position.left:
            return Outcome.ONGOING
        return Outcome.PLAYER_TWO_WINS if position.to_move is Side.PLAYER_ONE else Outcome.PLAYER_ONE_WINS

    def legal_moves(self, position: Sticks) -> list[Move]:
        return [Move(str(taken), cell=position.left - taken) for taken in range(1, min(self.most, position.left) + 1)]

    def play(self, position: Sticks, move: str) -> Step:
        if move not in [legal.text for legal in self.legal_moves(position)]:
            raise BadMove(f"illegal move {quoted(move)} at {quoted(self.text(position))}")
        other = Side.PLAYER_TWO if position.to_move is Side.PLAYER_ONE else Side.PLAYER_ONE
        return Step(Sticks(position.left - int(move), other), 0.0, (position.left - int(move),))

    def board(self, position: Sticks) -> Board:
        return Board(1, max(1, position.left), ("|",) * position.left or ("",))

    def picture(self, position: Sticks) -> str:
        return grid(self.board(position))


@dataclass(frozen=True, slots=True)
class Asked:
    """What one search was asked."""

    position: Sticks
    limits: Limits
    stop: Stop


class FakeEngine(Engine):
    """Plays sticks as its options say; `asked` has every search it was given, `gate` holds its warm-up back."""

    card = Card(
        game="sticks",
        title="Sticks",
        summary="Does what its options say.",
        position_notation="Sticks left, and who is to move.",
        position_examples=("7 one", "3 two"),
        move_notation="Sticks to take.",
        move_examples=("1", "2"),
        node_meaning="a report",
        min_rows=1,
        max_rows=2,
        min_columns=3,
        max_columns=4,
        options=(
            Option("reports", "Reports before the search has finished.", 0, 0, 1_000_000_000),
            Option("seconds_per_report", "Time each report takes.", 0.0, 0.0, 60.0),
            Option("padding", "Bytes that make each report larger.", 0, 0, 1_000_000),
            Option("fail", "Raise an error instead of the final report.", default=False),
            Option("ignores_stop", "Go on although told to stop.", default=False),
            Option("score", "Kind of score.", "probability", choices=tuple(SCORES)),
        ),
        capabilities=frozenset({Capability.MEMORY, Capability.EXACT}),
        models={"normal": Model("twigs", "ab" * 32)},
        board_look=BoardLook(BoardKind.CELLS, ("a", "b"), ("1",), rows_from_bottom=True, empty_is_open=True),
        sides=(SideLook(Side.PLAYER_ONE, "Ann", "|", "#00ff00"), SideLook(Side.PLAYER_TWO, "Bob")),
        start_form=StartForm("{columns} one", rows=1, columns=7, square=True, step=2, blocked_cell="#"),
        file_formats=("sgf", "text"),
    )
    variants = {"normal": SticksRules("take 1 or 2", 2), "greedy": SticksRules("take 1, 2 or 3", 3)}  # noqa: RUF012

    def __init__(self, game: str = "sticks") -> None:
        self.card = replace(type(self).card, game=game)
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[Asked] = []
        self.searchers = 0

    def warm_up(self) -> None:
        assert self.gate.wait(30)

    def searcher(
        self, variant: str, options: Mapping[str, OptionValue], megabytes: int | None = None
    ) -> "FakeSearcher":
        self.searchers += 1
        return FakeSearcher(self.variants[variant], options, self.asked)


class EndlessEngine(FakeEngine):
    """A tile game of two cells that never ends, so that games may be of any length; each slide gains 2 points.

    b 1 1   --left-->   a 1 0   --1@1-->   b 1 1   ...
    """

    variants = {"normal": TileRules("", 1, 2, merge=lambda *_: 1, tile=lambda _: 2, spawns={1: 1.0}, max_index=1)}  # noqa: RUF012


class FastEndlessEngine(EndlessEngine):
    """The same, with a fast player; its searcher is never asked."""

    def fast_player(self, variant: str, options: Mapping[str, OptionValue], limits: Limits, seed: int) -> "FakeFast":
        return FakeFast(seed)


class FakeFast:
    """Slides left or right as its seed says."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def play(self, position: Any, most: int, stop: Stop) -> tuple[int, list[str]]:
        assert position.before
        moves: list[str] = []
        while len(moves) < 2 * most and not stop.poll():
            moves += ["left", "1@1"] if self._chance.random() < 0.5 else ["right", "1@0"]
        return len(moves) // 2, moves


class FakeSearcher:
    """Makes reports at the pace its options ask for; a report is a node and a depth."""

    def __init__(self, rules: SticksRules, options: Mapping[str, Any], asked: list[Asked]) -> None:
        self._rules = rules
        self._options = options
        self._asked = asked

    def search(self, position: Sticks, limits: Limits, stop: Stop) -> Iterator[Report]:
        self._asked.append(Asked(position, limits, stop))
        began = time.monotonic()
        budget = Budget.start(limits).seconds
        end = None if budget is None else began + budget
        if not self._rules.legal_moves(position):
            yield Report(Score(Side.PLAYER_ONE, Proven(Result.WIN, 0)), stop_reason=StopReason.NO_SEARCH)
            return
        reason, made = StopReason.FINISHED, 0
        for made in range(self._options["reports"]):
            reason = self._end_of(made, limits, end, stop)
            if reason:
                break
            yield self._report(position, made + 1, began)
            self._rest(end, stop)
        else:
            made, reason = self._options["reports"], StopReason.FINISHED
        if self._options["fail"]:
            raise RuntimeError(f"cannot open {SECRET}")
        yield replace(self._report(position, made, began), stop_reason=reason)

    def touched_megabytes(self) -> int:
        return 0

    def _end_of(self, made: int, limits: Limits, end: float | None, stop: Stop) -> StopReason | None:
        if not self._options["ignores_stop"] and stop.poll():
            return StopReason.STOPPED
        if end is not None and time.monotonic() >= end:
            return StopReason.TIME
        if limits.max_nodes is not None and made >= limits.max_nodes:
            return StopReason.NODES
        if limits.max_depth is not None and made >= limits.max_depth:
            return StopReason.DEPTH
        return None

    def _rest(self, end: float | None, stop: Stop) -> None:
        """Sleep as long as a report takes, in naps; wake early to stop."""
        wake = time.monotonic() + self._options["seconds_per_report"]
        if end is not None:
            wake = min(wake, end)
        while (left := wake - time.monotonic()) > 0 and (self._options["ignores_stop"] or not stop.is_set()):
            time.sleep(min(left, 0.002))

    def _report(self, position: Sticks, number: int, began: float) -> Report:
        score = Score(Side.PLAYER_TWO, SCORES[self._options["score"]], exact=self._options["score"] == "proven")
        move = self._rules.legal_moves(position)[-1].text
        padding = ("x" * self._options["padding"],) if self._options["padding"] else ()
        line = Line((move, *padding), score, visits=number, depth=2, probability=0.25, prior=0.75)
        return Report(score, move, (line,), nodes=number, depth=number, seconds=time.monotonic() - began)
