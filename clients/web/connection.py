"""The connection to one page: its socket, its pending requests, and its one search. All of it ends with the socket."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Coroutine
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from plyd.clients.library.errors import DaemonFault, InvalidRequest, Overloaded, PlydError
from plyd.clients.web.daemons import DaemonPool
from plyd.clients.web.errors import BridgeError, error_json
from plyd.clients.web.messages import PageRequest, card_json, report_json, state_json
from plyd.clients.web.review import review
from plyd.clients.web.rooms import Rooms
from plyd.clients.web.search_stream import SearchStream
from plyd.clients.web.turbo import play_on

log = logging.getLogger("plyd.web")

MAX_REQUESTS = 16  # pending requests of one page
MAX_UNSENT = 256  # messages; a page that leaves more unread is disconnected
VERBS = ("apply", "think", "stop", "review", "unreview", "run", "join", "share")
MAX_SLIDES = 2000  # of one request
UNSENT_REPORTS = 64  # a review waits while so many messages are unsent


class SendQueue:
    """Messages to be sent to a page. A message of a kind (report, queue, games) replaces an unsent one of that kind."""

    def __init__(self) -> None:
        self._messages: dict[object, dict[str, Any]] = {}
        self._count = 0
        self._has_some = asyncio.Event()
        self._has_room = asyncio.Event()

    def put(self, message: dict[str, Any], kind: object = None) -> None:
        """Queue a message; raises Overloaded if the page reads too slowly."""
        if len(self._messages) >= MAX_UNSENT:
            raise Overloaded(f"{MAX_UNSENT} messages are unread")
        self._count += 1
        key = self._count if kind is None else kind
        self._messages.pop(key, None)  # the replacement goes to the end
        self._messages[key] = message
        self._has_some.set()

    async def room(self) -> None:
        """Wait until few messages are unsent."""
        while len(self._messages) >= UNSENT_REPORTS:
            self._has_room.clear()
            await self._has_room.wait()

    async def take(self) -> str:
        """The next message as JSON."""
        await self._has_some.wait()
        message = self._messages.pop(next(iter(self._messages)))
        self._has_room.set()
        if not self._messages:
            self._has_some.clear()
        return json.dumps(message, separators=(",", ":"))


class PageSearch:
    """A search that a page asked for. It waits for the page's search before it, then in the queue, then it runs."""

    def __init__(self, number: int | None) -> None:
        self.id = number
        self.stopped = asyncio.Event()
        self.is_told_to_stop = False  # the page has asked for its end, which is never refused; further stops may be
        self.place = 0  # in the queue; 0 if it does not wait
        self.task: asyncio.Task[None] | None = None


