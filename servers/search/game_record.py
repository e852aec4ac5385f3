"""The record of one game: its start, the moves played from there, and the current position."""

import functools
import random
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import BadCommand, BadMove, BadPosition, EngineError, UnknownGame, quoted
from plyd.engines.core.rules import Side, Step
from plyd.servers.search.rules_pool import RulesPool, check_wanted
from plyd.v1 import position_pb2

MAX_MOVES_BYTES = (
    128 << 10
)  # of a position's moves: with the rest of a request they fit in the daemon's largest message
MOVE_BYTES = 2  # that a move takes in a message besides its text
KEPT_PLIES = 1024  # how far moves are taken back without a replay
FEW_MOVES = 8  # replayed within a few milliseconds, whatever the game
MAX_MOVE_TEXT = 64  # characters; no game needs as many
MAX_PLIES = 1_000_000_000  # before a start; far from what a uint32 holds, so that a game can go on
MAX_POINTS = 1e15  # before a start; whole points still add up exactly


class GameRecord:
    """A start, the moves played from it, and the current position.

    The last positions are kept for moves to be taken back. A record without history forgets what is older:

        with history      start ──moves──────────────────────────> position
        without history                 start ──last KEPT_PLIES──> position     and the points and plies before it

    Without history, start and moves still lead to the position, for a searcher that follows the game; when the moves
    are as many as a position may have, they begin anew from the position of then.
    """

    def __init__(
        self,
        engine: Engine,
        variant: str,
        start: str,
        moves: Sequence[str] = (),
        *,
        points: float = 0.0,
        plies: int = 0,
        has_history: bool = True,
    ) -> None:
        self.engine = engine
        self.variant = find_variant(engine, variant)
        self.rules = engine.variants[self.variant]
        self.has_history = has_history
        self.start_points, self.start_plies = check_points(points), check_plies(plies)
        first = self.rules.parse(start) if start else self.rules.start()
        self.start = self.rules.text(first)
        self.moves: list[str] = []  # since the start
        self.plies = plies
        self._bytes = 0  # of the moves
        self._kept = deque([Step(first, points)], KEPT_PLIES + 1)  # positions, points so far, cells of the last move
        self.play(moves)

    @classmethod
    def read(
        cls, engines: Mapping[str, Engine], position: position_pb2.Position, *, has_history: bool = True
    ) -> "GameRecord":
        """The game that a request's position describes; an error names the field at fault."""
        try:
            return cls(
                find_engine(engines, position.game),
                position.variant,
                position.start,
                position.moves,
                points=position.points,
                plies=position.plies,
                has_history=has_history,
            )
        except EngineError as error:
            raise with_field(f"position.{error.field}", error) from None

    @property
    def position(self) -> Any:
        """The current position."""
        return self._kept[-1].position

    @property
    def points(self) -> float:
        """The points so far."""
        return self._kept[-1].points

    @property
    def last_cells(self) -> tuple[int, ...]:
        """The cells that show the last move."""
        return self._kept[-1].cells

    def play(self, moves: Sequence[str]) -> None:
        """Play all moves, or none if one of them is illegal."""
        check_size(moves, self._bytes if self.has_history else 0)
        steps: deque[Step] = deque(maxlen=KEPT_PLIES + 1)
        position, points, _ = self._kept[-1]
        for number, move in enumerate(moves, self.plies + 1):
            check_wanted()
            try:
                if len(move) > MAX_MOVE_TEXT:
                    raise BadMove(f"{len(move)} characters in {quoted(move)}; at most {MAX_MOVE_TEXT} are allowed")
                step = self.rules.play(position, move)
            except BadMove as error:
                raise BadMove(f"move {number}: {error}") from None
            position, points = step.position, points + step.points
            steps.append(Step(position, points, step.cells))
        self._add(moves, steps)

    def take_back(self, plies: int) -> None:
        """Take back that many moves; none if fewer were played or, without history, are kept."""
        played, kept = self.plies - self.start_plies, len(self._kept) - 1
        if plies > played:
            raise BadCommand(f"cannot take back {plies} plies; {played} were played")
        if plies > kept and not self.has_history:
            raise BadCommand(f"cannot take back {plies} plies; without history the last {kept} can be taken back")
        end = len(self.moves) - plies  # below 0 if they have begun anew since then
        if plies > kept:
            again = GameRecord(self.engine, self.variant, self.start, self.moves[:end], points=self.start_points)
            self._kept = again._kept
        else:
            for _ in range(plies):
                self._kept.pop()
        self.plies -= plies
        if end < 0:
            self._begin_here()
        else:
            self._bytes -= size_of(self.moves[end:])
            del self.moves[end:]

    def play_chance(self, seed: int | random.Random | None) -> list[str]:
        """Play random chance moves until a player is to move or the game is over; the moves played."""
        chance = seed if isinstance(seed, random.Random) else random.Random(seed)
        played = []
        while self.rules.to_move(self.position) is Side.ENVIRONMENT:
            drops = self.rules.legal_moves(self.position)
            [drop] = chance.choices(drops, [drop.probability or 0.0 for drop in drops])
            step = self.rules.play(self.position, drop.text)
            step = Step(step.position, self.points + step.points, step.cells)
            self._add([drop.text], [step])  # however long the history: nothing is half done
            played.append(drop.text)
        return played

    def _add(self, moves: Sequence[str], steps: Iterable[Step]) -> None:
        """Add moves that were found legal, and the positions and points after them."""
        self._kept.extend(steps)
        self.plies += len(moves)
        self.moves += map(sys.intern, moves)  # a game has few different ones
        self._bytes += size_of(moves)
        if self._bytes > MAX_MOVES_BYTES and not self.has_history:
            self._begin_here()

    def _begin_here(self) -> None:
        """Let start and moves begin at the current position."""
        self.start, self.moves, self._bytes = self.rules.text(self.position), [], 0


async def read_game(
    engines: Mapping[str, Engine], position: position_pb2.Position, pool: RulesPool, party: object
) -> GameRecord:
    """The game that a request's position describes; a long one is replayed in a thread."""
    if len(position.moves) <= FEW_MOVES:
        return GameRecord.read(engines, position)
    return await pool.run(party, functools.partial(GameRecord.read, engines, position))


def size_of(moves: Sequence[str]) -> int:
    """Bytes that moves take in a message; legal ones are short and ASCII."""
    return sum(map(len, moves)) + MOVE_BYTES * len(moves)


def check_size(moves: Sequence[str], before: int = 0) -> None:
    """Raise BadMove for more moves than a position may have, if those before them take so many bytes."""
    if (size := before + size_of(moves)) > MAX_MOVES_BYTES:
        raise BadMove(
            f"the moves take {size} bytes; at most {MAX_MOVES_BYTES} are allowed; "
            "a longer game goes on from its board: ask for states without_history"
        )


def check_plies(plies: int) -> int:
    """The plies before a start; raises BadPosition if they are too many."""
    if plies > MAX_PLIES:
        raise with_field("plies", BadPosition(f"plies is {plies}; allowed is 0 to {MAX_PLIES}"))
    return plies


def check_points(points: float) -> float:
    """The points before a start; raises BadPosition if they are out of range."""
    if not -MAX_POINTS <= points <= MAX_POINTS:
        raise with_field("points", BadPosition(f"points is {points:g}; allowed is {-MAX_POINTS:g} to {MAX_POINTS:g}"))
    return points


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
