"""What a stone would make in one line, and in the four lines through its point: tables, built once for each rule.

A *class* says what a stone on an empty point makes in one line, by how far it is from five: a FOUR needs one more
stone, a THREE two more. It is open if there is more than one way for the last step: an open four cannot be stopped, an
open three becomes an open four.

    x x x x _   FOUR            _ x x x x _   OPEN_FOUR
    x x x _ _   THREE           _ x x x _ _   OPEN_THREE

The four classes of a point make its *combination*, of which there are 1,820 whatever their order, and that has a
*kind*: the strongest threat that the stone makes. Only what lies within `radius` of a point can matter to it: four
steps, or five where six in a row do not win.
"""

from functools import cache
from itertools import combinations_with_replacement, permutations
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

DEAD, ONE, OPEN_ONE, TWO, OPEN_TWO, OPEN_TWO_2, OPEN_TWO_3, THREE, OPEN_THREE_1, OPEN_THREE, FOUR, OPEN_FOUR, FIVE = (
    range(13)
)
CLASSES = 13  # OPEN_TWO_3 has three ways to an open three or more, OPEN_THREE_1 only one way to an open four

NO_THREAT = 0  # the kinds of a point, by what a stone on it makes
A_TWO = 1  # an open two, or a closed three
TWO_TWOS = 2
A_THREE = 3  # an open three, which threatens an open four
THREE_AND_TWO = 4
TWO_THREES = 5
A_FOUR = 6  # which threatens five
FOUR_AND_TWO = 7
FOUR_AND_THREE = 8
WINS_NEXT = 9  # an open four or two fours: five comes next, whatever the answer
MAKES_FIVE = 10
KINDS = 16

COMBINATIONS = 1820
KIND_SHIFT = 12  # a combination and its kind share 16 bits
COMBINATION_MASK = (1 << KIND_SHIFT) - 1


class Tables(NamedTuple):
    """What the patterns of one rule are looked up in."""

    classes: NDArray[np.uint8]  # by the line around a point, two bits a neighbour: x's class, o's class << 4
    combined: NDArray[np.uint16]  # by four classes of four bits: combination | kind << KIND_SHIFT


@cache
def tables(*, exactly_five: bool) -> Tables:
    """The tables of a rule."""
    radius = radius_of(exactly_five=exactly_five)
    return Tables(_by_key(_classes(radius, exactly_five), radius), _combined())


def radius_of(*, exactly_five: bool) -> int:
    """How far a point's neighbours matter to it."""
    return 5 if exactly_five else 4


@njit(cache=True)
def _classes(radius: int, exactly_five: bool) -> NDArray[np.uint8]:
    """The class of a stone by the line around it, a base-three number: empty, own, or closed, the lowest digit first.

    One more stone makes the number larger: so what follows from a line is known once its turn comes.
    """
    neighbours = 2 * radius
    size = 3**neighbours
    classes = np.zeros(size, np.uint8)
    digits = np.zeros(neighbours, np.uint8)
    for number in range(size - 1, -1, -1):
        rest = number
        for i in range(neighbours):
            digits[i] = rest % 3
            rest //= 3
        left = 0
        while left < radius and digits[radius - 1 - left] == 1:
            left += 1
        right = 0
        while right < radius and digits[radius + right] == 1:
            right += 1
        row = left + 1 + right
        if row == 5 or (row > 5 and not exactly_five):
            classes[number] = FIVE
            continue
        ways = np.zeros(CLASSES, np.int64)
        power = 1
        for i in range(neighbours):
            if digits[i] == 0:
                ways[classes[number + power]] += 1
            power *= 3
        open_threes = ways[OPEN_THREE] + ways[OPEN_THREE_1]
        if ways[FIVE] >= 2:
            found = OPEN_FOUR
        elif ways[FIVE] == 1:
            found = FOUR
        elif ways[OPEN_FOUR] >= 2:
            found = OPEN_THREE
        elif ways[OPEN_FOUR] == 1:
            found = OPEN_THREE_1
        elif ways[FOUR]:
            found = THREE
        elif open_threes >= 3:
            found = OPEN_TWO_3
        elif open_threes == 2:
            found = OPEN_TWO_2
        elif open_threes == 1:
            found = OPEN_TWO
        elif ways[THREE]:
            found = TWO
        elif ways[OPEN_TWO] + ways[OPEN_TWO_2] + ways[OPEN_TWO_3]:
            found = OPEN_ONE
        elif ways[TWO]:
            found = ONE
        else:
            found = DEAD
        classes[number] = found
    return classes


def _by_key(classes: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    """The classes for both colours, by two bits a neighbour: 0 empty, 1 x, 2 o, 3 off the board."""
    keys = np.arange(4 ** (2 * radius), dtype=np.uint32)
    numbers = []
    for digit_of in ((0, 1, 2, 2), (0, 2, 1, 2)):  # as x sees it, as o does
        number = np.zeros(keys.size, np.uint32)
        for i in reversed(range(2 * radius)):
            number = number * 3 + np.array(digit_of, np.uint32)[keys >> 2 * i & 3]
        numbers.append(number)
    return (classes[numbers[0]] | classes[numbers[1]] << 4).astype(np.uint8)


@cache
def _combined() -> NDArray[np.uint16]:
    combined = np.zeros(1 << 16, np.uint16)
    for index, four in enumerate(combinations()):
        value = index | kind_of(four) << KIND_SHIFT
        for a, b, c, d in set(permutations(four)):
            combined[a | b << 4 | c << 8 | d << 12] = value
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
