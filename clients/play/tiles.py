"""`plyd play`: a command for each game; here those of tile games, which play many games and tell what came of them."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import click

from plyd.clients.formats.rec2584 import BadRecord, RecordWriter, read_records
from plyd.clients.formats.rec2584_judge import Judge
from plyd.clients.formats.tile_replay import FACES, FinishedGame, Replay
from plyd.clients.hosts.arena2584 import AGAIN_SECONDS, FIRST_SECONDS, Adviser, limits_of
from plyd.clients.library.embedded import announce_start
from plyd.clients.play.games import Games
from plyd.clients.play.statistics import Blocks

BULK = [sys.executable, "-P", "-m", "plyd.engines.tiles.play.many_games"]
RECORDED = "2584"  # the game that record files hold
VARIANTS = {"2048": ("classic",), "2584": ("classic", "hard")}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be played."""

    game: str
    variant: str
    games: int
    depth: int | None
    move_time: int | None
    evil: bool
    seed: int
    threads: int
    model: Path | None = None
    until: int | None = None


@click.group(cls=Games, short_help="Play a game, or many.", subcommand_metavar="GAME [ARGS]...")
def play() -> None:
    """Play 2048 or 2584 many times, with statistics; or Connect Four against a person.

    \b
    --move-time MS and --connect ADDRESS, the daemon to ask, are options of every game;
    `plyd play GAME --help` tells of the others.

    \b
    plyd play 2048 --games 1000
    plyd play 2584 --variant hard --depth 2 --save games.rec
    plyd play 2584 --read games.rec
    plyd play 2584 --evil --move-time 10 --connect 127.0.0.1:25841 --games 5
    plyd play connect4 --size 9x9 --first engine
    plyd play gomoku --size 15 --first engine
    """


