"""One tab: its socket, the requests under way, and its one search. Nothing here outlives the socket."""

import asyncio
import contextlib
import json
import logging
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from plyd.clients.formats.files import FORMATS
from plyd.clients.library.errors import DaemonFault, InvalidRequest, Overloaded, PlydError
from plyd.clients.web.daemons import Fleet
from plyd.clients.web.messages import Request, card_words, error_words, report_words, state_words
from plyd.clients.web.search_stream import Thinker

log = logging.getLogger("plyd.web")

MOST_REQUESTS = 16  # of one tab, under way at once
MOST_WORDS = 256  # that wait to be sent; a page that leaves more unread is hung up on
VERBS = ("apply", "think", "stop")


class Outbox:
    """What waits to be sent to a page. News takes the place of older news of its kind: reports, the queue, games."""

    def __init__(self) -> None:
        self._words: dict[object, dict[str, Any]] = {}
        self._count = 0
        self._has_some = asyncio.Event()

    def put(self, words: dict[str, Any], kind: object = None) -> None:
        """Leave something to be sent; raises Overloaded if the page reads too slowly for it."""
        if len(self._words) >= MOST_WORDS:
            raise Overloaded(f"{MOST_WORDS} messages are unread")
        self._count += 1
        key = self._count if kind is None else kind
        self._words.pop(key, None)  # news comes last
        self._words[key] = words
        self._has_some.set()

    async def take(self) -> str:
        """The next thing to send."""
        await self._has_some.wait()
        words = self._words.pop(next(iter(self._words)))
        if not self._words:
            self._has_some.clear()
        return json.dumps(words, separators=(",", ":"))


class Search:
    """A search that a page asked for: it waits for the one before, then for its turn, then it runs."""

    def __init__(self, number: int | None) -> None:
        self.id = number
        self.stopped = asyncio.Event()
        self.ahead = 0  # searches before ours, in the queue
        self.task: asyncio.Task[None] | None = None


class Tab:
    """A conversation with one page."""

    def __init__(self, socket: WebSocket, fleet: Fleet) -> None:
        self._socket, self._fleet = socket, fleet
        self._outbox = Outbox()
        self._thinker = Thinker()
        self._tasks: set[asyncio.Task[None]] = set()
        self._search: Search | None = None  # the latest
        self._has_enough = asyncio.Event()  # the page leaves too much unread

    async def run(self) -> None:
        """Talk until the page goes."""
        self._fleet.listeners.add(self._tell_games)
        self._tell_games()
        lasting = {asyncio.ensure_future(each) for each in (self._send(), self._hear(), self._has_enough.wait())}
        try:
            await asyncio.wait(lasting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._fleet.listeners.discard(self._tell_games)
            for task in (*lasting, *self._tasks):
                task.cancel()
            self._thinker.close()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(1013)  # if it was we who had enough

    async def _send(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the page is gone
            while True:
                await self._socket.send_text(await self._outbox.take())

    async def _hear(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, KeyError, RuntimeError):  # gone; or not text, as no page of ours
            while True:
                self._take(await self._socket.receive_text())

    def _take(self, text: str) -> None:
        """Begin to do what a page asks for."""
        try:
            request = Request(text)
        except PlydError as error:
            self._say({"id": None, "error": error_words(error)})
            return
        if request.verb == "stop":
            self._spawn(self._stop(request, self._search))
        elif len(self._tasks) >= MOST_REQUESTS:
            busy = Overloaded(f"{len(self._tasks)} requests are under way, the most allowed for one page")
            self._say({"id": request.id, "error": error_words(busy)})
        elif request.verb == "think":
            before, self._search = self._search, Search(request.id)
            self._search.task = self._spawn(self._answer(request, self._think(request, self._search, before)))
        else:
            self._spawn(self._answer(request, self._apply(request)))

    async def _answer(self, request: Request, work: Any) -> None:
        """Do what a request asks for; say what is wrong if it cannot be done."""
        try:
            await work
            return
        except PlydError as error:
            fault = error
        except Exception:
            log.exception("a request failed")
            fault = DaemonFault("the bridge failed; its log says more")
        self._say({"id": request.id, "error": error_words(fault)})

    async def _apply(self, request: Request) -> None:
        """What the rulebook says of a position after some moves, and after chance's if asked for."""
        if request.verb != "apply":
            raise InvalidRequest(f"do is {request.verb!r:.60}; allowed is {', '.join(VERBS)}")
        position, moves = request.position(), request.moves()
        client = self._fleet.find(position.game).client
        state = await client.apply(position, *moves, with_chance=request.flag("chance"))
        self._say({"id": request.id, "state": state_words(state)})

    async def _think(self, request: Request, search: Search, before: Search | None) -> None:
        """A search, once the one before has ended."""
        await self._end(before)
        if search.stopped.is_set():
            self._say({"id": search.id, "ended": True})
            return
        question = request.question()

        def tell_queue(ahead: int) -> None:
            search.ahead = ahead
            self._say({"id": search.id, "queue": ahead}, "queue")

        post = self._fleet.find(question.position.game)
        thinking = self._thinker.think(post, question, search.stopped, tell_queue)
        async with contextlib.aclosing(thinking) as reports:
            async for report in reports:
                self._say({"id": search.id, "report": report_words(report)}, None if report.final else "report")

    async def _stop(self, request: Request, search: Search | None) -> None:
        await self._end(search)
        self._say({"id": request.id, "ok": True})

    async def _end(self, search: Search | None) -> None:
        """Have a search end: with its best so far, or with nothing if it has not begun."""
        if search is None or search.task is None or search.task.done():
            return
        if search.ahead and not search.stopped.is_set():
            self._say({"id": search.id, "ended": True})
            search.task.cancel()
        search.stopped.set()
        await asyncio.wait([search.task])

    def _tell_games(self) -> None:
        games = [
            card_words(engine, is_there=is_there, formats=FORMATS.get(engine.game, ("text",)))
            for engine, is_there in self._fleet.cards()
        ]
        self._say({"games": games, "isComplete": self._fleet.is_complete}, "games")

    def _say(self, words: dict[str, Any], kind: object = None) -> None:
        try:
            self._outbox.put(words, kind)
        except Overloaded:
            self._has_enough.set()

    def _spawn(self, work: Any) -> "asyncio.Task[None]":
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
