"""The store: final reports by question in a database, kept across restarts and shared by daemons.

A report answers a question if it is proven; or, in Search and Analyze, if nothing was left to find, or if the search
had at least ENOUGH of the time that the caller now allows. Of two reports on one question the deeper one is kept: the
one that had finished, else the one that took longer.

Reports are kept for the image of a position that stands for all (see known_question). Rows of plyd before that have any
image: all images are looked up, and the deepest report is turned. Such rows are forgotten as all old ones are.

Nothing here runs on the event loop: one thread looks up, another one writes, at least once a second.
"""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from plyd.engines.core.errors import BadMove
from plyd.engines.core.search import Report, StopReason
from plyd.servers.search.known.question import Question
from plyd.servers.search.known.report_text import BadReport, read_report_text, write_report_text
from plyd.servers.search.known.store_database import Database, StoreFault, connect, prepare, shown

log = logging.getLogger("plyd.store")

GATHER_SECONDS = 0.25  # reports of so long are written together
RETRY_SECONDS = 2.0  # after a fault, before the database is asked again
MOST_PENDING = 10_000  # reports that wait to be written
PRUNE_SHARE = 20  # a full store forgets this fraction at once

KEY = "game, variant, position, options, lines, model"
COLUMNS = f"{KEY}, finished, seconds, stored, report"
FIND = """
SELECT position, report FROM plyd_reports
WHERE game = ? AND variant = ? AND options = ? AND lines = ? AND model = ? AND position IN ({})
"""
PUT = f"""
INSERT INTO plyd_reports ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT ({KEY}) DO UPDATE SET finished = excluded.finished, seconds = excluded.seconds, stored = excluded.stored,
    report = excluded.report
WHERE excluded.finished > plyd_reports.finished
    OR (excluded.finished = plyd_reports.finished AND excluded.seconds > plyd_reports.seconds)
"""  # noqa: S608
PRUNE = """
DELETE FROM plyd_reports WHERE stored <= (SELECT stored FROM plyd_reports ORDER BY stored LIMIT 1 OFFSET ?)
"""


class Entry(NamedTuple):
    """A row of the store; the report as text."""

    game: str
    variant: str
    position: str
    options: str
    lines: int
    model: str
    finished: int
    seconds: float
    stored: float
    report: str


def key_of(question: Question) -> tuple[str, str, str, str, int, str]:
    """A question as the key of its row."""
    options = json.dumps(dict(sorted(question.options)), separators=(",", ":"))
    return question.game, question.variant, question.position, options, question.max_lines, question.model


def entry_of(question: Question, report: Report) -> Entry:
    """The row of a report."""
    finished = int(report.stop_reason is StopReason.FINISHED)
    return Entry(*key_of(question), finished, report.seconds, time.time(), write_report_text(report))


class ReportStore:
    """A store in use by a daemon."""

    def __init__(self, address: str, max_rows: int) -> None:
        prepare(address)
        self.address = address
        self._max_rows = max_rows
        self._pending: deque[tuple[Question, Report]] = deque(maxlen=MOST_PENDING)
        self._wake = threading.Condition()
        self._is_closing = False
        self._unpruned = max_rows  # rows written since the last look at their number: look at once
        self._reader: Database | None = connect(address)  # now: to connect takes longer than a look
        self._blocked_until = 0.0  # no lookups until then: the last one failed
        self._writer = threading.Thread(target=self._write, name="store", daemon=True)
        self._writer.start()

    def __str__(self) -> str:
        return shown(self.address)

    @property
    def is_blocked(self) -> bool:
        """Whether the database failed a moment ago."""
        return time.monotonic() < self._blocked_until

    def find(self, question: Question) -> Report | None:
        """The report on the position that stands for all images of the one asked about; None if there is none or the
        database fails. Called by one thread.
        """
        game, variant, _, options, lines, model = key_of(question)
        texts = question.texts
        statement = FIND.format(", ".join("?" * len(texts)))
        try:
            self._reader = self._reader or connect(self.address)
            rows = self._reader.query(statement, (game, variant, options, lines, model, *texts))
        except StoreFault as fault:
            self._blocked_until = time.monotonic() + RETRY_SECONDS
            log.warning("the store %s cannot be read: %s", self, fault)
            _close(self._reader)
            self._reader = None
            return None
        reports = [report for row in rows if (report := self._read(question, *row))]
        return max(
            reports, key=lambda report: (report.stop_reason is StopReason.FINISHED, report.seconds), default=None
        )

    def _read(self, question: Question, position: str, text: str) -> Report | None:
        """The report of a row, turned to the position that stands for all; None if it is none."""
        try:
            return question.kept(question.asked(read_report_text(text), position))
        except (BadReport, BadMove) as error:
            log.warning("the store %s: %s", self, error)
            return None

    def put(self, question: Question, report: Report) -> None:
        """Keep a report, soon. Never waits."""
        with self._wake:
            self._pending.append((question, report))
            self._wake.notify()

    def close(self, seconds: float = 5.0) -> None:
        """Write what is left, for at most so long."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        self._writer.join(seconds)
        _close(self._reader)

    # --- The writing thread ---

    def _write(self) -> None:
        database: Database | None = None
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._pending or self._is_closing)
                if not self._pending:
                    break
                self._wake.wait_for(lambda: self._is_closing, GATHER_SECONDS)
                batch = list(self._pending)
                self._pending.clear()
            try:
                database = database or connect(self.address)
                database.change(PUT, [entry_of(*one) for one in batch])
                self._prune(database, len(batch))
            except StoreFault as fault:
                log.warning("%d reports wait for the store %s: %s", len(batch), self, fault)
                _close(database)
                database = None
                if self._wait_after_fault(batch):
                    return
        _close(database)

    def _wait_after_fault(self, batch: list[tuple[Question, Report]]) -> bool:
        """Put a batch back and wait a while; whether the daemon ends meanwhile."""
        with self._wake:
            self._pending.extendleft(reversed(batch[len(self._pending) - MOST_PENDING :]))
            return self._wake.wait_for(lambda: self._is_closing, RETRY_SECONDS)

    def _prune(self, database: Database, written: int) -> None:
        """Forget the oldest rows, if there are too many."""
        self._unpruned += written
        if self._unpruned > self._max_rows // PRUNE_SHARE:
            self._unpruned = 0
            prune_rows(database, self._max_rows)


def prune_rows(database: Database, max_rows: int) -> int:
    """Forget the oldest rows of a store that has more than `max_rows`; how many."""
    [[count]] = database.query("SELECT count(*) FROM plyd_reports")
    if count <= max_rows:
        return 0
    surplus = count - max_rows + max_rows // PRUNE_SHARE
    return database.change(PRUNE, [(surplus - 1,)])


def entries(database: Database) -> Iterator[Entry]:
    """Every row, in the order of their keys."""
    last: tuple[object, ...] | None = None
    while True:
        where = f"WHERE ({KEY}) > (?, ?, ?, ?, ?, ?)" if last else ""
        rows = database.query(f"SELECT {COLUMNS} FROM plyd_reports {where} ORDER BY {KEY} LIMIT 1000", last or ())  # noqa: S608
        yield from (Entry(*row) for row in rows)
        if not rows:
            return
        last = tuple(rows[-1][:6])


def _close(database: Database | None) -> None:
    if database:
        database.close()
