"""The page of a tournament, served on loopback while it is played."""

import socket
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from plyd.clients.library.channel import Endpoint, is_loopback, parse_endpoint
from plyd.clients.match.side import BadMatch
from plyd.clients.web.app import LOOPBACK_NAMES, STATIC, HostAndOriginCheck
from plyd.clients.web.cli import open_listener

OWN_STATIC = Path(str(resources.files("plyd.clients.tournament"))) / "static"
STOP_SECONDS = 5.0
WATCHED_SECONDS = 3.0  # since its last question a page counts as open; it asks once a second


def make_app(state: Callable[[], dict[str, Any]]) -> ASGIApp:
    """The page, and what it shows at /state; style and elements are those of `plyd web`."""

    async def page(_: Request) -> Response:
        return FileResponse(OWN_STATIC / "index.html")

    async def answer(_: Request) -> Response:
        return JSONResponse(await run_in_threadpool(state))

    routes = [
        Route("/", page),
        Route("/state", answer),
        Mount("/static", StaticFiles(directory=STATIC)),
        Mount("/tournament", StaticFiles(directory=OWN_STATIC)),
    ]
    return HostAndOriginCheck(Starlette(routes=routes), LOOPBACK_NAMES)


class TournamentPage:
    """Serves the page in a thread of its own; use it in a `with`, where `url` is its address."""

    def __init__(self, listen: str, state: Callable[[], dict[str, Any]]) -> None:
        wanted = parse_endpoint(listen, insecure=True)
        if not is_loopback(wanted.host):
            raise BadMatch(
                f"--listen {listen}: the page is for this machine only; allowed is 127.0.0.1:PORT or [::1]:PORT"
            )
        self._listener: socket.socket = open_listener(wanted.host, wanted.port, str(wanted))
        self.url = f"http://{Endpoint(wanted.host, self._listener.getsockname()[1])}"
        self._asked = 0.0  # when a page asked last

        def noted_state() -> dict[str, Any]:
            self._asked = time.monotonic()
            return state()

        config = uvicorn.Config(
            make_app(noted_state), log_level="critical", access_log=False, server_header=False, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        ended = time.monotonic()
        while ended - WATCHED_SECONDS < self._asked < ended and time.monotonic() < ended + WATCHED_SECONDS:
            time.sleep(0.05)  # an open page gets the final state
        self._server.should_exit = True
        self._thread.join(STOP_SECONDS)
        self._listener.close()
