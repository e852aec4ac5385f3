"""The engine contract: what a daemon needs to know to serve a game."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.errors import NotSupported
from plyd.engines.core.options import MEMORY, Option, OptionValue
from plyd.engines.core.rules import Rules
from plyd.engines.core.search import Searcher


class Capability(Enum):
    """Something an engine may be able to do beyond searching for a player's move."""

    EVALUATE = "evaluate"
    EXACT = "exact"
    ENVIRONMENT = "environment"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Model:
    """Learned weights: their name and the SHA-256 of their file."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """What an engine says of itself; the schema's EngineInfo has the same fields, with more words."""

    game: str
    title: str
    summary: str
    position_notation: str
    position_examples: tuple[str, ...]
    move_notation: str
    move_examples: tuple[str, ...]
    node_meaning: str
    min_rows: int
    max_rows: int
    min_columns: int
    max_columns: int
    options: tuple[Option, ...] = ()
    capabilities: frozenset[Capability] = frozenset()
    models: Mapping[str, Model] = field(default_factory=dict)
    """What plays each variant, for engines that learned."""


MOST_EXPLAINED = 1000


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a batch that could not be read: its number and its answer's, both from 0, and what is wrong.

    Only the first MOST_EXPLAINED of a batch say what is wrong; the others leave it empty.
    """

    line: int
    answer: int
    message: str


@dataclass(frozen=True, slots=True)
class Answers:
    """Values of a batch, one for each line that is not empty: as numbers (NaN for none) or as text."""

    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    moves: tuple[str, ...] = ()
    text: bytes = b""
    errors: tuple[BadLine, ...] = ()


class Engine(ABC):
    """One game and who plays it. Shared by all callers, so whatever it holds after `warm_up` stays as it is."""

    card: Card
    variants: Mapping[str, Rules]
    """Rulebooks by variant, the default one first."""

    @abstractmethod
    def warm_up(self) -> None:
        """Load and compile all that a search needs, so that the first request is as quick as the next."""

    @abstractmethod
    def searcher(self, variant: str, options: Mapping[str, OptionValue], megabytes: int | None = None) -> Searcher:
        """A new searcher; every option of the card has a value.

        `megabytes` is the memory that it is granted, None for what the option `memory` asks for. One rule serves all:
        address space is reserved once, the system charges for pages as they are touched, whole trees are given back,
        and nothing is copied or enlarged while a move is searched.
        """

    @property
    def memory_option(self) -> Option | None:
        """The option for a searcher's megabytes, of engines that have one."""
        return next((option for option in self.card.options if option.name == MEMORY), None)

    def answers_at_once(self, options: Mapping[str, OptionValue]) -> bool:  # noqa: ARG002
        """Whether a searcher with these options needs but microseconds, whatever it is asked: no slot, no thread."""
        return False

    def evaluate(self, variant: str, lines: bytes, *, as_text: bool, with_moves: bool) -> Answers:  # noqa: ARG002
        """Values of many positions, one a line. For engines with the capability EVALUATE."""
        raise NotSupported(f"{self.card.game} does not evaluate batches of positions; use Search")
