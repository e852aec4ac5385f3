"""What NegaScout of Gomoku promises beyond its answers: limits, reports, memory, odd boards."""

import itertools
import random
import threading
import time
from dataclasses import replace

import pytest

from plyd.engines.core import search_run
from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Clock, Limits, Proven, Result, StopReason, WinProbability
from plyd.engines.gomoku import prover
from plyd.engines.gomoku.bench import MIDDLE_GAMES, middle_game
from plyd.engines.gomoku.negascout import kernel
from plyd.engines.gomoku.negascout import searcher as search_module
from plyd.engines.gomoku.rules import FREESTYLE, STANDARD, Position, point_of
from tests.engines.conftest import reports_until_stopped
from tests.engines.gomoku.searches import answer, assert_sane, searcher
from tests.engines.gomoku.slow import (
    empty_points,
    put,
    random_position,
    random_positions,
    seeded,
)
from tests.engines.gomoku.test_threats import (
    FOUR_THEN_OPEN_FOUR,
    TWO_FOURS_NEXT,
)
from tests.patience import SOON

RULES = pytest.mark.parametrize("rules", [FREESTYLE, STANDARD], ids=["freestyle", "standard"])
HARD = (  # to decide
    ".............../.............../.............../.............../.............../.......x.x...../....o...x....../"
    "........o....../....x..x.o...../......o......../.............../.............../.............../.............../..............."
)


def position_after(moves):
    position = FREESTYLE.parse("15x15")
    for move in moves.split():
        position = FREESTYLE.play(position, move).position
    return position


def test_the_second_line_of_a_forced_move_shows_what_it_prevents():
    report = answer(FREESTYLE, position_after("h8 g8 i8 a1 j8 a15 k8"), max_nodes=2000, max_lines=3)
    block, other = report.lines
    assert block.moves[0] == other.moves[1] == "l8"
    assert isinstance(block.score.value, WinProbability)
    assert other.score.value == Proven(Result.LOSS, 2)


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
        monkeypatch.setattr(search_run, "REPORT_NS", pause)
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
        assert time.monotonic() - began < SOON
        assert report.stop_reason in (StopReason.TIME, StopReason.FINISHED)
        position = rules.play(position, report.move).position
        moves = [move.text for move in rules.legal_moves(position)]
        position = rules.play(position, random.Random(turn).choice(moves)).position


def test_a_clock_is_not_overdrawn():
    using, position = searcher(), random_position(FREESTYLE, 15, 30, random.Random(7), spread=4)
    for clock in (Clock(0.01), Clock(0.3, moves_to_go=1), Clock(3.0), Clock(0.1, increment_seconds=0.05)):
        began = time.monotonic()
        answer(FREESTYLE, position, using, clock=clock)
        assert time.monotonic() - began < SOON


def test_the_only_move_takes_no_time_of_the_clock():
    report = answer(FREESTYLE, position_after("h8 g8 i8 a1 j8 a15 k8"), clock=Clock(36_000.0))
    assert (report.move, report.stop_reason) == ("l8", StopReason.TIME)  # not one of the twenty minutes


@RULES
@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_ends_soon_after_it_is_told_to(rules, threads):
    position = rules.parse(HARD)
    for wait in (0.0, 0.15):
        stop, reports, using = Stop(), [], searcher(rules, threads=threads)
        thread = threading.Thread(
            target=lambda s=stop, u=using, r=reports: r.extend(u.search(position, Limits(), s)), daemon=True
        )
        thread.start()
        time.sleep(wait)
        stop.set()
        thread.join(SOON)
        assert not thread.is_alive()
        assert reports[-1].stop_reason in (StopReason.STOPPED, StopReason.FINISHED)
        for report in reports:
            assert_sane(rules, position, report)


def test_reports_come_on_the_way_and_get_deeper():
    position = FREESTYLE.parse(HARD)
    reports = reports_until_stopped(searcher(), position, 2)
    assert [report.nodes for report in reports] == sorted(report.nodes for report in reports)
    assert [report.seconds for report in reports] == sorted(report.seconds for report in reports)
    assert reports[-1].depth >= reports[0].depth > 1


def test_a_search_given_up_midway_gives_its_core_back_and_the_next_one_is_right():
    using, before = searcher(threads=2), CORES.spare()
    search = using.search(FREESTYLE.parse(HARD), Limits(), Stop())
    next(search)
    assert CORES.spare() == before - 1
    search.close()
    assert CORES.spare() == before
    report = answer(FREESTYLE, FREESTYLE.parse(f"{TWO_FOURS_NEXT} x"), using, max_seconds=SOON)
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
        thread.join(SOON)
    for found in reports.values():
        for position, seen in zip(positions, found, strict=True):
            for report in seen:
                assert_sane(rules, position, report)
            assert seen[-1].final
    assert len(reports) == 3
    report = answer(rules, rules.parse(f"{FOUR_THEN_OPEN_FOUR} x"), searcher(rules, threads=2), max_seconds=SOON)
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


@pytest.mark.skipif(CORES.count < 2, reason="one core, one thread")
def test_the_nodes_of_a_search_are_those_of_all_its_threads():
    position, using = middle_game(MIDDLE_GAMES[3]), searcher(threads=2)
    answer(FREESTYLE, position, using, max_nodes=300)  # a thread that compiles would keep the other waiting
    report = answer(FREESTYLE, position, using, max_nodes=200_000)
    counts = [worker.nodes for worker in using.workers[:2]]
    assert min(counts) > 1000
    assert sum(counts) <= report.nodes


def test_no_kernel_is_compiled_for_another_limit_size_or_rule():
    kernels = (
        kernel.search_slice,
        search_module.follow,
        prover.continue_vct,
        search_module.set_up,
    )
    answer(FREESTYLE, FREESTYLE.parse("15x15"), max_nodes=300)
    answer(FREESTYLE, FREESTYLE.parse("15x15"), max_seconds=0.03)
    before = [len(getattr(kernel, "signatures", ())) for kernel in kernels]
    for rules, text in itertools.product((FREESTYLE, STANDARD), ("5x5", "20x20")):
        for limits in ({"max_nodes": 300}, {"max_seconds": 0.03, "max_lines": 2}, {"max_depth": 2}):
            answer(rules, rules.parse(text), searcher(rules, threads=2), **limits)
    assert [len(getattr(kernel, "signatures", ())) for kernel in kernels] == before
