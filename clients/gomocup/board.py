"""The board of a Gomocup game: points as the manager counts them, and the same position as the engine reads it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from plyd.v1 import position_pb2

OWN, OPPONENT, BLOCKED = 1, 2, 3  # what the protocol calls the stones, and a point where nobody may play
SMALLEST, LARGEST = 5, 20
LETTERS = "abcdefghijklmnopqrst"
MOVE = re.compile(r"([a-t])([1-9][0-9]?)", re.ASCII)
SIDES = (position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO)
Stones = dict["Point", int]


class Wrong(ValueError):
    """What the manager said cannot be done; the text says why."""


class Point(NamedTuple):
    """A point by its column from the left and its row from the top, both from zero."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.x},{self.y}"


class Setup(NamedTuple):
    """A position with us to move, as the engine reads it: a start and the moves since."""

    start: str
    moves: tuple[str, ...]

    @property
    def mover(self) -> int:
        """The side to move, as a Score names it."""
        return SIDES[(self.start.endswith(" o") + len(self.moves)) % 2]


class Table:
    """The stones on a board. Moves are kept apart while sides take turns, so that the engine can follow the game."""

    def __init__(self, size: int) -> None:
        if not SMALLEST <= size <= LARGEST:
            raise Wrong(f"{size} rows; boards are square, from {SMALLEST} to {LARGEST}, such as 15 or 20")
        self.size = size
        self._base: Stones = {}
        self._moves: list[tuple[Point, int]] = []

    def stones(self) -> Stones:
        """What stands where."""
        return {**self._base, **dict(self._moves)}

    def own_count(self) -> int:
        """How many stones are ours."""
        return list(self.stones().values()).count(OWN)

    def check_empty(self, point: Point) -> None:
        """Raise unless a stone may be put there."""
        if not (point.x < self.size and point.y < self.size):
            raise Wrong(f"{point} is off the board; coordinates are 0 to {self.size - 1}")
        if point in self.stones():
            raise Wrong(f"{point} is taken")

    def check_stone(self, point: Point) -> None:
        """Raise unless a stone is there."""
        if self.stones().get(point) not in (OWN, OPPONENT):
            raise Wrong(f"no stone is on {point}")

    def put(self, point: Point, who: int) -> None:
        """Put a stone on an empty point."""
        self.check_empty(point)
        if self._moves and self._moves[-1][1] == who:
            self._fold()
        self._moves.append((point, who))

    def take(self, point: Point) -> None:
        """Take a stone away."""
        self.check_stone(point)
        if self._moves and self._moves[-1][0] == point:
            self._moves.pop()
        else:
            self._fold()
            del self._base[point]

    def set_up(self, stones: Stones) -> None:
        """Hold these stones and no others. If that is our game, one round later, it stays that game."""
        now = self.stones()
        new = sorted((who, point) for point, who in stones.items() if point not in now)
        is_later = all(stones.get(point) == who for point, who in now.items())
        if is_later and [who for who, _ in new] in ([], [OPPONENT], [OWN, OPPONENT]):
            for who, point in new:
                self.put(point, who)
        else:
            self._base, self._moves = dict(stones), []

    def setup(self) -> Setup:
        """The position with us to move."""
        if self._moves and self._moves[-1][1] == OWN:
            return Setup(start_of(self.stones(), self.size, OWN), ())
        first = self._moves[0][1] if self._moves else OWN
        return Setup(start_of(self._base, self.size, first), tuple(self.move_to(point) for point, _ in self._moves))

    def move_to(self, point: Point) -> str:
        """A move as the engine writes it."""
        return f"{LETTERS[point.x]}{self.size - point.y}"

    def point_of(self, move: str) -> Point | None:
        """The point of an engine's move, or None if it is none of this board's."""
        found = MOVE.fullmatch(move)
        point = Point(LETTERS.index(found[1]), self.size - int(found[2])) if found else None
        return point if point and point.x < self.size and point.y >= 0 else None

    def nearest(self) -> Point | None:
        """The empty point nearest to the middle of the stones: a move for when no better one is known."""
        stones = self.stones()
        middle_x, middle_y = middle(stones) if stones else ((self.size - 1) / 2,) * 2
        empty = (Point(x, y) for y in range(self.size) for x in range(self.size) if (x, y) not in stones)
        return min(empty, key=lambda point: (point.x - middle_x) ** 2 + (point.y - middle_y) ** 2, default=None)

    def _fold(self) -> None:
        self._base, self._moves = self.stones(), []


def middle(points: Iterable[Point]) -> tuple[float, float]:
    """The mean column and row."""
    columns, rows = zip(*points, strict=True)
    return sum(columns) / len(columns), sum(rows) / len(rows)


def start_of(stones: Stones, size: int, mover: int) -> str:
    """Stones and who is to move in the engine's notation, where x is who began as far as the stones tell."""
    if not stones:
        return f"{size}x{size}"
    counts = list(stones.values())
    lead = counts.count(OWN + OPPONENT - mover) - counts.count(mover)
    letter, other = ("o", "x") if lead == 1 else ("x", "o")
    cells = {mover: letter, OWN + OPPONENT - mover: other, BLOCKED: "#", 0: "."}
    rows = ("".join(cells[stones.get(Point(x, y), 0)] for x in range(size)) for y in range(size))
    return f"{'/'.join(rows)} {letter}"
