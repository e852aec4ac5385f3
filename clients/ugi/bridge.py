"""Carries out the commands of a UGI manager, one per line, and answers with the engine's moves."""

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine, Mapping
from importlib.metadata import version

from plyd.clients.library.bridges.bridge_engine import BridgeEngine, BridgeQuery, EnginePosition
from plyd.clients.library.bridges.line_bridge import one_line
from plyd.clients.library.errors import PlydError
from plyd.clients.library.report import Report
from plyd.clients.library.state import State
from plyd.clients.ugi.text import combo_line, info_of, option_line
from plyd.protocols.ugi import (
    NO_MOVE,
    RESPONSES,
    BadLine,
    GoCommand,
    PositionCommand,
    read_go,
    read_position,
    read_setoption,
)
from plyd.v1 import position_pb2

VARIANT = "variant"  # the option for the rules
LATE_SECONDS = 5.0  # after the end of a search, before its latest report is the answer
RESULTS = {
    position_pb2.OUTCOME_PLAYER_ONE_WINS: "p1win",
    position_pb2.OUTCOME_PLAYER_TWO_WINS: "p2win",
    position_pb2.OUTCOME_DRAW: "draw",
    position_pb2.OUTCOME_ENDED: "draw",
}


class UgiBridge:
    """Serves one manager: takes its lines, and sends answers through `say`."""

    def __init__(self, engine: BridgeEngine, say: Callable[[str], None], game: str, options: Mapping[str, str]) -> None:
        self._engine = engine
        self._say = say
        self._game = game
        self._options = dict(options)
        self._variant = ""
        self._position = PositionCommand()
        self._thinking: asyncio.Task[None] | None = None
        self._is_stopped = False  # the search that runs, or is about to
        self._is_endless = False  # it has no limit
        self._commands: dict[str, Callable[[str], Coroutine[None, None, None]]] = {
            "ugi": self._introduce,
            "isready": self._is_ready,
            "setoption": self._set_option,
            "uginewgame": self._new_game,
            "position": self._take_position,
            "go": self._go,
            "stop": lambda _: self._stop(),
            "query": self._query,
        }

    async def handle_line(self, line: str, arrived: float) -> None:  # noqa: ARG002
        """Carry out a line. Returns while a search still runs."""
        name, _, rest = line.strip().partition(" ")
        command = self._commands.get(name)
        try:
            if command:
                await command(rest.strip())
            elif name:
                raise BadLine(f"unknown command {name!a}; commands are {', '.join(self._commands)}, quit")
        except (BadLine, PlydError) as error:
            self._say(f"info string error: {one_line(str(error))}")

    async def finish(self) -> None:
        """Wait for the running search; stop one that has no end of its own, since nobody can stop it any more."""
        if self._thinking:
            if self._is_endless:
                await self._stop()
            await asyncio.wait({self._thinking})

    async def close(self) -> None:
        """Cancel the running search without an answer, and disconnect."""
        await self._cancel_search()
        await self._engine.close()

    async def _introduce(self, _: str) -> None:
        await self._make_ready()
        self._say(f"id name plyd {version('plyd-client')} {self._game}")
        self._say("id author the plyd contributors")
        self._say(combo_line(VARIANT, self._engine.variants))
        for option in self._engine.known.values():
            self._say(option_line(option))
        self._say("ugiok")

    async def _is_ready(self, _: str) -> None:
        await self._make_ready()
        self._say("readyok")

    async def _make_ready(self) -> None:
        """Wait for the daemon, once: later the stream of the game must stay as it is."""
        if not self._engine.variants:
            await self._engine.ready(self._options)

    async def _set_option(self, rest: str) -> None:
        name, value = read_setoption(rest)
        await self._cancel_search()
        await self._make_ready()
        if name == VARIANT:
            if value not in self._engine.variants:
                raise BadLine(f"unknown variant {value!a}; variants are {', '.join(self._engine.variants)}")
            self._variant = value
        else:
            await self._engine.ready({**self._options, name: value})  # it refuses what it does not know
            self._options[name] = value

    async def _new_game(self, _: str) -> None:
        await self._cancel_search()
        self._position = PositionCommand()

    async def _take_position(self, rest: str) -> None:
        position = read_position(rest)
        await self._cancel_search()
        self._position = position

    async def _go(self, rest: str) -> None:
        limits = read_go(rest)
        await self._cancel_search()
        self._is_stopped = False
        self._is_endless = limits.infinite
        self._thinking = asyncio.ensure_future(self._search(limits))

    async def _stop(self) -> None:
        self._is_stopped = True
        if self._is_thinking():
            await self._engine.stop()

    async def _query(self, rest: str) -> None:
        if self._is_thinking():
            raise BadLine("a query while a search runs; stop it first")
        if rest not in ("gameover", "p1turn", "result"):
            raise BadLine(f"unknown query {rest!a}; queries are gameover, p1turn and result")
        state = await self._state()
        if rest == "result":
            self._say(f"response {RESULTS.get(state.outcome, 'none')}")
        elif rest == "gameover":
            self._say(f"response {RESPONSES[state.outcome != position_pb2.OUTCOME_ONGOING]}")
        else:
            self._say(f"response {RESPONSES[state.to_move == position_pb2.SIDE_PLAYER_ONE]}")

    async def _search(self, limits: GoCommand) -> None:
        """Search, and send the move whatever happens."""
        latest: Report | None = None
        loop = asyncio.get_running_loop()
        try:
            side = (await self._state()).to_move

            def keep(report: Report) -> None:
                nonlocal latest
                latest = report
                self._say(str(info_of(report, side)))

            seconds = math.inf if limits.movetime is None else limits.movetime / 1000
            query = self._question(limits, is_first=side != position_pb2.SIDE_PLAYER_TWO)
            end = loop.time() + (0.0 if self._is_stopped else seconds)
            await self._engine.search(query, end, end + LATE_SECONDS, keep)
        except TimeoutError:
            self._say("info string error: the engine is late")
        except PlydError as error:
            self._say(f"info string error: {one_line(str(error))}")
        self._say(f"bestmove {latest.move if latest and latest.move else NO_MOVE}")

    async def _state(self) -> State:
        return await self._engine.state(self._question(GoCommand()))

    def _question(self, limits: GoCommand, *, is_first: bool = True) -> BridgeQuery:
        time, increment = (limits.p1time, limits.p1inc) if is_first else (limits.p2time, limits.p2inc)
        return BridgeQuery(
            EnginePosition(self._position.start, self._position.moves),
            self._variant,
            self._options,
            limits.nodes,
            limits.depth,
            None if time is None else max(time, 0) / 1000,
            max(increment or 0, 0) / 1000,
        )

    def _is_thinking(self) -> bool:
        return self._thinking is not None and not self._thinking.done()

    async def _cancel_search(self) -> None:
        """Cancel the running search, if there is one, without an answer."""
        if self._thinking:
            self._thinking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._thinking
            self._thinking = None
