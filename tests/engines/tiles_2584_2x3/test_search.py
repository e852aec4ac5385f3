"""Searches of the 2x3 game: the exact one against the values of the solution, expectimax against a plain recursion."""

import functools
import random
import threading
import time
from dataclasses import replace

import pytest

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Clock, ExpectedPoints, Limits, Score, StopReason, Unreachable
from plyd.engines.core.time_control import ANSWER_SHARE
from plyd.engines.tiles_2584_2x3.rules import RULES
from tests.patience import LONG, SOON

ENOUGH = Limits(max_nodes=10**6)  # so that a search that should end by itself does not hang the tests if it is wrong
CLOSE = 1e-9

OPEN = "b 1 0 0 0 0 2"  # nobody searches this game to its end by looking ahead
MOVES_OF_OPEN = {"up", "right", "down", "left"}
OVER = "b 7 12 4 10 4 2"
IMPOSSIBLE = [
    "b 0 0 0 0 0 0",  # the player never faces an empty board
    "b 1 0 0 0 0 0",  # nor one tile
    "b 1 1 1 1 1 1",
    "a 1 2 1 2 1 2",  # an after-state has room for a drop
    "a 24 4 18 3 0 0",
    "b 13 0 0 0 0 1",
]


@pytest.fixture(params=["exact", "expectimax"])
def any_searcher(request, tiles_2584_2x3):
    return tiles_2584_2x3.searcher("classic", {"method": request.param})


@pytest.fixture
def exact(tiles_2584_2x3):
    return tiles_2584_2x3.searcher("classic", {"method": "exact"})


@pytest.fixture
def expectimax(tiles_2584_2x3):
    return tiles_2584_2x3.searcher("classic", {"method": "expectimax"})


def reports_of(searcher, text, limits=None, stop=None):
    return list(searcher.search(RULES.parse(text), limits or ENOUGH, stop or Stop()))


def points(value, *, exact):
    return Score(Side.PLAYER_ONE, ExpectedPoints(pytest.approx(value, abs=CLOSE)), exact)


def value_of(engine, position):
    """The batch's value of a position."""
    return float(engine.evaluate("classic", RULES.text(position).encode(), as_text=False, with_moves=False).values[0])


def values_of(engine, text):
    """Points and what follows, by move; straight from the rulebook and the batch."""
    position = RULES.parse(text)
    steps = {move.text: RULES.play(position, move.text) for move in RULES.legal_moves(position)}
    return {move: step.points + value_of(engine, step.position) for move, step in steps.items()}


def random_positions(seed, count):
    """Positions that occur in random play, of both kinds and all phases, none of them over."""
    rng, seen = random.Random(seed), []
    for _ in range(40):
        position = RULES.start()
        while RULES.outcome(position) is Outcome.ONGOING:
            if sum(index > 0 for index in position.cells) > 1:
                seen.append(RULES.text(position))
            moves = RULES.legal_moves(position)
            weights = [move.probability or 1 for move in moves]
            position = RULES.play(position, rng.choices(moves, weights)[0].text).position
    return rng.sample(sorted(set(seen)), count)


# --- Nothing to search ------------------------------------------------------------------------------------------------


def test_a_finished_game_gives_one_final_report_without_move(any_searcher):
    # 7 12  4
    # 10 4  2
    (report,) = reports_of(any_searcher, OVER)
    assert report.stop_reason is StopReason.NO_SEARCH
    assert report.final
    assert (report.move, report.lines) == (None, ())
    assert report.score == points(0.0, exact=True)


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_a_position_that_cannot_occur_has_no_value(any_searcher, text):
    (report,) = reports_of(any_searcher, text)
    assert report.stop_reason is StopReason.NO_SEARCH
    assert (report.move, report.lines) == (None, ())
    assert report.score == Score(Side.PLAYER_ONE, Unreachable(), exact=True)


# --- Exact ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["b 2 2 0 0 0 0", "b 0 0 0 0 4 2", OPEN, *random_positions(1, 30)])
def test_the_exact_search_ranks_every_move_by_its_true_worth(exact, tiles_2584_2x3, text):
    values = values_of(tiles_2584_2x3, text)
    (report,) = reports_of(exact, text, Limits(max_lines=99))
    assert report.stop_reason is StopReason.FINISHED
    assert report.score == points(value_of(tiles_2584_2x3, RULES.parse(text)), exact=True)
    assert {line.moves for line in report.lines} == {(move,) for move in values}
    for line in report.lines:
        assert line.score == points(values[line.moves[0]], exact=True)
    if text.startswith("b"):
        in_order = [values[line.moves[0]] for line in report.lines]
        assert in_order == sorted(in_order, reverse=True)
        assert report.move == report.lines[0].moves[0]
        assert values[report.move] == pytest.approx(max(values.values()), abs=CLOSE)
        assert report.score == report.lines[0].score


