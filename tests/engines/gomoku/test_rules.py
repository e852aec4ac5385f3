"""The rulebook of Gomoku. Boards are drawn as in texts, the top row first: x moves first, # is a blocked point."""

import functools
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plyd.engines.core.errors import BadMove, BadPosition
from plyd.engines.core.rules import Board, Outcome, Side
from plyd.engines.gomoku.rules import (
    FORM,
    FREESTYLE,
    LETTERS,
    MAX_TEXT,
    STANDARD,
    Position,
    empty_board,
    has_five,
    lines_of,
    move_at,
    point_of,
)

FUZZ = settings(max_examples=60, deadline=None, derandomize=True)
RULES = pytest.mark.parametrize("rules", [FREESTYLE, STANDARD], ids=["freestyle", "standard"])
SIZES = (5, 6, 15, 20)
WINS = {"x": Outcome.PLAYER_ONE_WINS, "o": Outcome.PLAYER_TWO_WINS}
DIRECTIONS = {"row": (0, 1), "column": (1, 0), "falling": (1, 1), "rising": (-1, 1)}


def after(rules, text, *moves):
    """The position that moves lead to."""
    return functools.reduce(lambda position, move: rules.play(position, move).position, moves, rules.parse(text))


def drawing(*rows):
    """The text of a drawn board."""
    return "/".join(row.replace(" ", "") for row in rows)


def with_stones(size, points, stone, mover=None, rows=None):
    """A board with stones on some points, who waits having put them there."""
    cells = [list(row) for row in rows or ["." * size] * size]
    for row, column in points:
        cells[row][column] = stone
    return Position(tuple(map("".join, cells)), mover or ("o" if stone == "x" else "x"))


def every_line(size, length):
    """Each set of so many points in line on a board, and its direction."""
    on_board = range(size)
    for row, column in itertools.product(on_board, on_board):
        for name, (down, right) in DIRECTIONS.items():
            points = [(row + i * down, column + i * right) for i in range(length)]
            if all(r in on_board and c in on_board for r, c in points):
                yield name, points


def lines_to_try(size, length):
    """Those that touch an edge, and some of the others; of small boards all."""
    edge = {0, size - 1}
    lines = [points for _, points in every_line(size, length)]
    at_edge = [points for points in lines if size < 9 or {cell for point in points for cell in point} & edge]
    return at_edge + random.Random(size).sample(lines, min(len(lines), 40))


# --- Five in a row ----------------------------------------------------------------------------------------------------


@RULES
@pytest.mark.parametrize("stone", "xo")
@pytest.mark.parametrize("size", SIZES)
def test_five_in_line_wins_wherever_it_is_and_four_do_not(size, stone, rules):
    corners = {(0, 0), (0, size - 1), (size - 1, 0), (size - 1, size - 1)}
    for points in lines_to_try(size, 5):
        assert rules.outcome(with_stones(size, points, stone)) is WINS[stone], points
        if {points[0], points[4]} & corners or size < 15:
            for i in range(5):
                assert rules.outcome(with_stones(size, points[:i] + points[i + 1 :], stone)) is Outcome.ONGOING
    directions = [name for name, _ in every_line(size, 5)]
    straight, slanted = size * (size - 4), (size - 4) ** 2
    assert {name: directions.count(name) for name in DIRECTIONS} == {
        "row": straight,
        "column": straight,
        "falling": slanted,
        "rising": slanted,
    }


@pytest.mark.parametrize("stone", "xo")
@pytest.mark.parametrize(("size", "length"), [(6, 6), (15, 6), (15, 7), (15, 9), (15, 15), (20, 6), (20, 20)])
def test_more_than_five_win_in_freestyle_only(size, length, stone):
    for points in lines_to_try(size, length):
        position = with_stones(size, points, stone)
        assert FREESTYLE.outcome(position) is WINS[stone]
        assert STANDARD.outcome(position) is Outcome.ONGOING


