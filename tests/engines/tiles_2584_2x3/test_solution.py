"""The solved 2x3 game against a brute force that shares nothing with it: plain Python, straight from the rules.

The brute force knows no mirror images, no tables and no order of sums; it asks for the value of every opening and
remembers what it was asked on the way, which is every state that can occur.
"""

import functools
import sys
from typing import NamedTuple

import numpy as np
import pytest

from plyd.engines.core.engine import BadLine
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Limits
from plyd.engines.tiles_2584_2x3.rules import RULES

TILES = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987]
BOARDS = 13**6
PER_FIRST_TILE = 13**5  # boards with the same tile in cell 0
CLOSE = 1e-9


# --- The brute force --------------------------------------------------------------------------------------------------
# A board is a number of six hex digits, cell 0 the first:   t0 t1 t2 / t3 t4 t5 = 0x t0 t1 t2 t3 t4 t5

DIGIT = [0x100000, 0x010000, 0x001000, 0x000100, 0x000010, 0x000001]
LINES = {  # cells of each line, from the edge that tiles slide to
    "up": [(0, 3), (1, 4), (2, 5)],
    "right": [(2, 1, 0), (5, 4, 3)],
    "down": [(3, 0), (4, 1), (5, 2)],
    "left": [(0, 1, 2), (3, 4, 5)],
}


def slid(tiles):
    """Tiles of a line after a slide to its front, and the points."""
    tiles, moved, points = [t for t in tiles if t], [], 0
    while tiles:
        if len(tiles) > 1 and (tiles[0] == tiles[1] == 1 or abs(tiles[0] - tiles[1]) == 1):
            made = max(tiles[:2]) + 1
            moved, points, tiles = [*moved, made], points + TILES[made], tiles[2:]
        else:
            moved, tiles = [*moved, tiles[0]], tiles[1:]
    return moved, points


