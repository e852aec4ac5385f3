"""Finished games of a match: one JSON object per line in a file, and their sum."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from plyd.clients.library.file_lock import is_ours_alone
from plyd.clients.match.elo import SequentialTest
from plyd.clients.match.side import BadMatch

SIDES = ("first", "second")
DRAW = "draw"
MOST_GAMES = 10_000_000  # of a match
BY_RULES = "rules"  # reason of a game that the rules ended
ADJUDICATED = "adjudicated"  # how the reason of a game begins that was ended because its result was clear


@dataclass(frozen=True, slots=True)
class SearchStats:
    """Time, nodes and score of each move of one side; a score is 0 (lost) to 1 (won)."""

    ms: list[float] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A finished game. Games 2n and 2n + 1 share an opening; in the even one the first side moves first."""

    game: int
    start: str
    opening: list[str]
    moves: list[str]  # after the opening
    winner: str  # one of SIDES, or DRAW
    reason: str  # BY_RULES, or ADJUDICATED and why, or why the loser forfeits
    first: SearchStats
    second: SearchStats
    players: tuple[str, ...] = ()  # in a tournament, the names of the first and the second side

    @property
    def points(self) -> int:
        """Half points of the first side."""
        return {"first": 2, DRAW: 1, "second": 0}[self.winner]

    @property
    def is_forfeit(self) -> bool:
        """Whether the loser failed to play on."""
        return self.reason != BY_RULES and not self.reason.startswith(ADJUDICATED)

    def as_json(self) -> dict[str, Any]:
        """The game as an object for JSON."""
        fields = {**asdict(self), "moved_first": SIDES[self.game % 2]}
        if not self.players:
            del fields["players"]
        return fields


def parse_game(line: str) -> PlayedGame:
    """The game in a line of a match file; raises ValueError for any other line."""
    try:
        fields = json.loads(line)
        fields.pop("moved_first")
        players = tuple(fields.pop("players", ()))
        played = PlayedGame(**{**fields, **{side: SearchStats(**fields[side]) for side in SIDES}, "players": players})
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no game: {error!r:.60}") from None
    if played.winner not in (*SIDES, DRAW) or type(played.game) is not int or not 0 <= played.game < MOST_GAMES:
        raise ValueError(f"winner {played.winner!r:.60}, game {played.game!r:.60}")
    _check_kinds(played)
    return played


def _check_kinds(played: PlayedGame) -> None:
    """Raise ValueError if a field of a game has the wrong type."""
    texts, numbers = (str,), (int, float)
    lists: list[tuple[Any, tuple[type, ...]]] = [([played.start, played.reason], texts)]
    lists += [(played.opening, texts), (played.moves, texts), (list(played.players), texts)]
    for side in (played.first, played.second):
        lists += [(side.ms, numbers), (side.nodes, (int,)), (side.scores, (*numbers, type(None)))]
    for values, kinds in lists:
        if not isinstance(values, list) or not all(type(value) in kinds for value in values):
            raise ValueError(f"{values!r:.60} is not a list of {' or '.join(kind.__name__ for kind in kinds)}")
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise ValueError(f"{values!r:.60} contains a number that is not finite")


