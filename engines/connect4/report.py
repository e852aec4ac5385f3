"""The graph's results as lines of play, best first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from plyd.engines.connect4.board import DRAW, GLANCE_PLIES, LOSS, OPEN, WIN
from plyd.engines.connect4.graph.memory import NONE, Graph
from plyd.engines.connect4.rules import Position, mover
from plyd.engines.connect4.solver.solver import Verdict
from plyd.engines.core.search import Line, Proven, Result, Score, WinProbability

RESULTS = {WIN: Result.WIN, DRAW: Result.DRAW, LOSS: Result.LOSS}
STATUS = {result: status for status, result in RESULTS.items()}
FOLLOWED = {WIN: 2, DRAW: 1, OPEN: 1, LOSS: 0}  # in a line of play, the higher first
LONGEST_LINE = 24


@dataclass(frozen=True, slots=True)
class Choice:
    """One legal move at the root, with its result for the side that plays it and the node it leads to."""

    column: int
    proven_result: int
    visits: int = 0
    value: float = 0.0
    most_plies: int = 0  # upper bound of the plies to the end, if the result is proven
    is_exact: bool = False  # whether `most_plies` is exact
    node: int = NONE


def best_first(choices: list[Choice]) -> list[Choice]:
    """Wins, shortest first; open moves, by visits; losses, longest first.

    Proven draws come before the open moves, unless the most visited of these is worth more than a draw.
    """
    still_open = [choice for choice in choices if choice.proven_result == OPEN]
    best_open = max(still_open, key=lambda choice: choice.visits, default=None)
    draw = 1 if best_open and best_open.value > 0.5 else 3
    rank = {WIN: 4, DRAW: draw, OPEN: 2, LOSS: 0}

    def key(choice: Choice) -> tuple[int, int, int, float]:
        sign = {WIN: -1, LOSS: 1}.get(choice.proven_result, 0)
        return rank[choice.proven_result], sign * choice.most_plies, choice.visits, choice.value

    return sorted(choices, key=key, reverse=True)


def visits_of(graph: Graph, node: int) -> int:
    """Simulations that passed through a node or started there."""
    degree = graph.nodes["degree"][node]
    return int(graph.nodes["weight"][node] + graph.edges["visits"][node, :degree].sum())


def choices_of(graph: Graph, root: int, columns: list[int], cells_left: int) -> list[Choice]:
    """The graph's results for each legal column. A column without an edge lets the opponent win at once."""
    edges = graph.edges[root, : graph.nodes["degree"][root]].copy()  # a copy: other threads may be writing
    missing = set(columns) - set(edges["column"].tolist())
    found = []
    for edge in edges:
        proven_result, node = int(edge["proven_result"]), int(edge["child"])
        is_glanced = proven_result != OPEN and node != NONE and graph.nodes["plies"][node] <= GLANCE_PLIES
        plies = 0 if proven_result == OPEN or node == NONE else int(graph.nodes["plies"][node]) + 1
        found.append(
            Choice(
                column=int(edge["column"]),
                proven_result=proven_result,
                visits=int(edge["visits"]),
                value=float(edge["value"] if edge["visits"] else graph.nodes["value"][root]),
                most_plies=cells_left if proven_result == DRAW else plies,
                is_exact=bool(proven_result == DRAW or is_glanced),
                node=node,
            )
        )
    found += [Choice(column, LOSS, most_plies=2, is_exact=True) for column in sorted(missing)]
    return found


def with_proven(choices: list[Choice], known: Mapping[int, Proven]) -> list[Choice]:
    """The choices with what a solver proved of each column."""
    return [_proven_choice(choice, known[choice.column]) if choice.column in known else choice for choice in choices]


def _proven_choice(choice: Choice, proven: Proven) -> Choice:
    is_exact = proven.plies is not None
    return replace(choice, proven_result=STATUS[proven.result], most_plies=proven.plies or 0, is_exact=is_exact)


def lines_of(
    graph: Graph, position: Position, choices: list[Choice], verdict: Verdict | None, most: int
) -> tuple[Line, ...]:
    """Lines of the best `most` choices, best first."""
    chosen = verdict.column if verdict else None
    ordered = sorted(best_first(choices), key=lambda choice: choice.column != chosen)
    side = mover(position)
    lines = []
    for choice in ordered[:most]:
        value = _value(choice)
        if verdict and choice is ordered[0]:
            value = verdict.proven
        elif verdict and verdict.proven.result is Result.LOSS and choice.proven_result == OPEN:
            value = Proven(Result.LOSS)  # the solver proved that every move loses
        score = Score(side, value, exact=isinstance(value, Proven))
        moves = (str(choice.column + 1), *follow(graph, choice.node))
        lines.append(Line(moves, score, visits=choice.visits))
    return tuple(lines)


def _value(choice: Choice) -> WinProbability | Proven:
    if choice.proven_result == OPEN:
        return WinProbability(min(1.0, max(0.0, choice.value)))
    return Proven(RESULTS[choice.proven_result], choice.most_plies if choice.is_exact else None)


def follow(graph: Graph, node: int) -> list[str]:
    """The most visited (or proven) continuation from a node."""
    moves: list[str] = []
    while node != NONE and graph.nodes["degree"][node] > 0 and len(moves) < LONGEST_LINE:
        edges = graph.edges[node, : graph.nodes["degree"][node]]
        best = max(edges, key=lambda edge: (FOLLOWED[int(edge["proven_result"])], int(edge["visits"])))
        if best["visits"] == 0:
            break
        moves.append(str(int(best["column"]) + 1))
        node = int(best["child"])
    return moves