def test_the_exact_search_knows_a_known_answer(exact):
    # 2 2 .
    # . . .
    (report,) = reports_of(exact, "b 2 2 0 0 0 0")
    assert report.score.value.points == pytest.approx(1422.339261, abs=1e-6)
    assert report.score.exact
    assert report.move in ("right", "down")  # up and left change nothing
    assert report.seconds < SOON


def test_the_exact_search_takes_the_merge_that_ends_the_game_richest(exact):
    # 3 6 3  only the left and the right column merge, up or down: 2 + 3 = 5
    # 2 4 1
    (report,) = reports_of(exact, "b 3 6 3 2 4 1", Limits(max_lines=4))
    assert {line.moves[0] for line in report.lines} == {"up", "down"}
    assert report.score == points(5.0, exact=True)


@pytest.mark.parametrize(("max_lines", "lines"), [(1, 1), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_max_lines_bounds_the_lines_and_keeps_the_best(exact, tiles_2584_2x3, max_lines, lines):
    # . 2 .
    # . . 1
    text = "b 0 2 0 0 0 1"
    values = values_of(tiles_2584_2x3, text)
    (report,) = reports_of(exact, text, Limits(max_lines=max_lines))
    assert len(values) == 4
    assert len(report.lines) == lines
    best = sorted(values.values(), reverse=True)[:lines]
    assert [line.score.value.points for line in report.lines] == pytest.approx(best, abs=CLOSE)


def test_slides_have_no_probability(exact):
    (report,) = reports_of(exact, OPEN, Limits(max_lines=4))
    assert [line.probability for line in report.lines] == [None] * 4


def test_an_after_state_lists_its_drops_likeliest_first_and_is_worth_their_mean(exact, tiles_2584_2x3):
    # 5 1 6
    # . 12 .
    text = "a 5 1 6 0 12 0"
    values = values_of(tiles_2584_2x3, text)
    (report,) = reports_of(exact, text, Limits(max_lines=9))
    assert report.move is None
    assert report.score.value.points == pytest.approx(316.0030443, abs=1e-7)
    chances = {"1@3": 0.45, "1@5": 0.45, "2@3": 0.05, "2@5": 0.05}
    assert {line.moves: line.probability for line in report.lines} == {
        (drop,): pytest.approx(chance) for drop, chance in chances.items()
    }
    assert [line.probability for line in report.lines] == pytest.approx([0.45, 0.45, 0.05, 0.05])
    for line in report.lines:
        assert line.score == points(values[line.moves[0]], exact=True)
    mean = sum(chances[drop] * values[drop] for drop in chances)
    assert report.score == points(mean, exact=True)


def test_an_after_states_lines_are_cut_to_the_likeliest(exact):
    (report,) = reports_of(exact, "a 5 1 6 0 12 0", Limits(max_lines=2))
    assert [line.moves for line in report.lines] == [("1@3",), ("1@5",)]
    assert report.score.value.points == pytest.approx(316.0030443, abs=1e-7), "the mean is still over all drops"


def test_the_empty_board_is_worth_the_start(exact):
    (report,) = reports_of(exact, "a 0 0 0 0 0 0", Limits(max_lines=99))
    assert report.move is None
    assert report.score.value.points == pytest.approx(1425.817561, abs=1e-6)
    assert [line.moves[0] for line in report.lines] == [f"{index}@{cell}" for index in (1, 2) for cell in range(6)]
    assert [line.probability for line in report.lines] == pytest.approx([0.15] * 6 + [0.1 / 6] * 6)
    mean = sum(line.probability * line.score.value.points for line in report.lines)
    assert report.score == points(mean, exact=True)


@pytest.mark.parametrize("text", ["a 1 0 0 0 0 0", "a 0 0 0 0 1 0", "a 2 0 0 0 0 0", "a 0 2 0 0 0 0"])
def test_an_opening_board_of_one_tile_is_worth_the_mean_over_its_second_drop(exact, tiles_2584_2x3, text):
    values = values_of(tiles_2584_2x3, text)
    mean = sum((0.9 if drop[0] == "1" else 0.1) * worth for drop, worth in values.items()) / 5
    (report,) = reports_of(exact, text, Limits(max_lines=10))
    assert len(report.lines) == 10
    assert report.score == points(mean, exact=True)


def test_the_exact_search_answers_whatever_the_limits(exact):
    stop = Stop()
    stop.set()
    limits = Limits(max_seconds=0.0, max_nodes=1, max_depth=1)
    (report,) = reports_of(exact, OPEN, limits, stop)
    assert report.stop_reason is StopReason.FINISHED
    assert report.move is not None


# --- Expectimax: its values -------------------------------------------------------------------------------------------


@functools.cache
def looked_ahead(position, depth):
    """Points within `depth` slides: v(before) = max of points + v(after), v(after) = mean of v(before)."""
    steps = [(move.probability, RULES.play(position, move.text)) for move in RULES.legal_moves(position)]
    if depth == 0 or not steps:
        return 0.0
    if position.before:
        return max(step.points + looked_ahead(step.position, depth - 1) for _, step in steps)
    return sum(chance * looked_ahead(step.position, depth) for chance, step in steps)


@pytest.mark.parametrize("text", ["a 0 0 0 0 0 0", "a 0 1 0 0 0 0", *random_positions(2, 20)])
def test_expectimax_is_the_plain_recursion(expectimax, text):
    position = RULES.parse(text)
    deepest = 1 if text.count(" 0") > 4 else 2 if text.count(" 0") > 3 else 3
    reports = reports_of(expectimax, text, Limits(max_depth=deepest, max_lines=99))
    assert reports[-1].depth > 0
    for report in reports:
        assert report.score.value.points == pytest.approx(looked_ahead(position, report.depth), abs=CLOSE)
        slides = 1 if position.before else 0
        for line in report.lines:
            step = RULES.play(position, line.moves[0])
            worth = step.points + looked_ahead(step.position, report.depth - slides)
            assert line.score.value.points == pytest.approx(worth, abs=CLOSE)
        assert {line.moves[0] for line in report.lines} == {move.text for move in RULES.legal_moves(position)}
        assert report.move == (report.lines[0].moves[0] if position.before else None)


def test_expectimax_reports_each_depth_once_and_then_the_end(expectimax):
    reports = reports_of(expectimax, OPEN, Limits(max_depth=3))
    assert [report.depth for report in reports] == [1, 2, 3]
    assert [report.final for report in reports] == [False, False, True]
    assert reports[-1].stop_reason is StopReason.DEPTH
    assert not reports[-1].score.exact
    nodes = [report.nodes for report in reports]
    assert nodes == sorted(nodes)
    assert nodes[-1] > 1000


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_expectimax_stops_at_its_depth(expectimax, depth):
    last = reports_of(expectimax, OPEN, Limits(max_depth=depth))[-1]
    assert (last.depth, last.stop_reason) == (depth, StopReason.DEPTH)


def test_expectimax_keeps_to_max_lines(expectimax):
    for report in reports_of(expectimax, OPEN, Limits(max_depth=2, max_lines=2)):
        assert len(report.lines) == 2


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        # 1 6 .    a drop, then a slide at most
        # 4 6 3
        ("a 1 6 0 4 6 3", 2),
        # 2 6 1    two slides more at most
        # 1 6 3
        ("b 2 6 1 1 6 3", 3),
        ("a 2 6 1 0 6 3", 3),
        # 1 6 1    three slides more at most
        # 4 6 1
        ("b 1 6 1 4 6 1", 4),
        ("a 1 6 1 4 6 0", 4),
        # 3 6 3    one slide, and whatever drops, it is over
        # 2 4 1
        ("b 3 6 3 2 4 1", 2),
    ],
)
def test_a_nearly_finished_game_is_searched_to_its_end_and_exact(expectimax, tiles_2584_2x3, text, depth):
    reports = reports_of(expectimax, text, replace(ENOUGH, max_lines=99))
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    assert [report.score.exact for report in reports] == [False] * (len(reports) - 1) + [True]
    last = reports[-1]
    assert (last.stop_reason, last.depth) == (StopReason.FINISHED, depth)
    assert last.score == points(value_of(tiles_2584_2x3, RULES.parse(text)), exact=True)
    values = values_of(tiles_2584_2x3, text)
    assert {line.moves[0]: line.score for line in last.lines} == {
        move: points(worth, exact=True) for move, worth in values.items()
    }


