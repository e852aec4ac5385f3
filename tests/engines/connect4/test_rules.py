"""The rulebook of Connect Four. Boards are drawn as in texts: x moves first, # is the forbidden cell."""

import functools
import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plyd.engines.connect4.rules import FORM, MAX_TEXT, RULES, Position
from plyd.engines.core.errors import BadMove, BadPosition
from plyd.engines.core.rules import Board, Outcome, Side

FUZZ = settings(max_examples=60, deadline=None, derandomize=True)


def after(text, *moves):
    """The position that moves lead to."""
    return functools.reduce(lambda position, move: RULES.play(position, move).position, moves, RULES.parse(text))


def move_texts(position):
    return [move.text for move in RULES.legal_moves(position)]


def drawing(*rows):
    """The text of a drawn board."""
    return "/".join(row.replace(" ", "") for row in rows)


# --- Good texts -------------------------------------------------------------------------------------------------------

SEVEN_IN_ONE_MOVE = drawing(  # the middle one came last: two fours and more, by one stone
    ". . . . . . .",
    ". . . . . . .",
    "o o o . o o o",
    "x x x x x x x",
)
CROSS = drawing(  # the x at the top left ends a row and a column
    "x x x x . . .",
    "x o o o . . .",
    "x o x o . . .",
    "x o o x o x o",
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("7x6", "7x6"),
        ("4x4", "4x4"),
        ("16x16", "16x16"),
        ("4x16", "4x16"),
        ("16x4", "16x4"),
        ("07x006", "7x6"),  # leading zeros
        ("  7x6\t\n", "7x6"),
        ("7x6 #4,1", "7x6 #4,1"),
        ("7x6 \t #04,0001 ", "7x6 #4,1"),
        ("7x6 #1,1", "7x6 #1,1"),  # the corners
        ("7x6 #7,1", "7x6 #7,1"),
        ("7x6 #1,6", "7x6 #1,6"),
        ("7x6 #7,6", "7x6 #7,6"),
        ("4x16 #4,16", "4x16 #4,16"),
        ("16x4 #16,4", "16x4 #16,4"),
        ("......./......./......./......./......./.......", "7x6"),
        ("......./......./......./......./......./...#...", "7x6 #4,1"),
        ("#.../..../..../....", "4x4 #1,4"),
        ("..../..../..../...#", "4x4 #4,1"),
        ("..../..../..../x...", "..../..../..../x..."),
        (" ..../..../..../x...\n", "..../..../..../x..."),
        ("..../.o../.#../.x..", "..../.o../.#../.x.."),  # no floating stone: it rests on the forbidden cell
        ("..../..../ooo./xxxx", "..../..../ooo./xxxx"),
        (SEVEN_IN_ONE_MOVE, SEVEN_IN_ONE_MOVE),
        pytest.param(CROSS, CROSS, id="row and column by one stone"),
        ("xxoo/ooxx/xxoo/ooxx", "xxoo/ooxx/xxoo/ooxx"),  # full
        pytest.param(f"7x6{' ' * (MAX_TEXT - 3)}", "7x6", id="512 characters"),
    ],
)
def test_a_good_text_is_read(text, canonical):
    assert RULES.text(RULES.parse(text)) == canonical


def test_a_size_names_columns_before_rows_and_the_forbidden_cell_from_the_bottom_left():
    # . . . . .
    # . . . . .
    # . . . # .
    # . . . . .
    assert RULES.parse("5x4 #4,2").rows == (".....", ".....", "...#.", ".....")


def test_the_game_begins_on_the_empty_7x6_board():
    assert RULES.start() == RULES.parse("7x6") == Position((".......",) * 6)


