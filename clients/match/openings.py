"""Openings of a match: random ones, or those of a file. A daemon is asked for the rules."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from plyd.clients.library.client import EngineClient
from plyd.clients.library.errors import InvalidRequest
from plyd.clients.library.state import State
from plyd.clients.match.results import PlayedGame
from plyd.clients.match.side import BadMatch
from plyd.v1 import position_pb2

if TYPE_CHECKING:
    from plyd.clients.match.connect import ConnectedSide  # which imports this file

ONGOING = position_pb2.OUTCOME_ONGOING
PLAYERS = (position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO)
TRIES = 50  # to find an opening that was not used before


@dataclass(frozen=True, slots=True)
class Opening:
    """A starting position, the moves from there, and the position after them."""

    start: str
    moves: tuple[str, ...]
    text: str
    to_move: int  # a Side


@dataclass(frozen=True, slots=True)
class ScheduledGame:
    """A game that is still to be played, and its two sides; PlayedGame explains its number."""

    game: int
    opening: Opening
    sides: tuple["ConnectedSide", ...]


def check_opening(played: PlayedGame, opening: Opening) -> None:
    """Raise BadMatch if a saved game has another opening than it would get now."""
    if (played.start, tuple(played.opening)) != (opening.start, opening.moves):
        saved, now = (
            f"{start} | {' '.join(moves)}"
            for start, moves in ((played.start, played.opening), (opening.start, opening.moves))
        )
        raise BadMatch(f"game {played.game} was saved with the opening {saved!r}; now it would have {now!r}")


def schedule(
    openings: Iterable[Opening], games: int, done: Mapping[int, PlayedGame], sides: tuple["ConnectedSide", ...]
) -> Iterator[ScheduledGame]:
    """The games still to be played, two per opening; raises BadMatch if a saved game has another opening."""
    for pair, opening in zip(range(games // 2), openings, strict=False):
        for game in (2 * pair, 2 * pair + 1):
            if (played := done.get(game)) is None:
                yield ScheduledGame(game, opening, sides)
            else:
                check_opening(played, opening)


def check_two_players(rules: EngineClient, start: str) -> None:
    """Raise BadMatch unless two players take turns: after some moves the second player must be to move."""
    state = rules.new_game(start)
    if state.outcome != ONGOING:
        raise BadMatch(f"the game is over in {start!r}")
    beginner = state.to_move
    while state.outcome == ONGOING and state.to_move == beginner in PLAYERS:
        state = rules.apply(state.text, state.legal_moves[0].move)
    if beginner not in PLAYERS or state.to_move not in PLAYERS:
        raise BadMatch(f"{state.position.game} is a game for one player; a match needs a game for two")


@dataclass(frozen=True, slots=True)
class OpeningBook:
    """An endless sequence of openings, the settings that identify it, and how many openings it has if it repeats."""

    openings: Iterator[Opening]
    identity: dict[str, Any]
    size: int | None = None


def openings_of(
    rules: EngineClient, path: Path | None, starts: Sequence[str], plies: int, seed: int, *, shuffled: bool = False
) -> OpeningBook:
    """The openings of a file, which may be shuffled, or random ones."""
    if path is None:
        identity = {"start": starts, "opening_plies": plies, "seed": seed}
        return OpeningBook(random_openings(rules, starts, plies, seed), identity)
    book = read_openings(rules, path)
    if shuffled:
        Random(seed).shuffle(book)
    lines = "".join(f"{opening.start} | {' '.join(opening.moves)}\n" for opening in book)
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return OpeningBook(itertools.cycle(book), {"openings": f"{len(book)} with SHA-256 {digest}"}, len(book))


def random_openings(rules: EngineClient, starts: Sequence[str], plies: int, seed: int) -> Iterator[Opening]:
    """An endless sequence of openings: the starts in turn, each followed by `plies` random moves.

    A start does not repeat a position until no new one is found; then all its positions may occur again.
    """
    random = Random(seed)
    seen: dict[str, set[str]] = {start: set() for start in starts}
    while True:
        for start in starts:
            yield distinct_opening(rules, start, plies, random, seen[start])


def distinct_opening(rules: EngineClient, start: str, plies: int, random: Random, seen: set[str]) -> Opening:
    """An opening whose position is not in `seen`, if one is found; its position is added to `seen`."""
    opening = None
    for _ in range(TRIES if plies else 1):
        opening = random_opening(rules, start, plies, random) or opening
        if opening and opening.text not in seen:
            break
    else:
        seen.clear()
    if opening is None:
        raise BadMatch(f"after {plies} random moves from {start!r} the game is over; use fewer")
    seen.add(opening.text)
    return opening


def random_opening(rules: EngineClient, start: str, plies: int, random: Random) -> Opening | None:
    """The opening after `plies` random moves, or None if the game ends before that."""
    state, moves = rules.new_game(start), []
    begun = state.position.start
    for _ in range(plies):
        if state.outcome != ONGOING:
            return None
        moves.append(random.choice(state.legal_moves).move)
        state = rules.apply(state.text, moves[-1])
    return opening_of(state, begun, moves) if state.outcome == ONGOING else None


def opening_of(state: State, start: str, moves: Sequence[str]) -> Opening:
    """The opening that led to a state."""
    return Opening(start, tuple(moves), state.text, state.to_move)


def read_openings(rules: EngineClient, path: Path) -> list[Opening]:
    """The openings in a file, one per line: a start and, after a bar, optional moves: `7x6 | 4 4 3`."""
    openings = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadMatch(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadMatch(f"cannot read {path}: it is not text") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            start, _, moves = line.partition("|")
            try:
                state = rules.inspect(start.strip(), moves.split())
            except InvalidRequest as error:
                raise BadMatch(f"{path}, line {number}: {error}") from None
            if state.outcome != ONGOING:
                raise BadMatch(f"{path}, line {number}: the game is over in {line.strip()!r}")
            openings.append(opening_of(state, state.position.start, moves.split()))
    if not openings:
        raise BadMatch(f"{path} contains no openings; an opening is a line such as '7x6 | 4 4'")
    return openings
