"""Renju: what is forbidden to x, by the rulebook and by the kernels, and searches that know it.

Boards are drawn as in texts; _ is the point that is asked about, where x is to play.
"""

import functools
import random

import numpy as np
import pytest

from plyd.engines.core.errors import BadMove
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Limits, Proven, Result
from plyd.engines.gomoku import renju
from plyd.engines.gomoku.board.board import O, X, place_of, point_at, view
from plyd.engines.gomoku.board.fouls import is_foul
from plyd.engines.gomoku.board.patterns import MAKES_FIVE, MAYBE_FOUL_WITH_FOUR, WINS_NEXT
from plyd.engines.gomoku.board.vcf import WIN, vcf_for
from plyd.engines.gomoku.board.vct import continue_vct, vct_for
from plyd.engines.gomoku.engine import OPTIONS, Gomoku
from plyd.engines.gomoku.renju import MOST_ASKED, why_forbidden
from plyd.engines.gomoku.rules import RENJU, SIDES, STANDARD, WINS, Position, move_at
from tests.engines.gomoku.kernels import (
    COLOURS,
    answers_on,
    board_for,
    changes_since,
    leave_proving,
    points_of_kind,
    snapshot,
    vcf_whole,
)
from tests.engines.gomoku.slow import FOURS as SLOW_FOURS
from tests.engines.gomoku.slow import Solver, answers_to, drawing, empty_points, five_points, points_of, random_position

ENGINES = pytest.mark.parametrize("engine", ["negascout", "mcts"])
RESULTS = {1: Result.WIN, 0: Result.DRAW, -1: Result.LOSS}
LINE_OF = renju.line_of
SIX, FOURS, THREES = "six or more in a row", "two fours", "two open threes"


@njit(cache=True)
def foul_on(board, point):
    """What `is_foul` says of x."""
    return is_foul(view(board), point, X)


# --- What is forbidden ------------------------------------------------------------------------------------------------

CASES = {
    "six": (SIX, ". x x x _ x x ."),
    "seven": (SIX, "x x x _ x x x ."),
    "five": ("", ". x x _ x x . ."),
    "an open four": ("", ". . x x _ x . ."),
    "two fours in line, three between": (FOURS, ". x . x _ x . x ."),
    "two fours in line, pairs": (FOURS, "x x . _ x . x x ."),
    "two fours in line, threes and one": (FOURS, "x x x . _ . x x x"),
    "one four, the other would be six": ("", ". x . x _ x . x x"),
    "two fours in line if nothing stood behind": ("", "x . x _ x . o . ."),
    "two fours that cross": (FOURS, """
        . . . o . . . .
        . . . x . . . .
        . . . x . . . .
        . . . x . . . .
        o x x _ x . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """),
    "a four and an open three": ("", """
        . . . . . . . .
        . . . . . . . .
        . . . x . . . .
        . . . x . . . .
        o x x _ x . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """),
    "five beats two fours": ("", """
        . . . o . . . .
        . . . x . . . .
        . . . x . . . .
        . . . x . . . .
        x x x _ x . . .
        . . x . . . . .
        . x . . . . . .
        . . . . . . . .
    """),
    "two open threes": (THREES, """
        . . . . . . . .
        . . . . . . . .
        . . . x . . . .
        . . . x . . . .
        . x x _ . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """),
    "two open threes with gaps": (THREES, """
        . . . . . . . . .
        . . . . . . . . .
        . . . . . x . . .
        . . . . . . . . .
        . . . x . _ x . .
        . . . . . x . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
    """),
    "three open threes": (THREES, """
        . . . . . . . .
        . . . . . . . .
        . x . x . . . .
        . . x x . . . .
        . x x _ . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """),
    "a four and two open threes": (THREES, """
        . . . . . . . .
        . . . . . . . .
        . . . . . x . .
        . . . . x . . .
        o x x _ x . . .
        . . . . x . . .
        . . . . . x . .
        . . . . . . . .
    """),
    "one of two threes is closed": ("", """
        . . . . . . . .
        . . . o . . . .
        . . . x . . . .
        . . . x . . . .
        . x x _ . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """),
    "one of two threes has no room": ("", """
        . . . . . . . . .
        . . . . x . . . .
        . . . . x . . . .
        . o . x _ x . o .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
    """),
    "one of two threes has a stone on either side that would make six": ("", """
        . . . . . . . . .
        . . . . x . . . .
        . . . . x . . . .
        x . . x _ x . . x
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
    """),
    "to make a four of one of the threes would be two fours": ("", """
        . . . . . o . . .
        . . . . . x . . .
        . . . x . x . . .
        . . . x . x . . .
        o . x _ x . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
    """),
    "or six": ("", """
        . . . . . x . . . .
        . . . . . x . . . .
        . . . x . x . . . .
        . . . x . x . . . .
        o . x _ x . . . . .
        . . . . . x . . . .
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . . . . . . .
    """),
    "to make a four of one of the threes would be two threes": ("", """
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . x . . . . .
        o . x _ x . . . . .
        . . . x . x x . . .
        . . . x . x . . . .
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . . . . . . .
    """),
    "which it would not be, since one of those has no room": (THREES, """
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . . . . . . .
        . . . . x . . . . .
        o . x _ x . . . . .
        . . . x . x x . . .
        . . . x . x . . . .
        . . . . . o . . . .
        . . . . . . . . . .
        . . . . . . . . . .
    """),
}  # fmt: skip


