"""A game whose moves come from an outside program."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from plyd.engines.core.engine import Engine
from plyd.engines.core.options import OptionValue
from plyd.engines.core.search import Searcher
from plyd.engines.programs.arena2584 import ArenaProgram
from plyd.engines.programs.conversation import Conversation
from plyd.engines.programs.course import LIBRARIES, CourseLibrary
from plyd.engines.programs.gomocup import GomocupProgram
from plyd.engines.programs.pool import ProgramPool
from plyd.engines.programs.process import Program
from plyd.engines.programs.searcher import ProgramSearcher
from plyd.engines.programs.ugi import UgiProgram

PROTOCOLS: dict[str, type[Conversation]] = {
    "ugi": UgiProgram,
    "gomocup": GomocupProgram,
    "arena2584": ArenaProgram,
    "course": CourseLibrary,
}
TITLES = {
    "ugi": "Universal Game Interface",
    "gomocup": "Gomocup protocol",
    "arena2584": "protocol of the 2584 arena",
    "course": "course's C interface",
}
OWN_PROTOCOLS = {"gomoku": ("gomocup",), "2584": ("arena2584",), "connect4": ("course",)}  # games that have one


def protocols_of(game: str) -> tuple[str, ...]:
    """The protocols that a program of a game may speak, the usual one first."""
    return (*OWN_PROTOCOLS.get(game, ()), "ugi")


def usual_protocol(game: str, command: tuple[str, ...]) -> str:
    """The protocol of a program unless its user says otherwise: the game's own, which for Connect Four is a library."""
    first, *_ = protocols_of(game)
    return "ugi" if first == "course" and not command[0].endswith(LIBRARIES) else first


def fingerprint(program: Program, protocol: str) -> str:
    """The SHA-256 of what decides how a program plays: protocol, command, options, and the files in the command.

    A file counts by its content, wherever it is: a program that was changed is another one.
    """
    whole = hashlib.sha256(json.dumps([protocol, program.command[1:], program.options]).encode())
    for word in program.command:
        path = Path(program.folder or "", shutil.which(word) or word)
        with contextlib.suppress(OSError, ValueError):
            if path.is_file():
                with path.open("rb") as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


class ProgramEngine(Engine):
    """Rules, variants and notation of a built-in game, and a program that plays it."""

    def __init__(self, game: Engine, program: Program, protocol: str) -> None:
        self.variants = game.variants
        self.card = replace(
            game.card,
            summary=f"The program {program.name} plays, by the {TITLES[protocol]}.",
            node_meaning="what the program counts as a node, if it tells",
            options=(),
            capabilities=frozenset(),
            models={},
            program=program.name,
            program_sha256=fingerprint(program, protocol),
        )
        self._program = program
        self._pool = ProgramPool(lambda: PROTOCOLS[protocol](program), program.processes)

    def warm_up(self) -> None:
        """Start the program once, so that one which cannot be used is noticed."""
        self._pool.warm_up()

    def searcher(
        self,
        variant: str,
        options: Mapping[str, OptionValue],  # noqa: ARG002
        megabytes: int | None = None,  # noqa: ARG002
    ) -> Searcher:
        """A new searcher; it has no process until it searches."""
        is_default = variant == next(iter(self.variants))
        return ProgramSearcher(self._program, self._pool, variant, self.variants[variant], is_default)

    def close(self) -> None:
        """End all processes of the program."""
        self._pool.close()
