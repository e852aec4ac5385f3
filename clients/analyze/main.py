"""The two ways to use `plyd analyze`: queries from stdin, and game files."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from plyd.clients.analyze.answer import CSV_COLUMNS, Answer, as_csv, as_json, csv_row, error_answer
from plyd.clients.analyze.engines import Engines
from plyd.clients.analyze.pipes import LineReader, LineWriter, resume_file
from plyd.clients.analyze.progress import progress_bar
from plyd.clients.analyze.query import Action, BadQuery, Query, bytes_of, parse_line, with_file
from plyd.clients.analyze.review import review_query, review_rows, review_table, save_plot
from plyd.clients.analyze.work import WorkQueue, finished
from plyd.clients.formats.files import count_games
from plyd.clients.library.errors import PlydError

STDIN, STDOUT = 0, 1


class Interrupt:
    """Whether the user, or the end of our output, wants us to stop; and the exit status that tells so."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.status = 0
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled, number)

    def _signalled(self, number: int) -> None:
        asyncio.get_running_loop().remove_signal_handler(number)  # a second one ends the process at once
        self.stop(128 + number)

    def stop(self, status: int = 0) -> None:
        """End soon, with this exit status."""
        self.status = self.status or status
        self.event.set()

    async def or_done(self, work: Any, queue: WorkQueue) -> bool:
        """Whether a coroutine has ended before we are to stop; it is cancelled if not. Raises what breaks the queue."""
        task, broken = asyncio.ensure_future(work), asyncio.ensure_future(queue.broken())
        stopping = asyncio.ensure_future(self.event.wait())
        await asyncio.wait({task, stopping, broken}, return_when=asyncio.FIRST_COMPLETED)
        ended = {one for one in (task, broken) if one.done()}
        for one in (task, broken, stopping):
            one.cancel()
        await asyncio.wait({task, broken})
        for one in ended:
            one.result()  # raises what it raised
        return task in ended


async def answer_queries(defaults: Query, options: Mapping[str, Any], source: int = STDIN, sink: int = STDOUT) -> int:
    """Answer the queries of a file descriptor on another one; the exit status: 1 if some query ended in an error."""
    interrupt = Interrupt()
    file, earlier = resume_file(options["resume"]) if options["resume"] else (sink, [])
    writer = LineWriter(file, interrupt.stop)
    engines = Engines(options["connect"], options["store"])
    write = _csv_writer(writer) if options["as_csv"] else lambda answer: writer.put(as_json(answer))
    queue = queue_of(engines, write, options)
    lines = QueryLines(queue, engines, defaults, write, writer.room, finished(earlier))
    try:
        await engines.check()
        async with queue.working(), progress_bar(queue):
            if not await interrupt.or_done(lines.answer_all(LineReader(source)), queue):
                queue.terminate()
                await queue.idle()
    finally:
        await engines.close()
        await writer.close()
        if options["resume"]:
            os.close(file)
    if writer.fault and not isinstance(writer.fault, BrokenPipeError):
        raise writer.fault
    errors = queue.errors + lines.errors
    if errors and options["resume"]:
        click.echo(f"{errors} of the answers are errors: see {options['resume']}", err=True)
    return interrupt.status or int(errors > 0)


def queue_of(engines: Engines, answer: Callable[[Answer], None], options: Mapping[str, Any]) -> WorkQueue:
    """The queue of turns: for daemons, or for a cluster."""
    if options.get("fleet") is None:
        return WorkQueue(engines, answer, options["workers"])
    from plyd.clients.analyze.cluster import ClusterQueue

    return ClusterQueue(engines, answer, options["fleet"])


def _csv_writer(writer: LineWriter) -> Callable[[Answer], None]:
    """A function that writes final answers as CSV."""
    writer.put(as_csv([list(CSV_COLUMNS)]))
    return lambda answer: writer.put(as_csv([csv_row(answer)])) if answer.get("final") else None


