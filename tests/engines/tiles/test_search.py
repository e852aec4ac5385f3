"""The search of tile games against plain expectimax from the rulebook, and the searcher's own promises."""

import functools
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from plyd.engines.core.errors import BadOption
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Side
from plyd.engines.core.search import ExpectedPoints, Limits, StopReason
from plyd.engines.tiles.rulebook import SLIDES, Position
from plyd.engines.tiles.search import root
from plyd.engines.tiles.search.expectimax import (
    COMPLETED,
    MAX_DEPTH,
    OUT_OF_NODES,
    TOLD_TO_STOP,
    WIDE,
    DepthPolicy,
    ExpectimaxLimit,
    memory_for,
    shared,
)
from plyd.engines.tiles.search.root import search_each_drop, search_each_slide
from plyd.engines.tiles.search.searcher import ENTRY_BYTES, OPTIONS, TileRun, TileSearcher
from tests.engines.tiles.slow_search import SlowSearch
from tests.engines.tiles.slow_tiles import GAMES, played_boards, random_boards
from tests.engines.tiles.small_players import VARIANTS, random_player, slow_value
from tests.patience import LONG, SOON, until

EMPTY = Position(before=False, cells=(0,) * 16)


@pytest.fixture(params=VARIANTS, ids=" ".join)
def player(request):
    return random_player(*request.param)


@pytest.fixture(params=[False, True], ids=["chance", "evil"])
def evil(request):
    return request.param


def no_limit(nodes=NEVER):
    return ExpectimaxLimit(np.int64(NEVER), np.int64(nodes), np.zeros(1, np.uint8))


def slides_by_kernel(player, cells, depth, *, evil=False, adaptive=False, reduced=False, memory=None, weights=None):
    """The worth of each legal slide, as the kernel has it."""
    game, values = player.game, np.empty(4)
    memory = memory or memory_for(player.model.shape, 1 << 14)
    memory.counts[1] += 1
    policy = DepthPolicy(np.int64(depth), evil, adaptive, reduced)
    model = player.model if weights is None else player.model._replace(weights=weights)
    assert search_each_slide(model, policy, game.board(cells), no_limit(), memory, values) == COMPLETED
    return {word: worth for word, worth in zip(SLIDES, values.tolist(), strict=True) if not np.isnan(worth)}


def drops_by_kernel(player, cells, depth, *, evil=False):
    """What each drop leaves the player, as the kernel has it."""
    game, values = player.game, np.empty((2, 16))
    policy, memory = DepthPolicy(np.int64(depth), evil, False), memory_for(player.model.shape, 1 << 14)
    assert search_each_drop(player.model, policy, game.board(cells), no_limit(), memory, values) == COMPLETED
    return {
        f"{index}@{cell}": float(values[tile, cell])
        for tile, index in enumerate(game.variants[player.variant].spawns)
        for cell in range(16)
        if not np.isnan(values[tile, cell])
    }


SLOW = {}


def slow_search(player, evil=False, wide=17, reduced=False):
    key = id(player), evil, wide, reduced
    if key not in SLOW:
        SLOW[key] = SlowSearch(player.game.variants[player.variant], slow_value(player), evil, wide, reduced)
    return SLOW[key]


@functools.cache
def boards_of_random_play(name):
    return played_boards(GAMES[name], 1500, seed=11)


def boards_with(player, count, fewest, most):
    """Boards of random play with so many empty cells."""
    boards = boards_of_random_play(player.game.name)
    found = [cells for cells in boards[7:] if fewest <= cells.count(0) <= most][:: 4 + fewest][:count]
    assert len(found) == count
    return found


def close(values):
    return pytest.approx(values, rel=1e-5, abs=0.05)


# --- Against plain expectimax -----------------------------------------------------------------------------------------


def test_a_search_of_depth_1_gives_points_and_value_of_each_slide(player, evil):
    for cells in played_boards(player.game, 60, seed=3) + random_boards(player.game, 60, seed=4):
        assert slides_by_kernel(player, cells, 1, evil=evil) == close(slow_search(player, evil).slides(cells, 1))


def test_a_search_of_depth_2_equals_plain_expectimax(player, evil):
    boards = boards_with(player, 8, 0, 3) + boards_with(player, 3, 5, 9) + random_boards(player.game, 14, seed=4)[1:]
    for cells in boards:
        assert slides_by_kernel(player, cells, 2, evil=evil) == close(slow_search(player, evil).slides(cells, 2))


