"""`plyd openings gomoku`: openings for matches, random or balanced; NegaScout judges which are balanced.

    15x15 | h8 i9 g7 i7 h6      a line of the file: what `plyd match --openings` reads

Opening number n of a seed depends on n, the seed and the openings before it. So a file that was begun is continued as
if it had never been interrupted.
"""

import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import click

from plyd.engines.core.errors import EngineError, quoted
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits, WinProbability
from plyd.engines.core.training_run import readable_errors
from plyd.engines.gomoku.engine import OPTIONS
from plyd.engines.gomoku.fit.pattern_games import OPENING_PLIES, random_opening
from plyd.engines.gomoku.fit.records import continued
from plyd.engines.gomoku.negascout.searcher import NegaScoutSearcher
from plyd.engines.gomoku.rules import LARGEST, RULES, SMALLEST, GomokuRules, Position, empty_board

TRIES = 10_000  # for one opening
GLANCES = ((20, 3.0), (5, 1.5), (1, 1.0))  # looks: share 1/n of the nodes, times the margin
MEGABYTES = 64


class Judge:
    """Says which positions are balanced: NegaScout with a fixed number of nodes, on one thread."""

    def __init__(self, rules: GomokuRules, nodes: int, margin: float) -> None:
        self._searcher = NegaScoutSearcher(rules, read_options(OPTIONS, {"threads": "1"}), MEGABYTES)
        self._nodes, self._margin = nodes, margin

    def is_balanced(self, position: Position) -> bool:
        """Whether the side to move wins with a probability of 1/2, give or take the margin."""
        return all(
            self._is_near(position, max(1, self._nodes // share), times * self._margin) for share, times in GLANCES
        )

    def _is_near(self, position: Position, nodes: int, margin: float) -> bool:
        *_, last = self._searcher.search(position, Limits(max_nodes=nodes), Stop())
        value = last.score.value
        return isinstance(value, WinProbability) and abs(value.probability - 0.5) <= margin


def openings(
    rules: GomokuRules, size: int, plies: tuple[int, int], seed: int, judge: Judge | None, known: Iterable[str]
) -> Iterator[str]:
    """An endless sequence of openings after those that are known; none is a repetition or a mirror image."""
    seen = {canonical(_position_of(rules, size, line).rows) for line in known}
    while True:
        rng = random.Random(f"{seed} {len(seen)}")
        for _ in range(TRIES):
            position, moves = random_opening(size, rng.randint(*plies), rng)
            form = canonical(position.rows)
            if form not in seen and (judge is None or judge.is_balanced(position)):
                break
        else:
            raise EngineError(f"no new opening of {plies[0]} to {plies[1]} plies in {TRIES} tries; allow more plies")
        seen.add(form)
        yield f"{size}x{size} | {' '.join(moves)}"


def _position_of(rules: GomokuRules, size: int, line: str) -> Position:
    start, _, moves = line.partition(" | ")
    if start != f"{size}x{size}":
        raise EngineError(f"{quoted(line)} is not an opening on {size}x{size}; choose another file")
    position = empty_board(size)
    for move in moves.split():
        position = rules.play(position, move).position
    return position


def canonical(rows: tuple[str, ...]) -> tuple[str, ...]:
    """The first, in the order of texts, of a board's eight symmetric forms."""
    forms = []
    for _ in range(4):
        rows = tuple("".join(column) for column in zip(*rows[::-1], strict=True))  # a quarter turn
        forms += [rows, rows[::-1]]
    return min(forms)


@click.command(short_help="Make openings of Gomoku.")
@click.option("--balanced", is_flag=True, help="Only openings that give both sides the same chances.")
@click.option("--count", type=click.IntRange(1), default=60, show_default=True, help="Number of openings in the file.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File.  [default: write to stdout]")
@click.option("--size", type=click.IntRange(SMALLEST, LARGEST), default=15, show_default=True, help="Board size.")
@click.option("--variant", type=click.Choice(list(RULES)), default="freestyle", show_default=True, help="Rules.")
@click.option(
    "--plies",
    type=(click.IntRange(1, OPENING_PLIES), click.IntRange(1, OPENING_PLIES)),
    default=(4, 8),
    show_default=True,
    help="Fewest and most moves of an opening.",
)
@click.option("--nodes", type=click.IntRange(1), default=200_000, show_default=True, help="Nodes to judge an opening.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 0.5),
    default=0.05,
    show_default=True,
    help="Largest difference of the probability to win from 1/2.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Random seed.")
def gomoku(
    balanced: bool,
    count: int,
    out: Path | None,
    size: int,
    variant: str,
    plies: tuple[int, int],
    nodes: int,
    margin: float,
    seed: int,
) -> None:
    """Make openings for matches: random moves near the centre, which the engine judges with --balanced.

    A file is continued: the same command resumes after Ctrl-C, and a larger --count adds openings.

    \b
    plyd openings gomoku --balanced --out openings.txt
    plyd match gomoku --openings openings.txt --second method=negascout
    """
    if plies[0] > plies[1]:
        raise click.BadParameter(f"{plies[0]} is more than {plies[1]}", param_hint="--plies")
    with readable_errors(out or Path("-")):
        known = continued(out) if out else []
        rules = RULES[variant]
        judge = Judge(rules, nodes, margin) if balanced else None
        found = openings(rules, size, plies, seed, judge, known)
        with out.open("a", encoding="utf-8", buffering=1) if out else nullcontext(sys.stdout) as file:
            for line in islice(found, max(0, count - len(known))):
                print(line, file=file, flush=True)
