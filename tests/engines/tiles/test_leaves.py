"""The last layer of a search: the worth of every before-state after the drops on a board."""

import numpy as np
import pytest

from plyd.engines.core.intrinsics import lowest_bit_index
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import ONE, Word, cell_at, drop_at, empties, load, slides_of
from plyd.engines.tiles.ntuple.moves import best_slide
from plyd.engines.tiles.ntuple.network import network_of, scratch_for
from plyd.engines.tiles.search.leaves import add_leaves, evaluate_drops, leaf_memory, leaves_of, worth_of_drop
from tests.engines.tiles.slow_tiles import played_boards, random_boards
from tests.engines.tiles.small_players import VARIANTS, random_player


@pytest.fixture(params=VARIANTS, ids=" ".join)
def player(request):
    return random_player(*request.param)


@njit(cache=True)
def worths(model, after, first, memory, salt, scratch, found, expected):
    """Fills (2, 16) arrays with the worth of each drop, as the leaves have it and as `best_slide` does."""
    leaves, net = leaves_of(memory, Word(salt)), network_of(model.weights, model.shape, scratch)
    slides = slides_of(model.rows)
    evaluate_drops(after, first, model.spawns, slides, net, leaves)
    for tile in range(first, 2):
        free, n = empties(after), 0
        while free != Word(0):
            bit = lowest_bit_index(free)
            found[tile, n] = worth_of_drop(after, tile, bit, leaves)
            before = drop_at(after, bit, model.spawns.common if tile == 0 else model.spawns.rare)
            expected[tile, n] = best_slide(before, slides, net)[1]
            free &= free - ONE
            n += 1


@njit(cache=True)
def leaves_along_rows(board, index, rows, memory, boards):
    """Writes the cells of each leaf to `boards`; returns their number."""
    leaves = leaves_of(memory, Word(0))
    count = add_leaves(board, Word(index), 0, 0, slides_of(rows), leaves)
    for leaf in range(count):
        for cell in range(16):
            boards[leaf, cell] = cell_at(load(leaves.boards, leaf, board), cell)
    return count


def both(player, cells, memory, salt=0, first=0, model=None):
    found, expected = np.full((2, 16), np.nan), np.full((2, 16), np.nan)
    scratch = scratch_for(player.model.shape)
    worths(model or player.model, player.game.board(cells), first, memory, salt, scratch, found, expected)
    return found.tolist(), expected.tolist()


@pytest.mark.parametrize("first", [0, 1], ids=["both tiles", "the rare tile"])
def test_a_drop_is_worth_its_best_slide_and_0_if_there_is_none(player, first):
    memory = leaf_memory(player.game.words)
    full_but_one = (1, 5, 7, 12, 5, 7, 12, 9, 1, 12, 9, 5, 0, 3, 5, 7)
    boards = played_boards(player.game, 300, seed=3) + random_boards(player.game, 300, seed=4)
    for cells in [*boards, full_but_one]:
        found, expected = both(player, cells, memory, first=first)
        assert str(found) == str(expected), cells


def test_drops_in_the_same_gap_share_a_leaf(player):
    #  8 . . 4        to the left  8 2 4 .   to the right  . 8 2 4
    #  . . . .                     2 . . .                 . . . 2      and so on: two leaves for each gap
    cells, boards = (3, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), np.zeros((64, 16), np.int64)
    count = leaves_along_rows(player.game.board(cells), 5, player.game.rows(), leaf_memory(player.game.words), boards)
    assert count == len({tuple(board) for board in boards[:count].tolist()}) == 2 * 4


def test_values_of_before_are_not_used_with_another_salt(player):
    memory = leaf_memory(player.game.words)
    (cells,) = played_boards(player.game, 40, seed=3)[30:31]
    counts = player.model.weights.counts
    other = player.model._replace(weights=player.model.weights._replace(counts=(counts + 1).astype(np.int16)))
    first, _ = both(player, cells, memory)
    stale, _ = both(player, cells, memory, model=other)
    fresh, expected = both(player, cells, memory, salt=1, model=other)
    assert str(stale) == str(first)
    assert str(fresh) == str(expected) != str(first)
