"""NegaScout of Gomoku: its values against plain minimax, its answers in known positions, and what it promises."""

import functools
import itertools
import random
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from plyd.engines.core.cores import CORES
from plyd.engines.core.machine import NEVER, Stop
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Clock, Limits, Proven, Result, StopReason, WinProbability
from plyd.engines.gomoku import negascout
from plyd.engines.gomoku import search as search_module
from plyd.engines.gomoku.board import empty_board as blank_board
from plyd.engines.gomoku.board import evaluation, place_of, set_up
from plyd.engines.gomoku.negascout import (
    BEST_MOVE,
    DECIDED,
    DOUBT,
    FINISHED,
    NODES,
    OUT_OF_NODES,
    OUT_OF_TIME,
    SURE,
    VALUE,
    WON,
    Limit,
    Taste,
    begin_search,
    room_for,
    table_for,
    think,
    transfer,
)
from plyd.engines.gomoku.practice import Sparring
from plyd.engines.gomoku.rules import FREESTYLE, SIDES, STANDARD, WINS, Position, has_five, other, point_of
from plyd.engines.gomoku.search import NegaScoutSearcher
from plyd.engines.gomoku.threats import WIN, chase_for
from tests.engines.gomoku_kernels import COLOURS, board_for, changes_since, chase_whole, random_weights, snapshot
from tests.engines.slow_gomoku import (
    SlowSearch,
    answers_to,
    drawing,
    empty_points,
    five_points,
    makes_five,
    points_of,
    put,
    random_position,
    random_positions,
    seeded,
)
from tests.engines.test_gomoku_threats import (
    FIVE_NEXT,
    FOUR_THEN_OPEN_FOUR,
    LONG_CHASES,
    OPEN_FOUR_NEXT,
    TWO_FOURS_NEXT,
    TWO_THREES_NEXT,
)

RULES = pytest.mark.parametrize("rules", [FREESTYLE, STANDARD], ids=["freestyle", "standard"])
WIDE = Taste(400, 0, 0)  # looks at everything, and chases no fours
SOON = 5.0  # seconds; a generous bound on what takes milliseconds


# --- Against minimax --------------------------------------------------------------------------------------------------


class Kernel:
    """The kernel by itself, with an evaluation of no meaning: if it is right by that, it is right by any."""

    def __init__(self, rules, position, entries=1 << 10):
        self.rules, self.position, self.colour = rules, position, COLOURS[position.mover]
        self.board = board_with(rules, position.size)
        set_up(self.board, position)
        self.before = snapshot(self.board)
        self.chase, self.room, self.table = chase_for(1 << 10), room_for(), table_for(entries)

    def search(self, depth, taste=WIDE, nodes=NEVER, forgets=False, window=(-SURE, SURE)):
        """The value and the move of a search so deep, in slices of so many nodes; `forgets` its table between them."""
        begin_search(self.room, depth, *window)
        while True:
            limit = Limit(np.int64(min(NEVER, self.nodes + nodes)), np.int64(NEVER), Stop().flag)
            before = self.nodes
            why = think(self.board, self.chase, self.room, self.table, taste, self.colour, limit)
            assert self.nodes - before <= nodes
            if why == FINISHED:
                break
            assert why == OUT_OF_NODES
            assert self.nodes - before == nodes
            if forgets:
                self.table.fill(0)
        assert not changes_since(self.board, self.before)
        return int(self.room.state[VALUE]), place_of(int(self.room.frame[BEST_MOVE]))

    @property
    def nodes(self):
        return int(self.room.state[NODES])


@functools.cache
def board_with(rules, size, use="search"):
    return blank_board(size, exactly_five=rules.exactly_five, weights=random_weights(size))


def slow_search(rules):
    def guess(rows, mover):
        board = board_with(rules, len(rows), "guess")
        set_up(board, Position(rows, mover))
        return int(evaluation.py_func(board, COLOURS[mover]))

    return SlowSearch(rules.exactly_five, guess, decided=DECIDED, doubt=DOUBT)


def is_same(one, two):
    """Whether values agree. Of a doubtful loss the plies may differ: which is longer is decided before the doubt."""
    is_doubtful = all(WON < abs(value) <= DECIDED for value in (one, two))
    return one == two or (is_doubtful and one * two > 0)


SMALL = [
    # size, empty points, depths
    (5, (1, 2, 3, 4), (1, 2, 3, 4, 5)),  # to the end; from five moves on, depth 3 looks less far at some
    (5, (8, 10, 12), (1, 2)),
    (6, (5, 8, 12), (1, 2)),
    (7, (12, 20, 30), (1, 2)),
    (9, (40, 50), (1,)),
]