@pytest.mark.parametrize("stone", "xo")
def test_five_beside_a_line_of_six_wins_by_both_rules(stone):
    six = [(7, column) for column in range(4, 10)]
    for down, right in ((1, 0), (1, 1), (-1, 1), (-1, 0)):
        for through in (4, 6, 9):  # one of the six is among the five
            five = [(7 + i * down, through + i * right) for i in range(5)]
            for rules in (FREESTYLE, STANDARD):
                assert rules.outcome(with_stones(15, six + five, stone)) is WINS[stone]
    five = [(0, column) for column in range(5)]
    assert STANDARD.outcome(with_stones(15, six + five, stone)) is WINS[stone]


def test_five_and_a_gap_and_more_is_five():
    # x x x x x . x : exactly five
    points = [(0, column) for column in (0, 1, 2, 3, 4, 6)]
    assert STANDARD.outcome(with_stones(7, points, "x")) is Outcome.PLAYER_ONE_WINS


@RULES
@pytest.mark.parametrize("between", "o#")
def test_five_between_others_stones_or_blocked_points_wins(rules, between):
    # o x x x x x o
    rows = ["." * 7] * 6 + [f"{between}xxxxx{between}"]
    assert rules.outcome(Position(tuple(rows), "o")) is Outcome.PLAYER_ONE_WINS


@RULES
@pytest.mark.parametrize("cell", "o#.")
def test_five_stones_with_something_between_them_do_not_win(rules, cell):
    for place in range(1, 5):
        line = "xxxxx"[:place] + cell + "xxxxx"[place:]
        assert rules.outcome(Position((line, *["......"] * 5), "o")) is Outcome.ONGOING


@RULES
@pytest.mark.parametrize("size", SIZES)
def test_a_line_does_not_go_on_around_the_edge(rules, size):
    # the last points of a row and the first of the next, and so on: five numbers with equal steps that are no line
    real = {frozenset(points) for _, points in every_line(size, 5)}
    spaced = set()
    chance = random.Random(size)
    for start, step in itertools.product(range(size * size), (1, size - 1, size, size + 1)):
        numbers = [(start + i * step) % (size * size) for i in range(5)]
        spaced.add(frozenset(divmod(number, size) for number in numbers))
    wrong = sorted(map(sorted, (points for points in spaced - real if len(points) == 5)))
    for points in chance.sample(wrong, min(len(wrong), 150)):
        assert rules.outcome(with_stones(size, points, "x")) is Outcome.ONGOING, points


def test_lines_of_a_board_are_its_rows_columns_and_diagonals():
    rows = ("abcde", "fghij", "klmno", "pqrst", "uvwxy")
    lines = lines_of(rows)
    assert len(lines) == 5 + 5 + 9 + 9
    assert {"abcde", "uvwxy", "afkpu", "ejoty", "agmsy", "bhnt", "flrx", "uqmie", "vrnj", "plhd", "e", "u"} <= set(
        lines
    )


@RULES
def test_a_five_of_each_colour_is_seen_for_each_colour(rules):
    rows = ("xxxxx", ".....", "ooooo", ".....", ".....")
    assert has_five(rows, "x", rules is STANDARD)
    assert has_five(rows, "o", rules is STANDARD)
    assert not has_five(rows[1:2] * 5, "x", rules is STANDARD)


@pytest.mark.parametrize(
    ("moves", "rules", "outcome"),
    [
        ("h8 a1 i8 a2 j8 a3 k8 a4 l8", FREESTYLE, Outcome.PLAYER_ONE_WINS),
        ("h8 a1 i8 a2 j8 a3 k8 a4 o15 a5", FREESTYLE, Outcome.PLAYER_TWO_WINS),
        ("h8 a1 i9 b1 j10 c1 k11 e1 l12", STANDARD, Outcome.PLAYER_ONE_WINS),
        ("h8 a1 i7 b1 j6 c1 k5 e1 l4", STANDARD, Outcome.PLAYER_ONE_WINS),
        ("a15 b1 b14 c1 c13 d1 d12 f1 e11", STANDARD, Outcome.PLAYER_ONE_WINS),
        ("h8 a1 i8 a3 j8 a5 l8 a7 m8 a9 k8", FREESTYLE, Outcome.PLAYER_ONE_WINS),  # six by one stone
        ("h8 a1 i8 a3 j8 a5 l8 a7 m8 a9 k8", STANDARD, Outcome.ONGOING),
    ],
)
def test_a_game_played_to_five_is_won_by_who_made_it(moves, rules, outcome):
    assert rules.outcome(after(rules, "15x15", *moves.split())) is outcome


