"""A 2584 player by the arena's line protocol. It follows a match from the empty board; the protocol has no other start.

The program plays the role "play" under its own name; the referee's part is ours.
"""

from plyd.engines.core.errors import BadPosition, quoted
from plyd.engines.core.search import Limits
from plyd.engines.programs.conversation import Conversation, Heard, PlayedGame
from plyd.engines.programs.process import Program
from plyd.protocols.arena2584 import ANSWERS, NO_MOVE, SLIDES, opcode_of, slide_of

EVIL = "plyd-chance"  # the name under which tiles drop; no program has it


class ArenaProgram(Conversation):
    """A program that answers `match ID open` and `match ID play take turn`."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._number = 0
        self._announced = 0  # moves of the game that it has been told

    def greet(self) -> None:
        """Wait until it is ready for a match under its name."""
        self._open()

    def begin(self, game: PlayedGame, limits: Limits, seconds: float | None) -> None:  # noqa: ARG002
        """Announce the moves that it does not know, its own included, and ask for the next."""
        if game.start != game.rules.text(game.rules.start()):
            raise BadPosition(
                f"{self.program.name} follows a game from the empty board, by its moves; the game starts at "
                f"{quoted(game.start)}"
            )
        if not self.follows(game) and self.game:
            self.process.send(f"{self._match} close {self.program.name}")
            self._open()
        moves = game.moves[self._announced :]
        self._announced = len(game.moves)
        self.process.send(*map(self._announcement, moves), f"{self._match} play take turn")

    def hear(self, game: PlayedGame, line: str) -> Heard:  # noqa: ARG002
        """The slide of a move in this match; nothing of lines that are no part of the protocol."""
        if not line.startswith("match "):
            return None
        found = ANSWERS["move"].fullmatch(line)
        if not found or (found[1], found[2]) != (str(self._number), "play"):
            raise self.process.failure(f"answers {quoted(line)}; expected {quoted(f'{self._match} play move OPCODE')}")
        if found[3] == NO_MOVE:
            raise self.process.failure("has no move, but the game is not over")
        slide = slide_of(found[3])
        if slide is None:
            raise self.process.failure(f"plays the opcode {quoted(found[3])}; slides are 0 to {len(SLIDES) - 1}")
        return slide

    @property
    def _match(self) -> str:
        return f"match {self._number}"

    def _open(self) -> None:
        self._number += 1
        self._announced = 0
        self.process.send(f"{self._match} open {self.program.name}:{EVIL}")
        ready = f"{self._match} play ready"
        self.wait_for(ready, lambda line: line == ready)

    def _announcement(self, move: str) -> str:
        role = "play" if move in SLIDES else "evil"
        return f"{self._match} {role} move {opcode_of(move):x}"