@RULES
@pytest.mark.parametrize(("size", "free", "depths"), SMALL)
def test_negascout_finds_what_minimax_finds(rules, size, free, depths):
    chance, decided, values = random.Random(size), 0, set()
    for _ in range(14 if size < 7 else 6):
        walls = chance.choice((0, 0, 2)) if size < 9 else 0
        stones = size * size - walls - chance.choice(free)
        position = random_position(rules, size, stones, chance, walls=walls)
        for depth in depths:
            slow = slow_search(rules)
            expected, moves = slow.value(position.rows, position.mover, depth), None
            where = rules.text(position), depth
            # one node at a time, with no table: what it finds it owes to the search alone
            found, move = Kernel(rules, position).search(depth, nodes=1, forgets=True)
            assert is_same(found, expected), where
            if slow.goes_on(position.rows, position.mover, depth):
                moves = slow.values(position.rows, position.mover, depth)
                assert is_same(moves[move], max(moves.values())), where
            else:
                assert position.rows[move[0]][move[1]] == "."
            # with a table, in one go; where a position comes up with two depths, it may know more than it has to
            if all(len(seen) == 1 for seen in slow.depths.values()):
                for entries in (1 << 4, 1 << 10):
                    value, move = Kernel(rules, position, entries).search(depth)
                    assert is_same(value, expected), where
                    assert moves is None or is_same(moves[move], max(moves.values())), where
            decided += abs(expected) > WON
            values.add(expected)
    assert len(values) > 5
    assert decided or size == 9


@RULES
def test_a_narrow_window_bounds_the_value(rules):
    for position in random_positions(rules, 6, (22, 26, 30), 10, seed=2):
        for depth in (1, 2):
            exact, _ = Kernel(rules, position).search(depth)
            for low in (exact - 50, exact - 1, exact, exact + 50):
                value, _ = Kernel(rules, position).search(depth, window=(low, low + 1))
                assert (value > low) == (exact > low), rules.text(position)


@RULES
@pytest.mark.parametrize("taste", [WIDE, Taste(5, 24, 100)], ids=["wide", "narrow"])
def test_a_search_in_slices_finds_the_same_as_in_one_go(rules, taste):
    for position in random_positions(rules, 9, (10, 20, 30), 4, seed=3) + random_positions(
        rules, 15, (12, 30), 3, seed=3, spread=4
    ):
        found = []
        for nodes in (NEVER, 1, 7, 100):
            kernel = Kernel(rules, position)
            found.append((*tuple(kernel.search(depth, taste, nodes) for depth in (1, 2, 3)), kernel.nodes))
        assert len(set(found)) == 1, rules.text(position)


def test_a_search_out_of_time_or_told_to_stop_goes_on_later():
    position = random_position(FREESTYLE, 15, 20, random.Random(4), spread=4)
    whole = Kernel(FREESTYLE, position).search(4, Taste(5, 24, 100))
    kernel, stop = Kernel(FREESTYLE, position), Stop()
    stop.set()
    begin_search(kernel.room, 4, -SURE, SURE)
    why, ends = OUT_OF_TIME, itertools.cycle([(NEVER, stop), (0, Stop())])
    for _ in range(6):
        end, flag = next(ends)
        limit = Limit(np.int64(NEVER), np.int64(end), flag.flag)
        why = think(kernel.board, kernel.chase, kernel.room, kernel.table, Taste(5, 24, 100), kernel.colour, limit)
        assert why == OUT_OF_TIME
        limit = Limit(np.int64(kernel.nodes + 256), np.int64(NEVER), Stop().flag)
        think(kernel.board, kernel.chase, kernel.room, kernel.table, Taste(5, 24, 100), kernel.colour, limit)
    limit = Limit(np.int64(NEVER), np.int64(NEVER), Stop().flag)
    assert (
        think(kernel.board, kernel.chase, kernel.room, kernel.table, Taste(5, 24, 100), kernel.colour, limit)
        == FINISHED
    )
    assert (int(kernel.room.state[VALUE]), place_of(int(kernel.room.frame[BEST_MOVE]))) == whole


