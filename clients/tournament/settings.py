"""The file of a tournament: TOML, read and checked key by key."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plyd.clients.match.adjudication import Adjudication
from plyd.clients.match.side import DAEMON, LIMITS, BadMatch, MatchSide, SideLimits, make_side, parse_limits

SCHEDULES = ("round-robin", "gauntlet", "swiss")
ORDERS = ("sequential", "random")
DEFAULT_SECONDS = 0.1  # per move, if no limit is given
DEFAULT_PLIES = 4
MOST_PLAYERS = 256
MOST_ROUNDS = 100_000
MOST_GAMES = 5_000_000  # of a tournament
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class TournamentSettings:
    """All settings of a tournament."""

    game: str
    players: tuple[MatchSide, ...]
    variant: str = ""
    schedule: str = SCHEDULES[0]
    rounds: int = 1
    games: int = 2  # per encounter
    gauntlet_players: int = 1
    concurrency: int | None = None
    start: tuple[str, ...] = ("",)
    opening_plies: int = DEFAULT_PLIES
    openings: Path | None = None
    openings_order: str = ORDERS[0]
    seed: int = 0
    format: str = ""  # of the files of games; empty for the game's usual one
    adjudication: Adjudication = field(default_factory=Adjudication)

    def identity(self) -> dict[str, Any]:
        """What determines the pairings and the games: a saved tournament goes on only if none of it has changed.

        The number of rounds may change: further rounds come after those that were played.
        """
        kept = ("game", "variant", "schedule", "games", "gauntlet_players")
        return {
            **{name: getattr(self, name) for name in kept},
            "adjudication": asdict(self.adjudication),
            "players": [player.as_json() for player in self.players],
        }


def read_settings(path: Path) -> TournamentSettings:
    """The settings in a file; raises BadMatch for a file that is not a tournament."""
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadMatch(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadMatch(f"cannot read {path}: it is not text in UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadMatch(f"cannot read {path}: {error}") from None
    try:
        return parse_settings(fields, path.parent)
    except BadMatch as error:
        raise BadMatch(f"{path}: {error}") from None


def parse_settings(fields: Mapping[str, Any], folder: Path) -> TournamentSettings:
    """The settings in the tables of a file; paths are relative to its folder."""
    table = Table(fields, "")
    game = table.text("game")
    if not game:
        raise BadMatch('game is missing; for example game = "connect4"')
    common = table.limits() or SideLimits(seconds=DEFAULT_SECONDS)
    players = parse_players(table.tables("player"), common)
    starts = table.texts("start") or ("",)
    openings = table.text("openings")
    if openings and (table.has("start") or table.has("opening_plies")):
        raise BadMatch("openings excludes start and opening_plies")
    settings = TournamentSettings(
        game=game,
        players=players,
        variant=table.text("variant"),
        schedule=table.choice("schedule", SCHEDULES),
        rounds=table.whole("rounds", 1, 1, MOST_ROUNDS),
        games=table.whole("games", 2, 2, 10_000),
        gauntlet_players=table.whole("gauntlet_players", 1, 1, MOST_PLAYERS),
        concurrency=table.whole("concurrency", 0, 1, 256) or None,
        start=starts,
        opening_plies=table.whole("opening_plies", DEFAULT_PLIES, 0, 1000),
        openings=folder / openings if openings else None,
        openings_order=table.choice("openings_order", ORDERS),
        seed=table.whole("seed", 0, 0, 1 << 62),
        format=table.text("format"),
        adjudication=parse_adjudication(table.table("adjudication")),
    )
    table.finish()
    check_counts(settings)
    return settings


def check_counts(settings: TournamentSettings) -> None:
    """Raise BadMatch for numbers that do not fit together."""
    count = len(settings.players)
    if settings.games % 2:
        raise BadMatch(f"games is {settings.games}; it must be even, since each opening is played twice")
    if settings.schedule == "gauntlet" and settings.gauntlet_players >= count:
        raise BadMatch(f"gauntlet_players is {settings.gauntlet_players}; allowed is 1 to {count - 1}")
    if settings.schedule == "swiss" and settings.rounds > (longest := count - 1 + count % 2):
        raise BadMatch(
            f"{settings.rounds} rounds; a Swiss tournament of {count} players has at most {longest}: "
            "after that, all have met"
        )
    if settings.rounds * settings.games * count**2 > 2 * MOST_GAMES:
        raise BadMatch(f"more than {MOST_GAMES} games")


def parse_players(tables: list["Table"], common: SideLimits) -> tuple[MatchSide, ...]:
    """The players of a tournament."""
    players: list[MatchSide] = []
    for number, table in enumerate(tables, 1):
        name = table.text("name") or f"player {number}"
        table.where = f"player {name!r}: "
        try:
            options = {key: as_text(value) for key, value in table.table("options").take_all().items()}
            own = {key: as_text(value) for key in (*LIMITS, *DAEMON) if (value := table.take(key)) is not None}
            player = make_side(own | {"name": name}, options, name, common)
        except BadMatch as error:
            raise BadMatch(f"{table.where}{str(error).removeprefix(table.where)}") from None
        table.finish()
        if not name.isprintable() or len(name) > LONGEST_NAME:
            raise BadMatch(f"a name is {name[:60]!r}; allowed are at most {LONGEST_NAME} printable characters")
        if any(name == other.name for other in players):
            raise BadMatch(f"two players are named {name!r}")
        players.append(player)
    if not 2 <= len(players) <= MOST_PLAYERS:
        raise BadMatch(f"{len(players)} players; allowed are 2 to {MOST_PLAYERS} tables [[player]]")
    return tuple(players)


def parse_adjudication(table: "Table") -> Adjudication:
    """When games are ended early; by default never."""
    table.where = "adjudication: "
    usual = Adjudication()
    found = Adjudication(
        resign_score=table.number("resign_score", 0, 0.5),
        resign_moves=table.whole("resign_moves", usual.resign_moves, 1, 1000),
        resign_both=table.flag("resign_both", usual.resign_both),
        draw_score=table.number("draw_score", 0, 0.5),
        draw_moves=table.whole("draw_moves", usual.draw_moves, 1, 1000),
        draw_after=table.whole("draw_after", usual.draw_after, 0, 1_000_000),
        max_plies=table.whole("max_plies", 0, 1, 1_000_000) or None,
        proven=table.flag("proven", usual.proven),
    )
    table.finish()
    return found


def as_text(value: Any) -> str:
    """A value of the file as the text that an option or a limit is given in."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise BadMatch(f"{value!r:.60} is not a text, a number, true or false")


