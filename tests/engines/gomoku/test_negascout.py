"""NegaScout of Gomoku: its values against plain minimax, its answers in known positions, and what it promises."""

import functools
import itertools
import random

import numpy as np
import pytest

from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Proven, Result, StopReason
from plyd.engines.gomoku.board.board import empty_board as blank_board
from plyd.engines.gomoku.board.board import evaluation, place_of, set_up
from plyd.engines.gomoku.board.network import blank, frames_for
from plyd.engines.gomoku.board.vcf import WIN, vcf_for
from plyd.engines.gomoku.fit.pattern_games import Sparring
from plyd.engines.gomoku.negascout.kernel import FINISHED, OUT_OF_NODES, OUT_OF_TIME, search_slice
from plyd.engines.gomoku.negascout.table import table_for
from plyd.engines.gomoku.negascout.techniques import plain, shipped
from plyd.engines.gomoku.negascout.workspace import (
    BEST_MOVE,
    DECIDED,
    DOUBT,
    MOST_PLIES,
    NODES,
    SURE,
    VALUE,
    WON,
    NegaScoutLimit,
    begin_search,
    workspace_for,
)
from plyd.engines.gomoku.rules import FREESTYLE, SIDES, STANDARD, WINS, Position, has_five, other, point_of
from tests.engines.gomoku.kernels import (
    COLOURS,
    board_for,
    changes_since,
    random_network,
    random_weights,
    slow_network_value,
    snapshot,
    vcf_whole,
)
from tests.engines.gomoku.searches import answer, searcher
from tests.engines.gomoku.slow import (
    SlowSearch,
    Solver,
    answers_to,
    drawing,
    five_points,
    makes_five,
    points_of,
    put,
    random_position,
    random_positions,
    seeded,
)
from tests.engines.gomoku.test_threats import (
    FIVE_NEXT,
    FOUR_THEN_OPEN_FOUR,
    LONG_CHASES,
    OPEN_FOUR_NEXT,
    TWO_FOURS_NEXT,
    TWO_THREES_NEXT,
)

RULES = pytest.mark.parametrize("rules", [FREESTYLE, STANDARD], ids=["freestyle", "standard"])
PLAIN = plain()  # every technique off, and no VCF


# --- Against minimax --------------------------------------------------------------------------------------------------


class Kernel:
    """The kernel by itself, with an evaluation of no meaning: if it is right by that, it is right by any."""

    def __init__(self, rules, position, entries=1 << 10, network=None):
        self.rules, self.position, self.colour = rules, position, COLOURS[position.mover]
        self.board = board_with(rules, position.size)
        set_up(self.board, position)
        self.before = snapshot(self.board)
        self.vcf, self.space, self.table = vcf_for(1 << 10), workspace_for(), table_for(entries)
        self.frames = frames_for(network, MOST_PLIES + 2)

    def search(self, depth, params=PLAIN, nodes=NEVER, forgets=False, window=(-SURE, SURE)):
        """The value and the move of a search so deep, in slices of so many nodes; `forgets` its table between them."""
        begin_search(self.space, depth, *window)
        while True:
            limit = NegaScoutLimit(np.int64(min(NEVER, self.nodes + nodes)), np.int64(NEVER), Stop().flag)
            before = self.nodes
            why = self.slice(params, limit)
            assert self.nodes - before <= nodes
            if why == FINISHED:
                break
            assert why == OUT_OF_NODES
            assert self.nodes - before == nodes
            if forgets:
                self.table.fill(0)
        assert not changes_since(self.board, self.before)
        return int(self.space.state[VALUE]), place_of(int(self.space.frame[BEST_MOVE]))

    def slice(self, params, limit):
        """One call of the kernel."""
        arrays = self.board, self.vcf, self.space, self.table, params, self.frames
        return search_slice(*arrays, self.colour, limit)

    @property
    def nodes(self):
        return int(self.space.state[NODES])


@functools.cache
def board_with(rules, size, use="search"):
    return blank_board(size, rules.rule, weights=random_weights(size))


def slow_search(rules, network=None):
    def guess(rows, mover):
        board = board_with(rules, len(rows), "guess")
        set_up(board, Position(rows, mover))
        value = int(evaluation.py_func(board, COLOURS[mover]))
        return value + (slow_network_value(network, board, COLOURS[mover]) if network else 0)

    return SlowSearch(rules is STANDARD, guess, decided=DECIDED, doubt=DOUBT)


def is_same(one, two):
    """Whether values agree. Of a doubtful loss the plies may differ: which is longer is decided before the doubt."""
    is_doubtful = all(WON < abs(value) <= DECIDED for value in (one, two))
    return one == two or (is_doubtful and one * two > 0)