@click.command(short_help="Many games, and statistics on them.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option("--games", default=100, show_default=True, type=click.IntRange(1), help="How many games to play.")
@click.option("--depth", type=click.IntRange(1), help="Look so many moves ahead; 1 is greedy, and the default.")
@click.option("--move-time", type=click.IntRange(1), metavar="MS", help="Think so long about each move instead.")
@click.option("--variant", type=click.Choice(VARIANTS[RECORDED]), default="classic", show_default=True, help="Odds.")
@click.option("--evil", is_flag=True, help="Let the environment choose the worst cell; the tile is still chance.")
@click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), help="Play the same games again.")
@click.option("--threads", type=click.IntRange(1), help="Games played at once, without --connect.  [default: CPUs]")
@click.option("--connect", metavar="ADDRESS", help="Ask the daemon at HOST:PORT or unix:PATH for each move.")
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="A packed network, not the shipped one.")
@click.option("--until", type=int, metavar="TILE", help="End a game once it has this tile, such as 2584.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a record file.")
@click.option("--read", is_flag=True, help="Judge the record files FILE... instead of playing.")
@click.option(
    "--block", default=1000, show_default=True, type=click.IntRange(1), help="Games to a block of statistics."
)
@click.pass_context
def tiles(
    context: click.Context,
    /,
    files: tuple[Path, ...],
    read: bool,
    save: Path | None,
    block: int,
    connect: str | None,
    **options: Any,
) -> None:
    """Play many games and print statistics on them.

    A block says how many games there were so far, their average and largest points, and moves made a second; then for
    each tile the share of games that reached it, and the share that had it as their largest.

    2584 drops a 1 with 90% and a 2 with 10%, or, as --variant hard, a 1 with 75% and a 3 with 25%. Its games can be
    saved as record files. --read replays such files move by move and tells what a judge looks at: legal moves, the
    odds of tiles, no favoured cell, games that were played to their end. The exit status is 1 if some were not.

    Ctrl-C ends it early, with statistics on the games so far.

    \b
    plyd play 2048 --games 1000
    plyd play 2584 --variant hard --depth 2 --save games.rec
    plyd play 2584 --read games.rec
    plyd play 2584 --evil --move-time 10 --connect 127.0.0.1:25841 --games 5
    """
    from plyd.clients.library.errors import PlydError

    game = str(context.info_name)
    check_usage(game, files, read, save, connect, options)
    try:
        if read:
            status = max(judge(path, block) for path in files)
        else:
            wanted = wanted_of(game, options)
            results = over_wire(connect, wanted) if connect else in_bulk(wanted, with_actions=save is not None)
            status = tell(results, Blocks(game, block), wanted.games, save)
    except (PlydError, BadRecord) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def check_usage(
    game: str, files: tuple[Path, ...], read: bool, save: Path | None, connect: str | None, options: Mapping[str, Any]
) -> None:
    """Raise UsageError for options that do not go together."""
    wrong = {
        "--depth and --move-time exclude each other": options["depth"] and options["move_time"],
        f"{game} has the variants {', '.join(VARIANTS[game])}": options["variant"] not in VARIANTS[game],
        f"record files hold games of {RECORDED} only": (read or save) and game != RECORDED,
        "--read and --save exclude each other": read and save,
        "--read needs a FILE": read and not files,
        f"unexpected FILE {str(files[0])!r}; is --read missing?" if files else "": files and not read,
        "--threads is for games without --connect": connect is not None and options["threads"],
        "--model is for games without --connect; plyd serve has it too": connect is not None and options["model"],
        f"--until {options['until']}: no tile of {game}": options["until"] and options["until"] not in FACES[game],
        "--until is for games without --connect": connect is not None and options["until"],
        "--until and --save exclude each other: records end at the end": save and options["until"],
        "--connect: an address is HOST:PORT or unix:PATH": connect == "",
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise click.UsageError(message)


def wanted_of(game: str, options: Mapping[str, Any]) -> Wanted:
    """What is to be played, with what the user left open filled in."""
    seed = secrets.randbelow(1 << 31) if options["seed"] is None else options["seed"]
    return Wanted(game, **{**options, "seed": seed, "threads": options["threads"] or os.cpu_count() or 1})


def tell(results: Generator[FinishedGame, None, None], blocks: Blocks, games: int, save: Path | None) -> int:
    """Print statistics as games come in, and save them; the exit status."""
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
    """A record file to write; one that cannot be is a ClickException."""
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
    """A bar on stderr if that is a terminal: one function prints a text, one counts a game."""
    if not sys.stderr.isatty():
        yield lambda text: click.echo(text) if text else None, lambda: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task("games", total=games)

    def say(text: str) -> None:
        if text:
            bar.stop()  # stdout may be the same terminal
            click.echo(text)
            bar.start()

    with bar:
        yield say, lambda: bar.advance(task)


def in_bulk(wanted: Wanted, *, with_actions: bool) -> Generator[FinishedGame, None, None]:
    """Games played inside the engine, in a process of its own, as they finish."""
    if wanted.evil:
        announce_start(wanted.game)
    thinking = ["--depth", wanted.depth or 1] if wanted.move_time is None else ["--move-time", wanted.move_time]
    command = [*BULK, wanted.game, "--variant", wanted.variant, "--games", wanted.games, *thinking]
    command += ["--seed", wanted.seed, "--threads", wanted.threads]
    command += ["--until", FACES[wanted.game].index(wanted.until)] if wanted.until else []
    command += ["--model", wanted.model] if wanted.model else []
    command += ["--evil"] * wanted.evil + ["--actions"] * with_actions
    with (
        tempfile.TemporaryFile() as errors,  # start_new_session: a Ctrl-C is for us; we then end the engine
        subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield finished_of(line)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            raise click.ClickException(f"the engine failed: {said[-1] if said else f'exit {process.returncode}'}")


def finished_of(line: bytes) -> FinishedGame:
    """A game as the engine wrote it."""
    try:
        return FinishedGame(**json.loads(line))
    except (TypeError, ValueError):
        raise click.ClickException(f"the engine wrote {line[:80]!r}, which is no finished game") from None


def over_wire(target: str, wanted: Wanted) -> Generator[FinishedGame, None, None]:
    """Games played with a daemon: one Search a move, and one more a drop if the environment is evil.

    The board and chance stay here, so a daemon that restarts is asked again as if nothing had happened.
    """
    from plyd.clients.library.client import EngineClient

    limits = limits_of(wanted.depth, wanted.move_time)
    with EngineClient(target, wanted.game, wanted.variant, retry_seconds=FIRST_SECONDS) as client:
        odds = odds_of(client.inspect())  # is anybody there?
    with EngineClient(target, wanted.game, wanted.variant, retry_seconds=AGAIN_SECONDS) as client:
        yield from play_games(Adviser(client.search, limits, evil=wanted.evil), wanted, odds)


def play_games(adviser: Adviser, wanted: Wanted, odds: Mapping[int, float]) -> Generator[FinishedGame, None, None]:
    """Games in which an adviser slides, and drops too if it is evil."""
    random = Random(wanted.seed)
    for _ in range(wanted.games):
        replay, start_ms = Replay(wanted.game), now_ms()
        while not replay.is_over():
            if replay.drops_next:
                [index] = random.choices(list(odds), list(odds.values()))
                chosen = wanted.evil and len(replay.actions) >= 2
                replay.play(adviser.drop(replay, index) if chosen else index << 4 | random.choice(replay.empty()))
            else:
                replay.play(adviser.slide(replay))
        yield replay.finished(start_ms, now_ms())


def odds_of(state: Any) -> dict[int, float]:
    """The probability of each index at a position where chance is to move."""
    odds: dict[int, float] = {}
    for move in state.legal_moves:
        index = int(move.move.partition("@")[0])
        odds[index] = odds.get(index, 0.0) + move.probability
    return odds


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def judge(path: Path, block: int) -> int:
    """Print what a record file holds and how a judge sees it; the exit status."""
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
