"""`plyd stress rate`: trivial calls per second of a daemon, compared with a server that only echoes."""

import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from plyd.clients.stress.verdict import Figure

GAME = "2584-2x3"
START = "b 2 2 0 0 0 0"
ECHO = [sys.executable, "-P", "-m", "plyd.clients.stress.echo"]
CALLERS = [sys.executable, "-P", "-m", "plyd.clients.stress.callers"]
WARM_SECONDS = 1.0
TRIVIAL = "Describe"  # its answer is constant
PROMISED = (TRIVIAL, "Search")  # a search whose answer is known needs no decoding
MIN_RATIO = 0.9  # required for these
RESAMPLES = 2000


@click.command(short_help="Calls per second, compared with a server that only echoes.")
@click.option(
    "--call", type=click.Choice(["Describe", "Search", "Inspect"]), default=TRIVIAL, show_default=True, help="Method."
)
@click.option("--callers", type=click.IntRange(1, 256), default=16, show_default=True, help="Concurrent connections.")
@click.option("--processes", type=click.IntRange(1, 64), default=4, show_default=True, help="Processes of callers.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=60, show_default=True, help="Pairs of measurements.")
@click.option(
    "--seconds", type=click.FloatRange(0.1, 60), default=0.5, show_default=True, help="Duration of a measurement."
)
@click.option("--log-level", default="info", show_default=True, help="Log level of the daemon.")
@click.option("--connect", default="", metavar="ADDRESS", help="Daemon to measure.  [default: start one]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def rate(call: str, as_json: bool, **options: Any) -> None:
    """Measure the calls per second of a daemon for 2584 on 2x3, and those of a bare grpcio server (grpc.aio on uvloop,
    with the daemon's own options) that echoes a message as long as the daemon's answer.

    The two are measured in many short turns, because the speed of a machine varies. The result is the ratio of all
    answers, with its 95% confidence interval.

    \b
    plyd stress rate
    plyd stress rate --call Search --rounds 100
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import ProgressLine
    from plyd.clients.stress.verdict import print_verdict

    with Console(stderr=True).status("starting") as status:
        try:
            figures, notes = measure(call, ProgressLine(status), **options)
        except PlydError as error:
            raise click.ClickException(str(error)) from None
    print_verdict(figures, as_json=as_json, notes=notes)


def measure(
    call: str,
    progress: Any,
    *,
    callers: int,
    processes: int,
    rounds: int,
    seconds: float,
    log_level: str,
    connect: str,
) -> tuple[list[Figure], list[str]]:
    """The figures, and a line for each round."""
    from plyd.clients.commands.bench import figure
    from plyd.clients.stress.daemons import child_process, first_line, serving

    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(tempfile.TemporaryFile())
        daemon = stack.enter_context(serving(GAME, connect=connect, options=("--log-level", log_level)))
        echo = stack.enter_context(child_process(ECHO, errors))
        method, message, size = question(daemon.target, call)
        orders = {
            "plyd": {"target": daemon.target, "method": method, "message": message.hex()},
            "echo": {"target": first_line(echo, errors).split()[-1], "method": "/echo/Echo", "message": "00" * size},
        }
        workers = stack.enter_context(caller_processes(shares(callers, processes)))
        rates: dict[str, list[float]] = {"plyd": [], "echo": []}
        for name, order in orders.items():
            progress.say(f"warming up {name}")
            answers_per_second(workers, order, WARM_SECONDS)
        for number in range(rounds):
            for name in sorted(orders, reverse=number % 2 == 1):  # neither is always the first
                progress.say(f"round {number + 1} of {rounds}: {name}")
                rates[name].append(answers_per_second(workers, orders[name], seconds))
    pairs = list(zip(rates["plyd"], rates["echo"], strict=True))
    low, high = bounds(pairs)
    promised = MIN_RATIO if call in PROMISED else None
    notes = [f"round {i + 1}: plyd {plyd:.0f}/s, echo {bare:.0f}/s" for i, (plyd, bare) in enumerate(pairs)]
    return [
        figure(GAME, f"{call}, {callers} callers", statistics.fmean(rates["plyd"]), "calls/s"),
        figure("echo", f"echo of {size} bytes, {callers} callers", statistics.fmean(rates["echo"]), "calls/s"),
        figure(GAME, f"{call}, share of the echo's rate", ratio(pairs), "", at_least=promised),
        figure(GAME, f"{call}, that share, at least", low, ""),
        figure(GAME, f"{call}, that share, at most", high, ""),
    ], notes


def ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """Ratio of the first server's answers to those of the second."""
    return sum(first for first, _ in pairs) / sum(second for _, second in pairs)


def bounds(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """95% confidence interval of the ratio, by bootstrap over the rounds."""
    chance = random.Random(1)
    ratios = sorted(ratio(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return ratios[RESAMPLES // 40], ratios[-RESAMPLES // 40]


def question(target: str, call: str) -> tuple[str, bytes, int]:
    """Method and message of a call, and the size of its answer in bytes."""
    import grpc

    from plyd.v1 import engine_pb2, position_pb2, rules_pb2

    position = position_pb2.Position(game=GAME, start=START)
    method, message = {
        "Search": ("/plyd.v1.EngineService/Search", engine_pb2.SearchRequest(position=position)),
        "Inspect": ("/plyd.v1.RulesService/Inspect", rules_pb2.InspectRequest(position=position)),
        "Describe": ("/plyd.v1.EngineService/Describe", engine_pb2.DescribeRequest()),
    }[call]
    data: bytes = message.SerializeToString()
    with grpc.insecure_channel(target) as channel:
        ask: Any = channel.unary_unary(method)
        return method, data, len(ask(data, timeout=30))


def shares(callers: int, processes: int) -> list[int]:
    """Number of callers of each process."""
    few, more = divmod(callers, processes)
    return [count for count in ([few + 1] * more + [few] * (processes - more)) if count]


@contextlib.contextmanager
def caller_processes(counts: Sequence[int]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes with these numbers of callers, which wait for orders."""
    workers = [
        subprocess.Popen([*CALLERS, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for count in counts
    ]
    try:
        yield workers
    finally:
        for process in workers:
            process.kill()
            process.communicate()


def answers_per_second(workers: Sequence[subprocess.Popen[str]], order: dict[str, Any], seconds: float) -> float:
    """Answers per second of all callers together."""
    from plyd.clients.library.errors import Unavailable

    began = time.monotonic()
    for process in workers:
        assert process.stdin is not None
        print(json.dumps({**order, "seconds": seconds}), file=process.stdin, flush=True)
    answers = 0
    for process in workers:
        assert process.stdout is not None
        result = json.loads(process.stdout.readline() or '{"error": "a process of callers died"}')
        if "error" in result:
            raise Unavailable(f"{order['target']} fails under load: {result['error']}")
        answers += result["answers"]
    return answers / (time.monotonic() - began)
