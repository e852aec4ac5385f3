"""Plays a tournament: the games of its plan that are not in its folder yet."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from plyd.clients.formats import files
from plyd.clients.formats.game_record import GameRecord
from plyd.clients.library.errors import InvalidRequest
from plyd.clients.library.state import State
from plyd.clients.match.connect import ConnectedSides
from plyd.clients.match.live import plain_text
from plyd.clients.match.openings import Opening, ScheduledGame, check_opening, openings_of
from plyd.clients.match.results import ADJUDICATED, DRAW, SIDES, GameFile, PlayedGame, parse_game
from plyd.clients.match.runner import MakeRunner
from plyd.clients.match.side import BadMatch
from plyd.clients.tournament.plan import Encounter, Plan
from plyd.clients.tournament.settings import TournamentSettings
from plyd.clients.tournament.standings import notes, standings, standings_table
from plyd.v1 import position_pb2
from plyd.v1.engine_pb2 import EngineInfo

GAMES_FILE = "games.jsonl"
RECENT = 12  # games that the page lists
REASON = re.compile(rf"({ADJUDICATED}: )?(?:({'|'.join(SIDES)})(?= ))?(.*)", re.DOTALL)  # of a game's end, and who


class Tournament:
    """A tournament in a folder: its games so far, those in progress, and its standings."""

    def __init__(self, settings: TournamentSettings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.plan = Plan(settings)
        self.games: dict[int, PlayedGame] = {}
        self._live: dict[int, dict[str, Any]] = {}
        self._lock = threading.Lock()  # of the games, which the page's thread reads
        self._card = EngineInfo()  # of the game, by the referee
        self._known: tuple[tuple[int, float], dict[str, Any]] | None = None  # standings, and what they are of

    def run(self, connected: ConnectedSides, make_runner: MakeRunner, told: Callable[[PlayedGame], None]) -> None:
        """Play the games that are left; `told` gets each one when it has ended and is saved."""
        settings = self.settings
        [self._card] = [card for card in connected.referee.describe().engines if card.game == settings.game]
        self._check_format()
        is_random = settings.openings_order == "random"
        book = openings_of(
            connected.referee,
            settings.openings,
            settings.start,
            settings.opening_plies,
            settings.seed,
            shuffled=is_random,
        )
        openings = OpeningList(book.openings)
        with GameFile(self.folder / GAMES_FILE, settings.identity() | book.identity, parse_game) as file:
            self._restore(file.begin())
            for stage in self.plan.stages(self.games):
                remaining = self._remaining(stage, openings, connected)
                if not remaining:
                    continue
                with make_runner(remaining) as runner:
                    by_number = {scheduled.game: scheduled for scheduled in remaining}
                    for played in runner.results():
                        scheduled = by_number[played.game]
                        named = with_names(played, scheduled)
                        self._export(named, scheduled.opening)
                        file.add(named)
                        with self._lock:
                            self.games[named.game] = named
                        told(named)

    def _restore(self, saved: Sequence[PlayedGame]) -> None:
        """Take over the games of an earlier run."""
        names = {player.name for player in self.settings.players}
        for played in saved:
            if len(played.players) != len(SIDES) or not names.issuperset(played.players):
                raise BadMatch(f"{self.folder / GAMES_FILE}: game {played.game} has the players {played.players}")
        with self._lock:
            self.games |= {played.game: played for played in saved if played.game < self.plan.games}

    def _remaining(
        self, stage: Sequence[Encounter], openings: "OpeningList", connected: ConnectedSides
    ) -> list[ScheduledGame]:
        """The games of a stage that are not played yet; files of saved games that are missing are written."""
        remaining = []
        for encounter in stage:
            sides = tuple(connected.sides[player] for player in encounter.pair)
            for game in self.plan.numbers(encounter):
                opening = openings[self.plan.opening(encounter, game)]
                if (played := self.games.get(game)) is None:
                    remaining.append(ScheduledGame(game, opening, sides))
                    continue
                self.plan.check(encounter, played)
                check_opening(played, opening)
                self._export(played, opening)
        return remaining

    def _export(self, played: PlayedGame, opening: Opening) -> None:
        """Write the file of a game, unless it is there."""
        form = self.settings.format or files.formats_of(self._card)[0]
        record = record_of(played, opening, self.settings)
        names = "-".join(re.sub(r"[^\w.+]", "_", name)[:40] for name in record.players)
        for usable in (form, "text"):  # a format may lack what a start has: SGF has no blocked points
            path = self.folder / "games" / f"{played.game:05d}-{names}.{files.FILES[usable][0]}"
            try:
                if not path.exists():
                    write_whole(path, files.write(record, usable, self._card)[2])
                return
            except InvalidRequest:
                continue

    def _check_format(self) -> None:
        """Raise BadMatch if games cannot be written in the format that was asked for."""
        formats = files.formats_of(self._card)
        if self.settings.format and self.settings.format not in formats:
            raise BadMatch(f"format is {self.settings.format!r}; {self.settings.game} has {', '.join(formats)}")

    def watch(self, scheduled: ScheduledGame, moves: Sequence[str], state: State | None) -> None:
        """Keep the board of a game in progress, with the cells that its last move has changed."""
        if state is None:
            self._live.pop(scheduled.game, None)
            return
        before = self._live.get(scheduled.game, {}).get("cells", [])
        cells = list(state.board.cells)
        changed = [at for at, (old, new) in enumerate(zip(before, cells, strict=False)) if old != new]
        order = scheduled.sides if scheduled.game % 2 == 0 else scheduled.sides[::-1]
        self._live[scheduled.game] = {
            "game": scheduled.game,
            "players": [connected.side.name for connected in order],
            "plies": len(scheduled.opening.moves) + len(moves),
            "move": moves[-1],
            "rows": state.board.rows,
            "columns": state.board.columns,
            "cells": cells,
            "changed": changed,
        }

    def summary(self) -> dict[str, Any]:
        """The standings."""
        with self._lock:
            games = dict(self.games)
        key = len(games), sum(self.plan.byes)
        if self._known is None or self._known[0] != key:
            self._known = key, standings(self.settings, games, self.plan.byes, self.plan.games)
        return self._known[1]

    def state(self) -> dict[str, Any]:
        """What the page shows: standings, games in progress, and the last games that ended."""
        live = self._live.copy()
        with self._lock:
            recent = list(self.games.values())[-RECENT:]
        found = self.summary()
        return {
            "standings": found,
            "notes": notes(found),
            "live": [live[game] for game in sorted(live)],
            "recent": [ended_json(played) for played in reversed(recent)],
        }

    def save_standings(self) -> None:
        """Write the standings as text and as JSON."""
        found = self.summary()
        write_whole(self.folder / "standings.json", (json.dumps(found, indent=1) + "\n").encode())
        write_whole(self.folder / "standings.txt", (plain_text(standings_table(found)) + "\n").encode())


class OpeningList:
    """Openings by their number, from an endless sequence."""

    def __init__(self, openings: Iterator[Opening]) -> None:
        self._rest, self._known = openings, list[Opening]()

    def __getitem__(self, number: int) -> Opening:
        self._known += islice(self._rest, max(0, number + 1 - len(self._known)))
        return self._known[number]


def with_names(played: PlayedGame, scheduled: ScheduledGame) -> PlayedGame:
    """A game with the names of its players, also in the reason."""
    names = tuple(connected.side.name for connected in scheduled.sides)
    head, side, rest = REASON.fullmatch(played.reason).groups()  # type: ignore[union-attr]  # matches any text
    return replace(played, players=names, reason=(head or "") + (names[SIDES.index(side)] if side else "") + rest)


def record_of(played: PlayedGame, opening: Opening, settings: TournamentSettings) -> GameRecord:
    """A game as a record, players in the order in which the game names them."""
    begins = opening.to_move == position_pb2.SIDE_PLAYER_ONE
    one = played.game % 2 if begins else 1 - played.game % 2  # which side is player one
    result = "1/2-1/2" if played.winner == DRAW else "1-0" if played.winner == SIDES[one] else "0-1"
    players = (played.players[one], played.players[1 - one])
    moves = (*played.opening, *played.moves)
    return GameRecord(settings.game, settings.variant, played.start, moves, result, players)


def ended_json(played: PlayedGame) -> dict[str, Any]:
    """A game that has ended, for the page's list."""
    order = played.players if played.game % 2 == 0 else played.players[::-1]
    winner = "" if played.winner == DRAW else played.players[SIDES.index(played.winner)]
    plies = len(played.opening) + len(played.moves)
    return {"game": played.game, "players": order, "winner": winner, "reason": played.reason, "plies": plies}


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or the next run after a kill, finds all of it or none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise BadMatch(f"cannot write {path}: {error.strerror}") from None
