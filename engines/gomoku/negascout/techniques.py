"""What NegaScout searches less deep or not at all, as tables and margins; `plain` turns all of it off.

    late-move pruning     only so many moves of a position are searched: more of them the deeper it is searched
    late-move reductions  a move is searched log(depth) * log(number of the move) / LMR_SCALE plies less deep
    reverse futility      an evaluation far above beta is a cutoff
    razoring              an evaluation far below alpha ends the position, unless there is a VCF
    futility              an evaluation below alpha ends the position after its first moves
    null move             if passing is good enough for a cutoff, a move is too
    iir                   internal iterative reduction: a ply less where the table knows no move

The evaluation's unit is 1/256 of a unit of the logistic function (SCALE in board/evaluation.py).
"""

from functools import cache
from math import log

import numpy as np

from plyd.engines.gomoku.negascout.workspace import COUNTS, DEPTHS, MOST_MOVES, NegaScoutParams

LEAF_VCF_NODES, VCF_NODES = 24, 100
WIDTH, WIDTH_PER_PLY = 5, 2
LMR_BASE, LMR_SCALE, LMR_DEPTH = 0.5, 1.6, 2
REVERSE_FUTILITY, RAZORING, FUTILITY = 60, 150, 60
NULL_MOVE, IIR = 3, 4


@cache
def shipped(network: int = 0) -> NegaScoutParams:
    """The parameters of the engine."""
    plies = np.arange(DEPTHS, dtype=np.int32)
    counts = WIDTH + WIDTH_PER_PLY * plies
    reductions = np.zeros((DEPTHS, COUNTS), np.int32)
    for depth in range(LMR_DEPTH, DEPTHS):
        for number in range(1, COUNTS):
            reductions[depth, number] = int(LMR_BASE + log(depth) * log(number) / LMR_SCALE)
    return NegaScoutParams(
        LEAF_VCF_NODES, VCF_NODES, counts, reductions, REVERSE_FUTILITY, RAZORING, FUTILITY, NULL_MOVE, IIR, network
    )


def plain(leaf_vcf_nodes: int = 0, vcf_nodes: int = 0, width: int = MOST_MOVES) -> NegaScoutParams:
    """Plain alpha-beta over `width` moves of a position at the last ply, two more for each ply before it."""
    counts = width + WIDTH_PER_PLY * np.arange(DEPTHS, dtype=np.int32)
    return NegaScoutParams(leaf_vcf_nodes, vcf_nodes, counts, np.zeros((DEPTHS, COUNTS), np.int32), 0, 0, 0, 0, 0, 0)
