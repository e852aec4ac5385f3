"""`plyd analyze`: answer queries from stdin, or review game files."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.analyze.fields import help_lines
from plyd.clients.cli import parse_options
from plyd.cluster.options import ClusterSettings, cluster_options, open_fleet

if TYPE_CHECKING:
    from plyd.clients.analyze.query import Query
    from plyd.cluster import Fleet

DEFAULT_MS = 1000
PICTURES = (".png", ".svg", ".pdf")
CONNECT = "Use the daemon at HOST:PORT, unix:PATH or tls:HOST:PORT, or several, with commas. Default: a private one."


@click.command(short_help="Analyze positions and games: JSON lines, or game files.", epilog=help_lines())
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--connect", metavar="ADDRESS", help=CONNECT)
@click.option("--game", default="", help="Game of queries that name none.")
@click.option("--variant", default="", help="Variant of queries that name none.")
@click.option("--move-time", type=click.IntRange(0), metavar="MS", help=f"Time per position.  [default: {DEFAULT_MS}]")
@click.option("--nodes", type=click.IntRange(1), help="Nodes per position, instead of a time.")
@click.option("--depth", type=click.IntRange(1), help="Search depth in plies, instead of a time.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="Option of the engine. May be repeated.")
@click.option("--lines", default=1, type=click.IntRange(1, 1000), help="Lines of play to report.  [default: 1]")
@click.option(
    "--workers",
    type=click.IntRange(1, 10_000),
    help="Concurrent searches; with --cluster, most workers.  [default: the daemon's slots; twice as many without a "
    "time limit; with --cluster, as many as fit]",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append the answers to FILE, and skip what it answers already.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: final answers, or the table of a game file.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the values of the game file, as PNG, SVG or PDF.",
)
@click.option("--store", metavar="STORE", help="Store of the private daemon: a file, or postgresql://...")
@cluster_options("node", with_workers=False)
def analyze(files: tuple[Path, ...], **options: Any) -> None:
    """Answer queries on stdin, one JSON object per line, with one or more JSON objects per line on stdout.

    Answers come as they are found, not in the order of the queries. Each turn of a query ends in exactly one answer
    with "final": true. The end of the input ends the command once everything is answered. Ctrl-C or SIGTERM
    terminates what is left, and answers it with what was found so far.

    With FILE..., reviews games instead: SGF or PSQ for Gomoku, the record file for 2584, or a list of moves for any
    game. Prints a table of moves with the value before and after, the best move, and what the move lost.

    \b
    echo '{"id": "a", "game": "connect4", "moves": ["4", "4"]}' | plyd analyze
    plyd analyze --connect 127.0.0.1:25843,127.0.0.1:25853 --nodes 10000 --resume answers.jsonl < queries.jsonl
    plyd analyze game.sgf --move-time 200 --plot game.png
    plyd analyze --cluster head:6379 --nodes 10000 --resume answers.jsonl < queries.jsonl
    """
    import asyncio

    from plyd.clients.analyze.main import answer_queries, review_files
    from plyd.clients.library.errors import PlydError

    check_usage(files, options)
    defaults = defaults_of(options)
    try:
        with contextlib.ExitStack() as stack:
            options["fleet"] = stack.enter_context(fleet_of(options)) if options["cluster"] is not None else None
            status = asyncio.run(review_files(files, defaults, options) if files else answer_queries(defaults, options))
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write: {error.strerror}") from None
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    sys.exit(status)


def fleet_of(options: dict[str, Any]) -> "contextlib.AbstractContextManager[Fleet]":
    """The fleet that searches, on a cluster."""
    from plyd.clients.analyze.cluster import AHEAD, WORKER
    from plyd.cluster import WorkerSpec

    cluster = ClusterSettings(options["cluster"], options["workers"], options["worker_cores"])
    return open_fleet(cluster, WorkerSpec(WORKER, {"store": options["store"]}, cores=None, jobs_per_core=AHEAD))


def check_usage(files: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Raise UsageError for options that do not go together, ClickException for a plot that cannot be drawn."""
    wrong = {
        "--plot needs one game file": options["plot"] and len(files) != 1,
        "--resume goes with queries on stdin, not with game files": options["resume"] and files,
        "--resume needs answers as JSON; --csv excludes it": options["resume"] and options["as_csv"],
        "--store is for the private daemon; with --connect, give it to plyd serve": options["store"]
        and options["connect"] is not None,
        "--cluster and --connect exclude each other": options["cluster"] is not None and options["connect"] is not None,
        "--worker-cores needs --cluster": options["worker_cores"] and options["cluster"] is None,
        "--connect is empty; an address is HOST:PORT, unix:PATH or tls:HOST:PORT": options["connect"] == "",
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise click.UsageError(message)
    if options["plot"]:
        if options["plot"].suffix.lower() not in PICTURES:
            raise click.UsageError(f"--plot {options['plot']}: its name has to end in {', '.join(PICTURES)}")
        from importlib.util import find_spec

        if find_spec("matplotlib") is None:
            raise click.ClickException("--plot needs matplotlib: pip install 'plyd[plot]'")


def defaults_of(options: dict[str, Any]) -> "Query":
    """What a query has that does not say otherwise."""
    from plyd.clients.analyze.query import Query, SearchLimits

    ms = options["move_time"]
    if ms is None and options["nodes"] is None and options["depth"] is None:
        ms = DEFAULT_MS
    return Query(
        id="",
        game=options["game"],
        variant=options["variant"],
        limits=SearchLimits(ms, options["nodes"], options["depth"]),
        options=parse_options(options["option"]),
        lines=options["lines"],
    )
