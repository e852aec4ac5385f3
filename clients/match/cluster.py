"""Games of a match or a tournament on a cluster. This process schedules and counts; each node has its own daemons."""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from plyd.clients.library.client import EngineClient
from plyd.clients.library.connect.embedded import EmbeddedDaemon
from plyd.clients.match.adjudication import Adjudication
from plyd.clients.match.connect import AGAIN_SECONDS, ConnectedSide, ConnectedSides, check_side, connect_sides
from plyd.clients.match.openings import Opening, ScheduledGame, check_two_players
from plyd.clients.match.results import PlayedGame
from plyd.clients.match.runner import WATCH_SECONDS, GamePlayer
from plyd.clients.match.side import BadMatch, MatchSide
from plyd.cluster import BrokenWorker, Fleet, WorkerSpec
from plyd.cluster.options import ClusterSettings, open_fleet

WORKER = "plyd.clients.match.cluster:MatchWorker"
Job = tuple[int, Opening, tuple[int, ...]]  # a game's number, its opening, and its sides by number


@contextlib.contextmanager
def connect_cluster(
    game: str,
    variant: str,
    sides: Sequence[MatchSide],
    starts: Sequence[str],
    cluster: ClusterSettings,
    concurrency: int | None,
    **others: Any,
) -> Iterator[tuple[ConnectedSides, Fleet]]:
    """The sides with a referee of this process, for openings only, and the fleet whose workers play the games.

    `others` are settings of the workers: an adjudication, gone_forfeits.
    """
    facts = {"game": game, "variant": variant, "sides": tuple(sides), "concurrency": concurrency, **others}
    spec = WorkerSpec(WORKER, facts, cores=None, at_once=concurrency)
    with (
        EmbeddedDaemon(game) as daemon,
        EngineClient(daemon.target, game, variant, retry_seconds=AGAIN_SECONDS) as referee,
    ):
        for start in starts:
            check_two_players(referee, start)
        for side in sides:
            if not (side.at or side.has_own_daemon):  # others are known on the nodes only
                check_side(referee, side)
        with open_fleet(cluster, spec) as fleet:
            yield ConnectedSides(tuple(ConnectedSide(side, referee) for side in sides), referee, 1), fleet


class ClusterRunner:
    """Plays scheduled games on a fleet; the counterpart of MatchRunner."""

    def __init__(self, fleet: Fleet, sides: Sequence[ConnectedSide], schedule: Iterable[ScheduledGame]) -> None:
        self._fleet = fleet
        self._numbers = {id(side): number for number, side in enumerate(sides)}
        self._schedule = schedule

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave unfinished games to the end of the fleet, which ends its workers at once."""

    def results(self) -> Iterator[PlayedGame]:
        """Games as they end."""
        for _, played in self._fleet.results(self._jobs()):
            yield played

    def _jobs(self) -> Iterator[tuple[int, Job]]:
        for scheduled in self._schedule:
            sides = tuple(self._numbers[id(side)] for side in scheduled.sides)
            yield scheduled.game, (scheduled.game, scheduled.opening, sides)


class MatchWorker:
    """Plays games on a node, with daemons of its own."""

    def __init__(self, settings: Mapping[str, Any], cores: int) -> None:
        slots = settings["concurrency"] or cores
        self._stack = contextlib.ExitStack()
        self._connected = self._stack.enter_context(
            connect_sides(
                settings["game"],
                settings["variant"],
                settings["sides"],
                [],
                gone_forfeits=settings.get("gone_forfeits", False),
                serve=["--slots", str(slots)],
            )
        )
        adjudication: Adjudication | None = settings.get("adjudication")
        self._player = GamePlayer(self._connected.referee, adjudication)
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(WATCH_SECONDS):
            self._player.give_up_overdue()

    def work(self, job: Job) -> PlayedGame:
        """The game, played; raises BrokenWorker if a daemon is gone."""
        game, opening, sides = job
        try:
            return self._player.play(ScheduledGame(game, opening, tuple(self._connected.sides[k] for k in sides)))
        except BadMatch as error:
            raise BrokenWorker(str(error)) from None

    def close(self) -> None:
        """End the daemons."""
        self._over.set()
        self._stack.close()
