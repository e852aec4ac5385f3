"""Patterns of Gomoku: the tables against a slow scan, the board after any moves against one counted anew."""

import itertools
import random

import numpy as np
import pytest

from plyd.engines.gomoku.board import patterns
from plyd.engines.gomoku.board.board import (
    FREE,
    HASH,
    MARGIN,
    NOBODY,
    OCCUPIED,
    POINTS,
    STRIDE,
    WALL,
    O,
    X,
    board_of,
    count_anew,
    empty_board,
    point_at,
    set_up,
)
from plyd.engines.gomoku.board.evaluation import shipped
from plyd.engines.gomoku.board.patterns import (
    A_THREE,
    CLASSES,
    COMBINATION_MASK,
    COMBINATIONS,
    KIND_SHIFT,
    KINDS,
    MAKES_FIVE,
    combinations,
    kind_of,
    radius_of,
    tables,
)
from plyd.engines.gomoku.rules import FREESTYLE, STANDARD, Position, Rule, has_five
from tests.engines.gomoku.kernels import (
    COLOURS,
    changes_since,
    near_points,
    points,
    points_of_kind,
    put_stone,
    random_weights,
    snapshot,
    take_stone,
)
from tests.engines.gomoku.slow import (
    all_points,
    class_in,
    classes_at,
    empty_points,
    kind_by,
    kinds_of,
    put,
    random_position,
    random_positions,
    steps,
)

NAMES = [
    *("DEAD", "ONE", "OPEN_ONE", "TWO", "OPEN_TWO", "OPEN_TWO_2", "OPEN_TWO_3"),
    *("THREE", "OPEN_THREE_1", "OPEN_THREE", "FOUR", "OPEN_FOUR", "FIVE"),
]
KIND_NAMES = [
    *("NO_THREAT", "A_TWO", "TWO_TWOS", "A_THREE", "THREE_AND_TWO", "TWO_THREES"),
    *("A_FOUR", "FOUR_AND_TWO", "FOUR_AND_THREE", "WINS_NEXT", "MAKES_FIVE"),
]
RULES = pytest.mark.parametrize("rules", [FREESTYLE, STANDARD], ids=["freestyle", "standard"])
DIGITS = {".": 0, "x": 1, "o": 2, "#": 3}


def rule_of(exactly_five):
    return Rule.STANDARD if exactly_five else Rule.FREESTYLE


def classes_of(text, exactly_five):
    """The names of what x and o make on the _ of a line, the board ends at `|`, and beyond the text it goes on."""
    far = radius_of(rule_of(exactly_five))
    left, right = ("".join(text.split())).split("_")
    left, right = left.replace("|", "#").rjust(far, "#" if "|" in left else ".")[-far:], right
    right = right.replace("|", "#").ljust(far, "#" if "|" in right else ".")[:far]
    key = sum(DIGITS[cell] << 2 * i for i, cell in enumerate(left + right))
    both = int(tables(rule_of(exactly_five)).classes[key])
    return NAMES[both & 15], NAMES[both >> 4]


# --- One line ---------------------------------------------------------------------------------------------------------


def test_names_stand_for_the_numbers_of_the_classes_and_kinds():
    assert [getattr(patterns, name) for name in NAMES] == list(range(CLASSES))
    assert [getattr(patterns, name) for name in KIND_NAMES] == list(range(11))


def assert_class_is_as_scanned(cells, exactly_five):
    """The class of both colours, by the table and by the slow scan."""
    key = sum(DIGITS[cell] << 2 * i for i, cell in enumerate(cells))
    both, half = int(tables(rule_of(exactly_five)).classes[key]), len(cells) // 2
    for stone, found in (("x", both & 15), ("o", both >> 4)):
        seen = "".join("x" if cell == stone else "." if cell == "." else "#" for cell in cells)
        assert NAMES[found] == class_in(seen[:half] + "x" + seen[half:], half, exactly_five), (cells, stone)


def test_every_line_of_freestyle_has_the_class_that_a_slow_scan_finds():
    for cells in itertools.product(".xo#", repeat=8):
        assert_class_is_as_scanned("".join(cells), exactly_five=False)


def test_lines_of_standard_have_the_class_that_a_slow_scan_finds():
    chance = random.Random(1)
    for weights in ((3, 1, 1, 1), (1, 1, 0, 0), (2, 3, 1, 0), (1, 4, 1, 1), (4, 3, 0, 1)):
        for _ in range(600):
            assert_class_is_as_scanned("".join(chance.choices(".xo#", weights, k=10)), exactly_five=True)


@RULES
def test_what_lies_beyond_the_radius_changes_nothing(rules):
    chance, far = random.Random(2), radius_of(rules.rule)
    for _ in range(1500):
        line = "".join(chance.choices(".x#", (3, 3, 1), k=15))
        line = line[:7] + "x" + line[8:]
        near = line[7 - far : 8 + far]
        assert class_in(line, 7, rules is STANDARD) == class_in(near, far, rules is STANDARD), line


