"""Values and move-ordering scores of combinations: weights learned by fitting.py, in a file."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.errors import BadModel
from plyd.engines.gomoku.board.patterns import COMBINATIONS
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file

SCALE = 256  # this much evaluation is one unit of the logistic function
MOVE_SCALE = 64  # this much of a move's score is one unit of the softmax
KIND = "patterns"
SHAPE = (2 * (COMBINATIONS + 1),)
ARRAYS = ("worth", "ordering")  # names in the file, in the order of the fields of Weights


class Weights(NamedTuple):
    """By combination, and whether its colour is to move; the last one, for points with a stone, is 0."""

    value: NDArray[np.int32]
    ordering: NDArray[np.int32]


def save(weights: Weights, path: Path, about: Mapping[str, Any]) -> None:
    """Write weights to a file."""
    header = {"game": "gomoku", "kind": KIND, **about}
    write_file(path, header, {name: array.astype(np.int16) for name, array in zip(ARRAYS, weights, strict=True)})


@cache
def load(path: Path) -> Weights:
    """The weights in a file."""
    try:
        header, arrays, _ = read_file(path)
    except BadWeights as error:
        raise BadModel(str(error)) from None
    found = [arrays.get(name, np.empty(0)) for name in ARRAYS]
    if header.get("kind") != KIND or any(each.shape != SHAPE or each.dtype != np.int16 for each in found):
        raise BadModel(f"{path} is a {header.get('kind')} for {header.get('game')}, not {KIND} for gomoku")
    return Weights(*(np.ascontiguousarray(each, np.int32) for each in found))


def shipped() -> Weights:
    """The weights that ship; used for every rule set."""
    return load(Path(str(resources.files("plyd.models"))) / "weights" / "gomoku-patterns.plyd")
