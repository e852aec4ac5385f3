"""Known reports: results of earlier searches, which answer the same question again without a search.

    question                                         report
    game, variant, position, options, lines, model   -> move, score and lines of the search that ended

Without a store, only a search that has finished with an exact score or a proven result is kept: another search of that
question could not find more. With a store, every final report is kept there, and recent ones in the table too; `store`
says which of them answer. Both keep reports on the image of a position that stands for all (see known_question); who
asks gets a report on the position asked about. A question with a limit on nodes or depth is never kept nor answered
from here, so that the same nodes give the same answer, whatever was asked before.
"""

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from plyd.engines.core.errors import BadMove
from plyd.engines.core.search import Proven, Report, StopReason
from plyd.servers.search.known.question import Question
from plyd.servers.search.known.store import ReportStore

Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_BYTES = 16 << 20  # of one table
MAX_SHARE = 64  # one entry takes at most this fraction of its table
ENTRY_BYTES = 512  # of an entry, besides its text and lines
LINE_BYTES = 512
MOVE_BYTES = 64
ENOUGH = 0.9  # of the time allowed: a search never has all of it
LOOKUP_SECONDS = 0.05  # for a look into the store; after that the search begins
MOST_LOOKUPS = 256  # that wait for the store at once


def is_proven(report: Report) -> bool:
    """Whether a report is final because nothing is left to find: its score is exact, or a proven result."""
    score = report.score
    return report.stop_reason is StopReason.FINISHED and (score.exact or isinstance(score.value, Proven))


class BoundedTable(Generic[Key, Value]):
    """A table of bounded size, which forgets what was not used for longest. Safe to use from several threads.

    Each entry counts at least ENTRY_BYTES, so that the bound on bytes is one on the number of entries too.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        """The value of a key, None if it is not known."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value whose key and content take `size` bytes, unless that is too large a share of the table."""
        size += ENTRY_BYTES
        if size > self.max_bytes // MAX_SHARE:
            return
        with self._lock:
            if key in self._entries:
                self.bytes -= self._entries.pop(key)[1]
            self._entries[key] = value, size
            self.bytes += size
            while self.bytes > self.max_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self.bytes -= freed


def is_deeper(report: Report, other: Report | None) -> bool:
    """Whether a report is to replace another one on the same question."""
    return other is None or _depth(report) > _depth(other)


def _depth(report: Report) -> tuple[bool, float]:
    return report.stop_reason is StopReason.FINISHED, report.seconds


def is_enough(report: Report, seconds: float | None) -> bool:
    """Whether a report answers a caller who allows so much time; None: only a proven one does."""
    if is_proven(report):
        return True
    return seconds is not None and (
        report.stop_reason is StopReason.FINISHED or report.seconds >= ENOUGH * max(0.0, seconds)
    )


class KnownReports:
    """The known reports of a daemon, by question: a table in memory and, if there is one, the store behind it."""

    def __init__(self, max_bytes: int = MAX_BYTES, store: ReportStore | None = None) -> None:
        self.table: BoundedTable[Question, Report] = BoundedTable(max_bytes)
        self._store = store
        self._lookups = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-lookup")

    def get(self, question: Question, seconds: float | None = None) -> Report | None:
        """The report in memory that answers a question, for a caller who allows so much time; None if there is none."""
        report = self.table.get(question)
        return question.asked(report) if report and is_enough(report, seconds) else None

    async def find(self, question: Question, seconds: float | None) -> Report | None:
        """The report that answers a question, from memory or from the store; None if there is none, or not soon."""
        known = self.get(question, seconds)
        store = self._store
        if known or store is None or store.is_blocked or self._lookups >= MOST_LOOKUPS:
            return known
        self._lookups += 1
        lookup = asyncio.get_running_loop().run_in_executor(self._thread, store.find, question)
        lookup.add_done_callback(lambda _: self._looked_up())
        await asyncio.wait({lookup}, timeout=LOOKUP_SECONDS)
        report = lookup.result() if lookup.done() else None
        if report is None:
            return None
        self._keep(question, report)
        return question.asked(report) if is_enough(report, seconds) else None

    def _looked_up(self) -> None:
        self._lookups -= 1

    def put(self, question: Question, report: Report) -> None:
        """Keep a final report if it is proven or, with a store, if anything was searched."""
        is_stored = self._store is not None and report.final and report.stop_reason is not StopReason.NO_SEARCH
        if not is_stored and not is_proven(report):
            return
        try:
            kept = question.kept(report)
        except BadMove:  # in a line of an outside program
            return
        self._keep(question, kept)
        if self._store and is_stored:
            self._store.put(question.key, kept)

    def _keep(self, question: Question, report: Report) -> None:
        if is_deeper(report, self.table.get(question)):
            lines = sum(LINE_BYTES + MOVE_BYTES * len(line.moves) for line in report.lines)
            self.table.put(question.key, report, len(question.position) + lines)

    def close(self) -> None:
        """Write what the store does not have yet, and end the threads."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._store:
            self._store.close()
