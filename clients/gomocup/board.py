"""The board of a Gomocup game: points in the protocol's coordinates, and the position in the engine's notation."""

from collections.abc import Iterable

from plyd.clients.library.bridges.bridge_engine import EnginePosition
from plyd.protocols import gomocup
from plyd.protocols.gomocup import BLOCKED, LARGEST, OPPONENT, OWN, SMALLEST, Point, Stones
from plyd.v1 import position_pb2

SIDES = (position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO)


class CommandRejected(ValueError):
    """A command of the manager cannot be carried out; the text says why."""


def mover_of(position: EnginePosition) -> int:
    """The side to move, as a value of the proto enum Side."""
    return SIDES[(position.start.endswith(" o") + len(position.moves)) % 2]


class GomocupBoard:
    """The stones on the board. Alternating moves are kept as a list, so that the engine can follow the game."""

    def __init__(self, size: int) -> None:
        if not SMALLEST <= size <= LARGEST:
            raise CommandRejected(f"board size {size}; allowed is {SMALLEST} to {LARGEST}")
        self.size = size
        self._base: Stones = {}
        self._moves: list[tuple[Point, int]] = []

    def stones(self) -> Stones:
        """All stones and blocked points by point."""
        return {**self._base, **dict(self._moves)}

    def own_count(self) -> int:
        """Number of our stones."""
        return list(self.stones().values()).count(OWN)

    def check_empty(self, point: Point) -> None:
        """Raise CommandRejected unless the point is on the board and empty."""
        if not (point.x < self.size and point.y < self.size):
            raise CommandRejected(f"{point} is off the board; coordinates are 0 to {self.size - 1}")
        if point in self.stones():
            raise CommandRejected(f"{point} is occupied")

    def check_stone(self, point: Point) -> None:
        """Raise CommandRejected unless a stone is on the point."""
        if self.stones().get(point) not in (OWN, OPPONENT):
            raise CommandRejected(f"no stone on {point}")

    def put(self, point: Point, who: int) -> None:
        """Put a stone on an empty point."""
        self.check_empty(point)
        if self._moves and self._moves[-1][1] == who:
            self._fold()
        self._moves.append((point, who))

    def take(self, point: Point) -> None:
        """Remove a stone."""
        self.check_stone(point)
        if self._moves and self._moves[-1][0] == point:
            self._moves.pop()
        else:
            self._fold()
            del self._base[point]

    def set_up(self, stones: Stones) -> None:
        """Replace all stones. If they continue the current game by one round, the moves are kept."""
        now = self.stones()
        new = sorted((who, point) for point, who in stones.items() if point not in now)
        is_later = all(stones.get(point) == who for point, who in now.items())
        if is_later and [who for who, _ in new] in ([], [OPPONENT], [OWN, OPPONENT]):
            for who, point in new:
                self.put(point, who)
        else:
            self._base, self._moves = dict(stones), []

    def position(self) -> EnginePosition:
        """The position with us to move, in the engine's notation."""
        if self._moves and self._moves[-1][1] == OWN:
            return EnginePosition(board_notation(self.stones(), self.size, OWN), ())
        first = self._moves[0][1] if self._moves else OWN
        return EnginePosition(
            board_notation(self._base, self.size, first), tuple(self.move_to(point) for point, _ in self._moves)
        )

    def move_to(self, point: Point) -> str:
        """A move to the point, in the engine's notation."""
        return gomocup.move_to(point, self.size)

    def point_of(self, move: str) -> Point | None:
        """The point of an engine's move, or None if the move is not on this board."""
        return gomocup.point_of(move, self.size)

    def nearest(self) -> Point | None:
        """The empty point nearest to the centre of the stones (fallback move), or None on a full board."""
        stones = self.stones()
        centre_x, centre_y = centre(stones) if stones else ((self.size - 1) / 2,) * 2
        empty = (Point(x, y) for y in range(self.size) for x in range(self.size) if (x, y) not in stones)
        return min(empty, key=lambda point: (point.x - centre_x) ** 2 + (point.y - centre_y) ** 2, default=None)

    def _fold(self) -> None:
        """Turn the moves into stones of the start position."""
        self._base, self._moves = self.stones(), []


def centre(points: Iterable[Point]) -> tuple[float, float]:
    """The mean column and row."""
    columns, rows = zip(*points, strict=True)
    return sum(columns) / len(columns), sum(rows) / len(rows)


def board_notation(stones: Stones, size: int, mover: int) -> str:
    """Stones and the side to move in the engine's notation; x is the side that moved first, judged by the counts."""
    if not stones:
        return f"{size}x{size}"
    counts = list(stones.values())
    lead = counts.count(OWN + OPPONENT - mover) - counts.count(mover)
    letter, other = ("o", "x") if lead == 1 else ("x", "o")
    cells = {mover: letter, OWN + OPPONENT - mover: other, BLOCKED: "#", 0: "."}
    rows = ("".join(cells[stones.get(Point(x, y), 0)] for x in range(size)) for y in range(size))
    return f"{'/'.join(rows)} {letter}"
