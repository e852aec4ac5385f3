"""Lanes against numpy, lane by lane; numbers that no two threads share; who has a core."""

import threading
import time

import numpy as np
import pytest

from plyd.engines.core import cores
from plyd.engines.core.cores import CORES, Cores
from plyd.engines.core.intrinsics import (
    Stop,
    count_bits,
    is_raised,
    lowest_bit_index,
    nth_bit_index,
    pointer_to,
    take_number,
)
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import (
    aside,
    both,
    count_all,
    differ,
    different_pairs,
    either,
    is_any,
    lane_of,
    load,
    load_at,
    minus,
    only_lane,
    plus,
    positive_part,
    store,
    store_at,
    up,
    used_lanes,
    words_of,
)

SHIFTS = (-15, -8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 8, 15)


def some_values(seed):
    """Pairs of values: at random, sparse, all ones, nothing, single lanes and single bits at the edges."""
    chance = np.random.default_rng(seed)
    dense = [chance.integers(0, 1 << 16, 16, np.uint16) for _ in range(12)]
    sparse = [a & b & c for a, b, c in zip(dense, dense[1:], dense[2:], strict=False)]
    edges = [np.zeros(16, np.uint16), np.full(16, 0xFFFF, np.uint16)]
    edges += [
        np.where(np.arange(16) == lane, bits, 0).astype(np.uint16)
        for lane in (0, 1, 7, 8, 15)
        for bits in (1, 0x8000, 0xFFFF)
    ]
    found = dense + sparse + edges
    return [np.array([one, other]) for one, other in zip(found, found[1:] + found[:1], strict=True)]


# --- Lane by lane -----------------------------------------------------------------------------------------------------


@njit
def combined(values, out):
    """Every operation on two values, one a row."""
    one, other = load(values, 0), load(values, 1)
    store(out, 0, one + other)
    store(out, 1, one & other)
    store(out, 2, one | other)
    store(out, 3, one ^ other)
    store(out, 4, ~one)
    store(out, 5, plus(one, other))
    store(out, 6, both(one, other))
    store(out, 7, either(one, other))
    store(out, 8, differ(one, other))
    changed = one
    changed &= other
    store(out, 9, changed)
    changed = one
    changed |= other
    store(out, 10, changed)
    store(out, 11, one - other)
    store(out, 12, minus(one, other))


def test_sums_and_bits_are_those_of_numpy_and_no_sum_carries_into_the_next_lane():
    for values in some_values(1):
        one, other = values
        out = np.zeros((13, 16), np.uint16)
        combined(values, out)
        expected = [one + other, one & other, one | other, one ^ other, ~one]
        expected += [one + other, one & other, one | other, one ^ other, one & other, one | other]
        expected += [one - other, one - other]
        for row, wanted in zip(out, expected, strict=True):
            assert row.tolist() == wanted.tolist()


