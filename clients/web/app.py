"""The bridge's HTTP side: the page, its socket, and game records in and out. Who may talk to it is decided here."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from importlib import resources
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from plyd.clients.formats import files
from plyd.clients.library.errors import InvalidRequest, PlydError
from plyd.clients.web.connection import Tab
from plyd.clients.web.daemons import Fleet
from plyd.clients.web.messages import error_words, record_of, record_words

STATIC = Path(str(resources.files("plyd.clients.web"))) / "static"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
MOST_BYTES = 4 * files.MOST_BYTES  # of what a page sends: JSON is longer than the file it stands for
MOST_TABS = 1000
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),  # asked again each time, and answered "not modified"
)


def make_app(addresses: Iterable[str], names: Iterable[str] = ()) -> ASGIApp:
    """The bridge to daemons at some addresses; `names` may be used for this machine, besides those of loopback."""
    fleet = Fleet(addresses)
    open_tabs: set[Tab] = set()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await fleet.start()
        yield
        await fleet.close()

    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        if len(open_tabs) >= MOST_TABS:
            await socket.close(1013, f"{MOST_TABS} pages are open, the most allowed")
            return
        tab = Tab(socket, fleet)
        open_tabs.add(tab)
        try:
            await tab.run()
        finally:
            open_tabs.discard(tab)

    routes = [
        Route("/", _page),
        Route("/healthz", _health(fleet)),
        Route("/export", _answered(_export), methods=["POST"]),
        Route("/import", _answered(_import), methods=["POST"]),
        WebSocketRoute("/socket", talk),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Door(Starlette(routes=routes, lifespan=lifespan), LOOPBACK_NAMES | set(names))


class Door:
    """Lets in who calls this machine by a name it has, from a page of ours or from no page at all.

    A page of another site can have a browser call us; it says so in Origin. And a site whose name is made to mean this
    machine has the browser believe that it is us; the name in Host is then not ours.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
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
        if origin is not None and _split(origin).netloc != host:
            return f"a page from {origin[:60]!r} may not talk to this bridge"
        return ""


def _split(address: str) -> SplitResult:
    """The parts of an address; those of nowhere if it is none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _with_headers(scope: Scope, send: Send) -> Send:
    """Adds to each answer that a page may load from here and from nowhere else."""
    host = HTTPConnection(scope).headers.get("host", "")
    sources = f"connect-src 'self' ws://{host} wss://{host}; img-src 'self' data:; script-src 'self'; style-src 'self'"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    async def sending(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *HEADERS]  # type: ignore[misc]
            message = message | {"headers": [*headers, (b"content-security-policy", policy.encode())]}
        await send(message)

    return sending  # type: ignore[return-value]


async def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


def _health(fleet: Fleet) -> Callable[[Request], Awaitable[Response]]:
    async def health(_: Request) -> Response:
        games = {engine.game: is_there for engine, is_there in fleet.cards()}
        return JSONResponse({"games": games, "complete": fleet.is_complete}, 200 if fleet.is_complete else 503)

    return health


def _answered(work: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose faults are told as JSON."""

    async def handler(request: Request) -> Response:
        try:
            return await work(request)
        except PlydError as error:
            return JSONResponse({"error": error_words(error)}, 400)

    return handler


async def _export(request: Request) -> Response:
    """A game as a file: JSON of the record and a format in, the file out."""
    record, form = record_of(await _body(request))
    name, kind, data = await run_in_threadpool(files.write, record, form)
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _import(request: Request) -> Response:
    """A file of a game, named in the query, to JSON."""
    name, data = request.query_params.get("name", ""), await _body(request)
    return JSONResponse(record_words(await run_in_threadpool(files.read, name, data)))


async def _body(request: Request) -> bytes:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            raise InvalidRequest(f"the file is larger than {MOST_BYTES} bytes")
    return bytes(data)