def asked_of(drawn):
    """A drawn board with x to move, and the point that is asked about. One line is drawn on a board of its own."""
    rows = [line.replace(" ", "") for line in drawn.strip().splitlines()]
    if len(rows) == 1:
        rows = ["." * len(rows[0])] * 3 + rows + ["." * len(rows[0])] * (len(rows[0]) - 4)
    [point] = [(row, cells.index("_")) for row, cells in enumerate(rows) if "_" in cells]
    return Position(tuple(row.replace("_", ".") for row in rows), "x"), point


def images(position, point):
    """The eight images of a board with a point."""
    rows, (row, column) = position.rows, point
    last = len(rows) - 1
    for _ in range(2):
        for _ in range(4):
            yield Position(rows, position.mover), (row, column)
            rows = tuple("".join(cells) for cells in zip(*rows[::-1], strict=True))
            row, column = column, last - row
        rows = tuple(cells[::-1] for cells in rows)
        column = last - column


@pytest.mark.parametrize("name", CASES)
def test_what_is_forbidden_and_what_is_not(name):
    expected, drawn = CASES[name]
    for position, point in images(*asked_of(drawn)):
        assert why_forbidden(position.rows, point) == expected
        assert foul_on(board_for(RENJU, position), point_at(*point)) == bool(expected)
        assert not foul_on(board_for(STANDARD, position), point_at(*point))
        move = move_at(*point, position.size)
        legal = {each.text for each in RENJU.legal_moves(position)}
        assert (move in legal) != bool(expected)
        if expected:
            with pytest.raises(BadMove, match=f'illegal move "{move}": it makes {expected}, which x may not'):
                RENJU.play(position, move)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_forbidden_to_o(name):
    position, point = asked_of(CASES[name][1].translate(str.maketrans("xo", "ox")))
    turned = Position(position.rows, "o")
    assert len(RENJU.legal_moves(turned)) == len(empty_points(turned.rows))
    after = RENJU.play(turned, move_at(*point, turned.size)).position
    wins = CASES[name][0] == SIX or "five" in name
    assert RENJU.outcome(after) is (Outcome.PLAYER_TWO_WINS if wins else Outcome.ONGOING)


def test_who_has_nothing_left_but_what_is_forbidden_has_lost():
    text = "ooxxoox/xxooxxo/ooxxoox/xxx.xxx/xxooxxo/ooxxoox/xxooxxo"
    stuck = RENJU.parse(f"{text} x")
    assert RENJU.outcome(stuck) is Outcome.PLAYER_TWO_WINS
    assert RENJU.legal_moves(stuck) == []
    assert RENJU.to_move(stuck) is None
    assert RENJU.outcome(RENJU.parse(f"{text} o")) is Outcome.ONGOING
    assert STANDARD.outcome(STANDARD.parse(f"{text} x")) is Outcome.ONGOING


def random_board(size, chance):
    """A board as crowded, and with as many of x's stones, as chance wants."""
    share, own = chance.uniform(0.15, 0.5), chance.uniform(0.4, 0.9)
    cells = [chance.choices("xo.", (share * own, share * (1 - own), 1 - share), k=size) for _ in range(size)]
    return Position(tuple("".join(row) for row in cells), "x")


