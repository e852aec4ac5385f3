"""The Gomocup protocol: points, lists of stones, rules and limits as they are written in its lines.

A point is x,y: column from the left and row from the top, both from 0. The notation of our Gomoku engine is a column's
letter and a row's number from the bottom: on 15x15, 7,7 is h8 and 0,14 is a1.
"""

import re
from typing import NamedTuple

OWN, OPPONENT, BLOCKED = 1, 2, 3  # the protocol's numbers for our stones, the opponent's, and blocked points
SMALLEST, LARGEST = 5, 20
UNLIMITED_MS = 2_147_483_647  # the protocol's value for no limit
EXACTLY_FIVE, RENJU, CARO = 1, 4, 8  # bits of INFO rule
RULES = {"freestyle": 0, "standard": EXACTLY_FIVE, "renju": RENJU}  # INFO rule by our variant
TALK = ("MESSAGE", "DEBUG", "SUGGEST")  # first words of lines for people, which answer no command
REFUSALS = ("ERROR", "UNKNOWN")  # first words of a line that refuses a command
POINT = re.compile(r"(\d{1,4})\s*,\s*(\d{1,4})", re.ASCII)
STONE = re.compile(r"(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})", re.ASCII)
LETTERS = "abcdefghijklmnopqrst"
MOVE = re.compile(r"([a-t])([1-9][0-9]?)", re.ASCII)
Stones = dict["Point", int]


class Point(NamedTuple):
    """A point: column from the left and row from the top, both from 0."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.x},{self.y}"


def read_point(text: str) -> Point | None:
    """The point of a text x,y, or None."""
    found = POINT.fullmatch(text)
    return Point(int(found[1]), int(found[2])) if found else None


def move_to(point: Point, size: int) -> str:
    """A move to the point of a board of this size, in our notation."""
    return f"{LETTERS[point.x]}{size - point.y}"


def point_of(move: str, size: int) -> Point | None:
    """The point of a move in our notation, or None if the move is not on a board of this size."""
    found = MOVE.fullmatch(move)
    point = Point(LETTERS.index(found[1]), size - int(found[2])) if found else None
    return point if point and point.x < size and point.y >= 0 else None


def variant_of(rule: int) -> str:
    """Our variant for the bits of INFO rule."""
    return "renju" if rule & RENJU else "standard" if rule & EXACTLY_FIVE else "freestyle"


def first_word(line: str) -> str:
    """The first word of a line, in capitals."""
    return line.partition(" ")[0].upper()
