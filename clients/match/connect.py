"""Connects the sides of a match or a tournament to their daemons, and chooses the daemon that acts as referee."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plyd.clients.cli import PROGRAM
from plyd.clients.library.client import EngineClient
from plyd.clients.library.connect.embedded import EmbeddedDaemon
from plyd.clients.library.errors import PlydError
from plyd.clients.library.requests import LimitArgs
from plyd.clients.match.openings import check_two_players
from plyd.clients.match.side import BadMatch, MatchSide, SideLimits, split_words

FIRST_SECONDS = 1.0  # retries of the first connection
AGAIN_SECONDS = 30.0  # retries when a daemon that answered before is unavailable


@dataclass(frozen=True, slots=True)
class ConnectedSide:
    """A side and the client of its daemon."""

    side: MatchSide
    client: EngineClient
    forfeits_if_gone: bool = False  # otherwise a daemon that is gone ends the match


@dataclass(frozen=True, slots=True)
class ConnectedSides:
    """The sides, the client that is asked for the rules, and the smallest number of search slots."""

    sides: tuple[ConnectedSide, ...]
    referee: EngineClient
    slots: int


@contextlib.contextmanager
def connect_sides(
    game: str,
    variant: str,
    sides: Sequence[MatchSide],
    starts: Sequence[str],
    *,
    gone_forfeits: bool = False,
    serve: Sequence[str] = (),
) -> Iterator[ConnectedSides]:
    """The sides, after a check that each can play. Sides without an address, `serve` or `env` share a private daemon.

    The referee is the shared private daemon, or else the last side's: usually the first side is the one being tested.
    Private daemons also get the arguments `serve`. With `gone_forfeits`, a side whose daemon is gone forfeits its
    games, unless others need that daemon too.
    """
    with contextlib.ExitStack() as stack:

        def start_daemon(side: MatchSide | None = None) -> str:
            arguments = split_words(side.serve) if side else []
            program = program_of(side.env) if side and side.env else PROGRAM
            return stack.enter_context(EmbeddedDaemon(game, settings=[*serve, *arguments], program=program)).target

        def client(target: str, retry_seconds: float, *, history: bool = True) -> EngineClient:
            return stack.enter_context(
                EngineClient(target, game, variant, retry_seconds=retry_seconds, history=history)
            )

        shared = start_daemon() if any(not (side.at or side.has_own_daemon) for side in sides) else ""
        targets = [side.at or (start_daemon(side) if side.has_own_daemon else shared) for side in sides]
        rules = shared or targets[-1]
        for start in starts:
            check_two_players(client(rules, FIRST_SECONDS), start)
        slots = [check_side(client(at, FIRST_SECONDS), side) for at, side in zip(targets, sides, strict=True)]
        connected = tuple(
            ConnectedSide(
                side,
                client(at, AGAIN_SECONDS, history=False),
                gone_forfeits and at != rules and targets.count(at) == 1,
            )
            for at, side in zip(targets, sides, strict=True)
        )
        yield ConnectedSides(connected, client(rules, AGAIN_SECONDS), min(slots))


def program_of(env: str) -> list[str]:
    """The command of the plyd that is installed in a virtual environment."""
    program = Path(env) / "bin" / "plyd"
    if not program.is_file():
        raise BadMatch(f"env={env}: {program} does not exist; allowed is the folder of a virtual environment with plyd")
    return [str(program)]


def check_side(client: EngineClient, side: MatchSide) -> int:
    """Concurrent searches of the side's daemon; raises BadMatch if it rejects the side's options or limits."""
    limits = search_limits(side.limits, side.limits.clock and side.limits.clock[0])
    limits["nodes"] = 1
    try:
        slots = client.describe().daemon.slots
        client.search(options=side.options, **limits)
    except PlydError as error:
        raise BadMatch(f"{side.name}: {error}") from None
    return slots or 1


def search_limits(limits: SideLimits, remaining: float | None) -> LimitArgs:
    """A client's search arguments for these limits and the time remaining on the clock."""
    arguments = LimitArgs(seconds=limits.seconds, nodes=limits.nodes, depth=limits.depth)
    if limits.clock:
        arguments["remaining_seconds"], arguments["increment_seconds"] = remaining, limits.clock[1]
    return arguments
