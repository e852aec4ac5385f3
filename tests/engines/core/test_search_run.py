"""The one search loop: why it stops, when it reports, what it holds meanwhile."""

from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count

import pytest

from plyd.engines.core import search_run
from plyd.engines.core.cores import CORES, Cores
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Limits, Proven, Report, Result, Score, StopReason, Unreachable
from plyd.engines.core.search_run import DepthRun, SearchRun, game_over, run
from tests.patience import SOON


class Counting(SearchRun):
    """Counts its steps as nodes and depth; knows an answer after the first, and all after `whole`."""

    def __init__(self, limits=None, stop=None, whole=1000):
        super().__init__(limits or Limits(), stop or Stop())
        self.steps, self.whole, self.closed, self.busy = 0, whole, 0, []

    def step(self):
        self.steps += 1
        self.busy.append(CORES.spare())

    def report(self, reason):
        return Report(Score(Side.PLAYER_ONE, Unreachable()), nodes=self.steps, depth=self.steps, stop_reason=reason)

    @property
    def nodes(self):
        return self.steps

    @property
    def is_finished(self):
        return self.steps >= self.whole

    @property
    def has_answer(self):
        return self.steps > 0

    def is_deep_enough(self, depth):
        return self.steps >= depth

    def is_report_due(self):
        return self.steps > 0

    def close(self):
        self.closed += 1


def last_of(search):
    *others, last = run(lambda: search)
    assert all(not report.final for report in others)
    assert search.closed == 1
    return last


@pytest.mark.parametrize(
    ("limits", "steps", "reason"),
    [
        (Limits(max_nodes=7), 7, StopReason.NODES),
        (Limits(max_depth=5), 5, StopReason.DEPTH),
        (Limits(max_nodes=7, max_depth=7), 7, StopReason.NODES),
        (Limits(max_seconds=0.0), 1, StopReason.TIME),  # an answer comes first
        (Limits(), 1000, StopReason.FINISHED),
    ],
)
def test_a_search_stops_at_the_limit_that_binds_first(limits, steps, reason):
    last = last_of(Counting(limits))
    assert (last.nodes, last.stop_reason) == (steps, reason)


class Easy(Counting):
    effort = 0.0


class Hard(Counting):
    effort = 2.0


def test_a_clock_gives_a_move_as_much_time_as_it_deserves():
    an_hour, none = Limits(max_seconds=9000.0, usual_seconds=3600.0), Limits(max_seconds=9000.0, usual_seconds=0.0)
    assert last_of(Easy(an_hour)).nodes == 1  # an answer comes first
    assert last_of(Counting(an_hour)).stop_reason is StopReason.FINISHED
    assert last_of(Counting(none)).stop_reason is StopReason.TIME
    assert last_of(Hard(none)).stop_reason is StopReason.TIME
    assert last_of(Easy(Limits(max_seconds=9000.0))).stop_reason is StopReason.FINISHED  # a move time is used


def test_a_hard_move_gets_more_than_the_usual_time(monkeypatch):
    now = count(0, 10_000_000)  # each look at the clock takes 10 ms
    monkeypatch.setattr("time.monotonic_ns", lambda: next(now))
    usual = last_of(Counting(Limits(max_seconds=9.0, usual_seconds=1.0))).nodes
    assert 1.5 * usual < last_of(Hard(Limits(max_seconds=9.0, usual_seconds=1.0))).nodes < 2.5 * usual


def test_a_search_that_is_told_to_stop_has_an_answer_first():
    stop = Stop()
    stop.set()
    last = last_of(Counting(stop=stop))
    assert (last.nodes, last.stop_reason) == (1, StopReason.STOPPED)


def test_what_is_known_for_sure_ends_a_search_before_any_limit():
    assert last_of(Counting(Limits(max_nodes=5), whole=5)).stop_reason is StopReason.FINISHED


def test_no_report_comes_before_there_is_an_answer_and_none_twice():
    nodes = [report.nodes for report in run(lambda: Counting(Limits(max_nodes=4)))]
    assert nodes == [1, 2, 3, 4]


def test_a_search_holds_a_core_until_its_last_step_and_gives_it_back(monkeypatch):
    cores = Cores(2)
    monkeypatch.setattr(search_run, "CORES", cores)
    monkeypatch.setattr(f"{__name__}.CORES", cores)
    search = Counting(Limits(max_nodes=3))
    last_of(search)
    assert search.busy == [1, 1, 1]
    assert cores.spare() == 2


def test_a_caller_who_leaves_frees_the_core_and_closes_the_search(monkeypatch):
    cores = Cores(2)
    monkeypatch.setattr(search_run, "CORES", cores)
    search = Counting()
    reports = run(lambda: search)
    next(reports)
    assert cores.spare() == 1
    reports.close()
    assert (cores.spare(), search.closed) == (2, 1)