# --- Bad texts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "....",
        "7",
        "7x",
        "x6",
        "7X6",
        "7 x 6",
        "7x6x5",
        "-7x6",
        "7.0x6",
        "12345x6",  # more digits than any size needs
        "7x6 #4",
        "7x6 4,1",
        "7x6#4,1",
        "7x6 #4, 1",
        "7x6 #4,-1",
        "7x6 #4,1 #3,1",
        "7\u00d76",  # a multiplication sign
        "\u0667x\u0666",  # Arabic digits
        "\uff17x\uff16",  # full-width digits
        "7x6 #\u0664,1",
        "\u00b2x6",  # a superscript
        "7x6\u00a0#4,1",  # a no-break space
        "\ufeff7x6",  # a byte-order mark
        "7x6\0",
        "\x1b[31m7x6",
        "start",
    ],
)
def test_a_text_that_is_neither_a_size_nor_rows_is_answered_with_the_form(text):
    with pytest.raises(BadPosition) as caught:
        RULES.parse(text)
    message = str(caught.value)
    assert message.startswith('cannot read "')
    assert message.endswith(f'"; {FORM}')
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3x6", '3 columns in "3x6"; allowed is 4 to 16'),
        ("17x6", '17 columns in "17x6"; allowed is 4 to 16'),
        ("7x3", '3 rows in "7x3"; allowed is 4 to 16'),
        ("7x17", '17 rows in "7x17"; allowed is 4 to 16'),
        ("0x0", '0 columns in "0x0"; allowed is 4 to 16'),
        ("7x0", '0 rows in "7x0"; allowed is 4 to 16'),
        ("9999x9999", '9999 columns in "9999x9999"; allowed is 4 to 16'),
        (".../.../.../...", '3 columns in ".../.../.../..."; allowed is 4 to 16'),
        ("..../..../....", '3 rows in "..../..../...."; allowed is 4 to 16'),
        ("/", '0 columns in "/"; allowed is 4 to 16'),
        ("/".join(["." * 17] * 4), f'17 columns in "{"." * 17}/{"." * 17}/{"." * 17}/........."; allowed is 4 to 16'),
        ("/".join(["...."] * 17), f'17 rows in "{"..../" * 12}..."; allowed is 4 to 16'),
    ],
)
def test_a_size_out_of_range_is_refused(text, message):
    assert_refused(text, message)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("7x6 #0,1", "0,1"),
        ("7x6 #8,1", "8,1"),
        ("7x6 #4,0", "4,0"),
        ("7x6 #4,7", "4,7"),
        ("7x6 #9999,9999", "9999,9999"),
    ],
)
def test_a_forbidden_cell_off_the_board_is_refused(text, cell):
    assert_refused(text, f'forbidden cell {cell} in "{text}" is not on the board; columns are 1 to 7, rows 1 to 6')


def test_columns_and_rows_of_a_forbidden_cell_have_their_own_limits():
    allowed = "is not on the board; columns are"
    assert_refused("4x16 #16,4", f'forbidden cell 16,4 in "4x16 #16,4" {allowed} 1 to 4, rows 1 to 16')
    assert_refused("16x4 #4,16", f'forbidden cell 4,16 in "16x4 #4,16" {allowed} 1 to 16, rows 1 to 4')


@pytest.mark.parametrize(
    ("row", "cell"),
    [
        ("X...", "'X'"),
        ("...O", "'O'"),
        (".0..", "'0'"),
        (". ..", "' '"),
        ("..-.", "'-'"),
        ("..\u0445.", "'\u0445'"),  # a Cyrillic x
        ("..\u00a0.", r"'\xa0'"),
        ("..\n.", r"'\n'"),
        ("\x1b[0m", r"'\x1b'"),
        ("7x6/", "'7'"),
    ],
)
def test_an_unknown_cell_is_told_with_its_row(row, cell):
    with pytest.raises(BadPosition) as caught:
        RULES.parse(f"..../{row}/..../....")
    assert str(caught.value).startswith(f"unknown cell {cell} in ")
    assert str(caught.value).endswith("; cells are . x o #")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("..../..../.../....", '"..."'),
        ("..../..../...../....", '"....."'),
        ("..../..../..../..../", '""'),  # a slash at the end
        ("..../..//..../....", '".."'),
    ],
)
def test_ragged_rows_are_refused(text, other):
    assert_refused(text, f'rows of different length in "{text}": "...." and {other}')


