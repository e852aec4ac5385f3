"""Speed of Gomoku by itself, without a daemon."""

import statistics
import time
from collections.abc import Iterator

from plyd.engines.core.cores import CORES
from plyd.engines.core.figures import Figure
from plyd.engines.core.machine import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits, Proven
from plyd.engines.gomoku.engine import OPTIONS, Gomoku
from plyd.engines.gomoku.rules import FREESTYLE, Position

GAME = "gomoku"
SEARCH_OPTIONS = {"engine": "negascout"}  # whose nodes come by the hundred thousand
GAMES = ("g7 i7 h8 j7 f10", "i7 g7 i8 j9 g6", "h7 i8 g9 h9 g7")  # that are not decided for a while
LONG_CHASE = (  # no win by fours is shorter than eight moves of x
    ".............../.............../.............../...xx.x..xo..../.....o.o..oo.../.........ox..../....o....o...../"
    "....o.....xx.../.......xx..x.../...o..x..x.o.../.....o..o.x..../........xxo..../.............../.............../"
    "..............."
)
NODES, WALKS, RUNS, SECONDS = 300_000, 2_000, 3, 1.0


def figures() -> Iterator[Figure]:
    """Nodes of NegaScout and walks of MCTS a second, and the time that a long chase of fours takes."""
    engine = Gomoku()
    positions = [_after(moves) for moves in GAMES]
    for name, nodes, scale, unit, goal in (
        ("negascout", NODES, 1e3, "k nodes/s", 300.0),
        ("mcts", WALKS, 1.0, "walks/s", None),
    ):
        paces = [_pace(engine, name, position, nodes) for position in positions for _ in range(RUNS)]
        yield Figure(GAME, f"{name}, one core", statistics.median(paces) / scale, unit, at_least=goal)
    if CORES.count > 1:
        for name in ("negascout", "mcts"):
            ratios = [_walked(engine, name, p, 2) / _walked(engine, name, p, 1) for p in positions]
            yield Figure(GAME, f"{name}, two cores", statistics.median(ratios), "times one")
    searcher = engine.searcher("freestyle", read_options(OPTIONS, {"engine": "negascout"}))
    began = time.perf_counter()
    *_, last = searcher.search(FREESTYLE.parse(LONG_CHASE), Limits(max_nodes=NODES), Stop())
    found = (time.perf_counter() - began) * 1e3
    assert isinstance(last.score.value, Proven)
    yield Figure(GAME, f"a win by fours in {last.score.value.plies} plies is found", found, "ms", at_most=50.0)


def _after(moves: str) -> Position:
    position = FREESTYLE.start()
    for move in moves.split():
        position = FREESTYLE.play(position, move).position
    return position


def _pace(engine: Gomoku, name: str, position: Position, nodes: int) -> float:
    """Nodes of a CPU-second, on one thread."""
    searcher = engine.searcher("freestyle", read_options(OPTIONS, {"engine": name, "threads": "1"}))
    began = time.thread_time()
    *_, last = searcher.search(position, Limits(max_nodes=nodes), Stop())
    return last.nodes / (time.thread_time() - began)


def _walked(engine: Gomoku, name: str, position: Position, threads: int) -> int:
    """Nodes of a second, on so many threads."""
    searcher = engine.searcher("freestyle", read_options(OPTIONS, {"engine": name, "threads": str(threads)}))
    *_, last = searcher.search(position, Limits(max_seconds=SECONDS), Stop())
    return last.nodes
