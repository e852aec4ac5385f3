"""Othello as an engine: its card and its searchers."""

from collections.abc import Mapping

from plyd.engines.core.engine import Capability, Card, Engine
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.look import BoardKind, BoardLook, SideLook, StartForm, numbers
from plyd.engines.core.options import OptionValue, granted_megabytes, memory_option, read_options
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, Searcher
from plyd_othello.rules import LETTERS, RULES, SIZES
from plyd_othello.search import OthelloSearcher


class Othello(Engine):
    """Serves Othello."""

    card = Card(
        game="othello",
        title="Othello",
        summary="Alpha-beta with a transposition table, exact in the endgame; weighs mobility, corners and frontier.",
        position_notation="Size of the ordinary start, or the rows from the top, x for black, o for white, . empty, "
        "then a space and the side to move.",
        position_examples=("8x8", "6x6", "....../....../..ox../..xxx./....../...... o"),
        move_notation="A column's letter and a row's number, a1 at the top left; or pass, if no other move is legal.",
        move_examples=("d3", "c4"),
        node_meaning="a position searched or evaluated",
        min_rows=min(SIZES),
        max_rows=max(SIZES),
        min_columns=min(SIZES),
        max_columns=max(SIZES),
        options=(memory_option(default=32, minimum=1, maximum=4096),),
        capabilities=frozenset({Capability.COSTLY_LINES}),
        board_look=BoardLook(BoardKind.CELLS, tuple(LETTERS), numbers(max(SIZES))),
        sides=(
            SideLook(Side.PLAYER_ONE, "Black", stone="x", colour="#17181b"),
            SideLook(Side.PLAYER_TWO, "White", stone="o", colour="#f6f4ee"),
        ),
        start_form=StartForm("{columns}x{rows}", rows=8, columns=8, square=True, step=2),
    )
    variants = {"classic": RULES}  # noqa: RUF012

    def warm_up(self) -> None:
        """Run each kernel once, so that all are compiled."""
        searcher = self.searcher("classic", read_options(self.card.options, {"memory": "1"}))
        list(searcher.search(RULES.start(), Limits(max_nodes=2000), Stop()))

    def searcher(
        self,
        variant: str,  # noqa: ARG002
        options: Mapping[str, OptionValue],
        megabytes: int | None = None,
    ) -> Searcher:
        """A new searcher with its own table."""
        return OthelloSearcher(granted_megabytes(options, megabytes))