@pytest.mark.parametrize(
    ("line", "freestyle", "standard"),
    [
        # five, and more than five
        (". x x _ x x .", "FIVE", "FIVE"),
        ("| _ x x x x .", "FIVE", "FIVE"),
        ("| x x x x _ |", "FIVE", "FIVE"),
        ("o x x _ x x o", "FIVE", "FIVE"),
        (". x x x x _ x .", "FIVE", "DEAD"),
        (". x x x _ x x .", "FIVE", "DEAD"),
        ("x x x x _ x x x x", "FIVE", "DEAD"),
        # fours
        (". x x x _ .", "OPEN_FOUR", "OPEN_FOUR"),
        ("| x x x _ .", "FOUR", "FOUR"),
        ("| x x x _ |", "DEAD", "DEAD"),
        (". x x x _ o", "FOUR", "FOUR"),
        ("o x x x _ o", "DEAD", "DEAD"),
        ("| . x x x _ |", "FOUR", "FOUR"),
        (". x x . x _ .", "FOUR", "FOUR"),
        (". x . x x _ .", "FOUR", "FOUR"),
        ("| x x . x _ |", "FOUR", "FOUR"),
        ("o x . x _ x o", "FOUR", "FOUR"),
        ("x . x x _ . x", "OPEN_FOUR", "OPEN_FOUR"),  # two fours in one line: either gap makes five
        ("o x . x _ x . x o", "OPEN_FOUR", "OPEN_FOUR"),
        ("x x . _ x . x x", "OPEN_FOUR", "OPEN_FOUR"),
        ("x x x . _ . x x x", "OPEN_FOUR", "OPEN_FOUR"),
        # a six on one side, or on both
        ("x . x x x _ .", "OPEN_FOUR", "FOUR"),
        ("x . x x x _ |", "FOUR", "DEAD"),
        ("x . x x x _ . x", "OPEN_FOUR", "DEAD"),
        ("x x . x x _ . x x", "OPEN_FOUR", "DEAD"),
        ("| . x x x _ . x", "OPEN_FOUR", "FOUR"),
        # threes
        (". . x x _ . .", "OPEN_THREE", "OPEN_THREE"),
        ("| . x x _ . |", "THREE", "THREE"),  # five fits, an open four does not
        ("| . x x _ . . |", "OPEN_THREE_1", "OPEN_THREE_1"),
        ("o . x x _ . . o", "OPEN_THREE_1", "OPEN_THREE_1"),
        ("o . x x _ . o", "THREE", "THREE"),
        ("| x x _ . . .", "THREE", "THREE"),
        ("| x x _ . |", "DEAD", "DEAD"),
        ("o x x _ . . o", "THREE", "THREE"),
        (". x . x _ .", "OPEN_THREE_1", "OPEN_THREE_1"),
        ("| x . x _ . .", "THREE", "THREE"),
        ("x . . x _ . . x", "THREE", "THREE"),
        ("| . x . x _ . |", "OPEN_THREE_1", "OPEN_THREE_1"),
        ("x . . x x _ . . x", "OPEN_THREE", "THREE"),
        # twos and ones
        (". . . x _ . . .", "OPEN_TWO_3", "OPEN_TWO_3"),
        ("| x _ . . .", "TWO", "TWO"),
        ("| . x _ . . |", "TWO", "TWO"),
        ("| . x _ . . . |", "OPEN_TWO_2", "OPEN_TWO_2"),
        ("| . . _ . . |", "ONE", "ONE"),
        (". . . . _ . . . .", "OPEN_ONE", "OPEN_ONE"),
        ("| . . _ . |", "DEAD", "DEAD"),
        ("o . . _ . . o", "ONE", "ONE"),
    ],
)
def test_known_shapes_have_their_class(line, freestyle, standard):
    for exactly_five, name in ((False, freestyle), (True, standard)):
        assert classes_of(line, exactly_five)[0] == name
        assert classes_of(line[::-1], exactly_five)[0] == name
        swapped = line.translate(str.maketrans("xo", "ox"))
        assert classes_of(swapped, exactly_five)[1] == name


@RULES
def test_a_stone_more_of_ones_own_never_makes_less_in_freestyle_and_a_wall_never_makes_more(rules):
    chance, far = random.Random(3), radius_of(rules.rule)
    for _ in range(2000):
        cells = chance.choices(".xo", (4, 2, 1), k=2 * far)
        i = chance.choice([i for i, cell in enumerate(cells) if cell == "."] or [0])
        found = []
        for cell in (cells[i], "x", "#"):
            line = "".join(cells[:i]) + cell + "".join(cells[i + 1 :])
            found.append(NAMES.index(classes_of(line[:far] + "_" + line[far:], rules is STANDARD)[0]))
        if cells[i] == ".":
            assert found[2] <= found[0]
            assert rules is STANDARD or found[0] <= found[1]