# --- The end ----------------------------------------------------------------------------------------------------------


def full_board(size):
    """Pairs of stones, shifted by one stone a row: full, and no five in any line."""
    return ["".join("xo"[(row + column // 2) % 2] for column in range(size)) for row in range(size)]


@RULES
@pytest.mark.parametrize("size", SIZES)
def test_the_last_stone_on_a_full_board_draws(rules, size):
    full = full_board(size)
    count = {stone: "".join(full).count(stone) for stone in "xo"}
    stone = "o" if count["x"] == count["o"] else max(count, key=count.get)
    column = full[0].index(stone)
    almost = "/".join([full[0][:column] + "." + full[0][column + 1 :], *full[1:]])
    position = rules.parse(f"{almost} {stone}")
    assert rules.outcome(position) is Outcome.ONGOING
    move = move_at(0, column, size)
    assert [legal.text for legal in rules.legal_moves(position)] == [move]
    position = rules.play(position, move).position
    assert position.rows == tuple(full)
    assert rules.outcome(position) is Outcome.DRAW
    assert rules.to_move(position) is None
    assert rules.legal_moves(position) == []
    assert rules.parse(rules.text(position)) == position


@RULES
def test_the_last_stone_on_a_full_board_wins_if_it_makes_five(rules):
    # x x x x .      x to move
    # o o x o o
    # x x o x x
    # o o x o o
    # x o o x x
    position = rules.parse(drawing("x x x x .", "o o x o o", "x x o x x", "o o x o o", "o o x x o") + " x")
    assert rules.outcome(position) is Outcome.ONGOING
    assert rules.outcome(rules.play(position, "e5").position) is Outcome.PLAYER_ONE_WINS


@RULES
def test_a_board_full_but_for_blocked_points_is_a_draw_and_so_is_one_that_is_blocked_altogether(rules):
    position = rules.parse("xxoo#/ooxxo/xxoox/ooxxo/xxoox")
    assert rules.outcome(position) is Outcome.DRAW
    assert rules.legal_moves(position) == []
    blocked = rules.parse("/".join(["#####"] * 5))
    assert rules.outcome(blocked) is Outcome.DRAW
    assert rules.to_move(blocked) is None


def test_six_at_the_end_of_a_full_board_is_a_draw_in_standard_only():
    rows = ["xxx.xx", *full_board(6)[1:]]
    assert not has_five((*rows[1:], "......"), "x", False)
    position = STANDARD.parse("/".join(rows) + " x")
    assert STANDARD.outcome(STANDARD.play(position, "d6").position) is Outcome.DRAW
    assert FREESTYLE.outcome(FREESTYLE.play(position, "d6").position) is Outcome.PLAYER_ONE_WINS


# --- Texts ------------------------------------------------------------------------------------------------------------


@RULES
@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("15x15", "15x15"),
        ("5x5", "5x5"),
        ("20x20", "20x20"),
        ("005x0005", "5x5"),
        ("  9x9\t\n", "9x9"),
        ("...../...../...../...../.....", "5x5"),
        ("...../...../...../...../..... x", "5x5"),
        ("...../...../...../...../..... o", "...../...../...../...../..... o"),
        ("...../...../..x../...../.....", "...../...../..x../...../....."),
        ("...../...../..x../...../..... o", "...../...../..x../...../....."),  # said already
        ("...../...../..x../...../..... x", "...../...../..x../...../..... x"),
        ("...../...../..x../..o../.....", "...../...../..x../..o../....."),
        ("...../...../..x../..o../..... x", "...../...../..x../..o../....."),
        ("...../...../..x../..o../..... o", "...../...../..x../..o../..... o"),
        ("...../...../..o../...../..... x", "...../...../..o../...../..... x"),
        ("...../...../..o../...../..... o", "...../...../..o../...../..... o"),
        ("...../.x.x./..x../...../..... o", "...../.x.x./..x../...../..... o"),
        (" ...../...../..x../...../.....\n", "...../...../..x../...../....."),
        ("#..../...../...../...../....#", "#..../...../...../...../....#"),
        ("#..../...../...../...../....# o", "#..../...../...../...../....# o"),
        ("xxxxx/oooo./...../...../.....", "xxxxx/oooo./...../...../....."),
        ("ooooo/xxxx./...../...../....x", "ooooo/xxxx./...../...../....x"),
        ("ooooo/xxxx./...../...../..... x", "ooooo/xxxx./...../...../..... x"),
        pytest.param("5x5" + " " * (MAX_TEXT - 3), "5x5", id="as long as may be"),
    ],
)
def test_a_good_text_is_read_and_written_in_one_way(rules, text, canonical):
    position = rules.parse(text)
    assert rules.text(position) == canonical
    assert rules.parse(canonical) == position


@RULES
def test_the_largest_board_has_a_text_that_is_read(rules):
    rows = full_board(20)
    text = "/".join(rows) + " o"
    assert len(text) < MAX_TEXT
    assert rules.parse(text) == Position(tuple(rows), "o")


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("5x5", Side.PLAYER_ONE),
        ("...../...../..x../...../.....", Side.PLAYER_TWO),
        ("...../...../..x../..o../.....", Side.PLAYER_ONE),
        ("...../...../..x../..o../..... o", Side.PLAYER_TWO),
        ("...../...../..o../...../..... o", Side.PLAYER_TWO),
        ("...../...../xx.../...../..... x", Side.PLAYER_ONE),
        ("xxxxx/oooo./...../...../.....", None),
    ],
)
def test_who_is_to_move_is_told_by_the_stones_or_by_the_letter_behind_them(text, side):
    assert FREESTYLE.to_move(FREESTYLE.parse(text)) is side


