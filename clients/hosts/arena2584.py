"""`plyd arena`: a line protocol through which a referee drives players and environments of 2584."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any, TextIO

import click

from plyd.clients.cli import CONNECT
from plyd.clients.formats.tile_replay import DROPPED, IllegalAction, Replay
from plyd.protocols.arena2584 import COMMANDS, NO_MOVE, SLIDES

GAME = "2584"
VARIANTS = {"hard": {1: 0.75, 3: 0.25}, "classic": {1: 0.9, 2: 0.1}}  # probability of each tile index
FIRST_SECONDS = 1.0  # to reach a daemon for the first time
AGAIN_SECONDS = 30.0  # to wait for a daemon that was lost
LATE_SECONDS = 5.0  # the same during a match, where the referee waits for our move
LONGEST_QUOTE = 80  # characters of a line in an error message


@click.command(short_help="Play 2584 for a referee, or be the referee.")
@click.option("--name", default="plyd", show_default=True, help="Our name in the names of a match.")
@click.option("--depth", type=click.IntRange(1), help="Search depth in moves, instead of a time per move.")
@click.option("--move-time", type=click.IntRange(1), metavar="MS", help="Time per move in milliseconds. Default: 10.")
@click.option(
    "--variant", type=click.Choice(list(VARIANTS)), default="hard", show_default=True, help="Odds of the tiles."
)
@click.option(
    "--reckon",
    type=click.Choice(["chance", "evil"]),
    default="evil",
    show_default=True,
    help="The environment that our slides expect: random cells, or the worst cell for each tile.",
)
@click.option(
    "--connect",
    metavar="ADDRESS",
    help=CONNECT,
)
@click.option("--referee", is_flag=True, help="Be the referee: let programs play one another.")
@click.option(
    "--play", multiple=True, metavar="NAME=COMMAND", help="With --referee: a player; repeatable. plyd alone is ours."
)
@click.option(
    "--evil",
    multiple=True,
    metavar="NAME=COMMAND",
    help="With --referee: an evil; repeatable. plyd alone is ours, random drops on random cells.",
)
@click.option("--games", default=100, show_default=True, type=click.IntRange(1, 100_000), help="Matches per pairing.")
@click.option("--own-tiles", is_flag=True, help="Evils draw their tiles themselves, instead of being told which.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the tiles.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("arena"),
    show_default=True,
    metavar="FOLDER",
    help="Folder of the records; the same command continues there.",
)
@click.option(
    "--answer-limit", default=10.0, show_default=True, type=click.FloatRange(0.01, 3600), help="Seconds for a move."
)
@click.option(
    "--ready-limit",
    default=120.0,
    show_default=True,
    type=click.FloatRange(0.01, 3600),
    help="Seconds to be ready for a match, weights loaded.",
)
@click.option(
    "--min-speed",
    default=10_000.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Actions per second below which the course takes 30% of the points.",
)
@click.option("--json", "as_json", is_flag=True, help="With --referee: print the result as one JSON object.")
def arena(
    name: str, depth: int | None, move_time: int | None, variant: str, reckon: str, connect: str | None, **contest: Any
) -> None:
    """Play matches of 2584 for a referee that writes to stdin and reads stdout, until end of file.

    A match has two roles: "play" slides, "evil" drops tiles. We take the roles that have our --name when the match is
    opened. Any number of matches may run at a time. A move is a hexadecimal opcode: a slide is 0 up, 1 right, 2 down, 3
    left; a drop is 16 * index + cell. The referee repeats every move, including ours; a referee that does not repeat
    our moves works too.

    An invalid line is reported on stderr and ignored. Without --connect, a private daemon is started, which
    loads 2.4 GB of weights, and stopped at the end.

    \b
    in                                  out
    match 7 open plyd:somebody          match 7 play ready
    match 7 evil move 15
    match 7 evil move 3a
    match 7 play take turn              match 7 play move 3
    match 7 play move 3
    match 7 evil move 11
    match 7 close plyd

    With --referee the roles change: this program is the referee. Each --play meets each --evil. A NAME is the agent's
    name in the protocol, COMMAND starts a program that speaks it. A program that hangs, crashes or plays an illegal
    move loses the match. --depth, --move-time, --variant and --connect are for our own program. docs/tiles.md has the
    rules of the course and an example.

    \b
    plyd arena --referee --play plyd --evil random --evil "foe=./2584 --shell --evil=name=foe" --games 10
    """
    from plyd.clients.library.client import EngineClient
    from plyd.clients.library.connect.embedded import EmbeddedDaemon
    from plyd.clients.library.errors import PlydError

    if depth and move_time:
        raise click.UsageError("--depth and --move-time exclude each other")
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT, unix:PATH or tls:HOST:PORT", param_hint="--connect")
    if be_referee(contest):
        from plyd.clients.hosts.referee_cli import referee

        ours = {"--depth": depth, "--move-time": move_time, "--variant": variant, "--connect": connect}
        words = [str(word) for pair in ours.items() if pair[1] is not None for word in pair]
        referee(variant, VARIANTS[variant], words, contest["as_json"], contest)
    limits = limits_of(depth, move_time or (None if depth else 10))
    try:
        with contextlib.ExitStack() as stack:
            target = connect if connect is not None else stack.enter_context(EmbeddedDaemon(GAME)).target
            with EngineClient(target, GAME, variant, retry_seconds=FIRST_SECONDS) as client:
                client.inspect()  # fails early if no daemon answers
            client = stack.enter_context(EngineClient(target, GAME, variant, retry_seconds=LATE_SECONDS))
            player = ArenaPlayer(name, Adviser(client.search, limits, reckons_evil=reckon == "evil"), VARIANTS[variant])
            for stream in (sys.stdin, sys.stdout):
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(encoding="utf-8", errors="surrogateescape")  # names are returned unchanged
            Arena(player, sys.stdout, sys.stderr).run(sys.stdin)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        sys.exit(130)


def be_referee(contest: Mapping[str, Any]) -> bool:
    """Whether to be the referee; raises UsageError for options that do not fit."""
    if contest["referee"] and not (contest["play"] and contest["evil"]):
        raise click.UsageError("--referee needs at least one --play and one --evil")
    if not contest["referee"] and (contest["play"] or contest["evil"]):
        raise click.UsageError("--play and --evil need --referee")
    return bool(contest["referee"])


def limits_of(depth: int | None, move_time: int | None) -> dict[str, float]:
    """Limits as a client's search takes them, for a time in ms or else a depth in plies."""
    return {"seconds": move_time / 1000} if move_time is not None else {"depth": depth or 1}