# --- Kinds ------------------------------------------------------------------------------------------------------------


def test_there_is_a_combination_for_any_four_classes_and_its_kind_is_that_of_a_slow_count():
    combined, every = tables(Rule.FREESTYLE).combined, combinations()
    assert len(every) == COMBINATIONS < 1 << KIND_SHIFT
    for index, four in enumerate(every):
        kind = KIND_NAMES.index(kind_by([NAMES[found] for found in four]))
        assert kind_of(four) == kind
        for a, b, c, d in set(itertools.permutations(four)):
            value = int(combined[a | b << 4 | c << 8 | d << 12])
            assert value & COMBINATION_MASK == index
            assert value >> KIND_SHIFT == kind


# --- The board --------------------------------------------------------------------------------------------------------


def test_the_weights_that_ship_are_worth_nothing_where_there_is_nothing():
    weights = shipped()
    for table in weights:
        assert table.shape == (2 * (COMBINATIONS + 1),)
        assert table.dtype == np.int32
    assert not weights.value[:2].any()  # four dead lines
    assert not weights.value[-2:].any()  # a point with a stone


def points_of_size(size):
    return [point_at(row, column) for row in range(size) for column in range(size)]


def assert_same(board, anew, size):
    """Whether all that means something is the same on two boards."""
    on_board = np.array(points_of_size(size))
    empty = on_board[board.stone[on_board] == NOBODY]
    assert np.array_equal(board.stone, anew.stone)
    assert np.array_equal(board.lines, anew.lines)
    for name in ("code", "combo"):
        now, then = (getattr(b, name).reshape(POINTS, -1)[empty] for b in (board, anew))
        assert np.array_equal(now, then), name
    sets, sets_anew = (b.sets.reshape(2, KINDS, STRIDE)[:, A_THREE:] for b in (board, anew))
    assert np.array_equal(sets, sets_anew)
    many, many_anew = (b.many.reshape(2, KINDS)[:, A_THREE:OCCUPIED] for b in (board, anew))
    assert np.array_equal(many, many_anew)
    assert np.array_equal(board.sums, anew.sums)
    assert board.state[HASH] == anew.state[HASH]
    assert board.state[FREE] == anew.state[FREE] == len(empty)


def boards(rules, size, walls, seed):
    """Two boards with the same walls and weights."""
    found = [empty_board(size, rules.rule, weights=random_weights(seed)) for _ in range(2)]
    chance = random.Random(seed)
    for point in chance.sample(points_of_size(size), walls):
        for board in found:
            board.stone[point] = WALL
    for board in found:
        count_anew(board)
    return found


@RULES
@pytest.mark.parametrize(
    ("size", "walls", "moves"), [(5, 0, 400), (5, 3, 400), (9, 5, 700), (15, 0, 900), (20, 40, 900)]
)
def test_a_board_after_any_moves_and_moves_taken_back_is_one_counted_anew(rules, size, walls, moves):
    chance = random.Random(size * 100 + walls)
    board, anew = boards(rules, size, walls, seed=size)
    played, grows = [], 0.9
    for step in range(moves):
        free = [point for point in points_of_size(size) if board.stone[point] == NOBODY]
        if step % 100 == 0:
            grows = chance.choice((0.9, 0.6, 0.3))
        if free and (not played or chance.random() < grows):
            played.append(chance.choice(free))
            put_stone(board, played[-1], chance.choice((X, O)))
        else:
            take_stone(board, played.pop())
        if step % 5 == 0 or size == 5:
            anew.stone[:] = board.stone
            count_anew(anew)
            assert_same(board, anew, size)


