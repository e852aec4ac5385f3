"""Checkpoints of n-tuple networks: everything that a resumed run needs. Only learned weights are stored."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, number_in, read_file, text_in, whole_in, write_file
from plyd.models.ntuple.patterns import MOST_INDICES, MOST_WEIGHTS, patterns_of

KIND = "checkpoint"


@dataclass(slots=True)
class Checkpoint:
    """The state of a training run."""

    game: str
    variant: str
    network: str
    """Its patterns, as `patterns_of` reads them."""
    base: int
    fresh_weight: float
    """The value of a weight before it is learned."""
    places: NDArray[np.uint32]
    weights: NDArray[np.float32]
    sums: NDArray[np.float32]
    """(learned, 2), the two sums of temporal coherence for each weight; (0, 2) without it."""
    seeds: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 1), np.uint64))
    plan: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of all weights, learned or not."""
        return sum(self.base ** len(pattern) for pattern in patterns_of(self.network))

    def whole(self) -> NDArray[np.float32]:
        """All weights."""
        try:
            weights = np.full(self.size, self.fresh_weight, np.float32)
        except MemoryError:
            raise BadWeights(f"there is no memory for {4 * self.size >> 20} MiB of weights") from None
        weights[self.places] = self.weights
        return weights


FACTS = ("game", "variant", "network", "base", "fresh_weight", "plan", "progress")
ARRAYS = {"places": np.uint32, "weights": np.float32, "sums": np.float32, "seeds": np.uint64}
LARGEST_WEIGHT = 1e30


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint, completely or not at all."""
    header = {"kind": KIND, **{name: getattr(checkpoint, name) for name in FACTS}}
    write_file(path, header, {name: getattr(checkpoint, name) for name in ARRAYS})


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint of a file or of a run's folder, checked."""
    path = path / CHECKPOINT if path.is_dir() else path
    header, arrays, _ = read_file(path)
    if header.get("kind") != KIND:
        raise BadWeights(f"{path} is a {header.get('kind')}, not a checkpoint")
    try:
        _check_facts(header)
        facts: dict[str, Any] = {name: header[name] for name in FACTS}
        found = Checkpoint(**facts | {name: arrays[name] for name in ARRAYS})
        learned = found.places.size
        shapes = found.places.shape, found.weights.shape
        if shapes != ((learned,), (learned,)) or found.sums.shape not in ((learned, 2), (0, 2)):
            raise BadWeights(f"{path} has arrays that do not go together")
        if any(arrays[name].dtype != dtype for name, dtype in ARRAYS.items()):
            raise BadWeights(f"{path} has arrays of other types than a checkpoint's")
        if found.size > MOST_WEIGHTS:
            raise BadWeights(f"{path} is of {found.size} weights; a network has at most {MOST_WEIGHTS}")
        if learned and int(found.places.max()) >= found.size:
            raise BadWeights(f"{path} has weights beyond its tables")
    except BadWeights as error:
        raise BadWeights(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise BadWeights(f"{path} is not what a checkpoint should be: {error!r}") from None
    return found


def _check_facts(header: dict[str, Any]) -> None:
    """Raises ValueError or KeyError if a fact of the header is missing or of another type."""
    for name in ("game", "variant", "network"):
        text_in(header, name)
    whole_in(header, "base", MOST_INDICES)
    number_in(header, "fresh_weight", LARGEST_WEIGHT)
    for name in ("plan", "progress"):
        if not isinstance(header[name], dict):
            raise ValueError(f"{name} is {header[name]!r:.60}; allowed is an object")