def test_kernels_forbid_what_the_rulebook_forbids():
    chance, seen = random.Random(1), dict.fromkeys((SIX, FOURS, THREES, ""), 0)
    for _ in range(250):
        position = random_board(chance.choice((9, 11, 15)), chance)
        board = board_for(RENJU, position)
        before = snapshot(board)
        for point in empty_points(position.rows):
            why = why_forbidden(position.rows, point)
            assert foul_on(board, point_at(*point)) == bool(why), (position, point, why)
            seen[why] += 1
        assert not changes_since(board, before)
    assert min(seen.values()) > 100


LABYRINTH = """
    x o . o x x o . x . . x . . .
    o o . . . . . x . x . o x . o
    . x o x x . x x . x . x x . .
    . o . . x . x . . . . x . x .
    . x x . . . . . . . x x . . .
    . x x x . x . x . . . x . x .
    . . x . . x . . . x . x . . .
    . . x x . . . . . . . x . . .
    x . . x x . . . . . . x x x .
    o . . . x . . x . . . x x . .
    . o . . . . . x . x . . . . .
    x x . x . x o x . . x x . x .
    . o x x . x x . . x x . o . .
    . o . . . . . x x . . . . . .
    o o . o . . x x o x . . . . .
"""  # found by a search for boards where a point leads to many more


def test_a_question_that_leads_to_ever_more_of_them_has_an_end_and_one_answer():
    position = Position(tuple(line.replace(" ", "") for line in LABYRINTH.strip().splitlines()), "x")
    board, endless = board_for(RENJU, position), 0
    for point in empty_points(position.rows):
        why = why_forbidden(position.rows, point)
        assert foul_on(board, point_at(*point)) == bool(why), point
        endless += questions_of(position.rows, point) == MOST_ASKED
    assert endless


def questions_of(rows, point):
    """Number of points that were asked about to answer whether one is forbidden."""
    left, index = iter(range(MOST_ASKED)), (point[0] + renju.FAR) * (len(rows) + 2 * renju.FAR) + point[1] + renju.FAR
    board = renju.Board.of(rows)
    renju._why(board, index, board.lines(index), left)
    return MOST_ASKED - len(list(left))


COLUMNS = ("x..x..x..x..x..x..x.",) * 20  # as drawn, every point leads to many others


def test_the_work_for_a_board_of_endless_questions_is_bounded_and_each_line_is_read_once(monkeypatch):
    read = []
    monkeypatch.setattr(renju, "line_of", functools.cache(lambda cells: read.append(cells) or LINE_OF(cells)))
    position = Position(COLUMNS, "x")
    legal = {move.text for move in RENJU.legal_moves(position)}
    asked = [questions_of(COLUMNS, point) for point in empty_points(COLUMNS)]
    assert max(asked) == MOST_ASKED
    assert len(read) < 10_000 < sum(asked)
    board = board_for(RENJU, position)
    assert legal == {move_at(*point, 20) for point in empty_points(COLUMNS) if not foul_on(board, point_at(*point))}


def test_a_move_is_checked_without_asking_about_every_other_point(monkeypatch):
    asked = []
    monkeypatch.setattr("plyd.engines.gomoku.rules.why_forbidden", lambda *args: asked.append(args) or "")
    RENJU.play(Position(COLUMNS, "x"), "b1")
    assert len(asked) == 1
    RENJU.play(Position(COLUMNS, "o"), "b1")
    assert len(asked) == 1


# --- Searches ---------------------------------------------------------------------------------------------------------

FORBIDDEN_ANSWER = drawing(  # o makes a four of three, and where x would have to stop it he makes six
    ". . . . . . x . . . .",
    ". . . . . . x . . . .",
    ". . . . . . x . . . .",
    ". x o o o . . . . . .",
    ". . . . . . x . . . .",
    ". . . . . . x . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
    ". . . . . . . . . . .",
)


VCF_NODES, PROOF = vcf_for(1 << 12), vct_for(1 << 14)


