"""Carries out the commands of a Gomocup manager, one per line, and answers with the engine's moves."""

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine, Mapping
from importlib.metadata import version
from random import Random

from plyd.clients.gomocup.board import CommandRejected, GomocupBoard
from plyd.clients.gomocup.swap2 import swap2
from plyd.clients.gomocup.text import SearchPrinter, StoneList, point_of, quoted, report_text
from plyd.clients.gomocup.time_control import GomocupClock, MoveDeadlines, is_easy
from plyd.clients.library.bridges.bridge_engine import BridgeEngine, BridgeQuery, EnginePosition
from plyd.clients.library.bridges.line_bridge import one_line
from plyd.clients.library.errors import PlydError
from plyd.clients.library.report import Report
from plyd.protocols.gomocup import CARO, OPPONENT, OWN, POINT, STONE, Point, read_point, variant_of

ABOUT = f'name="plyd", version="{version("plyd-client")}", author="the plyd contributors", country="international"'
WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
CLOCK_KEYS = {"timeout_turn", "timeout_match", "time_left"}
LIMIT_KEYS = {
    "max_memory": "memory",
    "max_node": "nodes",  # this key and the next two are an extension of some managers
    "max_depth": "depth",
    "thread_num": "threads",
}
MAX_DEPTH = 1000  # plies; the engine accepts no larger limit
DAEMON_MEGABYTES = 200  # memory of a daemon besides that of its engine
KNOWN_KEYS = {"rule", *CLOCK_KEYS, *LIMIT_KEYS}
SIDE_COMMANDS = {"INFO", "ABOUT", "STOP", "YXSTOP"}  # interrupt neither a search nor a list of stones
TICK_SECONDS = 0.01  # between looks at how late this process runs
START_NOTICE_SECONDS = 2.0  # before the manager gets a message about the slow start