class PageConnection:
    """Serves one page's socket."""

    def __init__(self, socket: WebSocket, daemons: DaemonPool, rooms: Rooms) -> None:
        self._socket, self._daemons, self._rooms = socket, daemons, rooms
        self._unsent = SendQueue()
        self._stream = SearchStream()
        self._tasks: set[asyncio.Task[None]] = set()
        self._search: PageSearch | None = None  # the latest one
        self._review: asyncio.Task[None] | None = None  # the latest one
        self._reads_too_slowly = asyncio.Event()
        self._version = ""

    async def run(self, version: str) -> None:
        """Serve the page until it disconnects, or until it leaves too much unread; `version` is the page's latest."""
        self._version = version
        self._daemons.listeners.add(self._send_games)
        self._send_games()
        loops = {asyncio.ensure_future(each) for each in (self._write(), self._read(), self._reads_too_slowly.wait())}
        try:
            await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._daemons.listeners.discard(self._send_games)
            self._rooms.leave(self._send_shared)
            for task in (*loops, *self._tasks):
                task.cancel()
            self._stream.close()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(1013)  # does nothing if the page has closed it

    async def _write(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the page is gone
            while True:
                await self._socket.send_text(await self._unsent.take())

    async def _read(self) -> None:
        # KeyError: a binary frame, which our page never sends
        with contextlib.suppress(WebSocketDisconnect, KeyError, RuntimeError):
            while True:
                self._handle(await self._socket.receive_text())

    def _handle(self, text: str) -> None:
        """Start what a page asks for."""
        try:
            request = PageRequest(text)
        except PlydError as error:
            self._send({"id": None, "error": error_json(error)})
            return
        is_first_stop = request.verb == "stop" and self._search is not None and not self._search.is_told_to_stop
        if len(self._tasks) >= MAX_REQUESTS and not is_first_stop:
            busy = BridgeError(Overloaded, "error.too-many-requests", count=len(self._tasks))
            self._send({"id": request.id, "error": error_json(busy)})
        elif request.verb == "stop":
            if self._search:
                self._search.is_told_to_stop = True
            self._spawn(self._stop(request, self._search))
        elif request.verb == "think":
            before, self._search = self._search, PageSearch(request.id)
            self._search.task = self._spawn(self._answer(request, self._think(request, self._search, before)))
        elif request.verb == "review":
            self._review = self._spawn(self._answer(request, self._run_review(request, self._review)))
        elif request.verb == "unreview":
            self._spawn(self._end_review(request, self._review))
        elif request.verb in ("join", "share"):
            self._spawn(self._answer(request, self._share(request)))
        elif request.verb == "run":
            self._spawn(self._answer(request, self._run(request)))
        else:
            self._spawn(self._answer(request, self._apply(request)))

    async def _answer(self, request: PageRequest, work: Coroutine[Any, Any, None]) -> None:
        """Do what a request asks for; answer with the error if that fails."""
        try:
            await work
            return
        except PlydError as error:
            fault: PlydError = error
        except Exception:
            log.exception("a request failed")
            fault = BridgeError(DaemonFault, "error.bridge-failed")
        self._send({"id": request.id, "error": error_json(fault)})

    async def _apply(self, request: PageRequest) -> None:
        """Answer with the state after some moves, and after a move of chance if that is asked for."""
        if request.verb != "apply":
            raise InvalidRequest(f"do is {request.verb!r:.60}; allowed is {', '.join(VERBS)}")
        position, moves = request.position(), request.moves()
        client = self._daemons.find(position.game).client
        state = await client.apply(position, *moves, with_chance=request.flag("chance"))
        self._send({"id": request.id, "state": state_json(state)})

    async def _think(self, request: PageRequest, search: PageSearch, before: PageSearch | None) -> None:
        """Run a search once the one before it has ended.

        One that was told to stop by then is a short search, which has a move. One whose place another took is none.
        """
        await self._end(before)
        if search is not self._search:
            self._send({"id": search.id, "ended": True})
            return
        query = request.search_query()

        def on_queue(place: int) -> None:
            search.place = place
            if place and search.stopped.is_set():
                self._give_up(search)
            else:
                self._send({"id": search.id, "queue": place}, "queue")

        link = self._daemons.find(query.position.game)
        async with contextlib.aclosing(self._stream.search(link, query, search.stopped, on_queue)) as reports:
            async for report in reports:
                self._send({"id": search.id, "report": report_json(report)}, None if report.final else "report")

    async def _stop(self, request: PageRequest, search: PageSearch | None) -> None:
        await self._end(search)
        self._send({"id": request.id, "ok": True})

    async def _end(self, search: PageSearch | None) -> None:
        """Make a search end: with its best move so far, or with `ended` if it is still in the queue."""
        if search is None or search.task is None or search.task.done():
            return
        if search.place and not search.stopped.is_set():
            self._give_up(search)
        search.stopped.set()
        await asyncio.wait([search.task])

    def _give_up(self, search: PageSearch) -> None:
        """End a search that waits in the queue."""
        assert search.task is not None
        if not search.task.cancelling():
            self._send({"id": search.id, "ended": True})
            search.task.cancel()

    async def _run_review(self, request: PageRequest, before: "asyncio.Task[None] | None") -> None:
        """Run a review once the one before it has ended. One that is cancelled is answered too."""
        try:
            await _cancelled(before)
            query, turns = request.search_query(), request.turns()
            link = self._daemons.find(query.position.game)
            async with contextlib.aclosing(review(link, query, turns)) as found:
                async for turn, points, report in found:
                    await self._unsent.room()
                    self._send({"id": request.id, "turn": turn, "points": points, "report": report_json(report)})
        except asyncio.CancelledError:
            self._send({"id": request.id, "ok": True})
            raise
        self._send({"id": request.id, "ok": True})

    async def _run(self, request: PageRequest) -> None:
        """Let the engine of a tile game play on, and tell the state now and then."""
        query, slides = request.search_query(), request.whole("slides", 1, MAX_SLIDES) or MAX_SLIDES
        link = self._daemons.find(query.position.game)
        async with contextlib.aclosing(play_on(link, query.position, slides, query.options)) as states:
            async for played in states:
                await self._unsent.room()
                self._send({"id": request.id, "moves": played.moves, "state": state_json(played.state)})
        self._send({"id": request.id, "ok": True})

    async def _share(self, request: PageRequest) -> None:
        """Follow a game that is shared, or change it."""
        name = request.text("room")
        if request.verb == "share":
            version = request.whole("version", 0, 1 << 31) or 0
            shared = self._rooms.share(name, version, request.record(), self._send_shared)
        else:
            shared = self._rooms.join(name, self._send_shared)
        self._send({"id": request.id, "shared": shared})

    def _send_shared(self, shared: dict[str, Any]) -> None:
        self._send({"shared": shared}, f"room {shared['room']}")

    async def _end_review(self, request: PageRequest, running: "asyncio.Task[None] | None") -> None:
        await _cancelled(running)
        self._send({"id": request.id, "ok": True})

    def _send_games(self) -> None:
        games = [card_json(engine, is_there=is_there) for engine, is_there in self._daemons.cards()]
        self._send({"games": games, "isComplete": self._daemons.is_complete, "version": self._version}, "games")

    def _send(self, message: dict[str, Any], kind: object = None) -> None:
        try:
            self._unsent.put(message, kind)
        except Overloaded:
            self._reads_too_slowly.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _cancelled(task: "asyncio.Task[None] | None") -> None:
    """Cancel a task that runs, and wait for its end."""
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])