@pytest.mark.parametrize(("text", "count"), [("..../..../..#./.#..", 2), ("####/####/####/####", 16)])
def test_at_most_one_cell_is_forbidden(text, count):
    assert_refused(text, f'{count} forbidden cells in "{text}"; at most one is allowed')


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("..../..../..../..o.", "0 x and 1 o"),
        ("..../..../..../x.x.", "2 x and 0 o"),
        ("..../..../.o../xoox", "2 x and 3 o"),
        ("..../..../..xx/xoxx", "5 x and 1 o"),
    ],
)
def test_x_has_as_many_stones_as_o_or_one_more(text, counts):
    assert_refused(text, f'{counts} in "{text}"; x moves first, so there are as many x as o, or one more')


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("..../..../x.../....", 1),
        ("...x/..../..../....", 4),
        ("..../.x../..../.o..", 2),  # a gap
        ("..../.x../.#../....", 2),  # on the forbidden cell, which hangs itself
        ("..x./..#./..../....", 3),
        ("x.../..../#.../o...", 1),  # a gap above the forbidden cell
        ("#.../x.../..../....", 1),  # a gap below a stone below it
    ],
)
def test_a_stone_that_hangs_in_the_air_is_refused(text, column):
    assert_refused(text, f'a stone has an empty cell below it in column {column} of "{text}"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("..../..../oooo/xxxx", "both have four in {}, but o moved last"),
        ("...../...../oooo./xxxxx", "both have four in {}, but x moved last"),
        ("...../o..../ooo../xxxx.", "x has four in {}, but o moved last"),
        ("...../...../xx.xx/xoooo", "o has four in {}, but x moved last"),
    ],
)
def test_a_winner_who_did_not_move_last_is_refused(text, message):
    assert_refused(text, message.format(f'"{text}"'))


@pytest.mark.parametrize(
    "text",
    [
        drawing(  # two fours far apart
            ". . . . . . . . .",
            ". . . . . . . . .",
            "o o o . . . o o o",
            "x x x x o x x x x",
        ),
        drawing(  # every stone of the four is covered, x's last one is another
            ". . . . .",
            ". . . . .",
            "o o x o .",
            "x x x x o",
        ),
        drawing(  # a column of five: the game was over at four
            ". . . . .",
            "x . . . .",
            "x . . . .",
            "x . . . .",
            "x o . . .",
            "x o . o o",
        ),
    ],
)
def test_fours_that_no_one_last_move_made_are_refused(text):
    with pytest.raises(BadPosition, match=r"^x has four in .*, but no last move made it"):
        RULES.parse(text)


def test_a_text_that_is_too_long_is_refused():
    assert_refused(
        f"7x6{' ' * (MAX_TEXT - 2)}", f'{MAX_TEXT + 1} characters in "7x6{" " * 57}..."; at most {MAX_TEXT}: {FORM}'
    )
    assert_refused("/" * 10_000, f'10000 characters in "{"/" * 60}..."; at most {MAX_TEXT}: {FORM}')


def assert_refused(text, message):
    with pytest.raises(BadPosition, match=f"^{re.escape(message)}$"):
        RULES.parse(text)


# --- Any text and any game --------------------------------------------------------------------------------------------


@st.composite
def games(draw, largest=8):
    """A board of any size, perhaps with a forbidden cell, and the positions of a game on it."""
    columns, rows = draw(st.integers(4, largest)), draw(st.integers(4, largest))
    text = f"{columns}x{rows}"
    if draw(st.booleans()):
        text += f" #{draw(st.integers(1, columns))},{draw(st.integers(1, rows))}"
    positions = [RULES.parse(text)]
    for choice in draw(st.lists(st.integers(0, 255), max_size=columns * rows)):
        if not (moves := move_texts(positions[-1])):
            break
        positions.append(RULES.play(positions[-1], moves[choice % len(moves)]).position)
    return positions


@FUZZ
@given(games())
def test_text_of_any_position_parses_to_it(positions):
    for position in positions:
        assert RULES.parse(RULES.text(position)) == position


