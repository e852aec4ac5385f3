"""`plyd solve --listen`: 2x3 queries and answers as lines over TCP, for programs that open a socket.

Every connection is one task: it reads what has come, asks the daemon about the whole lines in it, writes the answers,
and reads again once they have room. So each holds a few buffers at most, and waits for nobody but itself.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

from plyd.clients.commands.solve import FIRST_SECONDS, GAME, MALFORMED, Lines
from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.endpoint import BadEndpoint, Endpoint
from plyd.clients.library.errors import Cancelled, Overloaded, PlydError, Unavailable
from plyd.clients.library.locate import Elsewhere, Home, Place
from plyd.v1 import engine_pb2

MOST_CONNECTIONS = 256
READ_BYTES = 1 << 14  # of a connection at once; twice as many are held before its sender has to wait
WRITE_SECONDS = 60.0  # for a reader to take what was written, before we hang up
AWAY_SECONDS = 600.0  # for a daemon to come back, before we hang up on whoever waits for it
TRY_SECONDS = 0.3  # for one try to reach it
PAUSE_SECONDS = 0.1  # before a daemon that was lost is asked again
GRACE_SECONDS = 5.0  # for queries to be answered once we are told to go
PROBE_SECONDS = 60  # of silence, before a peer is asked whether it is still there
MOST_TOLD = 10  # lines a second on stderr


async def serve(endpoint: Endpoint, connect: str | None, *, moves: bool, greeting: bytes) -> None:
    """Answer whoever connects, until SIGTERM or SIGINT. Says where it listens on stdout, once it does."""
    told_to_go, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_go.set)
    log = Log()
    asker = Asker(Elsewhere(connect) if connect is not None else Home(GAME), log, moves=moves)
    switchboard = Switchboard(asker, log, greeting)
    try:
        server, bound = await bind(endpoint, switchboard.serve)  # first, since this is quickly known
        going, ready = asyncio.ensure_future(told_to_go.wait()), asyncio.ensure_future(asker.ready())
        await asyncio.wait({going, ready}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            await server.start_serving()
            print(f"listening on {bound}", flush=True)
            await going
        ready.cancel()
        server.close()
        await switchboard.close()
    finally:
        await asker.close()
        log.close()


async def bind(
    endpoint: Endpoint, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
) -> tuple[asyncio.Server, Endpoint]:
    """A server that does not listen yet, and its endpoint with its real port."""
    try:
        places = await asyncio.get_running_loop().getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        host = str(places[0][4][0])  # a name may have several; the port is to be one
        server = await asyncio.start_server(serve, host, endpoint.port, limit=READ_BYTES, start_serving=False)
    except OSError as error:
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise BadEndpoint(f"cannot listen on {endpoint}: {why}") from None
    except UnicodeError:
        raise BadEndpoint(f'cannot listen on {endpoint}: "{endpoint.host}" is no name of a host') from None
    return server, Endpoint(endpoint.host, server.sockets[0].getsockname()[1])


class Log:
    """Lines on stderr, at most so many a second; of the rest only the number is told."""

    def __init__(self) -> None:
        self._began, self._told, self._untold = 0.0, 0, 0

    def tell(self, line: str) -> None:
        """Write a line, if there were not too many."""
        if time.monotonic() - self._began >= 1:
            self.close()
            self._began, self._told = time.monotonic(), 0
        if self._told < MOST_TOLD:
            self._told += 1
            self._write(line)
        else:
            self.skip(1)

    def skip(self, lines: int) -> None:
        """Count lines that nobody writes."""
        if lines and not self._untold:
            asyncio.get_running_loop().call_later(1, self.close)
        self._untold += lines

    def close(self) -> None:
        """Tell how many lines were not."""
        if self._untold:
            self._write(f"... and {self._untold} more like these")
        self._untold = 0

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads stderr, and work goes on
            print(line, file=sys.stderr, flush=True)


class Asker:
    """Asks the daemon, and asks again while it is away."""

    def __init__(self, place: Place, log: Log, *, moves: bool) -> None:
        self._place = place
        self._log = log
        self._moves = moves
        self._client: AsyncEngineClient | None = None
        self._is_away = False

    async def ready(self) -> None:
        """Return once the daemon is there and has the game; raise what it says if not."""
        target = await self._place.target()
        async with AsyncEngineClient(target, GAME, retry_seconds=FIRST_SECONDS) as client:
            await client.describe()

    async def ask(self, lines: bytes) -> engine_pb2.EvaluateResponse:
        """The answers to lines, once the daemon can give them."""
        end = time.monotonic() + AWAY_SECONDS
        while True:
            client = None
            try:
                client = await self._reach()
                answers = client.evaluate_batches([lines], as_text=True, with_moves=self._moves)
                [response] = [response async for _, response in answers]
            except (Unavailable, Overloaded, Cancelled) as error:
                if time.monotonic() > end:
                    raise
                if not isinstance(error, Overloaded):
                    await self._lost(client, error)
                await asyncio.sleep(max(PAUSE_SECONDS, error.retry_seconds))
            else:
                self._is_away = False
                return response

    async def close(self) -> None:
        """Hang up, and let the daemon go if it is ours."""
        if self._client:
            await self._client.close()
        self._place.close()

    async def _reach(self) -> AsyncEngineClient:
        """A client of the daemon where it is now."""
        target = await self._place.target()
        if not self._client:
            self._client = AsyncEngineClient(target, GAME, retry_seconds=TRY_SECONDS)
        return self._client

    async def _lost(self, client: AsyncEngineClient | None, error: PlydError) -> None:
        """Give a client up, unless somebody else who used it did so before."""
        if client is self._client:
            self._client = None
            self._place.lost()
            if not self._is_away:
                self._log.tell(f"queries wait for the daemon: {error}")
            self._is_away = True
            if client:
                await client.close()


class Switchboard:
    """The connections that are open."""

    def __init__(self, asker: Asker, log: Log, greeting: bytes) -> None:
        self._asker = asker
        self._log = log
        self._greeting = greeting
        self._open: set[asyncio.Task[None]] = set()
        self._idle: set[asyncio.Task[None]] = set()  # those that wait for a query
        self._is_going = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until its end."""
        task = asyncio.current_task()
        assert task
        name = name_of(writer)
        if len(self._open) >= MOST_CONNECTIONS:
            self._log.tell(f"{name}: refused, since {MOST_CONNECTIONS} connections are open")
            writer.transport.abort()
            return
        self._open.add(task)
        notice_if_gone(writer)
        try:
            await self._converse(reader, writer, task, name)
            await hang_up(writer)
        except TimeoutError:
            self._log.tell(f"{name}: reads nothing, hung up")
        except PlydError as error:
            self._log.tell(f"{name}: hung up: {error}")
        except OSError:  # the other side is gone
            pass
        except asyncio.CancelledError:  # we are going; what was written may still arrive
            writer.close()
            return
        finally:
            self._open.discard(task)
        writer.transport.abort()

    async def close(self) -> None:
        """Answer what has been asked, then end every connection."""
        self._is_going = True
        for task in self._idle:
            task.cancel()
        if self._open:
            _, late = await asyncio.wait(self._open, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None], name: str
    ) -> None:
        lines, number = Lines(), 1
        writer.write(self._greeting)
        while not self._is_going:
            self._idle.add(task)
            try:
                data = await reader.read(2 * READ_BYTES)
            finally:
                self._idle.discard(task)
            if batch := lines.add(data) if data else lines.rest:
                response = await self._asker.ask(batch)
                self._tell(name, number, response.errors)
                writer.write(response.text)
                async with asyncio.timeout(WRITE_SECONDS):
                    await writer.drain()
                number += batch.count(b"\n")
            if not data:
                return

    def _tell(self, name: str, number: int, errors: Sequence[engine_pb2.LineError]) -> None:
        for error in errors[:MOST_TOLD]:
            self._log.tell(f"{name}: line {number + error.line}: {error.message or MALFORMED}")
        self._log.skip(len(errors[MOST_TOLD:]))


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection once everything has been sent; TimeoutError if nobody takes it."""
    writer.close()
    async with asyncio.timeout(WRITE_SECONDS):
        await writer.wait_closed()


def name_of(writer: asyncio.StreamWriter) -> str:
    """Who is at the other end."""
    peer = writer.get_extra_info("peername")
    return str(Endpoint(*peer[:2])) if peer else "somebody"


def notice_if_gone(writer: asyncio.StreamWriter) -> None:
    """Have the system look now and then whether a silent peer is still there."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_SECONDS)