def test_threads_are_those_asked_for_or_all_that_nobody_needs_and_one_with_a_node_limit(monkeypatch):
    monkeypatch.setattr(search_run, "CORES", Cores(4))
    assert Counting().threads_for(option=0, most=3) == 3
    assert Counting().threads_for(option=2, most=3) == 2
    assert Counting().threads_for(option=9, most=9) == 5  # its own core, and four to spare
    assert Counting(Limits(max_nodes=1)).threads_for(option=0, most=3) == 1
    assert Counting(Limits(max_nodes=1)).threads_for(option=2, most=3) == 2


class Deepening(DepthRun):
    """Completes one depth a step; knows all at depth `whole`, and gives up at depth `last`."""

    max_depth = 9

    def __init__(self, limits=None, whole=1000, last=1000):
        super().__init__(limits or Limits(), Stop())
        self.whole, self.last = whole, last

    nodes = 0

    def step(self):
        if self.depth == self.last:
            self.give_up(StopReason.TIME)
        else:
            self.complete(StopReason.FINISHED if self.depth + 1 == self.whole else None)

    def report(self, reason):
        return Report(Score(Side.PLAYER_ONE, Unreachable()), depth=self.depth, stop_reason=reason)


@pytest.mark.parametrize(
    ("search", "depth", "reason"),
    [
        (Deepening(), 9, StopReason.DEPTH),
        (Deepening(Limits(max_depth=4)), 4, StopReason.DEPTH),
        (Deepening(whole=3), 3, StopReason.FINISHED),
        (Deepening(last=5), 5, StopReason.TIME),
    ],
)
def test_a_deepening_search_reports_each_depth_once_and_ends_with_the_last_that_it_completed(search, depth, reason):
    reports = list(run(lambda: search))
    assert sorted({report.depth for report in reports}) == list(range(1, depth + 1))
    assert len(reports) == depth + (reason is StopReason.TIME)  # a depth begun in vain repeats the last one
    assert reports[-1].stop_reason is reason


def test_a_finished_game_has_one_report_without_a_move():
    assert game_over(Outcome.ONGOING, Side.PLAYER_ONE) is None
    lost = game_over(Outcome.PLAYER_TWO_WINS, Side.PLAYER_ONE)
    assert (lost.final, lost.move, lost.lines, lost.stop_reason) == (True, None, (), StopReason.NO_SEARCH)
    assert lost.score == Score(Side.PLAYER_ONE, Proven(Result.LOSS, 0), exact=True)
    assert game_over(Outcome.DRAW, Side.PLAYER_TWO).score.value == Proven(Result.DRAW, 0)


# --- Pausing ----------------------------------------------------------------------------------------------------------


def test_a_paused_search_makes_no_step_leaves_its_core_to_others_and_goes_on_where_it_was(monkeypatch):
    cores = Cores(2)
    monkeypatch.setattr(search_run, "CORES", cores)
    search = Counting(Limits(max_nodes=5))
    reports = run(lambda: search)
    assert next(reports).nodes == 1
    search.stop.pause()
    with ThreadPoolExecutor(1) as thread:
        rest = thread.submit(list, reports)
        assert not wait([rest], timeout=0.02).done
        assert (search.steps, cores.spare()) == (2, 2)  # paused after the step that it was in
        search.stop.resume()
        assert [report.nodes for report in rest.result(SOON)] == [2, 3, 4, 5]
    assert cores.spare() == 2


def test_a_paused_search_can_be_stopped():
    search = Counting()
    search.stop.pause()
    search.steps = 1
    search.stop.set()
    search.stop.pause()  # too late
    assert last_of(search).stop_reason is StopReason.STOPPED


def test_a_pause_and_a_stop_say_which_they_are():
    stop = Stop()
    stop.pause()
    assert (stop.is_paused(), stop.is_set()) == (True, False)
    stop.resume()
    assert (stop.is_paused(), stop.is_set(), stop.poll()) == (False, False, False)
    stop.set()
    stop.resume()
    assert (stop.is_paused(), stop.is_set(), stop.poll()) == (False, True, True)


def test_helpers_pause_with_their_search_and_stop_on_their_own():
    stop = Stop()
    first = stop.follower()
    first.set()
    stop.pause()
    second = stop.follower()
    assert (first.is_set(), second.is_paused()) == (True, True)
    stop.resume()
    assert (first.is_set(), second.is_paused(), second.is_set()) == (True, False, False)
    stop.set()
    assert not second.is_set()