@RULES
@pytest.mark.parametrize("size", [5, 9, 15, 20])
def test_taking_back_everything_brings_everything_back(rules, size):
    chance = random.Random(size)
    board, _ = boards(rules, size, size // 4, seed=size)
    before = snapshot(board)
    free = [point for point in points_of_size(size) if board.stone[point] == NOBODY]
    chance.shuffle(free)
    for point in free:  # until the board is full
        put_stone(board, point, chance.choice((X, O)))
    assert board.state[FREE] == 0
    assert not board.many.reshape(2, KINDS)[:, A_THREE:OCCUPIED].any()
    assert not board.sums.any()
    for point in reversed(free):
        take_stone(board, point)
    assert not changes_since(board, before)


@RULES
def test_stones_can_be_taken_off_in_any_order(rules):
    # not what a search does, but nothing on a board may depend on the order
    chance = random.Random(5)
    board, anew = boards(rules, 9, 4, seed=1)
    played = chance.sample([point for point in points_of_size(9) if board.stone[point] == NOBODY], 40)
    for point in played:
        put_stone(board, point, chance.choice((X, O)))
    chance.shuffle(played)
    for point in played:
        take_stone(board, point)
        anew.stone[:] = board.stone
        count_anew(anew)
        assert_same(board, anew, 9)


def shown(position, rules, weights=None):
    board = empty_board(position.size, rules.rule, weights=weights)
    set_up(board, position)
    return board


@RULES
@pytest.mark.parametrize(("size", "walls"), [(5, 0), (6, 2), (9, 0), (15, 6), (20, 0)])
def test_a_board_knows_of_each_point_what_a_slow_scan_finds(rules, size, walls):
    index = {four: i for i, four in enumerate(combinations())}
    weights = random_weights(size)
    stones = range(size, size * size // 2)
    for position in random_positions(rules, size, stones, 3 if size > 9 else 12, seed=walls, walls=walls):
        board, sums = shown(position, rules, weights), np.zeros((2, 2), np.int64)
        for side, stone in enumerate("xo"):
            kinds = kinds_of(position.rows, stone, rules is STANDARD)
            for point, kind in kinds.items():
                at = point_at(*point) * 2 + side
                classes = [NAMES.index(name) for name in classes_at(position.rows, point, stone, rules is STANDARD)]
                code = int(board.code[at // 2]) >> 16 * side & 0xFFFF
                assert code == sum(found << 4 * line for line, found in enumerate(classes))
                number = index[tuple(sorted(classes))]
                assert int(board.combo[at]) == number | KIND_NAMES.index(kind) << KIND_SHIFT
                sums[side] += weights.value[2 * number : 2 * number + 2]
            for number, name in enumerate(KIND_NAMES[A_THREE:], A_THREE):
                expected = [point for point, kind in kinds.items() if kind == name]
                assert points(points_of_kind(board, side + 1, number)) == expected
                assert board.many[side * KINDS + number] == len(expected)
        assert np.array_equal(board.sums.reshape(2, 2), sums)


@RULES
@pytest.mark.parametrize("size", [5, 6, 15, 20])
def test_a_point_makes_five_if_and_only_if_the_rulebook_says_so(rules, size):
    chance, made = random.Random(size), 0
    stones = size * size * (7 if size < 9 else 5) // 10
    for _ in range(2 if size > 9 else 8):
        position = random_position(rules, size, stones, chance)
        board = shown(position, rules)
        for stone, point in itertools.product("xo", empty_points(position.rows)):
            makes_five = board.combo[point_at(*point) * 2 + COLOURS[stone] - 1] >> KIND_SHIFT == MAKES_FIVE
            assert makes_five == has_five(put(position.rows, point, stone), stone, rules is STANDARD)
            made += makes_five
    assert made


@RULES
@pytest.mark.parametrize("size", [5, 15, 20])
def test_points_near_stones_are_those_at_most_two_steps_away(rules, size):
    for position in random_positions(rules, size, (1, 2, 3, 6, 12), 12, seed=1, walls=size // 2):
        stones = [point for point in all_points(position.rows) if position.rows[point[0]][point[1]] in "xo"]
        near = [point for point in empty_points(position.rows) if any(steps(point, stone) <= 2 for stone in stones)]
        assert points(near_points(shown(position, rules))) == near


def test_the_hash_tells_stones_colours_walls_and_sizes_apart():
    rows = FREESTYLE.parse("9x9").rows
    texts = [rows]
    for cell in "xo#":
        texts += [put(rows, point, cell) for point in all_points(rows)]
    texts += [put(put(rows, (4, 4), "#"), point, "x") for point in all_points(rows) if point != (4, 4)]
    hashes = {int(shown(Position(cells, "x"), FREESTYLE).state[HASH]) for cells in texts}
    assert len(hashes) == len(texts)
    sizes = {
        int(shown(Position(put(("." * size,) * size, (2, 2), "x"), "o"), FREESTYLE).state[HASH])
        for size in range(5, 21)
    }
    assert len(sizes) == 16


def test_a_board_set_up_shows_the_position_and_nothing_of_the_one_before():
    chance = random.Random(9)
    one, two = (random_position(STANDARD, 12, 60, chance, walls=7) for _ in range(2))
    board = shown(one, STANDARD)
    set_up(board, two)
    fresh = board_of(two, Rule.STANDARD)
    for name, now, then in zip(board._fields, board, fresh, strict=True):
        assert np.array_equal(now, then), name
    rows = board.stone.reshape(-1, STRIDE)[MARGIN : MARGIN + 12, MARGIN : MARGIN + 12]
    assert ["".join(".xo#"[cell] for cell in row) for row in rows] == list(two.rows)
