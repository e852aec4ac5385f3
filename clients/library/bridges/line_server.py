"""TCP for bridges that speak line protocols."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable

from plyd.clients.library.channel import Endpoint
from plyd.clients.library.errors import BadEndpoint

PROBE_SECONDS = 60  # of silence, before TCP keepalive probes a peer

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def serve_until_signal(
    endpoint: Endpoint, serve: Serve, read_bytes: int, ready: Callable[[], Awaitable[None]]
) -> None:
    """Accept connections, once `ready` returns, until SIGTERM or SIGINT. Prints its address on stdout as it begins."""
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    server, bound = await bind(endpoint, serve, read_bytes)  # first, since it fails fast
    stopped, starting = asyncio.ensure_future(stopping.wait()), asyncio.ensure_future(ready())
    await asyncio.wait({stopped, starting}, return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        starting.result()
        await server.start_serving()
        print(f"listening on {bound}", flush=True)
        await stopped
    starting.cancel()
    server.close()


async def bind(endpoint: Endpoint, serve: Serve, read_bytes: int) -> tuple[asyncio.Server, Endpoint]:
    """A server that does not accept connections yet, and its endpoint with the actual port."""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        host = str(addresses[0][4][0])  # a name may have several addresses, but port 0 must give one port
        server = await asyncio.start_server(serve, host, endpoint.port, limit=read_bytes, start_serving=False)
    except OSError as error:
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise BadEndpoint(f"cannot listen on {endpoint}: {why}") from None
    except UnicodeError:
        raise BadEndpoint(f'cannot listen on {endpoint}: "{endpoint.host}" is not a host name') from None
    return server, Endpoint(endpoint.host, server.sockets[0].getsockname()[1])


def enable_keepalive(writer: asyncio.StreamWriter) -> None:
    """Let TCP keepalive detect a peer that is gone."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_SECONDS)