def open_position(rules, size, free, chance):
    """A position with so many empty points, perhaps with walls, that no glance decides."""
    while True:
        walls = chance.choice((0, 0, 2))
        position = random_position(rules, size, size * size - walls - free, chance, walls=walls)
        rows, mover, exact = position.rows, position.mover, rules is STANDARD
        own = points_of(rows, mover, exact, "MAKES_FIVE", "WINS_NEXT")
        if not own and len(five_points(rows, other(mover), exact)) < 2:
            return position


@RULES
@pytest.mark.parametrize(
    ("size", "free", "depths"),
    [
        (5, (2, 3, 4, 5), (1, 2, 3, 4, 5)),  # to the end
        (5, (8, 10, 12), (1, 2)),
        (6, (5, 8, 12), (1, 2)),
        (7, (12, 20, 26), (1, 2)),
        (9, (40, 50), (1,)),
    ],
)
def test_negascout_finds_what_minimax_finds(rules, size, free, depths):
    chance, values = random.Random(size), set()
    for _ in range(12 if size < 7 else 6):
        position = open_position(rules, size, chance.choice(free), chance)
        for depth in depths:
            slow, where = slow_search(rules), (rules.text(position), depth)
            expected = slow.value(position.rows, position.mover, depth)
            moves = slow.values(position.rows, position.mover, depth)
            best = max(moves.values(), default=expected)
            # one node at a time, with no table: what it finds it owes to the search alone
            found, move = Kernel(rules, position).search(depth, nodes=1, forgets=True)
            assert is_same(found, expected), where
            assert is_same(moves.get(move, best), best), where
            # with a table, in one go; where a position comes up with two depths, it may know more than it has to
            for entries in (1 << 4, 1 << 10) if all(len(seen) == 1 for seen in slow.depths.values()) else ():
                found, move = Kernel(rules, position, entries).search(depth)
                assert is_same(found, expected), where
                assert is_same(moves.get(move, best), best), where
            values.add(expected)
    assert len(values) > 3 or free == (2, 3, 4)


@RULES
def test_a_narrow_window_bounds_the_value(rules):
    for position in random_positions(rules, 6, (22, 26, 30), 10, seed=2):
        for depth in (1, 2):
            exact, _ = Kernel(rules, position).search(depth)
            for low in (exact - 50, exact - 1, exact, exact + 50):
                value, _ = Kernel(rules, position).search(depth, window=(low, low + 1))
                assert (value > low) == (exact > low), rules.text(position)


@RULES
@pytest.mark.parametrize("params", [PLAIN, shipped()], ids=["plain", "shipped"])
def test_a_search_in_slices_finds_the_same_as_in_one_go(rules, params):
    for position in random_positions(rules, 9, (10, 20, 30), 4, seed=3) + random_positions(
        rules, 15, (12, 30), 3, seed=3, spread=4
    ):
        found = []
        for nodes in (NEVER, 1, 7, 100):
            kernel = Kernel(rules, position)
            found.append((*(kernel.search(depth, params, nodes) for depth in (1, 2, 3)), kernel.nodes))
        assert len(set(found)) == 1, rules.text(position)


@RULES
@pytest.mark.parametrize(("size", "free", "depths"), [(5, (6, 10), (1, 2, 3)), (7, (12, 20), (1, 2)), (9, (40,), (1,))])
def test_with_a_network_negascout_finds_what_minimax_finds(rules, size, free, depths):
    chance, network, with_network = random.Random(size), random_network(size), PLAIN._replace(network=1)
    differs = 0
    for _ in range(8):
        position = open_position(rules, size, chance.choice(free), chance)
        for depth in depths:
            slow = slow_search(rules, network)
            expected = slow.value(position.rows, position.mover, depth)
            kernel = Kernel(rules, position, network=network)
            found, _ = kernel.search(depth, with_network, nodes=1, forgets=True)
            assert is_same(found, expected), (rules.text(position), depth)
            differs += found != kernel.search(depth, forgets=True, nodes=1)[0]
    assert differs


def test_a_network_that_says_nothing_changes_nothing():
    position = random_position(FREESTYLE, 15, 20, random.Random(5), spread=4)
    without, silent = Kernel(FREESTYLE, position), Kernel(FREESTYLE, position, network=blank())
    assert silent.search(8, shipped(network=1)) == without.search(8, shipped())
    assert silent.nodes == without.nodes
    loud = Kernel(FREESTYLE, position, network=random_network(1))
    assert loud.search(8, shipped()) == without.search(8, shipped()), "it is turned off"


def test_a_search_out_of_time_or_told_to_stop_goes_on_later():
    position = random_position(FREESTYLE, 15, 20, random.Random(4), spread=4)
    whole = Kernel(FREESTYLE, position).search(8, shipped())
    kernel, stop = Kernel(FREESTYLE, position), Stop()
    stop.set()
    begin_search(kernel.space, 8, -SURE, SURE)
    why, ends = OUT_OF_TIME, itertools.cycle([(NEVER, stop), (0, Stop())])
    for _ in range(6):
        end, flag = next(ends)
        limit = NegaScoutLimit(np.int64(NEVER), np.int64(end), flag.flag)
        why = kernel.slice(shipped(), limit)
        assert why == OUT_OF_TIME
        limit = NegaScoutLimit(np.int64(kernel.nodes + 256), np.int64(NEVER), Stop().flag)
        kernel.slice(shipped(), limit)
    limit = NegaScoutLimit(np.int64(NEVER), np.int64(NEVER), Stop().flag)
    assert kernel.slice(shipped(), limit) == FINISHED
    assert (int(kernel.space.state[VALUE]), place_of(int(kernel.space.frame[BEST_MOVE]))) == whole