class Adviser:
    """Asks a daemon for the best slides, and for the worst drops."""

    def __init__(self, search: Callable[..., Any], limits: Mapping[str, float], *, reckons_evil: bool) -> None:
        self._search = search
        self._limits = limits
        self._options = {"environment": "evil"} if reckons_evil else {}

    def slide(self, replay: Replay) -> int:
        """The best slide's opcode."""
        return self._ask(replay, self._options, {SLIDES[action]: action for action in replay.slides()})

    def drop(self, replay: Replay, index: int) -> int:
        """The opcode of the drop of that tile that is worst for the player."""
        options = {"environment": "evil", "tile": str(index)}
        return self._ask(replay, options, {f"{index}@{cell}": index << 4 | cell for cell in replay.empty()})

    def _ask(self, replay: Replay, options: Mapping[str, str], legal: Mapping[str, int]) -> int:
        from plyd.clients.library.errors import DaemonFault

        move = self._search(replay.text, options=options, **self._limits).move
        if move not in legal:
            raise DaemonFault(f"the daemon answers {move!r} at {replay.text!r}; legal is {' '.join(legal)}")
        return legal[move]


class ArenaPlayer:
    """Chooses our moves in both roles."""

    def __init__(self, name: str, adviser: Adviser, odds: Mapping[int, float], seed: int | None = None) -> None:
        self.name = name
        self._adviser = adviser
        self._odds = odds
        self._random = Random(seed)

    def slide(self, replay: Replay) -> int:
        """The best slide's opcode."""
        return self._adviser.slide(replay)

    def drop(self, replay: Replay, index: int | None) -> int:
        """The opcode of the worst drop of a tile, by default of a random one. The opening's cells are random."""
        if index is None:
            [index] = self._random.choices(list(self._odds), list(self._odds.values()))
        if len(replay.actions) < 2:
            return index << 4 | self._random.choice(replay.empty())
        return self._adviser.drop(replay, index)

    def anything(self, replay: Replay, index: int | None) -> int:
        """The opcode of any legal move, for when no better one is known."""
        if not replay.drops_next:
            return self._random.choice(replay.slides())
        return (index or 1) << 4 | self._random.choice(replay.empty())


