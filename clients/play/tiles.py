"""`plyd play 2048` and `plyd play 2584`: many games of a tile game, and statistics on them."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from plyd.clients.formats.rec2584 import BadRecord, RecordWriter, read_records
from plyd.clients.formats.rec2584_judge import Judge
from plyd.clients.formats.tile_replay import FACES, FinishedGame
from plyd.clients.play.statistics import Blocks
from plyd.clients.play.tile_games import TileSettings, in_bulk, over_wire
from plyd.cluster.options import cluster_options, cluster_settings

RECORDED = "2584"  # the game of record files


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every tile game to a command."""
    for option in reversed(
        [
            click.option("--games", default=100, show_default=True, type=click.IntRange(1), help="Number of games."),
            click.option("--depth", type=click.IntRange(1), help="Search depth in moves.  [default: 1]"),
            click.option(
                "--move-time", type=click.IntRange(1), metavar="MS", help="Time per move, instead of a depth."
            ),
            click.option("--evil", is_flag=True, help="Let the environment choose the worst cell for each new tile."),
            click.option(
                "--reckon",
                type=click.Choice(["chance", "evil"]),
                help="The environment that the search expects, from depth 2 on.  [default: the one that plays]",
            ),
            click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), help="Random seed.  [default: random]"),
            click.option(
                "--threads",
                type=click.IntRange(1),
                help="Concurrent games.  [default: number of cores; not with --connect]",
            ),
            click.option(
                "--connect", metavar="ADDRESS", help="Ask the daemon at HOST:PORT or unix:PATH for each move."
            ),
            click.option(
                "--model",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Packed network.  [default: the shipped one]",
            ),
            click.option("--until", type=int, metavar="TILE", help="End a game at this tile, such as 2048."),
            click.option(
                "--block",
                default=1000,
                show_default=True,
                type=click.IntRange(1),
                help="Games per block of statistics.",
            ),
            click.option(
                "--resume",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="With --cluster: append results to FILE, and go on after those that it has. Needs --seed.",
            ),
            cluster_options("node"),
        ]
    ):
        command = option(command)
    return command


@click.command("2048", short_help="Play many games of 2048, with statistics.")
@shared_options
def play_2048(**options: Any) -> None:
    """Play many games of 2048 and print statistics.

    Each block of statistics gives the number of games so far, their average and maximum points, and the moves per
    second; then for each tile the share of games that reached it, and the share in which it was the largest.

    Games are played by the engine in a process of its own, or with --connect by a daemon. Ctrl-C stops early and
    prints the statistics so far.

    \b
    plyd play 2048 --games 1000
    plyd play 2048 --games 100000 --seed 1 --resume games.jsonl --cluster head:6379
    plyd play 2048 --depth 2 --until 2048
    plyd play 2048 --evil --move-time 10 --connect 127.0.0.1:25842 --games 5
    """
    run("2048", {"variant": "classic", **options})