@FUZZ
@given(games())
def test_a_move_adds_one_stone_of_the_mover_where_the_rulebook_said(positions):
    for position, moved in itertools.pairwise(positions):
        stone = {Side.PLAYER_ONE: "x", Side.PLAYER_TWO: "o"}[RULES.to_move(position)]
        before, now = RULES.board(position).cells, RULES.board(moved).cells
        (cell,) = [i for i in range(len(now)) if before[i] != now[i]]
        assert (before[cell], now[cell]) == ("", stone)
        assert cell in [move.cell for move in RULES.legal_moves(position)]


@FUZZ
@given(games())
def test_a_game_is_over_when_four_stand_in_a_row_or_the_board_is_full_and_not_before(positions):
    for number, position in enumerate(positions):
        winners = [stone for stone in "xo" if any(stone * 4 in line for line in whole_lines(position.rows))]
        outcome = RULES.outcome(position)
        assert winners in ([], ["xo"[(number - 1) % 2]])
        if winners:
            assert outcome is {"x": Outcome.PLAYER_ONE_WINS, "o": Outcome.PLAYER_TWO_WINS}[winners[0]]
        else:
            assert outcome is (Outcome.ONGOING if "." in "".join(position.rows) else Outcome.DRAW)
        assert (RULES.legal_moves(position) == []) == (outcome is not Outcome.ONGOING)


def whole_lines(rows):
    """Rows, columns and diagonals of a board from edge to edge, as strings."""
    height, width = len(rows), len(rows[0])
    yield from rows
    yield from ("".join(column) for column in zip(*rows, strict=True))
    for shift in range(-height, width):
        yield "".join(rows[r][r + shift] for r in range(height) if 0 <= r + shift < width)
        yield "".join(rows[r][width - 1 - r - shift] for r in range(height) if 0 <= r + shift < width)


@FUZZ
@given(st.text(max_size=30) | st.text(".xo#/47 ,x\n", max_size=40))
def test_whatever_the_text_it_parses_or_is_a_bad_position(text):
    message, position = "", None
    try:
        position = RULES.parse(text)
    except BadPosition as error:
        message = str(error)
    assert message.isprintable()
    assert position is None or RULES.parse(RULES.text(position)) == position


# --- The forbidden cell -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (4, 6), (7, 5)])
def test_no_stone_rests_in_the_forbidden_cell_and_its_column_goes_on_above(columns, rows):
    for column, row in itertools.product(range(1, columns + 1), range(1, rows + 1)):
        position = RULES.parse(f"{columns}x{rows} #{column},{row}")
        for stones in range(rows - 1):  # alternating, so a column alone makes no four
            assert column_of(position, column) == expected_column(rows, row, stones)
            position = RULES.play(position, str(column)).position
        assert column_of(position, column) == expected_column(rows, row, rows - 1)
        assert move_texts(position) == [str(other) for other in range(1, columns + 1) if other != column]
        with pytest.raises(BadMove, match="the column is full"):
            RULES.play(position, str(column))


def column_of(position, column):
    """The cells of a column from the bottom."""
    return "".join(row[column - 1] for row in reversed(position.rows))


def expected_column(rows, forbidden_row, stones):
    """A column of so many stones in turn, from the bottom, with the forbidden cell where it is."""
    stack = ("xo" * rows)[:stones].ljust(rows - 1, ".")
    return stack[: forbidden_row - 1] + "#" + stack[forbidden_row - 1 :]


@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (4, 6), (7, 5)])
def test_the_other_columns_have_a_stone_for_every_row(columns, rows):
    for column, row in itertools.product(range(1, columns + 1), range(1, rows + 1)):
        other = column % columns + 1
        position = after(f"{columns}x{rows} #{column},{row}", *[str(other)] * rows)
        assert column_of(position, other) == ("xo" * rows)[:rows]
        assert str(other) not in move_texts(position)


