"""The engine contract: what a daemon needs to know to serve a game."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.errors import NotSupported
from plyd.engines.core.look import BoardLook, SideLook, StartForm
from plyd.engines.core.options import MEMORY, Option, OptionValue
from plyd.engines.core.rules import Rules
from plyd.engines.core.search import FastPlayer, Limits, Searcher


class Capability(Enum):
    """Something an engine may be able to do besides searching for a player's move."""

    EVALUATE = "evaluate"
    EXACT = "exact"
    ENVIRONMENT = "environment"
    MEMORY = "memory"
    COSTLY_LINES = "costly_lines"


@dataclass(frozen=True, slots=True)
class Model:
    """Learned weights: their name and the SHA-256 of their file."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """An engine's description of itself; EngineInfo in the schema has the same fields, documented at length."""

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
    """The network that plays each variant. Empty for engines without networks."""
    board_look: BoardLook = BoardLook()  # noqa: RUF009  immutable
    sides: tuple[SideLook, ...] = ()
    start_form: StartForm | None = None
    file_formats: tuple[str, ...] = ("text",)
    program: str = ""
    """Name of the outside program that plays. Empty for engines of our own."""
    program_sha256: str = ""
    """Which program that is: of its protocol, command, options and files. Other programs may have its name."""


MOST_EXPLAINED = 1000


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a batch that could not be read: line number and answer number, both from 0, and an error message.

    Only the first MOST_EXPLAINED bad lines of a batch have a message; for the others it is empty.
    """

    line: int
    answer: int
    message: str


@dataclass(frozen=True, slots=True)
class Answers:
    """Values of a batch, one for each line that is not empty: as numbers (NaN: no value) or as text."""

    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    moves: tuple[str, ...] = ()
    text: bytes = b""
    errors: tuple[BadLine, ...] = ()


class Engine(ABC):
    """One game and its searchers. Shared by all callers, so nothing in it changes after `warm_up`."""

    card: Card
    variants: Mapping[str, Rules]
    """Rulebooks by variant, the default one first."""

    parts: tuple[str, ...] = ()
    """What is loaded and compiled on its own. A daemon serves once it has those of a default search, and prepares the
    others when they are first asked for. Empty: everything at once."""

    @abstractmethod
    def warm_up(self) -> None:
        """Load and compile everything that a search needs, so that the first request is as fast as later ones."""

    def prepare(self, part: str) -> None:
        """Load and compile one of the parts. Called once for each, by one thread at a time."""
        raise AssertionError(f"{self.card.game} has no part {part!r}; its parts are {self.parts}")

    def search_parts(self, variant: str, options: Mapping[str, OptionValue]) -> tuple[str, ...]:  # noqa: ARG002
        """The parts that such a search needs."""
        return self.parts

    def evaluate_parts(self, variant: str) -> tuple[str, ...]:  # noqa: ARG002
        """The parts that `evaluate` needs."""
        return self.parts

    @abstractmethod
    def searcher(self, variant: str, options: Mapping[str, OptionValue], megabytes: int | None = None) -> Searcher:
        """A new searcher; `options` has a value for every option of the card.

        `megabytes` is the memory granted to it; None: the value of its option `memory`. Every searcher manages memory
        the same way: it reserves address space once, the system commits pages when they are first written, whole trees
        are freed at once, and nothing is copied or resized during a search.
        """

    @property
    def memory_option(self) -> Option | None:
        """The option for a searcher's megabytes, or None if the engine has none."""
        return next((option for option in self.card.options if option.name == MEMORY), None)

    def answers_at_once(self, position: Any, limits: Limits, options: Mapping[str, OptionValue]) -> bool:  # noqa: ARG002
        """Whether such a search takes microseconds and no memory, so that it needs no slot and no thread.

        It is then made by a searcher with 0 megabytes.
        """
        return False

    def fast_player(
        self,
        variant: str,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        limits: Limits,  # noqa: ARG002
        seed: int,  # noqa: ARG002
    ) -> FastPlayer | None:
        """What plays a game on, with such limits for each move, faster than a searcher does; None: nothing.

        The seed, 64 bits, decides what chance does. Needs `fast_parts`.
        """
        return None

    def fast_parts(self, variant: str) -> tuple[str, ...]:
        """The parts that `fast_player` needs."""
        return self.search_parts(variant, {option.name: option.default for option in self.card.options})

    def close(self) -> None:  # noqa: B027  most engines have nothing that outlives them
        """End what does not end with this process: other processes. Called once, when no search runs."""

    def evaluate(self, variant: str, lines: bytes, *, as_text: bool, with_moves: bool) -> Answers:  # noqa: ARG002
        """Values of many positions, one per line. For engines with the capability EVALUATE."""
        raise NotSupported(f"{self.card.game} does not evaluate batches of positions; use Search")
