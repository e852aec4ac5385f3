"""Speed of Gomoku without a daemon."""

import statistics
import time
from collections.abc import Iterator

from plyd.engines.core.cores import CORES
from plyd.engines.core.figures import Figure
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import OptionValue, read_options
from plyd.engines.core.search import Limits, Proven, Searcher
from plyd.engines.gomoku.board.board import O, X, board_of
from plyd.engines.gomoku.board.vct import continue_vct, vct_for
from plyd.engines.gomoku.engine import OPTIONS, Gomoku
from plyd.engines.gomoku.negascout.searcher import DEEPEST
from plyd.engines.gomoku.rules import FREESTYLE, Position, Rule

GAME = "gomoku"
SEARCH_OPTIONS = {"method": "negascout"}  # its searches are fast and have many nodes
RUNS, NODES, SECONDS = 3, 150_000, 1.0
MIDDLE_GAMES = (  # moves of games between engines, to positions that a million nodes do not decide
    "i7 h7 g9 i10 g7 h8 h6 g5 h11 i5 j5 g8 h9 e9 f8 e7 e8 f9 e10 k10",
    "i9 h8 h9 g9 i7 i8 j8 k9 j11 g11 g10 i10 j5 j9 k10 h11 g12 l9 e11 k7",
    "i7 g7 i9 g10 f8 i8 h6 e5 h9 g9 g8 i10 f10 f9 h11",
    "h8 i7 i8 j9 h10 f6 k9 k8 l7 j7 j10 i6",
    "h9 i8 i7 f9 f7 g8 f6 g7 e10 j5 g6 e8",
    "h8 h9 i8 g7 g10 j7 e8 e10 f9 h11 k7 g8 g5 j11 i10 i11 g11 h10 j12 d7",
    "h7 g9 g7 h9 i8 f6 f9 f7 e6 g6 e8 e10 f8 g8 j11 h11 h12 f10 e5 e9 e11 g10 h10 d8",
    "i8 g7 f8 g8 g9 e7 h7 g6 g5 e5",
    "h9 i7 g9 i9 i8 j7 h7 j8 j9 g6 k10 l11 k9 h6 k12 k11 j11 g8 j10 h10 k7 f12 g11 k8 j12 j13 i6 g5",
    "g9 h8 i8 i10 g6 j9 h11 j11 j10 g7 h9 j7 f6 e6 e7 f9 k7 i6 h12 i11",
)
LONG_CHASES = (  # positions with a win by fours in fifteen plies, and none shorter
    ".............../.............../.............../...xx.x..xo..../.....o.o..oo.../.........ox..../....o....o...../"
    "....o.....xx.../.......xx..x.../...o..x..x.o.../.....o..o.x..../........xxo..../.............../.............../...............",
    ".............../.............../...o..o.o.x.o../............o../...xox.....x.../..x....x......./..o.o.oxxx..x../"
    ".............../..o............/..........x..../........xx.o.../....ox...ox..../.......o......./.............../...............",
    ".............../.............../...x.....o...../...x..x...o..../.....x..x....../......o.oxo.x../..o....xo....../"
    "..x.o.x.o...o../.........xox.../....o..o.ox..../.........x.o.../..o....x...x.../....o.....x..../.............../...............",
)


def figures() -> Iterator[Figure]:
    """Nodes per second of NegaScout and of the VCT prover, time to a long VCF win, simulations per second of MCTS."""
    positions = [middle_game(moves) for moves in MIDDLE_GAMES]
    pace = max(_deepening_pace(positions) for _ in range(RUNS))
    yield Figure(GAME, "NegaScout, middle games, one core", pace / 1e3, "k nodes/s", at_least=300)
    slowest = max(min(_seconds_to_win(text) for _ in range(RUNS)) for text in LONG_CHASES)
    yield Figure(GAME, "15-ply win by fours", slowest * 1e3, "ms", at_most=50)
    pace = max(_proving_pace(positions) for _ in range(RUNS))
    yield Figure(GAME, "threat prover, one core", pace / 1e3, "k nodes/s")
    if CORES.count > 1:
        ratios = [_pace_of_threads(positions[3], 2) / _pace_of_threads(positions[3], 1) for _ in range(RUNS)]
        yield Figure(GAME, "NegaScout, two threads, each with a core", statistics.median(ratios), "times one")
    walks = statistics.median(_pace(position, method="mcts", threads=1) for position in positions[:RUNS])
    yield Figure(GAME, "MCTS, middle games, one core", walks, "simulations/s")


def middle_game(moves: str) -> Position:
    """The position after these moves."""
    position = FREESTYLE.start()
    for move in moves.split():
        position = FREESTYLE.play(position, move).position
    return position


def searcher(**options: OptionValue) -> Searcher:
    """A new searcher: by default NegaScout on one core."""
    values = read_options(OPTIONS, SEARCH_OPTIONS) | {"threads": 1} | options
    return Gomoku().searcher("freestyle", values)


def _deepening_pace(positions: list[Position]) -> float:
    """Nodes per second of NegaScout alone: with a depth limit the VCT prover does not run."""
    nodes, seconds, limits = 0, 0.0, Limits(max_nodes=NODES, max_depth=DEEPEST)
    for position in positions:
        using, began = searcher(), time.thread_time()
        *_, last = using.search(position, limits, Stop())
        seconds += time.thread_time() - began
        nodes += last.nodes
    return nodes / seconds


def _proving_pace(positions: list[Position]) -> float:
    """Nodes per second of the VCT prover."""
    nodes, seconds = 0, 0.0
    for position in positions:
        board, proof = board_of(position, Rule.FREESTYLE), vct_for()
        began = time.thread_time()
        nodes += continue_vct(board, proof, X if position.mover == "x" else O, NODES, True)[2]
        seconds += time.thread_time() - began
    return nodes / seconds


def _seconds_to_win(text: str) -> float:
    """Seconds until a new search proves a win by fours."""
    using, position = searcher(), FREESTYLE.parse(text)
    began = time.perf_counter()
    *_, last = using.search(position, Limits(max_seconds=SECONDS), Stop())
    seconds = time.perf_counter() - began
    assert isinstance(last.score.value, Proven), last
    return seconds


def _pace_of_threads(position: Position, threads: int) -> float:
    """Nodes per second of threads with a core each, by CPU time, because other processes may use the cores.

    Wall time would measure how busy the machine is. Linux shares the cores between sessions, whatever their `nice`:
    next to a session that keeps two cores busy, two threads get no more CPU time than one.
    """
    began = time.process_time()
    *_, last = searcher(threads=threads).search(position, Limits(max_seconds=SECONDS), Stop())
    return threads * last.nodes / (time.process_time() - began)


def _pace(position: Position, **options: OptionValue) -> float:
    """Nodes per second of a search with a time limit."""
    *_, last = searcher(**options).search(position, Limits(max_seconds=SECONDS), Stop())
    return last.nodes / last.seconds
