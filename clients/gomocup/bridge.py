"""Gomocup commands, one a line, obeyed: the manager's words in, ours out, the engine asked in between."""

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine, Mapping
from importlib.metadata import version
from random import Random

from plyd.clients.gomocup.board import OPPONENT, OWN, Point, Setup, Table, Wrong
from plyd.clients.gomocup.engine import Brain, Question
from plyd.clients.gomocup.swap2 import swap2
from plyd.clients.gomocup.text import POINT, STONE, Diary, Listing, one_line, point_of, quoted, report_words
from plyd.clients.gomocup.time_control import Allowance, Clock
from plyd.clients.library.errors import PlydError
from plyd.clients.library.requests import Report

ABOUT = f'name="plyd", version="{version("plyd")}", author="the plyd contributors", country="international"'
WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
EXACTLY_FIVE, RENJU, CARO = 1, 4, 8  # bits of INFO rule
CLOCK_KEYS = {"timeout_turn", "timeout_match", "time_left"}
LIMIT_KEYS = {
    "max_memory": "memory",
    "max_node": "nodes",  # this one and the next two are an extension that some managers know
    "max_depth": "depth",
    "thread_num": "threads",
}
MOST_DEPTH = 1000  # and more than that is no limit on any board
OTHER_MEGABYTES = 200  # that a daemon has besides its engine's memory
INFO_KEYS = {"rule", *CLOCK_KEYS, *LIMIT_KEYS}
ASIDES = {"INFO", "ABOUT", "STOP", "YXSTOP"}  # disturb neither a search nor a list of stones
START_TALK_SECONDS = 2.0  # before the manager is told what it waits for


def variant_of(rule: int) -> str:
    """The variant that the bits of INFO rule stand for."""
    return "renju" if rule & RENJU else "standard" if rule & EXACTLY_FIVE else "freestyle"


