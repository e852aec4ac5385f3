"""The plan of a tournament: its rounds, their encounters, and the numbers of the games.

Encounter e has the games e * G to e * G + G - 1, G per encounter. Two games in a row share an opening, and the first
player of the encounter moves first in the even one. All encounters of a round have the same openings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plyd.clients.match.results import PlayedGame
from plyd.clients.match.side import BadMatch
from plyd.clients.tournament.pairings import Pair, SwissTable, gauntlet, round_robin, swiss_round
from plyd.clients.tournament.ratings import Score
from plyd.clients.tournament.settings import TournamentSettings


@dataclass(frozen=True, slots=True)
class Encounter:
    """Two players who play some games in a row."""

    number: int
    round: int
    pair: Pair


class Plan:
    """The encounters of a tournament, and the points of its players' byes."""

    def __init__(self, settings: TournamentSettings) -> None:
        self._settings = settings
        self._count = len(settings.players)
        self.byes = [0.0] * self._count  # points
        if settings.schedule == "gauntlet":
            self._cycle = list(gauntlet(self._count, settings.gauntlet_players))
        else:
            self._cycle = list(round_robin(self._count))

    @property
    def is_swiss(self) -> bool:
        """Whether the pairs of a round depend on the results of the rounds before."""
        return self._settings.schedule == "swiss"

    @property
    def games(self) -> int:
        """Number of games of the whole tournament."""
        per_round = self._count // 2 if self.is_swiss else len(self._cycle)
        return per_round * self._settings.rounds * self._settings.games

    def stages(self, games: Mapping[int, PlayedGame]) -> Iterator[list[Encounter]]:
        """Lists of encounters that may be played at once; `games` has all results when the next list is asked for."""
        if self.is_swiss:
            yield from self._swiss_stages(games)
            return
        size = len(self._cycle)
        yield [
            Encounter(number * size + at, number, pair)
            for number in range(self._settings.rounds)
            for at, pair in enumerate(self._cycle)
        ]

    def _swiss_stages(self, games: Mapping[int, PlayedGame]) -> Iterator[list[Encounter]]:
        table, size = SwissTable([0.0] * self._count), self._count // 2
        for number in range(self._settings.rounds):
            pairs, bye = swiss_round(table)
            if bye is not None:
                table.add_bye(bye, self._settings.games)  # as many points as an encounter that is won
                self.byes[bye] += self._settings.games
            stage = [Encounter(number * size + at, number, pair) for at, pair in enumerate(pairs)]
            yield stage
            for encounter in stage:
                score = score_of([games[game] for game in self.numbers(encounter)])
                table.add(encounter.pair, (score.points, score.games - score.points))

    def numbers(self, encounter: Encounter) -> range:
        """The numbers of an encounter's games."""
        first = encounter.number * self._settings.games
        return range(first, first + self._settings.games)

    def opening(self, encounter: Encounter, game: int) -> int:
        """The number of a game's opening."""
        return encounter.round * (self._settings.games // 2) + game % self._settings.games // 2

    def check(self, encounter: Encounter, played: PlayedGame) -> None:
        """Raise BadMatch if a saved game has other players than the plan."""
        names = tuple(self._settings.players[player].name for player in encounter.pair)
        if played.players != names:
            saved, now = (" and ".join(map(repr, both)) for both in (played.players, names))
            raise BadMatch(f"game {played.game} was saved with the players {saved}; now it would have {now}")


def score_of(games: list[PlayedGame]) -> Score:
    """Games won, drawn and lost by the first side."""
    points = [played.points for played in games]
    return Score(points.count(2), points.count(1), points.count(0))
