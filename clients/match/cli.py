"""`plyd match`: two engines, or two settings of one, over many games."""

import contextlib
import hashlib
import itertools
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.match.side import BadMatch, Contender, Limits, clock_of, contender_of

if TYPE_CHECKING:
    from plyd.clients.match.connect import Players
    from plyd.clients.match.openings import Opening
    from plyd.clients.match.report import Scoreboard
    from plyd.clients.match.results import Played, SaveFile

DEFAULT_MS = 100
DEFAULT_PLIES = 4


@click.command(short_help="Let two engines play many games.")
@click.argument("game")
@click.option("--first", default="", metavar="WORDS", help="What is special about the first side.")
@click.option("--second", default="", metavar="WORDS", help="What is special about the second side.")
@click.option("--games", default=100, show_default=True, type=click.IntRange(2), help="Games, two an opening.")
@click.option("--move-time", type=click.IntRange(1), metavar="MS", help=f"Think so long.  [default: {DEFAULT_MS}]")
@click.option("--nodes", type=click.IntRange(1), help="Search so many nodes instead.")
@click.option("--depth", type=click.IntRange(1), help="Look so many plies ahead instead.")
@click.option("--clock", metavar="S[+S]", help="Seconds for all moves of a game, and seconds added after each.")
@click.option("--variant", default="", help="Rule set of the game.")
@click.option("--start", multiple=True, metavar="TEXT", help="Where games begin; repeatable, taken in turn.")
@click.option(
    "--opening-plies", type=click.IntRange(0, 1000), help=f"Random moves from there.  [default: {DEFAULT_PLIES}]"
)
@click.option("--openings", type=click.Path(path_type=Path), metavar="FILE", help="Openings, one a line: 7x6 | 4 4 3")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Other random openings.")
@click.option("--concurrency", type=click.IntRange(1, 256), help="Games at once.  [default: CPUs, or a daemon's slots]")
@click.option("--sprt", type=(float, float), metavar="ELO0 ELO1", help="End when one of the two is accepted.")
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write games, one a line."
)
@click.option("--resume", is_flag=True, help="Go on with the FILE of --save.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def match(game: str, as_json: bool, **options: Any) -> None:
    """Let two engines play many games of GAME, and tell which is stronger, by how much, and how surely.

    WORDS describe a side: OPTION=VALUE for each option of the engine, and limits of its own: time=SECONDS a move,
    nodes=N, depth=N, clock=S+S. A side with a limit of its own has no other; one without has the common ones.
    at=HOST:PORT or at=unix:PATH says which daemon answers; without it a private one is started, for both sides if
    neither has an address. name=NAME is for the table.

    Each opening is played twice, so that both sides move first in it. A side that plays an illegal move, gives none or
    fails loses that game; the table counts these forfeits. A daemon that restarts is waited for.

    Elo is that of the first side, with an interval that holds with 95%. --sprt plays until it is clear whether the
    difference is rather ELO0 or ELO1 (each may be wrong in 5%), or until --games are played.

    Ctrl-C ends it early, with the result so far; the same command with --resume goes on.

    \b
    plyd match connect4 --first "time=0.2" --second "time=0.1"
    plyd match connect4 --nodes 1000 --first "seed=1" --second "seed=2" --games 400
    plyd match connect4 --second "at=127.0.0.1:25860 name=old" --sprt 0 20 --games 10000
    plyd match connect4 --start 7x6 --start "9x9 #5,5" --opening-plies 6 --save games.jsonl
    """
    from plyd.clients.library.errors import PlydError

    check_usage(options)
    contenders = contenders_of(options)
    try:
        status = run(game, contenders, as_json, options)
    except (PlydError, BadMatch) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def contenders_of(options: dict[str, Any]) -> tuple[Contender, Contender]:
    """The two sides that the command line describes."""
    sides = []
    try:
        clock = clock_of(options["clock"]) if options["clock"] is not None else None
        common = Limits(None, options["nodes"], options["depth"], clock)
        ms = options["move_time"] or (DEFAULT_MS if common == Limits() else None)
        common = Limits(ms and ms / 1000, common.nodes, common.depth, common.clock)
    except BadMatch as error:
        raise click.BadParameter(str(error), param_hint="--clock") from None
    for side in ("first", "second"):
        try:
            sides.append(contender_of(options[side], side, common))
        except BadMatch as error:
            raise click.BadParameter(str(error), param_hint=f"--{side}") from None
    if sides[0].name == sides[1].name:
        raise click.UsageError(f"both sides are named {sides[0].name!r}")
    return sides[0], sides[1]


def check_usage(options: dict[str, Any]) -> None:
    """Raise UsageError for options that do not go together."""
    elos = options["sprt"] or ()
    sprt = " ".join(["--sprt", *(f"{elo:g}" for elo in elos)])
    wrong = {
        f"--games {options['games']} is odd; each opening is played twice": options["games"] % 2,
        "--openings and --start exclude each other": options["openings"] and options["start"],
        "--openings and --opening-plies exclude each other": options["openings"]
        and options["opening_plies"] is not None,
        "--resume needs the FILE of --save": options["resume"] and not options["save"],
        f"{sprt}: ELO0 has to be less than ELO1": elos and not elos[0] < elos[1],
        f"{sprt}: allowed is -1000 to 1000": elos and not all(-1000 <= elo <= 1000 for elo in elos),
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise click.UsageError(message)


def run(game: str, contenders: tuple[Contender, Contender], as_json: bool, options: dict[str, Any]) -> int:
    """Play the match and print its result; the exit status."""
    from plyd.clients.match.connect import connected
    from plyd.clients.match.elo import SequentialTest
    from plyd.clients.match.report import Scoreboard
    from plyd.clients.match.results import SaveFile, Tally

    test = SequentialTest(*options["sprt"]) if options["sprt"] else None
    board = Scoreboard(game, contenders, options["games"], Tally(test))
    starts = options["start"] or [""]
    status = 0
    with contextlib.ExitStack() as stack:
        players = stack.enter_context(connected(game, options["variant"], contenders, starts))
        openings, settings = openings_of(players, options)
        settings = {"game": game, "variant": options["variant"], **settings}
        settings |= {"first": contenders[0].as_json(), "second": contenders[1].as_json()}
        save = SaveFile(options["save"], settings, resume=options["resume"]) if options["save"] else None
        done = stack.enter_context(save).begin() if save else []
        concurrency = options["concurrency"] or min(os.cpu_count() or 1, players.slots)
        if concurrency > players.slots:
            click.echo(f"{concurrency} games at once, but a daemon runs {players.slots} searches: moves wait", err=True)
        try:
            play(players, openings, done, concurrency, board, save)
        except KeyboardInterrupt:
            status = 130
        finally:
            if board.tally.games() or status:
                click.echo(json.dumps(board.summary()) if as_json else board.text())
    return status


def openings_of(players: "Players", options: dict[str, Any]) -> "tuple[Iterable[Opening], dict[str, Any]]":
    """The openings to be played, and what is told of them to know the match again."""
    from plyd.clients.match.openings import drawn, listed

    if options["openings"] is None:
        plies = DEFAULT_PLIES if options["opening_plies"] is None else options["opening_plies"]
        starts, seed = options["start"] or [""], options["seed"]
        return drawn(players.referee, starts, plies, seed), {"start": starts, "opening_plies": plies, "seed": seed}
    openings = listed(players.referee, options["openings"])
    if len(openings) < options["games"] // 2:
        click.echo(
            f"{options['openings']} has {len(openings)} openings for {options['games']} games: they repeat", err=True
        )
    lines = "".join(f"{opening.start} | {' '.join(opening.moves)}\n" for opening in openings)
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return itertools.cycle(openings), {"openings": f"{len(openings)} with SHA-256 {digest}"}


def play(
    players: "Players",
    openings: "Iterable[Opening]",
    done: "Iterable[Played]",
    concurrency: int,
    board: "Scoreboard",
    save: "SaveFile | None",
) -> None:
    """Play what is not done yet, until all is played or a sequential test has decided."""
    from plyd.clients.match.openings import fixtures
    from plyd.clients.match.results import BY_RULES
    from plyd.clients.match.runner import Contest

    tally = board.tally
    finished = {played.game: played for played in done if played.game < board.games}
    for played in finished.values():
        tally.add(played)
    if tally.is_decided():
        return
    with Contest(players, fixtures(openings, board.games, finished), concurrency) as contest, board.live() as update:
        for played in contest.results():
            if save:
                save.add(played)
            tally.add(played)
            update("" if played.reason == BY_RULES else f"game {played.game}: {played.reason}")
            if tally.is_decided():
                return
