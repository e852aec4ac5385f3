"""Wins by force: chases of fours and proofs by threes, on known positions and against trying everything."""

import itertools
import random

import numpy as np
import pytest

from plyd.engines.core.rules import Outcome
from plyd.engines.gomoku.board.board import place_of, point_at
from plyd.engines.gomoku.board.vcf import FAIL, NODES, UNDECIDED, WIN, continue_vcf, vcf_for
from plyd.engines.gomoku.board.vct import continue_vct, vct_for
from plyd.engines.gomoku.fit.pattern_games import Sparring
from plyd.engines.gomoku.rules import FREESTYLE, SIDES, STANDARD, WINS, move_at, other, point_of
from tests.engines.gomoku.kernels import (
    COLOURS,
    answer_on,
    answers_on,
    board_for,
    changes_since,
    leave_chase,
    leave_proving,
    points,
    snapshot,
    vcf_whole,
)
from tests.engines.gomoku.slow import (
    FOURS,
    SlowThreats,
    answers_to,
    classes_at,
    drawing,
    five_points,
    kind_by,
    points_of,
    put,
    random_position,
    random_positions,
    seeded,
)

RULES = pytest.mark.parametrize("rules", [FREESTYLE, STANDARD], ids=["freestyle", "standard"])
MANY = 1 << 40  # nodes
ENOUGH = 200_000  # for any proof in these tests


def chased(rules, position, nodes=MANY, vcf=None):
    """What a VCF finds for who is to move, its line and length; the board is as before."""
    board = board_for(rules, position)
    stones = board.stone.copy()
    found, line, plies, _ = vcf_whole(board, vcf or vcf_for(1 << 10), COLOURS[position.mover], nodes)
    assert np.array_equal(board.stone, stones)
    return found, line, plies


def proved(rules, position, nodes=ENOUGH, proof=None):
    """What a proof finds for who is to move, and the move; the board is as before."""
    board, proof = board_for(rules, position), proof or vct_for(1 << 14)
    stones = board.stone.copy()
    found, move, _ = continue_vct(board, proof, COLOURS[position.mover], nodes, True)
    leave_proving(board, proof)
    assert np.array_equal(board.stone, stones)
    return found, place_of(int(move))


def assert_chase_wins(rules, position, line, plies):
    """Replayed by the rulebook: each attack makes a four, each answer is the only one, five comes at the end."""
    attacker, size, exact = position.mover, position.size, rules is STANDARD
    assert plies % 2 == 1
    for ply, move in enumerate(line[:plies]):
        if ply == plies - 2 and len(five_points(position.rows, attacker, exact)) > 1:
            # an open four or two: whatever the answer, five is next
            assert not five_points(position.rows, position.mover, exact)
            return
        if ply % 2:
            assert [move] == five_points(position.rows, attacker, exact)
        else:
            danger = five_points(position.rows, other(attacker), exact)
            makes_five = move in five_points(position.rows, attacker, exact)
            assert makes_five or danger in ([], [move]), "a five of the defender's is left"
        position = rules.play(position, move_at(*move, size)).position
        if ply % 2 == 0 and ply < plies - 1:
            assert five_points(position.rows, attacker, exact), "no four"
    assert rules.outcome(position) is WINS[SIDES[attacker]]


# --- Chases of fours --------------------------------------------------------------------------------------------------

FIVE_NEXT = drawing(
    ". . . . . . . .",
    ". . . . . . . .",
    ". . o . . . . .",
    ". . x x . x x .",
    ". . o . o . . .",
    ". . . o . . . .",
    ". . . . . . . .",
    ". . . . . . . .",
)
OPEN_FOUR_NEXT = drawing(
    ". . . . . . . .",
    ". . . . . . . .",
    ". . o . . . . .",
    ". . x x x . . .",
    ". . o . . . . .",
    ". . . o . . . .",
    ". . . . . . . .",
    ". . . . . . . .",
)
TWO_FOURS_NEXT = drawing(
    ". . . . . . . .",
    ". . o . . . . .",
    ". . . . . . . .",
    "o x x x . . . .",
    ". . o . x . . .",
    ". . . . x . . .",
    ". . o . x . . .",
    ". . o . o . . .",
)
TWO_FOURS_IN_ONE_LINE_NEXT = drawing(
    ". . . . . . . . .",
    ". . o . o . o . .",
    ". . . . . . . . .",
    "o x . x . x . x o",
    ". . . . . . . . .",
    ". . . . . . . . .",
    ". . . . . . . . .",
    ". . . . . . . . .",
    ". . . . . . . . .",
)
FOUR_THEN_OPEN_FOUR = drawing(
    ". . . . . . . . .",
    ". . . . . . . . .",
    "o x x x . . . . .",
    ". . o . x . . . .",
    ". . o . x . . . .",
    ". . o . . . . . .",
    ". . . . . . . . .",
    ". . . . . . . . o",
    ". . . . . . . . .",
)
FIVE_STOPPED_BY_A_FOUR = drawing(  # o threatens five at f9, where x makes a four of its own
    "x o o o o . . . .",
    ". . . . . x . . .",
    ". . . . . x x x .",
    ". . . . . x . . .",
    ". . . . . . . . .",
    ". . o . . . . . .",
    ". . . . . . . . .",
    ". . o . . . . . .",
    ". . . . . . . . .",
)


