"""Tables of patterns, built once per rule: what a stone makes in one line, and in the four lines through its point.

A *class* is what a stone on an empty point makes in one line, by its distance from five: a FOUR needs one more stone, a
THREE two more. It is open if the last step can be made in more than one way: an open four cannot be stopped, an open
three becomes an open four.

    x x x x _   FOUR            _ x x x x _   OPEN_FOUR
    x x x _ _   THREE           _ x x x _ _   OPEN_THREE

The four classes of a point form its *combination* (1,820 of them, regardless of order). A combination has a *kind*: the
strongest threat that the stone makes. Only points within `radius` matter: four steps, or five where six in a row do not
win.

In renju x has its own classes and combinations. A line in which x's stone would make six, or two fours, has the class
FOUL. Fours in two lines are a foul too. Two open threes are a foul unless making an open four of them is a foul, which
needs the board (`fouls.py`). Forbidden points make no threat; points that need the board's check have their own kinds.
"""

from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.gomoku.rules import Rule

DEAD, ONE, OPEN_ONE, TWO, OPEN_TWO, OPEN_TWO_2, OPEN_TWO_3, THREE, OPEN_THREE_1, OPEN_THREE, FOUR, OPEN_FOUR, FIVE = (
    range(13)
)
FOUL = 13  # renju only, and part of no combination
CLASSES = 13  # OPEN_TWO_3 has three ways to an open three or more, OPEN_THREE_1 only one way to an open four

NO_THREAT = 0  # the kinds of a point, by the threat that a stone there makes
A_TWO = 1  # an open two, or a closed three
TWO_TWOS = 2
A_THREE = 3  # an open three, which threatens an open four
THREE_AND_TWO = 4
TWO_THREES = 5
A_FOUR = 6  # threatens five
FOUR_AND_TWO = 7
FOUR_AND_THREE = 8
WINS_NEXT = 9  # an open four or two fours: five comes next, whatever the reply
MAKES_FIVE = 10
MAYBE_FOUL = 11  # two open threes, in renju
MAYBE_FOUL_WITH_FOUR = 12  # two open threes and a four, in renju
KINDS = 16

COMBINATIONS = 1820
NO_COMBO = COMBINATIONS  # for a point with a stone, or one that may be a foul: value 0
KIND_SHIFT = 12  # a combination and its kind share 16 bits
COMBINATION_MASK = (1 << KIND_SHIFT) - 1


class Tables(NamedTuple):
    """The lookup tables of one rule."""

    classes: NDArray[np.uint8]  # by the line around a point, two bits per neighbour: x's class, o's class << 4
    combined: NDArray[np.uint16]  # by colour and four classes of four bits: combination | kind << KIND_SHIFT


@cache
def tables(rule: Rule) -> Tables:
    """The tables of a rule."""
    radius = radius_of(rule)
    x, o = (_classes(radius, rule.wants_exactly_five(stone), rule is Rule.RENJU and stone == "x") for stone in "xo")
    combined = _combined()
    return Tables(_by_key(x, o, radius), np.concatenate([_with_fouls() if rule is Rule.RENJU else combined, combined]))


def radius_of(rule: Rule) -> int:
    """The distance within which neighbours matter to a point."""
    return 4 if rule is Rule.FREESTYLE else 5


@cache
def _classes(radius: int, exactly_five: bool, has_fouls: bool) -> NDArray[np.uint8]:
    """The class of a stone by the line around it, a base-3 number: 0 empty, 1 own, 2 closed, lowest digit first.

    A line's class depends on lines with one empty point less, so lines are processed by their number of empty points.
    """
    neighbours = 2 * radius
    numbers = np.arange(3**neighbours)
    digits = numbers[:, None] // 3 ** np.arange(neighbours) % 3
    is_own = digits == 1
    left = np.cumprod(is_own[:, radius - 1 :: -1], axis=1).sum(axis=1)  # own stones next to the point
    right = np.cumprod(is_own[:, radius:], axis=1).sum(axis=1)
    row = left + 1 + right
    is_five = (row == 5) if exactly_five else (row >= 5)
    empty = (digits == 0).sum(axis=1)
    is_foul = has_fouls & (row > 5)
    classes = np.where(is_five, FIVE, np.where(is_foul, FOUL, DEAD)).astype(np.uint8)
    for count in range(neighbours + 1):
        these = numbers[(empty == count) & ~is_five & ~is_foul]
        ways = np.zeros((these.size, CLASSES + 1), np.int64)  # number of next stones that make each class
        for i in range(neighbours):
            at = np.flatnonzero(digits[these, i] == 0)
            ways[at, classes[these[at] + 3**i]] += 1
        classes[these] = _class_by_ways(ways.T)
        if has_fouls:  # two ways to five are two fours, unless the stones are contiguous
            classes[these[(ways[:, FIVE] >= 2) & (row[these] != 4)]] = FOUL
    return classes