def test_a_search_of_depth_3_equals_plain_expectimax(player, evil):
    for cells in boards_with(player, 4, 0, 1) + boards_with(player, 1, 2, 2):
        assert slides_by_kernel(player, cells, 3, evil=evil) == close(slow_search(player, evil).slides(cells, 3))


def test_a_search_of_depth_4_equals_plain_expectimax(evil):
    #  1  5  7 12      nearly full, and one slide away from the end
    #  5  7 12  9
    #  1 12  9  5
    #  1  3  5  7
    player, cells = random_player("2048", "classic"), (1, 5, 7, 12, 5, 7, 12, 9, 1, 12, 9, 5, 1, 3, 5, 7)
    assert slides_by_kernel(player, cells, 4, evil=evil) == close(slow_search(player, evil).slides(cells, 4))


def test_an_adaptive_search_looks_less_far_where_much_is_free(player, evil):
    boards = boards_with(player, 2, 0, 1) + boards_with(player, 2, WIDE - 1, WIDE - 1) + boards_with(player, 2, 9, 11)
    differs = False
    for cells in boards:
        slow = slow_search(player, evil, WIDE).slides(cells, 3)
        assert slides_by_kernel(player, cells, 3, evil=evil, adaptive=True) == close(slow)
        if cells.count(0) >= 9:
            assert slow == slow_search(player, evil).slides(cells, 2), "every after-state is wide"
        differs |= slow != slow_search(player, evil).slides(cells, 2)
    assert differs


def test_a_reduced_search_looks_at_the_rare_tile_one_slide_less_deep(player, evil):
    slow, differs = slow_search(player, evil, reduced=True), False
    for cells in boards_with(player, 4, 0, 1) + boards_with(player, 1, 2, 2):
        for depth in (1, 2, 3):
            assert slides_by_kernel(player, cells, depth, evil=evil, reduced=True) == close(slow.slides(cells, depth))
        differs |= slow.slides(cells, 3) != slow_search(player, evil).slides(cells, 3)
        assert slow.slides(cells, 2) == slow_search(player, evil).slides(cells, 2), "at least one slide after a drop"
    assert differs


def test_a_reduced_search_of_depth_4_equals_plain_recursion(evil):
    player, cells = random_player("2048", "classic"), (1, 5, 7, 12, 5, 7, 12, 9, 1, 12, 9, 5, 1, 3, 5, 7)
    slow = slow_search(player, evil, reduced=True).slides(cells, 4)
    assert slides_by_kernel(player, cells, 4, evil=evil, reduced=True) == close(slow)


def test_a_search_looks_less_at_a_rare_tile_only_if_it_is_rare_enough():
    assert [searcher_of(random_player(*each)).reduced for each in VARIANTS] == [True, True, False]
    assert not searcher_of(random_player("2048", "classic"), reduce_rare=False).reduced


def test_a_search_looks_less_at_a_rare_tile_unless_a_depth_is_asked_for():
    player = random_player("2048", "classic")
    (cells,) = boards_with(player, 1, 2, 2)
    counts = {}
    for reduce_rare in (True, False):
        searcher = searcher_of(player, adaptive=False, reduce_rare=reduce_rare)
        deepest = {report.depth: report for report in reports_of(searcher, before(cells), max_nodes=50_000)}
        in_full = reports_of(searcher, before(cells), max_depth=3)[-1]
        assert points_of(in_full) == max(slides_by_kernel(player, cells, 3).values())
        counts[reduce_rare] = max(deepest)
        expected = slides_by_kernel(player, cells, 3, reduced=reduce_rare)
        assert points_of(deepest[3]) == max(expected.values())
    assert counts[True] >= counts[False]


def test_weights_in_full_and_in_steps_give_the_same_worths():
    player = random_player("2048", "classic")
    in_full = player.model.weights.counts * player.model.weights.step
    assert in_full.dtype == np.float32
    for cells in boards_with(player, 10, 0, 5):
        in_steps = slides_by_kernel(player, cells, 2)
        assert slides_by_kernel(player, cells, 2, weights=in_full) == close(in_steps)


