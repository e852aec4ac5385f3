"""Games of a tile game as they end: played by the engine in a process of its own, or move by move by a daemon."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.formats.tile_replay import FACES, FinishedGame, IllegalAction, Replay
from plyd.clients.hosts.arena2584 import AGAIN_SECONDS, FIRST_SECONDS, Adviser, limits_of
from plyd.clients.library.connect.embedded import announce_start
from plyd.protocols.arena2584 import SLIDES

if TYPE_CHECKING:
    from plyd.clients.library.client import EngineClient

MOST_SLIDES = 1_000_000  # that a daemon is asked for; a game is shorter
BULK = [sys.executable, "-P", "-m", "plyd.engines.tiles.play.many_games"]


@dataclass(frozen=True, slots=True)
class TileSettings:
    """The games to play."""

    game: str
    variant: str
    games: int
    depth: int | None
    move_time: int | None
    evil: bool
    reckon: str
    """The environment that the player's search expects: chance or evil."""
    seed: int
    threads: int
    model: Path | None = None
    until: int | None = None


def in_bulk(settings: TileSettings, *, with_actions: bool) -> Generator[FinishedGame, None, None]:
    """Games played by the engine in a process of its own, as they end."""
    if settings.evil:
        announce_start(settings.game)
    thinking = ["--depth", settings.depth or 1] if settings.move_time is None else ["--move-time", settings.move_time]
    command = [*BULK, settings.game, "--variant", settings.variant, "--games", settings.games, *thinking]
    command += ["--seed", settings.seed, "--threads", settings.threads]
    command += ["--until", FACES[settings.game].index(settings.until)] if settings.until else []
    command += ["--model", settings.model] if settings.model else []
    command += ["--reckon", settings.reckon] + ["--evil"] * settings.evil + ["--actions"] * with_actions
    with (
        tempfile.TemporaryFile() as errors,  # start_new_session: Ctrl-C reaches only us, and we end the engine
        subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield finished_of(line)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            reason = said[-1] if said else f"exit status {process.returncode}"
            raise click.ClickException(f"the engine failed: {reason}")


def finished_of(line: bytes) -> FinishedGame:
    """The game in a line of the engine's output."""
    try:
        return FinishedGame(**json.loads(line))
    except (TypeError, ValueError):
        raise click.ClickException(f"the engine wrote {line[:80]!r}, which is not a finished game") from None


def over_wire(target: str, settings: TileSettings) -> Generator[FinishedGame, None, None]:
    """Games played by a daemon: at depth 1 it plays on by itself; else one Search per move, and one per new tile if the
    environment is evil.

    The random numbers, or their seeds, are kept here, so a daemon that restarts is simply asked again.
    """
    from plyd.clients.library.client import EngineClient

    limits = limits_of(settings.depth, settings.move_time)
    with EngineClient(target, settings.game, settings.variant, retry_seconds=FIRST_SECONDS) as client:
        odds = odds_of(client.inspect())  # fails if no daemon answers
    if limits == {"depth": 1} and not settings.evil:
        with EngineClient(
            target, settings.game, settings.variant, retry_seconds=AGAIN_SECONDS, history=False
        ) as client:
            yield from played_on(client, settings)
            return
    with EngineClient(target, settings.game, settings.variant, retry_seconds=AGAIN_SECONDS) as client:
        yield from play_games(Adviser(client.search, limits, reckons_evil=settings.reckon == "evil"), settings, odds)


def played_on(client: "EngineClient", settings: TileSettings) -> Generator[FinishedGame, None, None]:
    """Games that a daemon plays by itself, each from a seed of its own. One that breaks off is played again."""
    from plyd.clients.library.errors import DaemonFault, Unavailable

    seeds, played = Random(settings.seed), 0
    seed = seeds.getrandbits(64)
    while played < settings.games:
        try:
            replay, start_ms = Replay(settings.game), now_ms()
            with client.play() as game:
                for told in game.play_on(MOST_SLIDES, seed=seed):
                    for move in told.moves:
                        replay.play(action_of(move))
        except Unavailable:
            continue  # `client.play` waits for the daemon, for so long
        except IllegalAction as error:
            raise DaemonFault(f"the daemon plays {error}, at {replay.text!r}") from None
        yield replay.finished(start_ms, now_ms())
        played, seed = played + 1, seeds.getrandbits(64)


def action_of(move: str) -> int:
    """The opcode of a move; -1 for a text that is none."""
    if move in SLIDES:
        return SLIDES.index(move)
    index, _, cell = move.partition("@")
    return int(index) << 4 | int(cell) if index.isdecimal() and cell.isdecimal() and int(cell) < 16 else -1


def play_games(
    adviser: Adviser, settings: TileSettings, odds: Mapping[int, float]
) -> Generator[FinishedGame, None, None]:
    """Games in which an adviser chooses the slides, and in an evil environment also the cells of new tiles."""
    random = Random(settings.seed)
    for _ in range(settings.games):
        replay, start_ms = Replay(settings.game), now_ms()
        while not replay.is_over():
            if replay.drops_next:
                [index] = random.choices(list(odds), list(odds.values()))
                chosen = settings.evil and len(replay.actions) >= 2
                replay.play(adviser.drop(replay, index) if chosen else index << 4 | random.choice(replay.empty()))
            else:
                replay.play(adviser.slide(replay))
        yield replay.finished(start_ms, now_ms())


def odds_of(state: Any) -> dict[int, float]:
    """The probability of each tile index at a position where chance is to move."""
    odds: dict[int, float] = {}
    for move in state.legal_moves:
        index = int(move.move.partition("@")[0])
        odds[index] = odds.get(index, 0.0) + move.probability
    return odds


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