@njit
def by_address(values, others, at, out):
    """Lanes from an index on, the positive ones of them, and the pairs in which two arrays differ."""
    here, there = pointer_to(values), pointer_to(others)
    into = pointer_to(out)
    store_at(into, 3, load_at(here, at))
    store_at(into, 19, positive_part(load_at(here, at)))
    return different_pairs(here, at, there, 2 * at)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_lanes_are_read_and_written_by_address_at_any_index(dtype):
    chance = np.random.default_rng(5)
    for at in (0, 1, 5, 16, 33):
        values = chance.integers(-(1 << 15), 1 << 15, 80).astype(dtype)
        others, out = np.zeros(160, dtype), np.zeros(40, dtype)
        others[2 * at : 2 * at + 32] = values[at : at + 32]
        changed = sorted(chance.choice(32, 5, replace=False).tolist())
        others[[2 * at + i for i in changed]] ^= 1
        found = by_address(values, others, at, out)
        assert [i for i in range(64) if int(found) >> i & 1] == sorted({i // 2 for i in changed})
        assert out[3:19].tolist() == values[at : at + 16].tolist()
        assert out[19:35].view(np.int16).tolist() == np.maximum(0, values[at : at + 16].view(np.int16)).tolist()
        assert not out[:3].any()
        assert not out[35:].any()


@njit
def moved_up(values, out):
    value = load(values, 0)
    store(out, 0, up(value, -15))
    store(out, 1, up(value, -8))
    store(out, 2, up(value, -4))
    store(out, 3, up(value, -3))
    store(out, 4, up(value, -2))
    store(out, 5, up(value, -1))
    store(out, 6, up(value, 0))
    store(out, 7, up(value, 1))
    store(out, 8, up(value, 2))
    store(out, 9, up(value, 3))
    store(out, 10, up(value, 4))
    store(out, 11, up(value, 8))
    store(out, 12, up(value, 15))


@njit
def moved_aside(values, out):
    value = load(values, 0)
    store(out, 0, aside(value, -15))
    store(out, 1, aside(value, -8))
    store(out, 2, aside(value, -4))
    store(out, 3, aside(value, -3))
    store(out, 4, aside(value, -2))
    store(out, 5, aside(value, -1))
    store(out, 6, aside(value, 0))
    store(out, 7, aside(value, 1))
    store(out, 8, aside(value, 2))
    store(out, 9, aside(value, 3))
    store(out, 10, aside(value, 4))
    store(out, 11, aside(value, 8))
    store(out, 12, aside(value, 15))


def test_what_moves_up_or_down_out_of_its_lane_is_lost():
    for values in some_values(2):
        out = np.zeros((len(SHIFTS), 16), np.uint16)
        moved_up(values, out)
        for row, by in zip(out, SHIFTS, strict=True):
            expected = [(lane << by) & 0xFFFF if by >= 0 else lane >> -by for lane in values[0].tolist()]
            assert row.tolist() == expected


def test_what_moves_aside_out_of_the_first_or_last_lane_is_lost():
    for values in some_values(3):
        out = np.zeros((len(SHIFTS), 16), np.uint16)
        moved_aside(values, out)
        for row, by in zip(out, SHIFTS, strict=True):
            lanes = values[0].tolist()
            assert row.tolist() == [lanes[i - by] if 0 <= i - by < 16 else 0 for i in range(16)]


# --- Questions --------------------------------------------------------------------------------------------------------


@njit
def asked(values):
    value = load(values, 0)
    return is_any(value), used_lanes(value), count_all(value), words_of(value)


def test_which_lanes_are_used_how_many_bits_are_set_and_whether_any_is():
    for values in some_values(4):
        some, used, count, words = asked(values)
        lanes = values[0].tolist()
        assert bool(some) == any(lanes)
        assert int(used) == sum(1 << i for i, lane in enumerate(lanes) if lane)
        assert int(count) == sum(lane.bit_count() for lane in lanes)
        assert [int(word) for word in words] == values[0].view(np.uint64).tolist()


@njit
def single(values, lane, out):
    value = load(values, 0)
    store(out, 0, only_lane(value, np.int64(lane)))
    return lane_of(value, np.int64(lane))


def test_a_lane_is_read_and_kept_alone():
    for values in some_values(5):
        for lane in range(16):
            out = np.zeros((1, 16), np.uint16)
            assert int(single(values, lane, out)) == values[0, lane]
            assert out[0].tolist() == [values[0, lane] if i == lane else 0 for i in range(16)]


@njit
def copied(source, row, target, place):
    store(target, place, load(source, row))


def test_loading_and_storing_reach_one_row_and_no_other():
    source = np.random.default_rng(6).integers(0, 1 << 16, (7, 16), np.uint16)
    for row in range(7):
        for place in range(3):
            target = np.full((3, 16), 77, np.uint16)
            copied(source, row, target, place)
            expected = np.full((3, 16), 77, np.uint16)
            expected[place] = source[row]
            assert (target == expected).all()


def test_rows_of_a_slice_that_starts_anywhere_are_loaded():
    source = np.random.default_rng(7).integers(0, 1 << 16, 16 * 5 + 3, np.uint16)
    for start in range(4):  # aligned to two bytes, no more
        rows = source[start : start + 64].reshape(4, 16)
        target = np.zeros((1, 16), np.uint16)
        copied(rows, 2, target, 0)
        assert target[0].tolist() == rows[2].tolist()


# --- Bits of a word ---------------------------------------------------------------------------------------------------


@njit
def places(word, out):
    count = count_bits(word)
    for n in range(count):
        out[n] = nth_bit_index(word, np.int64(n))
    return count, lowest_bit_index(word)


def test_the_nth_bit_that_is_set_is_found():
    chance = np.random.default_rng(8)
    words = [int(word) for word in chance.integers(1, 1 << 64, 200, np.uint64)]
    words += [1 << bit for bit in range(64)] + [(1 << 64) - 1, 1 | 1 << 63, 0xFFFF, 0xFFFF << 48]
    for word in words:
        out = np.zeros(64, np.int64)
        count, lowest = places(np.uint64(word), out)
        expected = [bit for bit in range(64) if word >> bit & 1]
        assert out[:count].tolist() == expected
        assert lowest == expected[0]


@njit(nogil=True)
def take_many(counter, ready, out):
    while not is_raised(ready):
        pass
    for i in range(out.size):
        out[i] = take_number(counter)


def test_no_two_threads_get_the_same_number():
    counter, ready = np.zeros(1, np.int64), Stop()
    outs = [np.zeros(200_000, np.int64) for _ in range(2)]
    take_many(np.zeros(1, np.int64), np.ones(1, np.uint8), np.zeros(1, np.int64))  # compiled by now
    threads = [threading.Thread(target=take_many, args=(counter, ready.flag, out)) for out in outs]
    for thread in threads:
        thread.start()
    time.sleep(0.01)
    ready.set()
    for thread in threads:
        thread.join()
    assert sorted(np.concatenate(outs).tolist()) == list(range(400_000))
    assert counter[0] == 400_000
    for out in outs:
        assert (np.diff(out) > 0).all()


# --- Cores ------------------------------------------------------------------------------------------------------------


def test_a_search_has_a_core_until_it_ends_however_it_ends():
    found = Cores(3)
    assert found.spare() == 3
    with found.one():
        assert found.spare() == 2
        with pytest.raises(KeyError), found.one():
            {}[found.spare()]
        assert found.spare() == 2
    assert found.spare() == 3


def test_more_searches_than_cores_leave_none_to_spare():
    found = Cores(1)
    with found.one(), found.one():
        assert found.spare() == 0
    assert found.spare() == 1


def test_cores_are_counted_right_from_many_threads():
    found = Cores(2)

    def come_and_go():
        for _ in range(500):
            with found.one():
                pass

    threads = [threading.Thread(target=come_and_go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.spare() == 2


def test_the_process_has_as_many_cores_as_it_may_run_on(monkeypatch):
    assert CORES.count == cores.usable_cores() >= 1
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: {2, 5, 6}, raising=False)
    assert cores.usable_cores() == 3
    monkeypatch.delattr(cores.os, "sched_getaffinity")
    monkeypatch.setattr(cores.os, "cpu_count", lambda: None)
    assert cores.usable_cores() == 1