def test_the_game_begins_on_the_empty_board_of_15():
    for rules in (FREESTYLE, STANDARD):
        assert rules.start() == rules.parse("15x15") == Position(("." * 15,) * 15, "x")
        assert len(rules.legal_moves(rules.start())) == 225


@FUZZ
@given(st.data())
def test_every_board_survives_its_text(data):
    size = data.draw(st.integers(5, 20))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    weights = data.draw(st.sampled_from([(8, 1, 1, 0), (2, 1, 1, 1), (1, 0, 0, 1), (20, 1, 0, 0)]))
    rows = tuple("".join(chance.choices(".xo#", weights, k=size)) for _ in range(size))
    position = Position(rows, data.draw(st.sampled_from("xo")))
    for rules in (FREESTYLE, STANDARD):
        if not any(has_five(rows, stone, rules is STANDARD) for stone in "xo"):
            assert rules.parse(rules.text(position)) == position


# --- Bad texts --------------------------------------------------------------------------------------------------------


def assert_refused(text, *parts):
    for rules in (FREESTYLE, STANDARD):
        with pytest.raises(BadPosition) as caught:
            rules.parse(text)
        message = str(caught.value)
        assert message.isprintable(), message
        for part in parts:
            assert part in message, message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        ".....",
        "15",
        "15x",
        "x15",
        "15X15",
        "15 x 15",
        "15x15x15",
        "-5x5",
        "5.0x5",
        "12345x12345",
        "5x5 x",  # a size has no mover
        "15x15 o",
        "start",
        "...../...../...../...../..... X",
        "...../...../...../...../..... xo",
        "...../...../...../...../.....  x",  # two blanks
        "...../...../...../...../..... x o",
        "...../...../...../...../..... #",
        "...../...../...../...../..... 1",
        "5\u00d75",  # a multiplication sign
        "\u0665x\u0665",  # Arabic digits
        "\uff15x\uff15",  # full-width digits
        "\ufeff5x5",
        "5x5\0",
        "\x1b[31m5x5",
    ],
)
def test_a_text_that_is_neither_a_size_nor_rows_is_answered_with_the_form(text):
    assert_refused(text, 'cannot read "', f'"; {FORM}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4x4", '4 rows in "4x4"; allowed is 5 to 20'),
        ("21x21", '21 rows in "21x21"; allowed is 5 to 20'),
        ("0x0", '0 rows in "0x0"; allowed is 5 to 20'),
        ("9999x9999", '9999 rows in "9999x9999"; allowed is 5 to 20'),
        ("15x14", '15 columns and 14 rows in "15x14"; boards are square'),
        ("5x6", '5 columns and 6 rows in "5x6"; boards are square'),
        ("..../..../..../....", '4 rows in "..../..../..../...."; allowed is 5 to 20'),
        ("...../.....", '5 columns and 2 rows in "...../....."; boards are square'),
        ("/", '0 columns and 2 rows in "/"; boards are square'),
        ("/".join(["." * 21] * 21), "21 rows in"),
    ],
)
def test_a_size_out_of_range_is_refused(text, message):
    assert_refused(text, message)


