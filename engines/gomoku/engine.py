"""Gomoku as an engine: its card and its searchers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from plyd.engines.core.engine import Capability, Card, Engine
from plyd.engines.core.errors import BadModel
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.look import BoardKind, BoardLook, SideLook, StartForm, numbers
from plyd.engines.core.options import (
    Option,
    OptionValue,
    granted_megabytes,
    memory_option,
    read_options,
    threads_option,
)
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, Searcher
from plyd.engines.gomoku.mcts.inference import load_network, shipped_network
from plyd.engines.gomoku.mcts.search_tree import C_PUCT
from plyd.engines.gomoku.mcts.searcher import MctsSearcher
from plyd.engines.gomoku.negascout.searcher import NegaScoutSearcher
from plyd.engines.gomoku.rules import LARGEST, LETTERS, RULES, SMALLEST

OPTIONS = (
    Option(
        "method",
        "negascout: alpha-beta over learned patterns. mcts: tree search guided by a network, which --model replaces.",
        default="negascout",
        choices=("negascout", "mcts"),
        aliases=("engine",),
    ),
    Option("c", "mcts: exploration constant c_puct.", default=C_PUCT, minimum=0.0, maximum=10.0),
    threads_option(),
    memory_option(default=256, minimum=8, maximum=65536),
)


class Gomoku(Engine):
    """Serves Gomoku; its searchers keep their tree or table from move to move."""

    variants = RULES
    parts = ("negascout", "mcts")

    def __init__(self, files: Mapping[str, Path] | None = None) -> None:
        ships, own = load_network(shipped_network()), {}
        for variant, path in (files or {}).items():
            if variant not in RULES:
                raise BadModel(f"{path} is for the variant {variant!r}; variants are {', '.join(RULES)}")
            own[variant] = load_network(path)
        self._networks = {variant: own.get(variant, ships) for variant in RULES}
        models = {variant: model for variant, (_, model) in self._networks.items()}
        options = tuple(replace(each, default="mcts") if own and each.name == "method" else each for each in OPTIONS)
        self.card = replace(CARD, options=options, models=models)

    def warm_up(self) -> None:
        """Prepare both methods."""
        for method in self.parts:
            self.prepare(method)

    def prepare(self, part: str) -> None:
        """Run each kernel of a method once, so that all are compiled."""
        for variant, rules in RULES.items():
            if part == "mcts":
                MctsSearcher(rules, self._networks[variant][0], read_options(OPTIONS, {}), megabytes=8).warm_up()
            else:
                searcher = self.searcher(variant, read_options(OPTIONS, {"method": part}))
                for limits in (Limits(max_nodes=2000), Limits(max_seconds=0.05)):
                    list(searcher.search(rules.start(), limits, Stop()))

    def search_parts(self, variant: str, options: Mapping[str, OptionValue]) -> tuple[str, ...]:  # noqa: ARG002
        """Only the method asked for: the other one takes as long to compile."""
        return (str(options["method"]),)

    def searcher(self, variant: str, options: Mapping[str, OptionValue], megabytes: int | None = None) -> Searcher:
        """A new searcher with its own memory."""
        megabytes = granted_megabytes(options, megabytes)
        if options["method"] == "mcts":
            return MctsSearcher(RULES[variant], self._networks[variant][0], options, megabytes)
        return NegaScoutSearcher(RULES[variant], options, megabytes)


CARD = Card(
    game="gomoku",
    title="Gomoku",
    summary="NegaScout over learned patterns, or MCTS guided by a network; both search for forced wins.",
    position_notation="Size of an empty board, or the rows from the top, x and o for stones, . empty, # blocked; "
    "x moves first; a space and x or o after the rows gives the side to move where the stones do not determine it.",
    position_examples=("15x15", "20x20", "...../...../..x../..o../....."),
    move_notation="A column's letter and a row's number; a1 is at the bottom left.",
    move_examples=("h8", "a1"),
    node_meaning="negascout: a position searched; mcts: a simulation in the tree",
    min_rows=SMALLEST,
    max_rows=LARGEST,
    min_columns=SMALLEST,
    max_columns=LARGEST,
    options=OPTIONS,
    capabilities=frozenset({Capability.MEMORY, Capability.COSTLY_LINES}),
    board_look=BoardLook(BoardKind.POINTS, tuple(LETTERS), numbers(LARGEST), rows_from_bottom=True, empty_is_open=True),
    sides=(
        SideLook(Side.PLAYER_ONE, "Black", stone="x", colour="#141416"),
        SideLook(Side.PLAYER_TWO, "White", stone="o", colour="#f1ede3"),
    ),
    start_form=StartForm("{columns}x{rows}", rows=15, columns=15, square=True),
    file_formats=("sgf", "psq", "text"),
)
