"""`python -m plyd.engines.bench GAME`: an engine's speed without a daemon, as lines of JSON, and its search signature.

The signature identifies a search's behaviour: eight hexadecimal digits over the nodes, score and move of searches with
fixed positions, nodes and seed in one thread. It changes if, and only if, the search changes.
"""

import argparse
import hashlib
import random
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from plyd.engines import registry
from plyd.engines.core.engine import Engine
from plyd.engines.core.figures import Figure
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import ExpectedPoints, Limits, Proven, Report, WinProbability

POSITIONS = 16
NODES = 500_000


def figures(game: str) -> Iterator[Figure]:
    """Nodes per second with the search's signature, then the measurements of the game's own bench."""
    bench = bench_of(game)
    engine = registry.load(game)
    engine.warm_up()
    yield search_figure(engine, getattr(bench, "SEARCH_OPTIONS", {}))
    if bench:
        yield from bench.figures()


def search_figure(engine: Engine, options: dict[str, str]) -> Figure:
    """Nodes per second over fixed searches, and their signature."""
    variant = next(iter(engine.variants))
    values = read_options(engine.card.options, options)
    digest, nodes, seconds = hashlib.sha256(), 0, 0.0
    for position in positions(engine):
        searcher = engine.searcher(variant, values)
        began = time.perf_counter()
        *_, last = searcher.search(position, Limits(max_nodes=NODES), Stop())
        seconds += time.perf_counter() - began
        nodes += last.nodes
        digest.update(f"{last.nodes} {whole_score(last)} {last.move}\n".encode())
    return Figure(engine.card.game, f"search, signature {digest.hexdigest()[:8]}", nodes / seconds / 1e6, "M nodes/s")


def positions(engine: Engine) -> list[Any]:
    """Positions from seeded random play, all with a player (not chance) to move."""
    rules = next(iter(engine.variants.values()))
    chance = random.Random(1)
    found: list[Any] = []
    while len(found) < POSITIONS:
        position = rules.start()
        for _ in range(chance.randrange(10, 40)):
            moves = rules.legal_moves(position)
            if not moves:
                break
            position = rules.play(position, chance.choice(moves).text).position
        if rules.legal_moves(position) and rules.legal_moves(position)[0].probability is None:
            found.append(position)
    return found


def whole_score(report: Report) -> int:
    """A score as an integer, in millionths."""
    match report.score.value:
        case ExpectedPoints(value) | WinProbability(value):
            return round(value * 1e6)
        case Proven(result, plies):
            return {"win": 1, "draw": 0, "loss": -1}[result.value] * 10**12 + (plies or 0)
        case _:
            return -1


def bench_of(game: str) -> Any:
    """The bench module beside the game's engine; None if it has none, as a plug-in may."""
    name = registry.games()[game].partition(":")[0].rpartition(".")[0] + ".bench"
    return import_module(name) if find_spec(name) else None


def main() -> None:
    """Measure, or write queries to measure with elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", choices=registry.games())
    parser.add_argument("--queries", type=Path, metavar="FILE", help="write queries there instead of measuring")
    parser.add_argument("--count", type=int, default=1_000_000, help="how many queries")
    arguments = parser.parse_args()
    if arguments.queries:
        bench_of(arguments.game).write_queries(arguments.queries, arguments.count)
        return
    for figure in figures(arguments.game):
        print(figure.json(), flush=True)


if __name__ == "__main__":
    main()
