"""The pattern network: what an evaluation by sums of weights leaves out, at little cost.

A point's combinations, a of the side that is asked and b of the other, make `UNITS` numbers, and their sums over all
empty points go through a small network:

    point     relu(own[a] + other[b])                     for both sides: the asked one, and with a and b exchanged
    sums      over all empty points                       asked side | other side
    value     w2 . relu(w1 . sums + b1) + b2              added to the sums of weights (evaluation.py)

Everything is integers, so the value does not depend on the way to a position. The sums are kept by ply, each with the
combinations they were made of. A position's sums are made of its parent's: points whose combinations differ are
subtracted and added. So playing and taking back stones costs nothing more, and any frame may serve as the start.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from plyd.engines.core.errors import BadModel
from plyd.engines.core.intrinsics import lowest_bit_index, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import LANES, different_pairs, load_at, positive_part, store_at
from plyd.engines.gomoku.board.board import MARGIN, SIZE, STRIDE, View
from plyd.engines.gomoku.board.evaluation import Weights, shipped
from plyd.engines.gomoku.board.patterns import COMBINATION_MASK, COMBINATIONS, NO_COMBO
from plyd.engines.gomoku.rules import Rule
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file
from plyd.models.shipped import WEIGHTS

UNITS = 16  # numbers per point and side: a multiple of the lanes of a register
HIDDEN = 32
KIND = "pattern-network"
SUM_SCALE = 128  # of a point's numbers and their sums
W1_SCALE, HIDDEN_SHIFT = 4096, 12  # hidden numbers lose these bits, and have SUM_SCALE again
W2_SCALE, VALUE_SHIFT = 1024, 9  # the output loses these bits: what remains is in units of the evaluation, 1/256
ROW = 2 * UNITS  # a row of `points`: own, other
CHUNKS, MOST_ROWS = 2, 20  # a row of a board is one chunk of 16 points, or two
FRAME = CHUNKS * MOST_ROWS * 2 * LANES  # combinations in a frame
SUMS = 2 * UNITS  # sums in a frame: those of x, those of o
MOST_CHANGES = 400
SHAPES = {
    "points": (np.int16, (COMBINATIONS + 1, ROW)),
    "w1": (np.int16, (2 * UNITS, HIDDEN)),
    "b1": (np.int32, (HIDDEN,)),
    "w2": (np.int16, (HIDDEN,)),
    "b2": (np.int32, (1,)),
    "value": (np.int16, (2 * (COMBINATIONS + 1),)),
}


class PatternNetwork(NamedTuple):
    """The weights of a network; `value` are the weights of combinations that it was trained with (evaluation.py)."""

    points: NDArray[np.int16]  # by combination: own, other; the last row, for points with a stone, is 0
    w1: NDArray[np.int16]
    b1: NDArray[np.int32]
    w2: NDArray[np.int16]
    b2: NDArray[np.int32]
    value: NDArray[np.int16]


class Frames(NamedTuple):
    """A network's state of one thread, and the weights it is for."""

    combos: NDArray[np.uint16]  # by ply, chunk, row and point: the combinations of x and o
    sums: NDArray[np.int16]  # by ply: the sums of x, then of o
    changes: NDArray[np.uint16]  # combinations of points that differ: new x, new o, old x, old o
    points: NDArray[np.int16]
    w1: NDArray[np.int16]
    b1: NDArray[np.int32]
    w2: NDArray[np.int16]
    b2: NDArray[np.int32]


class FramesView(NamedTuple):
    """Frames by address."""

    combos: Any
    sums: Any
    changes: Any
    points: Any
    w1: Any
    b1: Any
    w2: Any
    b2: Any


def frames_for(network: PatternNetwork | None, plies: int) -> Frames:
    """Frames of an empty set of points, for boards of one size. Without a network they are as small as can be."""
    if network is None:
        network, plies = blank(), 1
    return Frames(
        np.full(plies * FRAME, NO_COMBO, np.uint16),
        np.zeros(plies * SUMS, np.int16),
        np.zeros(4 * MOST_CHANGES, np.uint16),
        network.points.reshape(-1),
        network.w1.reshape(-1),
        network.b1,
        network.w2,
        network.b2,
    )


