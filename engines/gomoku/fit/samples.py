"""Positions of games for the pattern network: the combinations of their empty points, and what they are worth.

A position counts if a search was asked there, and if no glance decides it: nobody makes five, the side to move has no
open four to make and no VCF. Its target is a mixture of the search's score and the game's result, as a probability to
win. A game's result says nothing about positions before a random move, so there only the score counts.
"""

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    MARGIN,
    NOBODY,
    SIZE,
    STRIDE,
    Board,
    count_of,
    empty_board,
    play,
    point_at,
    view,
)
from plyd.engines.gomoku.board.evaluation import SCALE
from plyd.engines.gomoku.board.patterns import COMBINATION_MASK, MAKES_FIVE, OPEN_ONE, WINS_NEXT, combinations
from plyd.engines.gomoku.board.vcf import WIN, Vcf, finds_vcf, vcf_for, vcf_view
from plyd.engines.gomoku.fit.records import PatternGame
from plyd.engines.gomoku.rules import LARGEST, point_of

OPEN_POINT = combinations().index((OPEN_ONE,) * 4)  # far from stones and edges: worth nothing, and left out
VCF_NODES = 64
LARGEST_SCORE = 8_000  # of a logistic function
HELD_OUT = 10  # one game of so many is held out


class Positions(NamedTuple):
    """Positions one after the other."""

    pairs: NDArray[np.uint16]  # (points, 2): the combinations of the side to move and of the other
    starts: NDArray[np.int64]  # (positions + 1,): where a position's points begin
    targets: NDArray[np.float32]  # (positions,): the probability that the side to move wins
    is_held: NDArray[np.bool_]  # (positions,): whether it is held out, by game


def positions_of(records: Iterable[PatternGame], score_share: float) -> Positions:
    """The positions of games that count. `score_share` is the share of the score in a target that has a result too."""
    pairs, counts, targets, is_held = [], [], [], []
    vcf = vcf_for()
    for record in records:
        points = np.array([point_at(*point_of(move, record.size)) for move in record.moves], np.int64)
        wanted = _targets(record, score_share)
        into = np.zeros((len(points) * LARGEST * LARGEST, 2), np.uint16)
        found = np.zeros(len(points), np.int64)
        total = _replay(empty_board(record.size, record.variant), vcf, points, ~np.isnan(wanted), into, found)
        pairs.append(into[:total].copy())
        counts.append(found[found > 0])
        targets.append(wanted[found > 0])
        is_held.append(np.full(len(counts[-1]), is_held_out(record)))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))]) if counts else np.zeros(1)
    return Positions(
        np.concatenate(pairs or [np.zeros((0, 2))]).astype(np.uint16),
        starts.astype(np.int64),
        np.concatenate(targets or [np.zeros(0)]).astype(np.float32),
        np.concatenate(is_held or [np.zeros(0)]).astype(np.bool_),
    )


def is_held_out(record: PatternGame) -> bool:
    """Whether a game is for testing: by its moves, so that it is the same in any file."""
    return zlib.crc32(" ".join(record.moves).encode()) % HELD_OUT == 0


def _targets(record: PatternGame, score_share: float) -> NDArray[Any]:
    """The target of the position before each move; NaN where there is none."""
    plies = np.arange(len(record.moves))
    random_plies = [ply for ply, score in enumerate(record.scores) if score is None]
    is_clean = plies > max(random_plies, default=record.opening - 1)
    won = np.where(plies % 2 == 0, record.result, -record.result) / 2 + 0.5
    won = np.where(is_clean & (record.result != 0), won, np.nan)
    scores = np.array([np.nan if score is None else score for score in record.scores or [None] * len(plies)], float)
    scores = 1 / (1 + np.exp(-np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE) / SCALE))
    mixed = score_share * scores + (1 - score_share) * won
    return np.where(np.isnan(mixed), np.where(np.isnan(scores), won, scores), mixed)


@njit(cache=True)
def _replay(
    board: Board,
    vcf: Vcf,
    points: NDArray[np.int64],
    is_wanted: NDArray[np.bool_],
    pairs: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Play a game; write the points of the positions that count, and the number of points of each; all points."""
    total = 0
    for ply in range(points.size):
        me = 1 + ply % 2
        if is_wanted[ply] and _is_quiet(board, vcf, me):
            end = _write_points(board, me, pairs, total)
            counts[ply] = end - total
            total = end
        play(view(board), points[ply], me)
    return total


@njit
def _is_quiet(board: Board, vcf: Vcf, me: int) -> bool:
    v, you = view(board), 3 - me
    if count_of(v, me, MAKES_FIVE) + count_of(v, you, MAKES_FIVE) + count_of(v, me, WINS_NEXT):
        return False
    return finds_vcf(v, vcf_view(vcf), me, VCF_NODES) != WIN


@njit
def _write_points(board: Board, me: int, pairs: NDArray[np.uint16], count: int) -> int:
    v = view(board)
    size = np.int64(v.state[SIZE])
    for row in range(MARGIN, MARGIN + size):
        for point in range(row * STRIDE + MARGIN, row * STRIDE + MARGIN + size):
            mine = v.combo[2 * point + me - 1] & COMBINATION_MASK
            theirs = v.combo[2 * point + 2 - me] & COMBINATION_MASK
            if v.stone[point] == NOBODY and (mine != OPEN_POINT or theirs != OPEN_POINT):
                pairs[count, 0], pairs[count, 1] = mine, theirs
                count += 1
    return count
