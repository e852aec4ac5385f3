"""One tab: its socket, the requests under way, and its one search. Nothing here outlives the socket."""

import asyncio
import contextlib
import json
import logging
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from plyd.clients.errors import Cancelled, DaemonFault, InvalidRequest, Overloaded, PlydError
from plyd.clients.web.fleet import Fleet
from plyd.clients.web.records import FORMATS
from plyd.clients.web.thinker import Thinker
from plyd.clients.web.words import Request, card_words, error_words, report_words, state_words

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


class Tab:
    """A conversation with one page."""

    def __init__(self, socket: WebSocket, fleet: Fleet) -> None:
        self._socket, self._fleet = socket, fleet
        self._outbox = Outbox()
        self._thinker = Thinker()
        self._tasks: set[asyncio.Task[None]] = set()
        self._search: asyncio.Task[None] | None = None
        self._searching_id = 0
        self._ahead = 0  # searches before ours, in the queue

    async def run(self) -> None:
        """Talk until the page goes."""
        self._fleet.listeners.add(self._tell_games)
        self._tell_games()
        sending = asyncio.ensure_future(self._send())
        hearing = asyncio.ensure_future(self._hear())
        try:
            await asyncio.wait({sending, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._fleet.listeners.discard(self._tell_games)
            for task in (sending, hearing, *self._tasks):
                task.cancel()
            self._thinker.close()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(1008)  # if it was we who had enough

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
            self._spawn(self._stop(request))
        elif len(self._tasks) >= MOST_REQUESTS:
            busy = Overloaded(f"{len(self._tasks)} requests are under way, the most allowed for one page")
            self._say({"id": request.id, "error": error_words(busy)})
        elif request.verb == "think":
            self._search = self._spawn(self._answer(request, self._think(request, self._search)))
        else:
            self._spawn(self._answer(request, self._apply(request)))

    async def _answer(self, request: Request, work: Any) -> None:
        """Do what a request asks for; say what is wrong if it cannot be done."""
        try:
            await work
            return
        except Cancelled:
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

    async def _think(self, request: Request, before: "asyncio.Task[None] | None") -> None:
        """A search, in place of one that runs."""
        question = request.question()
        post = self._fleet.find(question.position.game)
        if before and not before.done():
            await self._end(before)
        assert request.id is not None
        self._searching_id = request.id
        try:
            async with contextlib.aclosing(self._thinker.think(post, question, self._tell_queue)) as reports:
                async for report in reports:
                    kind = None if report.final else "report"
                    self._say({"id": request.id, "report": report_words(report)}, kind)
        finally:
            self._ahead = 0

    async def _stop(self, request: Request) -> None:
        search, self._search = self._search, None
        if search and not search.done():
            await self._end(search)
        self._say({"id": request.id, "ok": True})

    async def _end(self, search: "asyncio.Task[None]") -> None:
        """Have a search end: with its best so far, or with nothing if it has not begun."""
        if self._ahead:
            search.cancel()
            self._say({"id": self._searching_id, "ended": True})
        self._thinker.stop()
        await asyncio.wait([search])

    def _tell_queue(self, ahead: int) -> None:
        self._ahead = ahead
        self._say({"id": self._searching_id, "queue": ahead}, "queue")

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
            self._spawn(self._socket.close(1013, "too much is unread"))

    def _spawn(self, work: Any) -> "asyncio.Task[None]":
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
