"""Batches of tile positions as text, read and written in numba: bytes in, bytes out.

    b 2 2 0 0 0 0\\n      letters  cells              values           = 1422.339261\\n
    a 5 1 6 0 12 0\\n     b a      2 2 0 0 0 0   ->   1422.339...  ->  = 316.0030443\\n
                                   5 1 6 0 12 0       316.003...

The rulebook (TileRules.parse) defines the format of a line; this kernel reads the same format, only faster. A line that
it cannot read gets letter 0, and the rulebook's error says what is wrong with it.
"""

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.rulebook import MAX_TEXT

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEWLINE, SPACE, TAB, RETURN = 10, 32, 9, 13
LETTER_A, LETTER_B, DIGIT_0 = 97, 98, 48
EQUALS, MINUS, POINT = 61, 45, 46
DIGITS = 10  # significant digits of a value
LONGEST_ANSWER = 32  # bytes: "= ", a value, a move of six letters, newline
TENS = 10.0 ** np.arange(23)
WHOLE_TENS = np.array([10**i for i in range(DIGITS + 1)], np.uint64)
ZERO, TEN, TEN_DIGITS = np.uint64(0), np.uint64(10), np.uint64(10**DIGITS)


@njit(cache=True, nogil=True, inline="always")
def is_blank(byte: int) -> bool:
    """Whether a byte is white space within a line: space, tab, vertical tab, form feed or carriage return."""
    return byte == SPACE or (TAB <= byte <= RETURN and byte != NEWLINE)


@njit(cache=True, nogil=True)
def read_lines(data: Bytes, max_index: int, letters: Bytes, cells: Bytes, spans: Ints) -> int:
    """Number of lines that are not empty. For each: its letter (0 if malformed), its cells, and in `spans` its line
    number, first byte and end.
    """
    size = cells.shape[1]
    count, line, at = 0, -1, 0
    while at < data.size:
        line += 1
        # Step 1. Skip to the first word; an empty line ends here.
        first = at
        while at < data.size and is_blank(data[at]):
            at += 1
        if at == data.size or data[at] == NEWLINE:
            at += 1
            continue

        # Step 2. The letter, alone in its word.
        letter = data[at]
        at += 1
        is_good = letter == LETTER_A or letter == LETTER_B
        if at < data.size and data[at] != NEWLINE and not is_blank(data[at]):
            is_good = False

        # Step 3. The numbers: digits only, none above the largest index, exactly as many as there are cells.
        cell = 0
        while is_good:
            while at < data.size and is_blank(data[at]):
                at += 1
            if at == data.size or data[at] == NEWLINE:
                break
            number = 0
            while at < data.size and data[at] != NEWLINE and not is_blank(data[at]):
                digit = np.int64(data[at]) - DIGIT_0
                number = number * 10 + digit
                if digit < 0 or digit > 9 or number > max_index:
                    is_good = False
                    break
                at += 1
            if cell == size:
                is_good = False
            if is_good:
                cells[count, cell] = number
                cell += 1
        while at < data.size and data[at] != NEWLINE:
            at += 1

        is_good &= cell == size and at - first <= MAX_TEXT
        letters[count] = letter if is_good else 0
        spans[count, 0], spans[count, 1], spans[count, 2] = line, first, at
        count += 1
        at += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def upper_half(value: float) -> float:
    """The value's upper 26 bits (Veltkamp)."""
    shifted = value * 134217729.0  # 2^27 + 1
    return shifted - (shifted - value)


@njit(cache=True, nogil=True, inline="always")
def rounded_product(one: float, other: float) -> float:
    """The integer nearest to the exact product; a tie is rounded to even.

    The floating-point product is on the correct side of a half, or exactly on it. If it is on it, its rounding error
    decides, which Dekker's product gives exactly.
    """
    product = one * other
    whole = np.floor(product)
    rest = product - whole
    if rest != 0.5:
        return whole + 1.0 if rest > 0.5 else whole
    head, other_head = upper_half(one), upper_half(other)
    tail, other_tail = one - head, other - other_head
    lost = ((head * other_head - product) + head * other_tail + tail * other_head) + tail * other_tail
    return whole + 1.0 if lost > 0.0 or (lost == 0.0 and whole % 2.0 == 1.0) else whole


@njit(cache=True, nogil=True)
def write_number(value: float, out: Bytes, at: int) -> int:
    """Writes a number like C's %.10g: ten significant digits, no trailing zeros; returns where it ends in `out`.

    For values from 0.0001 to below 10^10, and 0; NaN is written -1.
    """
    if np.isnan(value):
        out[at], out[at + 1] = MINUS, DIGIT_0 + 1
        return at + 2
    if value == 0.0:
        out[at] = DIGIT_0
        return at + 1

    # Step 1. All ten digits as one integer: value = scaled / 10^decimals.
    decimals = DIGITS - 1
    while value >= TENS[DIGITS - decimals]:
        decimals -= 1
    while value * TENS[decimals] < TENS[DIGITS - 1]:
        decimals += 1
    scaled = np.uint64(rounded_product(value, TENS[decimals]))
    if scaled == TEN_DIGITS and decimals > 0:
        scaled //= TEN
        decimals -= 1
    while decimals > 0 and scaled % TEN == ZERO:
        scaled //= TEN
        decimals -= 1

    # Step 2. Digits from the last to the first, at least one before the point.
    length = decimals + 1
    while length <= DIGITS and scaled >= WHOLE_TENS[length]:
        length += 1
    end = at + length + (1 if decimals > 0 else 0)
    place = end
    for _ in range(decimals):
        place -= 1
        out[place] = DIGIT_0 + scaled % TEN
        scaled //= TEN
    if decimals > 0:
        place -= 1
        out[place] = POINT
    while place > at:
        place -= 1
        out[place] = DIGIT_0 + scaled % TEN
        scaled //= TEN
    return end


@njit(cache=True, nogil=True)
def write_answers(values: Floats, moves: Ints, words: Bytes, out: Bytes) -> int:
    """Number of bytes written: a line "= v" for each value, "= -1" for NaN, and its move's word if it has one."""
    at = 0
    for i in range(values.size):
        out[at], out[at + 1] = EQUALS, SPACE
        at = write_number(values[i], out, at + 2)
        if moves[i] >= 0:
            out[at] = SPACE
            at += 1
            for letter in words[moves[i]]:
                if letter != 0:
                    out[at] = letter
                    at += 1
        out[at] = NEWLINE
        at += 1
    return at