class SlideLine(dict):
    """What one line of the board, the rest masked out, becomes in a slide, and the points; worked out once."""

    def __init__(self, cells):
        self.cells = cells
        self.mask = sum(15 * DIGIT[cell] for cell in cells)

    def __missing__(self, line):
        moved, points = slid([line // DIGIT[cell] % 16 for cell in self.cells])
        self[line] = sum(t * DIGIT[cell] for t, cell in zip(moved, self.cells, strict=False)), points
        return self[line]


SLIDES = {
    direction: [(line.mask, line) for line in map(SlideLine, cells_of_lines)]
    for direction, cells_of_lines in LINES.items()
}


def slide(board, direction):
    """The board after a slide, and the points."""
    after = points = 0
    for mask, line in SLIDES[direction]:
        moved, gained = line[board & mask]
        after |= moved
        points += gained
    return after, points


class Befores(dict):
    """Value of each before-state that was asked for: the best slide's points and what follows; 0 without a slide."""

    def __init__(self):
        self.afters, self.terminal = Afters(self), []

    def __missing__(self, board):
        slides = [slide(board, direction) for direction in LINES]
        values = [points + self.afters[after] for after, points in slides if after != board]
        if not values:
            self.terminal.append(board)
        self[board] = max(values, default=0.0)
        return self[board]

    def start_value(self):
        """The mean over the two drops that open a game."""
        value = 0.0
        for first in DIGIT:
            for second in DIGIT:
                for one, chance in ((1, 0.9), (2, 0.1)):
                    for other, other_chance in ((1, 0.9), (2, 0.1)):
                        if first != second:
                            before = self[one * first + other * second]
                            value += chance * other_chance * before / (6 * 5)
        return value


class Afters(dict):
    """Value of each after-state that was asked for: the mean over empty cells of nine 1s and one 2 in ten."""

    def __init__(self, befores):
        self.befores = befores

    def __missing__(self, board):
        drops = [digit for digit in DIGIT if not board & 15 * digit]
        ones = sum([self.befores[board + digit] for digit in drops])
        twos = sum([self.befores[board + 2 * digit] for digit in drops])
        self[board] = (0.9 * ones + 0.1 * twos) / len(drops)
        return self[board]


class Truth(NamedTuple):
    """What the brute force found."""

    before: dict[int, float]  # by hex board
    after: dict[int, float]
    terminal: list[int]
    start: float
    tables: dict[str, np.ndarray]  # "b" and "a": value of each board in the order of `lines`, NaN if never reached


@pytest.fixture(scope="module")
def truth():
    deepest = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        before = Befores()
        start = before.start_value()
    finally:
        sys.setrecursionlimit(deepest)
    before, after, terminal = dict(before), dict(before.afters), before.terminal
    return Truth(before, after, terminal, start, {"b": table(before), "a": table(after)})


def table(values):
    boards = np.full(BOARDS, np.nan)
    boards[places(values)] = np.fromiter(values.values(), np.float64, len(values))
    return boards


def places(values):
    """Where each hex board stands in the order of `lines`."""
    board = np.fromiter(values, np.int64, len(values))
    place = np.zeros_like(board)
    for digit in DIGIT:
        place = place * 13 + board // digit % 16
    return place


# --- The engine's answers, all of them --------------------------------------------------------------------------------


@functools.cache
def rows():
    return [b"%d %d %d" % (x, y, z) for x in range(13) for y in range(13) for z in range(13)]


def lines(letter, first):
    """A line for each board with tile `first` in cell 0, in order; for all `first`, 13^6 of them."""
    tops = rows()[first * 169 : (first + 1) * 169]
    starts = [b"%s %s " % (letter.encode(), top) for top in tops]
    return b"\n".join(start + (b"\n" + start).join(rows()) for start in starts)


@pytest.fixture(scope="module")
def answers(tiles_2584_2x3):
    """The engine's value of every board there could be, as `Truth.tables` has them."""

    def values(letter, first):
        found = tiles_2584_2x3.solution.answers(lines(letter, first), as_text=False, with_moves=False)
        assert found.errors == ()
        return found.values

    return {letter: np.concatenate([values(letter, first) for first in range(13)]) for letter in "ba"}


def test_lines_name_all_boards_in_order():
    first, last = lines("b", 0).split(b"\n"), lines("a", 12).split(b"\n")
    assert len(first) == len(last) == PER_FIRST_TILE
    assert (first[0], first[1], last[-1]) == (b"b 0 0 0 0 0 0", b"b 0 0 0 0 0 1", b"a 12 12 12 12 12 12")
    assert first[2197] == b"b 0 0 1 0 0 0"


@pytest.mark.parametrize("letter", ["b", "a"])
def test_every_value_is_the_brute_forces(letter, answers, truth):
    reached = ~np.isnan(truth.tables[letter])
    assert np.abs(answers[letter][reached] - truth.tables[letter][reached]).max() < CLOSE


@pytest.mark.parametrize("letter", ["b", "a"])
def test_every_board_that_no_play_reaches_has_no_value(letter, answers, truth):
    assert answers[letter].shape == (BOARDS,)
    assert np.array_equal(np.isnan(answers[letter]), np.isnan(truth.tables[letter]))


@pytest.mark.parametrize("letter", ["b", "a"])
def test_text_is_the_value_at_ten_digits_or_minus_one_for_every_board(letter, answers, tiles_2584_2x3):
    for first in range(13):
        values = answers[letter][first * PER_FIRST_TILE :][:PER_FIRST_TILE]
        expected = [b"= -1\n"] * PER_FIRST_TILE
        for place in np.flatnonzero(~np.isnan(values)):
            expected[place] = b"= %.10g\n" % values[place]
        found = tiles_2584_2x3.solution.answers(lines(letter, first), as_text=True, with_moves=False)
        assert found.errors == ()
        assert_same_lines(found.text, b"".join(expected))


def assert_same_lines(text, expected):
    """As `text == expected`, but says where megabytes differ."""
    if text != expected:
        pairs = zip(text.splitlines(), expected.splitlines(), strict=False)
        differing = [(at, *pair) for at, pair in enumerate(pairs) if pair[0] != pair[1]]
        raise AssertionError(f"{len(differing)} lines differ, first {differing[:5]}")


@pytest.mark.parametrize("letter", ["b", "a"])
def test_mirrored_boards_have_the_same_value(letter, answers, truth):
    for values in (answers[letter], truth.tables[letter]):
        board = values.reshape((13,) * 6)
        # t0 t1 t2    t2 t1 t0         t0 t1 t2    t3 t4 t5
        # t3 t4 t5 -> t5 t4 t3   and   t3 t4 t5 -> t0 t1 t2
        for cells in ((2, 1, 0, 5, 4, 3), (3, 4, 5, 0, 1, 2)):
            np.testing.assert_allclose(board.transpose(cells), board, rtol=0, atol=CLOSE, equal_nan=True)


# --- Counts -----------------------------------------------------------------------------------------------------------


def test_as_many_states_are_reachable_as_were_counted(truth):
    assert len(truth.before) == 815_828
    assert len(truth.after) == 525_758
    assert len(truth.before.keys() & truth.after.keys()) == 205_922


def test_the_engine_reaches_as_many_states(answers):
    before, after = ~np.isnan(answers["b"]), ~np.isnan(answers["a"])
    assert (before.sum(), after.sum(), (before & after).sum()) == (815_828, 525_758, 205_922)


def test_terminal_states_are_as_many_as_were_counted_and_worth_nothing(answers, truth):
    assert len(truth.terminal) == 160_173
    assert (answers["b"][places(truth.terminal)] == 0.0).all()


def test_the_largest_index_is_12(answers):
    for letter in "ba":
        board = np.isfinite(answers[letter]).reshape((13,) * 6)
        assert board[12].any(), "the tables would do with fewer indices"


def test_no_play_makes_an_index_above_12(truth):
    boards = np.array([*truth.before, *truth.after])
    assert max((boards // digit % 16).max() for digit in DIGIT) == 12


def test_the_largest_value_and_the_starts_are_known(answers, tiles_2584_2x3, truth):
    assert max(np.nanmax(answers["b"]), np.nanmax(answers["a"])) == pytest.approx(1426.548222, abs=1e-6)
    assert truth.start == pytest.approx(1425.817561, abs=1e-6)
    (report,) = tiles_2584_2x3.searcher("classic", {"method": "exact"}).search(RULES.start(), Limits(), Stop())
    assert report.score.value.points == pytest.approx(truth.start, abs=CLOSE)


# --- Known answers ----------------------------------------------------------------------------------------------------

KNOWN = [
    ("b 2 2 0 0 0 0", "1422.339261"),
    ("b 0 0 0 0 4 2", "1412.897933"),
    ("a 0 0 0 0 4 2", "1412.893618"),  # the same board, the environment to drop
    ("b 7 12 4 10 4 2", "0"),  # no slide left
    ("a 5 1 6 0 12 0", "316.0030443"),
    ("a 0 0 0 0 0 0", "-1"),  # before the first drop it is nobody's turn
    ("b 1 1 1 1 1 1", "-1"),  # the board never fills up with 1s
    ("a 24 4 18 3 0 0", "-1"),  # an index that no play makes
    ("a 1 0 0 0 0 0", "-1"),  # one tile
]


@pytest.mark.parametrize(("line", "text"), KNOWN)
def test_a_known_answer(line, text, tiles_2584_2x3):
    found = tiles_2584_2x3.evaluate("classic", line.encode(), as_text=True, with_moves=False)
    assert found.text == f"= {text}\n".encode()


def test_a_batch_is_answered_in_order(tiles_2584_2x3):
    batch = "\n".join(line for line, _ in KNOWN).encode()
    as_text = tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=False)
    assert as_text.text == "".join(f"= {text}\n" for _, text in KNOWN).encode()
    numbers = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=False)
    expected = [np.nan if text == "-1" else float(text) for _, text in KNOWN]
    np.testing.assert_allclose(numbers.values, expected, rtol=1e-9, equal_nan=True)
    assert numbers.moves == ()


def test_an_empty_batch_has_no_answers(tiles_2584_2x3):
    for batch in (b"", b"\n\r\n  \n"):
        found = tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=True)
        assert (found.text, found.errors) == (b"", ())
        found = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=True)
        assert (found.values.size, found.moves, found.errors) == (0, (), ())


