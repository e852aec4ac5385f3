"""Known reports: proven results of earlier searches, which answer the same question again without a search.

    question                                  report
    game, variant, position, options, lines   -> move, score and lines of the search that finished

Only a search that has finished with an exact score or a proven result is kept: another search of that question could
not find more. A question with a limit on nodes or depth is never kept nor answered from here, so that the same nodes
give the same answer, whatever was asked before.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from plyd.engines.core.options import MEMORY, THREADS, OptionValue
from plyd.engines.core.search import Limits, Proven, Report, StopReason
from plyd.servers.search.game_record import GameRecord

Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_BYTES = 16 << 20  # of one table
MAX_SHARE = 64  # one entry takes at most this fraction of its table
ENTRY_BYTES = 512  # of an entry, besides its text and lines
LINE_BYTES = 512
MOVE_BYTES = 64
RESOURCES = (MEMORY, THREADS)  # options that decide how soon a result is proven, but not which


class Question(NamedTuple):
    """What a search is asked, without what decides only how long it may take."""

    game: str
    variant: str
    position: str
    options: tuple[tuple[str, OptionValue], ...]
    max_lines: int


def question_of(record: GameRecord, options: Mapping[str, OptionValue], limits: Limits) -> Question | None:
    """The question that a search of the game's current position is asked; None if it has to be searched each time."""
    if is_counted(limits):
        return None
    return Question(
        record.engine.card.game,
        record.variant,
        record.rules.text(record.position),
        tuple((name, value) for name, value in options.items() if name not in RESOURCES),
        limits.max_lines,
    )


def is_counted(limits: Limits) -> bool:
    """Whether nodes or depth limit a search, so that its caller may expect the same report each time."""
    return limits.max_nodes is not None or limits.max_depth is not None


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


class KnownReports:
    """The proven reports of a daemon, by question."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.table: BoundedTable[Question, Report] = BoundedTable(max_bytes)

    def get(self, question: Question) -> Report | None:
        """The report that answers a question, None if it is not known."""
        return self.table.get(question)

    def put(self, question: Question, report: Report) -> None:
        """Keep a report if it is proven."""
        if is_proven(report):
            lines = sum(LINE_BYTES + MOVE_BYTES * len(line.moves) for line in report.lines)
            self.table.put(question, report, len(question.position) + lines)
