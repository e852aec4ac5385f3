"""Which reports are kept, under which question, and how many of them."""

import threading
from dataclasses import replace

import pytest

from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, Line, Proven, Report, Result, Score, StopReason, WinProbability
from plyd.servers.search.game_record import GameRecord
from plyd.servers.search.known.question import question_of
from plyd.servers.search.known.reports import ENTRY_BYTES, MAX_SHARE, BoundedTable, KnownReports
from tests.servers.fakes import FakeEngine

WIN = Score(Side.PLAYER_ONE, Proven(Result.WIN, 3), exact=True)
PROVEN = Report(WIN, "2", (Line(("2", "1", "2"), WIN),), nodes=9, stop_reason=StopReason.FINISHED)
NO_LIMITS = Limits()


def question(start="7 one", moves=(), variant="", limits=NO_LIMITS, **options):
    return question_of(GameRecord(FakeEngine(), variant, start, moves), options, limits)


def test_a_position_is_one_question_however_it_was_reached():
    assert question("7 one", ["1", "2"]) == question("7 one", ["2", "1"]) == question("4 one")


@pytest.mark.parametrize(
    "other",
    [
        question("6 one"),
        question("7 two"),
        question(variant="greedy"),
        question(limits=Limits(max_lines=2)),
        question(seed=1),
    ],
)
def test_another_position_variant_option_or_number_of_lines_is_another_question(other):
    assert other != question()


def test_time_memory_and_threads_do_not_make_another_question():
    assert question(limits=Limits(max_seconds=1.0), memory=64, threads=2, seed=1) == question(memory=8, seed=1)


@pytest.mark.parametrize("limits", [Limits(max_nodes=10), Limits(max_depth=3), Limits(max_seconds=1.0, max_nodes=10)])
def test_a_search_with_a_limit_on_nodes_or_depth_is_no_question_that_can_be_known(limits):
    assert question(limits=limits) is None


def test_a_proven_report_is_known():
    known = KnownReports()
    assert known.get(question()) is None
    known.put(question(), PROVEN)
    assert known.get(question()) is PROVEN


@pytest.mark.parametrize(
    "report",
    [
        replace(PROVEN, stop_reason=None),
        *(replace(PROVEN, stop_reason=reason) for reason in StopReason if reason is not StopReason.FINISHED),
        replace(PROVEN, score=Score(Side.PLAYER_ONE, WinProbability(0.5))),
    ],
)
def test_a_report_that_is_not_proven_is_never_kept(report):
    known = KnownReports()
    known.put(question(), report)
    assert len(known.table) == known.table.bytes == 0


def test_what_was_not_used_for_longest_is_forgotten_first():
    table = BoundedTable(MAX_SHARE * ENTRY_BYTES)
    for key in range(MAX_SHARE):
        table.put(key, str(key), 0)
    assert table.get(0) == "0"
    table.put(MAX_SHARE, "new", 0)
    assert [key for key in range(MAX_SHARE + 1) if table.get(key) is None] == [1]


def test_a_table_stays_within_its_bytes():
    table = BoundedTable(100 * ENTRY_BYTES)
    for key in range(1000):
        table.put(key, "x", key % 400)
        assert table.bytes <= table.max_bytes
    assert 0 < len(table) <= 100


def test_a_value_that_replaces_another_is_counted_once():
    table = BoundedTable()
    for size in (10, 20, 30):
        table.put("key", size, size)
    assert (len(table), table.bytes, table.get("key")) == (1, ENTRY_BYTES + 30, 30)


def test_one_huge_value_does_not_push_out_the_others():
    table = BoundedTable(1000 * ENTRY_BYTES)
    table.put("small", 1, 0)
    table.put("huge", 2, 500 * ENTRY_BYTES)
    assert (table.get("small"), table.get("huge")) == (1, None)


def test_several_threads_may_use_a_table():
    table = BoundedTable(MAX_SHARE * ENTRY_BYTES)

    def use(first):
        for key in range(first, first + 3000):
            table.put(key % 200, key, 0)
            table.get((key + 7) % 200)

    threads = [threading.Thread(target=use, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.bytes == len(table) * ENTRY_BYTES == MAX_SHARE * ENTRY_BYTES