def test_a_larger_table_knows_what_the_smaller_one_did():
    kernel = Kernel(FREESTYLE, random_position(FREESTYLE, 15, 20, random.Random(5), spread=4), entries=1 << 12)
    kernel.search(4, Taste(5, 24, 100))
    known = kernel.table[kernel.table["key"] != 0]
    assert known.size > 500
    larger = table_for(1 << 16)
    transfer(kernel.table, larger)
    assert (larger["key"] != 0).sum() > known.size * 0.9
    kept = larger[known["key"] & np.uint64(larger.size - 1)]
    same = kept["key"] == known["key"]
    assert same.mean() > 0.9
    assert (kept[same] == known[same]).all()


# --- The searcher -----------------------------------------------------------------------------------------------------


def searcher(rules=FREESTYLE, threads=1, memory=8):
    """A new searcher with little memory."""
    return NegaScoutSearcher(rules, {"threads": threads, "memory": memory})


def answer(rules, position, using=None, **limits):
    """The last report of a search, of which all were looked at."""
    reports = list((using or searcher(rules)).search(position, Limits(**limits), Stop()))
    for report in reports:
        assert_sane(rules, position, report, limits.get("max_lines", 1))
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    return reports[-1]


def assert_sane(rules, position, report, most_lines=1):
    """A report is what a caller can rely on, whatever the search knows."""
    legal = {move.text for move in rules.legal_moves(position)}
    assert 1 <= len(report.lines) <= most_lines
    assert report.move == report.lines[0].moves[0]
    assert report.score == report.lines[0].score
    assert len({line.moves[0] for line in report.lines}) == len(report.lines)
    assert {line.moves[0] for line in report.lines} <= legal
    assert report.nodes > 0
    assert report.seconds >= 0
    assert report.depth == max(line.depth for line in report.lines)
    for line in report.lines:
        assert line.score.point_of_view is SIDES[position.mover]
        assert line.depth >= 0
        match line.score.value:
            case WinProbability(probability):
                assert 0 <= probability <= 1
            case Proven(result, plies):
                assert plies is None or plies % 2 == (result is Result.WIN), "the winner makes the last move"
                assert plies is None or plies > 0
            case _:
                raise AssertionError(line)
        reached = position
        for move in line.moves:
            assert rules.outcome(reached) is Outcome.ONGOING
            reached = rules.play(reached, move).position


def wins_by_fours(rules, position):
    """Whether who is to move has a chase of fours that wins."""
    return chase_whole(board_for(rules, position), chase_for(1 << 10), COLOURS[position.mover])[0] == WIN


@RULES
@pytest.mark.parametrize("size", [5, 6, 15, 20])
@pytest.mark.parametrize("nodes", [1, 200])
def test_five_is_made_at_once_in_every_direction_and_at_every_edge(rules, size, nodes):
    using, chance = searcher(rules), random.Random(size)
    last = size - 1
    starts = [((0, 0), (0, 1)), ((0, 0), (1, 0)), ((0, 0), (1, 1)), ((0, last), (1, -1)), ((last, last), (0, -1)),
              ((last, last), (-1, 0)), ((last, last), (-1, -1)), ((last, 0), (-1, 1))]  # fmt: skip
    for stone, (start, step) in itertools.product("xo", starts):
        line = [(start[0] + i * step[0], start[1] + i * step[1]) for i in range(5)]
        gap = chance.choice(line)
        rows = ("." * size,) * size
        for point in line:
            rows = put(rows, point, stone) if point != gap else rows
        report = answer(rules, Position(rows, stone), using, max_nodes=nodes)
        assert makes_five(rows, point_of(report.move, size), stone, rules.exactly_five)
        assert report.score.value == Proven(Result.WIN, 1)
        assert report.stop_reason is StopReason.FINISHED
        blocked = answer(rules, Position(rows, other(stone)), using, max_nodes=nodes)
        points = five_points(rows, stone, rules.exactly_five)
        assert point_of(blocked.move, size) in points
        assert len(points) > 1 or not isinstance(blocked.score.value, Proven)


@RULES
@pytest.mark.parametrize("size", [6, 9, 15, 20])
def test_fives_are_made_or_stopped_in_random_positions(rules, size):
    using, made, stopped = searcher(rules), 0, 0
    for position in random_positions(rules, size, range(12, 30), 40, seed=1, spread=3):
        own = five_points(position.rows, position.mover, rules.exactly_five)
        danger = five_points(position.rows, other(position.mover), rules.exactly_five)
        if own or danger:
            report = answer(rules, position, using, max_nodes=150)
            assert point_of(report.move, size) in (own or danger), rules.text(position)
            if not own and len(danger) > 1:
                assert report.score.value == Proven(Result.LOSS, 2)
            made, stopped = made + bool(own), stopped + (not own)
    assert made
    assert stopped