def _class_by_ways(ways: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """The class of lines, by the number of ways to each class with one more stone: the first case that holds."""
    open_threes = ways[OPEN_THREE] + ways[OPEN_THREE_1]
    return np.select(
        [
            ways[FIVE] >= 2,
            ways[FIVE] == 1,
            ways[OPEN_FOUR] >= 2,
            ways[OPEN_FOUR] == 1,
            ways[FOUR] > 0,
            open_threes >= 3,
            open_threes == 2,
            open_threes == 1,
            ways[THREE] > 0,
            ways[OPEN_TWO] + ways[OPEN_TWO_2] + ways[OPEN_TWO_3] > 0,
            ways[TWO] > 0,
        ],
        [OPEN_FOUR, FOUR, OPEN_THREE, OPEN_THREE_1, THREE, OPEN_TWO_3, OPEN_TWO_2, OPEN_TWO, TWO, OPEN_ONE, ONE],
        DEAD,
    )


def _by_key(x: NDArray[np.uint8], o: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    """The classes for both colours, by two bits per neighbour: 0 empty, 1 x, 2 o, 3 off the board."""
    keys = np.arange(4 ** (2 * radius), dtype=np.uint32)
    numbers = []
    for digit_of in ((0, 1, 2, 2), (0, 2, 1, 2)):  # as seen by x, as seen by o
        number = np.zeros(keys.size, np.uint32)
        for i in reversed(range(2 * radius)):
            number = number * 3 + np.array(digit_of, np.uint32)[keys >> 2 * i & 3]
        numbers.append(number)
    return (x[numbers[0]] | o[numbers[1]] << 4).astype(np.uint8)


@cache
def _combined() -> NDArray[np.uint16]:
    combined = np.zeros(1 << 16, np.uint16)
    for index, four in enumerate(combinations()):
        value = index | kind_of(four) << KIND_SHIFT
        for a, b, c, d in set(permutations(four)):
            combined[a | b << 4 | c << 8 | d << 12] = value
    return combined


@cache
def _with_fouls() -> NDArray[np.uint16]:
    """Like `_combined`, for x in renju."""
    combined = _combined().copy()
    for four in product(range(CLASSES + 1), repeat=4):
        code = four[0] | four[1] << 4 | four[2] << 8 | four[3] << 12
        fours = four.count(FOUR) + four.count(OPEN_FOUR)
        if FIVE in four:  # five wins, whatever else the stone makes
            combined[code] = combined[FIVE]
        elif FOUL in four or fours >= 2:
            combined[code] = NO_COMBO
        elif four.count(OPEN_THREE) + four.count(OPEN_THREE_1) >= 2:
            combined[code] = NO_COMBO | (MAYBE_FOUL_WITH_FOUR if fours else MAYBE_FOUL) << KIND_SHIFT
    return combined


def combinations() -> list[tuple[int, ...]]:
    """The classes of each combination, by its number."""
    return list(combinations_with_replacement(range(CLASSES), 4))


def kind_of(four: tuple[int, ...]) -> int:
    """The strongest threat that a stone makes, by its classes in the four lines."""
    fours = four.count(FOUR)
    threes = four.count(OPEN_THREE) + four.count(OPEN_THREE_1)
    twos = four.count(THREE) + sum(four.count(kind) for kind in (OPEN_TWO, OPEN_TWO_2, OPEN_TWO_3))
    if FIVE in four:
        return MAKES_FIVE
    if OPEN_FOUR in four or fours >= 2:
        return WINS_NEXT
    if fours:
        return FOUR_AND_THREE if threes else FOUR_AND_TWO if twos else A_FOUR
    if threes:
        return TWO_THREES if threes >= 2 else THREE_AND_TWO if twos else A_THREE
    return TWO_TWOS if twos >= 2 else A_TWO if twos else NO_THREAT
