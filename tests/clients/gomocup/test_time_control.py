"""Deadlines of moves, without a clock."""

import pytest

from plyd.clients.gomocup.time_control import FAST_MS, GomocupClock, is_easy, move_deadlines
from plyd.protocols.gomocup import UNLIMITED_MS


@pytest.mark.parametrize(
    ("turn", "left", "moves", "search"),
    [
        (5000, UNLIMITED_MS, 0, 4800),
        (30_000, UNLIMITED_MS, 0, 29_800),
        (200, UNLIMITED_MS, 0, 160),
        (50, UNLIMITED_MS, 0, 25),
        (10, UNLIMITED_MS, 0, 5),
        (1000, UNLIMITED_MS, 0, 950),
        (30_000, 180_000, 0, 9_000),
        (30_000, 100_000, 10, 10_000),
        (30_000, 80_000, 40, 10_000),
        (1000, 100_000, 0, 950),
        (30_000, 100, 0, 5),
        (30_000, 0, 0, 0),
        (30_000, -500, 0, 0),
    ],
)
def test_time_for_a_move(turn, left, moves, search):
    assert move_deadlines(turn, left, moves).search * 1000 == pytest.approx(search)


def test_an_answer_comes_within_the_limit_and_after_the_search():
    for turn in (*range(30, 300), 1000, 30_000):
        for left in (UNLIMITED_MS, 40, 1000, 60_000):
            search, answer = move_deadlines(turn, left, 5)
            assert 0 <= search < answer
            assert answer * 1000 < min(turn, left)


def test_a_match_never_runs_out_of_time():
    left = 10_000.0
    for move in range(200):
        left -= move_deadlines(30_000, round(left), move).search * 1000
        assert left > 0


def test_a_clock_takes_what_the_manager_says():
    clock = GomocupClock(default_ms=5000)
    assert clock.deadlines(0) == move_deadlines(5000, UNLIMITED_MS, 0)
    clock.turn_ms = 0
    assert clock.deadlines(0) == move_deadlines(FAST_MS, UNLIMITED_MS, 0)
    clock.turn_ms = 30_000
    clock.set_left(UNLIMITED_MS)
    clock.spent(4.0)
    assert clock.deadlines(0) == move_deadlines(30_000, UNLIMITED_MS, 0)
    clock.set_left(50_000)
    clock.spent(4.0)
    assert clock.deadlines(1) == move_deadlines(30_000, 46_000, 1)


def test_a_clock_counts_where_nobody_else_does():
    clock = GomocupClock(default_ms=30_000)
    clock.restart()
    clock.match_ms = 100_000
    clock.spent(4.0)
    assert clock.deadlines(1) == move_deadlines(30_000, 96_000, 1)
    clock.set_left(20_000)
    assert clock.deadlines(1) == move_deadlines(30_000, 20_000, 1)
    clock.restart()
    assert clock.deadlines(0) == move_deadlines(30_000, 100_000, 0)
    clock.match_ms = 0
    assert clock.deadlines(0) == move_deadlines(30_000, UNLIMITED_MS, 0)


def test_a_slow_machine_gets_more_reserve_until_answers_are_in_time():
    clock, usual = GomocupClock(default_ms=500), move_deadlines(500, UNLIMITED_MS, 0)
    clock.spent(usual.search + 0.006, usual.search)
    clock.spent(0.001, usual.search)  # a win at hand: the machine is as slow as it was
    assert clock.deadlines(1) == usual, "a few milliseconds are what the reserve is for"
    for _ in range(8):  # the engine answers 45 ms late; we do not wait that long, if there is not the time
        search, answer = clock.deadlines(1)
        clock.spent(min(search + 0.045, answer), search)
    search, answer = clock.deadlines(1)
    assert search + 0.045 < answer < 0.5
    assert search > 0.3
    for _ in range(24):
        clock.spent(clock.deadlines(1).search + 0.003, clock.deadlines(1).search)
    assert clock.deadlines(1) == usual


def test_a_daemon_that_was_away_for_long_costs_no_more_than_half_of_the_next_moves():
    clock = GomocupClock(default_ms=1000)
    clock.spent(60.0, 0.95)
    assert clock.deadlines(1).search == 0.5


def test_more_time_than_the_wire_can_carry_is_no_limit():
    clock = GomocupClock(default_ms=5000, turn_ms=10**18, match_ms=10**18)
    assert clock.deadlines(0) == move_deadlines(UNLIMITED_MS, UNLIMITED_MS, 0)
    clock.set_left(10**18)
    assert clock.deadlines(0) == move_deadlines(UNLIMITED_MS, UNLIMITED_MS, 0)


def test_a_delay_of_this_process_is_kept_clear_of_the_limit_from_then_on():
    clock = GomocupClock(default_ms=1000)
    usual = clock.deadlines(0)
    assert not clock.felt(-0.001)
    assert clock.felt(0.1)
    assert not clock.felt(0.05), "nothing new"
    search, answer = clock.deadlines(0)
    assert search < usual.search
    assert answer + 0.1 < 1, "the same delay once more makes no answer late"


@pytest.mark.parametrize(
    ("stable", "elapsed", "easy"), [(0.1, 5.0, True), (0.1, 4.9, False), (2.0, 5.0, False), (9.0, 9.9, False)]
)
def test_a_move_that_was_best_all_along_is_easy_after_half_of_its_time(stable, elapsed, easy):
    assert is_easy(stable, elapsed, search=10.0) == easy


def test_time_is_saved_only_where_it_can_be_used_later():
    assert not GomocupClock(default_ms=1000).has_match_limit
    assert not GomocupClock(default_ms=1000, match_ms=0).has_match_limit
    assert GomocupClock(default_ms=1000, match_ms=60_000).has_match_limit
    assert GomocupClock(default_ms=1000, left_ms=60_000).has_match_limit