@RULES
@pytest.mark.parametrize(
    ("text", "first", "plies"),
    [
        (FIVE_NEXT, {"e5"}, 1),
        (OPEN_FOUR_NEXT, {"b5", "f5"}, 3),
        (TWO_FOURS_NEXT, {"e5"}, 3),
        (TWO_FOURS_IN_ONE_LINE_NEXT, {"e6"}, 3),
        (FOUR_THEN_OPEN_FOUR, {"e7"}, 5),
        (FIVE_STOPPED_BY_A_FOUR, {"f9"}, 5),
    ],
)
def test_known_wins_by_fours_are_found(rules, text, first, plies):
    for mirrored in (text, "/".join(reversed(text.split("/"))), "/".join(row[::-1] for row in text.split("/"))):
        position = rules.parse(mirrored + ("" if mirrored.count("x") == mirrored.count("o") else " x"))
        found, line, length = chased(rules, position)
        assert (found, length) == (WIN, plies)
        assert_chase_wins(rules, position, line, length)
        if mirrored == text:
            assert move_at(*line[0], position.size) in first


ANSWER_MAKES_A_FOUR = drawing(  # as FOUR_THEN_OPEN_FOUR, but o's answer at f7 threatens five at f8
    ". . . . . . . . .",
    ". . . . . . . . .",
    "o x x x . . . . .",
    ". . . . x o . . .",
    ". . . . x o . . .",
    ". . . . . o . . .",
    ". . . . . x . . .",
    ". . . . . . . . o",
    ". . . . . . . . .",
)
FIVE_IS_NOT_STOPPED = drawing(
    "x o o o o . . . .",
    ". . . . . . . . .",
    "o x x x . . . . .",
    ". . . . x . . . .",
    ". . . . x . . . .",
    ". . . . . . . . .",
    ". . . . . . . . .",
    ". . o . . . . . .",
    ". . . . . . . . .",
)
TWO_FIVES_ARE_NOT_STOPPED = FIVE_IS_NOT_STOPPED.replace("xoooo", ".oooo")
NO_FOUR = drawing(
    ". . . . . . .",
    ". . . . . . .",
    ". . o . . . .",
    ". . x x . . .",
    ". . x o . . .",
    ". . o . . . .",
    ". . . . . . .",
)
BOXED_IN = drawing(
    "o x x x . . . . .",
    "# . . . # # # # .",
    ". . . . # . . . .",
    ". . . . # . . . .",
    ". . . . # . . . .",
    ". . o . . . . . .",
    ". . . . . . . . .",
    ". . o . . . . . .",
    ". . . . . . . . .",
)


@RULES
@pytest.mark.parametrize(
    "text", [ANSWER_MAKES_A_FOUR, FIVE_IS_NOT_STOPPED, TWO_FIVES_ARE_NOT_STOPPED, NO_FOUR, BOXED_IN, "5x5", "15x15"]
)
def test_where_fours_do_not_win_none_is_found(rules, text):
    position = rules.parse(text if "x" in text[:3] and "/" not in text else f"{text} x")
    assert chased(rules, position)[0] == FAIL
    if "/" in text:
        assert not SlowThreats("x", exactly_five=rules is STANDARD, threes=False).wins(position.rows, 20)


