"""Checkpoints of n-tuple networks: everything that a resumed run needs. Only learned weights are stored."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, number_in, read_file, text_in, whole_in, write_file
from plyd.models.ntuple.patterns import MOST_INDICES, MOST_PATTERNS, MOST_WEIGHTS, patterns_of, text_of

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
    stages: list[list[int]] = field(default_factory=list)
    """Indices of the tiles with which each stage after the first begins. The weights of a stage follow those of the
    one before; where it has learned none, it has those of the one before.
    """
    are_downgraded: bool = False
    """Whether boards of later stages are looked at downgraded."""
    pool: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 0, 0, 0), np.uint64))
    """(threads, stages - 1, boards, words): boards with which games entered each later stage."""
    entries: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """(threads, stages - 1): how many did."""

    @property
    def stage_size(self) -> int:
        """Number of the weights of a stage, learned or not."""
        return sum(self.base ** len(pattern) for pattern in patterns_of(self.network))

    @property
    def size(self) -> int:
        """Number of all weights, learned or not."""
        return self.stage_size * (1 + len(self.stages))

    @property
    def stage_of_places(self) -> NDArray[np.uint32]:
        """The stage of each learned weight."""
        stages: NDArray[np.uint32] = self.places // np.uint32(self.stage_size)
        return stages

    def whole(self) -> NDArray[np.float32]:
        """All weights."""
        try:
            weights = np.full(self.size, self.fresh_weight, np.float32)
        except MemoryError:
            raise BadWeights(f"there is no memory for {4 * self.size >> 20} MiB of weights") from None
        size = self.stage_size
        for stage in range(1 + len(self.stages)):
            if stage:
                weights[stage * size : (stage + 1) * size] = weights[(stage - 1) * size : stage * size]
            is_here = self.stage_of_places == stage
            weights[self.places[is_here]] = self.weights[is_here]
        return weights


FACTS = ("game", "variant", "network", "base", "fresh_weight", "plan", "progress")
ARRAYS = {"places": np.uint32, "weights": np.float32, "sums": np.float32, "seeds": np.uint64}
STAGE_ARRAYS = {"pool": np.uint64, "entries": np.int64}
MOST_STAGES = 16
LARGEST_WEIGHT = 1e30


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint, completely or not at all."""
    header = {"kind": KIND, **{name: getattr(checkpoint, name) for name in FACTS}}
    header |= stage_facts(checkpoint)
    arrays = ARRAYS | (STAGE_ARRAYS if checkpoint.stages else {})
    write_file(path, header, {name: getattr(checkpoint, name) for name in arrays})


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint of a file or of a run's folder, checked."""
    path = path / CHECKPOINT if path.is_dir() else path
    header, arrays, _ = read_file(path)
    if header.get("kind") != KIND:
        raise BadWeights(f"{path} is a {header.get('kind')}, not a checkpoint")
    try:
        _check_facts(header)
        facts: dict[str, Any] = {name: header[name] for name in FACTS}
        facts["stages"], facts["are_downgraded"] = stages_in(header)
        expected = ARRAYS | (STAGE_ARRAYS if facts["stages"] else {})
        found = Checkpoint(**facts | {name: arrays[name] for name in expected})
        learned = found.places.size
        shapes = found.places.shape, found.weights.shape
        if shapes != ((learned,), (learned,)) or found.sums.shape not in ((learned, 2), (0, 2)):
            raise BadWeights(f"{path} has arrays that do not go together")
        if found.pool.shape[:2] != found.entries.shape or found.entries.shape not in (
            (0, 0),
            (len(found.entries), len(found.stages)),
        ):
            raise BadWeights(f"{path} has a pool of boards that does not fit its stages")
        if any(arrays[name].dtype != dtype for name, dtype in expected.items()):
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


def with_patterns(checkpoint: Checkpoint, more: str) -> Checkpoint:
    """The same network with more patterns, whose weights are all 0: its values are the same, until it learns."""
    mine, added = patterns_of(checkpoint.network), patterns_of(more)
    if twice := [pattern for index, pattern in enumerate(added) if pattern in mine + added[:index]]:
        raise BadWeights(f"the network has the pattern {text_of(twice[:1])!r} already")
    if checkpoint.stages or checkpoint.fresh_weight:
        raise BadWeights("patterns can be added to networks of one stage whose new weights are 0; this is another one")
    whole = replace(checkpoint, network=text_of(mine + added))  # the tables of the new ones come last
    if whole.size > MOST_WEIGHTS or len(mine + added) > MOST_PATTERNS:
        raise BadWeights(f"{whole.network!r:.60} is too large; at most {MOST_PATTERNS} patterns are allowed")
    return whole


def stage_facts(checkpoint: Checkpoint) -> dict[str, Any]:
    """What the header of a file says about stages; nothing if there is one stage."""
    if not checkpoint.stages:
        return {}
    return {"stages": checkpoint.stages, "are_downgraded": checkpoint.are_downgraded}


def stages_in(header: dict[str, Any]) -> tuple[list[list[int]], bool]:
    """The stages of a network, checked: for each after the first, the indices of the tiles with which it begins; and
    whether boards of later stages are looked at downgraded.
    """
    stages, are_downgraded = header.get("stages", []), header.get("are_downgraded", False)
    if not isinstance(are_downgraded, bool):
        raise BadWeights(f"are_downgraded is {are_downgraded!r:.60}; allowed are true and false")
    if not (
        isinstance(stages, list)
        and len(stages) < MOST_STAGES
        and all(isinstance(indices, list) and 1 <= len(indices) <= MOST_STAGES for indices in stages)
        and all(type(index) is int and 1 <= index < MOST_INDICES for indices in stages for index in indices)
    ):
        raise BadWeights(
            f"its stages are {stages!r:.60}; allowed are up to {MOST_STAGES - 1} lists of indices from 1 to "
            f"{MOST_INDICES - 1}"
        )
    return stages, are_downgraded


def _check_facts(header: dict[str, Any]) -> None:
    """Raises ValueError or KeyError if a fact of the header is missing or of another type."""
    for name in ("game", "variant", "network"):
        text_in(header, name)
    whole_in(header, "base", MOST_INDICES)
    number_in(header, "fresh_weight", LARGEST_WEIGHT)
    for name in ("plan", "progress"):
        if not isinstance(header[name], dict):
            raise ValueError(f"{name} is {header[name]!r:.60}; allowed is an object")