def test_a_table_grows_within_its_address_space_and_keeps_half_of_what_it_knows():
    using = searcher(FREESTYLE, memory=8)
    small = using.table(1 << 10, anew=True)
    small["check"] = np.arange(small.size, dtype=np.uint64) | np.uint64(1) << np.uint64(40)
    larger = using.table(4 * small.size, anew=False)
    assert larger.size == 4 * small.size
    assert np.shares_memory(small, larger)
    assert (larger[: small.size] == small).all()
    assert using.table(1 << 10, anew=False).size == larger.size, "and never shrinks"
    assert not using.table(1 << 10, anew=True)["check"].any()
    assert using.table(1 << 40, anew=False).nbytes <= 8 << 20


# --- The searcher -----------------------------------------------------------------------------------------------------


def wins_by_fours(rules, position):
    """Whether who is to move has a VCF that wins."""
    return vcf_whole(board_for(rules, position), vcf_for(1 << 10), COLOURS[position.mover])[0] == WIN


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
        assert makes_five(rows, point_of(report.move, size), stone, rules is STANDARD)
        assert report.score.value == Proven(Result.WIN, 1)
        assert report.stop_reason is StopReason.FINISHED
        blocked = answer(rules, Position(rows, other(stone)), using, max_nodes=nodes)
        points = five_points(rows, stone, rules is STANDARD)
        assert point_of(blocked.move, size) in points
        assert len(points) > 1 or not isinstance(blocked.score.value, Proven)


@RULES
@pytest.mark.parametrize("size", [6, 9, 15, 20])
def test_fives_are_made_or_stopped_in_random_positions(rules, size):
    using, made, stopped = searcher(rules), 0, 0
    for position in random_positions(rules, size, range(12, 30), 40, seed=1, spread=3):
        own = five_points(position.rows, position.mover, rules is STANDARD)
        danger = five_points(position.rows, other(position.mover), rules is STANDARD)
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
        threats = points_of(position.rows, "x", rules is STANDARD, "WINS_NEXT")
        assert point_of(report.move, 11) in answers_to(position.rows, threats, "o", rules is STANDARD)
        assert not points_of(rules.play(position, report.move).position.rows, "x", rules is STANDARD, "WINS_NEXT")


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


RESULTS = {1: Result.WIN, 0: Result.DRAW, -1: Result.LOSS}


@RULES
@pytest.mark.parametrize(("size", "free"), [(5, (6, 7, 8)), (6, (6, 7, 8))])
def test_what_is_certain_on_small_boards_is_so(rules, size, free):
    chance, solver, using = random.Random(size), Solver(rules.rule), searcher(rules)
    claims = {Result.WIN: 0, Result.LOSS: 0}
    while min(claims.values()) < 4:
        position = random_position(rules, size, size * size - chance.choice(free), chance)
        if five_points(position.rows, position.mover, rules is STANDARD) and claims[Result.WIN] > 4:
            continue
        for nodes in (1, 60, 1000):
            report = answer(rules, position, using, max_nodes=nodes, max_lines=3)
            for line in report.lines:
                if isinstance(line.score.value, Proven):
                    after = rules.play(position, line.moves[0]).position
                    is_over = rules.outcome(after) is not Outcome.ONGOING
                    true = 1 if is_over else -solver.result(after.rows, after.mover)
                    assert line.score.value.result is RESULTS[true], (rules.text(position), nodes, line)
                    claims[line.score.value.result] += 1
            if isinstance(report.score.value, Proven):
                assert report.score.value.result is RESULTS[solver.result(position.rows, position.mover)]


@RULES
def test_a_search_to_the_end_of_a_small_board_misses_no_win(rules):
    chance, solver, using = random.Random(8), Solver(rules.rule), searcher(rules)
    seen = set()
    for _ in range(40):
        position = random_position(rules, 5, 25 - chance.choice((1, 2, 3, 4)), chance)
        report = answer(rules, position, using, max_nodes=20_000)
        true = solver.result(position.rows, position.mover)
        after = rules.play(position, report.move).position
        if rules.outcome(after) is Outcome.ONGOING:
            assert -solver.result(after.rows, after.mover) == true, rules.text(position)
        else:
            assert true == (1 if has_five(after.rows, position.mover, rules is STANDARD) else 0)
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
        if five_points(position.rows, position.mover, rules is STANDARD):
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
