"""n-tuple networks against the sum that they are by definition, on boards of both kinds."""

import numpy as np
import pytest

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import load
from plyd.engines.tiles.ntuple.network import (
    SLOTS,
    find_places,
    network_of,
    scratch_for,
    shape_of,
    sum_of_places,
    value,
)
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles.slow_tiles import GAMES, IMAGES, SlowNetwork, played_boards, random_boards, words_of

NETWORKS = [
    ("2048", "012456", 16),
    ("2048", "0123 4567 04569", 16),
    ("2048", "05af 37 c 0 13579", 16),
    ("2584", "012456 589abd", 11),
    ("2584", "67 8", 22),
    ("2584", "0123 4567 14569", 13),
    ("2584", "05af 37 c 0 079f", 32),
    ("2584", "0123 4", 2),
]


@njit(cache=True)
def look(boards, like, weights, shape, scratch, values, places, slots):
    """The value of each board and the places that it is the sum of; values of the first boards, each in its slot."""
    net = network_of(weights, shape, scratch)
    for i in range(len(boards)):
        values[i] = value(load(pointer_to(boards), i, like), net)
        for k in range(places.shape[1]):
            places[i, k] = net.places[k]
    for slot in range(min(SLOTS, len(boards))):
        find_places(load(pointer_to(boards), slot, like), slot, net)
    for slot in range(min(SLOTS, len(boards))):
        slots[slot] = sum_of_places(slot, net)


class Case:
    """A network with random weights behind which there is nothing but NaN, and the same one in slow Python."""

    def __init__(self, name, text, base):
        self.game, patterns = GAMES[name], patterns_of(text)
        self.shape = shape_of(patterns, self.game.bits, base)
        size = int(self.shape.offsets[-1])
        guarded = np.full(size + 100_000, np.nan, np.float32)
        guarded[:size] = np.resize(np.random.default_rng(base).normal(0, 100, 99_991), size)
        self.weights = guarded[:size]
        self.slow = SlowNetwork(patterns, base, self.weights)
        self.boards = played_boards(self.game, 50, seed=3) + random_boards(self.game, 200, seed=4)
        self.values, self.places = self.look(self.boards)

    def look(self, boards):
        values = np.zeros(len(boards), np.float32)
        places = np.zeros((len(boards), self.slow.features), np.uint32)
        words, scratch, slots = words_of(self.game, boards), scratch_for(self.shape), np.zeros(SLOTS, np.float32)
        look(words, self.game.empty, self.weights, self.shape, scratch, values, places, slots)
        assert slots[: len(values)].tolist() == values[:SLOTS].tolist(), "slots keep the places of boards apart"
        return values, places


@pytest.fixture(scope="module", params=NETWORKS, ids=lambda case: f"{case[0]}, {case[1]}, base {case[2]}")
def case(request):
    return Case(*request.param)


def same(values, expected):
    return np.allclose(values, expected, rtol=1e-5, atol=1e-2)


def test_a_board_is_worth_the_sum_over_patterns_and_images(case):
    assert same(case.values, [case.slow.value(cells) for cells in case.boards])
    assert len(set(case.values.tolist())) > 50, "boards should differ in value"


def test_the_weights_of_a_board_are_where_its_tiles_read_as_a_number_say(case):
    for cells, places in zip(case.boards, case.places.tolist(), strict=True):
        assert sorted(places) == sorted(case.slow.places(cells)), cells


def test_every_place_is_in_the_table_of_its_pattern(case):
    patterns = len(case.slow.patterns)
    for p in range(patterns):
        mine = case.places[:, len(IMAGES) * p : len(IMAGES) * (p + 1)]
        assert (case.shape.offsets[p] <= mine).all()
        assert (mine < case.shape.offsets[p + 1]).all()
    assert case.weights.size == int(case.shape.offsets[-1])


def test_the_eight_images_of_a_board_are_worth_the_same(case):
    for cells in case.boards[::8]:
        values, places = case.look([tuple(cells[i] for i in image) for image in IMAGES])
        assert same(values, values[0])
        assert (np.sort(places) == np.sort(places[0])).all()


@pytest.mark.parametrize("base", [2, 11, 31, 32])
def test_a_tile_above_the_cap_counts_as_the_cap_and_one_below_it_does_not(base):
    case = Case("2584", "0123 459", base)
    capped = [tuple(min(index, base - 1) for index in cells) for cells in case.boards]
    values, places = case.look(capped)
    assert (places == case.places).all()
    assert values.tolist() == case.values.tolist()
    full = [(index,) * 16 for index in range(32)]
    assert len(set(case.look(full)[0].tolist())) == base


def test_each_full_board_of_the_largest_tile_has_the_last_place_of_each_table(case):
    _, places = case.look([(case.game.rules.max_index,) * 16])
    assert sorted(set(places[0].tolist())) == (case.shape.offsets[1:] - np.uint64(1)).tolist()


def test_the_empty_board_has_the_first_place_of_each_table(case):
    _, places = case.look([(0,) * 16])
    assert sorted(set(places[0].tolist())) == case.shape.offsets[:-1].tolist()


def test_cells_out_of_order_have_no_shape():
    for pattern in ([1, 0], [3, 3]):
        with pytest.raises(AssertionError, match="ascending"):
            shape_of([pattern], 4, 16)


def test_more_weights_than_a_place_can_number_have_no_shape():
    with pytest.raises(AssertionError, match="32 bits"):
        shape_of([list(range(8))], 4, 16)
