"""The transposition table of NegaScout: what is stored comes back, deep entries stay, torn ones do not count."""

import random

import numpy as np
import pytest

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.negascout.table import (
    AT_LEAST,
    AT_MOST,
    BUCKET,
    EXACT,
    GENERATIONS,
    LEAST_DEPTH,
    MOST_DEPTH,
    NOTHING,
    bound_in,
    depth_in,
    keep,
    move_in,
    packed,
    probe,
    table_for,
    value_in,
)


@njit
def stored(value, move, depth, bound, generation):
    data = packed(value, move, depth, bound, generation)
    return value_in(data), move_in(data), depth_in(data), bound_in(data)


@njit
def put(table, key, value, depth, generation):
    keep(table, np.uint64(table.size - 1), key, packed(value, 165, depth, EXACT, generation))


@njit
def get(table, key):
    data = probe(table, np.uint64(table.size - 1), key)
    return data != NOTHING, value_in(data)


def key_of(number, bucket=0):
    """Key number n of a bucket."""
    return np.uint64(number << 32 | bucket * BUCKET | number % BUCKET)


@pytest.mark.parametrize("bound", [EXACT, AT_LEAST, AT_MOST])
def test_an_entry_comes_back_as_it_was(bound):
    chance = random.Random(bound)
    for _ in range(200):
        entry = (chance.randint(-30_000, 30_000), chance.randrange(960), chance.randint(LEAST_DEPTH, MOST_DEPTH), bound)
        assert stored(*entry, chance.randrange(1000)) == entry


def test_a_depth_beyond_the_limits_is_cut():
    assert stored(0, 165, -20, EXACT, 0)[2] == LEAST_DEPTH
    assert stored(0, 165, 500, EXACT, 0)[2] == MOST_DEPTH


def test_a_bucket_keeps_its_deepest_positions():
    table = table_for(4 * BUCKET)
    depths = [9, 3, 7, 5, 8]
    for number, depth in enumerate(depths, 1):
        put(table, key_of(number), depth, depth, 0)
    assert [get(table, key_of(number))[0] for number in range(1, 6)] == [True, False, True, True, True]
    assert not table[BUCKET:]["data"].any(), "and no other bucket is touched"


def test_a_position_replaces_itself_whatever_its_depth():
    table = table_for(BUCKET)
    put(table, key_of(1), 10, 9, 0)
    put(table, key_of(1), 20, 2, 0)
    assert get(table, key_of(1)) == (True, 20)
    assert np.count_nonzero(table["data"]) == 1


@pytest.mark.parametrize("generation", [1, GENERATIONS - 1, GENERATIONS, 3 * GENERATIONS + 7])
def test_positions_of_earlier_searches_go_first(generation):
    table = table_for(BUCKET)
    for number in range(1, 5):
        put(table, key_of(number), number, 9 if number == 2 else 6, generation if number != 2 else generation - 1)
    put(table, key_of(5), 5, 1, generation)
    assert [get(table, key_of(number))[0] for number in range(1, 6)] == [True, False, True, True, True]


def test_an_entry_that_two_threads_wrote_at_once_is_not_believed():
    one, two = table_for(BUCKET), table_for(BUCKET)
    put(one, key_of(4), 29_990, 5, 0)
    put(two, key_of(8), -5, 5, 0)
    mixed = one.copy()
    mixed["data"] = two["data"]
    assert get(one, key_of(4)) == (True, 29_990)
    assert not get(mixed, key_of(4))[0]
    assert not get(mixed, key_of(8))[0]