@RULES
@pytest.mark.parametrize("nodes", [1, 50, 2000])
def test_an_open_three_is_answered(rules, nodes):
    # . . . . . . .
    # . . x x x . .      o to move: d, h, or one further out
    text = drawing(*["." * 11] * 4, ". . . . o . . . . . .", "...xxx.....", ". . . . . o . . . . .", *["." * 11] * 4)
    for drawn in (text, "/".join("".join(cells) for cells in zip(*text.split("/"), strict=True))):
        position = rules.parse(f"{drawn} o")
        report = answer(rules, position, max_nodes=nodes)
        threats = points_of(position.rows, "x", rules.exactly_five, "WINS_NEXT")
        assert point_of(report.move, 11) in answers_to(position.rows, threats, "o", rules.exactly_five)
        assert not points_of(rules.play(position, report.move).position.rows, "x", rules.exactly_five, "WINS_NEXT")


@RULES
def test_a_move_that_lets_fours_win_is_not_made_where_another_does_not(rules):
    held = 0
    for seed in (186, 238, 534, 789, 835, 917, 919, 931, 960, 979, 988, 1162):  # whoever is to move wins by fours
        position = seeded(rules, 15, range(8, 18), seed, spread=3)
        turned = Position(position.rows, other(position.mover))
        if wins_by_fours(rules, turned) or not wins_by_fours(rules, position):
            continue
        report = answer(rules, turned, max_nodes=4000)
        after = rules.play(turned, report.move).position
        if wins_by_fours(rules, after):
            saving = [
                move
                for move in rules.legal_moves(turned)
                if not wins_by_fours(rules, rules.play(turned, move.text).position)
            ]
            assert not saving, (rules.text(turned), report.move)
        held += 1
    assert held > 5


@RULES
@pytest.mark.parametrize(
    ("text", "moves", "plies"),
    [
        (FIVE_NEXT, {"e5"}, 1),
        (OPEN_FOUR_NEXT, {"b5", "f5"}, 3),
        (TWO_FOURS_NEXT, {"e5"}, 3),
        (FOUR_THEN_OPEN_FOUR, {"e7"}, 5),
    ],
)
@pytest.mark.parametrize("limits", [{"max_nodes": 1}, {"max_nodes": 500}, {"max_depth": 1}, {"max_seconds": 0.05}])
def test_a_win_by_fours_is_told_with_its_length(rules, text, moves, plies, limits):
    report = answer(rules, rules.parse(f"{text} x"), **limits)
    assert report.move in moves
    assert report.score.value == Proven(Result.WIN, plies)
    assert report.stop_reason is StopReason.FINISHED


@pytest.mark.parametrize(("rules", "text"), LONG_CHASES)
def test_a_chase_of_fifteen_plies_is_found_within_few_nodes(rules, text):
    report = answer(rules, rules.parse(text), max_nodes=2000)
    assert report.score.value.result is Result.WIN
    assert report.score.value.plies >= 15


@RULES
def test_a_win_by_two_threes_is_found(rules):
    report = answer(rules, rules.parse(f"{TWO_THREES_NEXT} x"), max_nodes=3000)
    assert report.score.value.result is Result.WIN
    assert report.move == "f6"


# --- What is said to be certain ---------------------------------------------------------------------------------------


class Solver:
    """The result of any position of few empty points, by trying everything: 1, 0 or -1 for who is to move."""

    def __init__(self, exactly_five):
        self.exactly_five, self.known = exactly_five, {}

    def result(self, rows, mover):
        if (rows, mover) not in self.known:
            free, best = empty_points(rows), -1
            if not free:
                best = 0
            elif any(makes_five(rows, point, mover, self.exactly_five) for point in free):
                best = 1
            else:
                for point in free:
                    best = max(best, -self.result(put(rows, point, mover), other(mover)))
                    if best == 1:
                        break
            self.known[rows, mover] = best
        return self.known[rows, mover]


RESULTS = {1: Result.WIN, 0: Result.DRAW, -1: Result.LOSS}