class Table:
    """A table of the file. Each method takes one key; `finish` refuses the keys that are left."""

    def __init__(self, fields: Any, where: str) -> None:
        if not isinstance(fields, dict):
            raise BadMatch(f"{where}{fields!r:.60} is not a table")
        self._all: dict[str, Any] = fields
        self._left = dict(fields)
        self._known: list[str] = []
        self.where = where

    def has(self, key: str) -> bool:
        """Whether the file sets a key."""
        return key in self._all

    def take(self, key: str) -> Any:
        """The value of a key, or None."""
        self._known.append(key)
        return self._left.pop(key, None)

    def take_all(self) -> dict[str, Any]:
        """All keys and values."""
        left, self._left = self._left, {}
        return left

    def text(self, key: str) -> str:
        """A text, by default empty."""
        value = self.take(key)
        return "" if value is None else self._checked(key, value, isinstance(value, str), "a text")

    def texts(self, key: str) -> tuple[str, ...]:
        """A text or a list of texts."""
        value = self.take(key)
        found = [value] if isinstance(value, str) else [] if value is None else value
        is_good = isinstance(found, list) and all(isinstance(text, str) for text in found)
        return tuple(self._checked(key, found, is_good, "a text or a list of texts"))

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of some texts, by default the first."""
        value = self.take(key)
        return choices[0] if value is None else self._checked(key, value, value in choices, ", ".join(choices))

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        """A whole number."""
        value = self.take(key)
        is_good = type(value) is int and least <= value <= most
        return default if value is None else self._checked(key, value, is_good, f"a whole number, {least} to {most}")

    def number(self, key: str, least: float, most: float) -> float | None:
        """A number, by default None."""
        value = self.take(key)
        if value is None:
            return None
        is_good = type(value) in (int, float) and least <= value <= most
        return float(self._checked(key, value, is_good, f"a number from {least:g} to {most:g}"))

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.take(key)
        return default if value is None else self._checked(key, value, isinstance(value, bool), "true or false")

    def table(self, key: str) -> "Table":
        """A table, by default an empty one."""
        return Table({} if (value := self.take(key)) is None else value, f"{self.where}{key}: ")

    def tables(self, key: str) -> list["Table"]:
        """A list of tables."""
        value = self.take(key)
        found = self._checked(key, value or [], isinstance(value or [], list), f"a list of tables [[{key}]]")
        return [Table(fields, f"{key} {number}: ") for number, fields in enumerate(found, 1)]

    def limits(self) -> SideLimits | None:
        """The limits of a search, or None if there are none."""
        found = {key: as_text(value) for key in LIMITS if (value := self.take(key)) is not None}
        return parse_limits(found) if found else None

    def finish(self) -> None:
        """Raise BadMatch if keys are left."""
        for key in self._left:
            raise BadMatch(f"{self.where}unknown key {key!r:.60}; keys are {', '.join(dict.fromkeys(self._known))}")

    def _checked(self, key: str, value: Any, is_good: bool, allowed: str) -> Any:
        if not is_good:
            raise BadMatch(f"{self.where}{key} is {value!r:.60}; allowed is {allowed}")
        return value