class Bridge:
    """Obeys one manager."""

    def __init__(self, brain: Brain, say: Callable[[str], None], default_ms: int, options: Mapping[str, str]) -> None:
        self._brain = brain
        self._say = say
        self._options = dict(options)
        self._clock = Clock(default_ms)
        self._table: Table | None = None
        self._rule = 0
        self._limits: dict[str, int] = {}  # other than time, if the manager sets any
        self._notes: list[str] = []  # to be told before the next move, since nobody reads after INFO
        self._listing: Listing | None = None  # stones, while the manager lists them
        self._thinking: asyncio.Task[None] | None = None
        self._since = 0.0  # when the time for the command at hand began, by the loop's clock
        self._began = 0.0  # the same for the command that we think about
        self._random = Random()
        self._commands: dict[str, Callable[[str], Coroutine[None, None, None]]] = {
            "START": self._start,
            "RECTSTART": self._rect_start,
            "RESTART": lambda _: self._open(self._begun().size),
            "BEGIN": lambda _: self._think(),
            "TURN": self._turn,
            "PLAY": self._play,
            "TAKEBACK": self._take_back,
            "BOARD": lambda _: self._begin_list("BOARD", STONE),
            "YXBOARD": lambda _: self._begin_list("YXBOARD", STONE),
            "SWAP2BOARD": lambda _: self._begin_list("SWAP2BOARD", POINT),
            "INFO": self._info,
            "ABOUT": lambda _: self._about(),
            "STOP": lambda _: self._stop(),
            "YXSTOP": lambda _: self._stop(),
        }

    async def obey(self, line: str, arrived: float) -> None:
        """Do what a line says that arrived at a time by the loop's clock. Returns while a search still runs."""
        line = line.strip()
        name, _, rest = line.partition(" ")
        command = self._commands.get(name.upper())
        if name.upper() not in ASIDES:
            self._since = max(arrived, self._since)
        try:
            if self._listing and command and name.upper() not in ASIDES:
                self._say(f"ERROR {self._listing.name} has no DONE; it is passed over")
                self._listing = None
            if command:
                await command(rest.strip())
            elif self._listing and line:
                await self._continue_list(line)
            elif line:
                self._say(f"UNKNOWN {quoted(line)} is no command")
        except Wrong as error:
            self._say(f"ERROR {one_line(str(error))}")

    async def close(self) -> None:
        """Give up the search that runs, without a word."""
        await self._halt()
        await self._brain.close()

    async def _start(self, rest: str) -> None:
        if not WHOLE.fullmatch(rest):
            raise Wrong(f"START has the board's size, as in START 15, not {quoted(rest)}")
        await self._open(int(rest))

    async def _rect_start(self, rest: str) -> None:
        found = POINT.fullmatch(rest)
        if not found:
            raise Wrong(f"RECTSTART has columns and rows, as in RECTSTART 15,15, not {quoted(rest)}")
        columns, rows = int(found[1]), int(found[2])
        if columns != rows:
            raise Wrong(f"{columns} columns and {rows} rows; boards are square, such as 15 or 20")
        await self._open(rows)

    async def _open(self, size: int) -> None:
        """Begin a game, as soon as the engine is ready."""
        table, loop = Table(size), asyncio.get_running_loop()
        await self._halt()
        self._table = None
        words = "MESSAGE the engine starts; the first time it compiles for a while"
        talk = loop.call_later(START_TALK_SECONDS, self._say, words)
        try:
            await self._brain.ready(self._options)
        except PlydError as error:
            raise Wrong(str(error)) from None
        finally:
            talk.cancel()
            self._since = loop.time()  # no later command's time began before
        self._table = table
        self._clock.restart()
        self._say("OK")

    async def _turn(self, rest: str) -> None:
        table, point = self._begun(), point_of("TURN", rest)
        table.check_empty(point)
        await self._halt()
        table.put(point, OPPONENT)
        await self._think()

    async def _play(self, rest: str) -> None:
        table, point = self._begun(), point_of("PLAY", rest)
        table.check_empty(point)
        await self._halt()
        table.put(point, OWN)
        self._say(str(point))

    async def _take_back(self, rest: str) -> None:
        table, point = self._begun(), point_of("TAKEBACK", rest)
        table.check_stone(point)
        await self._halt()
        table.take(point)
        self._say("OK")

    async def _about(self) -> None:
        self._say(ABOUT)

    async def _stop(self) -> None:
        if self._is_thinking():
            await self._brain.stop()

    async def _info(self, rest: str) -> None:
        """Take note. What cannot be is told with the next move; what is not known is passed over."""
        key, _, value = rest.partition(" ")
        key, value = key.lower(), value.strip()
        if key not in INFO_KEYS:
            return
        if not WHOLE.fullmatch(value):
            self._notes.append(f"MESSAGE INFO {key} has a whole number, not {quoted(value)}")
        elif key == "rule":
            self._take_rule(int(value))
        elif key in LIMIT_KEYS:
            self._limits[LIMIT_KEYS[key]] = max(int(value), 0)
        else:
            self._take_time(key, int(value))

    def _take_rule(self, rule: int) -> None:
        if rule & CARO and rule != self._rule:
            self._notes.append(f"ERROR caro is not supported; we play {variant_of(rule)}")
        self._rule = rule

    def _take_time(self, key: str, milliseconds: int) -> None:
        if key == "timeout_turn":
            self._clock.turn_ms = milliseconds
        elif key == "timeout_match":
            self._clock.match_ms = milliseconds
        else:
            self._clock.set_left(milliseconds)
        self._hurry()

    def _hurry(self) -> None:
        """If there is less time than there was when we began to think, stop in time."""
        if self._is_thinking():
            loop, task = asyncio.get_running_loop(), self._thinking
            end = self._began + self._allowance().search
            loop.call_at(end, lambda: loop.create_task(self._stop()) if self._thinking is task else None)

    def _is_thinking(self) -> bool:
        return self._thinking is not None and not self._thinking.done()

    def _begun(self) -> Table:
        if not self._table:
            raise Wrong("no board yet; say START 15 first")
        return self._table

    async def _begin_list(self, name: str, form: re.Pattern[str]) -> None:
        listing = Listing(name, form, self._begun().size)
        await self._halt()
        self._listing = listing

    async def _continue_list(self, line: str) -> None:
        """Take one line of a list of stones; at DONE, do what the list is for."""
        listing = self._listing
        assert listing
        if line.upper() != "DONE":
            listing.add(line)
            return
        self._listing = None
        if listing.wrong:
            raise Wrong(listing.wrong)
        if listing.name == "SWAP2BOARD":
            self._begin_thinking(self._answer_swap2(list(listing.stones)))
            return
        self._begun().set_up(listing.stones)
        if listing.name == "BOARD":
            await self._think()

    async def _halt(self) -> None:
        """Give up the search that runs, if one does."""
        if self._thinking:
            self._thinking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._thinking
            self._thinking = None

    async def _think(self) -> None:
        """Begin to search for a move. The answer comes by itself, or never if another command comes first."""
        table = self._begun()
        await self._halt()
        if not table.nearest():
            raise Wrong("the board is full")
        self._begin_thinking(self._answer(table))

    def _begin_thinking(self, answer: Coroutine[None, None, None]) -> None:
        self._began = self._since
        self._thinking = asyncio.ensure_future(answer)

    async def _answer(self, table: Table) -> None:
        """Search, and say a move in time, whatever happens."""
        self._tell_notes()
        setup, allowed = table.setup(), self._allowance()
        report = await self._ask(setup, self._began + allowed.search, self._began + allowed.answer)
        point = table.point_of(report.move) if report else None
        if report and point:
            self._say(f"MESSAGE {report_words(report, setup, table)}")
        if self._brain.trouble:
            self._say(f"MESSAGE {one_line(self._brain.trouble)}")
        if not point or point in table.stones():
            self._say("MESSAGE the engine has no move; this one is not its own")
            point = table.nearest()
            assert point
        table.put(point, OWN)
        self._clock.spent(asyncio.get_running_loop().time() - self._began, allowed.search)
        self._say(str(point))

    async def _answer_swap2(self, stones: list[Point]) -> None:
        self._tell_notes()
        size, allowed = self._begun().size, self._allowance()

        async def ask(setup: Setup, end: float) -> Report | None:
            return await self._ask(setup, end, end + allowed.answer - allowed.search)

        try:
            words = await swap2(stones, size, self._began + allowed.search, ask, self._random)
        except Wrong as error:
            words = f"ERROR {error}"
        if self._brain.trouble:
            self._say(f"MESSAGE {one_line(self._brain.trouble)}")
        self._clock.spent(asyncio.get_running_loop().time() - self._began)
        self._say(words)

    async def _ask(self, setup: Setup, end: float, late: float) -> Report | None:
        """The last report of a search that ends at `end`, or what there is of it when it is late."""
        diary = Diary(setup, self._begun(), self._say)
        try:
            await self._brain.search(self._question(setup), end, late, diary.note)
        except TimeoutError:
            self._brain.trouble = self._brain.trouble or "the engine is late"
        except Exception as error:  # a move is owed, whatever happens
            self._brain.trouble = str(error) or type(error).__name__
        diary.close()
        return diary.latest

    def _question(self, setup: Setup) -> Question:
        nodes, depth = self._limits.get("nodes"), self._limits.get("depth")
        depth = min(depth, MOST_DEPTH) if depth else None
        return Question(setup, variant_of(self._rule), {**self._managed(), **self._options}, nodes or None, depth)

    def _managed(self) -> dict[str, str]:
        """Options of the engine that follow from what the manager said."""
        managed, known = {}, self._brain.known
        if (threads := self._limits.get("threads")) and "threads" in known:
            managed["threads"] = str(min(threads, round(known["threads"].maximum)))
        if (limit := self._limits.get("memory")) and "memory" in known:
            most, least = int(known["memory"].default_value), round(known["memory"].minimum)
            managed["memory"] = str(max(least, min(most, (limit >> 20) - OTHER_MEGABYTES)))
        return managed

    def _allowance(self) -> Allowance:
        return self._clock.allowance(self._begun().own_count())

    def _tell_notes(self) -> None:
        notes, self._notes = self._notes, []
        for note in notes:
            self._say(note)
