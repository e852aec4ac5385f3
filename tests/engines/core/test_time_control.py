"""Time control: what a search may take, from its limits, the clock, the caller's deadline and a client's quota."""

import time

import pytest

from plyd.engines.core.intrinsics import NEVER
from plyd.engines.core.search import Clock, Limits
from plyd.engines.core.time_control import (
    ANSWER_NS,
    CLOCK_RESERVE_SECONDS,
    DEADLINE_ROUNDING,
    MOST_EFFORT,
    REPLY_SECONDS,
    Budget,
    clock_share,
    effort_by_visits,
    most_of_clock,
)


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        (Clock(60.0), 3.0),  # a twentieth
        (Clock(60.0, moves_to_go=10), 6.0),
        (Clock(60.0, moves_to_go=1), 60.0 - CLOCK_RESERVE_SECONDS),  # never the whole clock
        (Clock(60.0, increment_seconds=5.0), 3.0 + 4.0),  # and four fifths of the increment
        (Clock(0.3, increment_seconds=5.0), 0.3 - CLOCK_RESERVE_SECONDS),  # which is not there yet
        (Clock(CLOCK_RESERVE_SECONDS), 0.0),
        (Clock(0.01, moves_to_go=1), 0.0),
        (Clock(0.0), 0.0),
        (Clock(0.0, increment_seconds=1.0), 0.0),
        (Clock(-1.0), 0.0),  # a flag that fell
    ],
)
def test_a_clock_gives_its_share(clock, seconds):
    assert clock_share(clock) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        (None, None),
        (Clock(60.0), MOST_EFFORT * 3.0),
        (Clock(60.0, increment_seconds=5.0), 12.0),  # a fifth of the clock, less than MOST_EFFORT times its share
        (Clock(60.0, moves_to_go=4), 15.0),  # its share is more than a fifth
        (Clock(60.0, moves_to_go=1), 60.0 - CLOCK_RESERVE_SECONDS),
        (Clock(0.3, increment_seconds=5.0), 0.3 - CLOCK_RESERVE_SECONDS),
        (Clock(0.0), 0.0),
        (Clock(-1.0), 0.0),
    ],
)
def test_a_hard_move_gets_more_of_the_clock_but_never_all_of_it(clock, seconds):
    assert most_of_clock(clock) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("moves", "new_visits", "share", "effort"),
    [
        ([(900, 0.6)], 900, 0.1, 0.0),  # the only move
        ([], 0, 0.1, 0.0),
        ([(900, 0.6), (100, 0.5)], 1000, 0.5, 1.0),  # 1,000 visits to come, and 800 behind
        ([(901, 0.6), (100, 0.5)], 1000, 0.6, 0.0),  # 667 to come: too few
        ([(100, 0.5), (901, 0.6)], 1000, 0.6, 0.0),  # in any order
        ([(2_000, 0.6), (100, 0.5)], 0, 0.0, 1.0),  # nothing is known of the pace yet
        ([(500, 0.6), (400, 0.7)], 900, 1.0, MOST_EFFORT),  # better, and close behind
        ([(500, 0.6), (40, 0.7)], 540, 1.0, 1.0),  # better so far, but hardly visited
        ([(500, 0.7), (400, 0.6)], 900, 1.3, 1.0),
    ],
)
def test_a_search_goes_on_while_another_move_may_still_be_chosen(moves, new_visits, share, effort):
    assert effort_by_visits(moves, new_visits, share) == effort


@pytest.mark.parametrize(
    ("limits", "others", "seconds"),
    [
        (Limits(), {}, None),
        (Limits(max_nodes=5, max_depth=5), {}, None),
        (Limits(max_seconds=3.0), {}, 3.0),
        (Limits(max_seconds=0.0), {}, 0.0),  # no time is not no limit
        (Limits(clock=Clock(60.0)), {}, MOST_EFFORT * 3.0),
        (Limits(clock=Clock(0.0)), {}, 0.0),
        (Limits(max_seconds=3.0, clock=Clock(60.0)), {}, 3.0),
        (Limits(max_seconds=1.0, clock=Clock(60.0)), {}, 1.0),
        (Limits(max_seconds=0.0, clock=Clock(60.0)), {}, 0.0),
        (Limits(), {"most_seconds": 4.0}, 4.0),
        (Limits(max_seconds=3.0), {"most_seconds": 4.0}, 3.0),
        (Limits(), {"caller_seconds": 10.0}, 10.0 * (1 - DEADLINE_ROUNDING) - REPLY_SECONDS),
        (Limits(max_seconds=3.0), {"caller_seconds": 10.0, "most_seconds": 4.0}, 3.0),
    ],
)
def test_a_budget_is_the_least_of_what_everybody_allows(limits, others, seconds):
    found = Budget.start(limits, **others).seconds
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_a_search_plans_with_the_usual_time_of_a_move():
    assert Budget.start(Limits(clock=Clock(60.0))).planned_seconds == pytest.approx(3.0)
    assert Budget.start(Limits(max_seconds=1.0, clock=Clock(60.0))).planned_seconds == 1.0
    assert Budget.start(Limits(max_seconds=1.0)).planned_seconds == 1.0
    assert Budget.start(Limits()).planned_seconds is None


def test_the_answer_has_its_share_of_the_budget():
    assert Budget(1_000, 1.0).deadline_ns == 1_000 + 1_000_000_000 - ANSWER_NS
    assert Budget(1_000, 0.001).deadline_ns == 1_000 + 900_000  # a tenth of a short budget
    assert Budget(1_000, 0.0).deadline_ns == 1_000
    assert Budget(1_000, -5.0).deadline_ns < 1_000  # a deadline that has passed
    assert Budget(1_000, None).deadline_ns == NEVER
    assert NEVER - ANSWER_NS <= Budget(1_000, 1e30).deadline_ns <= NEVER  # what a kernel can count to


def test_what_is_left_of_a_budget_replaces_every_other_time_limit():
    limits = Limits(max_seconds=9.0, clock=Clock(60.0), max_nodes=7, max_depth=8, max_lines=9)
    left = Budget(time.monotonic_ns() - 5_000_000_000, 6.0, 5.5).left_of(limits)
    assert 0.0 <= left.max_seconds <= 1.0
    assert 0.0 <= left.usual_seconds <= 0.5
    assert Budget.start(left).usual_seconds == left.usual_seconds
    assert (left.clock, left.max_nodes, left.max_depth, left.max_lines) == (None, 7, 8, 9)
    assert Budget(time.monotonic_ns() - 5_000_000_000, 1.0).left_of(limits).max_seconds == 0.0
    assert Budget(0, None).left_of(limits).max_seconds is None
