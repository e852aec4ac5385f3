"""The board: points, stones, and positions in the engine's notation."""

from random import Random

import pytest

from plyd.clients.gomocup.board import GomocupBoard, mover_of
from plyd.clients.library.bridges.bridge_engine import EnginePosition
from plyd.engines.gomoku.rules import FREESTYLE
from plyd.protocols.gomocup import BLOCKED, LARGEST, OPPONENT, OWN, SMALLEST, Point
from tests.clients.gomocup.talks import O, X


def test_the_engine_reads_every_board_with_the_same_stones_and_side_to_move():
    random = Random(3)
    for _ in range(300):
        size = random.randint(SMALLEST, 9)
        board = GomocupBoard(size)
        for _ in range(random.randrange(12)):
            stones = board.stones()
            point = Point(random.randrange(size), random.randrange(size))
            who = random.choice((OWN, OPPONENT))
            if random.random() < 0.1:
                board.set_up({**stones, point: random.choice((OWN, OPPONENT, BLOCKED))})
            elif point not in stones:
                board.put(point, who)
            elif stones[point] != BLOCKED:
                board.take(point)
        check_position(board)


def check_position(board):
    text = board.position()
    position = FREESTYLE.parse(text.start)
    for move in text.moves:
        position = FREESTYLE.play(position, move).position
    ours = position.mover
    names = {ours: OWN, "x" if ours == "o" else "o": OPPONENT, "#": BLOCKED}
    read = {
        Point(x, y): names[cell] for y, row in enumerate(position.rows) for x, cell in enumerate(row) if cell != "."
    }
    assert read == board.stones()
    assert mover_of(text) == (X if ours == "x" else O)


def test_who_began_is_x_as_far_as_the_stones_tell():
    board = GomocupBoard(5)
    assert board.position() == EnginePosition("5x5", ())
    board.set_up({Point(0, 0): OPPONENT, Point(1, 0): OPPONENT, Point(2, 2): OWN})
    assert board.position() == EnginePosition("xx.../...../..o../...../..... o", ())
    board.put(Point(4, 4), OWN)
    board.put(Point(4, 0), OPPONENT)
    assert board.position() == EnginePosition("xx.../...../..o../...../..... o", ("e1", "e5"))


@pytest.mark.parametrize("size", range(SMALLEST, LARGEST + 1))
def test_points_there_and_back(size):
    board = GomocupBoard(size)
    for point in (Point(0, 0), Point(size - 1, 0), Point(0, size - 1), Point(2, 3)):
        assert board.point_of(board.move_to(point)) == point
    assert board.move_to(Point(0, size - 1)) == "a1"
    for move in ("", "a0", "u1", "a21", "7,7", "a", f"a{size + 1}"):
        assert board.point_of(move) is None


def test_the_nearest_point_is_beside_the_stones():
    board = GomocupBoard(15)
    assert board.nearest() == Point(7, 7)
    board.set_up({Point(0, 0): OPPONENT})
    assert board.nearest() in (Point(0, 1), Point(1, 0))
    board.set_up({Point(x, y): OWN for x in range(15) for y in range(15)})
    assert board.nearest() is None
