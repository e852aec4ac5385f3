"""A Gomoku program by the Gomocup protocol. A game goes on with TURN; any other position is set up with BOARD."""

from plyd.engines.core.errors import quoted
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits
from plyd.engines.programs.conversation import Conversation, Heard, PlayedGame
from plyd.protocols.gomocup import (
    BLOCKED,
    OPPONENT,
    OWN,
    REFUSALS,
    RULES,
    TALK,
    UNLIMITED_MS,
    Point,
    Stones,
    first_word,
    move_to,
    point_of,
    read_point,
)

GREETING_SIZE = 15
STONES = {Side.PLAYER_ONE: "x", Side.PLAYER_TWO: "o"}


class GomocupProgram(Conversation):
    """A program that answers START, BEGIN, TURN and BOARD."""

    farewell = "END"

    def greet(self) -> None:
        """Wait for an answer to START; a program may refuse this size of board and play on others."""
        self.process.send(f"START {GREETING_SIZE}")
        self.wait_for("OK", lambda line: first_word(line) in ("OK", *REFUSALS))

    def begin(self, game: PlayedGame, limits: Limits, seconds: float | None) -> None:  # noqa: ARG002
        """TURN after an opponent's answer to its move; else START, and BEGIN or BOARD."""
        timeout = f"INFO timeout_turn {min(UNLIMITED_MS, int((seconds or 0.0) * 1000))}"
        size = game.rules.board(game.position).rows
        point = point_of(game.moves[-1], size) if game.moves else None
        if self.follows(game) and self.game and len(game.moves) == len(self.game.moves) + 2 and point:
            self.process.send(timeout, f"TURN {point}")
            return
        self._start(game, size)
        stones = stones_of(game, size)
        board = ("BOARD", *(f"{point},{who}" for point, who in stones.items()), "DONE")
        self.process.send(timeout, *(board if stones else ("BEGIN",)))

    def hear(self, game: PlayedGame, line: str) -> Heard:
        """The move to the point of a line; nothing of a line for people."""
        word = first_word(line)
        if word in TALK or word == "OK":
            return None
        size = game.rules.board(game.position).rows
        point = read_point(line)
        if point is None or not (point.x < size and point.y < size):
            raise self.process.failure(f"answers {quoted(line)}; a move is x,y, each from 0 to {size - 1}")
        return move_to(point, size)

    def _start(self, game: PlayedGame, size: int) -> None:
        memory = (self.program.memory_mb or 0) << 20
        self.process.send(f"START {size}")
        answer = self.wait_for("OK", lambda line: first_word(line) not in TALK)
        if first_word(answer) != "OK":
            raise self.process.failure(f"answers {quoted(answer)} to START {size}")
        self.process.send(
            "INFO timeout_match 0",
            f"INFO time_left {UNLIMITED_MS}",
            f"INFO max_memory {memory}",
            "INFO game_type 1",
            f"INFO rule {RULES[game.variant]}",
            *(f"INFO {name} {value}" for name, value in self.program.options),
        )


def stones_of(game: PlayedGame, size: int) -> Stones:
    """All stones by point, those of the start first and then in the order of the moves; the side to move is OWN."""
    cells = game.rules.board(game.position).cells
    own = STONES[game.side]
    points = {Point(i % size, i // size): label for i, label in enumerate(cells) if label}
    played = [point for move in game.moves if (point := point_of(move, size))]
    order = [*(point for point in points if point not in set(played)), *played]
    return {point: BLOCKED if points[point] == "#" else OWN if points[point] == own else OPPONENT for point in order}