@njit(inline="always")
def frames_view(frames: Frames) -> FramesView:
    """Frames by address. The caller of the kernel must keep the arrays alive."""
    return FramesView(
        pointer_to(frames.combos),
        pointer_to(frames.sums),
        pointer_to(frames.changes),
        pointer_to(frames.points),
        pointer_to(frames.w1),
        pointer_to(frames.b1),
        pointer_to(frames.w2),
        pointer_to(frames.b2),
    )


@njit(inline="always")
def network_value(v: View, n: FramesView, ply: int, colour: int) -> int:
    """The network's part of the evaluation for a colour that is to move; the position becomes the frame of its ply."""
    before = max(ply - 1, 0)
    count = _list_changes(v, n, before, ply)
    _add_changes(n, before, ply, count)
    mine, theirs = ply * SUMS + (colour - 1) * UNITS, ply * SUMS + (2 - colour) * UNITS
    return _head(n.sums, mine, theirs, n.w1, n.b1, n.w2) + np.int64(n.b2[0]) >> VALUE_SHIFT


@njit(inline="always")
def _list_changes(v: View, n: FramesView, before: int, ply: int) -> int:
    """List the points whose combinations differ from a frame, and write the board's to the frame of `ply`."""
    size = np.int64(v.state[SIZE])
    count = np.int64(0)
    for chunk in range((size + LANES - 1) // LANES):
        for row in range(size):
            here = 2 * ((row + MARGIN) * STRIDE + MARGIN + chunk * LANES)
            place = (chunk * MOST_ROWS + row) * 2 * LANES
            there = before * FRAME + place
            differs = different_pairs(v.combo, here, n.combos, there)
            while differs:
                at = 2 * lowest_bit_index(differs)
                differs &= differs - np.uint64(1)
                n.changes[count] = v.combo[here + at]
                n.changes[count + 1] = v.combo[here + at + 1]
                n.changes[count + 2] = n.combos[there + at]
                n.changes[count + 3] = n.combos[there + at + 1]
                count += 4
            into = ply * FRAME + place
            store_at(n.combos, into, load_at(v.combo, here))
            store_at(n.combos, into + LANES, load_at(v.combo, here + LANES))
    return count


@njit(inline="always")
def _add_changes(n: FramesView, before: int, ply: int, count: int) -> None:
    """The sums of a frame: those of the frame before, with the changes."""
    for part in range(0, UNITS, LANES):
        of_x, of_o = load_at(n.sums, before * SUMS + part), load_at(n.sums, before * SUMS + UNITS + part)
        for i in range(0, count, 4):
            x, o = _row_of(n.changes[i]) + part, _row_of(n.changes[i + 1]) + part
            old_x, old_o = _row_of(n.changes[i + 2]) + part, _row_of(n.changes[i + 3]) + part
            of_x = of_x + (_numbers(n, x, o) - _numbers(n, old_x, old_o))
            of_o = of_o + (_numbers(n, o, x) - _numbers(n, old_o, old_x))
        store_at(n.sums, ply * SUMS + part, of_x)
        store_at(n.sums, ply * SUMS + UNITS + part, of_o)


@njit(inline="always")
def _row_of(combination: int) -> int:
    return (np.int64(combination) & COMBINATION_MASK) * ROW


@njit(inline="always")
def _numbers(n: FramesView, own: int, other: int) -> Any:
    """relu(own + other) of a point, sixteen numbers of them, by their places in `points`."""
    return positive_part(load_at(n.points, own) + load_at(n.points, other + UNITS))


@intrinsic
def _head(typing_context: Any, sums: Any, mine: Any, theirs: Any, w1: Any, b1: Any, w2: Any) -> Any:  # noqa: ARG001
    """w2 . relu(w1 . (sums of mine, sums of theirs) + b1) as int64, without a loop: the hidden numbers stay in
    registers.
    """
    number, wide = ir.IntType(32), ir.IntType(64)
    narrow, vector = (ir.VectorType(ir.IntType(bits), LANES) for bits in (16, 32))
    parts = HIDDEN // LANES

    def load(builder: Any, pointer: Any, index: int, kind: Any, align: int) -> Any:
        place = builder.gep(pointer, [ir.Constant(wide, index)])
        loaded = builder.load(builder.bitcast(place, kind.as_pointer()))
        loaded.align = align
        return loaded

    def everywhere(builder: Any, value: Any) -> Any:
        single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(number, 0))
        return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0] * LANES))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        sums, mine, theirs, w1, b1, w2 = arguments
        hidden = [load(builder, b1, part * LANES, vector, 4) for part in range(parts)]
        for half, start in enumerate((mine, theirs)):
            first = builder.gep(sums, [start])
            for unit in range(UNITS):
                item = builder.sext(builder.load(builder.gep(first, [ir.Constant(wide, unit)])), number)
                many = everywhere(builder, item)
                for part in range(parts):
                    at = (half * UNITS + unit) * HIDDEN + part * LANES
                    weights = builder.sext(load(builder, w1, at, narrow, 2), vector)
                    hidden[part] = builder.add(hidden[part], builder.mul(many, weights))
        total = ir.Constant(vector, [0] * LANES)
        zero, shift = ir.Constant(vector, [0] * LANES), ir.Constant(vector, [HIDDEN_SHIFT] * LANES)
        for part in range(parts):
            active = builder.select(builder.icmp_signed(">", hidden[part], zero), hidden[part], zero)
            weights = builder.sext(load(builder, w2, part * LANES, narrow, 2), vector)
            total = builder.add(total, builder.mul(builder.ashr(active, shift), weights))
        width = LANES
        while width > 1:  # the sum of the lanes: add the upper half to the lower until one is left
            width //= 2
            order = [i + width if i < width else i for i in range(LANES)]
            total = builder.add(total, builder.shuffle_vector(total, total, ir.Constant(vector, order)))
        return builder.sext(builder.extract_element(total, ir.Constant(number, 0)), wide)

    return types.int64(sums, types.int64, types.int64, w1, b1, w2), generate