def test_the_table_changes_no_worth(player, evil):
    tiny, large = memory_for(player.model.shape, 2), memory_for(player.model.shape, 1 << 16)
    for cells in boards_with(player, 10, 0, 2) + boards_with(player, 2, 3, 4):
        for depth, adaptive in ((2, False), (3, False), (4, True)):
            searched = [
                slides_by_kernel(player, cells, depth, evil=evil, adaptive=adaptive, memory=memory)
                for memory in (tiny, large, large)
            ]
            assert searched[0] == searched[1] == searched[2]


def test_a_large_table_saves_before_states(player):
    (cells,) = boards_with(player, 1, 4, 4)
    counts = []
    for entries in (2, 1 << 16):
        memory = memory_for(player.model.shape, entries)
        slides_by_kernel(player, cells, 3, memory=memory)
        counts.append(int(memory.counts[0]))
    assert counts[0] > 1.2 * counts[1]


def test_chance_and_evil_do_not_share_what_the_table_knows():
    player = random_player("2584", "hard")
    (cells,), memory = boards_with(player, 1, 2, 2), memory_for(player.model.shape, 1 << 16)
    for evil in (False, True, False):
        known = slides_by_kernel(player, cells, 3, evil=evil, memory=memory)
        assert known == close(slow_search(player, evil).slides(cells, 3))


def test_worths_below_zero_are_not_taken_for_zero(evil):
    for name, variant in VARIANTS:
        player = random_player(name, variant, mean=-300.0, spread=20.0)
        for cells in boards_with(player, 4, 1, 2):
            for depth in (1, 2, 3):
                slow = slow_search(player, evil).slides(cells, depth)
                assert slides_by_kernel(player, cells, depth, evil=evil) == close(slow)
            assert max(slow.values()) < -1000


def test_a_before_state_without_a_slide_is_worth_0_even_if_all_others_are_worth_less(evil):
    # One slide is legal, and it leaves one empty cell: a drop of 1 there ends the game, a drop of 2 does not.
    player = random_player("2048", "classic", mean=-300.0, spread=20.0)
    cells = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 9, 9)
    slow = slow_search(player, evil).slides(cells, 2)
    assert slides_by_kernel(player, cells, 2, evil=evil) == close(slow)
    assert slow["left"] == pytest.approx(1024, abs=400), "mostly the points of the slide: the rest is over"


def test_drops_leave_the_player_what_plain_expectimax_says(player, evil):
    slow = slow_search(player, evil)
    for cells in boards_with(player, 3, 1, 2) + boards_with(player, 1, 4, 4):
        for depth in (1, 2):
            expected = {}
            for index in player.game.variants[player.variant].spawns:
                expected |= slow.drops(cells, index, depth)
            assert drops_by_kernel(player, cells, depth, evil=evil) == close(expected)


@pytest.mark.parametrize("nodes", [0, 1, 63, 64, 1000])
def test_a_kernel_out_of_nodes_says_so_and_went_one_too_far_at_most(player, nodes):
    (cells,), memory, game = boards_with(player, 1, 5, 5), memory_for(player.model.shape, 1 << 14), player.game
    policy = DepthPolicy(np.int64(5), False, False)
    status = search_each_slide(player.model, policy, game.board(cells), no_limit(nodes), memory, np.empty(4))
    assert status == OUT_OF_NODES
    assert nodes <= memory.counts[0] <= nodes + 1


def test_a_kernel_told_to_stop_says_so_within_64_before_states(player):
    (cells,), memory, game = boards_with(player, 1, 5, 5), memory_for(player.model.shape, 1 << 14), player.game
    policy = DepthPolicy(np.int64(5), False, False)
    limit = ExpectimaxLimit(np.int64(NEVER), np.int64(NEVER), np.ones(1, np.uint8))
    assert search_each_slide(player.model, policy, game.board(cells), limit, memory, np.empty(4)) == TOLD_TO_STOP
    assert memory.counts[0] <= 64


# --- The searcher -----------------------------------------------------------------------------------------------------


def searcher_of(player, **options):
    values = read_options(OPTIONS, {name: str(value).lower() for name, value in options.items()})
    return TileSearcher(player, values, values["memory"])


def reports_of(searcher, position, **limits):
    return list(searcher.search(position, Limits(**limits), Stop()))


def before(cells):
    return Position(before=True, cells=cells)


