"""Text of the Gomocup protocol: points and lists of stones from the manager, and search reports for it."""

import asyncio
import re
from collections.abc import Callable

from plyd.clients.gomocup.board import CommandRejected, GomocupBoard, mover_of
from plyd.clients.library.bridges.bridge_engine import EnginePosition
from plyd.clients.library.report import Report
from plyd.protocols.gomocup import BLOCKED, OPPONENT, OWN, STONE, Point, Stones, read_point
from plyd.v1 import search_pb2

DEBUG_SECONDS = 0.1  # between two DEBUG lines of one search
MAX_PV_MOVES = 12
MAX_QUOTE = 60  # characters
PROVEN_VALUES: dict[int, float] = {search_pb2.RESULT_WIN: 1.0, search_pb2.RESULT_DRAW: 0.5, search_pb2.RESULT_LOSS: 0.0}
OUTCOMES = {1.0: "win", 0.5: "draw", 0.0: "loss"}


class StoneList:
    """Stones that the manager lists line by line, and the first error in them."""

    def __init__(self, name: str, form: re.Pattern[str], size: int) -> None:
        self.name = name
        self.stones: Stones = {}
        self.error = ""
        self._form = form
        self._board = GomocupBoard(size)

    def add(self, line: str) -> None:
        """Read a line x,y or x,y,who."""
        found, has_owners = self._form.fullmatch(line), self._form is STONE
        who = int(found[3]) if found and has_owners else OWN
        try:
            if not found or who not in (OWN, OPPONENT, BLOCKED):
                form = "x,y,who (1 own, 2 the opponent's, 3 blocked)" if has_owners else "x,y"
                raise CommandRejected(f"expected lines {form} and DONE after {self.name}, not {quoted(line)}")
            point = Point(int(found[1]), int(found[2]))
            self._board.put(point, who)
            self.stones[point] = who
        except CommandRejected as error:
            self.error = self.error or str(error)


class SearchPrinter:
    """Prints the reports of a running search, and keeps the latest one that has a move."""

    def __init__(self, position: EnginePosition, board: GomocupBoard, say: Callable[[str], None]) -> None:
        self.latest: Report | None = None
        self._position = position
        self._board = board
        self._say = say
        self._next = 0.0
        self._is_open = True

    def close(self) -> None:
        """Ignore further reports."""
        self._is_open = False

    def add(self, report: Report) -> None:
        """Keep a report, and print it unless one was printed a moment ago."""
        if not report.move or not self._is_open:
            return
        self.latest = report
        now = asyncio.get_running_loop().time()
        if not report.final and now >= self._next:
            self._next = now + DEBUG_SECONDS
            self._say(f"DEBUG {report_text(report, self._position, self._board)}")


def point_of(name: str, rest: str) -> Point:
    """The point after a command's name."""
    point = read_point(rest)
    if not point:
        raise CommandRejected(f"{name} needs a point, such as {name} 7,8, not {quoted(rest)}")
    return point


def win_probability(report: Report, position: EnginePosition) -> float:
    """Win probability of the side to move; a draw counts as half a win."""
    score = report.score
    is_proven = score.WhichOneof("value") == "proven"
    value = PROVEN_VALUES.get(score.proven.result, 0.5) if is_proven else score.win_probability
    if score.WhichOneof("value") is None:
        return 0.5  # an outside program may give a move without a score
    return value if score.point_of_view == mover_of(position) else 1 - value


def report_text(report: Report, position: EnginePosition, board: GomocupBoard) -> str:
    """Depth, score of the side to move, nodes, nodes per second and principal variation of a report."""
    words = [f"depth {report.depth}", f"score {score_text(report, position)}", f"nodes {report.nodes}"]
    if report.elapsed_us:
        words.append(f"speed {report.nodes * 1_000_000 // report.elapsed_us}")
    if report.lines:
        points = map(board.point_of, report.lines[0].moves[:MAX_PV_MOVES])
        words.append("pv " + " ".join(str(point) for point in points if point))
    return " ".join(words)


def score_text(report: Report, position: EnginePosition) -> str:
    """The score of the side to move: "61.5%", "win in 7", "loss", "draw"."""
    score = report.score
    if score.WhichOneof("value") != "proven":
        return f"{win_probability(report, position):.1%}"
    word = OUTCOMES[win_probability(report, position)]
    return f"{word} in {score.proven.plies}" if score.proven.HasField("plies") else word


def quoted(text: str) -> str:
    """A quoted text in ASCII, cut to a length that fits into a line."""
    return ascii(text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}...")
