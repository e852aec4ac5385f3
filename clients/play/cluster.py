"""Games of a tile game on a cluster: each node plays chunks of them on all of its cores."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from plyd.clients.formats.tile_replay import FACES, FinishedGame
from plyd.clients.match.results import GameFile
from plyd.clients.play.tile_games import TileSettings
from plyd.cluster import WorkerSpec
from plyd.cluster.options import ClusterSettings, open_fleet

WORKER = "plyd.engines.tiles.play.many_games:GamesWorker"
CHUNKS_AT_ONCE = 2  # of a worker: its threads have the second when the first runs out of games
CHUNK_SECONDS = 2.0  # aimed at
FIRST_CHUNK, MOST_CHUNK = 4, 10_000  # games


@dataclass(frozen=True, slots=True)
class PlayedChunk:
    """Games that were played together; its number is that of its first game."""

    game: int
    results: list[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The chunk as an object for JSON."""
        return dataclasses.asdict(self)


def on_cluster(
    cluster: ClusterSettings, settings: TileSettings, resume: Path | None, *, with_actions: bool
) -> Generator[FinishedGame, None, None]:
    """Games played on a cluster, as their chunks end; those of the file to resume come first."""
    asked = worker_settings(settings, with_actions)
    if resume is None:
        yield from play_chunks(cluster, asked, Chunks(settings.games, []), None)
        return
    with GameFile(resume, {"tile games": identity_of(asked)}, parse_chunk) as file:
        done = chunks_of(settings.games, file.begin())
        for chunk in done:
            yield from (FinishedGame(**result) for result in chunk.results)
        yield from play_chunks(cluster, asked, Chunks(settings.games, done), file)


def identity_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What games to be resumed have in common; a model counts by what it holds."""
    model = {} if asked["model"] is None else {"model": hashlib.sha256(asked["model"]).hexdigest()}
    return {name: value for name, value in asked.items() if name != "model"} | model


def chunks_of(games: int, done: Iterable[PlayedChunk]) -> list[PlayedChunk]:
    """What chunks of an earlier run have of so many games."""
    return [PlayedChunk(chunk.game, chunk.results[: games - chunk.game]) for chunk in done if chunk.game < games]


def play_chunks(
    cluster: ClusterSettings,
    asked: dict[str, Any],
    chunks: "Chunks",
    file: GameFile[PlayedChunk] | None,
) -> Generator[FinishedGame, None, None]:
    """The games of all chunks that are left."""
    spec = WorkerSpec(WORKER, asked, cores=None, at_once=CHUNKS_AT_ONCE, ahead=0)
    with open_fleet(cluster, spec) as fleet:
        for first, results in fleet.results(chunks.jobs()):
            chunks.ended(int(str(first)))
            if file:
                file.add(PlayedChunk(int(str(first)), results))
            yield from (FinishedGame(**result) for result in results)


class Chunks:
    """Divides games into chunks that take about CHUNK_SECONDS each, by how long earlier ones took."""

    def __init__(self, games: int, done: list[PlayedChunk]) -> None:
        self._games = games
        self._done = {chunk.game: len(chunk.results) for chunk in done}
        self._size = FIRST_CHUNK
        self._begun: dict[int, tuple[float, int]] = {}  # when, and how many games

    def jobs(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Each chunk that is left: its first game, and that with its number of games."""
        first = 0
        ends = sorted(self._done)
        while first < self._games:
            if first in self._done:
                first += self._done[first]
                continue
            until = next((start for start in ends if start > first), self._games)
            count = min(self._size, until - first)
            self._begun[first] = time.monotonic(), count
            yield first, (first, count)
            first += count

    def ended(self, first: int) -> None:
        """Learn from a chunk that has ended."""
        began, count = self._begun.pop(first)
        ideal = count * CHUNK_SECONDS / max(time.monotonic() - began, 1e-3)
        self._size = round(max(1, min(MOST_CHUNK, 2 * self._size, ideal)))


def worker_settings(settings: TileSettings, with_actions: bool) -> dict[str, Any]:
    """What a worker needs to know; a model is sent along."""
    try:
        model = settings.model and settings.model.read_bytes()
    except OSError as error:
        raise click.ClickException(f"cannot read {settings.model}: {error.strerror}") from None
    return {
        "game": settings.game,
        "variant": settings.variant,
        "depth": settings.depth or 1,
        "move_seconds": None if settings.move_time is None else settings.move_time / 1000,
        "evil": settings.evil,
        "reckons_evil": settings.reckon == "evil",
        "seed": settings.seed,
        "with_actions": with_actions,
        "until": FACES[settings.game].index(settings.until) if settings.until else 0,
        "model": model,
        "model_name": settings.model.name if settings.model else "",
    }


def parse_chunk(line: str) -> PlayedChunk:
    """The chunk in a line of a file; raises ValueError for any other line."""
    try:
        chunk = PlayedChunk(**json.loads(line))
        [FinishedGame(**result) for result in chunk.results]
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no chunk of games: {error!r:.60}") from None
    if type(chunk.game) is not int or chunk.game < 0 or not chunk.results:
        raise ValueError(f"chunk {chunk.game!r:.60} of {len(chunk.results)} games")
    return chunk