def test_bad_lines_are_answered_minus_one_and_told_with_their_numbers(tiles_2584_2x3):
    batch = b"b 2 2 0 0 0 0\n\nb 2 2 0 0 0\r\n\n\nb 2 2 0 0 0 0\n\xff 1\n"
    found = tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=False)
    assert found.text == b"= 1422.339261\n= -1\n= 1422.339261\n= -1\n"
    form = "expected b or a and 6 numbers from 0 to 33"
    assert found.errors == (
        BadLine(line=2, answer=1, message=rf'5 numbers in "b 2 2 0 0 0\r"; {form}'),
        BadLine(line=6, answer=3, message=rf'unknown letter "\xff" in "\xff 1"; {form}'),
    )


def test_a_bad_line_with_thousands_of_zeros_does_not_spoil_its_batch(tiles_2584_2x3):
    batch = b"b 2 2 0 0 0 0\nb 2 2 0 0 " + b"0" * 5000 + b"\nb 2 2 0 0 0 0\n"
    found = tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=False)
    assert found.text == b"= 1422.339261\n= -1\n= 1422.339261\n"
    assert [(error.line, error.answer) for error in found.errors] == [(1, 1)]


# --- Indices that cannot occur ----------------------------------------------------------------------------------------


def test_an_index_above_12_is_answered_minus_one_in_every_cell(tiles_2584_2x3):
    boards = [
        [*board[:cell], index, *board[cell + 1 :]]
        for board in ([0] * 6, [1, 2, 0, 0, 3, 0], [5, 1, 6, 0, 12, 0], [33] * 6)
        for cell in range(6)
        for index in range(13, 34)
    ]
    batch = "".join(f"{letter} {' '.join(map(str, board))}\n" for board in boards for letter in "ba").encode()
    numbers = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=True)
    assert np.isnan(numbers.values).all()
    assert set(numbers.moves) == {""}
    as_text = tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=True)
    assert as_text.text == b"= -1\n" * (2 * len(boards))