def by_fours(position):
    """Whether who is to move is found to win by fours, and by which move."""
    found, line, _, _ = vcf_whole(board_for(RENJU, position), VCF_NODES, COLOURS[position.mover], 20_000)
    return found == WIN, line[0] if len(line) else None


def by_threats(position):
    """Whether who is to move is found to win by fours and open threes, and by which move."""
    board = board_for(RENJU, position)
    found, move, _ = continue_vct(board, PROOF, COLOURS[position.mover], 20_000, True)
    leave_proving(board, PROOF)
    return found == WIN, place_of(int(move))


def test_o_wins_where_the_only_answer_is_forbidden():
    position = RENJU.parse(f"{FORBIDDEN_ANSWER} o")
    assert by_fours(position)[0]
    assert by_threats(position)[0]
    assert vcf_whole(board_for(STANDARD, position), vcf_for(1 << 12), COLOURS["o"], 20_000)[0] != WIN
    for engine in ("mcts", "negascout"):
        report = last_of(engine, position, max_nodes=300)
        assert report.move == "f8"
        assert report.score.value.result is Result.WIN
        after = RENJU.play(position, report.move).position
        lost = last_of(engine, after, max_nodes=300)
        assert lost.score.value == Proven(Result.LOSS, 2)
        assert lost.move in {move.text for move in RENJU.legal_moves(after)}


@functools.cache
def renju_engine():
    return Gomoku()


def searcher_of(engine):
    """A new searcher of an engine by its name."""
    return renju_engine().searcher("renju", read_options(OPTIONS, {"engine": engine, "threads": "1", "memory": "8"}))


def last_of(engine, position, **limits):
    """The last report of a new searcher."""
    return list(searcher_of(engine).search(position, Limits(**limits), Stop()))[-1]


def assert_wins(position, finds):
    """Who is to move wins as is said: by the rulebook, whatever the other does."""
    is_won, move = finds(position)
    assert is_won, RENJU.text(position)
    winner = position.mover
    after = RENJU.play(position, move_at(*move, position.size)).position
    if RENJU.outcome(after) is not Outcome.ONGOING:
        assert RENJU.outcome(after) is WINS[SIDES[winner]]
        return
    for reply in RENJU.legal_moves(after):
        answered = RENJU.play(after, reply.text).position
        assert RENJU.outcome(answered) is Outcome.ONGOING, (RENJU.text(position), move, reply)
        if not five_points(answered.rows, winner, RENJU.rule.wants_exactly_five(winner)):  # else the next move ends it
            assert_wins(answered, finds)


@pytest.mark.parametrize("finds", [by_fours, by_threats])
def test_wins_by_force_are_wins_by_the_rulebook(finds):
    chance, seen = random.Random(3), {"x": 0, "o": 0}
    while min(seen.values()) < 3:
        position = random_position(RENJU, 8, chance.randrange(14, 30), chance)
        has_five = five_points(position.rows, position.mover, RENJU.rule.wants_exactly_five(position.mover))
        if has_five or seen[position.mover] > 3 or not finds(position)[0]:
            continue
        assert_wins(position, finds)
        seen[position.mover] += 1


def crowded(size, free, chance):
    """A position with few empty points, one of them at least forbidden, that no five has ended."""
    while True:
        cells = chance.choices("xo", (2, 1), k=size * size)
        for i in chance.sample(range(size * size), free):
            cells[i] = "."
        rows = tuple("".join(cells[i : i + size]) for i in range(0, size * size, size))
        position = Position(rows, chance.choice("xo"))
        if RENJU.outcome(position) is Outcome.ONGOING and any(why_forbidden(rows, each) for each in empty_points(rows)):
            return position


@ENGINES
def test_what_is_certain_on_small_boards_is_so(engine):
    chance, solver, claims = random.Random(4), Solver(RENJU.rule), {1: 0, -1: 0}
    for _ in range(60):
        position = crowded(7, chance.choice((5, 6, 7)), chance)
        for nodes in (1, 60, 1000):
            report = last_of(engine, position, max_nodes=nodes, max_lines=3)
            assert {line.moves[0] for line in report.lines} <= {move.text for move in RENJU.legal_moves(position)}
            for line in report.lines:
                if isinstance(line.score.value, Proven):
                    after = RENJU.play(position, line.moves[0]).position
                    true = result_of(solver, position, after)
                    assert line.score.value.result is RESULTS[true], (RENJU.text(position), nodes, line)
                    claims[true] = claims.get(true, 0) + 1
            if isinstance(report.score.value, Proven):
                assert report.score.value.result is RESULTS[solver.result(position.rows, position.mover)]
    assert min(claims[1], claims[-1]) > 10


