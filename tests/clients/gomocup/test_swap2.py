"""The swap2 opening: sides chosen and openings placed by evaluations from a script, and by the real engine."""

import asyncio
import re
from random import Random

import pytest

from plyd.clients.gomocup.board import CommandRejected, GomocupBoard
from plyd.clients.gomocup.swap2 import OPENINGS, swap2, turned
from plyd.clients.library.bridges.bridge_engine import EnginePosition
from plyd.protocols.gomocup import LARGEST, SMALLEST, Point
from plyd.v1 import search_pb2
from tests.clients.gomocup.talks import O


def scripted(*chances):
    """An engine that answers questions with these win probabilities of white, and remembers what it was asked."""
    asked, left = [], list(chances)

    async def ask(position, end):
        asked.append(position)
        value = left.pop(0)
        if value is None:
            return None
        score = search_pb2.Score(point_of_view=O, win_probability=value)
        if value in (0, 1):
            score.proven.result = search_pb2.RESULT_WIN if value else search_pb2.RESULT_LOSS
        return search_pb2.Report(move="a1", score=score)

    return ask, asked


def decide(stones, *chances, size=15, seed=1):
    ask, asked = scripted(*chances)
    points = [Point(*point) for point in stones]
    return asyncio.run(swap2(points, size, 0.0, ask, Random(seed))), asked


THREE = [(7, 7), (8, 7), (9, 9)]
FIVE = [*THREE, (8, 8), (8, 6)]


@pytest.mark.parametrize("stones", [THREE, FIVE], ids=["three", "five"])
@pytest.mark.parametrize(
    ("white", "answer"),
    [
        ([0.6, 0.5], "0,14"),
        ([0.5, 0.5], "0,14"),
        ([0.9, 0.05], "SWAP"),  # too well of who is to move, in turn
        ([0.4, None], "SWAP"),
        ([0.6, None], "0,14"),
        ([1], "0,14"),
        ([0], "SWAP"),
        ([None], None),
    ],
)
def test_swap2_takes_the_better_side(stones, white, answer):
    said, asked = decide(stones, *white)
    moves = ("h8", "i8", "j6", "i7", "i9")[: len(stones)]
    assert asked == [EnginePosition("15x15", moves), EnginePosition("15x15", (*moves, "a1"))][: len(white)]
    if answer:
        assert said == answer
    else:
        assert re.fullmatch(r"\d+,\d+", said)
        assert tuple(map(int, said.split(","))) not in stones


def test_swap2_opens_with_what_is_most_even():
    said, asked = decide([], 0.1, 0.2, 0.9, 0.9, 0.45, 0.45, 0.7, 0.7, 1, 0.6, 0.6)
    board = GomocupBoard(15)
    points = [Point(*map(int, word.split(","))) for word in said.split()]
    assert tuple(map(board.move_to, points)) == asked[4].moves


def test_swap2_opens_without_an_engine():
    assert re.fullmatch(r"\d+,\d+ \d+,\d+ \d+,\d+", decide([], *[None] * len(OPENINGS))[0])


@pytest.mark.parametrize("size", [SMALLEST, 6, 15, LARGEST])
def test_every_opening_is_three_different_points_of_the_board(size):
    for opening in OPENINGS:
        for turn in range(8):
            points = {turned(offset, size, turn) for offset in opening}
            assert len(points) == 3
            assert all(0 <= value < size for point in points for value in point)


@pytest.mark.parametrize("count", [1, 2, 4, 6])
def test_swap2_with_another_number_of_stones(count):
    with pytest.raises(CommandRejected, match=f"{count} stones; SWAP2BOARD takes 0, 3 or 5"):
        decide([(x, 0) for x in range(count)])


@pytest.mark.parametrize(
    ("stones", "form"),
    [([], r"\d+,\d+ \d+,\d+ \d+,\d+"), (THREE, r"SWAP|\d+,\d+"), (FIVE, r"SWAP|\d+,\d+")],
    ids=["none", "three", "five"],
)
def test_swap2_with_the_engine(playing, stones, form):
    async def play(talk):
        await talk.ask("START 15")
        said = await talk.ask("SWAP2BOARD", *(f"{x},{y}" for x, y in stones), "DONE")
        assert re.fullmatch(form, said)
        assert re.fullmatch(r"\d+,\d+", await talk.ask("BOARD", "7,7,1", "8,7,2", "DONE"))

    playing(play, move_ms=120)
