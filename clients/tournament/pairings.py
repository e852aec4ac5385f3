"""Who plays whom: round-robin, gauntlet and Swiss. Players are numbered from 0 in the order of the file."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from plyd.clients.tournament.matching import largest_matching

Pair = tuple[int, int]


def round_robin(players: int) -> Iterator[Pair]:
    """Each pair of players once, by the circle method: while one round is played, nobody has two opponents.

    One player stays in place, the others move round one seat a round; opposite seats are opponents. With an odd number,
    an empty seat gives its opponent a rest.
    """
    ring: list[int | None] = [*range(players), *([None] if players % 2 else [])]
    for _ in range(len(ring) - 1):
        for a, b in zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True):
            if a is not None and b is not None:
                yield min(a, b), max(a, b)
        ring.insert(1, ring.pop())


def gauntlet(players: int, seeds: int) -> Iterator[Pair]:
    """Each of the first `seeds` players against each of the others."""
    for other in range(seeds, players):
        for seed in range(seeds):
            yield seed, other


@dataclass
class SwissTable:
    """What pairing a round needs to know of the rounds before it."""

    points: list[float]
    meetings: Counter[Pair] = field(default_factory=Counter)
    byes: Counter[int] = field(default_factory=Counter)

    def add(self, pair: Pair, points: tuple[float, float]) -> None:
        """Count the points of an encounter of two players."""
        for player, won in zip(pair, points, strict=True):
            self.points[player] += won
        self.meetings[pair[0], pair[1]] += 1

    def add_bye(self, player: int, points: float) -> None:
        """Count the points that a player gets for a round without an opponent."""
        self.points[player] += points
        self.byes[player] += 1


def swiss_round(table: SwissTable) -> tuple[list[Pair], int | None]:
    """The pairs of the next round, and who has a bye if the number of players is odd.

    Players are ordered by points, then by number. From the top, each one meets the next below whom it has not met, as
    long as the rest can be paired too; only if no pairing of all players avoids it do two meet again. The bye goes to
    the lowest of those who had the fewest.
    """
    order = sorted(range(len(table.points)), key=lambda player: (-table.points[player], player))
    resting: list[int | None] = [None]
    if len(order) % 2:
        resting = [*sorted(order, key=lambda player: (table.byes[player], -order.index(player)))]
    most = max(table.meetings.values(), default=0)
    for allowed in range(most + 1):
        for bye in resting:
            seated = [player for player in order if player != bye]
            if (pairs := matching(seated, table.meetings, allowed)) is not None:
                return pairs, bye
    raise AssertionError("any two players may meet once more often than any two have")


def matching(order: list[int], meetings: Counter[Pair], allowed: int) -> list[Pair] | None:
    """The players in pairs that met at most `allowed` times, the highest first; None if there is no such pairing."""

    def may_meet(one: int, other: int) -> bool:
        return meetings[min(one, other), max(one, other)] <= allowed

    def can_be_paired(players: list[int]) -> bool:
        graph = [[b for b, two in enumerate(players) if two != one and may_meet(one, two)] for one in players]
        return -1 not in largest_matching(graph)

    if not can_be_paired(order):
        return None
    pairs, left = [], order
    while left:
        top, *rest = left
        for other in rest:
            remaining = [player for player in rest if player != other]
            if may_meet(top, other) and can_be_paired(remaining):
                pairs.append((min(top, other), max(top, other)))
                left = remaining
                break
    return pairs