def result_of(solver, position, after):
    """What a move that was made is worth to who made it: 1, 0 or -1."""
    outcome = RENJU.outcome(after)
    if outcome is Outcome.ONGOING:
        return -solver.result(after.rows, after.mover)
    return 0 if outcome is Outcome.DRAW else 1 if outcome is WINS[SIDES[position.mover]] else -1


def kind_of_points(board, colour, kind):
    """Points by the board's own sets."""
    return [place_of(int(point)) for point in points_of_kind(board, colour, kind)]


def is_forbidden_in(position):
    return lambda point: bool(why_forbidden(position.rows, point))


def threatened(chance):
    """Random boards where x is to move and o threatens to win next: positions, and their boards."""
    while True:
        position = random_board(9, chance)
        board = board_for(RENJU, position)
        fives = [*kind_of_points(board, X, MAKES_FIVE), *kind_of_points(board, O, MAKES_FIVE)]
        if not fives and kind_of_points(board, O, WINS_NEXT) and RENJU.outcome(position) is Outcome.ONGOING:
            yield position, board


@pytest.mark.slow
def test_answers_to_a_threat_are_all_that_are_not_forbidden():
    marks, seen = np.zeros(30 * 32, np.int32), 0
    for position, board in threatened(random.Random(7)):
        maybe = kind_of_points(board, X, MAYBE_FOUL_WITH_FOUR)
        if all(map(is_forbidden_in(position), maybe)):
            continue
        found = {place_of(int(point)) for point in answers_on(board, O, marks)}
        threats = points_of(position.rows, "o", False, "WINS_NEXT")
        six_or_five, five = (set(points_of(position.rows, "x", exact, *SLOW_FOURS)) for exact in (False, True))
        wanted = set(answers_to(position.rows, threats, "x", False)) - six_or_five | five | set(maybe)
        assert not any(map(is_forbidden_in(position), found))
        assert {point for point in wanted if not is_forbidden_in(position)(point)} <= found
        seen += 1
        if seen == 6:
            return


@pytest.mark.slow
def test_x_does_not_win_by_force_where_the_five_he_must_stop_is_forbidden_to_him():
    chance, seen = random.Random(8), 0
    while seen < 40:
        position = random_board(9, chance)
        board = board_for(RENJU, position)
        danger = kind_of_points(board, O, MAKES_FIVE)
        if len(danger) != 1 or kind_of_points(board, X, MAKES_FIVE) or not foul_on(board, point_at(*danger[0])):
            continue
        if RENJU.outcome(position) is Outcome.ONGOING:
            seen += 1
            assert not by_fours(position)[0]
            assert not by_threats(position)[0]


@ENGINES
def test_what_is_told_is_never_forbidden(engine):
    seen = 0
    for position, _ in threatened(random.Random(6)):
        threats = points_of(position.rows, "o", False, "WINS_NEXT")
        answers = answers_to(position.rows, threats, "x", True)
        if by_threats(position)[0] or not any(map(is_forbidden_in(position), answers)):
            continue
        report = last_of(engine, position, max_nodes=2000, max_lines=40)
        for line in report.lines:
            reached = position
            for move in line.moves:
                reached = RENJU.play(reached, move).position
        seen += len(report.lines) > 1
        if seen == 5:
            return


SQUARE = drawing(  # of x's stones, with much in it that is forbidden
    *["." * 11] * 4, ". . . . x . x . . . .", ". . . . . . . . . . .", ". . . . x . x . . . .", *["." * 11] * 4
)


@ENGINES
@pytest.mark.parametrize("start", ["9x9", f"{SQUARE} o"], ids=["empty", "square"])
def test_an_engine_plays_a_whole_game_without_a_foul(engine, start):
    using = searcher_of(engine)
    position = RENJU.parse(start)
    while RENJU.outcome(position) is Outcome.ONGOING:
        report = list(using.search(position, Limits(max_nodes=60), Stop()))[-1]
        position = RENJU.play(position, report.move).position
