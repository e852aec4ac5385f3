"""`plyd ugi --listen`: the same commands and answers over TCP, a game for each connection."""

import asyncio
from collections.abc import Callable, Mapping

from plyd.clients.library.bridges.bridge_engine import BridgeEngine
from plyd.clients.library.bridges.line_bridge import MAX_LINE_BYTES
from plyd.clients.library.bridges.line_server import enable_keepalive, serve_until_signal
from plyd.clients.library.channel import Endpoint
from plyd.clients.library.connect.locate import DaemonSource
from plyd.clients.ugi.bridge import UgiBridge

MOST_CONNECTIONS = 64
MOST_UNREAD_BYTES = 1 << 20  # of answers, before a peer that does not read them is dropped


class SharedDaemon:
    """The daemon of all connections: one that ends leaves it running."""

    def __init__(self, daemon: DaemonSource) -> None:
        self._daemon = daemon

    async def target(self) -> str:
        """Its address, once it is ready."""
        return await self._daemon.target()

    def lost(self) -> None:
        """The daemon no longer answers."""
        self._daemon.lost()

    def close(self) -> None:
        """Nothing: other connections may need it."""


async def serve(endpoint: Endpoint, daemon: Callable[[], DaemonSource], game: str, options: Mapping[str, str]) -> None:
    """Answer connections until SIGTERM or SIGINT. Prints its address on stdout once the daemon is ready."""
    source = daemon()
    server = UgiServer(source, game, options)
    try:
        await serve_until_signal(endpoint, server.serve, MAX_LINE_BYTES, server.ready)
        await server.close()
    finally:
        source.close()


class UgiServer:
    """The open connections."""

    def __init__(self, source: DaemonSource, game: str, options: Mapping[str, str]) -> None:
        self._source, self._game, self._options = source, game, options
        self._open: set[asyncio.Task[None]] = set()

    async def ready(self) -> None:
        """Return once the daemon is ready and has accepted the options; raise its error otherwise."""
        engine = BridgeEngine(SharedDaemon(self._source), self._game)
        await engine.ready(self._options)
        await engine.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until its end or `quit`."""
        task = asyncio.current_task()
        assert task
        if len(self._open) >= MOST_CONNECTIONS:
            writer.write(f"info string error: {MOST_CONNECTIONS} connections are open\n".encode())
            writer.close()
            return
        self._open.add(task)
        enable_keepalive(writer)

        def say(line: str) -> None:
            if writer.transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
                writer.transport.abort()
            else:
                writer.write(f"{line}\n".encode())

        bridge = UgiBridge(BridgeEngine(SharedDaemon(self._source), self._game), say, self._game, self._options)
        try:
            await self._converse(reader, bridge)
        except (OSError, asyncio.CancelledError):  # the peer has gone, or we are stopping
            pass
        except (ValueError, asyncio.LimitOverrunError):
            say(f"info string error: a line of more than {MAX_LINE_BYTES} bytes")
        finally:
            self._open.discard(task)
            await bridge.close()
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, bridge: UgiBridge) -> None:
        loop = asyncio.get_running_loop()
        while line := await reader.readline():
            text = line.decode("utf-8", "replace").strip()
            if text == "quit":
                return
            await bridge.handle_line(text, loop.time())
        await bridge.finish()

    async def close(self) -> None:
        """End every connection."""
        tasks = set(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
