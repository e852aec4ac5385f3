"""2584 on 2x3 as an engine: its card and its searchers."""

from collections.abc import Mapping
from typing import Any

from plyd.engines.core.engine import Answers, Capability, Card, Engine
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import Option, OptionValue
from plyd.engines.core.search import Limits, Searcher
from plyd.engines.tiles.look import TILE_LOOK, TILE_SIDES
from plyd.engines.tiles_2584_2x3.evaluate import Solution, solve
from plyd.engines.tiles_2584_2x3.rules import RULES
from plyd.engines.tiles_2584_2x3.search import ExactSearcher, ExpectimaxSearcher


class Fibonacci2x3(Engine):
    """Solves the game when the daemon starts; a search looks up the answer."""

    card = Card(
        game="2584-2x3",
        title="2584 on 2x3",
        summary="Every position that can occur is solved exactly, in double precision.",
        position_notation="b (before: the player slides next) or a (after: a tile drops next), then "
        "the index of each cell, row by row: 0 empty, 1 2 3 4 5 6 ... for the tiles 1 2 3 5 8 13 ...; at most 33.",
        position_examples=("b 2 2 0 0 0 0", "a 5 1 6 0 12 0"),
        move_notation="A slide: up, right, down or left. A drop: INDEX@CELL, cells 0 1 2 above 3 4 5.",
        move_examples=("left", "1@4"),
        node_meaning="an after-state whose value was looked up or searched",
        min_rows=2,
        max_rows=2,
        min_columns=3,
        max_columns=3,
        options=(
            Option(
                "method",
                "exact: look up the solution. expectimax: search without it, one slide deeper at a time.",
                default="exact",
                choices=("exact", "expectimax"),
            ),
        ),
        capabilities=frozenset({Capability.EVALUATE, Capability.EXACT}),
        board_look=TILE_LOOK,
        sides=TILE_SIDES,
    )
    variants = {"classic": RULES}  # noqa: RUF012

    def __init__(self) -> None:
        self._solution: Solution | None = None

    @property
    def solution(self) -> Solution:
        """The solved game; solved on first use."""
        if self._solution is None:
            self._solution = solve()
        return self._solution

    def warm_up(self) -> None:
        """Solve the game, and run each kernel once, so that all are compiled."""
        for as_text in (True, False):
            self.evaluate("classic", b"b 1 1 0 0 0 0\n", as_text=as_text, with_moves=True)
        for method in ("exact", "expectimax"):
            searcher = self.searcher("classic", {"method": method})
            for text in ("b 1 1 0 0 0 0", "a 2 0 0 0 0 0"):
                list(searcher.search(RULES.parse(text), Limits(max_depth=2), Stop()))

    def searcher(
        self,
        variant: str,  # noqa: ARG002
        options: Mapping[str, OptionValue],
        megabytes: int | None = None,  # noqa: ARG002  it needs next to none
    ) -> Searcher:
        """A searcher of the chosen method."""
        kind = ExactSearcher if options["method"] == "exact" else ExpectimaxSearcher
        return kind(self.solution)

    def answers_at_once(self, position: Any, limits: Limits, options: Mapping[str, OptionValue]) -> bool:  # noqa: ARG002
        """True for the exact method, which only looks values up."""
        return options["method"] == "exact"

    def evaluate(self, variant: str, lines: bytes, *, as_text: bool, with_moves: bool) -> Answers:  # noqa: ARG002
        """Exact values of many positions."""
        return self.solution.answers(lines, as_text=as_text, with_moves=with_moves)