def some_after(player, fewest=3, most=5, at=0):
    """A board of random play after a slide."""
    rules = player.game.rules
    for cells in boards_with(player, 10, fewest, most)[at:]:
        moves = rules.legal_moves(before(cells))
        if moves:
            return rules.play(before(cells), moves[0].text).position
    raise AssertionError


def points_of(report):
    return report.score.value.points


def environment_of(evil):
    return "evil" if evil else "chance"


def test_a_searcher_gives_the_worths_of_plain_expectimax_best_slide_first(player, evil):
    searcher = searcher_of(player, environment=environment_of(evil))
    for cells in boards_with(player, 4, 1, 2):
        slow = slow_search(player, evil).slides(cells, 2)
        last = reports_of(searcher, before(cells), max_depth=2, max_lines=4)[-1]
        assert {line.moves[0]: line.score.value.points for line in last.lines} == close(slow)
        values = [line.score.value.points for line in last.lines]
        assert values == sorted(values, reverse=True)
        assert (last.move, points_of(last)) == (last.lines[0].moves[0], values[0])
        assert last.score.point_of_view is Side.PLAYER_ONE
        assert not last.score.exact
        assert {line.depth for line in last.lines} == {2}


def test_reports_deepen_by_one_and_stop_at_the_depth_asked_for(player):
    (cells,) = boards_with(player, 1, 2, 2)
    reports = reports_of(searcher_of(player), before(cells), max_depth=4)
    assert [report.depth for report in reports] == [1, 2, 3, 4]
    assert [report.final for report in reports] == [False, False, False, True]
    assert reports[-1].stop_reason is StopReason.DEPTH
    nodes, seconds = [report.nodes for report in reports], [report.seconds for report in reports]
    assert nodes == sorted(nodes)
    assert nodes[-1] > nodes[0] == 0
    assert seconds == sorted(seconds)


def test_a_depth_that_is_asked_for_is_searched_in_full_whatever_is_free(player):
    (cells,) = boards_with(player, 1, WIDE, WIDE)
    searcher = searcher_of(player, adaptive=True)
    last = reports_of(searcher, before(cells), max_depth=3)[-1]
    in_full = slides_by_kernel(player, cells, 3)
    assert points_of(last) == max(in_full.values()) != max(slides_by_kernel(player, cells, 3, adaptive=True).values())


def test_without_a_depth_asked_for_the_option_decides_whether_the_search_is_adaptive(player):
    (cells,) = boards_with(player, 1, WIDE, WIDE)
    for adaptive in (False, True):
        searcher = searcher_of(player, adaptive=adaptive, reduce_rare=False)
        third = next(r for r in searcher.search(before(cells), Limits(), Stop()) if r.depth == 3)
        assert points_of(third) == max(slides_by_kernel(player, cells, 3, adaptive=adaptive).values())


@pytest.mark.parametrize("letter", "ba")
@pytest.mark.parametrize("nodes", [1, 500, 20_000])
def test_a_search_with_so_many_nodes_takes_no_more(player, nodes, letter):
    position = some_after(player) if letter == "a" else before(boards_with(player, 1, 4, 4)[0])
    last = reports_of(searcher_of(player), position, max_nodes=nodes)[-1]
    assert last.stop_reason is StopReason.NODES
    assert last.nodes <= nodes + 1
    assert last.depth >= 1
    assert last.lines


def test_a_search_with_so_much_time_takes_about_that(player):
    (cells,) = boards_with(player, 1, 8, 8)
    searcher = searcher_of(player)
    reports_of(searcher, before(cells), max_depth=2)
    began = time.monotonic()
    last = reports_of(searcher, before(cells), max_seconds=0.2)[-1]
    took = time.monotonic() - began
    assert last.stop_reason is StopReason.TIME
    assert 0.19 < last.seconds <= took < SOON
    assert last.depth >= 1


def test_a_search_with_no_time_at_all_still_gives_the_best_slide_at_first_sight(player, evil):
    (cells,) = boards_with(player, 1, 4, 4)
    last = reports_of(searcher_of(player, environment=environment_of(evil)), before(cells), max_seconds=0.0)[-1]
    values = slides_by_kernel(player, cells, 1)
    assert (last.move, last.depth, last.stop_reason) == (max(values, key=values.get), 1, StopReason.TIME)


