"""`plyd solve`: 2x3 queries on stdin, answers on stdout; or both over TCP."""

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from plyd.clients.cli import CONNECT

GAME = "2584-2x3"
FIRST_SECONDS = 1.0  # to reach a daemon for the first time
AGAIN_SECONDS = 30.0  # to wait for a daemon that was lost
READ_BYTES = 1 << 18
MALFORMED = "malformed; expected b or a and 6 numbers from 0 to 33"  # errors of the daemon that have no message
INITIALIZED = b"solver is initialized.\n\n"  # the second half of the original program's opening lines
LONGEST_LINE = 1 << 12  # bytes; longer lines are malformed, and are cut to bound memory


@click.command(short_help="Answer 2x3 queries from stdin, or over TCP.")
@click.option(
    "--connect",
    metavar="ADDRESS",
    help=CONNECT,
)
@click.option("--moves", is_flag=True, help="Append the best move to the value of each b query.")
@click.option("--strict", is_flag=True, help="Stop at the first malformed line.")
@click.option(
    "--banner", is_flag=True, help="First print the four opening lines of the original program, for its judges."
)
@click.option("--listen", metavar="HOST:PORT", help="Answer over TCP instead of on stdout. Port 0: any free port.")
@click.option(
    "--insecure", is_flag=True, help="Let --listen take an address that other machines can reach, unencrypted."
)
def solve(connect: str | None, listen: str | None, insecure: bool, strict: bool, **output: bool) -> None:
    """Answer queries about 2584 on a 2x3 board, one per line, until end of file.

    A query is a letter and six numbers. The letter is b (before the player's move) or a (after it: a tile drops next).
    The numbers are the cells, row by row: 0 for empty, 1 2 3 4 5 ... for the tiles 1 2 3 5 8 ..., up to 33. The answer
    is "= v" with v the expected points still to come under best play, or "= -1" if the position cannot occur.

    A malformed line is reported on stderr and answered "= -1", so that answers stay aligned with queries; the exit
    status is then 1. Without --connect, a private daemon is started, and stopped at the end.

    \b
    $ echo "b 2 2 0 0 0 0" | plyd solve --moves
    = 1422.339261 right

    With --listen, programs connect by TCP, send the same lines and read the same answers; up to 256 connections at a
    time. The line "listening on HOST:PORT" on stdout means ready. Queries wait while the daemon is unreachable.
    Ctrl-C or SIGTERM answers pending queries, then exits.

    \b
    $ plyd solve --listen 127.0.0.1:2584 &
    $ echo "b 2 2 0 0 0 0" | nc -N 127.0.0.1 2584
    = 1422.339261
    """
    from plyd.clients.library.errors import PlydError

    if connect == "":
        raise click.BadParameter("an address is HOST:PORT, unix:PATH or tls:HOST:PORT", param_hint="--connect")
    if strict and listen is not None:
        raise click.UsageError("--strict and --listen exclude each other")
    if insecure and listen is None:
        raise click.UsageError("--insecure goes with --listen")
    try:
        for file in (0, 1):
            os.fstat(file)  # raises if closed; the next file that we open would take its place
        if listen is None:
            status = use_pipes(connect, strict=strict, **output)
        else:
            status = use_sockets(listen, connect, insecure=insecure, **output)
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except BrokenPipeError:  # the reader of our answers has closed the pipe
        status = 0
    except OSError as error:  # stdin cannot be read, or stdout cannot be written
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)  # a thread may still be reading stdin


def use_pipes(connect: str | None, *, moves: bool, strict: bool, banner: bool) -> int:
    """Answer stdin on stdout; the exit status."""
    from plyd.clients.library.connect.embedded import EmbeddedDaemon

    if banner:
        write(heading())
    with contextlib.ExitStack() as stack:
        target = connect if connect is not None else stack.enter_context(EmbeddedDaemon(GAME)).target
        return answer(target, moves=moves, strict=strict, banner=banner)


def use_sockets(listen: str, connect: str | None, *, insecure: bool, moves: bool, banner: bool) -> int:
    """Answer TCP connections; the exit status."""
    import asyncio

    from plyd.clients.commands.solve_tcp import serve
    from plyd.clients.library.channel import parse_endpoint

    endpoint = parse_endpoint(listen, insecure=insecure)
    asyncio.run(serve(endpoint, connect, moves=moves, greeting=heading() + INITIALIZED if banner else b""))
    return 0


def answer(target: str, *, moves: bool, strict: bool, banner: bool, source: int = 0, sink: int = 1) -> int:
    """Answer the queries of a file descriptor on another one; the exit status."""
    from plyd.clients.library.client import EngineClient

    line, status = 1, 0
    with EngineClient(target, GAME, retry_seconds=FIRST_SECONDS) as client:
        client.describe()  # fails early if no daemon answers
    if banner:
        write(INITIALIZED, sink)
    with EngineClient(target, GAME, retry_seconds=AGAIN_SECONDS) as client:
        for batch, response in client.evaluate_batches(read_batches(source), as_text=True, with_moves=moves):
            text = response.text
            if response.errors:
                status = 1
                errors = response.errors[:1] if strict else response.errors
                if strict:
                    text = b"".join(text.splitlines(keepends=True)[: errors[0].answer])
                sys.stderr.writelines(f"line {line + error.line}: {error.message or MALFORMED}\n" for error in errors)
            write(text, sink)
            if status and strict:
                break
            line += batch.count(b"\n")
    return status


class LineBuffer:
    """Assembles lines from chunks of bytes, with a bound on the length of a line."""

    def __init__(self) -> None:
        self.rest = b""  # the incomplete last line

    def add(self, data: bytes) -> bytes:
        """The lines that are complete now."""
        whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
        if len(self.rest) > LONGEST_LINE:
            self.rest = self.rest[:LONGEST_LINE] + b" ... "  # malformed, whatever follows
        return whole + newline


def read_batches(file: int) -> Iterator[bytes]:
    """Complete lines as they arrive: one when a person types, thousands from a file."""
    lines = LineBuffer()
    while data := os.read(file, READ_BYTES):
        if whole := lines.add(data):
            yield whole
    if lines.rest:
        yield lines.rest


def heading() -> bytes:
    """The first half of the original program's opening lines."""
    return f"2584-Solver: {' '.join(['plyd', *sys.argv[1:]])}\n\n".encode(errors="surrogateescape")


def write(data: bytes, sink: int = 1) -> None:
    """Write all of it to a file descriptor, unbuffered."""
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]
