"""`plyd bench`: speed figures of engines and daemons, measured with whole processes and real sockets."""

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from plyd.clients.cli import PROGRAM
from plyd.v1 import position_pb2, search_pb2
from plyd.v1.engine_pb2 import EngineInfo

TIMED_OPTIONS: dict[str, dict[str, Any]] = {
    "2584-2x3": {"method": "expectimax"}
}  # options of a search that uses its whole time limit
SOLVER_GAME = "2584-2x3"
CALLERS = 16
MOVE_SECONDS, MOST_MOVES = 0.2, 150
MUCH = [2048]  # megabytes


@click.command(short_help="Measure speed.")
@click.argument("games", nargs=-1, metavar="[GAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--cold/--no-cold", default=True, help="Also measure a first start, with compilation. Default: --cold.")
def bench(games: tuple[str, ...], as_json: bool, cold: bool) -> None:
    """Measure the speed of the engines and daemons of each GAME. Default: every game, and web, the page.

    Prints each figure with its target. The signature of a search changes only if the search itself changes, not with
    its speed. Takes a few minutes; run it on an otherwise idle machine.

    \b
    plyd bench
    plyd bench 2584-2x3 --json
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError

    talk = Console(stderr=True)
    found: list[dict[str, Any]] = []
    try:
        with talk.status("measuring") as status:
            for figure in measure(games or (*known_games(), "web"), cold=cold, say=status.update):
                found.append(figure)
                if as_json:
                    print(json.dumps(figure), flush=True)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    if not as_json:
        Console(width=max(100, talk.width)).print(table(found))


def measure(games: tuple[str, ...], *, cold: bool, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Every figure of every game, and of the page."""
    for game in games:
        if game == "web":
            from plyd.clients.web.bench import measure as measure_page

            yield from measure_page(say)
            continue
        say(f"{game}: the engine alone")
        yield from engine_figures(game)
        say(f"{game}: starting daemons")
        if cold:
            with tempfile.TemporaryDirectory() as empty:
                yield figure(game, "cold start to SERVING", start_seconds(game, empty), "s", at_most=20)
        warm = statistics.median(start_seconds(game) for _ in range(5))
        yield figure(game, "warm start to SERVING", warm, "s", at_most=2)
        with running(game) as target:
            say(f"{game}: calls")
            yield from call_figures(game, target)
            say(f"{game}: time limits")
            yield from overshoot_figures(game, target)
            yield from whole_game_figures(game, target)
            if game == SOLVER_GAME:
                say(f"{game}: plyd solve")
                yield from solve_figures(game, target)


def engine_figures(game: str) -> Iterator[dict[str, Any]]:
    """The figures of the engine's own benchmark, run in a separate process."""
    command = [sys.executable, "-P", "-m", "plyd.engines.bench", game]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    yield from map(json.loads, output.splitlines())


def start_seconds(game: str, cache: str | None = None) -> float:
    """Seconds from the start of a daemon process until it serves."""
    began = time.perf_counter()
    with running(game, cache):
        return time.perf_counter() - began


def call_figures(game: str, target: str) -> Iterator[dict[str, Any]]:
    """Latency with one caller, and calls per second with many."""
    from plyd.clients.library.client import EngineClient

    with EngineClient(target, game) as client:

        def search() -> float:
            began = time.perf_counter()
            client.search(nodes=1)
            return (time.perf_counter() - began) * 1000

        def search_many(count: int) -> None:
            for _ in range(count):
                search()

        search_many(200)
        times = sorted(search() for _ in range(2000))
        yield figure(game, "Search, one caller, p50", percentile(times, 50), "ms")
        yield figure(game, "Search, one caller, p99", percentile(times, 99), "ms")
        with ThreadPoolExecutor(CALLERS) as pool:
            began = time.perf_counter()
            list(pool.map(search_many, [100] * CALLERS))
            seconds = time.perf_counter() - began
        yield figure(game, f"Search, {CALLERS} callers", CALLERS * 100 / seconds, "calls/s")


def overshoot_figures(game: str, target: str) -> Iterator[dict[str, Any]]:
    """Milliseconds by which an answer reaches the caller after its time limit."""
    from plyd.clients.library.client import EngineClient

    late = []
    with EngineClient(target, game) as client:
        for i in range(300):
            seconds = (0.01, 0.02, 0.05, 0.1)[i % 4]
            position = client.new_game(seed=i).position
            began = time.perf_counter()
            client.search(position, seconds=seconds, options=TIMED_OPTIONS.get(game, {}))
            late.append((time.perf_counter() - began - seconds) * 1000)
    yield figure(game, "time limit overshoot, p50", percentile(late, 50), "ms")
    yield figure(game, "time limit overshoot, p99", percentile(late, 99), "ms", at_most=10)