def test_a_search_ends_soon_after_it_is_told_to_stop(player):
    (cells,) = boards_with(player, 1, 8, 8)
    stop, reports = Stop(), []
    searcher = searcher_of(player)
    work = threading.Thread(target=lambda: reports.extend(searcher.search(before(cells), Limits(), stop)), daemon=True)
    work.start()
    time.sleep(0.1)
    stop.set()
    work.join(SOON)
    assert not work.is_alive()
    assert reports[-1].stop_reason is StopReason.STOPPED
    assert reports[-1].move in slides_by_kernel(player, cells, 1)


def test_a_report_that_ended_early_tells_of_the_last_depth_that_was_completed(player):
    (cells,) = boards_with(player, 1, 4, 4)
    *others, last = reports_of(searcher_of(player), before(cells), max_nodes=5000)
    deepest = others[-1]
    assert (last.depth, last.move, last.score, last.lines) == (
        deepest.depth,
        deepest.move,
        deepest.score,
        deepest.lines,
    )
    assert last.nodes >= deepest.nodes


def test_lines_of_play_are_legal_moves_in_order_no_longer_than_was_searched(player, evil):
    rules = player.game.variants[player.variant]
    searcher = searcher_of(player, environment=environment_of(evil))
    lengths = set()
    for cells in boards_with(player, 8, 0, 5):
        for report in reports_of(searcher, before(cells), max_depth=3, max_lines=4):
            for line in report.lines:
                position = before(cells)
                for move in line.moves:
                    assert move in {legal.text for legal in rules.legal_moves(position)}
                    position = rules.play(position, move).position
                assert 1 <= len(line.moves) <= 2 * report.depth - 1
                lengths.add(len(line.moves))
    assert {1, 3, 5} <= lengths


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_no_more_lines_are_given_than_are_asked_for(player, most):
    (cells,) = boards_with(player, 1, 4, 4)
    for position, moves in ((before(cells), len(slides_by_kernel(player, cells, 1))), (EMPTY, 32)):
        last = reports_of(searcher_of(player), position, max_depth=1, max_lines=most)[-1]
        assert len(last.lines) == min(most, moves)


# --- The environment's turn -------------------------------------------------------------------------------------------


def test_chance_has_no_move_of_its_own_and_its_drops_come_by_likelihood(player):
    rules, position = player.game.variants[player.variant], some_after(player)
    last = reports_of(searcher_of(player), position, max_depth=2, max_lines=100)[-1]
    odds = {move.text: move.probability for move in rules.legal_moves(position)}
    assert last.move is None
    assert {line.moves: line.probability for line in last.lines} == {(text,): odds[text] for text in odds}
    chances = [line.probability for line in last.lines]
    assert chances == sorted(chances, reverse=True)
    assert points_of(last) == close(sum(line.probability * line.score.value.points for line in last.lines))
    assert points_of(last) == close(slow_search(player).after(position.cells, 2))


@pytest.mark.parametrize("asked", ["default", "common", "rare"])
@pytest.mark.parametrize("depth", [1, 2])
def test_evil_drops_the_asked_tile_where_it_leaves_the_player_least(player, asked, depth):
    spawns = player.game.variants[player.variant].spawns
    common, rare = spawns
    tile = rare if asked == "rare" else common
    options = {} if asked == "default" else {"tile": tile}
    searcher, slow = searcher_of(player, environment="evil", **options), slow_search(player, evil=True)
    for at in range(3):
        position = some_after(player, 2, 3, at)
        last = reports_of(searcher, position, max_depth=depth, max_lines=100)[-1]
        drops = {index: slow.drops(position.cells, index, depth) for index in spawns}
        assert last.move == last.lines[0].moves[0]
        assert last.move.startswith(f"{tile}@")
        assert drops[tile][last.move] == close(min(drops[tile].values()))
        assert points_of(last) == close(sum(chance * min(drops[index].values()) for index, chance in spawns.items()))
        listed = {line.moves[0]: line.score.value.points for line in last.lines}
        assert listed == close(drops[common] | drops[rare])
        asked_first = [move.startswith(f"{tile}@") for move in listed]
        assert asked_first == sorted(asked_first, reverse=True)
        assert {line.probability for line in last.lines} == {None}


