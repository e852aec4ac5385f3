"""Words of the Gomocup protocol: points and lists of stones that a manager writes, and what we say of a search."""

import asyncio
import re
from collections.abc import Callable

from plyd.clients.gomocup.board import BLOCKED, OPPONENT, OWN, Point, Setup, Stones, Table, Wrong
from plyd.clients.library.requests import Report
from plyd.v1 import search_pb2

POINT = re.compile(r"(\d{1,4})\s*,\s*(\d{1,4})", re.ASCII)
STONE = re.compile(r"(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})", re.ASCII)
DEBUG_SECONDS = 0.1  # between two lines about one search
MOST_MOVES = 12  # of a line of play
LONGEST_QUOTE = 60
CHANCES: dict[int, float] = {search_pb2.RESULT_WIN: 1.0, search_pb2.RESULT_DRAW: 0.5, search_pb2.RESULT_LOSS: 0.0}
OUTCOMES = {1.0: "win", 0.5: "draw", 0.0: "loss"}


class Listing:
    """Stones that are told line by line, and the first thing that was wrong with them."""

    def __init__(self, name: str, form: re.Pattern[str], size: int) -> None:
        self.name = name
        self.stones: Stones = {}
        self.wrong = ""
        self._form = form
        self._table = Table(size)

    def add(self, line: str) -> None:
        """Take a line x,y or x,y,who."""
        found, has_owners = self._form.fullmatch(line), self._form is STONE
        who = int(found[3]) if found and has_owners else OWN
        try:
            if not found or who not in (OWN, OPPONENT, BLOCKED):
                form = "x,y,who (1 own, 2 the opponent's, 3 blocked)" if has_owners else "x,y"
                raise Wrong(f"{self.name} has lines {form} and then DONE, not {quoted(line)}")
            point = Point(int(found[1]), int(found[2]))
            self._table.put(point, who)
            self.stones[point] = who
        except Wrong as error:
            self.wrong = self.wrong or str(error)


class Diary:
    """Tells of a search as it deepens, and keeps the latest report that has a move."""

    def __init__(self, setup: Setup, table: Table, say: Callable[[str], None]) -> None:
        self.latest: Report | None = None
        self._setup = setup
        self._table = table
        self._say = say
        self._next = 0.0
        self._is_open = True

    def close(self) -> None:
        """Take no more reports."""
        self._is_open = False

    def note(self, report: Report) -> None:
        """Take a report."""
        if not report.move or not self._is_open:
            return
        self.latest = report
        now = asyncio.get_running_loop().time()
        if not report.final and now >= self._next:
            self._next = now + DEBUG_SECONDS
            self._say(f"DEBUG {report_words(report, self._setup, self._table)}")


def point_of(name: str, rest: str) -> Point:
    """The point behind a command's name."""
    found = POINT.fullmatch(rest)
    if not found:
        raise Wrong(f"{name} has a point, as in {name} 7,8, not {quoted(rest)}")
    return Point(int(found[1]), int(found[2]))


def chance(report: Report, setup: Setup) -> float:
    """Probability that who is to move wins, a draw being half a win."""
    score = report.score
    is_proven = score.WhichOneof("value") == "proven"
    value = CHANCES.get(score.proven.result, 0.5) if is_proven else score.win_probability
    return value if score.point_of_view == setup.mover else 1 - value


def report_words(report: Report, setup: Setup, table: Table) -> str:
    """What a search found: depth, score for who is to move, nodes, nodes a second, line of play."""
    words = [f"depth {report.depth}", f"score {score_words(report, setup)}", f"nodes {report.nodes}"]
    if report.elapsed_us:
        words.append(f"speed {report.nodes * 1_000_000 // report.elapsed_us}")
    if report.lines:
        points = map(table.point_of, report.lines[0].moves[:MOST_MOVES])
        words.append("pv " + " ".join(str(point) for point in points if point))
    return " ".join(words)


def score_words(report: Report, setup: Setup) -> str:
    """What a score says: "61.5%", "win in 7", "loss", "draw"."""
    score = report.score
    if score.WhichOneof("value") != "proven":
        return f"{chance(report, setup):.1%}"
    word = OUTCOMES[chance(report, setup)]
    return f"{word} in {score.proven.plies}" if score.proven.HasField("plies") else word


def quoted(text: str) -> str:
    """What somebody wrote, so that it fits into a line of ours."""
    return ascii(text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}...")


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())
