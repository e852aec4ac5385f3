"""`plyd solve`: 2x3 queries on stdin, answers on stdout; or both over TCP."""

import contextlib
import os
import sys
from collections.abc import Iterator

import click

GAME = "2584-2x3"
FIRST_SECONDS = 1.0  # for a daemon to be there at all
AGAIN_SECONDS = 30.0  # for one that was there to come back
READ_BYTES = 1 << 18
MALFORMED = "malformed; expected b or a and 6 numbers from 0 to 33"  # of which the daemon says no more
INITIALIZED = b"solver is initialized.\n\n"  # the second half of the original program's opening lines
LONGEST_LINE = 1 << 12  # bytes; what is longer is malformed, and is cut so that it cannot fill the memory


@click.command(short_help="Answer 2x3 queries from stdin, or over TCP.")
@click.option("--connect", metavar="ADDRESS", help="Use the daemon at HOST:PORT or unix:PATH, not one of our own.")
@click.option("--moves", is_flag=True, help="Add the best move to each before-state's value.")
@click.option("--strict", is_flag=True, help="Stop at the first malformed line.")
@click.option("--banner", is_flag=True, help="Begin with the four lines of the original program, for its judges.")
@click.option("--listen", metavar="HOST:PORT", help="Answer over TCP, not on stdin and stdout; port 0: any free one.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine although nothing is encrypted.")
def solve(connect: str | None, listen: str | None, insecure: bool, strict: bool, **wanted: bool) -> None:
    """Answer queries about 2584 on a 2x3 board, one a line, until end of file.

    A query is b (before: the player is to move) or a (after: a tile is to drop) and the index of each of the six
    cells, row by row: 0 empty, 1 2 3 4 5 ... for the tiles 1 2 3 5 8 ..., up to 33. The answer is "= v": the points
    still to be expected under best play, or "= -1" if the position cannot occur.

    A malformed line is told on stderr and answered "= -1", so that answers stay aligned; the exit status is then 1.
    Without --connect a private daemon is started, and stopped at the end.

    \b
    $ echo "b 2 2 0 0 0 0" | plyd solve --moves
    = 1422.339261 right

    With --listen, programs that open a socket send the same lines and read the same answers, up to 256 of them at
    once. A line "listening on HOST:PORT" on stdout says that they may come. Queries wait while the daemon is away.
    Ctrl-C or SIGTERM ends it in good order.

    \b
    $ plyd solve --listen 127.0.0.1:2584 &
    $ echo "b 2 2 0 0 0 0" | nc -N 127.0.0.1 2584
    = 1422.339261
    """
    from plyd.clients.library.endpoint import BadEndpoint
    from plyd.clients.library.errors import PlydError

    if connect == "":
        raise click.BadParameter("an address is HOST:PORT or unix:PATH", param_hint="--connect")
    if strict and listen is not None:
        raise click.UsageError("--strict and --listen exclude each other")
    if insecure and listen is None:
        raise click.UsageError("--insecure goes with --listen")
    try:
        for file in (0, 1):
            os.fstat(file)  # closed, it would be given to the next file we open
        if listen is None:
            status = use_pipes(connect, strict=strict, **wanted)
        else:
            status = use_sockets(listen, connect, insecure=insecure, **wanted)
    except (PlydError, BadEndpoint) as error:
        raise click.ClickException(str(error)) from None
    except BrokenPipeError:  # whoever read our answers has enough
        status = 0
    except OSError as error:  # stdin cannot be read, or stdout not written
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        status = 130
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)  # a thread may still wait for input that nobody wants


def use_pipes(connect: str | None, *, moves: bool, strict: bool, banner: bool) -> int:
    """Answer stdin on stdout; the exit status."""
    from plyd.clients.library.embedded import PrivateDaemon

    if banner:
        write(heading())
    with contextlib.ExitStack() as stack:
        target = connect if connect is not None else stack.enter_context(PrivateDaemon(GAME)).target
        return answer(target, moves=moves, strict=strict, banner=banner)


def use_sockets(listen: str, connect: str | None, *, insecure: bool, moves: bool, banner: bool) -> int:
    """Answer whoever connects; the exit status."""
    import asyncio

    from plyd.clients.commands.solve_tcp import serve
    from plyd.clients.library.endpoint import parse_endpoint

    endpoint = parse_endpoint(listen, insecure=insecure)
    asyncio.run(serve(endpoint, connect, moves=moves, greeting=heading() + INITIALIZED if banner else b""))
    return 0


def answer(target: str, *, moves: bool, strict: bool, banner: bool) -> int:
    """Answer stdin on stdout; the exit status."""
    from plyd.clients.library.client import EngineClient

    line, status = 1, 0
    with EngineClient(target, GAME, retry_seconds=FIRST_SECONDS) as client:
        client.describe()  # is anybody there?
    if banner:
        write(INITIALIZED)
    with EngineClient(target, GAME, retry_seconds=AGAIN_SECONDS) as client:
        for batch, response in client.evaluate_batches(read_batches(0), as_text=True, with_moves=moves):
            text = response.text
            if response.errors:
                status = 1
                errors = response.errors[:1] if strict else response.errors
                if strict:
                    text = b"".join(text.splitlines(keepends=True)[: errors[0].answer])
                sys.stderr.writelines(f"line {line + error.line}: {error.message or MALFORMED}\n" for error in errors)
            write(text)
            if status and strict:
                break
            line += batch.count(b"\n")
    return status


class Lines:
    """Puts lines together from the pieces in which they come. A line without end cannot fill the memory."""

    def __init__(self) -> None:
        self.rest = b""  # begun, and not yet ended

    def add(self, data: bytes) -> bytes:
        """The lines that are whole now."""
        whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
        if len(self.rest) > LONGEST_LINE:
            self.rest = self.rest[:LONGEST_LINE] + b" ... "  # malformed from here on, whatever follows
        return whole + newline


def read_batches(file: int) -> Iterator[bytes]:
    """Whole lines as they come: one if somebody types, thousands if there are thousands."""
    lines = Lines()
    while data := os.read(file, READ_BYTES):
        if whole := lines.add(data):
            yield whole
    if lines.rest:
        yield lines.rest


def heading() -> bytes:
    """The first half of the original program's opening lines."""
    return f"2584-Solver: {' '.join(['plyd', *sys.argv[1:]])}\n\n".encode(errors="surrogateescape")


def write(data: bytes) -> None:
    """Write all of it to stdout at once."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
