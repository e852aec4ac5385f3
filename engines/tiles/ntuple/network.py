"""n-tuple networks in numba: a board's value is the sum of one weight for each pattern on each of its eight symmetries.

    pattern 0 1 2 4 5 6          the tiles on its cells, read as a number, are      value = sum over patterns p and
       0 1 2 .                   the place of its weight in the pattern's table:           images s of table[p][n(p, s)]
       4 5 6 .                   n = t0 + t1 B + t2 B^2 + ... with base B
       . . . .                   (16 for boards of one word, cap + 1 for pairs: tiles above the cap count as the cap)

One instruction (PEXT) extracts the tiles of a pattern from an image, by packing the bits under a mask.

A network may have several stages (see `stages`). Each has all tables; those of a later stage follow those of the one
before. A weight of a later stage that was never used is NaN: on its first use it becomes a copy of the same weight of
the stage before (*promotion*), so that a new stage begins with what is known.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import extract_bits, pointer_to, prefetch
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import ONE, Word, is_word, symmetries
from plyd.engines.tiles.ntuple.downgrade import halved
from plyd.engines.tiles.ntuple.stages import Stages, StageView, no_stages, stage_of, view_of

IMAGES = 8
SLOTS = 4  # boards whose weight addresses are kept at the same time
PAIR = Word(0x3FF)
EVEN_FIELDS = Word(0x01F07C1F)  # every second 5-bit field of 30 bits
EVEN_LOW_BITS = Word(1 | 1 << 10 | 1 << 20 | 1 << 30)  # the lowest bit of every second 5-bit field


class Shape(NamedTuple):
    """A network's shape: the bits of a board that each pattern reads, and where its table starts in the weights."""

    masks: NDArray[np.uint64]  # (patterns, words)
    lifts: NDArray[np.uint64]  # (patterns,): bits that a pattern reads from the first word
    offsets: NDArray[np.uint64]  # (patterns + 1,): the last one is the number of weights of a stage
    base: np.uint64
    stages: Stages

    @property
    def weights(self) -> int:
        """Number of weights of all stages."""
        return int(self.offsets[-1]) * (1 + self.stages.least.size)


class Network(NamedTuple):
    """A network by address, for kernels, with one thread's scratch memory; see `pointer_to`."""

    weights: Any  # float32 for training, int16 for play
    step: np.float32  # value of one unit of the weights
    masks: Any  # uint64, word w of pattern p at 2 p + w, or at p for boards of one word
    lifts: Any  # uint64
    offsets: Any  # uint64
    patterns: np.int64
    base: np.uint64
    stages: StageView
    size: np.uint64  # weights of a stage
    images: Any  # uint64, 8 for each word
    places: Any  # uint32, SLOTS times 8 for each pattern