@click.command("2584", short_help="Play many games of 2584, with statistics.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option("--variant", type=click.Choice(["classic", "hard"]), default="classic", show_default=True, help="Odds.")
@shared_options
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a record file.")
@click.option("--read", is_flag=True, help="Check the record files FILE... instead of playing.")
def play_2584(files: tuple[Path, ...], read: bool, save: Path | None, **options: Any) -> None:
    """Play many games of 2584 and print statistics, or check record files.

    Each block of statistics gives the number of games so far, their average and maximum points, and the moves per
    second; then for each tile the share of games that reached it, and the share in which it was the largest.

    New tiles are 1 (90%) and 2 (10%), or with --variant hard 1 (75%) and 3 (25%). --save writes the games to a record
    file. --read replays such files and checks what a judge checks: legal moves, the odds of new tiles, no favoured
    cell, games that are complete. The exit status is 1 if a game is not complete.

    Games are played by the engine in a process of its own, or with --connect by a daemon. Ctrl-C stops early and
    prints the statistics so far.

    \b
    plyd play 2584 --games 1000
    plyd play 2584 --variant hard --depth 2 --save games.rec
    plyd play 2584 --read games.rec
    plyd play 2584 --evil --move-time 10 --connect 127.0.0.1:25841 --games 5
    """
    wrong = {
        "--read and --save exclude each other": read and save,
        "--read needs a FILE": read and not files,
        f"unexpected FILE {str(files[0])!r}; is --read missing?" if files else "": files and not read,
        "--until and --save exclude each other: records hold complete games": save and options["until"],
    }
    raise_usage_error(wrong)
    if read:
        sys.exit(read_files(files, options["block"]))
    run("2584", options, save)


def run(game: str, options: dict[str, Any], save: Path | None = None) -> NoReturn:
    """Play the games, print their statistics, and exit."""
    from plyd.clients.library.errors import PlydError
    from plyd.clients.match.side import BadMatch

    check_usage(game, options)
    block, connect, resume = options.pop("block"), options.pop("connect"), options.pop("resume")
    cluster = cluster_settings(options)
    settings = settings_of(game, options)
    try:
        if cluster:
            from plyd.clients.play.cluster import on_cluster

            results = on_cluster(cluster, settings, resume, with_actions=save is not None)
        else:
            results = over_wire(connect, settings) if connect else in_bulk(settings, with_actions=save is not None)
        status = print_results(results, Blocks(game, block), settings.games, save)
    except (PlydError, BadMatch) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def check_usage(game: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options that exclude each other."""
    connect = options["connect"]
    raise_usage_error(
        {
            "--depth and --move-time exclude each other": options["depth"] and options["move_time"],
            "--threads and --connect exclude each other": connect is not None and options["threads"],
            "--model and --connect exclude each other; use plyd serve --model": connect is not None
            and options["model"],
            f"--until {options['until']}: {game} has no such tile": options["until"]
            and options["until"] not in FACES[game],
            "--until and --connect exclude each other": connect is not None and options["until"],
            "--cluster and --connect exclude each other": connect is not None and options["cluster"] is not None,
            "--cluster and --threads exclude each other; a worker has as many as it has cores": options["cluster"]
            is not None
            and options["threads"],
            "--resume needs --cluster and --seed": options["resume"]
            and (options["cluster"] is None or options["seed"] is None),
            "--connect: an address is HOST:PORT or unix:PATH": connect == "",
        }
    )


def raise_usage_error(wrong: Mapping[str, object]) -> None:
    """Raise UsageError with the first message whose value is true."""
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise click.UsageError(message)


def settings_of(game: str, options: Mapping[str, Any]) -> TileSettings:
    """The settings from the command line; by default a random seed, all cores, and a player that knows what plays."""
    seed = secrets.randbelow(1 << 31) if options["seed"] is None else options["seed"]
    threads, reckon = options["threads"] or os.cpu_count() or 1, options["reckon"]
    reckon = reckon or ("evil" if options["evil"] else "chance")
    return TileSettings(game, **{**options, "seed": seed, "threads": threads, "reckon": reckon})


def print_results(results: Generator[FinishedGame, None, None], blocks: Blocks, games: int, save: Path | None) -> int:
    """Print statistics as games end, and save the games; the exit status."""
    status = 0
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(writing(save)) if save else None
        say, step = stack.enter_context(progress(games))
        stack.callback(results.close)
        try:
            for result in results:
                if writer:
                    writer.add(result)
                step()
                say(blocks.add(result))
        except KeyboardInterrupt:
            status = 130
        finally:
            say(blocks.rest())
    return status


@contextlib.contextmanager
def writing(path: Path) -> Iterator[RecordWriter]:
    """A new record file; raises ClickException if it cannot be written."""
    try:
        with RecordWriter(path) as writer:
            yield writer
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            error.filename = str(path)
        if error.filename == str(path):
            raise click.ClickException(f"cannot write {path}: {error.strerror}") from None
        raise


@contextlib.contextmanager
def progress(games: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """A progress bar on stderr if that is a terminal; two functions: one prints a text, one counts a game."""
    if not sys.stderr.isatty():
        yield lambda text: click.echo(text) if text else None, lambda: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task("loading the engine", total=games)

    def say(text: str) -> None:
        if text:
            bar.stop()  # stdout may be the same terminal
            click.echo(text)
            bar.start()

    with bar:
        yield say, lambda: bar.update(task, advance=1, description="games")


def read_files(paths: Sequence[Path], block: int) -> int:
    """Print statistics on record files and what a judge finds in them; the exit status."""
    try:
        return max(judge(path, block) for path in paths)
    except BadRecord as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        return 130


def judge(path: Path, block: int) -> int:
    """Print statistics on a record file and what a judge finds in it; the exit status."""
    looked, blocks = Judge(), Blocks(RECORDED, block)
    try:
        texts: Iterable[str] = (blocks.add(looked.replay(*record)) for record in read_records(path))
        click.echo(f"{path}\n")
        for text in filter(None, texts):
            click.echo(text)
    except BadRecord as error:
        raise BadRecord(f"{path}: {error}") from None
    except OSError as error:
        if error.filename != str(path):
            raise
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from None
    if rest := blocks.rest():
        click.echo(rest)
    click.echo(f"{looked.summary()}\n")
    return 1 if looked.unfinished else 0