@pytest.mark.parametrize("cell", ["X", "O", "0", "1", "-", "*", "\t", "\u0445", "\x1b", "\u200b", "\ud7ff", "'", '"'])
@pytest.mark.parametrize("row", range(5))
def test_an_unknown_point_is_named_with_its_row_and_what_is_allowed(cell, row):
    rows = ["....."] * 5
    rows[row] = f"..{cell}.."
    assert_refused("/".join(rows), "unknown point ", "; points are . x o #")


def test_rows_of_different_length_are_both_shown():
    assert_refused("...../...../..../...../.....", "rows of different length", '"....."', '"...."')
    assert_refused("...../...../...../...../", "rows of different length", '"....."', '""')
    assert_refused("...../...../...../...../......", "rows of different length", '"....."', '"......"')


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("xx.../...../...../...../.....", "2 x and 0 o"),
        ("o..../...../...../...../.....", "0 x and 1 o"),
        ("xx.../xo.../...../...../.....", "3 x and 1 o"),
        ("xx.../oo.o./...../...../.....", "2 x and 3 o"),
    ],
)
def test_stones_that_say_nothing_of_the_mover_need_a_letter(text, counts):
    assert_refused(text, counts, f'"{text}"', "add the side to move", f'"{text} x"')
    for mover in "xo":
        assert FREESTYLE.parse(f"{text} {mover}").mover == mover


@pytest.mark.parametrize(
    ("rows", "mover", "who"),
    [
        ("xxxxx/oooo./...../...../.....", "x", "x has five"),
        ("ooooo/xxxx./...../...../.....", "o", "o has five"),
        ("xxxxx/ooooo/...../...../.....", "x", "both have five"),
        ("xxxxx/ooooo/...../...../.....", "o", "both have five"),
    ],
)
def test_a_five_of_who_is_to_move_is_refused(rows, mover, who):
    assert_refused(f"{rows} {mover}", who, f"but {'o' if mover == 'x' else 'x'} moved last", rows[:20])


def test_six_of_who_is_to_move_are_refused_in_freestyle_only():
    text = "xxxxxx/ooo.oo/o...../....../....../...... x"
    with pytest.raises(BadPosition, match="x has five"):
        FREESTYLE.parse(text)
    assert STANDARD.outcome(STANDARD.parse(text)) is Outcome.ONGOING


def test_a_text_too_long_is_refused_with_its_length_and_shown_in_part():
    assert_refused("." * (MAX_TEXT + 1), f"{MAX_TEXT + 1} characters", f"at most {MAX_TEXT}")
    assert_refused("x/" * 100_000, "200000 characters")


@FUZZ
@given(
    st.one_of(
        st.text(alphabet="".join(map(chr, range(32, 127))) + "\n\t\0\u00d7\u0665\uff15", max_size=40),
        st.text(alphabet="./xo# 5", max_size=60),
        st.from_regex(r"\d{1,2}x\d{1,2}( [xo])?"),
    )
)
def test_any_text_is_a_position_or_is_refused(text):
    for rules in (FREESTYLE, STANDARD):
        try:
            position = rules.parse(text)
        except BadPosition as error:
            assert str(error).isprintable()  # noqa: PT017
        else:
            assert rules.parse(rules.text(position)) == position


# --- Moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_moves_are_named_from_the_bottom_left(size):
    position = empty_board(size)
    last = LETTERS[size - 1]
    assert FREESTYLE.play(position, "a1").position.rows[-1][0] == "x"
    assert FREESTYLE.play(position, f"a{size}").position.rows[0][0] == "x"
    assert FREESTYLE.play(position, f"{last}1").position.rows[-1][-1] == "x"
    assert FREESTYLE.play(position, f"{last}{size}").position.rows[0][-1] == "x"
    names = [(move.text, move.cell) for move in FREESTYLE.legal_moves(position)]
    assert len({text for text, _ in names}) == len(names) == size * size
    for text, cell in names:
        row, column = point_of(text, size)
        assert row * size + column == cell
        assert move_at(row, column, size) == text
        assert FREESTYLE.play(position, text).position.rows[row][column] == "x"