def test_a_four_that_could_only_become_six_is_none_in_standard():
    # o x x x _ . x o : f makes six
    text = drawing("o x x x . . x o", *[". . . . . . . ."] * 5, "o . o . . . . .", ". . . . . . . .")
    column = drawing(*[f"{cell} . . . . . . ." for cell in "oxxx..xo"])
    for drawn in (text, column):
        freestyle, standard = (chased(rules, rules.parse(f"{drawn} x"), nodes=2) for rules in (FREESTYLE, STANDARD))
        assert freestyle[0] in (UNDECIDED, FAIL)
        assert standard[0] == FAIL
    for rules, expected in ((FREESTYLE, ["e8", "f8"]), (STANDARD, [])):
        found = points_of(rules.parse(f"{text} x").rows, "x", rules is STANDARD, "A_FOUR")
        assert [move_at(*point, 8) for point in found] == expected


# The attacker needs eight moves: no shorter VCF wins (found by trying everything among random positions).
LONG_CHASES = [
    (FREESTYLE, ".............../.............../.............../...xx.x..xo..../.....o.o..oo.../.........ox..../....o....o...../"  # noqa: E501
     "....o.....xx.../.......xx..x.../...o..x..x.o.../.....o..o.x..../........xxo..../.............../.............../..............."),
    (FREESTYLE, ".............../.............../...o..o.o.x.o../............o../...xox.....x.../..x....x......./..o.o.oxxx..x../"  # noqa: E501
     ".............../..o............/..........x..../........xx.o.../....ox...ox..../.......o......./.............../..............."),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "text"), LONG_CHASES)
def test_a_chase_of_fifteen_plies_is_found_and_is_one(rules, text):
    position = rules.parse(text)
    found, line, plies = chased(rules, position)
    assert found == WIN
    assert plies >= 15
    assert_chase_wins(rules, position, line, plies)
    slow = SlowThreats(position.mover, exactly_five=rules is STANDARD, threes=False)
    assert slow.shortest(position.rows, 8) == 8


# --- Chases against trying everything ---------------------------------------------------------------------------------


def size_of(sort):
    return f"{sort[0]}x{sort[0]}"


# Seeds of positions with long chases, and with many fours that come to nothing: by size, stones, walls and spread.
CHASES = {
    (6, range(12, 24), 1, None): (2275, 3162, 3716, 2407, 3038, 19356, 14416, 5371, 5272, 1680, 330, 10443, 8216),
    (7, range(14, 30), 0, None): (13007, 10491, 62, 11799, 4649, 12683, 15004, 3332, 173, 6598, 13332),
    (8, range(16, 36), 3, None): (5785, 3247, 8535, 6015, 3132, 3061, 9289, 2423, 1129, 8023),
    (9, range(18, 40), 0, None): (4673, 3403, 736, 2126, 3683, 475, 4531, 2515),
    (15, range(24, 50), 0, 4): (840, 1314, 1921, 1353, 1545),
}


@RULES
@pytest.mark.parametrize(
    "sort",
    [pytest.param(sort, marks=pytest.mark.slow) if sort[0] > 8 else sort for sort in CHASES],
    ids=map(size_of, CHASES),
)
def test_a_chase_wins_if_and_only_if_trying_all_fours_does(rules, sort):
    size, stones, walls, spread = sort
    verdicts, longest, vcf = [], 0, vcf_for(1 << 10)
    positions = [seeded(rules, size, stones, seed, walls=walls, spread=spread) for seed in CHASES[sort]]
    for position in positions + random_positions(rules, size, stones, 8, seed=1, walls=walls):
        found, line, plies = chased(rules, position)
        slow = SlowThreats(position.mover, exactly_five=rules is STANDARD, threes=False)
        assert (found == WIN) == slow.wins(position.rows, 40), rules.text(position)
        assert found != UNDECIDED
        if found == WIN:
            assert_chase_wins(rules, position, line, plies)
            longest = max(longest, plies)
        # what was found out about other positions changes nothing
        assert chased(rules, position, vcf=vcf)[0] == found
        assert chased(rules, position, vcf=vcf)[0] == found
        verdicts.append(found)
    assert min(verdicts.count(WIN), verdicts.count(FAIL)) > 2
    assert longest > 8


