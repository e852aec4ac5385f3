"""What the graph knows of a position, in words of the game: lines of play, the best first."""

from dataclasses import dataclass

from plyd.engines.connect4.graph import DRAW, LOSS, OPEN, WIN
from plyd.engines.connect4.memory import NONE, Graph
from plyd.engines.connect4.rules import Position, mover
from plyd.engines.connect4.solver import Verdict
from plyd.engines.core.search import Line, Proven, Result, Score, WinProbability

RESULTS = {WIN: Result.WIN, DRAW: Result.DRAW, LOSS: Result.LOSS}
RANK = {WIN: 2, DRAW: 1, OPEN: 1, LOSS: 0}
LONGEST_LINE = 24


@dataclass(frozen=True, slots=True)
class Choice:
    """One legal move at the root: how it stands for who makes it, and where it leads."""

    column: int
    fate: int
    visits: int = 0
    worth: float = 0.0
    most_plies: int = 0  # to the end of a decided game
    is_exact: bool = False  # whether it takes no fewer
    node: int = NONE

    @property
    def rank(self) -> tuple[int, int, int, float]:
        """The higher, the better: wins first, losses last, the longest before the others."""
        return RANK[self.fate], self.most_plies if self.fate == LOSS else 0, self.visits, self.worth


def visits_of(graph: Graph, node: int) -> int:
    """Walks that went through a node, or began there."""
    return int(graph.weight[node] + graph.visits[node, : graph.degree[node]].sum())


def choices_of(graph: Graph, root: int, columns: list[int], cells_left: int) -> list[Choice]:
    """What the graph knows of each legal column. One without an edge hands the other side a win at once."""
    edges = {int(graph.column[root, e]): e for e in range(graph.degree[root])}
    found = [Choice(column, LOSS, most_plies=2, is_exact=True) for column in columns if column not in edges]
    for column, e in edges.items():
        node, fate = int(graph.child[root, e]), int(graph.fate[root, e])
        plies = cells_left if fate == DRAW else 0 if fate == OPEN or node == NONE else int(graph.plies[node]) + 1
        is_exact = fate == DRAW or (fate != OPEN and node != NONE and graph.degree[node] == 0)
        worth, visits = float(graph.worth[root, e]), int(graph.visits[root, e])
        found.insert(e, Choice(column, fate, visits, worth, plies, is_exact, node))
    return found


def lines_of(graph: Graph, position: Position, choices: list[Choice], verdict: Verdict | None) -> list[Line]:
    """A line for each choice, the best first."""
    chosen = verdict.column if verdict else None
    ordered = sorted(choices, key=lambda choice: (choice.column == chosen, choice.rank), reverse=True)
    side = mover(position)
    lines = []
    for choice in ordered:
        value = _value(choice)
        if verdict and choice is ordered[0]:
            value = verdict.proven
        score = Score(side, value, exact=isinstance(value, Proven))
        moves = (str(choice.column + 1), *follow(graph, choice.node))
        lines.append(Line(moves, score, visits=choice.visits))
    return lines


def _value(choice: Choice) -> WinProbability | Proven:
    if choice.fate == OPEN:
        return WinProbability(min(1.0, max(0.0, choice.worth)))
    return Proven(RESULTS[choice.fate], choice.most_plies if choice.is_exact else None)


def follow(graph: Graph, node: int) -> list[str]:
    """How play goes on from a node by the moves that were visited most, or that decide."""
    moves: list[str] = []
    while node != NONE and graph.degree[node] > 0 and len(moves) < LONGEST_LINE:
        degree = int(graph.degree[node])
        fates, visits = graph.fate[node, :degree].tolist(), graph.visits[node, :degree].tolist()
        best = max(range(degree), key=lambda e: (RANK[fates[e]], visits[e]))
        if visits[best] == 0:
            break
        moves.append(str(int(graph.column[node, best]) + 1))
        node = int(graph.child[node, best])
    return moves
