"""Where the games of a match begin: random openings, or a file of them. The rules are asked of a daemon."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from plyd.clients.library.client import EngineClient
from plyd.clients.library.errors import InvalidRequest
from plyd.clients.library.requests import State
from plyd.clients.match.results import Played
from plyd.clients.match.side import BadMatch
from plyd.v1 import position_pb2

ONGOING = position_pb2.OUTCOME_ONGOING
PLAYERS = (position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO)
DRAWS = 50  # in which a new opening has to turn up


@dataclass(frozen=True, slots=True)
class Opening:
    """A start, the moves already made, and what stands on the board then."""

    start: str
    moves: tuple[str, ...]
    text: str
    to_move: int  # a Side


@dataclass(frozen=True, slots=True)
class Fixture:
    """A game to be played; see Played for its number."""

    game: int
    opening: Opening


def fixtures(openings: Iterable[Opening], games: int, done: Mapping[int, Played]) -> Iterator[Fixture]:
    """The games still to be played, two an opening. Those done have to have the openings that they would have now."""
    for pair, opening in zip(range(games // 2), openings, strict=False):
        for game in (2 * pair, 2 * pair + 1):
            if (played := done.get(game)) is None:
                yield Fixture(game, opening)
            elif (played.start, tuple(played.opening)) != (opening.start, opening.moves):
                saved, now = (
                    f"{start} | {' '.join(moves)}"
                    for start, moves in ((played.start, played.opening), (opening.start, opening.moves))
                )
                raise BadMatch(f"game {game} began with {saved!r} when it was saved; it would begin with {now!r} now")


def check_two_players(rules: EngineClient, start: str) -> None:
    """Raise unless two players take turns from here: after some moves another player than the first has to move."""
    state = rules.new_game(start)
    if state.outcome != ONGOING:
        raise BadMatch(f"the game is over in {start!r}")
    beginner = state.to_move
    while state.outcome == ONGOING and state.to_move == beginner in PLAYERS:
        state = rules.apply(state.text, state.legal_moves[0].move)
    if beginner not in PLAYERS or state.to_move not in PLAYERS:
        raise BadMatch(f"{state.position.game} is a game for one player; a match needs a game for two")


def drawn(rules: EngineClient, starts: Sequence[str], plies: int, seed: int) -> Iterator[Opening]:
    """Openings without end: the starts in turn, each with so many random moves after it.

    No position comes twice from a start, until it seems to have no more of them; then its second round begins.
    """
    random = Random(seed)
    seen: dict[str, set[str]] = {start: set() for start in starts}
    while True:
        for start in starts:
            yield fresh(rules, start, plies, random, seen[start])


def fresh(rules: EngineClient, start: str, plies: int, random: Random, seen: set[str]) -> Opening:
    """An opening not seen, if there is one; it counts as seen from now on."""
    opening = None
    for _ in range(DRAWS if plies else 1):
        opening = draw(rules, start, plies, random) or opening
        if opening and opening.text not in seen:
            break
    else:
        seen.clear()
    if opening is None:
        raise BadMatch(f"after {plies} random moves from {start!r} the game is over; begin with fewer")
    seen.add(opening.text)
    return opening


def draw(rules: EngineClient, start: str, plies: int, random: Random) -> Opening | None:
    """The opening after so many random moves, or None if the game is over by then."""
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


def listed(rules: EngineClient, path: Path) -> list[Opening]:
    """The openings of a file, one a line: a start, and perhaps moves after a bar, `7x6 | 4 4 3`."""
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
        raise BadMatch(f"{path} holds no opening; one is a line such as '7x6 | 4 4'")
    return openings
