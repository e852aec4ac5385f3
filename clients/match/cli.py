"""`plyd match`: play many games between two engines, or two settings of one engine."""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.match.side import BadMatch, MatchSide, SideLimits, parse_clock, parse_side
from plyd.cluster.options import ClusterSettings, cluster_options, cluster_settings

if TYPE_CHECKING:
    from plyd.clients.match.connect import ConnectedSides
    from plyd.clients.match.openings import Opening
    from plyd.clients.match.report import MatchReport
    from plyd.clients.match.results import GameFile, PlayedGame
    from plyd.clients.match.runner import MakeRunner

DEFAULT_MS = 100
DEFAULT_PLIES = 4


@click.command(short_help="Let two engines play many games.")
@click.argument("game")
@click.option("--first", default="", metavar="KEY=VALUE...", help="Settings of the first side, in one argument.")
@click.option("--second", default="", metavar="KEY=VALUE...", help="Settings of the second side, in one argument.")
@click.option(
    "--games", default=100, show_default=True, type=click.IntRange(2), help="Number of games, two per opening."
)
@click.option("--move-time", type=click.IntRange(1), metavar="MS", help=f"Time per move.  [default: {DEFAULT_MS}]")
@click.option("--nodes", type=click.IntRange(1), help="Nodes per move, instead of a time.")
@click.option("--depth", type=click.IntRange(1), help="Search depth in plies, instead of a time.")
@click.option("--clock", metavar="S[+S]", help="Seconds per game, and the increment in seconds per move.")
@click.option("--variant", default="", help="Variant of the game.  [default: the game's first]")
@click.option("--start", multiple=True, metavar="TEXT", help="Starting position. Repeat it to use several in turn.")
@click.option(
    "--opening-plies",
    type=click.IntRange(0, 1000),
    help=f"Random moves played from the start.  [default: {DEFAULT_PLIES}]",
)
@click.option(
    "--openings", type=click.Path(path_type=Path), metavar="FILE", help="File of openings, one per line: 7x6 | 4 4 3"
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the random openings.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    help="Concurrent games; with --cluster, of each worker.  [default: number of cores, at most the daemon's slots]",
)
@click.option("--sprt", type=(float, float), metavar="ELO0 ELO1", help="Stop when one hypothesis is accepted.")
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write each game as a line of JSON."
)
@click.option("--resume", is_flag=True, help="Continue the match in the FILE of --save.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@cluster_options("node")
def match(game: str, as_json: bool, **options: Any) -> None:
    """Play many games of GAME between two engines, and report which is stronger, by how much and with what confidence.

    --first and --second each take one argument of KEY=VALUE pairs:

    \b
    OPTION=VALUE         an option of the engine, for example seed=1
    time=SECONDS         time per move
    nodes=N, depth=N     nodes or plies per move
    clock=S+S            seconds per game and increment per move
    at=HOST:PORT         the daemon to use (also at=unix:PATH)
    serve="--model F"    a private daemon of its own, and arguments of `plyd serve` for it
    env=FOLDER           a private daemon of its own, run by the plyd of this virtual environment: another version
    name=NAME            the name in the report

    A side that sets a limit uses only its own limits. Otherwise it uses --move-time, --nodes, --depth and --clock. A
    side without at=, serve= and env= uses a private daemon that is started for the match; both share it if neither
    has one.

    Each opening is played twice, so that each side moves first once. A side loses a game by an illegal move, by
    returning no move, or by failing; the report counts these forfeits. The match waits for a daemon that restarts.

    The report gives the Elo difference of the first side with its 95% confidence interval. --sprt stops as soon as
    the test accepts ELO0 or ELO1 (5% error probability each), or after --games.

    Ctrl-C stops the match and prints the result so far. Run the same command with --resume to continue.

    With --cluster, every node plays with private daemons of its own; docs/cluster.md explains it.

    \b
    plyd match connect4 --first "time=0.2" --second "time=0.1"
    plyd match connect4 --nodes 1000 --first "seed=1" --second "seed=2" --games 400
    plyd match connect4 --second "at=127.0.0.1:25843 name=old" --sprt 0 20 --games 10000
    plyd match gomoku --first "method=mcts" --second "method=negascout at=127.0.0.1:25844" --move-time 500
    plyd match connect4 --start 7x6 --start "9x9 #5,5" --opening-plies 6 --save games.jsonl
    plyd match gomoku --first env=/opt/plyd-new --second env=/opt/plyd-old --sprt 0 10 --cluster head:6379
    """
    from plyd.clients.library.errors import PlydError

    check_usage(options)
    cluster = cluster_settings(options)
    sides = sides_of(options)
    try:
        status = run(game, sides, as_json, options, cluster)
    except (PlydError, BadMatch) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def sides_of(options: dict[str, Any]) -> tuple[MatchSide, MatchSide]:
    """The two sides from the command line."""
    sides = []
    try:
        clock = parse_clock(options["clock"]) if options["clock"] is not None else None
        common = SideLimits(None, options["nodes"], options["depth"], clock)
        ms = options["move_time"] or (DEFAULT_MS if common == SideLimits() else None)
        common = SideLimits(ms and ms / 1000, common.nodes, common.depth, common.clock)
    except BadMatch as error:
        raise click.BadParameter(str(error), param_hint="--clock") from None
    for name in ("first", "second"):
        try:
            sides.append(parse_side(options[name], name, common))
        except BadMatch as error:
            raise click.BadParameter(str(error), param_hint=f"--{name}") from None
    if sides[0].name == sides[1].name:
        raise click.UsageError(f"both sides are named {sides[0].name!r}")
    return sides[0], sides[1]


def check_usage(options: dict[str, Any]) -> None:
    """Raise UsageError for options that exclude each other."""
    elos = options["sprt"] or ()
    sprt = " ".join(["--sprt", *(f"{elo:g}" for elo in elos)])
    wrong = {
        f"--games {options['games']} is odd; each opening is played twice": options["games"] % 2,
        "--openings and --start exclude each other": options["openings"] and options["start"],
        "--openings and --opening-plies exclude each other": options["openings"]
        and options["opening_plies"] is not None,
        "--resume needs the FILE of --save": options["resume"] and not options["save"],
        f"{sprt}: ELO0 must be less than ELO1": elos and not elos[0] < elos[1],
        f"{sprt}: allowed is -1000 to 1000": elos and not all(-1000 <= elo <= 1000 for elo in elos),
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise click.UsageError(message)


def run(
    game: str,
    sides: tuple[MatchSide, MatchSide],
    as_json: bool,
    options: dict[str, Any],
    cluster: ClusterSettings | None,
) -> int:
    """Play the match and print its result; the exit status."""
    from plyd.clients.match.elo import SequentialTest
    from plyd.clients.match.report import MatchReport
    from plyd.clients.match.results import GameFile, MatchTally, parse_game

    test = SequentialTest(*options["sprt"]) if options["sprt"] else None
    report = MatchReport(game, sides, options["games"], MatchTally(test))
    starts = options["start"] or [""]
    status = 0
    with contextlib.ExitStack() as stack:
        connected, runner = connect(stack, game, sides, starts, options, cluster)
        openings, settings = openings_for(connected, options)
        settings = {"game": game, "variant": options["variant"], **settings}
        settings |= {"first": sides[0].as_json(), "second": sides[1].as_json()}
        save = GameFile(options["save"], settings, parse_game, resume=options["resume"]) if options["save"] else None
        done = stack.enter_context(save).begin() if save else []
        try:
            play(connected, openings, done, runner, report, save)
        except KeyboardInterrupt:
            status = 130
        finally:
            if report.tally.games() or status:
                click.echo(json.dumps(report.summary()) if as_json else report.text())
    return status


def connect(
    stack: contextlib.ExitStack,
    game: str,
    sides: tuple[MatchSide, MatchSide],
    starts: Sequence[str],
    options: dict[str, Any],
    cluster: ClusterSettings | None,
) -> "tuple[ConnectedSides, MakeRunner]":
    """The connected sides, and what makes the runner of a schedule: on this machine, or on a cluster."""
    if cluster:
        from plyd.clients.match.cluster import ClusterRunner, connect_cluster

        connected, fleet = stack.enter_context(
            connect_cluster(game, options["variant"], sides, starts, cluster, options["concurrency"])
        )
        return connected, lambda schedule: ClusterRunner(fleet, connected.sides, schedule)
    from plyd.clients.match.connect import connect_sides
    from plyd.clients.match.runner import MatchRunner

    connected = stack.enter_context(connect_sides(game, options["variant"], sides, starts))
    concurrency = concurrency_of(options["concurrency"], connected)
    return connected, lambda schedule: MatchRunner(connected, schedule, concurrency)


def concurrency_of(asked: int | None, connected: "ConnectedSides") -> int:
    """Concurrent games on this machine; warns if the daemons cannot search for so many."""
    concurrency = asked or min(os.cpu_count() or 1, connected.slots)
    if concurrency > connected.slots:
        click.echo(
            f"{concurrency} concurrent games, but a daemon runs only {connected.slots} concurrent searches; "
            "moves will wait in its queue",
            err=True,
        )
    return concurrency


def openings_for(connected: "ConnectedSides", options: dict[str, Any]) -> "tuple[Iterable[Opening], dict[str, Any]]":
    """The openings, and the settings that identify them in a match file; warns if there are too few."""
    from plyd.clients.match.openings import openings_of

    plies = DEFAULT_PLIES if options["opening_plies"] is None else options["opening_plies"]
    book = openings_of(connected.referee, options["openings"], options["start"] or [""], plies, options["seed"])
    if book.size is not None and book.size < options["games"] // 2:
        click.echo(
            f"{options['openings']} has {book.size} openings for {options['games']} games; they are repeated", err=True
        )
    return book.openings, book.identity


def play(
    connected: "ConnectedSides",
    openings: "Iterable[Opening]",
    done: "Iterable[PlayedGame]",
    make_runner: "MakeRunner",
    report: "MatchReport",
    save: "GameFile[PlayedGame] | None",
) -> None:
    """Play the remaining games, until all are played or the sequential test accepts a hypothesis."""
    from plyd.clients.match.openings import schedule
    from plyd.clients.match.results import BY_RULES

    tally = report.tally
    finished = {played.game: played for played in done if played.game < report.games}
    for played in finished.values():
        tally.add(played)
    if tally.is_decided():
        return
    remaining = schedule(openings, report.games, finished, connected.sides)
    with make_runner(remaining) as runner, report.live() as update:
        for played in runner.results():
            if save:
                save.add(played)
            tally.add(played)
            update("" if played.reason == BY_RULES else f"game {played.game}: {played.reason}")
            if tally.is_decided():
                return
