"""The bridge's routes, and its unary calls: `POST /plyd.v1.SERVICE/METHOD`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from grpc import StatusCode
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from plyd.clients.http.codec import JSON, decode, encode, json_text
from plyd.clients.http.daemons import Daemons
from plyd.clients.http.failures import CallFailed
from plyd.clients.http.framing import GRPC_WEB_TYPES
from plyd.clients.http.methods import METHODS, Method
from plyd.clients.http.openapi import document
from plyd.clients.http.request import (
    GRPC_TIMEOUT,
    PASSED_ON,
    TIMEOUT,
    UNARY_TYPES,
    call_headers,
    media_type_of,
    message_form,
    read_body,
)
from plyd.clients.http.sockets import serve_socket
from plyd.clients.http.streams import answer_stream
from plyd.clients.web.app import LOOPBACK_NAMES, HostAndOriginCheck

MAX_CALLS = 1000  # at once
CALLER_GONE = 499
TRAILER = "trailer-"
SENT_HEADERS = (
    "content-type",
    "connect-protocol-version",
    TIMEOUT,
    GRPC_TIMEOUT,
    "x-grpc-web",
    "x-user-agent",
    *PASSED_ON,
)

Reply = TypeVar("Reply")
Handler = Callable[[Request], Awaitable[Response]]


def make_app(addresses: Iterable[str], names: Iterable[str] = (), origins: Iterable[str] = ()) -> ASGIApp:
    """The bridge to the daemons at these addresses.

    `names` are this machine's host names besides those of loopback, `origins` the other sites whose pages may call.
    """
    addresses, allowed = tuple(addresses), frozenset(origins)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.daemons, app.state.calls = Daemons(addresses), set()
        yield
        await app.state.daemons.close()

    routes: list[Route | WebSocketRoute] = [Route("/openapi.json", _openapi)]
    for method in METHODS:
        if method.takes_stream:
            routes.append(WebSocketRoute(method.path, partial(serve_socket, method)))
            routes.append(Route(method.path, _with_failures(partial(_needs_socket, method)), methods=["POST"]))
        else:
            routes.append(Route(method.path, _with_failures(partial(answer, method)), methods=["POST"]))
    app: ASGIApp = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: _unknown})
    if allowed:
        app = CORSMiddleware(
            app,
            allow_origins=sorted(allowed),
            allow_methods=["GET", "POST"],
            allow_headers=SENT_HEADERS,
            expose_headers=[f"{TRAILER}x-request-id"],
        )
    return HostAndOriginCheck(app, LOOPBACK_NAMES | set(names), allowed)


async def answer(method: Method, request: Request) -> Response:
    """The answer to a call that takes one message."""
    is_enveloped = method.gives_stream or media_type_of(request) in GRPC_WEB_TYPES
    return await (answer_stream if is_enveloped else answer_call)(method, request)


async def answer_call(method: Method, request: Request) -> Response:
    """The reply of a unary call."""
    form, headers = message_form(request, UNARY_TYPES), call_headers(request)
    message = decode(form, await read_body(request), method.request)
    reply, trailers = await unless_gone(request, request.app.state.daemons.call(method, message, headers))
    return Response(encode(form, reply), media_type=f"application/{form}", headers=_as_headers(trailers))


async def unless_gone(request: Request, work: Awaitable[Reply]) -> Reply:
    """What some work returns; it is cancelled when the caller hangs up. The request's body has been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()


def _with_failures(work: Handler) -> Handler:
    """A handler whose failures are answered as the Connect protocol wants them."""

    async def handler(request: Request) -> Response:
        calls = request.app.state.calls
        try:
            if len(calls) >= MAX_CALLS:
                raise CallFailed(StatusCode.RESOURCE_EXHAUSTED, f"{MAX_CALLS} calls are in progress, the most allowed")
            calls.add(request)
            return await work(request)
        except CallFailed as failed:
            return _failure(failed)
        except ClientDisconnect:
            return Response(status_code=CALLER_GONE)  # nobody reads it
        finally:
            calls.discard(request)

    return handler


def _failure(failed: CallFailed) -> Response:
    headers = _as_headers(failed.metadata)
    if failed.code is StatusCode.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    return Response(json_text(failed.as_json()), failed.http_status, headers, f"application/{JSON}")


def _as_headers(metadata: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Metadata that came after a call, as the headers of a unary response."""
    return {f"{TRAILER}{key}": value for key, value in metadata}


async def _needs_socket(method: Method, _: Request) -> Response:
    message = f"{method.name} is a stream both ways: call ws://HOST{method.path}, a WebSocket"
    raise CallFailed(StatusCode.UNIMPLEMENTED, message, http_status=505)


async def _unknown(request: Request, _: Exception) -> Response:
    message = f"there is nothing at {request.url.path[:60]!r}; /openapi.json lists all methods"
    return _failure(CallFailed(StatusCode.UNIMPLEMENTED, message, http_status=404))


async def _openapi(_: Request) -> Response:
    return Response(json_text(document()), media_type="application/json")