@RULES
@pytest.mark.parametrize(("size", "free"), [(5, (6, 8, 10)), (6, (7, 8, 9))])
def test_what_is_certain_on_small_boards_is_so(rules, size, free):
    chance, solver, claims = random.Random(size), Solver(rules.exactly_five), []
    using = searcher(rules)
    while len(claims) < 12:
        position = random_position(rules, size, size * size - chance.choice(free), chance)
        for nodes in (1, 60, 1000):
            report = answer(rules, position, using, max_nodes=nodes, max_lines=3)
            for line in report.lines:
                if isinstance(line.score.value, Proven):
                    after = rules.play(position, line.moves[0]).position
                    is_over = rules.outcome(after) is not Outcome.ONGOING
                    true = 1 if is_over else -solver.result(after.rows, after.mover)
                    assert line.score.value.result is RESULTS[true], (rules.text(position), nodes, line)
                    claims.append(line.score.value.result)
            if isinstance(report.score.value, Proven):
                assert report.score.value.result is RESULTS[solver.result(position.rows, position.mover)]
    assert set(claims) == {Result.WIN, Result.LOSS}


@RULES
def test_a_search_to_the_end_of_a_small_board_misses_no_win(rules):
    chance, solver, using = random.Random(8), Solver(rules.exactly_five), searcher(rules)
    seen = set()
    for _ in range(40):
        position = random_position(rules, 5, 25 - chance.choice((1, 2, 3, 4)), chance)
        report = answer(rules, position, using, max_nodes=20_000)
        true = solver.result(position.rows, position.mover)
        after = rules.play(position, report.move).position
        if rules.outcome(after) is Outcome.ONGOING:
            assert -solver.result(after.rows, after.mover) == true, rules.text(position)
        else:
            assert true == (1 if has_five(after.rows, position.mover, rules.exactly_five) else 0)
        seen.add(true)
    assert seen == {-1, 0, 1}


# Of the first, a search cut short once said it were lost, because it had looked at one move of the last depth.
ONLY_FIRST_MOVE_FAILS = [
    ".............../.............../.............../.............../.....o........./....o.x......../......o.xo...../"
    "......o......../...o...xx....../..........x..../...........x.../.............../...x.........../.............../...............",
    ".............../.............../.............../.............../.............../.......x.x...../....o...x....../"
    "........o....../....x..x.o...../......o......../.............../.............../.............../.............../...............",
]


@pytest.mark.parametrize("text", ONLY_FIRST_MOVE_FAILS)
def test_a_search_cut_short_anywhere_does_not_call_lost_what_is_not(text):
    position, using = FREESTYLE.parse(text), searcher()
    for nodes in range(500, 12_000, 500):
        value = answer(FREESTYLE, position, using, max_nodes=nodes).score.value
        assert not (isinstance(value, Proven) and value.result is Result.LOSS), nodes


@RULES
def test_who_is_said_to_win_wins_against_a_strong_defender(rules):
    chance, strong, claims = random.Random(9), Sparring(rules, 400), {Result.WIN: 0, Result.LOSS: 0}
    while min(claims.values()) < 2:
        position = random_position(rules, 11, chance.randrange(8, 30), chance, spread=3)
        if five_points(position.rows, position.mover, rules.exactly_five):
            continue
        value = answer(rules, position, max_nodes=3000).score.value
        if not isinstance(value, Proven) or value.plies in (2, 3, 4) or claims[value.result] > 3:
            continue
        winner = position.mover if value.result is Result.WIN else other(position.mover)
        where = rules.text(position), value
        while rules.outcome(position) is Outcome.ONGOING:
            move = (
                strong.choose(position)[0] if position.mover != winner else answer(rules, position, max_nodes=5000).move
            )
            position = rules.play(position, move).position
        assert rules.outcome(position) is WINS[SIDES[winner]], where
        claims[value.result] += 1


# --- What it promises -------------------------------------------------------------------------------------------------


def without_time(report):
    return replace(report, seconds=0.0)


@RULES
def test_the_same_nodes_find_the_same_whatever_was_searched_before(rules):
    for position in random_positions(rules, 15, range(8, 24), 4, seed=2, spread=3):
        for limits in ({"max_nodes": 9000}, {"max_nodes": 9000, "max_lines": 3}, {"max_nodes": 2500, "max_depth": 5}):
            used = searcher(rules)
            answer(rules, random_position(rules, 15, 12, random.Random(1), spread=3), used, max_seconds=0.02)
            answer(rules, random_position(rules, 9, 12, random.Random(1)), used, max_nodes=500)
            found = {without_time(answer(rules, position, using, **limits)) for using in (used, used, searcher(rules))}
            assert len(found) == 1, rules.text(position)


def test_how_often_a_search_reports_changes_nothing_that_it_finds(monkeypatch):
    position, found = random_position(FREESTYLE, 15, 14, random.Random(3), spread=3), []
    for pause in (NEVER, 0):
        monkeypatch.setattr(search_module, "REPORT_NS", pause)
        found.append(without_time(answer(FREESTYLE, position, max_nodes=12_000, max_lines=2)))
    assert found[0] == found[1]