def test_a_tile_that_the_environment_never_drops_is_refused(player):
    common, rare = player.game.variants[player.variant].spawns
    with pytest.raises(BadOption, match=f"option tile is 7; .*: {common} or {rare}"):
        searcher_of(player, environment="evil", tile=7)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_first_drop_is_worth_what_the_second_leaves_on_average(player, depth):
    last = reports_of(searcher_of(player), EMPTY, max_depth=depth, max_lines=100)[-1]
    rules, slow = player.game.variants[player.variant], slow_search(player)
    assert (last.move, last.depth, len(last.lines)) == (None, depth, 32)
    for line in last.lines[::9]:
        one_tile = rules.play(EMPTY, line.moves[0]).position
        if depth == 1:
            assert line.score.value.points == close(slow.after(one_tile.cells, 1))
        assert not one_tile.before
    assert points_of(last) == close(sum(line.probability * line.score.value.points for line in last.lines))


@pytest.mark.parametrize("letter", "ba")
def test_a_board_with_one_tile_is_searched(player, evil, letter):
    position = Position(before=letter == "b", cells=(0,) * 5 + (1,) + (0,) * 10)
    last = reports_of(searcher_of(player, environment=environment_of(evil)), position, max_depth=2, max_lines=100)[-1]
    assert last.depth == 2
    assert len(last.lines) == (4 if letter == "b" else 30)
    assert (last.move is None) == (letter == "a" and not evil)


def test_evil_has_a_move_on_the_empty_board_too(player):
    last = reports_of(searcher_of(player, environment="evil"), EMPTY, max_depth=1, max_lines=1)[-1]
    assert last.move.startswith("1@")


@pytest.mark.parametrize("letter", "ba")
def test_a_finished_game_has_one_report_and_0_points_to_come(player, evil, letter):
    full = (4, 7, 4, 7, 7, 4, 7, 4) * 2
    (report,) = reports_of(
        searcher_of(player, environment=environment_of(evil)), Position(before=letter == "b", cells=full)
    )
    assert report.stop_reason is StopReason.NO_SEARCH
    assert (report.move, report.lines, report.nodes, report.depth) == (None, (), 0, 0)
    assert report.score.value == ExpectedPoints(0.0)
    assert report.score.exact


# --- Memory -----------------------------------------------------------------------------------------------------------


def table_bytes(searcher):
    return searcher.memory.keys.nbytes + searcher.memory.values.nbytes


@pytest.mark.parametrize("megabytes", [1, 3, 64])
def test_the_table_takes_no_more_memory_than_the_option_allows(player, megabytes):
    (cells,) = boards_with(player, 1, 2, 2)
    searcher = searcher_of(player, memory=megabytes)
    for limits in ({"max_seconds": 0.01}, {"max_depth": 1}, {"max_seconds": 0.02}):
        reports_of(searcher, before(cells), **limits)
        assert table_bytes(searcher) <= megabytes << 20
    assert table_bytes(searcher) > megabytes << 19, "and more than half of it, without a limit of time"


def test_a_short_search_takes_a_small_table(player):
    (cells,), searcher = boards_with(player, 1, 2, 2), searcher_of(player)
    reports_of(searcher, before(cells), max_seconds=0.01)
    assert table_bytes(searcher) == ENTRY_BYTES << 14


def test_what_was_searched_before_changes_no_report(player, evil):
    searcher = searcher_of(player, environment=environment_of(evil), memory=1)
    boards = boards_with(player, 6, 0, 4)
    for cells in boards + boards:
        fresh = searcher_of(player, environment=environment_of(evil), memory=1)
        one, other = (
            replace(reports_of(each, before(cells), max_depth=3)[-1], seconds=0.0, nodes=0)
            for each in (searcher, fresh)
        )
        assert one == other


def test_a_search_finds_what_earlier_ones_left_in_the_table(player, evil):
    searcher = searcher_of(player, environment=environment_of(evil))
    (cells,) = boards_with(player, 1, 3, 3)
    first, again = (reports_of(searcher, before(cells), max_depth=4)[-1] for _ in range(2))
    assert points_of(first) == points_of(again)
    assert again.nodes < first.nodes / 10
    rules = player.game.variants[player.variant]
    after = rules.play(before(cells), first.move).position
    following = rules.play(after, f"1@{after.cells.index(0)}").position
    if rules.legal_moves(following):
        fresh = searcher_of(player, environment=environment_of(evil))
        known, new = (reports_of(each, following, max_depth=3)[-1] for each in (searcher, fresh))
        assert points_of(known) == points_of(new)
        assert known.nodes < new.nodes / 2, "it was searched as deep as that below the move before"