class MatchTally:
    """The sum of the finished games. A sequential test reads pairs in the order of their openings.

    It therefore does not favour short games, and its decision does not depend on the concurrency. Games of later pairs
    that ended before the decision do not count.
    """

    def __init__(self, test: SequentialTest | None = None) -> None:
        self.test = test
        self.ratio = 0.0  # log-likelihood ratio of the test
        self.accepted = ""  # hypothesis accepted by the test: "H0" or "H1"
        self._games: dict[int, PlayedGame] = {}
        self._tested = [0] * 5
        self._end: int | None = None  # the first game that does not count

    def add(self, played: PlayedGame) -> None:
        """Add a finished game."""
        self._games[played.game] = played
        while self.test and not self.accepted and (points := self._pair(sum(self._tested))) is not None:
            self._tested[points] += 1
            self.ratio = self.test.ratio(self._tested)
            self.accepted = self.test.accepted(self.ratio)
            if self.accepted:
                self._end = 2 * sum(self._tested)

    def is_decided(self) -> bool:
        """Whether the test has accepted a hypothesis."""
        return bool(self.accepted)

    @property
    def finished(self) -> int:
        """Number of finished games, whether they count or not."""
        return len(self._games)

    def games(self) -> list[PlayedGame]:
        """The games that count, in order."""
        return [self._games[game] for game in sorted(self._games) if self._end is None or game < self._end]

    def pairs(self) -> list[int]:
        """Numbers of pairs in which the first side scored 0, 1/2, 1, 3/2 and 2 points; both games must count."""
        counts = [0] * 5
        for game in range(0, max(self._games, default=-1) + 1 if self._end is None else self._end, 2):
            if (points := self._pair(game // 2)) is not None:
                counts[points] += 1
        return counts

    def _pair(self, number: int) -> int | None:
        """Half points of the first side in a pair, or None if the pair is not finished."""
        games = [self._games.get(2 * number + which) for which in (0, 1)]
        return sum(game.points for game in games if game) if all(games) else None


class NumberedGame(Protocol):
    """A game that a file can hold."""

    @property
    def game(self) -> int:
        """Its number."""

    def as_json(self) -> dict[str, Any]:
        """The game as an object for JSON."""


G = TypeVar("G", bound=NumberedGame)


class GameFile(Generic[G]):
    """A file with the settings of a match in its first line and a game in each other line; use it in a `with`.

    Each game is written when it ends, so a process that is killed loses only its unfinished games. `parse` makes a game
    of a line, and raises ValueError for any other line.
    """

    def __init__(
        self, path: Path, settings: Mapping[str, Any], parse: Callable[[str], G], *, resume: bool = True
    ) -> None:
        self._path = path
        self._parse = parse
        self._settings = json.loads(json.dumps(settings))  # JSON turns tuples into lists
        self._resume = resume

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("a+b" if self._resume else "xb", buffering=0)
        except FileExistsError:
            raise BadMatch(f"{self._path} already exists; continue it with --resume, or save elsewhere") from None
        except OSError as error:
            raise BadMatch(f"cannot write {self._path}: {error.strerror}") from None
        if not is_ours_alone(self._file.fileno()):
            self._file.close()
            raise BadMatch(f"another process is writing {self._path}; wait for it, or save elsewhere")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def begin(self) -> list[G]:
        """The games in the file; writes the first line of a new file."""
        lines = list(self._whole_lines()) if self._resume else []
        if not lines:
            self._write(self._settings)
            return []
        self._check(lines[0])
        played = {}
        for number, line in enumerate(lines[1:], 2):
            try:
                game = self._parse(line)
            except ValueError:
                raise BadMatch(f"{self._path}, line {number}: {line[:60]!r} is not a game of a match") from None
            played[game.game] = game
        return list(played.values())

    def add(self, played: G) -> None:
        """Append a game."""
        self._write(played.as_json())

    def _write(self, fields: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps(fields, separators=(",", ":")).encode() + b"\n")
        try:
            while data:
                data = data[self._file.write(data) :]  # a disk that is nearly full takes a part
        except OSError as error:
            raise BadMatch(f"cannot write {self._path}: {error.strerror}") from None

    def _whole_lines(self) -> Iterator[str]:
        """The complete lines of the file; an incomplete last line, left by a killed process, is removed."""
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole == 0 and data and not data.startswith(b"{"):
            raise BadMatch(f"{self._path} is not a match file")
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)
        yield from data[:whole].decode(errors="replace").splitlines()

    def _check(self, line: str) -> None:
        """Raise BadMatch if the file belongs to another match."""
        try:
            there = json.loads(line)
            keys: Sequence[str] = [key for key in self._settings if there.get(key) != self._settings[key]]
        except (ValueError, AttributeError, RecursionError):
            raise BadMatch(f"{self._path} is not a match file: it begins with {line[:60]!r}") from None
        for key in keys:
            saved, asked = (json.dumps(which.get(key)) for which in (there, self._settings))
            raise BadMatch(f"{self._path} belongs to another match: its {key} is {saved}, not {asked}")