@RULES
def test_lines_begin_with_different_moves_the_best_first(rules):
    for position in random_positions(rules, 15, range(4, 14), 5, seed=4, spread=3):
        report = answer(rules, position, max_depth=3, max_lines=5)
        if isinstance(report.score.value, Proven):
            continue
        assert len(report.lines) == 5
        assert {line.depth for line in report.lines} == {3}
        values = [line.score.value for line in report.lines]
        ranks = [
            v.probability if isinstance(v, WinProbability) else (1.0 if v.result is Result.WIN else 0.0) for v in values
        ]
        assert ranks == sorted(ranks, reverse=True)


def test_more_lines_than_moves_are_as_many_as_there_are_moves():
    position = random_position(FREESTYLE, 5, 22, random.Random(6))
    report = answer(FREESTYLE, position, max_nodes=500, max_lines=10)
    assert len(report.lines) <= 3
    report = answer(FREESTYLE, FREESTYLE.parse("15x15"), max_nodes=2000, max_lines=3)
    assert len(report.lines) == 3
    assert report.move == "h8"


@RULES
@pytest.mark.parametrize("seconds", [0, 0.001, 0.005, 0.02, 0.1])
@pytest.mark.parametrize("text", ["5x5", "15x15", "20x20"])
def test_however_little_time_there_is_a_move_comes_in_it(rules, seconds, text):
    using = searcher(rules, threads=0)
    position = rules.parse(text)
    for turn in range(3):
        began = time.monotonic()
        report = answer(rules, position, using, max_seconds=seconds)
        assert time.monotonic() - began < seconds + 0.5
        assert report.stop_reason in (StopReason.TIME, StopReason.FINISHED)
        position = rules.play(position, report.move).position
        moves = [move.text for move in rules.legal_moves(position)]
        position = rules.play(position, random.Random(turn).choice(moves)).position


def test_a_clock_is_not_overdrawn():
    using, position = searcher(), random_position(FREESTYLE, 15, 30, random.Random(7), spread=4)
    for clock in (Clock(0.01), Clock(0.3, moves_to_go=1), Clock(3.0), Clock(0.1, increment_seconds=0.05)):
        began = time.monotonic()
        answer(FREESTYLE, position, using, clock=clock)
        assert time.monotonic() - began < clock.share_seconds() + 0.5


@RULES
@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_ends_soon_after_it_is_told_to(rules, threads):
    position = rules.parse(ONLY_FIRST_MOVE_FAILS[1])
    for wait in (0.0, 0.15):
        stop, reports, using = Stop(), [], searcher(rules, threads=threads)
        thread = threading.Thread(
            target=lambda s=stop, u=using, r=reports: r.extend(u.search(position, Limits(), s)), daemon=True
        )
        thread.start()
        time.sleep(wait)
        stop.set()
        asked = time.monotonic()
        thread.join(SOON)
        assert time.monotonic() - asked < 1.0
        assert reports[-1].stop_reason in (StopReason.STOPPED, StopReason.FINISHED)
        for report in reports:
            assert_sane(rules, position, report)


def test_reports_come_on_the_way_and_get_deeper():
    position = FREESTYLE.parse(ONLY_FIRST_MOVE_FAILS[1])
    reports = list(searcher().search(position, Limits(max_seconds=0.6), Stop()))
    assert len(reports) > 1
    assert [report.nodes for report in reports] == sorted(report.nodes for report in reports)
    assert [report.seconds for report in reports] == sorted(report.seconds for report in reports)
    assert reports[-1].depth >= reports[0].depth > 1


def test_a_search_given_up_midway_gives_its_core_back_and_the_next_one_is_right():
    using, before = searcher(threads=2), CORES.spare()
    search = using.search(FREESTYLE.parse(ONLY_FIRST_MOVE_FAILS[1]), Limits(), Stop())
    next(search)
    assert CORES.spare() == before - 1
    search.close()
    assert CORES.spare() == before
    report = answer(FREESTYLE, FREESTYLE.parse(f"{TWO_FOURS_NEXT} x"), using, max_seconds=0.1)
    assert report.score.value == Proven(Result.WIN, 3)


def test_a_search_to_a_depth_ends_there():
    position = random_position(FREESTYLE, 15, 8, random.Random(10), spread=2)
    for depth in (1, 2, 4):
        report = answer(FREESTYLE, position, max_depth=depth)
        assert report.depth == depth
        assert report.stop_reason is StopReason.DEPTH