def test_a_search_with_a_node_limit_takes_the_same_nodes_whatever_was_searched_before():
    player = random_player("2584", "classic")
    searcher = searcher_of(player, memory=1)
    for cells in boards_with(player, 3, 3, 4):
        reports_of(searcher, before(cells), max_depth=3)
        last = {replace(reports_of(searcher, before(cells), max_nodes=3000)[-1], seconds=0.0) for _ in range(3)}
        assert len(last) == 1


# --- Several threads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("adaptive", "reduced"), [(False, False), (True, False), (False, True), (True, True)])
def test_tasks_give_the_worths_of_one_search(player, adaptive, reduced):
    model, game = player.model, player.game
    for cells in boards_with(player, 2, 0, 1) + boards_with(player, 2, WIDE - 1, WIDE + 1):
        board, memory = game.board(cells), memory_for(model.shape, 1 << 14)
        for depth in (2, 3):
            policy, values = DepthPolicy(np.int64(depth), False, adaptive, reduced), np.empty(4)
            tasks = root.tasks_for(game.words)
            root.prepare_slides(model, policy, board, tasks)
            for each in (memory, shared(memory, model.shape)):  # the first takes all of them
                assert root.search_tasks(model, policy, board, no_limit(), each, tasks) == COMPLETED
            root.collect_slides(model, board, tasks, values)
            expected = slides_by_kernel(player, cells, depth, adaptive=adaptive, reduced=reduced)
            found = dict(zip(SLIDES, values.tolist(), strict=True))
            assert {word: worth for word, worth in found.items() if not np.isnan(worth)} == expected


@pytest.fixture
def three_threads(monkeypatch):
    """Searches use three threads, however many cores there are."""
    used = []
    monkeypatch.setattr(TileRun, "threads_for", lambda *_: used.append(3) or 3)
    return used


def test_three_threads_find_what_one_does(player, evil, three_threads, monkeypatch):
    positions = [before(cells) for cells in boards_with(player, 3, 2, 4)]
    positions += [some_after(player), some_after(player, 5, 6)]
    shared_searches = searcher_of(player, environment=environment_of(evil))
    found = [reports_of(shared_searches, position, max_depth=3, max_lines=9)[-1] for position in positions]
    assert three_threads
    monkeypatch.setattr(TileRun, "threads_for", lambda *_: 1)
    for position, report in zip(positions, found, strict=True):
        alone = reports_of(searcher_of(player, environment=environment_of(evil)), position, max_depth=3, max_lines=9)[
            -1
        ]
        assert (report.score, report.lines, report.move) == (alone.score, alone.lines, alone.move)
        assert report.nodes > 0


def test_three_threads_stop_when_they_are_told(player, three_threads):
    (cells,) = boards_with(player, 1, 8, 8)
    stop, reports = Stop(), []
    searcher = searcher_of(player)
    work = threading.Thread(target=lambda: reports.extend(searcher.search(before(cells), Limits(), stop)), daemon=True)
    work.start()
    until(lambda: three_threads)
    stop.set()
    work.join(LONG)
    assert not work.is_alive()
    assert reports[-1].stop_reason is StopReason.STOPPED
    assert reports[-1].depth >= 2


def test_a_node_limit_means_one_thread_unless_more_are_asked_for(player):
    run = TileRun(searcher_of(player), before(boards_with(player, 1, 2, 2)[0]), Limits(max_nodes=9), Stop())
    assert run.wanted_threads(0, 8) == 1
    assert searcher_of(player, threads=2).threads == 2


def test_no_depth_is_too_deep():
    # up and down merge the last pair, then the game is over whatever drops: every depth is searched in a moment
    player, cells = random_player("2048", "classic"), (3, 4, 5, 6, 7, 8, 9, 10, 3, 4, 5, 6, 7, 8, 9, 6)
    last = reports_of(searcher_of(player), before(cells), max_depth=1000)[-1]
    assert (last.stop_reason, last.depth) == (StopReason.DEPTH, MAX_DEPTH)
