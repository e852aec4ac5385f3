"""Connect Four as an engine: its card and its searchers."""

from collections.abc import Mapping

from plyd.engines.connect4.exact.table import LARGER_BYTES, Table
from plyd.engines.connect4.graph.memory import graph_for, recycle
from plyd.engines.connect4.graph.searcher import OPTIONS, GraphSearcher
from plyd.engines.connect4.rules import LARGEST, RULES, SMALLEST
from plyd.engines.connect4.uct.searcher import UctSearcher
from plyd.engines.core.engine import Capability, Card, Engine
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.look import BoardKind, BoardLook, SideLook, StartForm, numbers
from plyd.engines.core.options import OptionValue, granted_megabytes, read_options
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, Searcher


class Connect4(Engine):
    """Serves Connect Four; with method=graph a searcher keeps its graph from move to move."""

    card = Card(
        game="connect4",
        title="Connect Four",
        summary="Monte-Carlo search of a graph of positions that propagates proven results, beside an exact solver; "
        "7x6 has an opening book.",
        position_notation="Size of an empty board: columns x rows, optionally with a forbidden cell by its column and "
        "its row from the bottom; or the rows from the top, x and o for stones, . empty, # forbidden. x moves first.",
        position_examples=("7x6", "12x10 #5,3", "......./......./......./......./...o.../..xx..."),
        move_notation="A column number; 1 is at the left.",
        move_examples=("1", "4"),
        node_meaning="a simulation: one descent of the graph of positions",
        min_rows=SMALLEST,
        max_rows=LARGEST,
        min_columns=SMALLEST,
        max_columns=LARGEST,
        options=OPTIONS,
        capabilities=frozenset({Capability.MEMORY}),
        board_look=BoardLook(BoardKind.DROPPED, numbers(LARGEST), numbers(LARGEST), rows_from_bottom=True),
        sides=(
            SideLook(Side.PLAYER_ONE, "Red", stone="x", colour="#d8392f"),
            SideLook(Side.PLAYER_TWO, "Yellow", stone="o", colour="#f4c430"),
        ),
        start_form=StartForm("{columns}x{rows}", rows=6, columns=7, blocked_cell=" #{column},{row}"),
    )
    variants = {"classic": RULES}  # noqa: RUF012
    parts = ("graph", "uct")

    def warm_up(self) -> None:
        """Prepare both methods."""
        for method in self.parts:
            self.prepare(method)

    def prepare(self, part: str) -> None:
        """Run each kernel of a method once, so that all are compiled."""
        searcher = self.searcher("classic", read_options(self.card.options, {"method": part}))
        for start in ("7x6", "4x4", "9x4"):  # the last one has the solver of larger boards
            list(searcher.search(RULES.parse(start), Limits(max_nodes=32), Stop()))
        if part == "graph":
            recycle(graph_for(nodes=4, columns=4), 1, 2, Stop().flag, NEVER)
            Table(LARGER_BYTES).grow()

    def search_parts(self, variant: str, options: Mapping[str, OptionValue]) -> tuple[str, ...]:  # noqa: ARG002
        """Only the method asked for."""
        return (str(options["method"]),)

    def searcher(self, variant: str, options: Mapping[str, OptionValue], megabytes: int | None = None) -> Searcher:  # noqa: ARG002
        """A new searcher with its own memory."""
        kind = GraphSearcher if options["method"] == "graph" else UctSearcher
        return kind(options, granted_megabytes(options, megabytes))