def test_a_node_limit_is_kept_once_there_is_an_answer():
    for position in random_positions(FREESTYLE, 15, range(4, 20), 5, seed=11, spread=3):
        most = len(FREESTYLE.legal_moves(position))
        for nodes in (1, 500, 1000, 7777):
            report = answer(FREESTYLE, position, max_nodes=nodes)
            assert report.nodes <= max(nodes, 3 * most)
            assert report.stop_reason in (StopReason.NODES, StopReason.FINISHED)
            if report.stop_reason is StopReason.NODES:
                assert report.nodes >= nodes


def test_what_was_found_out_serves_the_next_search():
    position = random_position(FREESTYLE, 15, 10, random.Random(12), spread=2)
    using = searcher()
    first, again = (answer(FREESTYLE, position, using, max_depth=6) for _ in range(2))
    assert again.nodes < first.nodes / 2
    assert again.move == first.move


@RULES
def test_the_table_grows_with_the_time_and_stays_within_the_memory(rules):
    using = searcher(rules, memory=8)
    position = random_position(rules, 15, 12, random.Random(13), spread=3)
    for seconds in (0.01, 0.1, 0.4, 0.01):
        answer(rules, position, using, max_seconds=seconds)
    for entries in (1, 1 << 16, (1 << 16) + 1, 1 << 18, 1 << 30, NEVER):
        table = using.table(entries, anew=False)
        assert table.size & (table.size - 1) == 0
        assert table.nbytes <= 8 << 20
    assert using.table(NEVER, anew=False).nbytes > 4 << 20
    assert using.table(1, anew=False).nbytes > 4 << 20
    assert using.table(1, anew=True).nbytes < 4 << 20


