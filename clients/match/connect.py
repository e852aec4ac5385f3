"""The two sides of a match, connected to their daemons, and whose rules hold."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plyd.clients.library.client import EngineClient
from plyd.clients.library.embedded import EmbeddedDaemon
from plyd.clients.library.errors import PlydError
from plyd.clients.library.requests import LimitArgs
from plyd.clients.match.openings import check_two_players
from plyd.clients.match.side import BadMatch, Contender, Limits

FIRST_SECONDS = 1.0  # for a daemon to be there at all
AGAIN_SECONDS = 30.0  # for one that was there to come back


@dataclass(frozen=True, slots=True)
class Player:
    """A side of the match and the client of its daemon."""

    contender: Contender
    client: EngineClient


@dataclass(frozen=True, slots=True)
class Players:
    """Both sides, the client that knows the rules, and how many searches may run at once."""

    first: Player
    second: Player
    referee: EngineClient
    slots: int


@contextlib.contextmanager
def connected(game: str, variant: str, contenders: Sequence[Contender], starts: Sequence[str]) -> Iterator[Players]:
    """Both sides, once it is sure that they can play. Who has no address shares a private daemon.

    The rules are those of the private daemon, or else of the second side's: the first is more often the one on trial.
    """
    with contextlib.ExitStack() as stack:
        private = "" if all(side.at for side in contenders) else stack.enter_context(EmbeddedDaemon(game)).target

        def client(target: str, patience: float) -> EngineClient:
            return stack.enter_context(EngineClient(target, game, variant, retry_seconds=patience))

        targets = [side.at or private for side in contenders]
        rules = private or targets[1]
        for start in starts:
            check_two_players(client(rules, FIRST_SECONDS), start)
        slots = [try_out(client(at, FIRST_SECONDS), side) for at, side in zip(targets, contenders, strict=True)]
        first, second = (Player(side, client(at, AGAIN_SECONDS)) for at, side in zip(targets, contenders, strict=True))
        yield Players(first, second, client(rules, AGAIN_SECONDS), min(slots))


def try_out(client: EngineClient, contender: Contender) -> int:
    """How many searches the side's daemon runs at once; raises if the side cannot search as it is to do."""
    asked = thinking(contender.limits, contender.limits.clock and contender.limits.clock[0])
    asked["nodes"] = 1
    try:
        slots = client.describe().daemon.slots
        client.search(options=contender.options, **asked)
    except PlydError as error:
        raise BadMatch(f"{contender.name}: {error}") from None
    return slots or 1


def thinking(limits: Limits, remaining: float | None) -> LimitArgs:
    """Limits as a client takes them, with what is left on the clock."""
    asked = LimitArgs(seconds=limits.seconds, nodes=limits.nodes, depth=limits.depth)
    if limits.clock:
        asked["remaining_seconds"], asked["increment_seconds"] = remaining, limits.clock[1]
    return asked
