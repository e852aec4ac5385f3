"""Batches as bytes: the fast reader against the rulebook, the fast writer against Python's own formatting."""

from decimal import Decimal
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plyd.engines.core.errors import BadPosition
from plyd.engines.tiles.batch.lines import LONGEST_ANSWER, read_lines, write_answers, write_number
from plyd.engines.tiles_2584_2x3.rules import RULES

FUZZ = settings(max_examples=100, deadline=None, derandomize=True)
WORDS = np.array([list(word.ljust(5, "\0").encode()) for word in ("up", "right", "down", "left")], np.uint8)


# --- Reading ----------------------------------------------------------------------------------------------------------


def reading(data):
    """What read_lines makes of a batch: line number, the line's bytes, and its letter with its cells or None."""
    most = len(data) // 2 + 1
    letters, cells, spans = np.empty(most, np.uint8), np.empty((most, 6), np.uint8), np.empty((most, 3), np.int64)
    count = read_lines(np.frombuffer(data, np.uint8), 33, letters, cells, spans)
    assert count <= most
    return [
        (line, data[first:end], (chr(letter), *row) if letter else None)
        for letter, row, (line, first, end) in zip(letters[:count], cells.tolist(), spans.tolist(), strict=False)
    ]


def rulebooks_reading(data):
    """The same by the rulebook, a line at a time."""
    return [
        (number, line, rulebooks_verdict(line))
        for number, line in enumerate(data.split(b"\n"))
        if line.strip(b" \t\r\v\f")
    ]


def rulebooks_verdict(line):
    try:
        position = RULES.parse(line.decode("utf-8", "backslashreplace"))
    except BadPosition:
        return None
    return ("b" if position.before else "a", *position.cells)


@pytest.mark.parametrize(
    ("line", "position"),
    [
        (b"b 2 2 0 0 0 0", ("b", 2, 2, 0, 0, 0, 0)),
        (b"a 5 1 6 0 12 33", ("a", 5, 1, 6, 0, 12, 33)),
        (b"b 2 2 0 0 0 0\r", ("b", 2, 2, 0, 0, 0, 0)),
        (b" \tb\v2\f2\r0  0 0 0 \t", ("b", 2, 2, 0, 0, 0, 0)),
        (b"b 000000000000000000000000033 2 0 0 0 0", ("b", 33, 2, 0, 0, 0, 0)),
        (b"b", None),
        (b"bb 2 2 0 0 0 0", None),
        (b"b2 2 0 0 0 0", None),
        (b"c 2 2 0 0 0 0", None),
        (b"B 2 2 0 0 0 0", None),
        (b"2 2 0 0 0 0", None),
        (b"b 2 2 0 0 0", None),
        (b"b 2 2 0 0 0 0 0", None),
        (b"b 2 2 0 0 0 0 x", None),
        (b"b 2 2 0 0 0 34", None),
        (b"b 2 2 0 0 0 -1", None),
        (b"b 2 2 0 0 0 -0", None),
        (b"b 2 2 0 0 0 +0", None),
        (b"b 2 2 0 0 0 0.", None),
        (b"b 2 2 0 0 0 18446744073709551616", None),  # 2^64: must not wrap round to 0
        (b"b 2 2 0 0 0 4294967298", None),  # 2^32 + 2
        (b"b 2 2 0 0 0 258", None),  # 2^8 + 2
        (b"b 2 2 0 0 0 0\0", None),
        (b"\0 2 2 0 0 0 0", None),
        (b"\xef\xbb\xbfb 2 2 0 0 0 0", None),
        (b"b 2 2 0 0 0 \xff", None),
        (b"b\xa02 2 0 0 0 0", None),
        (b"b 2 2 0 0 0 \xd9\xa1", None),
        (b"b 2 2 0 0 0 \xc2\xb2", None),
        pytest.param(b"b 2 2 0 0 0 " + b"0" * 4084, ("b", 2, 2, 0, 0, 0, 0), id="4096 bytes"),
        pytest.param(b"b 2 2 0 0 0 " + b"0" * 4085, None, id="4097 bytes"),
        pytest.param(b"b 2 2 0 0 0 0" + b" " * 4084, None, id="4097 bytes, most of them blank"),
        pytest.param(b"b 2 2 0 0 " + b"0" * 5000, None, id="5000 zeros, but a number too few"),
    ],
)
def test_a_line_is_read_as_the_rulebook_reads_it(line, position):
    assert rulebooks_verdict(line) == position
    assert reading(line) == [(0, line, position)]
    assert reading(line + b"\n") == [(0, line, position)]
    assert reading(b"\r\n" + line + b"\n" + line) == [(1, line, position), (2, line, position)]