@RULES
def test_a_chase_in_slices_finds_the_same_and_can_be_left_at_any_time(rules):
    cut = 0
    for seed in (840, 1707, 774, 839, 2448, 1545, 2502):
        position = seeded(rules, 15, range(24, 50), seed, spread=4)
        colour = COLOURS[position.mover]
        whole = vcf_whole(board_for(rules, position), vcf_for(1 << 10), colour)
        for nodes in (1, 2, 7):
            board, vcf = board_for(rules, position), vcf_for(1 << 10)
            before, is_new = snapshot(board), True
            while (found := continue_vcf(board, vcf, colour, nodes, is_new)[0]) == UNDECIDED:
                is_new, cut = False, cut + 1
            line = points(vcf.line[: whole[2]])
            leave_chase(board, vcf)
            assert not changes_since(board, before)
            assert (found, line, int(vcf.state[NODES])) == (whole[0], whole[1], whole[3])
        board, vcf = board_for(rules, position), vcf_for(1 << 10)
        for nodes in (1, 2, 3, 5, 9, 30):
            continue_vcf(board, vcf, colour, nodes, True)
            leave_chase(board, vcf)
            assert not changes_since(board, before)
        assert vcf_whole(board, vcf, colour)[0] == whole[0]
    assert cut > 500


# --- Answers ----------------------------------------------------------------------------------------------------------


