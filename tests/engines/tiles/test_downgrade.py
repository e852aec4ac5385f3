"""Downgraded boards of 2048: when, to what, and that slides stay what they are."""

import pytest

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE, downgraded
from plyd.engines.tiles.rulebook import SLIDES, Position
from plyd.engines.tiles.search.searcher import DOWNGRADE, OPTIONS, TileSearcher
from plyd.engines.tiles_2048.rules import DOWNGRADE_FROM, GAME
from tests.engines.tiles.slow_tiles import played_boards, random_boards
from tests.engines.tiles.small_players import random_player


def by_kernel(cells, least_sum=1):
    return GAME.cells(downgraded(GAME.board(cells), least_sum))


def by_hand(cells):
    """The cells with those above the largest missing index lowered by one."""
    missing = [index for index in range(1, max(cells)) if index not in cells] if any(cells) else []
    return tuple(index - 1 if missing and index > max(missing) else index for index in cells)


def test_tiles_above_the_largest_missing_one_are_halved():
    # 16384  8192   512    64           8192  4096   512    64
    #   256   128    32     8    ->      256   128    32     8
    #     4     2     .     .              4     2     .     .
    #     2     .     .     .              2     .     .     .
    cells = (14, 13, 9, 6, 8, 7, 5, 3, 2, 1, 0, 0, 1, 0, 0, 0)
    assert by_kernel(cells, DOWNGRADE_FROM) == (13, 12, *cells[2:])


def test_a_board_with_a_smaller_sum_stays_as_it_is():
    cells = (14, 12, 10, 6, 8, 7, 5, 3, 2, 1, 0, 0, 1, 0, 0, 0)
    assert by_kernel(cells, DOWNGRADE_FROM) == cells
    assert by_kernel(cells, sum(1 << index for index in cells if index)) != cells


def test_a_board_without_a_missing_tile_stays_as_it_is():
    cells = (5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert by_kernel(cells) == cells
    assert by_kernel((0,) * 16) == (0,) * 16


def test_no_sum_means_never():
    cells = (14, 13, 9, 6, 8, 7, 5, 3, 2, 1, 0, 0, 1, 0, 0, 0)
    assert by_kernel(cells, NEVER_DOWNGRADE) == cells


def test_a_downgraded_board_has_the_same_slides_and_merges_the_same_tiles():
    rules, lowered = GAME.rules, 0
    for cells in played_boards(GAME, 300, seed=5) + random_boards(GAME, 300, seed=6):
        board = by_kernel(cells)
        assert board == by_hand(cells)
        lowered += board != cells
        for word in SLIDES:
            (after, points), (other, other_points) = rules.slide(cells, word), rules.slide(board, word)
            if 15 in cells and cells.count(15) > 1:
                continue  # two of the largest index do not merge, halved ones do
            assert (after == cells) == (other == board), "legal as before"
            assert after.count(0) == other.count(0), "merges as before"
            assert (points == 0) == (other_points == 0)
    assert lowered > 200


@pytest.mark.parametrize("letter", ["b", "a"])
def test_a_late_board_is_searched_downgraded_unless_the_option_says_no(letter):
    player = random_player("2048", "classic")
    cells = (14, 13, 9, 6, 8, 7, 5, 3, 2, 1, 0, 0, 1, 0, 0, 0)

    def values(cells, downgrade):
        options = read_options((*OPTIONS, DOWNGRADE), {"downgrade": downgrade})
        searcher = TileSearcher(player, options, 1)
        limits = Limits(max_depth=1, max_lines=99)
        [*_, final] = searcher.search(Position(letter == "b", cells), limits, Stop())
        return {line.moves[0]: line.score for line in final.lines}

    plain, late = values(by_hand(cells), "false"), values(cells, "true")
    assert late == plain
    assert values(cells, "false") != late
