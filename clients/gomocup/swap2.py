"""The swap2 opening: placing three stones, or choosing a side, by the engine's evaluation."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import NamedTuple

from plyd.clients.gomocup.board import CommandRejected, GomocupBoard
from plyd.clients.gomocup.text import win_probability
from plyd.clients.library.bridges.bridge_engine import EnginePosition
from plyd.clients.library.report import Report
from plyd.protocols.gomocup import Point

Ask = Callable[[EnginePosition, float], Awaitable[Report | None]]  # position, and deadline by the loop's clock
SWAP = "SWAP"
OPENINGS = (  # black, white, black: offsets of column and row from the centre
    ((-2, -2), (2, 2), (2, -1)),
    ((0, 0), (1, 1), (-2, 1)),
    ((0, 0), (2, 0), (-2, 2)),
    ((1, -2), (0, 0), (-2, -1)),
    ((0, 0), (1, 0), (-2, -2)),
    ((2, 2), (0, 0), (-2, 1)),
)


async def swap2(stones: list[Point], size: int, end: float, ask: Ask, random: Random) -> str:
    """The answer to SWAP2BOARD: three stones, one stone, or SWAP."""
    if len(stones) not in (0, 3, 5):
        raise CommandRejected(f"{len(stones)} stones; SWAP2BOARD takes 0, 3 or 5")
    return await (choose_side(stones, size, end, ask) if stones else choose_opening(size, end, ask, random))


async def choose_side(stones: list[Point], size: int, end: float, ask: Ask) -> str:
    """White's move if white is not worse than black, otherwise SWAP.

    Placing two stones and leaving the choice to the opponent is never better: the opponent takes the better side.
    """
    board = board_of(stones, size)
    found = await evaluate(position_of(board, stones), end, ask)
    if found and found.win_probability < 0.5:
        return SWAP
    point = board.point_of(found.move) if found else None
    return str(point or board.nearest())


async def choose_opening(size: int, end: float, ask: Ask, random: Random) -> str:
    """The most balanced opening of OPENINGS, in a random orientation."""
    loop = asyncio.get_running_loop()
    best, least = "", 1.0
    turn = random.randrange(8)
    for number, opening in enumerate(OPENINGS):
        stones = [turned(offset, size, turn) for offset in opening]
        until = loop.time() + (end - loop.time()) / (len(OPENINGS) - number)
        found = await evaluate(position_of(board_of(stones, size), stones), until, ask)
        imbalance = abs(found.win_probability - 0.5) if found else 0.5
        if not best or imbalance < least:
            best, least = " ".join(map(str, stones)), imbalance
    return best


class WhiteEvaluation(NamedTuple):
    """White's win probability, with white to move, and white's best move."""

    win_probability: float
    move: str


async def evaluate(position: EnginePosition, end: float, ask: Ask) -> WhiteEvaluation | None:
    """White's win probability: the mean of the searches before and after white's best move.

    An engine that overrates or underrates the side to move does so in both searches, so the mean cancels that bias.
    """
    now = asyncio.get_running_loop().time()
    before = await ask(position, now + (end - now) / 2)
    if not before:
        return None
    white = win_probability(before, position)
    later = EnginePosition(position.start, (*position.moves, before.move))
    is_proven = before.score.WhichOneof("value") == "proven"
    after = None if is_proven else await ask(later, end)
    return WhiteEvaluation((white + 1 - win_probability(after, later)) / 2 if after else white, before.move)


def turned(offset: tuple[int, int], size: int, turn: int) -> Point:
    """The point at an offset from the centre, after one of the eight symmetries."""
    x, y = offset
    if turn & 1:
        x = -x
    if turn & 2:
        y = -y
    if turn & 4:
        x, y = y, x
    return Point(size // 2 + x, size // 2 + y)


def board_of(stones: list[Point], size: int) -> GomocupBoard:
    """A board with stones placed by the two sides in turn."""
    board = GomocupBoard(size)
    for number, point in enumerate(stones):
        board.put(point, number % 2 + 1)
    return board


def position_of(board: GomocupBoard, stones: list[Point]) -> EnginePosition:
    """The engine's position after these moves on an empty board."""
    return EnginePosition(f"{board.size}x{board.size}", tuple(map(board.move_to, stones)))