@RULES
@pytest.mark.parametrize(
    "move", ["", " ", "a", "1", "a0", "a00", "a01", "A1", "a1 ", " a1", "a1\n", "a16", "p1", "u1", "a100", "aa1", "1a",
             "8,8", "a-1", "a\u0661", "\uff411", "h8 i9", "a1\0", "pass", "0,0", "h\u00b2"]
)  # fmt: skip
def test_a_move_that_is_no_point_is_refused_with_the_points_there_are(rules, move):
    with pytest.raises(BadMove) as caught:
        rules.play(rules.start(), move)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith('unknown move "')
    assert message.endswith("; moves are points, a1 to o15")


@pytest.mark.parametrize(
    ("size", "move", "last"), [(5, "f1", "e5"), (5, "a6", "e5"), (6, "g6", "f6"), (20, "a21", "t20")]
)
def test_points_of_a_larger_board_are_refused(size, move, last):
    with pytest.raises(BadMove, match=f'unknown move "{move}"; moves are points, a1 to {last}'):
        FREESTYLE.play(empty_board(size), move)


@pytest.mark.parametrize(("move", "what"), [("c3", "a stone, x,"), ("d3", "a stone, o,"), ("a5", "a blocked point")])
def test_a_point_that_is_not_empty_is_refused_with_what_is_there(move, what):
    # # . . . .
    # . . . . .
    # . . x o .
    position = FREESTYLE.parse("#..../...../..xo./...../.....")
    assert move not in {legal.text for legal in FREESTYLE.legal_moves(position)}
    assert len(FREESTYLE.legal_moves(position)) == 22
    with pytest.raises(BadMove, match=f'illegal move "{move}": {what} is there; moves are empty points'):
        FREESTYLE.play(position, move)


@pytest.mark.parametrize("text", ["xxxxx/oooo./...../...../.....", "xxoo#/ooxxo/xxoox/ooxxo/xxoox"])
@pytest.mark.parametrize("move", ["a1", "e1", "z9"])
def test_no_move_is_legal_when_the_game_is_over(text, move):
    position = FREESTYLE.parse(text)
    assert FREESTYLE.legal_moves(position) == []
    with pytest.raises(BadMove, match=f'illegal move "{move}": the game is over'):
        FREESTYLE.play(position, move)


@RULES
def test_players_take_turns_whoever_begins(rules):
    for mover, other in ("xo", "ox"):
        position = rules.parse(f"...../.x.../...../...../..... {mover}")
        step = rules.play(position, "c3")
        assert step.points == 0.0
        assert step.position.rows[2][2] == mover
        assert step.position.mover == other


@RULES
def test_random_games_end_in_five_or_a_full_board_and_not_before(rules):
    chance, outcomes = random.Random(1), set()
    for size in (5, 5, 5, 5, 6, 7, 9):
        position = empty_board(size)
        while rules.outcome(position) is Outcome.ONGOING:
            assert rules.parse(rules.text(position)) == position
            move = chance.choice(rules.legal_moves(position))
            assert position.rows[move.cell // size][move.cell % size] == "."
            mover, position = position.mover, rules.play(position, move.text).position
        outcome = rules.outcome(position)
        outcomes.add(outcome)
        assert outcome is WINS[mover] or (outcome is Outcome.DRAW and position.count(".") == 0)
        assert rules.parse(rules.text(position)) == position
    assert Outcome.DRAW in outcomes


# --- Pictures ---------------------------------------------------------------------------------------------------------


def test_the_board_shows_stones_and_blocked_points_row_by_row_from_the_top():
    position = FREESTYLE.parse("#..../...../..xo./...../....x")
    assert FREESTYLE.board(position) == Board(5, 5, ("#", *[""] * 11, "x", "o", *[""] * 10, "x"))
    assert FREESTYLE.picture(position) == "# . . . .\n. . . . .\n. . x o .\n. . . . .\n. . . . x"