def blank() -> PatternNetwork:
    """A network of zeros."""
    return PatternNetwork(*(np.zeros(shape, dtype) for dtype, shape in SHAPES.values()))


def weights_with(network: PatternNetwork | None) -> Weights:
    """The weights of a board whose evaluation a network completes; those that ship if there is none."""
    return shipped() if network is None else Weights(network.value.astype(np.int32), shipped().ordering)


def shipped_network(rule: Rule) -> PatternNetwork | None:
    """The network that ships for a rule, if there is one."""
    path = WEIGHTS / f"gomoku-network-{rule}.plyd"
    return load(path) if path.exists() else None


def save(network: PatternNetwork, path: Path, about: Mapping[str, Any]) -> str:
    """Write a network to a file; its SHA-256."""
    return write_file(path, {"game": "gomoku", "kind": KIND, **about}, network._asdict())


@cache
def load(path: Path) -> PatternNetwork:
    """The network in a file."""
    try:
        header, arrays, _ = read_file(path)
    except BadWeights as error:
        raise BadModel(str(error)) from None
    is_of_shape = all(
        name in arrays and arrays[name].shape == shape and arrays[name].dtype == dtype
        for name, (dtype, shape) in SHAPES.items()
    )
    if header.get("kind") != KIND or not is_of_shape or arrays["points"][-1].any():
        raise BadModel(f"{path} is a {header.get('kind')} for {header.get('game')}, not a {KIND} for gomoku")
    return PatternNetwork(**{name: np.ascontiguousarray(arrays[name]) for name in SHAPES})
