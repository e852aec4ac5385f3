"""Time control: what a search may take, from its limits, the clock, the caller's deadline and a client's quota."""

import time

import pytest

from plyd.engines.core.intrinsics import NEVER
from plyd.engines.core.search import Clock, Limits
from plyd.engines.core.time_control import (
    ANSWER_NS,
    CLOCK_RESERVE_SECONDS,
    DEADLINE_ROUNDING,
    REPLY_SECONDS,
    Budget,
    clock_share,
)


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        (None, None),
        (Clock(60.0), 2.0),  # a thirtieth
        (Clock(60.0, moves_to_go=10), 6.0),
        (Clock(60.0, moves_to_go=1), 60.0 - CLOCK_RESERVE_SECONDS),  # never the whole clock
        (Clock(60.0, increment_seconds=5.0), 2.0 + 4.0),  # and four fifths of the increment
        (Clock(0.3, increment_seconds=5.0), 0.3 - CLOCK_RESERVE_SECONDS),  # which is not there yet
        (Clock(CLOCK_RESERVE_SECONDS), 0.0),
        (Clock(0.01, moves_to_go=1), 0.0),
        (Clock(0.0), 0.0),
        (Clock(0.0, increment_seconds=1.0), 0.0),
        (Clock(-1.0), 0.0),  # a flag that fell
    ],
)
def test_a_clock_gives_its_share(clock, seconds):
    assert clock_share(clock) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("limits", "others", "seconds"),
    [
        (Limits(), {}, None),
        (Limits(max_nodes=5, max_depth=5), {}, None),
        (Limits(max_seconds=3.0), {}, 3.0),
        (Limits(max_seconds=0.0), {}, 0.0),  # no time is not no limit
        (Limits(clock=Clock(60.0)), {}, 2.0),
        (Limits(clock=Clock(0.0)), {}, 0.0),
        (Limits(max_seconds=3.0, clock=Clock(60.0)), {}, 2.0),
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


def test_the_answer_has_its_share_of_the_budget():
    assert Budget(1_000, 1.0).deadline_ns == 1_000 + 1_000_000_000 - ANSWER_NS
    assert Budget(1_000, 0.001).deadline_ns == 1_000 + 900_000  # a tenth of a short budget
    assert Budget(1_000, 0.0).deadline_ns == 1_000
    assert Budget(1_000, -5.0).deadline_ns < 1_000  # a deadline that has passed
    assert Budget(1_000, None).deadline_ns == NEVER
    assert NEVER - ANSWER_NS <= Budget(1_000, 1e30).deadline_ns <= NEVER  # what a kernel can count to


def test_what_is_left_of_a_budget_replaces_every_other_time_limit():
    limits = Limits(max_seconds=9.0, clock=Clock(60.0), max_nodes=7, max_depth=8, max_lines=9)
    left = Budget(time.monotonic_ns() - 5_000_000_000, 6.0).left_of(limits)
    assert 0.0 <= left.max_seconds <= 1.0
    assert (left.clock, left.max_nodes, left.max_depth, left.max_lines) == (None, 7, 8, 9)
    assert Budget(time.monotonic_ns() - 5_000_000_000, 1.0).left_of(limits).max_seconds == 0.0
    assert Budget(0, None).left_of(limits).max_seconds is None