class ArenaMatch:
    """One match: its board, which roles are ours, and our answer if the referee has not repeated it yet."""

    def __init__(self, ours: set[str]) -> None:
        self.ours = ours
        self.replay = Replay(GAME)
        self._answer: tuple[str, int] | None = None

    def answered(self, role: str, action: int) -> None:
        """Remember our answer. It is played when the referee repeats it, or continues without repeating it."""
        self._answer = role, action

    def moved(self, role: str, action: int) -> None:
        """Play a move that the referee announces."""
        if self._answer and self._answer[0] != role:
            self._play_own()
        self._check_turn(role)
        self.replay.play(action)
        self._answer = None

    def ask(self, role: str) -> None:
        """Make sure that it is a role's turn."""
        if self._answer and (self._answer[0] != role or not self.replay.actions):
            self._play_own()  # only the opening has two turns of one role in a row
        self._check_turn(role)

    def _play_own(self) -> None:
        """Play our own move, which the referee did not repeat."""
        assert self._answer
        (_, action), self._answer = self._answer, None
        self.replay.play(action)

    def _check_turn(self, role: str) -> None:
        if role != ("evil" if self.replay.drops_next else "play"):
            raise IllegalAction(f"it is not the turn of {role}")


class Arena:
    """The open matches, by the referee's names for them."""

    def __init__(self, player: ArenaPlayer, out: TextIO, errors: TextIO) -> None:
        self._player = player
        self._out = out
        self._errors = errors
        self._matches: dict[str, ArenaMatch] = {}

    def run(self, lines: Iterable[str]) -> None:
        """Answer lines until they end."""
        for line in lines:
            if command := line.strip():
                try:
                    self._obey(command)
                except IllegalAction as error:
                    self._complain(command, error)

    def _obey(self, command: str) -> None:
        for verb, pattern in COMMANDS.items():
            if found := pattern.fullmatch(command):
                name, *words = found.groups()
                if verb == "open":
                    self._open(name, words)
                elif name not in self._matches:
                    raise IllegalAction(f"no match {name} is open")
                elif verb == "close":
                    del self._matches[name]
                elif self._matches[name].ours:
                    self._turn(verb, name, self._matches[name], words)
                return
        raise IllegalAction("unknown command")

    def _open(self, name: str, players: list[str]) -> None:
        """Begin a match; of one without us only the name is kept, so that its lines can be ignored."""
        if name in self._matches:
            raise IllegalAction(f"match {name} is open already")
        ours = [role for role, player in zip(("play", "evil"), players, strict=True) if player == self._player.name]
        self._matches[name] = ArenaMatch(set(ours))
        for role in ours:
            self._say(f"match {name} {role} ready")

    def _turn(self, verb: str, name: str, match: ArenaMatch, words: list[str]) -> None:
        role, word = words
        if verb == "move":
            match.moved(role, int(word, 16))
        elif role in match.ours:
            match.ask(role)
            self._answer(name, match, role, int(word) if word else None)

    def _answer(self, name: str, match: ArenaMatch, role: str, index: int | None) -> None:
        from plyd.clients.library.errors import PlydError

        replay, command = match.replay, f"match {name} {role} take turn"
        if index is not None and (role == "play" or index not in DROPPED):
            raise IllegalAction(f"no drop of {index}; the environment drops {', '.join(map(str, DROPPED))}")
        if replay.is_over():
            self._say(f"match {name} {role} move {NO_MOVE}")
            raise IllegalAction("no slide is left")
        try:
            action = self._player.slide(replay) if role == "play" else self._player.drop(replay, index)
        except PlydError as error:
            action = self._player.anything(replay, index)  # better than no answer
            self._complain(command, error)
        match.answered(role, action)
        self._say(f"match {name} {role} move {action:x}")

    def _say(self, line: str) -> None:
        print(line, file=self._out, flush=True)

    def _complain(self, command: str, error: Exception) -> None:
        quote = command if len(command) <= LONGEST_QUOTE else f"{command[:LONGEST_QUOTE]}..."
        print(f"{quote!r}: {error}", file=self._errors, flush=True)