@pytest.mark.parametrize(
    ("before", "cell", "moved"),
    [
        # . . . .       . . . .
        # . . . . --2-> . x . .    at the bottom: the stone rests on it
        # . # . .       . # . .
        ("..../..../..../.#..", 9, "..../..../.x../.#.."),
        # . . . .       . . . .
        # . # . . --2-> . # . .    in the middle: the first falls through, the second stays above
        # . . . .       . x . .
        ("..../..../.#../....", 13, "..../..../.#../.x.."),
        ("..../..../.#../.x..", 5, "..../.o../.#../.x.."),
        # . # . .       . # . .
        # . . . . --2-> . o . .    at the top: the last cell is the one below
        # . x . .       . x . .
        (".#../..../.o../xx.o", 5, ".#../.x../.o../xx.o"),
    ],
)
def test_a_stone_falls_past_the_forbidden_cell_or_rests_on_it(before, cell, moved):
    position = RULES.parse(before)
    assert {move.text: move.cell for move in RULES.legal_moves(position)}["2"] == cell
    assert RULES.text(RULES.play(position, "2").position) == moved


def test_a_four_does_not_run_through_the_forbidden_cell():
    # . . . . .
    # o o . o .
    # x x # x .    x to move: four stones, but no four
    position = after("...../...../oo.o./xx#x.", "5")
    assert RULES.text(position) == "...../...../oo.o./xx#xx"
    assert RULES.outcome(position) is Outcome.ONGOING


def test_a_four_beside_the_forbidden_cell_counts():
    # . . . . . .
    # . . o o o .
    # . # x x x .    x to move
    position = after("....../....../..ooo./.#xxx.", "6")
    assert RULES.outcome(position) is Outcome.PLAYER_ONE_WINS


# --- Moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "move",
    [
        "0",
        "8",
        "04",
        "x",
        "",
        "\u0663",
        "\uff14",
        "\u2463",
        " 4",
        "4 ",
        "4\n",
        "+4",
        "-4",
        "4.0",
        "10",
        "44",
        "a1",
        "4,1",
    ],
)
def test_a_move_that_is_no_column_is_unknown(move):
    shown = move.replace("\n", r"\n")
    message = f'unknown move "{shown}"; moves are columns, 1 to 7'
    with pytest.raises(BadMove, match=f"^{re.escape(message)}$"):
        RULES.play(RULES.start(), move)


def test_columns_of_wide_boards_have_two_digits():
    assert RULES.text(after("10x4", "10")) == drawing(*[". " * 10] * 3, ". . . . . . . . . x")
    assert move_texts(RULES.parse("16x4")) == [str(column) for column in range(1, 17)]
    for board, move in (("10x4", "11"), ("16x4", "17")):
        with pytest.raises(BadMove, match=f'unknown move "{move}"; moves are columns, 1 to {board[:2]}'):
            RULES.play(RULES.parse(board), move)


def test_a_full_column_is_illegal_and_those_with_room_are_told():
    position = after("7x6", *"444444")
    assert move_texts(position) == ["1", "2", "3", "5", "6", "7"]
    message = 'illegal move "4": the column is full; columns with room are 1, 2, 3, 5, 6, 7'
    with pytest.raises(BadMove, match=f"^{re.escape(message)}$"):
        RULES.play(position, "4")


@pytest.mark.parametrize("text", ["..../..../ooo./xxxx", "xxoo/ooxx/xxoo/ooxx"])
@pytest.mark.parametrize("move", ["1", "4", "8", "x", ""])
def test_no_move_is_legal_after_the_end(text, move):
    with pytest.raises(BadMove, match=f'^illegal move "{move}": the game is over$'):
        RULES.play(RULES.parse(text), move)


def test_a_legal_move_tells_the_cell_where_its_stone_rests_counted_from_the_top_left():
    # . . . . .
    # . o . . .
    # . x . . x
    # o x # . o    x to move
    position = RULES.parse("...../.o.../.x..x/ox#.o")
    cells = [(move.text, move.cell, move.probability) for move in RULES.legal_moves(position)]
    assert cells == [("1", 10, None), ("2", 1, None), ("3", 12, None), ("4", 18, None), ("5", 9, None)]


def test_a_move_gains_no_points():
    assert RULES.play(RULES.start(), "4").points == 0


def test_players_take_turns_and_x_begins():
    position, sides = RULES.start(), []
    for move in "4433":
        sides.append(RULES.to_move(position))
        position = RULES.play(position, move).position
    assert sides == [Side.PLAYER_ONE, Side.PLAYER_TWO] * 2
    assert RULES.text(position) == "......./......./......./......./..oo.../..xx..."


