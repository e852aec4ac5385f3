"""The Play stream: commands in, replies out, at most one search at a time."""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from plyd.engines.core.errors import BadCommand, EngineError, Overloaded
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Limits
from plyd.servers.rpc.context import CallContext
from plyd.servers.rpc.limits import read_limits
from plyd.servers.rpc.messages import report_message, state_message
from plyd.servers.rpc.status import status_code, status_message
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import FEW_MOVES, GameRecord
from plyd.servers.search.job import Priority
from plyd.servers.search.session import Session
from plyd.v1 import engine_pb2, position_pb2

log = logging.getLogger("plyd.play")

COMMANDS = "new_game, moves, take_back, go or stop"


class PlayStream:
    """One game on one stream. Every command gets exactly one final reply, in the order of the commands."""

    def __init__(
        self,
        runtime: Runtime,
        call: CallContext,
        send: Callable[[engine_pb2.PlayResponse], Awaitable[None]],
        time_remaining: Callable[[], float | None],
    ) -> None:
        self._runtime = runtime
        self._call = call
        self._send = send
        self._time_remaining = time_remaining
        self._session: Session | None = None
        self._search: asyncio.Task[None] | None = None
        self._stop = Stop()
        self._has_limits = False

    async def handle(self, request: engine_pb2.PlayRequest) -> None:
        """Execute one command and reply to it; a search replies later, when it has reports."""
        await self.stop_search()
        try:
            if request.WhichOneof("command") == "go":
                self._go(request)
            elif self._is_quick(request):
                await self._send(engine_pb2.PlayResponse(id=request.id, state=self._change(request)))
            else:
                state = await self._runtime.rules.run(self._call.party, functools.partial(self._change, request))
                await self._send(engine_pb2.PlayResponse(id=request.id, state=state))
        except EngineError as error:
            await self._refuse(request.id, error)

    async def stop_search(self) -> None:
        """Stop the search, if one runs, and wait until its final report is sent."""
        self._stop.set()
        self._runtime.searches.run_now(self._stop)
        await self.finish_search()

    async def finish_search(self) -> None:
        """Wait until the search ends by itself; one without limits is stopped."""
        if not self._has_limits:
            self._stop.set()
            self._runtime.searches.run_now(self._stop)
        if self._search:
            await self._search
            self._search = None

    def close(self) -> None:
        """The stream has ended: cancel the search and free the session."""
        if self._search:
            self._search.cancel()
        self._end_session()

    def _end_session(self) -> None:
        if self._session:
            self._session.close()
            self._session = None

    def _is_quick(self, request: engine_pb2.PlayRequest) -> bool:
        """Whether a command is not worth a thread; a new game may be long, and frees the memory of the one before."""
        return self._session is not None and (
            self._session.record.rules.is_quick
            and request.WhichOneof("command") != "new_game"
            and len(request.moves.moves) <= FEW_MOVES
        )

    def _change(self, request: engine_pb2.PlayRequest) -> position_pb2.State:
        """Execute a command that changes the game; the state of the game afterwards."""
        command = request.WhichOneof("command")
        if command is None:
            raise BadCommand(f"a request without a command; commands are {COMMANDS}")
        if command == "new_game":
            self._new_game(request.new_game)
        record = self._open_session(command).record
        if command == "moves":
            if not request.moves.moves:
                raise BadCommand("moves is empty; at least one move is needed")
            record.play(request.moves.moves)
        if command == "take_back":
            record.take_back(request.take_back.plies if request.take_back.HasField("plies") else 1)
        return state_message(record)

    def _new_game(self, command: engine_pb2.NewGameCommand) -> None:
        record = GameRecord.read(self._runtime.engines, command.position)
        session = Session(record, command.options, self._runtime, self._call.client, self._call.party)
        self._end_session()
        self._session = session
        self._call.note(game=record.engine.card.game)

    def _open_session(self, command: str) -> Session:
        """The session of the game; raises BadCommand if there is no game yet."""
        if self._session is None:
            raise BadCommand(f"{command} before new_game; the first command of a game is new_game")
        return self._session

    def _go(self, request: engine_pb2.PlayRequest) -> None:
        session, go = self._open_session("go"), request.go
        limits = read_limits(go)
        priority = Priority.PONDER if go.ponder else Priority.NORMAL
        self._stop = Stop()
        self._has_limits = limits != Limits(max_lines=limits.max_lines)
        self._search = asyncio.ensure_future(self._run_search(session, request.id, limits, priority))

    async def _run_search(self, session: Session, request_id: int, limits: Limits, priority: Priority) -> None:
        """Search and send the reports, or the error that ended the search. Runs as a task of its own."""
        try:
            search = session.reports(limits, self._time_remaining(), self._stop, priority, in_game=True)
            async with aclosing(search) as reports:
                async for timed in reports:
                    if timed.memory_lost:
                        self._call.note(memory_lost=True)
                    await self._send(engine_pb2.PlayResponse(id=request_id, report=report_message(*timed)))
        except EngineError as error:
            await self._refuse(request_id, error)
        except Exception as error:
            log.exception("a search failed")
            await self._refuse(request_id, error)

    async def _refuse(self, request_id: int, error: Exception) -> None:
        fault = engine_pb2.CommandError(code=status_code(error).value[0], message=status_message(error))
        if isinstance(error, EngineError):
            fault.field = error.field
        if isinstance(error, Overloaded):
            fault.retry_after_ms = round(error.retry_seconds * 1000)
            self._runtime.observer.metrics.shed(error.reason, self._call.log_fields.get("client", ""))
        await self._send(engine_pb2.PlayResponse(id=request_id, error=fault))
