"""One game's record: where it began, the moves since, and what stands on the board now."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import BadCommand, BadMove, BadPosition, EngineError, UnknownGame, quoted
from plyd.engines.core.rules import Side

MAX_MOVES = 4096


class Record:
    """A start, the moves played from it, and the positions they led to."""

    def __init__(self, engine: Engine, variant: str, start: str, moves: Sequence[str] = ()) -> None:
        self.engine = engine
        self.variant = find_variant(engine, variant)
        self.rules = engine.variants[self.variant]
        self._positions = [self.rules.parse(start) if start else self.rules.start()]
        self._points = [0.0]
        self.start = self.rules.text(self._positions[0])
        self.moves: list[str] = []
        self.play(moves)

    @property
    def position(self) -> Any:
        """What stands on the board now."""
        return self._positions[-1]

    @property
    def points(self) -> float:
        """What the moves gained."""
        return self._points[-1]

    def play(self, moves: Sequence[str]) -> None:
        """Play moves, all or none."""
        if len(self.moves) + len(moves) > MAX_MOVES:
            raise BadMove(f"{len(self.moves) + len(moves)} moves; at most {MAX_MOVES} are allowed")
        begun = len(self.moves)
        try:
            for move in moves:
                step = self.rules.play(self.position, move)
                self._positions.append(step.position)
                self._points.append(self.points + step.points)
                self.moves.append(move)
        except BadMove as error:
            number = len(self.moves) + 1
            self.take_back(len(self.moves) - begun)
            raise BadMove(f"move {number}: {error}") from None

    def take_back(self, plies: int) -> None:
        """Take moves back, all or none."""
        if plies > len(self.moves):
            raise BadCommand(f"cannot take back {plies} plies; {len(self.moves)} were played")
        end = len(self.moves) - plies
        del self.moves[end:], self._positions[end + 1 :], self._points[end + 1 :]

    def play_chance(self, seed: int | None) -> list[str]:
        """Let chance move until a player is to move or the game is over; the moves it made."""
        chance = random.Random(seed)
        begun = len(self.moves)
        while self.rules.to_move(self.position) is Side.ENVIRONMENT:
            drops = self.rules.legal_moves(self.position)
            [drop] = chance.choices(drops, [drop.probability or 0.0 for drop in drops])
            self.play([drop.text])
        return self.moves[begun:]


def find_engine(engines: Mapping[str, Engine], game: str) -> Engine:
    """The engine of a game; with no name, the only one there is."""
    if not game and len(engines) == 1:
        return next(iter(engines.values()))
    if game not in engines:
        what = f"unknown game {quoted(game)}" if game else "no game named"
        raise UnknownGame(f"{what}; served here: {', '.join(engines)}")
    return engines[game]


def find_variant(engine: Engine, variant: str) -> str:
    """The name of a variant; with no name, the first one."""
    if variant and variant not in engine.variants:
        known = ", ".join(engine.variants)
        message = f"unknown variant {quoted(variant)} of {engine.card.game}; variants are {known}"
        raise at("variant", BadPosition(message))
    return variant or next(iter(engine.variants))


def at(field: str, error: EngineError) -> EngineError:
    """The error, with the path of the request field that it is about."""
    error.field = field
    return error