@RULES
@pytest.mark.parametrize("size", [5, 15, *(pytest.param(size, marks=pytest.mark.slow) for size in (7, 20))])
def test_the_answer_to_a_four_is_where_five_would_be(rules, size):
    seen, exact = 0, rules is STANDARD
    for position in random_positions(rules, size, range(10, size * 4), 60, seed=4, walls=size // 3, spread=4):
        for stone in "xo":
            if five_points(position.rows, stone, exact):
                continue
            board = board_for(rules, position)
            for four in points_of(position.rows, stone, exact, "A_FOUR", "FOUR_AND_TWO", "FOUR_AND_THREE"):
                answer = place_of(int(answer_on(board, point_at(*four), COLOURS[stone])))
                assert [answer] == five_points(put(position.rows, four, stone), stone, exact), rules.text(position)
                seen += 1
    assert seen > 20


@RULES
@pytest.mark.parametrize(("size", "count"), [(6, 100), (7, 60), (9, 20), (15, 16)])
def test_answers_to_a_threat_are_all_that_can_help_and_none_comes_twice(rules, size, count):
    marks, seen, exact = np.zeros(30 * 32, np.int32), 0, rules is STANDARD
    for position in random_positions(rules, size, range(10, size * 4), count, seed=3, walls=size // 3, spread=4):
        if five_points(position.rows, "x", exact) or five_points(position.rows, "o", exact):
            continue
        for attacker, defender in ("xo", "ox"):
            if not (threats := points_of(position.rows, attacker, exact, "WINS_NEXT")):
                continue
            answers = points(answers_on(board_for(rules, position), COLOURS[attacker], marks))
            assert len(answers) == len(set(answers))
            assert sorted(answers) == answers_to(position.rows, threats, defender, exact)
            assert not marks.any()
            for point in kept_out(position.rows, answers):  # what is left out leaves an open four or two fours
                left = put(position.rows, point, defender)
                kinds = [kind_by(classes_at(left, threat, attacker, exact)) for threat in threats if threat != point]
                assert "WINS_NEXT" in kinds, (rules.text(position), point)
                assert kind_by(classes_at(position.rows, point, defender, exact)) not in FOURS
            seen += 1
    assert seen > 3


def kept_out(rows, answers):
    return [(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == "." and (r, c) not in answers]


# --- Proofs by threes -------------------------------------------------------------------------------------------------

TWO_THREES_NEXT = drawing(
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . o .",
    ". . . . . x . . . . .",
    ". . . . . x . . . . .",
    ". . . x x . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . o . . . . . . . .",
    ". o . . . . . . o . .",
    ". . . . . . . . . . .",
)
FOUR_AND_THREE_NEXT = drawing(
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . o .",
    ". . . . . x . . . . .",
    ". . . . . x . . . . .",
    ". o x x x . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . o . . . . . . . .",
    ". o . . . . . . o . .",
    ". . . . . . . . . . .",
)
THREE_OF_THE_DEFENDERS_OWN = drawing(  # an open four is quicker than an open three
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . o .",
    ". . . . . x . . . . .",
    ". . . . . x . . . . .",
    ". . . x x . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . o o o . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
)
FOUR_OF_THE_DEFENDERS_ON_THE_WAY = drawing(  # o makes a four at f8, in the column, and x has no time for the row
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . o o . o . . . .",
    ". . . . . x . . . . .",
    ". . . x x . . . . . .",
    ". . . . . x . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
)


def assert_wins_whatever_is_answered(rules, position, proof, answers=None):
    """The attacker follows the prover until fours alone win; the defender tries every move, or what a function says."""
    found, line, plies = chased(rules, position)
    if found == WIN:
        assert_chase_wins(rules, position, line, plies)
        return
    found, move = proved(rules, position, proof=proof)
    assert found == WIN, rules.text(position)
    after = rules.play(position, move_at(*move, position.size)).position
    assert rules.outcome(after) is Outcome.ONGOING
    replies = answers(after) if answers else [legal.text for legal in rules.legal_moves(after)]
    for reply in replies:
        answered = rules.play(after, reply).position
        assert rules.outcome(answered) is Outcome.ONGOING, rules.text(answered)
        assert_wins_whatever_is_answered(rules, answered, proof, answers)


@RULES
@pytest.mark.parametrize(("text", "by_fours"), [(TWO_THREES_NEXT, False), (FOUR_AND_THREE_NEXT, True)])
def test_known_wins_by_threes_are_found_and_hold_against_every_defence(rules, text, by_fours):
    position = rules.parse(f"{text} x")
    assert (chased(rules, position)[0] == WIN) == by_fours
    found, move = proved(rules, position)
    assert found == WIN
    assert move_at(*move, 11) == "f6"
    assert_wins_whatever_is_answered(rules, position, vct_for(1 << 14))


@RULES
@pytest.mark.parametrize("text", [THREE_OF_THE_DEFENDERS_OWN, NO_FOUR, FIVE_IS_NOT_STOPPED, "15x15", "5x5"])
def test_where_threes_do_not_win_none_is_found(rules, text):
    position = rules.parse(text if "/" not in text else f"{text} x")
    assert proved(rules, position)[0] == FAIL


def test_a_four_of_the_defenders_refutes_where_none_would_lose():
    # . . . . . . .      x's two threes cross at f6; o may answer at f8 with a four
    position = FREESTYLE.parse(f"{FOUR_OF_THE_DEFENDERS_ON_THE_WAY} x")
    slow = SlowThreats("x", exactly_five=False, threes=True)
    assert not slow.holds(put(position.rows, point_of("f6", 11), "x"), 4)
    without = FREESTYLE.parse(FREESTYLE.text(position).replace("o.o", "...").replace("oo.", "..."))
    assert proved(FREESTYLE, FREESTYLE.parse(FREESTYLE.text(without)))[0] == WIN


# Seeds of positions that threes win and fours do not, and of some that look as if: by size, stones and walls.
PROOFS = {
    (6, range(12, 24), 1): (503, 3209, 3425, 1479, 849, 4230, 7716, 20201, 7049, 2263, 3681, 3190),
    (7, range(14, 30), 0): (4823, 5333, 4693, 4356, 173, 13577, 7239),
    (8, range(16, 36), 3): (1636, 6829, 3825, 4137, 5972),
}
*QUICK, SLOW = PROOFS


@RULES
@pytest.mark.parametrize("sort", [*QUICK, pytest.param(SLOW, marks=pytest.mark.slow)], ids=size_of)
def test_what_is_proved_holds_against_every_defence(rules, sort):
    size, stones, walls = sort
    verdicts, proof = [], vct_for(1 << 14)
    positions = [seeded(rules, size, stones, seed, walls=walls) for seed in PROOFS[sort]]
    for position in positions + random_positions(rules, size, stones, 12, seed=5, walls=walls):
        found, _ = proved(rules, position)
        assert found != UNDECIDED
        by_fours = chased(rules, position)[0] == WIN
        assert found == WIN or not by_fours
        if found == WIN and not by_fours:
            assert_wins_whatever_is_answered(rules, position, proof)
        verdicts.append(found if not by_fours else None)
    assert verdicts.count(WIN) > 2
    assert verdicts.count(FAIL) > 2


@RULES
@pytest.mark.parametrize("sort", QUICK, ids=size_of)
def test_what_trying_everything_finds_is_proved(rules, sort):
    # at most three moves of the attacker; whatever else wins takes longer
    won = lost = 0
    size, stones, walls = sort
    positions = [seeded(rules, size, stones, seed, walls=walls) for seed in PROOFS[sort][-6:]]
    for position in positions + random_positions(rules, size, stones, 25, seed=6, walls=walls):
        slow = SlowThreats(position.mover, exactly_five=rules is STANDARD, threes=True)
        found = proved(rules, position)[0]
        if slow.wins(position.rows, 3):
            assert found == WIN, rules.text(position)
            won += 1
        elif found == FAIL:
            lost += 1
    assert won > 2
    assert lost > 2


@RULES
def test_wins_on_the_large_board_hold_against_a_strong_defender(rules):
    chance, strong, held = random.Random(7), Sparring(rules, 200), 0
    for seed in (570, 1905, 2589, 3032, 2901, 651, 3113, 445, 2278, 1469):
        position = seeded(rules, 15, range(24, 50), seed, spread=4)
        if proved(rules, position)[0] != WIN or chased(rules, position)[0] == WIN:
            continue

        def defences(answered):
            legal = [move.text for move in rules.legal_moves(answered)]
            return {strong.choose(answered)[0], chance.choice(legal)}

        assert_wins_whatever_is_answered(rules, position, vct_for(1 << 16), defences)
        held += 1
    assert held > 4


@RULES
def test_a_proof_in_slices_finds_the_same_and_can_be_left_at_any_time(rules):
    verdicts = set()
    for position in random_positions(rules, 9, range(12, 30), 16, seed=8):
        colour = COLOURS[position.mover]
        whole = board_for(rules, position)
        once = continue_vct(whole, vct_for(1 << 12), colour, ENOUGH, True)
        for nodes in (1, 3, 50):
            board, proof = board_for(rules, position), vct_for(1 << 12)
            before, is_new, total = snapshot(board), True, 0
            while True:
                found, move, used = continue_vct(board, proof, colour, nodes, is_new)
                assert 0 < used <= nodes
                is_new, total = False, total + used
                if found != UNDECIDED:
                    break
            leave_proving(board, proof)
            assert not changes_since(board, before)
            assert found == once[0]
            assert total == once[2]
            assert found == FAIL or move == once[1]
        board, proof = board_for(rules, position), vct_for(1 << 12)
        for nodes in (1, 2, 3, 10, 30):
            continue_vct(board, proof, colour, nodes, True)
            leave_proving(board, proof)
            assert not changes_since(board, before)
        assert continue_vct(board, proof, colour, ENOUGH, True)[0] == once[0]
        verdicts.add(once[0])
    assert verdicts == {WIN, FAIL}


@RULES
def test_a_proof_with_little_memory_ends_and_finds_the_same(rules):
    for position in random_positions(rules, 7, range(14, 30), 20, seed=9):
        found = [proved(rules, position, proof=vct_for(slots))[0] for slots in (1 << 14, 1 << 10)]
        assert found[0] == found[1], rules.text(position)


def test_what_was_proved_for_one_side_is_not_believed_of_the_other():
    # the same stones, once x to move and once o, with one memory
    proof, vcf = vct_for(1 << 12), vcf_for(1 << 12)
    for position in random_positions(FREESTYLE, 8, range(10, 30), 25, seed=10):
        rows = "/".join(position.rows)
        for mover in "xoxo":
            turn = FREESTYLE.parse(f"{rows} {mover}")
            assert proved(FREESTYLE, turn, proof=proof)[0] == proved(FREESTYLE, turn)[0]
            assert chased(FREESTYLE, turn, vcf=vcf)[0] == chased(FREESTYLE, turn)[0]


def test_walls_and_sizes_are_not_mixed_up():
    chance, proof, vcf = random.Random(11), vct_for(1 << 12), vcf_for(1 << 12)
    for _ in range(12):
        position = random_position(FREESTYLE, 8, chance.randrange(14, 26), chance)
        rows = position.rows
        free = [(r, c) for r, c in itertools.product(range(8), range(8)) if rows[r][c] == "."]
        variants = [rows, *(put(rows, point, "#") for point in chance.sample(free, 6))]
        variants.append((*(row + ".." for row in rows), "." * 10, "." * 10))
        for cells in variants:
            turn = FREESTYLE.parse("/".join(cells) + f" {position.mover}")
            assert proved(FREESTYLE, turn, proof=proof)[0] == proved(FREESTYLE, turn)[0]
            assert chased(FREESTYLE, turn, vcf=vcf)[0] == chased(FREESTYLE, turn)[0]


def test_points_are_numbered_by_row_and_column():
    assert [place_of(point_at(row, column)) for row, column in ((0, 0), (3, 7), (19, 19))] == [(0, 0), (3, 7), (19, 19)]
