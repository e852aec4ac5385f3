"""The rulebook of sliding-tile games with the merge rule of 2584. Boards are drawn as indices, a dot for no tile."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plyd.engines.core.errors import BadMove, BadPosition
from plyd.engines.core.rules import Board, Outcome, Side
from plyd.engines.tiles.fibonacci import CLASSIC, merge, tile
from plyd.engines.tiles.rulebook import SLIDES, Position, TileRules
from plyd.engines.tiles_2584_2x3.rules import RULES

FUZZ = settings(max_examples=300, deadline=None, derandomize=True)


def board_of(rows, columns):
    return TileRules("", rows, columns, merge, tile, CLASSIC)


ROW, COLUMN, SQUARE = board_of(1, 4), board_of(4, 1), board_of(4, 4)


# --- Which tiles merge ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (1, 1, 2),  # tiles 1 + 1 = 2, the only equal pair that merges
        (1, 2, 3),  # 1 + 2 = 3
        (2, 1, 3),
        (2, 3, 4),  # 2 + 3 = 5
        (3, 2, 4),
        (11, 12, 13),
        (31, 32, 33),  # the largest index with a name
        (32, 31, 33),
    ],
)
def test_ones_and_neighbours_merge(one, other, merged):
    assert merge(one, other) == merged
    assert tile(merged) == tile(one) + tile(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(2, 2), (3, 3), (12, 12), (33, 33), (1, 3), (3, 1), (2, 4), (5, 2), (1, 33), (32, 33), (33, 32)],
)
def test_equal_tiles_and_distant_tiles_do_not_merge(one, other):
    assert merge(one, other) is None


def test_tiles_are_the_fibonacci_numbers_with_a_single_one():
    assert [tile(index) for index in range(1, 13)] == [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]
    assert tile(17) == 2584


def test_index_33_merges_no_further():
    # 33 32 .  --left-->  33 32 .  (nothing moves: 34 has no name)
    assert RULES.slide((33, 32, 0, 0, 0, 0), "left") == ((33, 32, 0, 0, 0, 0), 0)
    assert RULES.slide((0, 0, 0, 0, 32, 33), "right") == ((0, 0, 0, 0, 32, 33), 0)
    assert RULES.slide((33, 0, 0, 32, 0, 0), "up") == ((33, 0, 0, 32, 0, 0), 0)
    assert RULES.slide((33, 0, 0, 32, 0, 0), "down") == ((33, 0, 0, 32, 0, 0), 0)
    # 32 31 .  --left-->  33 .  .
    assert RULES.slide((32, 31, 0, 0, 0, 0), "left") == ((33, 0, 0, 0, 0, 0), tile(33))


# --- How a line slides ------------------------------------------------------------------------------------------------

# line, after a slide to the left, points
TO_THE_LEFT = [
    ("1 . . .", "1 . . .", 0),
    (". . . 1", "1 . . .", 0),
    (". 1 . 3", "1 3 . .", 0),
    ("1 1 . .", "2 . . .", 2),  # 1 + 1
    ("1 . . 1", "2 . . .", 2),  # across a gap
    ("2 2 . .", "2 2 . .", 0),  # other equals do not merge
    ("3 3 . .", "3 3 . .", 0),
    ("1 2 . .", "3 . . .", 3),  # neighbours, in either order
    ("2 1 . .", "3 . . .", 3),
    ("4 . 5 .", "6 . . .", 13),
    ("5 . 4 .", "6 . . .", 13),
    ("1 3 . .", "1 3 . .", 0),  # two apart do not merge
    ("1 1 1 .", "2 1 . .", 2),  # pairs from the left edge
    ("1 1 1 1", "2 2 . .", 4),
    ("1 1 2 .", "2 2 . .", 2),  # the new 2 does not merge again
    ("2 1 1 .", "3 1 . .", 3),  # not 2 with the new 2, nor 1 + 1 first
    ("1 2 3 .", "3 3 . .", 3),  # 1 + 2 goes first, and 3 is left over
    ("3 2 1 .", "4 1 . .", 5),
    ("1 2 3 4", "3 5 . .", 11),  # each tile once: (1 2) (3 4)
    ("4 3 2 1", "5 3 . .", 11),
    ("3 1 2 .", "3 3 . .", 3),
    ("2 2 1 .", "2 3 . .", 3),
    ("2 . 2 3", "2 4 . .", 5),
    ("5 3 5 3", "5 3 5 3", 0),
]

# The near-twin of each: the same line, slid to the right.
TO_THE_RIGHT = [
    ("1 . . .", ". . . 1", 0),
    (". . . 1", ". . . 1", 0),
    (". 1 . 3", ". . 1 3", 0),
    ("1 1 . .", ". . . 2", 2),
    ("1 . . 1", ". . . 2", 2),
    ("2 2 . .", ". . 2 2", 0),
    ("3 3 . .", ". . 3 3", 0),
    ("1 2 . .", ". . . 3", 3),
    ("2 1 . .", ". . . 3", 3),
    ("4 . 5 .", ". . . 6", 13),
    ("5 . 4 .", ". . . 6", 13),
    ("1 3 . .", ". . 1 3", 0),
    ("1 1 1 .", ". . 1 2", 2),  # pairs from the right edge
    ("1 1 1 1", ". . 2 2", 4),
    ("1 1 2 .", ". . 1 3", 3),  # here 1 + 2 goes first
    ("2 1 1 .", ". . 2 2", 2),
    ("1 2 3 .", ". . 1 4", 5),
    ("3 2 1 .", ". . 3 3", 3),
    ("1 2 3 4", ". . 3 5", 11),
    ("4 3 2 1", ". . 5 3", 11),
    ("3 1 2 .", ". . 3 3", 3),
    ("2 2 1 .", ". . 2 3", 3),
    ("2 . 2 3", ". . 2 4", 5),
    ("5 3 5 3", "5 3 5 3", 0),
]


def indices(line):
    return tuple(0 if word == "." else int(word) for word in line.split())


@pytest.mark.parametrize(("line", "slid", "points"), TO_THE_LEFT)
def test_slide_left_pairs_from_the_left_edge(line, slid, points):
    assert ROW.slide(indices(line), "left") == (indices(slid), points)


@pytest.mark.parametrize(("line", "slid", "points"), TO_THE_RIGHT)
def test_slide_right_pairs_from_the_right_edge(line, slid, points):
    assert ROW.slide(indices(line), "right") == (indices(slid), points)


@pytest.mark.parametrize(("line", "slid", "points"), TO_THE_LEFT)
def test_slide_up_pairs_from_the_top_edge(line, slid, points):
    assert COLUMN.slide(indices(line), "up") == (indices(slid), points)


@pytest.mark.parametrize(("line", "slid", "points"), TO_THE_RIGHT)
def test_slide_down_pairs_from_the_bottom_edge(line, slid, points):
    assert COLUMN.slide(indices(line), "down") == (indices(slid), points)


def test_every_left_line_has_its_twin():
    assert [line for line, _, _ in TO_THE_LEFT] == [line for line, _, _ in TO_THE_RIGHT]


# --- How a board slides -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "top", "bottom", "points"),
    [
        # 1 1 2
        # 3 2 4
        ("left", "2 2 .", "4 4 .", 2 + 5),
        ("right", ". 1 3", ". 4 4", 3 + 5),
        ("up", "1 3 2", "3 . 4", 3),
        ("down", "1 . 2", "3 3 4", 3),
    ],
)
def test_a_slide_moves_every_line_of_the_board(direction, top, bottom, points):
    assert RULES.slide(indices("1 1 2") + indices("3 2 4"), direction) == (indices(top) + indices(bottom), points)


def test_each_direction_moves_a_lone_tile_to_its_edge():
    # . . .
    # . 7 .
    lone = (0, 0, 0, 0, 7, 0)
    assert RULES.slide(lone, "up")[0] == (0, 7, 0, 0, 0, 0)
    assert RULES.slide(lone, "right")[0] == (0, 0, 0, 0, 0, 7)
    assert RULES.slide(lone, "down")[0] == (0, 0, 0, 0, 7, 0)
    assert RULES.slide(lone, "left")[0] == (0, 0, 0, 7, 0, 0)


def test_points_are_the_face_values_of_all_new_tiles():
    # 1 1 .  --left-->  2 . .     2 points
    # 4 . 5             6 . .  + 13 points
    step = RULES.play(RULES.parse("b 1 1 0 4 0 5"), "left")
    assert (RULES.text(step.position), step.points) == ("a 2 0 0 6 0 0", 15)


def test_a_slide_without_a_merge_gains_nothing():
    # . 3 .  --left-->  3 . .
    # . . 1             1 . .
    step = RULES.play(RULES.parse("b 0 3 0 0 0 1"), "left")
    assert (RULES.text(step.position), step.points) == ("a 3 0 0 1 0 0", 0)


def tiles_sum(cells):
    return sum(tile(index) for index in cells)


@FUZZ
@given(st.lists(st.integers(0, 12), min_size=16, max_size=16).map(tuple), st.sampled_from(SLIDES))
def test_a_slide_keeps_the_sum_of_the_tiles_and_leaves_no_gap(cells, direction):
    slid, _ = SQUARE.slide(cells, direction)
    assert tiles_sum(slid) == tiles_sum(cells)
    for i in range(4):
        line = [slid[4 * i + j] if direction in ("left", "right") else slid[4 * j + i] for j in range(4)]
        if direction in ("right", "down"):
            line.reverse()
        assert 0 not in line[: sum(index > 0 for index in line)], "a gap before the last tile"


# --- Moves ------------------------------------------------------------------------------------------------------------


def move_texts(text):
    return [move.text for move in RULES.legal_moves(RULES.parse(text))]


@pytest.mark.parametrize(
    ("text", "slides"),
    [
        # 5 . .
        # . . .
        ("b 5 0 0 0 0 0", ["right", "down"]),
        # . . .
        # . . 5
        ("b 0 0 0 0 0 5", ["up", "left"]),
        # . . .
        # . 5 .
        ("b 0 0 0 0 5 0", ["up", "right", "left"]),
        # 1 3 5    only the columns merge
        # 2 7 9
        ("b 1 3 5 2 7 9", ["up", "down"]),
        # 1 1 5    only the top row merges
        # 4 7 9
        ("b 1 1 5 4 7 9", ["right", "left"]),
        # 7 12  4
        # 10 4  2
        ("b 7 12 4 10 4 2", []),
        # 2 2 2    equal tiles that stay
        # 2 2 2
        ("b 2 2 2 2 2 2", []),
    ],
)
def test_legal_slides_are_those_that_change_the_board(text, slides):
    assert move_texts(text) == slides


def test_legal_drops_are_each_tile_on_each_empty_cell():
    # 5 1 6
    # . 12 .
    moves = RULES.legal_moves(RULES.parse("a 5 1 6 0 12 0"))
    assert [(move.text, move.cell, move.probability) for move in moves] == [
        ("1@3", 3, pytest.approx(0.45)),
        ("1@5", 5, pytest.approx(0.45)),
        ("2@3", 3, pytest.approx(0.05)),
        ("2@5", 5, pytest.approx(0.05)),
    ]


@FUZZ
@given(st.lists(st.integers(0, 3), min_size=6, max_size=6).map(tuple))
def test_drop_probabilities_sum_to_one(cells):
    moves = RULES.legal_moves(Position(before=False, cells=cells))
    assert len(moves) == 2 * cells.count(0)
    assert sum(move.probability for move in moves) == pytest.approx(1.0 if 0 in cells else 0.0)


def test_slides_have_neither_cell_nor_probability():
    assert {(move.cell, move.probability) for move in RULES.legal_moves(RULES.parse("b 1 1 0 0 0 0"))} == {(None, None)}


def test_a_drop_fills_its_cell_and_gains_nothing():
    # 2 . .  --1@5-->  2 . .
    # . . .            . . 1
    step = RULES.play(RULES.parse("a 2 0 0 0 0 0"), "1@5")
    assert (step.position, step.points) == (Position(before=True, cells=(2, 0, 0, 0, 0, 1)), 0)
    # . . .  --2@0-->  2 . .
    # . . 2            . . 2
    step = RULES.play(RULES.parse("a 0 0 0 0 0 2"), "2@0")
    assert (step.position, step.points) == (Position(before=True, cells=(2, 0, 0, 0, 0, 2)), 0)


def test_a_drop_on_the_empty_board_leaves_the_environment_to_move():
    first = RULES.play(RULES.start(), "2@4").position
    assert RULES.text(first) == "a 0 0 0 0 2 0"
    assert RULES.to_move(first) is Side.ENVIRONMENT
    second = RULES.play(first, "1@0").position
    assert RULES.text(second) == "b 1 0 0 0 2 0"
    assert RULES.to_move(second) is Side.PLAYER_ONE


@pytest.mark.parametrize(
    ("text", "move", "legal"),
    [
        ("b 5 0 0 0 0 0", "up", "right down"),  # changes nothing
        ("b 5 0 0 0 0 0", "north", "right down"),
        ("b 5 0 0 0 0 0", "RIGHT", "right down"),
        ("b 5 0 0 0 0 0", " right", "right down"),
        ("b 5 0 0 0 0 0", "", "right down"),
        ("b 5 0 0 0 0 0", "1@5", "right down"),  # the player is to move
        ("b 7 12 4 10 4 2", "left", "none"),  # the game is over
        ("a 5 1 6 0 12 0", "left", "1@3 1@5 2@3 2@5"),  # the environment is to move
        ("a 5 1 6 0 12 0", "1@4", "1@3 1@5 2@3 2@5"),  # not empty
        ("a 5 1 6 0 12 0", "3@3", "1@3 1@5 2@3 2@5"),  # not a tile that drops
        ("a 5 1 6 0 12 0", "1@6", "1@3 1@5 2@3 2@5"),  # off the board
        ("a 5 1 6 0 12 0", "1@-1", "1@3 1@5 2@3 2@5"),
        ("a 5 1 6 0 12 0", "1@03", "1@3 1@5 2@3 2@5"),
        ("a 5 1 6 0 12 0", "1", "1@3 1@5 2@3 2@5"),
    ],
)
def test_an_illegal_move_is_quoted_with_the_legal_ones(text, move, legal):
    message = f'illegal move "{move}" at "{text}"; legal is {legal}'
    with pytest.raises(BadMove, match=f"^{re.escape(message)}$"):
        RULES.play(RULES.parse(text), move)


# --- Outcome ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "outcome", "side"),
    [
        ("a 0 0 0 0 0 0", Outcome.ONGOING, Side.ENVIRONMENT),
        ("b 1 0 0 0 2 0", Outcome.ONGOING, Side.PLAYER_ONE),
        ("a 5 1 6 0 12 0", Outcome.ONGOING, Side.ENVIRONMENT),
        # 1 3 5    full, but the first column merges
        # 2 7 9
        ("b 1 3 5 2 7 9", Outcome.ONGOING, Side.PLAYER_ONE),
        # 7 12  4
        # 10 4  2
        ("b 7 12 4 10 4 2", Outcome.ENDED, None),
        ("a 7 12 4 10 4 2", Outcome.ENDED, None),  # nowhere to drop
    ],
)
def test_the_game_ends_when_nothing_can_move(text, outcome, side):
    position = RULES.parse(text)
    assert RULES.outcome(position) is outcome
    assert RULES.to_move(position) is side


# --- Text -------------------------------------------------------------------------------------------------------------


@FUZZ
@given(st.booleans(), st.lists(st.integers(0, 33), min_size=6, max_size=6).map(tuple))
def test_text_of_any_2x3_position_parses_to_it(before, cells):
    position = Position(before, cells)
    assert RULES.parse(RULES.text(position)) == position


@FUZZ
@given(st.booleans(), st.lists(st.integers(0, 33), min_size=16, max_size=16).map(tuple))
def test_text_of_any_4x4_position_parses_to_it(before, cells):
    position = Position(before, cells)
    assert SQUARE.parse(SQUARE.text(position)) == position


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b 2 2 0 0 0 0", "b 2 2 0 0 0 0"),
        ("a 33 0 0 0 12 7", "a 33 0 0 0 12 7"),
        ("  b 2 2  0 0 0 0  ", "b 2 2 0 0 0 0"),
        ("b\t2\t2\t0\t0\t0\t0", "b 2 2 0 0 0 0"),
        ("b 2 2 0 0 0 0\r", "b 2 2 0 0 0 0"),  # what is left of a line that ended in CRLF
        ("b\v2\f2 0\r0 0 0", "b 2 2 0 0 0 0"),
        ("b 02 002 00 0 0 0", "b 2 2 0 0 0 0"),  # leading zeros
        ("b 00000000000033 2 0 0 0 0", "b 33 2 0 0 0 0"),
        pytest.param(f"b {'0' * 4083}7 2 0 0 0 0", "b 7 2 0 0 0 0", id="4096 characters"),
    ],
)
def test_a_good_text_is_read(text, canonical):
    assert RULES.text(RULES.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "empty position"),
        (" \t\r\v\f ", "empty position"),
        ("c 0 0 0 0 0 0", 'unknown letter "c" in "c 0 0 0 0 0 0"'),
        ("B 0 0 0 0 0 0", 'unknown letter "B"'),
        ("b0 0 0 0 0 0", 'unknown letter "b0"'),
        ("ab 0 0 0 0 0 0", 'unknown letter "ab"'),
        ("0 0 0 0 0 0", 'unknown letter "0"'),
        ("\ufeffb 0 0 0 0 0 0", r'unknown letter "\ufeffb"'),  # a byte-order mark
        ("b\u00a00 0 0 0 0 0", r'unknown letter "b\xa00"'),  # a no-break space is not white space here
        ("b", '0 numbers in "b"'),
        ("b 0 0 0 0 0", '5 numbers in "b 0 0 0 0 0"'),
        ("b 0 0 0 0 0 0 0", "7 numbers"),
        ("b 0 0 x 0 0 0", '"x" is not a number in "b 0 0 x 0 0 0"'),
        ("b 0 0 1.0 0 0 0", '"1.0" is not a number'),
        ("b 0 0 +1 0 0 0", '"+1" is not a number'),
        ("b 0 0 - 0 0 0", '"-" is not a number'),
        ("b 0 0 --1 0 0 0", '"--1" is not a number'),
        ("b 0 0 1_0 0 0 0", '"1_0" is not a number'),
        ("b 0 0 0x1 0 0 0", '"0x1" is not a number'),
        ("b 0,0,0,0,0,0", '"0,0,0,0,0,0" is not a number'),
        ("b 0 0 \u0661 0 0 0", '"\u0661" is not a number'),  # an Arabic 1
        ("b 0 0 \u00b2 0 0 0", '"\u00b2" is not a number'),  # a superscript 2
        ("b 0 0 0 0 0 0\n", r'"0\n" is not a number'),  # a text is one line, without its end
        ("b 0 0\n0 0 0 0", r'"0\n0" is not a number'),
        ("b 0 0 0 0 0 0\0", r'"0\x00" is not a number'),
        ("b 0 0 0 0 0 0\x85", r'"0\x85" is not a number'),
        ("b 0 0 0 0 0 \x1b[31m", r'"\x1b[31m" is not a number'),
        ("b 0 0 -1 0 0 0", '"-1" is out of range'),
        ("b 0 0 -0 0 0 0", '"-0" is out of range'),
        ("b 0 0 34 0 0 0", '"34" is out of range'),
        ("b 0 0 100 0 0 0", '"100" is out of range'),
        ("b 0 0 0034 0 0 0", '"0034" is out of range'),
        ("b 0 0 18446744073709551616 0 0 0", '"18446744073709551616" is out of range'),
        (f"b {'0' * 5000}7 2 0 0 0 0", '5013 characters, more than 4096, in "b 000'),
        (f"b {'9' * 4000} 0 0 0 0 0", f'"{"9" * 60}..." is out of range in "b {"9" * 58}..."'),
        ("b 34 0", '"34" is out of range'),  # the first thing wrong is what is told
        ("a x", '"x" is not a number'),
    ],
)
def test_a_malformed_text_says_what_is_wrong_and_what_was_expected(text, fragment):
    with pytest.raises(BadPosition) as caught:
        RULES.parse(text)
    assert fragment in str(caught.value)
    assert str(caught.value).endswith("; expected b or a and 6 numbers from 0 to 33")


def test_a_larger_board_expects_more_numbers():
    with pytest.raises(BadPosition, match=r"6 numbers in .*; expected b or a and 16 numbers from 0 to 33"):
        SQUARE.parse("b 0 0 0 0 0 0")


@FUZZ
@given(st.text(max_size=40) | st.text("ab0123 \t-\n", max_size=40))
def test_whatever_the_text_it_parses_or_is_a_bad_position(text):
    message, position = "", None
    try:
        position = RULES.parse(text)
    except BadPosition as error:
        message = str(error)
    assert message.isprintable()
    assert position is None or RULES.parse(RULES.text(position)) == position


# --- Pictures ---------------------------------------------------------------------------------------------------------


def test_the_board_shows_face_values_row_by_row():
    position = RULES.parse("a 5 1 6 0 12 0")
    assert RULES.board(position) == Board(2, 3, ("8", "1", "13", "", "233", ""))


def test_the_picture_is_right_aligned_with_dots_for_empty_cells():
    assert RULES.picture(RULES.parse("a 5 1 6 0 12 0")) == "  8   1  13\n  . 233   ."
    assert RULES.picture(RULES.start()) == ". . .\n. . ."


class Unread(str):
    """A text that may be measured and quoted, but not searched."""

    def translate(self, table):
        raise AssertionError("read before it was measured")


def test_the_length_of_a_text_is_checked_before_anything_else():
    with pytest.raises(BadPosition, match=r'^4194304 characters, more than 4096, in "b 0 0') as caught:
        RULES.parse(Unread("b 0 " + "0 " * ((2 << 20) - 2)))
    assert len(str(caught.value)) < 300