def shape_of(patterns: Sequence[Sequence[int]], bits: int, base: int, stages: Stages | None = None) -> Shape:
    """The shape of a network; each pattern lists its cells in ascending order, and boards have `bits` bits per cell."""
    stages = stages or no_stages()
    cells_a_word = 16 if bits == 4 else 8
    words = 16 // cells_a_word
    masks, lifts, offsets = np.zeros((len(patterns), words), np.uint64), [], [0]
    for p, pattern in enumerate(patterns):
        assert list(pattern) == sorted(set(pattern)), "cells in ascending order"
        for cell in pattern:
            masks[p, cell // cells_a_word] |= Word(((1 << bits) - 1) << (bits * (cell % cells_a_word)))
        lifts.append(bits * sum(cell < cells_a_word for cell in pattern))
        offsets.append(offsets[-1] + base ** len(pattern))
    assert offsets[-1] * (1 + stages.least.size) < 1 << 32, "a place among the weights is 32 bits"
    return Shape(masks, np.array(lifts, np.uint64), np.array(offsets, np.uint64), Word(base), stages)


class Steps(NamedTuple):
    """Weights quantized for play: integers, in units of a step. They take half the memory, so more of them fit in the
    CPU cache; training needs full precision.
    """

    counts: NDArray[np.int16]  # (weights,)
    step: np.float32


def network_of(weights: NDArray[np.float32] | Steps, shape: Shape, scratch: NDArray[np.uint64]) -> Network:
    """The network by address; `scratch` is from `scratch_for` and must not be shared between threads."""


@njit(cache=True, nogil=True)
def _network_of(weights: NDArray[Any], step: np.float32, shape: Shape, scratch: NDArray[np.uint64]) -> Network:
    return Network(
        pointer_to(weights),
        step,
        pointer_to(shape.masks),
        pointer_to(shape.lifts),
        pointer_to(shape.offsets),
        shape.lifts.size,
        shape.base,
        view_of(shape.stages),
        shape.offsets[-1],
        pointer_to(scratch),
        pointer_to(scratch[2 * IMAGES :].view(np.uint32)),
    )


@overload(network_of)
def _network_of_either(weights, shape, scratch):  # noqa: ANN001, ANN202, ARG001
    if isinstance(weights, types.Array):
        return lambda weights, shape, scratch: _network_of(weights, np.float32(1), shape, scratch)
    return lambda weights, shape, scratch: _network_of(weights.counts, weights.step, shape, scratch)


def scratch_for(shape: Shape) -> NDArray[np.uint64]:
    """Scratch memory for one thread's lookups."""
    return np.zeros(2 * IMAGES + SLOTS * len(shape.lifts) * IMAGES // 2, np.uint64)


@njit(cache=True, nogil=True)
def _capped_half(w: Word, cap: Word) -> Word:
    """Eight 5-bit cells, each limited to the cap. A cell above it overflows into bit 5 when 31 - cap is added."""
    result = Word(0)
    for odd in range(2):
        fields = w >> Word(5 * odd) & (EVEN_LOW_BITS * Word(31))
        over = (fields + EVEN_LOW_BITS * (Word(31) - cap)) >> Word(5) & EVEN_LOW_BITS
        full = (over << Word(5)) - over
        result |= (fields & ~full | EVEN_LOW_BITS * cap & full) << Word(5 * odd)
    return result


def images_of(board: Any, net: Network) -> Word:
    """Writes the images of a board that its stage looks at; returns where the weights of the stage start."""


@njit(cache=True, nogil=True)
def _images_of_word(board: Word, net: Network) -> Word:
    stage = stage_of(board, net.stages)
    symmetries(halved(board) if net.stages.are_downgraded and stage > 0 else board, net.images)
    return net.size * Word(stage)


@njit(cache=True, nogil=True)
def _images_of_pair(board: Any, net: Network) -> Word:
    cap = net.base - ONE
    symmetries((_capped_half(board[0], cap), _capped_half(board[1], cap)), net.images)
    return net.size * Word(stage_of(board, net.stages))


@overload(images_of)
def _images_of(board, net):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, net: _images_of_word(board, net)
    return lambda board, net: _images_of_pair(board, net)


def number_in(board: Any, pattern: int, image: int, net: Network) -> Word:
    """The tiles of a pattern on one of the images at hand, read as a number; of the board only the kind matters."""


@njit(cache=True, nogil=True)
def _number_in_pair(pattern: int, image: int, net: Network) -> Word:
    base, lo, hi = net.base, net.images[image], net.images[image + IMAGES]
    n = extract_bits(lo, net.masks[2 * pattern])
    n |= extract_bits(hi, net.masks[2 * pattern + 1]) << net.lifts[pattern]
    # Simply t0 + t1 B + ... + t5 B^5 of six 5-bit fields; computed in pairs, to save multiplications.
    square = base * base
    n = (n & EVEN_FIELDS) + base * (n >> Word(5) & EVEN_FIELDS)
    return (n & PAIR) + square * ((n >> Word(10) & PAIR) + square * (n >> Word(20)))


@overload(number_in)
def _number_in(board, pattern, image, net):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, pattern, image, net: extract_bits(net.images[image], net.masks[pattern])  # noqa: ARG005
    return lambda board, pattern, image, net: _number_in_pair(pattern, image, net)  # noqa: ARG005


def zero_of(weights: Any) -> Any:
    """Zero, of the type in which weights are added up: integers are, without rounding."""


@overload(zero_of)
def _zero_of(weights):  # noqa: ANN001, ANN202
    zero = np.int64(0) if isinstance(weights.dtype, types.Integer) else np.float32(0)
    return lambda weights: zero  # noqa: ARG005


@njit(cache=True, nogil=True)
def find_places(board: Any, slot: int, net: Network) -> None:
    """Fills a slot of `net.places` with the weight index of each pattern on each image of the board, and prefetches the
    weights. To evaluate several boards, find the places of all of them first.
    """
    first = images_of(board, net)
    at = slot * IMAGES * net.patterns
    for p in range(net.patterns):
        table = first + net.offsets[p]
        for s in range(IMAGES):
            place = table + number_in(board, p, s, net)
            net.places[at] = place
            prefetch(net.weights, place)
            at += 1


@njit(cache=True, nogil=True)
def promote(slot: int, net: Network) -> None:
    """Copies each unused weight at a slot's places from the last stage before that uses it."""
    first = slot * IMAGES * net.patterns
    for i in range(first, first + IMAGES * net.patterns):
        place = from_ = np.int64(net.places[i])
        while np.isnan(net.weights[from_]) and from_ >= np.int64(net.size):
            from_ -= np.int64(net.size)
        net.weights[place] = net.weights[from_]


@njit(cache=True, nogil=True)
def sum_of_places(slot: int, net: Network) -> float:
    """Sum of the weights at a slot's places."""
    total = sum_of_used(slot, net)
    if np.isnan(total):  # not all of them are used yet
        promote(slot, net)
        total = sum_of_used(slot, net)
    return total


@njit(cache=True, nogil=True)
def sum_of_used(slot: int, net: Network) -> float:
    """Sum of the weights at a slot's places; NaN if one of them was never used."""
    a = b = c = d = zero_of(net.weights)  # four partial sums, so that additions do not wait for each other
    first = slot * IMAGES * net.patterns
    for i in range(first, first + IMAGES * net.patterns, 4):
        a += net.weights[net.places[i]]
        b += net.weights[net.places[i + 1]]
        c += net.weights[net.places[i + 2]]
        d += net.weights[net.places[i + 3]]
    return net.step * np.float32((a + b) + (c + d))


@njit(cache=True, nogil=True)
def value(board: Any, net: Network) -> float:
    """The network's value of a board."""
    find_places(board, 0, net)
    return sum_of_places(0, net)
