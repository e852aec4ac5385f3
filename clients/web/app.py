"""The bridge's HTTP side: the page, its socket, game files in and out, and the check of who may use them."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from importlib import resources
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from plyd.clients.formats import files
from plyd.clients.library.errors import InvalidRequest, PlydError
from plyd.clients.web import shell
from plyd.clients.web.connection import PageConnection
from plyd.clients.web.daemons import DaemonPool
from plyd.clients.web.errors import BridgeError, error_json
from plyd.clients.web.messages import parse_export, record_json
from plyd.clients.web.rooms import Rooms

STATIC = Path(str(resources.files("plyd.clients.web"))) / "static"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_BYTES = 4 * files.MOST_BYTES  # of a request body: JSON is longer than the file itself
DISCARDED = 16  # times what is allowed: a body that is larger still is not read to its end
MAX_CONNECTIONS = 1000
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),  # the browser asks each time, and gets "not modified"
)


def make_app(addresses: Iterable[str], names: Iterable[str] = (), static: Path = STATIC) -> ASGIApp:
    """The bridge to the daemons at these addresses; `names` are this machine's host names besides those of loopback.

    `static` is the folder of the page's files.
    """
    daemons = DaemonPool(addresses)
    connections: set[PageConnection] = set()
    rooms = Rooms()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await daemons.start()
        yield
        await daemons.close()

    async def serve_socket(socket: WebSocket) -> None:
        await socket.accept()
        if len(connections) >= MAX_CONNECTIONS:
            await socket.close(1013, f"{MAX_CONNECTIONS} pages are open, the most allowed")
            return
        connection = PageConnection(socket, daemons, rooms)
        connections.add(connection)
        try:
            await connection.run((await run_in_threadpool(shell.Shell, static)).version)
        finally:
            connections.discard(connection)

    routes = [
        Route("/", partial(_page, static)),
        Route("/service-worker.js", partial(_worker, static)),
        Route("/healthz", _health(daemons)),
        Route("/export", _with_errors(partial(_export, daemons)), methods=["POST"]),
        Route("/import", _with_errors(_import), methods=["POST"]),
        WebSocketRoute("/socket", serve_socket),
        Mount("/static", StaticFiles(directory=static)),
    ]
    return HostAndOriginCheck(Starlette(routes=routes, lifespan=lifespan), LOOPBACK_NAMES | set(names))


class HostAndOriginCheck:
    """Middleware that accepts a request only if its Host is a name of this machine and its Origin, if any, is our page.

    `origins` are those of other pages that may call too.

    The Origin check stops pages of other sites that make the browser send requests to us. The Host check stops DNS
    rebinding: a site whose name resolves to this machine.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str], origins: frozenset[str] = frozenset()) -> None:
        self._app, self._names, self._origins = app, names, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if reason := self._refusal(HTTPConnection(scope)):
            if scope["type"] == "websocket":
                await WebSocket(scope, receive, send).close(1008, reason)
            else:
                await PlainTextResponse(reason + "\n", 403)(scope, receive, send)
            return
        await self._app(scope, receive, _with_headers(scope, send))

    def _refusal(self, call: HTTPConnection) -> str:
        host, origin = call.headers.get("host", ""), call.headers.get("origin")
        if _split(f"//{host}").hostname not in self._names:
            return f"unknown host {host[:60]!r}; this bridge answers to {', '.join(sorted(self._names))}"
        if origin is not None and origin not in self._origins and _split(origin).netloc != host:
            return f"a page from {origin[:60]!r} may not talk to this bridge"
        return ""


def _split(address: str) -> SplitResult:
    """The parts of a URL; all empty if it is malformed."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _with_headers(scope: Scope, send: Send) -> Send:
    """A `send` that adds the security headers: a page may load from this host only."""
    host = HTTPConnection(scope).headers.get("host", "")
    sources = f"connect-src 'self' ws://{host} wss://{host}; img-src 'self' data:; script-src 'self'; style-src 'self'"
    sources += "; worker-src 'self'; manifest-src 'self'"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    async def send_with_headers(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *HEADERS]  # type: ignore[misc]
            message = message | {"headers": [*headers, (b"content-security-policy", policy.encode())]}
        await send(message)

    return send_with_headers  # type: ignore[return-value]


def _page(static: Path, _: Request) -> Response:
    return HTMLResponse(shell.Shell(static).page)


def _worker(static: Path, _: Request) -> Response:
    return Response(shell.Shell(static).worker(), media_type="text/javascript")


def _health(daemons: DaemonPool) -> Callable[[Request], Awaitable[Response]]:
    async def health(_: Request) -> Response:
        games = {engine.game: is_there for engine, is_there in daemons.cards()}
        return JSONResponse({"games": games, "complete": daemons.is_complete}, 200 if daemons.is_complete else 503)

    return health


def _with_errors(work: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose errors are answered as JSON with status 400."""

    async def handler(request: Request) -> Response:
        try:
            return await work(request)
        except PlydError as error:
            return JSONResponse({"error": error_json(error)}, 400)

    return handler


async def _export(daemons: DaemonPool, request: Request) -> Response:
    """The file of a game; the request has the record and the format as JSON."""
    record, form = parse_export(await _body(request))
    name, kind, data = await run_in_threadpool(files.write, record, form, daemons.card(record.game))
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _import(request: Request) -> Response:
    """The game in a file as JSON; the query has the file's name."""
    name, data = request.query_params.get("name", ""), await _body(request)
    return JSONResponse(record_json(await run_in_threadpool(files.read, name, data)))


async def _body(request: Request) -> bytes:
    """The file in a request's body."""
    data = await bounded_body(request, MAX_BYTES)
    if data is None:
        raise BridgeError(InvalidRequest, "error.file-too-large", bytes=MAX_BYTES)
    return data


async def bounded_body(request: Request, max_bytes: int) -> bytes | None:
    """The body of a request, None for one that is too large.

    That is read to its end, unless it is endless: otherwise the sender gets a reset, no answer.
    """
    data, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= max_bytes:
            data += chunk
        elif size > DISCARDED * max_bytes:
            break
    return None if size > max_bytes else bytes(data)