# --- Expectimax: its limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_nodes", [1, 2, 100, 1023, 1024, 1025, 50_000])
def test_expectimax_keeps_to_its_nodes_and_finds_the_same_again(expectimax, max_nodes):
    once, again = (
        [replace(report, seconds=0.0) for report in reports_of(expectimax, OPEN, Limits(max_nodes=max_nodes))]
        for _ in range(2)
    )
    assert once == again
    assert once[-1].stop_reason is StopReason.NODES
    assert max(report.nodes for report in once) <= max_nodes
    assert once[-1].move is not None


def test_more_nodes_look_deeper(expectimax):
    depths = [reports_of(expectimax, OPEN, Limits(max_nodes=nodes))[-1].depth for nodes in (10, 1_000, 100_000)]
    assert depths == sorted(set(depths))


def test_the_same_searcher_serves_one_search_after_another(expectimax):
    def last(text):
        return replace(reports_of(expectimax, text, Limits(max_nodes=5000))[-1], seconds=0.0)

    first = last(OPEN)
    other = last("a 5 1 6 0 12 0")
    assert last(OPEN) == first != other


def test_expectimax_told_to_stop_before_it_begins_still_answers(expectimax):
    stop = Stop()
    stop.set()
    began = time.monotonic()
    reports = reports_of(expectimax, OPEN, Limits(max_seconds=LONG), stop)
    assert time.monotonic() - began < SOON
    assert reports[-1].stop_reason is StopReason.STOPPED
    assert reports[-1].move in MOVES_OF_OPEN
    assert reports[-1].nodes <= 1024, "the flag is looked at every 1024 nodes"