def whole_game_figures(game: str, target: str) -> Iterator[dict[str, Any]]:
    """Milliseconds by which the moves of whole games come after their time limit: with little memory, and with much
    memory and pondering. One stream plays both sides.
    """
    from plyd.clients.library.client import EngineClient

    with EngineClient(target, game, history=False) as client:
        [card] = client.describe().engines
        least = [option.minimum for option in card.options if option.name == "memory"]
        for name, megabytes, ponders in (("little memory", least, False), ("much memory, pondering", MUCH, True)):
            options = TIMED_OPTIONS.get(game, {}) | ({"memory": int(megabytes[0])} if least else {})
            late = list(lateness_of_game(client, largest_start(card), options, ponders=ponders))
            for percent, goal in ((50, None), (99, 5.0), (100, 20.0)):
                what = "max" if percent == 100 else f"p{percent}"
                text = f"whole game, {MOVE_SECONDS:g} s a move, {name}, late by, {what}"
                yield figure(game, text, percentile(late, percent), "ms", at_most=goal)


def largest_start(card: EngineInfo) -> str:
    """The start on the largest board of a game, "" if it has one size only."""
    limits = card.board_limits
    template = card.start_form.template.replace("{columns}", str(limits.max_columns))
    return template.replace("{rows}", str(limits.max_rows))


def lateness_of_game(client: Any, start: str, options: dict[str, Any], *, ponders: bool) -> Iterator[float]:
    """Milliseconds by which each move of a game comes late; moves by chance and proven results are not counted."""
    chance = random.Random(1)
    with client.play(client.new_game(start, seed=1).position, options=options) as game:
        for _ in range(MOST_MOVES):
            while game.state.to_move == position_pb2.SIDE_ENVIRONMENT:
                drops = game.state.legal_moves
                [drop] = chance.choices(drops, [drop.probability for drop in drops])
                game.moves(drop.move)
            if game.state.outcome != position_pb2.OUTCOME_ONGOING:
                return
            began = time.perf_counter()
            report = game.best(seconds=MOVE_SECONDS)
            if report.stop_reason == search_pb2.STOP_REASON_TIME:
                yield (time.perf_counter() - began - MOVE_SECONDS) * 1000
            game.moves(report.move)
            if ponders and game.state.outcome == position_pb2.OUTCOME_ONGOING:
                game.go(ponder=True)  # until the next command
                time.sleep(MOVE_SECONDS)


def solve_figures(game: str, target: str) -> Iterator[dict[str, Any]]:
    """`plyd solve` as its users run it: one line at a time, and a million from file to file."""
    command = [*PROGRAM, "solve", "--connect", target]
    times = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(1200):
            began = time.perf_counter()
            process.stdin.write(b"b 2 2 0 0 0 0\n")
            process.stdin.flush()
            process.stdout.readline()
            times.append((time.perf_counter() - began) * 1000)
        process.stdin.close()
    yield figure(game, "plyd solve, one line in, one out, p50", percentile(times[200:], 50), "ms", at_most=1.5)
    yield figure(game, "plyd solve, one line in, one out, p99", percentile(times[200:], 99), "ms")

    count = 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        many, one, out = (Path(folder) / name for name in ("many", "one", "out"))
        writer = [sys.executable, "-P", "-m", "plyd.engines.bench", game, "--count", str(count), "--queries", str(many)]
        subprocess.run(writer, check=True)
        one.write_bytes(many.read_bytes().partition(b"\n")[0] + b"\n")

        def solve_seconds(queries: Path) -> float:
            with queries.open("rb") as source, out.open("wb") as sink:
                began = time.perf_counter()
                subprocess.run(command, stdin=source, stdout=sink, check=True)
                return time.perf_counter() - began

        start_up = statistics.median(solve_seconds(one) for _ in range(5))
        seconds = statistics.median(solve_seconds(many) for _ in range(5)) - start_up
    yield figure(game, "plyd solve, 1M queries file to file", count / seconds / 1e6, "M/s", at_least=2)
    yield figure(game, "plyd solve, start-up with --connect", start_up, "s")


@contextlib.contextmanager
def running(game: str, cache: str | None = None) -> Iterator[str]:
    """The address of a daemon on a free port."""
    command = [*PROGRAM, "serve", game, "--listen", "127.0.0.1:0", "--log-level", "error"]
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().split()[-1]
        finally:
            process.terminate()


def known_games() -> tuple[str, ...]:
    """Every registered game, read by a separate process since clients do not import engines."""
    code = "from plyd.engines.registry import games; print(*games())"
    return tuple(
        subprocess.run([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    )


def figure(
    game: str, name: str, value: float, unit: str, at_most: float | None = None, at_least: float | None = None
) -> dict[str, Any]:
    """One figure, in the form of the engines' own benchmark."""
    return {"game": game, "name": name, "value": value, "unit": unit, "at_most": at_most, "at_least": at_least}


def percentile(values: list[float], percent: int) -> float:
    """The value that this percentage of values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def table(figures: list[dict[str, Any]]) -> Any:
    """The figures as a table for people."""
    from rich import box
    from rich.table import Column, Table

    shown = Table("game", "figure", Column("value", justify="right"), "unit", "reach", "reached", box=box.SIMPLE)
    for f in figures:
        goal, verdict = "", ""
        if f["at_most"] is not None:
            goal, verdict = f"{f['at_most']:g} or less", "yes" if f["value"] <= f["at_most"] else "no"
        if f["at_least"] is not None:
            goal, verdict = f"{f['at_least']:g} or more", "yes" if f["value"] >= f["at_least"] else "no"
        shown.add_row(f["game"], f["name"], f"{f['value']:.4g}", f["unit"], goal, verdict)
    return shown
