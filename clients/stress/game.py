"""`plyd stress game`: a whole game of a tile game move by move, compared with as many round trips to an echo server."""

import contextlib
import queue
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import click

from plyd.clients.stress.rate import ECHO
from plyd.clients.stress.verdict import Figure

PLAY = "Play"
MIN_SHARES = {PLAY: 0.8}  # of the echo's rate
BLOCK = 25  # slides in a turn, after which the echo server has its turn
WARM_BLOCKS = 10  # that are not counted
EDGE_BLOCKS = 40  # that are compared at either end of a game: 1,000 slides
MIN_STEADY = 0.9
OPTIONS = [("grpc.use_local_subchannel_pool", 1)]


class Turn(NamedTuple):
    """Seconds that a block of slides took, and those of the echo server's round trips beside it."""

    slides: int
    seconds: float
    echo_seconds: float


@click.command(short_help="A whole game move by move, compared with a server that only echoes.")
@click.option(
    "--game",
    type=click.Choice(["2048", "2584", "2584-2x3"]),
    default="2048",
    show_default=True,
    help="Game to play.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Random seed of the new tiles.")
@click.option(
    "--slides",
    type=click.IntRange(1),
    default=1_000_000,
    metavar="N",
    help="End a game after so many.  [default: none]",
)
@click.option("--connect", default="", metavar="ADDRESS", help="Daemon to measure.  [default: start one]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def game(as_json: bool, **options: Any) -> None:
    """Play whole games with searches of depth 1, with the blocking client on one connection: through Play with a round
    trip for the move and one for the search, with one for both, and by separate calls of Apply and Search. Between
    blocks of 25 slides, a bare grpcio server (grpc.aio on uvloop, with
    the daemon's own options) echoes messages as long as the daemon's, with as many round trips.

    The results are the shares of the echo's rate, and whether the last 1,000 slides are as fast as the first.

    \b
    plyd stress game
    plyd stress game --game 2584 --slides 5000
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import ProgressLine
    from plyd.clients.stress.verdict import print_verdict

    with Console(stderr=True).status("starting") as status:
        try:
            figures = measure(ProgressLine(status), **options)
        except PlydError as error:
            raise click.ClickException(str(error)) from None
    print_verdict(figures, as_json=as_json)


def measure(progress: Any, *, game: str, seed: int, slides: int, connect: str) -> list[Figure]:
    """The figures."""
    import grpc

    from plyd.clients.library.client import EngineClient
    from plyd.clients.stress.daemons import child_process, first_line, serving

    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(tempfile.TemporaryFile())
        daemon = stack.enter_context(serving(game, connect=connect, options=("--log-level", "error")))
        echo = first_line(stack.enter_context(child_process(ECHO, errors)), errors).split()[-1]
        channel = stack.enter_context(grpc.insecure_channel(echo, OPTIONS))
        client = stack.enter_context(EngineClient(daemon.target, game, history=False))
        client.wait_until_ready()
        figures = []
        for name, begin, begin_echo in (
            (PLAY, by_play, echo_by_stream),
            ("Play, go with the move", by_play_in_one, echo_by_stream),
            ("Apply and Search", by_calls, echo_by_calls),
        ):
            said = f"{game} by {name}"
            played = Played(client, seed, slides)
            turns = []
            for turn in take_turns(begin(played), begin_echo(channel, played)):
                turns.append(turn)
                progress.say(f"{said}: {played.slides} slides")
            figures += figures_of(game, name, played, turns)
    return figures


class Played:
    """What is known of a game in progress: the slides made, the plies, and the sizes of the last slide's messages."""

    def __init__(self, client: Any, seed: int, most_slides: int) -> None:
        self.client = client
        self.seed = seed
        self.most_slides = most_slides
        self.slides = 0
        self.plies = 0
        self.sizes: list[int] = []  # of each round trip's answer

    def made(self, state: Any, sizes: list[int]) -> None:
        """Count a slide."""
        self.slides, self.plies, self.sizes = self.slides + 1, state.plies, sizes


def by_play(played: Played) -> Iterator[None]:
    """Play a game on one stream, a step for each slide: a search, then the move and chance's reply."""
    with played.client.play(played.client.new_game(seed=played.seed).position) as game:
        while game.state.legal_moves and played.slides < played.most_slides:
            report = game.best(depth=1)
            state = game.moves(report.move, with_chance=True, seed=played.slides)
            played.made(state, [report.ByteSize(), state.ByteSize()])
            yield


def by_play_in_one(played: Played) -> Iterator[None]:
    """Play a game on one stream, a step for each slide: move, chance's reply and search in one round trip."""
    with played.client.play(played.client.new_game(seed=played.seed).position) as game:
        report = game.best(depth=1)
        while report.move and played.slides < played.most_slides:
            report = game.best(report.move, with_chance=True, seed=played.slides, depth=1)
            played.made(game.state, [game.state.ByteSize() + report.ByteSize()])
            yield


def by_calls(played: Played) -> Iterator[None]:
    """Play a game by separate calls, a step for each slide: the loop of the README."""
    client = played.client
    state = client.new_game(seed=played.seed)
    while state.legal_moves and played.slides < played.most_slides:
        report = client.search(state.position, depth=1)
        state = client.apply(state.position, report.move, with_chance=True, seed=played.slides)
        played.made(state, [report.ByteSize(), state.ByteSize()])
        yield


def echo_by_stream(channel: Any, played: Played) -> Callable[[], None]:
    """What has a slide's messages echoed on a stream."""
    messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    replies = channel.stream_stream("/echo/EchoStream")(iter(messages.get, None))

    def ask() -> None:
        for size in played.sizes:
            messages.put(bytes(size))
            next(replies)

    return ask


def echo_by_calls(channel: Any, played: Played) -> Callable[[], None]:
    """What has a slide's messages echoed by calls."""
    call = channel.unary_unary("/echo/Echo")

    def ask() -> None:
        for size in played.sizes:
            call(bytes(size))

    return ask


def take_turns(steps: Iterator[None], echo: Callable[[], None]) -> Iterator[Turn]:
    """Blocks of a game's steps, and as many of the echo server, until the game is over."""
    while True:
        began = time.perf_counter()
        slides = sum(1 for _ in zip(range(BLOCK), steps, strict=False))
        seconds = time.perf_counter() - began
        if not slides:
            return
        began = time.perf_counter()
        for _ in range(slides):
            echo()
        yield Turn(slides, seconds, time.perf_counter() - began)


def figures_of(game: str, name: str, played: Played, turns: list[Turn]) -> list[Figure]:
    """The figures of one game."""
    from plyd.clients.commands.bench import figure

    turns = turns[WARM_BLOCKS:] or turns
    rate = sum(turn.slides for turn in turns) / sum(turn.seconds for turn in turns)
    figures = [
        figure(game, f"{name}: plies of the game", played.plies, ""),
        figure(game, f"{name}: slides", rate, "slides/s"),
        figure(game, f"{name}: share of the echo's rate", share(turns), "", at_least=MIN_SHARES.get(name)),
    ]
    if len(turns) >= 2 * EDGE_BLOCKS:
        steady = share(turns[-EDGE_BLOCKS:]) / share(turns[:EDGE_BLOCKS])
        figures.append(figure(game, f"{name}: that of the last 1,000 / first 1,000", steady, "", at_least=MIN_STEADY))
    return figures


def share(turns: Sequence[Turn]) -> float:
    """The share of the echo's rate: by medians, since other processes interrupt some blocks for long."""
    echo = statistics.median(turn.echo_seconds / turn.slides for turn in turns)
    return echo / statistics.median(turn.seconds / turn.slides for turn in turns)