def test_expectimax_told_to_stop_by_another_thread_ends_soon(expectimax):
    stop = Stop()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    reports = reports_of(expectimax, OPEN, Limits(max_seconds=LONG), stop)
    timer.join()
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    assert reports[-1].stop_reason is StopReason.STOPPED
    assert reports[-1].move in MOVES_OF_OPEN
    assert reports[-1].depth >= 1


def test_expectimax_told_to_stop_between_two_reports_ends_with_the_next(expectimax):
    stop = Stop()
    running = expectimax.search(RULES.parse(OPEN), Limits(max_seconds=LONG), stop)
    report = next(running)
    while report.nodes < 1024:
        report = next(running)
    stop.set()
    (last,) = running
    assert last.stop_reason is StopReason.STOPPED
    assert (last.depth, last.move, last.score) == (report.depth, report.move, report.score)


@pytest.mark.parametrize(
    ("limits", "at_least"),
    [
        (Limits(max_seconds=0.05), 0.05),
        (Limits(max_seconds=0.0), 0.0),
        (Limits(clock=Clock(remaining_seconds=1.5)), 0.075),  # a twentieth
        (Limits(clock=Clock(remaining_seconds=0.15, moves_to_go=1)), 0.1),  # all but a safety margin
        (Limits(max_seconds=0.05, clock=Clock(remaining_seconds=1000)), 0.05),  # whichever binds first
    ],
)
def test_expectimax_ends_when_its_time_is_up(expectimax, limits, at_least):
    began = time.monotonic()
    last = reports_of(expectimax, OPEN, replace(limits, max_nodes=10**9))[-1]
    assert last.stop_reason is StopReason.TIME
    assert (1 - ANSWER_SHARE) * at_least <= last.seconds <= time.monotonic() - began < SOON
    assert last.move in MOVES_OF_OPEN


@pytest.mark.parametrize("max_seconds", [3.2e9, 1e10, 9.2e18])
def test_more_time_than_a_kernels_clock_can_count_is_time_enough(expectimax, max_seconds):
    last = reports_of(expectimax, OPEN, Limits(max_seconds=max_seconds, max_nodes=2000))[-1]
    assert last.stop_reason is StopReason.NODES


def test_expectimax_of_an_after_state_has_no_move_of_its_own(expectimax):
    last = reports_of(expectimax, "a 5 1 6 0 12 0", Limits(max_nodes=5000, max_lines=9))[-1]
    assert last.move is None
    assert [line.moves[0] for line in last.lines] == ["1@3", "1@5", "2@3", "2@5"]
    mean = sum(line.probability * line.score.value.points for line in last.lines)
    assert last.score == points(mean, exact=False)
