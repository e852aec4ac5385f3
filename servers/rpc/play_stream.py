"""The Play stream: commands in, replies out, at most one search at a time."""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

from plyd.engines.core.errors import BadCommand, EngineError, Overloaded
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Limits
from plyd.servers.rpc.context import CallContext
from plyd.servers.rpc.limits import read_limits, read_play_on
from plyd.servers.rpc.messages import report_message, state_message
from plyd.servers.rpc.status import status_code, status_message
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import FEW_MOVES, KEPT_PLIES, GameRecord, with_field
from plyd.servers.search.play_on import Asked, play_on
from plyd.servers.search.session import Session
from plyd.servers.search.slots.job import Priority
from plyd.v1 import engine_pb2, position_pb2

log = logging.getLogger("plyd.play")

COMMANDS = "new_game, moves, take_back, go, play_on or stop"


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
                await self._go(request.id, self._open_session("go"), request.go, read_limits(request.go))
                return
            if request.WhichOneof("command") == "play_on":
                self._play_on(request.id, self._open_session("play_on"), read_play_on(request.play_on))
                return
            search = self._search_after(request.moves)
            if self._is_quick(request):
                state = self._change(request)
            else:
                state = await self._runtime.rules.run(self._call.party, functools.partial(self._change, request))
                await self._open_session("moves").prepare()  # before its first search has a clock
            await self._send(engine_pb2.PlayResponse(id=request.id, state=state))
            if search:
                await self._go(request.id, *search)
        except EngineError as error:
            await self._refuse(request.id, error)

    def _search_after(self, moves: engine_pb2.MovesCommand) -> tuple[Session, engine_pb2.GoCommand, Limits] | None:
        """The search that a command to play moves brings with it; it is checked before any of them is played."""
        if not moves.HasField("go"):
            return None
        session = self._open_session("moves")
        try:
            return session, moves.go, read_limits(moves.go)
        except EngineError as error:
            raise with_field(f"go.{error.field}", error) from None

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
        record = self._session.record if self._session else None
        return record is not None and (
            record.rules.is_quick
            and request.WhichOneof("command") != "new_game"
            and len(request.moves.moves) <= FEW_MOVES
            and (len(record.moves) <= KEPT_PLIES or not record.has_history)  # a long one takes ms to replay, or to send
        )

    def _change(self, request: engine_pb2.PlayRequest) -> position_pb2.State:
        """Execute a command that changes the game; the state of the game afterwards."""
        command = request.WhichOneof("command")
        if command is None:
            raise BadCommand(f"a request without a command; commands are {COMMANDS}")
        if command == "new_game":
            self._new_game(request.new_game)
        record = self._open_session(command).record
        chance_moves = self._play(record, request.moves) if command == "moves" else ()
        if command == "take_back":
            record.take_back(request.take_back.plies if request.take_back.HasField("plies") else 1)
        return state_message(record, chance_moves)

    def _play(self, record: GameRecord, command: engine_pb2.MovesCommand) -> Sequence[str]:
        """Play moves, and let chance answer them if asked to; the moves that chance made."""
        if not command.moves and not command.with_chance:
            raise BadCommand("moves is empty; at least one move is needed")
        record.play(command.moves)
        return record.play_chance(command.seed if command.HasField("seed") else None) if command.with_chance else ()

    def _new_game(self, command: engine_pb2.NewGameCommand) -> None:
        record = GameRecord.read(self._runtime.engines, command.position, has_history=not command.without_history)
        session = Session(record, command.options, self._runtime, self._call.client, self._call.party)
        self._end_session()
        self._session = session
        self._call.note(game=record.engine.card.game)

    def _open_session(self, command: str) -> Session:
        """The session of the game; raises BadCommand if there is no game yet."""
        if self._session is None:
            raise BadCommand(f"{command} before new_game; the first command of a game is new_game")
        return self._session

    async def _go(self, request_id: int, session: Session, go: engine_pb2.GoCommand, limits: Limits) -> None:
        """Search: now if that takes no time, else in a task, while further commands are read."""
        priority = Priority.PONDER if go.ponder else Priority.NORMAL
        self._stop = Stop()
        self._has_limits = limits != Limits(max_lines=limits.max_lines)
        in_game = not go.use_store
        run = functools.partial(self._run_search, session, request_id, limits, priority, in_game=in_game)
        search = self._answer(request_id, run)
        if session.answers_at_once(limits):
            await search
        else:
            self._search = asyncio.ensure_future(search)

    def _play_on(self, request_id: int, session: Session, asked: Asked) -> None:
        """Let the engine play on in a task, while further commands are read."""
        self._stop, self._has_limits = Stop(), True
        self._search = asyncio.ensure_future(
            self._answer(request_id, functools.partial(self._run_play_on, session, request_id, asked))
        )

    async def _run_play_on(self, session: Session, request_id: int, asked: Asked) -> None:
        """Play and send what was played."""
        async with aclosing(play_on(session, asked, self._time_remaining(), self._stop)) as pieces:
            async for moves, made, final in pieces:
                state = await session.change(functools.partial(state_message, session.record))
                played = engine_pb2.PlayedOn(final=final, moves=moves, state=state, count=made)
                await self._send(engine_pb2.PlayResponse(id=request_id, played_on=played))

    async def _run_search(
        self, session: Session, request_id: int, limits: Limits, priority: Priority, *, in_game: bool
    ) -> None:
        """Search and send the reports."""
        search = session.reports(limits, self._time_remaining(), self._stop, priority, in_game=in_game)
        async with aclosing(search) as reports:
            async for timed in reports:
                if timed.memory_lost:
                    self._call.note(memory_lost=True)
                await self._send(engine_pb2.PlayResponse(id=request_id, report=report_message(*timed)))

    async def _answer(self, request_id: int, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work of a command, or send the error that ended it."""
        try:
            await work()
        except EngineError as error:
            await self._refuse(request_id, error)
        except Exception as error:
            log.exception("a command failed")
            await self._refuse(request_id, error)

    async def _refuse(self, request_id: int, error: Exception) -> None:
        fault = engine_pb2.CommandError(code=status_code(error).value[0], message=status_message(error))
        if isinstance(error, EngineError):
            fault.field = error.field
        if isinstance(error, Overloaded):
            fault.retry_after_ms = round(error.retry_seconds * 1000)
            self._runtime.observer.metrics.shed(error.reason, self._call.log_fields.get("client", ""))
        await self._send(engine_pb2.PlayResponse(id=request_id, error=fault))