# --- Four in a row ----------------------------------------------------------------------------------------------------

SIZES = [(4, 4, 10), (5, 7, 50), (7, 6, 69)]  # columns, rows, lines of four


def all_lines(columns, rows):
    """Every line of four cells, as (column, row), counted out one direction at a time."""
    across = [[(c + i, r) for i in range(4)] for c in range(columns - 3) for r in range(rows)]
    upright = [[(c, r + i) for i in range(4)] for c in range(columns) for r in range(rows - 3)]
    falling = [[(c + i, r + i) for i in range(4)] for c in range(columns - 3) for r in range(rows - 3)]
    rising = [[(c + i, r + 3 - i) for i in range(4)] for c in range(columns - 3) for r in range(rows - 3)]
    return across + upright + falling + rising


def with_stones(columns, rows, cells, stone):
    """A board with stones of one kind in these cells, hanging or not."""
    return Position(tuple("".join(stone if (c, r) in cells else "." for c in range(columns)) for r in range(rows)))


@pytest.mark.parametrize(("columns", "rows", "count"), SIZES)
def test_every_line_of_four_that_the_board_has_room_for_wins(columns, rows, count):
    found = all_lines(columns, rows)
    assert len({frozenset(line) for line in found}) == count
    for line in found:
        assert RULES.outcome(with_stones(columns, rows, line, "x")) is Outcome.PLAYER_ONE_WINS
        assert RULES.outcome(with_stones(columns, rows, line, "o")) is Outcome.PLAYER_TWO_WINS


@pytest.mark.parametrize(("columns", "rows", "count"), SIZES)
def test_three_of_a_line_and_another_cell_do_not_win(columns, rows, count):
    for line in all_lines(columns, rows):
        for other in line:
            for cell in ".o#":
                position = with_stones(columns, rows, line, "x")
                position = Position(tuple(put(row, r, other, cell) for r, row in enumerate(position.rows)))
                assert RULES.outcome(position) is Outcome.ONGOING


def put(cells, row, at, cell):
    """A row of cells with one of them changed, if that one is in this row."""
    column, changed_row = at
    return cells[:column] + cell + cells[column + 1 :] if row == changed_row else cells


