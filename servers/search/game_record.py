"""The record of one game: its start, the moves played from there, and the current position."""

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import BadCommand, BadMove, BadPosition, EngineError, UnknownGame, quoted
from plyd.engines.core.rules import Side
from plyd.servers.search.rules_pool import RulesPool, check_wanted
from plyd.v1 import position_pb2

MAX_MOVES = 4096
FEW_MOVES = 8  # replayed within a few milliseconds, whatever the game
MAX_MOVE_TEXT = 64  # characters; no game needs as many


class GameRecord:
    """A start, the moves played from it, and the positions that they led to."""

    def __init__(self, engine: Engine, variant: str, start: str, moves: Sequence[str] = ()) -> None:
        check_count(len(moves))
        self.engine = engine
        self.variant = find_variant(engine, variant)
        self.rules = engine.variants[self.variant]
        self._positions = [self.rules.parse(start) if start else self.rules.start()]
        self._points = [0.0]
        self._last_cells: list[tuple[int, ...]] = [()]
        self.start = self.rules.text(self._positions[0])
        self.moves: list[str] = []
        self.play(moves)

    @classmethod
    def read(cls, engines: Mapping[str, Engine], position: position_pb2.Position) -> "GameRecord":
        """The game that a request's position describes; an error names the field at fault."""
        try:
            return cls(find_engine(engines, position.game), position.variant, position.start, position.moves)
        except EngineError as error:
            raise with_field(f"position.{error.field}", error) from None

    @property
    def position(self) -> Any:
        """The current position."""
        return self._positions[-1]

    @property
    def points(self) -> float:
        """The points that the moves have gained."""
        return self._points[-1]

    @property
    def last_cells(self) -> tuple[int, ...]:
        """The cells that show the last move."""
        return self._last_cells[-1]

    def play(self, moves: Sequence[str]) -> None:
        """Play all moves, or none if one of them is illegal."""
        check_count(len(self.moves) + len(moves))
        begun = len(self.moves)
        try:
            for move in moves:
                check_wanted()
                if len(move) > MAX_MOVE_TEXT:
                    raise BadMove(f"{len(move)} characters in {quoted(move)}; at most {MAX_MOVE_TEXT} are allowed")
                step = self.rules.play(self.position, move)
                self._positions.append(step.position)
                self._points.append(self.points + step.points)
                self._last_cells.append(step.cells)
                self.moves.append(move)
        except BadMove as error:
            number = len(self.moves) + 1
            self.take_back(len(self.moves) - begun)
            raise BadMove(f"move {number}: {error}") from None

    def take_back(self, plies: int) -> None:
        """Take back that many moves; none if fewer were played."""
        if plies > len(self.moves):
            raise BadCommand(f"cannot take back {plies} plies; {len(self.moves)} were played")
        end = len(self.moves) - plies
        del self.moves[end:]
        for of_each_ply in (self._positions, self._points, self._last_cells):
            del of_each_ply[end + 1 :]

    def play_chance(self, seed: int | None) -> list[str]:
        """Play random chance moves until a player is to move or the game is over; the moves played."""
        chance = random.Random(seed)
        begun = len(self.moves)
        while self.rules.to_move(self.position) is Side.ENVIRONMENT:
            drops = self.rules.legal_moves(self.position)
            [drop] = chance.choices(drops, [drop.probability or 0.0 for drop in drops])
            self.play([drop.text])
        return self.moves[begun:]


async def read_game(
    engines: Mapping[str, Engine], position: position_pb2.Position, pool: RulesPool, party: object
) -> GameRecord:
    """The game that a request's position describes; a long one is replayed in a thread."""
    if len(position.moves) <= FEW_MOVES:
        return GameRecord.read(engines, position)
    return await pool.run(party, functools.partial(GameRecord.read, engines, position))


def check_count(moves: int) -> None:
    """Raise BadMove for more moves than a game may have."""
    if moves > MAX_MOVES:
        raise BadMove(f"{moves} moves; at most {MAX_MOVES} are allowed")


def find_engine(engines: Mapping[str, Engine], game: str) -> Engine:
    """The engine of a game; without a name, the only engine if there is just one."""
    if not game and len(engines) == 1:
        return next(iter(engines.values()))
    if game not in engines:
        what = f"unknown game {quoted(game)}" if game else "no game named"
        raise UnknownGame(f"{what}; served here: {', '.join(engines)}")
    return engines[game]


def find_variant(engine: Engine, variant: str) -> str:
    """The name of a variant; without a name, the first one."""
    if variant and variant not in engine.variants:
        known = ", ".join(engine.variants)
        message = f"unknown variant {quoted(variant)} of {engine.card.game}; variants are {known}"
        raise with_field("variant", BadPosition(message))
    return variant or next(iter(engine.variants))


def with_field(field: str, error: EngineError) -> EngineError:
    """The error, with the path of the request field at fault."""
    error.field = field
    return error