def test_empty_lines_are_skipped_but_counted():
    assert reading(b"\n\r\n  \t\nb 1 1 0 0 0 0\n\nx\n\n\na 2 0 0 0 0 0") == [
        (3, b"b 1 1 0 0 0 0", ("b", 1, 1, 0, 0, 0, 0)),
        (5, b"x", None),
        (8, b"a 2 0 0 0 0 0", ("a", 2, 0, 0, 0, 0, 0)),
    ]


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n\n", b" ", b"\r\n", b" \t\v\f\r\n "])
def test_a_batch_of_nothing_has_no_lines(data):
    assert reading(data) == []


def test_the_shortest_lines_fill_the_arrays_and_no_more():
    # Two bytes a line and a last one without its newline: as many lines as the arrays have room for.
    assert reading(b"b\nb\nb") == [(0, b"b", None), (1, b"b", None), (2, b"b", None)]


@FUZZ
@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_read_as_the_rulebook_reads_them(data):
    assert reading(data) == rulebooks_reading(data)


@FUZZ
@given(st.lists(st.sampled_from(list(b"ab0123 \t\r\n-\0\xff")), max_size=80).map(bytes))
def test_bytes_that_lines_are_made_of_are_read_as_the_rulebook_reads_them(data):
    assert reading(data) == rulebooks_reading(data)


SEPARATOR = st.sampled_from(
    [b" "] * 12 + [b"  ", b"\t", b"\r", b"\v", b"\f", b" \t ", b"\n", b"\0", b"\xa0", b",", b""]
)
LETTER = st.sampled_from([b"b"] * 8 + [b"a"] * 8 + [b"", b"c", b"B", b"ab", b"-", b"\0", b"\xc3\xa9", b"b "])
NUMBER = st.one_of(
    st.integers(0, 33).map(lambda n: b"%d" % n),
    st.integers(0, 33).map(lambda n: b"%d" % n),
    st.integers(0, 33).map(lambda n: b"%04d" % n),
    st.integers(30, 40).map(lambda n: b"%d" % n),
    st.sampled_from([0, 7, 33]).map(lambda n: b"%d" % (n + 2**64)),
    st.sampled_from([b"-1", b"-0", b"+1", b"1.0", b"x", b"0x1", b"1e1", b"\xc2\xb2", b"\xff", b"9" * 50, b"0" * 50]),
)
COUNT = st.sampled_from([6] * 10 + [0, 1, 5, 7, 12])
END = st.sampled_from([b"\n"] * 6 + [b"\r\n"] * 3 + [b" \n", b"\n\n", b"\n \r\n", b""])


@st.composite
def near_valid_line(draw):
    numbers = [draw(NUMBER) for _ in range(draw(COUNT))]
    spaced = chain.from_iterable((draw(SEPARATOR), number) for number in numbers)
    lead = draw(st.sampled_from([b""] * 6 + [b" ", b"\t"]))
    return b"".join([lead, draw(LETTER), *spaced, draw(END)])


@FUZZ
@given(st.lists(near_valid_line(), max_size=5).map(b"".join))
def test_near_valid_lines_are_read_as_the_rulebook_reads_them(data):
    assert reading(data) == rulebooks_reading(data)


def mutated(rng, line):
    """A line with a few bytes replaced, inserted or left out."""
    line = bytearray(line)
    for _ in range(rng.integers(0, 3)):
        at, byte = rng.integers(0, len(line) + 1), rng.choice(list(b"ab0123456789 \t\r\v\f\n-\0\x80"))
        line[at : at + rng.integers(0, 2)] = bytes([byte] * rng.integers(0, 2))
    return bytes(line)


def test_a_long_batch_of_mutated_lines_is_read_as_the_rulebook_reads_it():
    rng = np.random.default_rng(2584)
    rows = rng.integers(0, 34, (6_000, 6)).tolist()
    data = b"\n".join(mutated(rng, b"%c %d %d %d %d %d %d" % (rng.choice([97, 98]), *row)) for row in rows)
    expected = rulebooks_reading(data)
    good = sum(verdict is not None for _, _, verdict in expected)
    assert 1_500 < good < 4_500, "the mutations should leave some lines good and make some bad"
    assert reading(data) == expected


# --- Writing numbers --------------------------------------------------------------------------------------------------


