"""Streams both ways, over a WebSocket: each text message is one request or one reply, in JSON.

An empty text message says that no more requests come, as half-closing a gRPC stream does. A stream that ends well
closes the socket with code 1000. One that fails sends {"endStream": {"error": ...}} first, with the error of the
Connect protocol, and closes with 4000 + the number of the gRPC status.
"""

import asyncio
import contextlib
from typing import Any

import grpc
import grpc.aio
from grpc import StatusCode
from starlette.websockets import WebSocket, WebSocketDisconnect

from plyd.clients.http.codec import JSON, decode, json_text, to_json
from plyd.clients.http.daemons import Daemons
from plyd.clients.http.failures import CallFailed, invalid
from plyd.clients.http.methods import Method, game_of
from plyd.clients.http.request import SUBPROTOCOL, CallHeaders, call_headers

FAILED = 4000  # close code of a stream that failed, plus the number of its status
MAX_REASON_BYTES = 120  # WebSockets allow 123
MAX_SOCKETS = 1000


async def serve_socket(method: Method, socket: WebSocket) -> None:
    """Serve one WebSocket: one stream of a daemon, from the first request to its end."""
    calls = socket.app.state.calls
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope.get("subprotocols", ()) else None)
    calls.add(socket)
    try:
        if len(calls) > MAX_SOCKETS:
            raise CallFailed(StatusCode.RESOURCE_EXHAUSTED, f"{MAX_SOCKETS} calls are in progress, the most allowed")
        await _relay(method, socket, call_headers(socket))
        await socket.close()
    except CallFailed as failed:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the caller may be gone
            await socket.send_text(json_text({"endStream": {"error": failed.as_json()}}))
            reason = failed.message.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
            await socket.close(FAILED + failed.code.value[0], reason)
    except WebSocketDisconnect:
        pass
    finally:
        calls.discard(socket)


async def _relay(method: Method, socket: WebSocket, headers: CallHeaders) -> None:
    """Pass requests on to a daemon, and its replies back, until either side ends."""
    daemons: Daemons = socket.app.state.daemons
    first = await _request(method, socket)
    link = await daemons.find(game_of(first) if first else headers.game, headers)
    async with link.lease(headers, is_game=method.name == "Play") as lease:
        stream = method.on(lease.stubs)(timeout=headers.timeout, metadata=headers.metadata)
        sending = asyncio.ensure_future(_send_requests(method, socket, stream, first))
        answering = asyncio.ensure_future(_send_replies(socket, stream))
        try:
            await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()  # raises what ended it, such as a socket that was closed
            await answering
        finally:
            stream.cancel()
            for task in (sending, answering):
                task.cancel()
            await asyncio.wait((sending, answering))


async def _send_requests(method: Method, socket: WebSocket, stream: Any, message: Any) -> None:
    """Send requests until there are no more; then wait for the socket to close."""
    try:
        while message is not None:
            await stream.write(message)
            message = await _request(method, socket)
        await stream.done_writing()
    except (grpc.RpcError, asyncio.InvalidStateError):
        return  # the stream has ended; its replies say why
    await socket.receive()
    raise WebSocketDisconnect


async def _send_replies(socket: WebSocket, stream: Any) -> None:
    while (reply := await stream.read()) is not grpc.aio.EOF:
        await socket.send_text(to_json(reply))


async def _request(method: Method, socket: WebSocket) -> Any:
    """The next request on a socket; None if there are no more."""
    event = await socket.receive()
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(event.get("code", 1000))
    if event.get("text") is None:
        raise invalid("a binary message; allowed are text messages, each with one request in JSON")
    return decode(JSON, event["text"].encode(errors="surrogatepass"), method.request) if event["text"] else None