def test_an_index_above_12_is_not_taken_for_a_carry(tiles_2584_2x3, truth):
    # In base 13 the digits 0 14 stand for the same number as 1 1: a board that can occur must not lend its value.
    lent = []
    for board in list(truth.before)[:2000]:
        cells = [board // digit % 16 for digit in DIGIT]
        lent += [[*cells[:i], cells[i] - 1, cells[i + 1] + 13, *cells[i + 2 :]] for i in range(5) if cells[i] > 0]
    batch = "".join(f"b {' '.join(map(str, cells))}\n" for cells in lent).encode()
    found = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=False)
    assert found.values.size > 2000
    assert np.isnan(found.values).all()


# --- Best moves -------------------------------------------------------------------------------------------------------


def test_the_move_given_is_the_best_for_every_before_state(tiles_2584_2x3, truth):
    row = rows()
    batch = b"\n".join(
        [b"b %s %s" % (row[place // 2197], row[place % 2197]) for place in places(truth.before).tolist()]
    )
    found = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=True)
    for (board, value), move in zip(truth.before.items(), found.moves, strict=True):
        if move:
            after, points = slide(board, move)
            assert after != board, f"{move} is not legal at {board:06x}"
            assert abs(points + truth.after[after] - value) < CLOSE, f"{move} is not best at {board:06x}"
    without = [board for board, move in zip(truth.before, found.moves, strict=True) if not move]
    assert sorted(without) == sorted(truth.terminal)


def test_text_with_moves_is_the_value_and_the_move(tiles_2584_2x3):
    for first in (0, 7):
        batch = lines("b", first)
        numbers = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=True)
        expected = b"".join(
            b"= -1\n" if value != value else b"= %.10g %s\n" % (value, move.encode()) if move else b"= 0\n"
            for value, move in zip(numbers.values.tolist(), numbers.moves, strict=True)
        )
        assert_same_lines(tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=True).text, expected)


def test_after_states_have_no_move(tiles_2584_2x3):
    batch = b"a 5 1 6 0 12 0\nb 2 2 0 0 0 0\na 0 0 0 0 4 2\n"
    found = tiles_2584_2x3.solution.answers(batch, as_text=False, with_moves=True)
    assert (found.moves[0], found.moves[2]) == ("", "")
    assert found.moves[1] in LINES
    text = tiles_2584_2x3.solution.answers(batch, as_text=True, with_moves=True).text
    assert text == f"= 316.0030443\n= 1422.339261 {found.moves[1]}\n= 1412.893618\n".encode()


def test_of_equally_good_slides_the_first_by_opcode_is_given(tiles_2584_2x3):
    # . 1 .    up is as good as down, and right as left: the board is its own mirror image both ways
    # . 1 .
    found = tiles_2584_2x3.solution.answers(b"b 0 1 0 0 1 0\n", as_text=False, with_moves=True)
    assert found.moves[0] in ("up", "right")
