"""`plyd solve --listen`: 2x3 queries and answers as lines over TCP.

Each connection is one task: it reads the available bytes, asks the daemon about their complete lines, writes the
answers, and reads again once they are sent. So a connection uses a bounded buffer and never waits for another one.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Sequence

from plyd.clients.commands.solve import FIRST_SECONDS, GAME, MALFORMED, LineBuffer
from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.bridges.line_server import enable_keepalive, serve_until_signal
from plyd.clients.library.channel import Endpoint
from plyd.clients.library.connect.locate import DaemonSource, ExistingDaemon, RestartingDaemon
from plyd.clients.library.errors import Cancelled, Overloaded, PlydError, Unavailable
from plyd.v1 import engine_pb2

MOST_CONNECTIONS = 256
READ_BYTES = 1 << 14  # read buffer of a connection; asyncio holds twice as much before the sender has to wait
WRITE_SECONDS = 60.0  # for a peer to read its answers, before we close the connection
AWAY_SECONDS = 600.0  # for a daemon to come back, before we close the connections that wait for it
TRY_SECONDS = 0.3  # for one attempt to reach it
PAUSE_SECONDS = 0.1  # before the next attempt to reach a lost daemon
GRACE_SECONDS = 5.0  # for pending queries to be answered after SIGTERM
MAX_LOG_LINES = 10  # per second, on stderr


async def serve(endpoint: Endpoint, connect: str | None, *, moves: bool, greeting: bytes) -> None:
    """Answer connections until SIGTERM or SIGINT. Prints its address on stdout once it is ready."""
    log = RateLimitedLog()
    client = SolveClient(ExistingDaemon(connect) if connect is not None else RestartingDaemon(GAME), log, moves=moves)
    solver = SolveServer(client, log, greeting)
    try:
        await serve_until_signal(endpoint, solver.serve, READ_BYTES, client.ready)
        await solver.close()
    finally:
        await client.close()
        log.close()


class RateLimitedLog:
    """A log on stderr with a maximum rate; of further lines it reports only the number."""

    def __init__(self) -> None:
        self._began, self._written, self._skipped = 0.0, 0, 0

    def write(self, line: str) -> None:
        """Write a line, if the rate allows it."""
        if time.monotonic() - self._began >= 1:
            self.close()
            self._began, self._written = time.monotonic(), 0
        if self._written < MAX_LOG_LINES:
            self._written += 1
            self._print(line)
        else:
            self.skip(1)

    def skip(self, lines: int) -> None:
        """Count lines that are not written."""
        if lines and not self._skipped:
            asyncio.get_running_loop().call_later(1, self.close)
        self._skipped += lines

    def close(self) -> None:
        """Report the number of lines that were not written."""
        if self._skipped:
            self._print(f"... and {self._skipped} more like these")
        self._skipped = 0

    def _print(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # stderr is closed
            print(line, file=sys.stderr, flush=True)


class SolveClient:
    """Evaluates lines with the daemon, and tries again while it is unreachable."""

    def __init__(self, source: DaemonSource, log: RateLimitedLog, *, moves: bool) -> None:
        self._source = source
        self._log = log
        self._moves = moves
        self._client: AsyncEngineClient | None = None
        self._is_unreachable = False

    async def ready(self) -> None:
        """Return once the daemon answers and serves the game; raise its error otherwise."""
        target = await self._source.target()
        async with AsyncEngineClient(target, GAME, retry_seconds=FIRST_SECONDS) as client:
            await client.describe()

    async def ask(self, lines: bytes) -> engine_pb2.EvaluateResponse:
        """The answers to lines, once the daemon can be reached."""
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
                self._is_unreachable = False
                return response

    async def close(self) -> None:
        """Close the connection, and stop the daemon if it is private."""
        if self._client:
            await self._client.close()
        self._source.close()

    async def _reach(self) -> AsyncEngineClient:
        """A client of the daemon at its current address."""
        target = await self._source.target()
        if not self._client:
            self._client = AsyncEngineClient(target, GAME, retry_seconds=TRY_SECONDS)
        return self._client

    async def _lost(self, client: AsyncEngineClient | None, error: PlydError) -> None:
        """Drop a client, unless another task that used it did so already."""
        if client is self._client:
            self._client = None
            self._source.lost()
            if not self._is_unreachable:
                self._log.write(f"queries wait for the daemon: {error}")
            self._is_unreachable = True
            if client:
                await client.close()


class SolveServer:
    """The open connections."""

    def __init__(self, client: SolveClient, log: RateLimitedLog, greeting: bytes) -> None:
        self._client = client
        self._log = log
        self._greeting = greeting
        self._open: set[asyncio.Task[None]] = set()
        self._idle: set[asyncio.Task[None]] = set()  # tasks that wait for a query
        self._is_stopping = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until its end."""
        task = asyncio.current_task()
        assert task
        name = name_of(writer)
        if len(self._open) >= MOST_CONNECTIONS:
            self._log.write(f"{name}: refused: {MOST_CONNECTIONS} connections are open")
            writer.transport.abort()
            return
        self._open.add(task)
        enable_keepalive(writer)
        try:
            await self._converse(reader, writer, task, name)
            await hang_up(writer)
        except TimeoutError:
            self._log.write(f"{name}: closed: the peer does not read its answers")
        except PlydError as error:
            self._log.write(f"{name}: closed: {error}")
        except OSError:  # the peer has gone
            pass
        except asyncio.CancelledError:  # we are stopping; what was written may still arrive
            writer.close()
            return
        finally:
            self._open.discard(task)
        writer.transport.abort()

    async def close(self) -> None:
        """Answer pending queries, then end every connection."""
        self._is_stopping = True
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
        lines, number = LineBuffer(), 1
        writer.write(self._greeting)
        while not self._is_stopping:
            self._idle.add(task)
            try:
                data = await reader.read(2 * READ_BYTES)
            finally:
                self._idle.discard(task)
            if batch := lines.add(data) if data else lines.rest:
                response = await self._client.ask(batch)
                self._report_errors(name, number, response.errors)
                writer.write(response.text)
                async with asyncio.timeout(WRITE_SECONDS):
                    await writer.drain()
                number += batch.count(b"\n")
            if not data:
                return

    def _report_errors(self, name: str, number: int, errors: Sequence[engine_pb2.LineError]) -> None:
        for error in errors[:MAX_LOG_LINES]:
            self._log.write(f"{name}: line {number + error.line}: {error.message or MALFORMED}")
        self._log.skip(len(errors[MAX_LOG_LINES:]))


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection once everything has been sent; TimeoutError if the peer does not read it."""
    writer.close()
    async with asyncio.timeout(WRITE_SECONDS):
        await writer.wait_closed()


def name_of(writer: asyncio.StreamWriter) -> str:
    """The address of the peer."""
    peer = writer.get_extra_info("peername")
    return str(Endpoint(*peer[:2])) if peer else "unknown peer"
