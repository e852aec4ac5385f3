"""Entries to kernels of Gomoku that have none of their own, for tests: arrays in, arrays out."""

import functools

import numpy as np

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    NOBODY,
    O,
    X,
    empty_board,
    list_near,
    list_of,
    place_of,
    play,
    set_up,
    undo,
    view,
)
from plyd.engines.gomoku.board.evaluation import Weights
from plyd.engines.gomoku.board.network import (
    HIDDEN_SHIFT,
    SHAPES,
    UNITS,
    VALUE_SHIFT,
    PatternNetwork,
    frames_view,
    network_value,
)
from plyd.engines.gomoku.board.patterns import A_THREE, COMBINATION_MASK, COMBINATIONS, KINDS
from plyd.engines.gomoku.board.vcf import NODES, PLIES, answer_to, continue_vcf, leave_vcf, vcf_view
from plyd.engines.gomoku.board.vct import leave_vct, list_answers, vct_view

COLOURS = {"x": X, "o": O}
CHANGING = ("stone", "lines", "code", "combo", "sets", "many", "sums", "state")


@njit(cache=True)
def put_stone(board, point, colour):
    """Put a stone on a board."""
    play(view(board), point, colour)


@njit(cache=True)
def take_stone(board, point):
    """Take a stone off a board."""
    undo(view(board), point)


@njit(cache=True)
def leave_chase(board, vcf):
    leave_vcf(view(board), vcf_view(vcf))


@njit(cache=True)
def leave_proving(board, proof):
    leave_vct(view(board), vct_view(proof))


@njit(cache=True)
def answer_on(board, move, attacker):
    """What `answer_to` says."""
    return answer_to(view(board), move, attacker)


@njit(cache=True)
def answers_on(board, attacker, marks):
    """What `list_answers` lists."""
    into = np.zeros(1024, np.int32)
    count = list_answers(view(board), attacker, marks, into, 0)
    return into[:count]


@njit(cache=True)
def near_points(board):
    """What `list_near` lists."""
    into = np.zeros(1024, np.int32)
    return into[: list_near(view(board), into, 0)]


@njit(cache=True)
def points_of_kind(board, colour, kind):
    """What `list_of` lists."""
    into = np.zeros(1024, np.int32)
    return into[: list_of(view(board), colour, kind, into, 0)]


def board_for(rules, position):
    """The board of a position. There is one of each size and rule: the next call changes it."""
    board = _board(position.size, rules.rule)
    set_up(board, position)
    return board


@functools.cache
def _board(size, rule):
    return empty_board(size, rule)


def random_weights(seed):
    """Weights of no meaning, but for nothing: four dead lines and a point with a stone are worth that."""
    drawn = np.random.default_rng(seed).integers(-500, 500, (2, 2 * (COMBINATIONS + 1)), np.int32)
    drawn[:, :2] = drawn[:, -2:] = 0
    return Weights(*drawn)


def snapshot(board):
    """Copies of all that changes on a board, but for the points of no threat, which nobody counts."""
    arrays = {name: getattr(board, name).copy() for name in CHANGING}
    arrays["sets"].reshape(2, KINDS, -1)[:, :A_THREE] = 0
    arrays["many"].reshape(2, KINDS)[:, :A_THREE] = 0
    return arrays


def changes_since(board, before):
    """The names of a board's arrays that are not as they were when a snapshot was taken."""
    return [name for name, now in snapshot(board).items() if not np.array_equal(now, before[name])]


def points(numbers):
    """Points by row and column."""
    return [place_of(int(number)) for number in numbers]


def vcf_whole(board, vcf, colour, nodes=1 << 40):
    """What a VCF of so many nodes finds, the line it found, its length and its nodes; the board is as before."""
    found, _ = continue_vcf(board, vcf, colour, nodes, True)
    plies = int(vcf.state[PLIES])
    line = points(vcf.line[:plies])
    leave_chase(board, vcf)
    return found, line, plies, int(vcf.state[NODES])


@njit(cache=True)
def network_value_on(board, frames, ply, colour):
    """What `network_value` says; the frame of the ply becomes the board's."""
    return network_value(view(board), frames_view(frames), ply, colour)


def random_network(seed, values=100):
    """A network of no meaning whose numbers stay within their bounds."""
    drawn = np.random.default_rng(seed)
    shapes = SHAPES | {"value": (np.int16, (COMBINATIONS + 1, 2))}
    spread = {"points": 40, "w1": 200, "b1": 1 << 20, "w2": 200, "b2": 1 << 16, "value": values}
    found = {
        name: drawn.integers(-spread[name], spread[name] + 1, shape).astype(dtype)
        for name, (dtype, shape) in shapes.items()
    }
    found["points"][-1] = found["value"][-1] = 0
    return PatternNetwork(**found | {"value": found["value"].reshape(-1)})


def slow_network_value(network, board, colour):
    """The network's value of a board, counted anew with numbers that cannot overflow."""
    own, other = (network.points[:, part : part + UNITS].astype(np.int64) for part in (0, UNITS))
    free = np.flatnonzero(board.stone == NOBODY)
    x, o = (board.combo[2 * free + side].astype(np.int64) & COMBINATION_MASK for side in (0, 1))
    of_x, of_o = (np.maximum(0, own[a] + other[b]).sum(axis=0) for a, b in ((x, o), (o, x)))
    sums = np.concatenate([of_x, of_o] if colour == X else [of_o, of_x])
    assert sums.max() < 1 << 15
    hidden = np.maximum(0, sums @ network.w1.astype(np.int64) + network.b1)
    assert hidden.max() < 1 << 31
    return int((hidden >> HIDDEN_SHIFT) @ network.w2.astype(np.int64) + network.b2[0]) >> VALUE_SHIFT