@pytest.mark.parametrize(("columns", "rows", "count"), SIZES)
def test_no_line_wraps_around_an_edge(columns, rows, count):
    # Evenly spaced cells of a board that is read row by row, or column by column, across its edges and around its end.
    spaced = set()
    for start, step in itertools.product(range(columns * rows), range(1, max(columns, rows) + 2)):
        numbers = [(start + i * step) % (columns * rows) for i in range(4)]
        spaced.add(frozenset((n % columns, n // columns) for n in numbers))
        spaced.add(frozenset((n // rows, n % rows) for n in numbers))
    real = {frozenset(line) for line in all_lines(columns, rows)}
    assert real <= spaced
    for cells in spaced - real:
        assert RULES.outcome(with_stones(columns, rows, cells, "x")) is Outcome.ONGOING


@pytest.mark.parametrize(
    ("moves", "winner", "text"),
    [
        # o o o . . . .
        # x x x x . . .
        ("1122334", Outcome.PLAYER_ONE_WINS, "ooo..../xxxx..."),
        # . . . o o o .
        # . . . x x x x
        ("4455667", Outcome.PLAYER_ONE_WINS, "...ooo./...xxxx"),
        # . . . . . . o
        # . . . . . . o
        # . . . . . . o
        # x x x . x . o
        ("17273757", Outcome.PLAYER_TWO_WINS, "......o/......o/......o/xxx.x.o"),
        # . . . x . . .
        # . . x x . . .
        # . x x o . . .
        # x o o o . o .    rising to the right
        ("12233434464", Outcome.PLAYER_ONE_WINS, "...x.../..xx.../.xxo.../xooo.o."),
        # . . . x . . .
        # . . . x x . .
        # . . . o x x .
        # . o . o o o x    its mirror image
        ("76655454424", Outcome.PLAYER_ONE_WINS, "...x.../...xx../...oxx./.o.ooox"),
    ],
)
def test_a_game_played_to_a_four_is_won_by_who_made_it(moves, winner, text):
    position = after("7x6", *moves)
    assert RULES.outcome(position) is winner
    assert RULES.text(position).endswith(f"......./{text}")


# --- The end ----------------------------------------------------------------------------------------------------------


def full_board(columns, rows):
    """Pairs of stones, shifted by one stone a row: full, and without a four."""
    return ["".join("xo"[(row + column // 2) % 2] for column in range(columns)) for row in range(rows)]


@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (7, 6), (8, 7), (5, 5), (16, 16)])
def test_the_last_stone_on_a_full_board_draws(columns, rows):
    # x x o o       x x o .
    # o o x x  from o o x x
    # x x o o       x x o o
    # o o x x       o o x x
    full = full_board(columns, rows)
    stone = "o" if "".join(full).count("x") == "".join(full).count("o") else "x"
    column = full[0].index(stone)
    almost = "/".join([full[0][:column] + "." + full[0][column + 1 :], *full[1:]])
    position = RULES.parse(almost)
    assert RULES.outcome(position) is Outcome.ONGOING
    assert move_texts(position) == [str(column + 1)]
    position = RULES.play(position, str(column + 1)).position
    assert RULES.text(position) == "/".join(full)
    assert RULES.outcome(position) is Outcome.DRAW
    assert RULES.to_move(position) is None
    assert RULES.legal_moves(position) == []


def test_a_board_full_but_for_the_forbidden_cell_is_a_draw():
    # x x o o
    # o # x x
    # x x o o
    # o o x x
    position = RULES.parse("xxoo/o#xx/xxoo/ooxx")
    assert RULES.outcome(position) is Outcome.DRAW
    assert RULES.to_move(position) is None
    assert RULES.legal_moves(position) == []


def test_the_last_stone_on_a_full_board_wins_if_it_makes_four():
    # . x x x       o x x x
    # o x o o --1-> o x o o
    # o o x x       o o x x
    # o x x o       o x x o
    position = RULES.parse(".xxx/oxoo/ooxx/oxxo")
    assert RULES.to_move(position) is Side.PLAYER_TWO
    assert RULES.outcome(RULES.play(position, "1").position) is Outcome.PLAYER_TWO_WINS


@pytest.mark.parametrize(
    ("text", "outcome", "side"),
    [
        ("7x6", Outcome.ONGOING, Side.PLAYER_ONE),
        ("4x4 #1,1", Outcome.ONGOING, Side.PLAYER_ONE),
        ("..../..../..../x...", Outcome.ONGOING, Side.PLAYER_TWO),
        ("..../..../ooo./xxx.", Outcome.ONGOING, Side.PLAYER_ONE),
        ("..../..../ooo./xxxx", Outcome.PLAYER_ONE_WINS, None),
        ("o..../o..x./o..x./ox.x.", Outcome.PLAYER_TWO_WINS, None),
        ("xxoo/ooxx/xxoo/ooxx", Outcome.DRAW, None),
    ],
)
def test_how_a_game_stands_and_who_is_to_move(text, outcome, side):
    position = RULES.parse(text)
    assert RULES.outcome(position) is outcome
    assert RULES.to_move(position) is side
    assert (RULES.legal_moves(position) == []) == (side is None)


# --- Pictures ---------------------------------------------------------------------------------------------------------


def test_the_board_shows_stones_and_the_forbidden_cell_row_by_row_from_the_top():
    position = RULES.parse("...../...../.o.../.x#x.")
    cells = ("", "", "", "", "", "", "", "", "", "", "", "o", "", "", "", "", "x", "#", "x", "")
    assert RULES.board(position) == Board(4, 5, cells)


def test_the_picture_has_a_dot_for_each_empty_cell():
    position = RULES.parse("...../...../.o.../.x#x.")
    assert RULES.picture(position) == ". . . . .\n. . . . .\n. o . . .\n. x # x ."
    assert RULES.picture(RULES.parse("4x5")) == "\n".join([". . . ."] * 5)