class QueryLines:
    """Does what the lines of stdin say."""

    def __init__(
        self,
        queue: WorkQueue,
        engines: Engines,
        defaults: Query,
        write: Callable[[Answer], None],
        room: Callable[[], Awaitable[None]],
        done: Mapping[str, set[int]],
    ) -> None:
        self._queue = queue
        self._engines = engines
        self._defaults = defaults
        self._write = write
        self._room = room  # waits until what was written is read
        self._done = done
        self.errors = 0

    async def answer_all(self, reader: LineReader) -> None:
        """Answer every line until the end of the input."""
        number = 0
        async for line in reader.lines():
            number += 1
            if line.strip():
                await self._room()
                await self._queue.room()
                await self._answer(line, number)
        await self._queue.idle()

    async def _answer(self, line: bytes, number: int) -> None:
        try:
            match parse_line(line, self._defaults):
                case Query() as query:
                    self._queue.add(query, self._done.get(query.id, set()))
                case action:
                    self._write(await self._act(action))
        except BadQuery as error:
            self.errors += 1
            self._write(error_answer(error.query_id, error, line=number))

    async def _act(self, action: Action) -> Answer:
        """Do what an action says; its answer."""
        match action.action:
            case "terminate":
                self._queue.terminate(action.terminate_id, action.turns)
            case "terminate_all":
                self._queue.terminate(turns=action.turns)
            case "clear":
                self._queue.terminate(waiting=True)
            case _:
                return {**action.echo, "version": version("plyd-client"), "daemons": await self._daemons()}
        return dict(action.echo)

    async def _daemons(self) -> list[Answer]:
        """The daemons in use: none before the first query, where they are private."""
        try:
            described = await self._engines.describe()
        except PlydError:
            return []
        return [
            {"version": one.daemon.version, "slots": one.daemon.slots, "games": [info.game for info in one.engines]}
            for one in described
        ]


async def review_files(files: Sequence[Path], defaults: Query, options: Mapping[str, Any]) -> int:
    """Review game files and print a table of each; the exit status."""
    files = list(dict.fromkeys(files))
    queries = [review_query(with_file(defaults, path), str(path)) for path in files]
    for path in files:
        if (count := count_games(path.name, bytes_of(path))) > 1:
            click.echo(f"{path} holds {count} games; this is the first (others: fileGame of a query)", err=True)
    interrupt = Interrupt()
    answers: dict[str, dict[int, Answer]] = {query.id: {} for query in queries}
    failures: dict[str, Answer] = {}  # the first of each game

    def keep(answer: Answer) -> None:
        if "score" in answer:
            answers[answer["id"]][answer["turn"]] = answer
        elif "error" in answer and answer["id"] not in failures:
            failures[answer["id"]] = answer
            queue.terminate(answer["id"])  # the rest of a game with an illegal move would only repeat it
            if "field" not in answer:  # it is no fault of this game: the daemon is away, for example
                interrupt.stop(1)

    engines = Engines(options["connect"], options["store"])
    queue = queue_of(engines, keep, options)
    try:
        await engines.check()
        async with queue.working(), progress_bar(queue):
            for query in queries:
                queue.add(query)
            if not await interrupt.or_done(queue.idle(), queue):
                queue.terminate()
                await queue.idle()
    finally:
        await engines.close()
    for query in queries:
        rows = review_rows(query, answers[query.id])
        _print(as_csv([*rows]) if options["as_csv"] else review_table(query.id if len(queries) > 1 else "", rows))
        if options["plot"]:
            save_plot(options["plot"], query, rows)
    for name, failure in failures.items():
        click.echo(f"Error: {name}, turn {failure['turn']}: {failure['error']}", err=True)
    return interrupt.status or int(bool(failures))


def _print(text: str) -> None:
    """Print on stdout, unless nobody reads it."""
    try:
        click.echo(text, nl=False)
    except BrokenPipeError:
        os._exit(0)
