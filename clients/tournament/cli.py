"""`plyd tournament`: let many players play one another."""

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.match.cli import concurrency_of
from plyd.clients.match.side import BadMatch
from plyd.cluster.options import ClusterSettings, cluster_options, cluster_settings

if TYPE_CHECKING:
    from plyd.clients.match.connect import ConnectedSides
    from plyd.clients.match.results import PlayedGame
    from plyd.clients.match.runner import MakeRunner
    from plyd.clients.tournament.play import Tournament

PROGRESS_LINES = 20  # per tournament, if stderr is not a terminal
MAX_GAMES_PER_LINE = 100


@click.command(short_help="Let many players play one another.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder of the games and the standings.  [default: FILE without its ending]",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    help="Concurrent games (of a worker), instead of the file's.",
)
@click.option(
    "--listen", default="127.0.0.1:0", show_default=True, metavar="HOST:PORT", help="Where the page is served."
)
@click.option("--no-page", is_flag=True, help="Serve no page.")
@click.option("--json", "as_json", is_flag=True, help="Print the standings as one JSON object.")
@cluster_options("node")
def tournament(
    file: Path,
    out: Path | None,
    concurrency: int | None,
    listen: str,
    no_page: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Play the tournament that FILE describes, and report ratings with error bars and a cross table.

    FILE is in TOML. Only game and two players are required:

    \b
    game = "connect4"
    schedule = "round-robin"      # or "gauntlet", "swiss"
    rounds = 5                    # how often everybody meets; of a Swiss tournament, its rounds
    games = 2                     # per encounter; each opening is played twice, with sides swapped
    nodes = 1000                  # limit of players without their own: time, nodes, depth, clock
    [adjudication]
    proven = true                 # end a game when both players have proven its result
    [[player]]
    name = "graph"
    [[player]]
    name = "uct"
    options = { method = "uct" }
    [[player]]
    name = "old version"
    at = "127.0.0.1:25843"        # its daemon; otherwise a private one that players share
    clock = "60+0.5"

    Everything is saved in a folder: games.jsonl and a file per game as they end, standings.txt and standings.json. The
    same command continues after Ctrl-C or a kill; only the games in progress are lost. With node or depth limits the
    games are the same as without the interruption.

    While it is played, a page on this machine shows the standings and the boards. docs/tournament.md lists all keys.

    \b
    plyd tournament cup.toml
    plyd tournament cup.toml --out /tmp/cup --concurrency 4 --listen 127.0.0.1:8000
    plyd tournament cup.toml --cluster head:6379
    """
    from plyd.clients.library.errors import PlydError
    from plyd.clients.tournament.play import Tournament
    from plyd.clients.tournament.settings import read_settings

    cluster = cluster_settings(options)
    folder = out or file.with_suffix("")
    if folder == file:
        raise click.UsageError(f"{file} has no ending such as .toml; name a folder with --out")
    try:
        played = Tournament(read_settings(file), folder)
        status = run(played, concurrency, None if no_page else listen, as_json, cluster)
    except (PlydError, BadMatch) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def run(
    played: "Tournament",
    concurrency: int | None,
    listen: str | None,
    as_json: bool,
    cluster: ClusterSettings | None = None,
) -> int:
    """Play the tournament and print its standings; the exit status."""
    from plyd.clients.match.live import live_table, plain_text
    from plyd.clients.tournament.page import TournamentPage
    from plyd.clients.tournament.standings import standings_table

    status = 0
    make_folder(played.folder)
    with contextlib.ExitStack() as stack:
        connected, runner = connect(stack, played, concurrency, cluster)
        if listen is not None:
            click.echo(f"page: {stack.enter_context(TournamentPage(listen, played.state)).url}", err=True)
        try:
            with live_table(lambda: standings_table(played.summary()), progress_printer(played)) as update:
                played.run(connected, runner, lambda game: update(note_of(game)))
        except KeyboardInterrupt:
            status = 130
        finally:
            if played.games or status:
                played.save_standings()
                found = played.summary()
                click.echo(json.dumps(found) if as_json else plain_text(standings_table(found)))
    return status


def connect(
    stack: contextlib.ExitStack, played: "Tournament", concurrency: int | None, cluster: ClusterSettings | None
) -> "tuple[ConnectedSides, MakeRunner]":
    """The connected players, and what makes the runner of a schedule: on this machine, or on a cluster."""
    settings = played.settings
    games_at_once = concurrency or settings.concurrency
    who = (settings.game, settings.variant, settings.players, settings.start)
    if cluster:
        from plyd.clients.match.cluster import ClusterRunner, connect_cluster

        connected, fleet = stack.enter_context(
            connect_cluster(*who, cluster, games_at_once, adjudication=settings.adjudication, gone_forfeits=True)
        )
        return connected, lambda schedule: ClusterRunner(fleet, connected.sides, schedule)
    from plyd.clients.match.connect import connect_sides
    from plyd.clients.match.runner import MatchRunner

    connected = stack.enter_context(connect_sides(*who, gone_forfeits=True))
    at_once = concurrency_of(games_at_once, connected)
    return connected, lambda schedule: MatchRunner(connected, schedule, at_once, settings.adjudication, played.watch)


def make_folder(folder: Path) -> None:
    """Make the folder of a tournament."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadMatch(f"cannot make the folder {folder}: {error.strerror}") from None


def note_of(game: "PlayedGame") -> str:
    """A line about a game that was forfeited, or an empty text."""
    return f"game {game.game}, {' against '.join(game.players)}: {game.reason}" if game.is_forfeit else ""


def progress_printer(played: "Tournament") -> "Callable[[str], None]":
    """Prints notes, and now and then the leaders, where stderr is not a terminal."""
    from plyd.clients.tournament.standings import progress_line

    every = max(1, min(played.plan.games // PROGRESS_LINES, MAX_GAMES_PER_LINE))

    def print_progress(note: str) -> None:
        if note:
            click.echo(note, err=True)
        if len(played.games) % every == 0:
            click.echo(progress_line(played.summary()), err=True)

    return print_progress