class GomocupBridge:
    """Serves one manager: takes its lines, and sends answers through `say`."""

    def __init__(
        self, engine: BridgeEngine, say: Callable[[str], None], default_ms: int, options: Mapping[str, str]
    ) -> None:
        self._engine = engine
        self._say = say
        self._options = dict(options)
        self._clock = GomocupClock(default_ms)
        self._board: GomocupBoard | None = None
        self._rule = 0
        self._limits: dict[str, int] = {}  # the manager's limits other than time
        self._notes: list[str] = []  # sent before the next move, because managers do not read answers to INFO
        self._stone_list: StoneList | None = None  # while the manager lists stones
        self._thinking: asyncio.Task[None] | None = None
        self._since = 0.0  # start time of the current command, by the loop's clock
        self._began = 0.0  # start time of the command that is being searched
        self._random = Random()
        self._commands: dict[str, Callable[[str], Coroutine[None, None, None]]] = {
            "START": self._start,
            "RECTSTART": self._rect_start,
            "RESTART": lambda _: self._start_game(self._started_board().size),
            "BEGIN": lambda _: self._think(),
            "TURN": self._turn,
            "PLAY": self._play,
            "TAKEBACK": self._takeback,
            "BOARD": lambda _: self._begin_list("BOARD", STONE),
            "YXBOARD": lambda _: self._begin_list("YXBOARD", STONE),
            "SWAP2BOARD": lambda _: self._begin_list("SWAP2BOARD", POINT),
            "INFO": self._info,
            "ABOUT": lambda _: self._about(),
            "STOP": lambda _: self._stop(),
            "YXSTOP": lambda _: self._stop(),
        }

    async def handle_line(self, line: str, arrived: float) -> None:
        """Carry out a line that arrived at a time by the loop's clock. Returns while a search still runs."""
        line = line.strip()
        name, _, rest = line.partition(" ")
        command = self._commands.get(name.upper())
        if name.upper() not in SIDE_COMMANDS:
            self._since = max(arrived, self._since)
        try:
            if self._stone_list and command and name.upper() not in SIDE_COMMANDS:
                self._say(f"ERROR {self._stone_list.name} without DONE is ignored")
                self._stone_list = None
            if command:
                await command(rest.strip())
            elif self._stone_list and line:
                await self._continue_list(line)
            elif line:
                self._say(f"UNKNOWN command {quoted(line)}")
        except CommandRejected as error:
            self._say(f"ERROR {one_line(str(error))}")

    async def finish(self) -> None:
        """Wait for nothing: a manager that has gone wants no move."""

    async def close(self) -> None:
        """Cancel the running search without an answer, and disconnect."""
        await self._cancel_search()
        await self._engine.close()

    async def _start(self, rest: str) -> None:
        if not WHOLE.fullmatch(rest):
            raise CommandRejected(f"START needs the board size, such as START 15, not {quoted(rest)}")
        await self._start_game(int(rest))

    async def _rect_start(self, rest: str) -> None:
        size = read_point(rest)
        if not size:
            raise CommandRejected(f"RECTSTART needs columns and rows, such as RECTSTART 15,15, not {quoted(rest)}")
        columns, rows = size
        if columns != rows:
            raise CommandRejected(f"{columns} columns and {rows} rows; only square boards are supported")
        await self._start_game(rows)

    async def _start_game(self, size: int) -> None:
        """Start a game as soon as the engine is ready."""
        board, loop = GomocupBoard(size), asyncio.get_running_loop()
        await self._cancel_search()
        self._board = None
        message = "MESSAGE the engine is starting; the first start compiles kernels and takes longer"
        notice = loop.call_later(START_NOTICE_SECONDS, self._say, message)
        try:
            await self._engine.ready(self._options)
        except PlydError as error:
            raise CommandRejected(str(error)) from None
        finally:
            notice.cancel()
            self._since = loop.time()  # the time of later commands starts here
        self._board = board
        self._clock.restart()
        self._say("OK")

    async def _turn(self, rest: str) -> None:
        board, point = self._started_board(), point_of("TURN", rest)
        board.check_empty(point)
        await self._cancel_search()
        board.put(point, OPPONENT)
        await self._think()

    async def _play(self, rest: str) -> None:
        board, point = self._started_board(), point_of("PLAY", rest)
        board.check_empty(point)
        await self._cancel_search()
        board.put(point, OWN)
        self._say(str(point))

    async def _takeback(self, rest: str) -> None:
        board, point = self._started_board(), point_of("TAKEBACK", rest)
        board.check_stone(point)
        await self._cancel_search()
        board.take(point)
        self._say("OK")

    async def _about(self) -> None:
        self._say(ABOUT)

    async def _stop(self) -> None:
        if self._is_thinking():
            await self._engine.stop()

    async def _info(self, rest: str) -> None:
        """Store a setting. Errors are reported with the next move; unknown keys are ignored."""
        key, _, value = rest.partition(" ")
        key, value = key.lower(), value.strip()
        if key not in KNOWN_KEYS:
            return
        if not WHOLE.fullmatch(value):
            self._notes.append(f"MESSAGE INFO {key} needs a whole number, not {quoted(value)}")
        elif key == "rule":
            self._take_rule(int(value))
        elif key in LIMIT_KEYS:
            self._limits[LIMIT_KEYS[key]] = max(int(value), 0)
        else:
            self._take_time(key, int(value))

    def _take_rule(self, rule: int) -> None:
        if rule & CARO and rule != self._rule:
            self._notes.append(f"ERROR caro is not supported; playing {variant_of(rule)}")
        self._rule = rule

    def _take_time(self, key: str, milliseconds: int) -> None:
        if key == "timeout_turn":
            self._clock.turn_ms = milliseconds
        elif key == "timeout_match":
            self._clock.match_ms = milliseconds
        else:
            self._clock.set_left(milliseconds)
        self._shorten_search()

    def _shorten_search(self) -> None:
        """Stop the running search at its new deadline, if the time limit has become shorter."""
        if self._is_thinking():
            loop, task = asyncio.get_running_loop(), self._thinking
            end = self._began + self._deadlines().search
            loop.call_at(end, lambda: loop.create_task(self._stop()) if self._thinking is task else None)

    def _is_thinking(self) -> bool:
        return self._thinking is not None and not self._thinking.done()

    def _started_board(self) -> GomocupBoard:
        if not self._board:
            raise CommandRejected("no board; send START first, such as START 15")
        return self._board

    async def _begin_list(self, name: str, form: re.Pattern[str]) -> None:
        stone_list = StoneList(name, form, self._started_board().size)
        await self._cancel_search()
        self._stone_list = stone_list

    async def _continue_list(self, line: str) -> None:
        """Read one line of a list of stones; at DONE, carry out the list's command."""
        stone_list = self._stone_list
        assert stone_list
        if line.upper() != "DONE":
            stone_list.add(line)
            return
        self._stone_list = None
        if stone_list.error:
            raise CommandRejected(stone_list.error)
        if stone_list.name == "SWAP2BOARD":
            self._begin_thinking(self._answer_swap2(list(stone_list.stones)))
            return
        self._started_board().set_up(stone_list.stones)
        if stone_list.name == "BOARD":
            await self._think()

    async def _cancel_search(self) -> None:
        """Cancel the running search, if there is one."""
        if self._thinking:
            self._thinking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._thinking
            self._thinking = None

    async def _think(self) -> None:
        """Start a search. Its move is sent when it ends, unless another command cancels it."""
        board = self._started_board()
        await self._cancel_search()
        if not board.nearest():
            raise CommandRejected("the board is full")
        self._begin_thinking(self._answer(board))

    def _begin_thinking(self, answer: Coroutine[None, None, None]) -> None:
        self._began = self._since
        self._thinking = asyncio.ensure_future(answer)

    async def _answer(self, board: GomocupBoard) -> None:
        """Search, and send a move before the deadline, whatever happens."""
        self._say_notes()
        position, allowed = board.position(), self._deadlines()
        report = await self._ask(position, self._began + allowed.search, self._began + allowed.answer)
        point = board.point_of(report.move) if report else None
        if report and point:
            self._say(f"MESSAGE {report_text(report, position, board)}")
        if self._engine.trouble:
            self._say(f"MESSAGE {one_line(self._engine.trouble)}")
        if not point or point in board.stones():
            self._say("MESSAGE no move from the engine; playing the empty point nearest to the centre of the stones")
            point = board.nearest()
            assert point
        board.put(point, OWN)
        self._clock.spent(asyncio.get_running_loop().time() - self._began, allowed.search)
        self._say(str(point))

    async def _answer_swap2(self, stones: list[Point]) -> None:
        self._say_notes()
        size, allowed = self._started_board().size, self._deadlines()

        async def ask(position: EnginePosition, end: float) -> Report | None:
            return await self._ask(position, end, end + allowed.answer - allowed.search)

        try:
            words = await swap2(stones, size, self._began + allowed.search, ask, self._random)
        except CommandRejected as error:
            words = f"ERROR {error}"
        if self._engine.trouble:
            self._say(f"MESSAGE {one_line(self._engine.trouble)}")
        self._clock.spent(asyncio.get_running_loop().time() - self._began)
        self._say(words)

    async def _ask(self, position: EnginePosition, end: float, late: float) -> Report | None:
        """The last report of a search with the deadline `end`, or the latest one at `late`."""
        printer = SearchPrinter(position, self._started_board(), self._say)
        watch = asyncio.ensure_future(self._watch(printer, end))
        try:
            await self._engine.search(self._query(position), end, late, printer.add)
        except TimeoutError:
            self._engine.trouble = self._engine.trouble or "the engine is late"
        except Exception as error:  # a move must be sent in any case
            self._engine.trouble = str(error) or type(error).__name__
        finally:
            watch.cancel()
        printer.close()
        return printer.latest

    async def _watch(self, printer: SearchPrinter, end: float) -> None:
        """Stop the search early if this process runs late, or, with a match clock, if the move is easy."""
        loop, move, since = asyncio.get_running_loop(), None, 0.0
        while True:
            before = loop.time()
            await asyncio.sleep(TICK_SECONDS)
            now = loop.time()
            if self._clock.felt(now - before - TICK_SECONDS):
                self._shorten_search()
            if printer.latest and printer.latest.move != move:
                move, since = printer.latest.move, now - self._began
            if move and self._clock.has_match_limit and is_easy(since, now - self._began, end - self._began):
                await self._stop()
                return

    def _query(self, position: EnginePosition) -> BridgeQuery:
        nodes, depth = self._limits.get("nodes"), self._limits.get("depth")
        depth = min(depth, MAX_DEPTH) if depth else None
        return BridgeQuery(
            position, variant_of(self._rule), {**self._manager_options(), **self._options}, nodes or None, depth
        )

    def _manager_options(self) -> dict[str, str]:
        """Engine options that follow from the manager's limits."""
        managed, known = {}, self._engine.known
        if (threads := self._limits.get("threads")) and "threads" in known:
            managed["threads"] = str(min(threads, round(known["threads"].maximum)))
        if (limit := self._limits.get("memory")) and "memory" in known:
            most, least = int(known["memory"].default_value), round(known["memory"].minimum)
            managed["memory"] = str(max(least, min(most, (limit >> 20) - DAEMON_MEGABYTES)))
        return managed

    def _deadlines(self) -> MoveDeadlines:
        return self._clock.deadlines(self._started_board().own_count())

    def _say_notes(self) -> None:
        notes, self._notes = self._notes, []
        for note in notes:
            self._say(note)