@RULES
def test_two_threads_find_what_one_finds_and_each_searcher_is_for_itself(rules):
    positions = random_positions(rules, 15, range(6, 20), 3, seed=14, spread=3)
    reports = {}

    def play(name):
        using = searcher(rules, threads=2)
        reports[name] = [list(using.search(position, Limits(max_seconds=0.15), Stop())) for position in positions]

    threads = [threading.Thread(target=play, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for found in reports.values():
        for position, seen in zip(positions, found, strict=True):
            for report in seen:
                assert_sane(rules, position, report)
            assert seen[-1].final
    assert len(reports) == 3
    report = answer(rules, rules.parse(f"{FOUR_THEN_OPEN_FOUR} x"), searcher(rules, threads=2), max_seconds=0.2)
    assert report.score.value == Proven(Result.WIN, 5)


# --- Odd boards -------------------------------------------------------------------------------------------------------


@RULES
def test_one_empty_point_is_filled(rules):
    for seed, size in itertools.product(range(4), (5, 6, 9)):
        position = random_position(rules, size, size * size - 1, random.Random(seed))
        (point,) = empty_points(position.rows)
        for limits in ({"max_nodes": 200}, {"max_seconds": 0.01}, {"max_depth": 3}, {}):
            report = answer(rules, position, **limits)
            assert point_of(report.move, size) == point
            assert report.stop_reason is StopReason.FINISHED


@RULES
def test_a_board_with_few_empty_points_is_searched_to_its_end(rules):
    for seed, free in itertools.product(range(3), (2, 3, 5, 7)):
        position = random_position(rules, 6, 36 - free, random.Random(seed))
        report = answer(rules, position, max_seconds=SOON)
        assert report.stop_reason is StopReason.FINISHED
        assert report.seconds < SOON - 0.5


LOST = [
    ".oooo./....../x...../..x.../x...../...... x",  # two fives
    "......./.ooo.../.o...../.o...../.o..x../..x..../....x.. x",
    "......./.xoooo./......./xoooo../......./......./x.....x x",
    "#########/#oooo.##./....x..../o......../o......../o......../o......../........./........x x",
]


@RULES
@pytest.mark.parametrize("text", LOST)
@pytest.mark.parametrize(
    "limits", [{"max_nodes": 1}, {"max_nodes": 3000}, {"max_seconds": 0.02}, {"max_depth": 4, "max_lines": 4}]
)
def test_a_lost_position_still_gets_a_move(rules, text, limits):
    answer(rules, rules.parse(text), **limits)


def test_a_stone_far_from_all_others_or_between_walls_is_no_trouble():
    for text in ("x...................../".rstrip("./") + "...................."[1:],):
        assert text
    rows = ["." * 20] * 20
    rows[0] = "x" + "." * 18 + "o"
    rows[19] = "o" + "." * 18 + "x"
    assert answer(FREESTYLE, FREESTYLE.parse("/".join(rows)), max_nodes=2000).move
    walled = ["#" * 9] * 9
    walled[4] = "####.####"
    walled[0] = "x########"
    assert answer(FREESTYLE, FREESTYLE.parse("/".join(walled)), max_nodes=50).move == "e5"
    empty = "/".join(["#####", "#...#", "#...#", "#...#", "#####"])
    assert answer(FREESTYLE, FREESTYLE.parse(empty), max_nodes=500, max_lines=3).move


@pytest.mark.parametrize("size", [5, 8, 15, 20])
def test_an_empty_board_is_begun_in_the_middle_whoever_begins(size):
    for mover in "xo":
        report = answer(FREESTYLE, Position(("." * size,) * size, mover), max_nodes=300)
        assert point_of(report.move, size) == (size // 2, size // 2)


@RULES
def test_walls_and_sizes_searched_one_after_the_other_are_not_mixed_up(rules):
    using, chance = searcher(rules), random.Random(15)
    for seed in (62, 11799, 4649, 15004):  # wins by fours
        position = seeded(rules, 7, range(14, 30), seed)
        fresh = answer(rules, position, max_depth=2)
        for _ in range(4):
            walled = Position(put(position.rows, chance.choice(empty_points(position.rows)), "#"), position.mover)
            larger = Position((*(row + ".." for row in walled.rows), "." * 9, "." * 9), position.mover)
            for turn in (walled, position, larger):
                if rules.outcome(turn) is Outcome.ONGOING:
                    kept, anew = (
                        answer(rules, turn, each, max_depth=2).score.value for each in (using, searcher(rules))
                    )
                    sure = [isinstance(value, Proven) and value.result for value in (kept, anew)]
                    assert sure[0] == sure[1], rules.text(turn)
        assert isinstance(fresh.score.value, Proven)


def test_random_positions_of_all_kinds_get_a_legal_move_and_a_sane_report():
    chance = random.Random(16)
    using = {rules: searcher(rules) for rules in (FREESTYLE, STANDARD)}
    for size in range(5, 21):
        for rules in using:
            for _ in range(4):
                walls = chance.choice((0, 0, 1, size))
                stones = chance.choice((0, 1, 2, size, size * size // 4, (size * size - walls) * 3 // 4))
                position = random_position(rules, size, stones, chance, walls=walls)
                position = replace(position, mover=chance.choice("xo"))
                limits = chance.choice(
                    ({"max_nodes": 200}, {"max_nodes": 200, "max_lines": 4}, {"max_nodes": 1}, {"max_seconds": 0.002})
                )
                report = answer(rules, position, using[rules], **limits)
                assert report.stop_reason in (StopReason.NODES, StopReason.TIME, StopReason.FINISHED)
                if "max_nodes" in limits:
                    assert report.nodes <= max(200, 3 * size * size)


def test_a_finished_game_gets_one_report_and_no_move():
    for text, result in (
        ("xxxxx/oooo./...../...../.....", Result.LOSS),
        ("ooooo/xxxx./...../...../..... x", Result.LOSS),
        ("xxoo#/ooxxo/xxoox/ooxxo/xxoox", Result.DRAW),
    ):
        position = FREESTYLE.parse(text)
        (report,) = searcher().search(position, Limits(max_seconds=1), Stop())
        assert report.stop_reason is StopReason.NO_SEARCH
        assert (report.move, report.lines) == (None, ())
        assert report.score.value == Proven(result, 0)
        assert report.score.point_of_view is (Side.PLAYER_ONE if position.mover == "x" else Side.PLAYER_TWO)


def test_no_kernel_is_compiled_for_another_limit_size_or_rule():
    kernels = (
        negascout.think,
        negascout.begin_search,
        negascout.follow,
        search_module.go_on_proving,
        search_module.set_up,
    )
    answer(FREESTYLE, FREESTYLE.parse("15x15"), max_nodes=300)
    answer(FREESTYLE, FREESTYLE.parse("15x15"), max_seconds=0.03)
    before = [len(getattr(kernel, "signatures", ())) for kernel in kernels]
    for rules, text in itertools.product((FREESTYLE, STANDARD), ("5x5", "20x20")):
        for limits in ({"max_nodes": 300}, {"max_seconds": 0.03, "max_lines": 2}, {"max_depth": 2}):
            answer(rules, rules.parse(text), searcher(rules, threads=2), **limits)
    assert [len(getattr(kernel, "signatures", ())) for kernel in kernels] == before
