"""Gradients of the pattern network over a batch of positions, one after the other.

    numbers of a point   relu(own[a] + other[b])             UNITS of them, for both sides
    hidden               relu(w1 . sums / SUM_DIVISOR + b1)
    value                sums of weights + w2 . hidden + b2  the logistic function makes it a probability

Plain loops over a point's numbers compile to vector instructions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.network import HIDDEN, UNITS

SUM_DIVISOR = np.float32(10)
ZERO = np.float32(0)


class Parameters(NamedTuple):
    """What is learned, or its gradients; float32."""

    value: NDArray[np.float32]  # (combinations, 2): weights of the side to move, and of the other
    own: NDArray[np.float32]  # (combinations, UNITS)
    other: NDArray[np.float32]  # (combinations, UNITS)
    w1: NDArray[np.float32]  # (2 * UNITS, HIDDEN)
    b1: NDArray[np.float32]  # (HIDDEN,)
    w2: NDArray[np.float32]  # (HIDDEN,)
    b2: NDArray[np.float32]  # (1,)


@njit(cache=True, nogil=True, fastmath=True)
def values(p: Parameters, pairs: NDArray[np.uint16], starts: NDArray[np.int64], which: NDArray[np.int64]) -> np.ndarray:
    """The network's values of positions."""
    sums, hidden = np.zeros(2 * UNITS, np.float32), np.zeros(HIDDEN, np.float32)
    found = np.zeros(which.size, np.float32)
    for i in range(which.size):
        found[i] = _forward(p, pairs[starts[which[i]] : starts[which[i] + 1]], sums, hidden)
    return found


@njit(cache=True, nogil=True, fastmath=True)
def add_gradients(
    p: Parameters,
    gradient: Parameters,
    pairs: NDArray[np.uint16],
    starts: NDArray[np.int64],
    targets: NDArray[np.float32],
    which: NDArray[np.int64],
) -> float:
    """Add the gradients of the cross-entropy of positions to `gradient`; the sum of the cross-entropies."""
    sums, hidden = np.zeros(2 * UNITS, np.float32), np.zeros(HIDDEN, np.float32)
    loss = 0.0
    for i in range(which.size):
        points = pairs[starts[which[i]] : starts[which[i] + 1]]
        value, target = _forward(p, points, sums, hidden), targets[which[i]]
        loss += max(value, ZERO) - value * target + np.log1p(np.exp(-abs(value)))
        _backward(p, gradient, points, sums, hidden, np.float32(1 / (1 + np.exp(-value)) - target))
    return loss


@njit(nogil=True, fastmath=True)
def _forward(
    p: Parameters, points: NDArray[np.uint16], sums: NDArray[np.float32], hidden: NDArray[np.float32]
) -> np.float32:
    value = p.b2[0]
    sums[:] = 0
    for i in range(len(points)):
        a, b = points[i, 0], points[i, 1]
        value += p.value[a, 0] + p.value[b, 1]
        for k in range(UNITS):
            sums[k] += max(ZERO, p.own[a, k] + p.other[b, k])
        for k in range(UNITS):
            sums[UNITS + k] += max(ZERO, p.own[b, k] + p.other[a, k])
    hidden[:] = p.b1
    for k in range(2 * UNITS):
        scaled = sums[k] / SUM_DIVISOR
        for j in range(HIDDEN):
            hidden[j] += scaled * p.w1[k, j]
    for j in range(HIDDEN):
        value += max(ZERO, hidden[j]) * p.w2[j]
    return value


@njit(nogil=True, fastmath=True)
def _backward(
    p: Parameters,
    gradient: Parameters,
    points: NDArray[np.uint16],
    sums: NDArray[np.float32],
    hidden: NDArray[np.float32],
    error: np.float32,
) -> None:
    """Add a position's gradients; `error` is that of its value. Overwrites `sums` and `hidden` by their errors."""
    gradient.b2[0] += error
    for j in range(HIDDEN):
        active = max(ZERO, hidden[j])
        gradient.w2[j] += error * active
        hidden[j] = error * p.w2[j] if active > 0 else ZERO
        gradient.b1[j] += hidden[j]
    for k in range(2 * UNITS):
        scaled, back = sums[k] / SUM_DIVISOR, ZERO
        for j in range(HIDDEN):
            gradient.w1[k, j] += scaled * hidden[j]
            back += p.w1[k, j] * hidden[j]
        sums[k] = back / SUM_DIVISOR
    for i in range(len(points)):
        a, b = points[i, 0], points[i, 1]
        gradient.value[a, 0] += error
        gradient.value[b, 1] += error
        for k in range(UNITS):
            back = sums[k] if p.own[a, k] + p.other[b, k] > 0 else ZERO
            gradient.own[a, k] += back
            gradient.other[b, k] += back
        for k in range(UNITS):
            back = sums[UNITS + k] if p.own[b, k] + p.other[a, k] > 0 else ZERO
            gradient.own[b, k] += back
            gradient.other[a, k] += back
