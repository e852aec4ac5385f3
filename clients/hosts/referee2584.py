"""The referee of 2584: players and evil environments, as programs that speak the arena's protocol, play matches.

The rules are those of the course (Theory of Computer Games 2017, projects 4 and 5). The evil chooses the cell of a
tile, the referee which tile it is. The player wins a match if it reaches the 2584-tile; the match goes on until no
slide is left. A program that crashes, hangs or plays an illegal move loses the match. A player's points are the
percentage of its matches that it won, rounded up, plus one for each index of its largest tile above 17; an evil's are
the percentage that it won, rounded up, plus one for each index that the largest tile is below 17. Both lose 30% of them
if the program makes fewer than 10,000 actions a second.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from plyd.clients.formats.tile_replay import IllegalAction, Replay
from plyd.clients.hosts.program import Program, ProgramFault

ROLES = ("play", "evil")
WINNING_INDEX = 17  # the 2584-tile
BY_RULES = "rules"
RANDOM = "random"  # name of the environment that drops on random cells, which is the referee itself
MOST_FAULTS = 3  # in a row; then the program loses the rest of the pairing without being started again
PENALTY = 0.3


@dataclass(frozen=True, slots=True)
class Agent:
    """A program in one role; without a command it is RANDOM."""

    name: str
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MatchRules:
    """Odds of the tiles, who draws them, and the seconds that a program has to be ready and to answer a turn."""

    odds: Mapping[int, float]  # by index
    ready_seconds: float
    answer_seconds: float
    own_tiles: bool = False  # an evil draws its tiles itself; otherwise the referee tells it which one to drop


@dataclass(frozen=True, slots=True)
class RefereedMatch:
    """A match that has ended."""

    game: int  # number in the whole contest
    play: str
    evil: str
    winner: str  # one of ROLES
    verdict: str  # BY_RULES, or what the loser did
    points: int
    largest: int  # index of the largest tile
    actions: list[int]
    seconds: dict[str, float]  # that each role took
    start_ms: int = 0
    end_ms: int = 0

    def as_json(self) -> dict[str, Any]:
        """The match as an object for JSON."""
        return asdict(self)

    def answers(self, role: str) -> int:
        """Number of moves that a role made."""
        slides = max(0, len(self.actions) - 1) // 2
        return slides if role == "play" else len(self.actions) - slides


class Fault(Exception):
    """A role loses the match for a reason other than the rules."""

    def __init__(self, role: str, reason: str) -> None:
        super().__init__(reason)
        self.role = role


class Pairing:
    """One player and one evil; their programs run from match to match, and again after a fault."""

    def __init__(self, play: Agent, evil: Agent, rules: MatchRules) -> None:
        self._agents = {"play": play, "evil": evil}
        self._rules = rules
        self._programs: dict[Agent, Program] = {}
        self._faults = dict.fromkeys(ROLES, 0)  # in a row

    def close(self) -> None:
        """End the programs."""
        for agent in list(self._programs):
            self._programs.pop(agent).close()

    def match(self, game: int, seed: str) -> RefereedMatch:
        """Play a match; the seed determines its tiles."""
        began, replay, random = time.time(), Replay(), Random(seed)
        seconds = dict.fromkeys(ROLES, 0.0)
        try:
            self._open(game)
            while not replay.is_over():
                self._turn(game, replay, random, seconds)
            winner = "play" if max(replay.cells) >= WINNING_INDEX else "evil"
            verdict = BY_RULES
            self._faults = dict.fromkeys(ROLES, 0)
        except Fault as fault:
            winner = "evil" if fault.role == "play" else "play"
            verdict = f"{self._agents[fault.role].name} ({fault.role}) {fault}"
            self._faults[fault.role] += 1
            if program := self._programs.pop(self._agents[fault.role], None):
                program.close()
        self._tell(f"match {game} close {self._agents[winner].name}")
        play, evil = (self._agents[role].name for role in ROLES)
        end = replay.finished(round(began * 1000), round(time.time() * 1000))
        return RefereedMatch(
            game,
            play,
            evil,
            winner,
            verdict,
            end.points,
            end.largest,
            replay.actions,
            seconds,
            end.start_ms,
            end.end_ms,
        )

    def _open(self, game: int) -> None:
        """Open a match with both programs, which are started if they do not run."""
        line = f"match {game} open {':'.join(self._agents[role].name for role in ROLES)}"
        opened: set[Agent] = set()
        for role, agent in self._agents.items():
            if not agent.command:
                continue
            if self._faults[role] >= MOST_FAULTS:
                raise Fault(role, f"is not started again after {MOST_FAULTS} faults in a row")
            try:
                if agent not in self._programs:
                    self._programs[agent] = Program(agent.command, dict(agent.environment))
                if agent not in opened:  # a program that plays both roles is asked once, and says both
                    pattern = re.compile(rf"match {game} {role} ready")
                    self._programs[agent].ask(line, pattern, self._rules.ready_seconds)
                opened.add(agent)
            except ProgramFault as fault:
                raise Fault(role, str(fault)) from None

    def _turn(self, game: int, replay: Replay, random: Random, seconds: dict[str, float]) -> None:
        """One action of the role whose turn it is."""
        role, odds, tiles = "play", self._rules.odds, list[int]()
        if replay.drops_next:
            role = "evil"
            is_free = self._rules.own_tiles and self._agents[role].command
            tiles = list(odds) if is_free else random.choices(list(odds), list(odds.values()))
        if self._agents[role].command:
            began = time.perf_counter()
            action = self._answer(game, role, f", drop {tiles[0]}" if len(tiles) == 1 else "")
            seconds[role] += time.perf_counter() - began
        else:
            action = tiles[0] << 4 | random.choice(replay.empty())
        try:
            if tiles and action >> 4 not in tiles:
                raise IllegalAction(f"a drop of index {action >> 4}; it must drop {' or '.join(map(str, tiles))}")
            replay.play(action)
        except IllegalAction as error:
            raise Fault(role, f"plays {action:x} after {len(replay.actions)} actions: {error}") from None
        self._tell(f"match {game} {role} move {action:x}")

    def _answer(self, game: int, role: str, drop: str) -> int:
        """The opcode that a program answers."""
        line = f"match {game} {role} take turn{drop}"
        pattern = re.compile(rf"match {game} {role} move (.*)")
        try:
            word = self._programs[self._agents[role]].ask(line, pattern, self._rules.answer_seconds)[1]
        except ProgramFault as fault:
            raise Fault(role, str(fault)) from None
        if not re.fullmatch(r"(0x)?[0-9a-fA-F]{1,8}", word):
            raise Fault(role, f"answers {word[:40]!r}; expected an opcode in hexadecimal")
        return int(word, 16)

    def _tell(self, line: str) -> None:
        """Tell both programs; one that has ended is found out when it is asked."""
        for program in self._programs.values():
            try:
                program.tell(line)
            except ProgramFault:
                continue


def contest(
    players: Sequence[Agent],
    evils: Sequence[Agent],
    games: int,
    seed: int,
    rules: MatchRules,
    done: Mapping[int, RefereedMatch],
    told: Callable[[RefereedMatch], None],
) -> None:
    """Each player against each evil, `games` matches each; the n-th match of every pairing has the same tiles."""
    for at, (play, evil) in enumerate((play, evil) for play in players for evil in evils):
        numbers = range(at * games, (at + 1) * games)
        if all(number in done for number in numbers):
            continue
        pairing = Pairing(play, evil, rules)
        try:
            for number in numbers:
                if number not in done:
                    told(pairing.match(number, f"{seed}:{number - at * games}"))
        finally:
            pairing.close()


def summary(matches: Sequence[RefereedMatch], min_speed: float) -> dict[str, Any]:
    """All figures of a contest."""
    pairs = dict.fromkeys((match.play, match.evil) for match in matches)
    found: dict[str, Any] = {"matches": len(matches), "pairings": [], "agents": []}
    for play, evil in pairs:
        group = [match for match in matches if (match.play, match.evil) == (play, evil)]
        found["pairings"].append({"play": play, "evil": evil, **group_figures(group)})
    for role in ROLES:
        for name in dict.fromkeys(getattr(match, role) for match in matches):
            group = [match for match in matches if getattr(match, role) == name]
            found["agents"].append({"name": name, "role": role, **agent_figures(group, role, min_speed)})
    return found


def group_figures(group: Sequence[RefereedMatch]) -> dict[str, Any]:
    """Figures of some matches."""
    return {
        "matches": len(group),
        "play_wins": sum(match.winner == "play" for match in group),
        "mean_points": sum(match.points for match in group) / len(group),
        "largest": max(match.largest for match in group),
    }


def agent_figures(group: Sequence[RefereedMatch], role: str, min_speed: float) -> dict[str, Any]:
    """The course's points of an agent, its speed, and its faults."""
    wins = sum(match.winner == role for match in group)
    seconds = sum(match.seconds[role] for match in group)
    actions = sum(match.answers(role) for match in group)
    speed = actions / seconds if seconds else None
    largest = [match.largest for match in group if match.verdict == BY_RULES]  # not of matches that broke off
    above = max(largest, default=WINNING_INDEX) - WINNING_INDEX
    points = math.ceil(100 * wins / len(group)) + max(0, above if role == "play" else -above)
    is_slow = speed is not None and speed < min_speed
    return {
        **group_figures(group),
        "wins": wins,
        "faults": sum(match.verdict != BY_RULES and match.winner != role for match in group),
        "actions_per_second": speed,
        "is_slow": is_slow,
        "course_points": points,
        "course_points_after_penalty": points * (1 - PENALTY) if is_slow else points,
    }