def written(value):
    out = np.full(LONGEST_ANSWER + 4, ord("#"), np.uint8)
    end = write_number(value, out, 2)
    text = out.tobytes().decode()
    assert text[:2] == "##", "a byte before the number was touched"
    assert text[end:] == "#" * (len(text) - end), "a byte behind the number was touched"
    return text[2:end]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (float("nan"), "-1"),
        (1.0, "1"),
        (2.0, "2"),
        (10.0, "10"),
        (100.0, "100"),
        (1000000000.0, "1000000000"),
        (9999999999.0, "9999999999"),
        (9999999999.4, "9999999999"),
        (0.1, "0.1"),
        (0.05, "0.05"),
        (0.0001, "0.0001"),
        (0.00012345678904, "0.000123456789"),
        (0.9999999999, "0.9999999999"),
        (0.99999999996, "1"),  # carries over the point
        (9.9999999996, "10"),
        (99999.999996, "100000"),
        (0.099999999996, "0.1"),
        (1422.339261, "1422.339261"),
        (1422.3392614, "1422.339261"),
        (1422.3392616, "1422.339262"),
        (316.0030443, "316.0030443"),
        (0.5, "0.5"),
        (2.5, "2.5"),
        (1234567890.5, "1234567890"),  # exact ties go to the even digit
        (1234567891.5, "1234567892"),
        (0.000244140625, "0.000244140625"),
        (1020304.05, "1020304.05"),
        # Times a power of ten these fall on a tie that the double itself misses, and every digit of it counts.
        (1.0000000005, "1.000000001"),  # 1.00000000050000004...
        (7.9377690715, "7.937769071"),  # 7.93776907149999994...
        (0.0039955909765, "0.003995590977"),
    ],
)
def test_a_number_is_written_with_ten_significant_digits_at_most(value, text):
    assert written(value) == text


@pytest.mark.parametrize("value", [9999999999.5, 9999999999.7, np.nextafter(1e10, 0)])
def test_a_number_that_rounds_up_to_ten_to_the_tenth_keeps_its_size(value):
    assert float(written(float(value))) == 1e10


@settings(FUZZ, max_examples=1000)
@given(st.floats(1e-4, 1e10, exclude_max=True))
def test_any_number_is_written_as_percent_10g_writes_it(value):
    if value < 9999999999.5:
        assert written(value) == format(value, ".10g")


def test_a_hundred_thousand_numbers_of_all_sizes_are_written_as_percent_10g_writes_them():
    rng = np.random.default_rng(1425)
    values = 10.0 ** rng.uniform(-4, 10, 100_000)
    out = np.empty(values.size * LONGEST_ANSWER, np.uint8)
    end = write_answers(values, np.full(values.size, -1), WORDS, out)
    expected = "".join(f"= {value:.10g}\n" for value in values)
    assert out[:end].tobytes().decode() == expected


@FUZZ
@given(st.integers(-4, 9), st.integers(0, 10**10 - 1))
def test_short_decimals_are_written_as_they_are(exponent, digits):
    # At most ten digits: nothing to round.
    value = float(Decimal(digits).scaleb(exponent - 9))
    if value >= 1e-4:
        assert written(value) == format(value, ".10g")
        assert float(written(value)) == value


@FUZZ
@given(st.integers(10**9, 10**10 - 2), st.integers(0, 13))
def test_a_number_as_near_to_a_tie_as_can_be_is_written_as_percent_10g_writes_it(digits, decimals):
    # Eleven digits, the last of them a 5.
    value = float(f"{digits}.5e-{decimals}")
    assert written(value) == format(value, ".10g")


# --- Writing answers --------------------------------------------------------------------------------------------------


def answers(values, moves):
    out = np.full(len(values) * LONGEST_ANSWER + 1, ord("#"), np.uint8)
    end = write_answers(np.array(values, np.float64), np.array(moves, np.int64), WORDS, out)
    assert out[end] == ord("#")
    return out[:end].tobytes()


def test_answers_without_moves_are_a_line_each():
    values = [1422.339261, 0.0, np.nan, 316.0030443]
    assert answers(values, [-1] * 4) == b"= 1422.339261\n= 0\n= -1\n= 316.0030443\n"


def test_answers_with_moves_name_the_slide_behind_the_value():
    values = [1.5, 2.25, 3.0, 4.125, 0.0, np.nan]
    assert answers(values, [0, 1, 2, 3, -1, -1]) == b"= 1.5 up\n= 2.25 right\n= 3 down\n= 4.125 left\n= 0\n= -1\n"


def test_no_answers_are_no_bytes():
    assert answers([], []) == b""


def test_the_longest_answer_has_room():
    # The longest number there is, and the longest word.
    line = answers([0.0001234567891], [1])
    assert line == b"= 0.0001234567891 right\n"
    assert len(line) <= LONGEST_ANSWER
