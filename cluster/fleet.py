"""A fleet of workers that do jobs. The fleet alone counts: every job ends in exactly one answer, or ends the run.

- A job is lost when its worker ends or its node leaves. It is given out again.
- A job is late when it takes much longer than every job before it. It is given to a second worker as well, and the
  first answer wins. A worker that is late for good is replaced; next time, its jobs may take three times as long.
- A job that raises, or that ends its worker, is tried three times in all. Then JobFailed ends the run.
- A place where workers end three times in a row is given up. Without a place left, FleetError ends the run.
"""

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Self

from plyd.cluster.backend import (
    Backend,
    Event,
    JobAnswered,
    JobRaised,
    PlaceFound,
    PlaceGone,
    WorkerLost,
    WorkerReady,
)

TRIES = 3  # of a job, and of a place
LATE_SECONDS = 30.0  # no job is late before this ...
LATE_FACTOR = 3.0  # ... or before it takes this many times as long as the longest so far
HUNG_FACTOR = 3.0  # a worker is replaced that takes this many times as long as a late one
RETRY_SECONDS = 10.0  # times its failures: before another worker is set up at a place where that failed
POLL_SECONDS = 0.25
QUIET_SECONDS = 10.0  # without any worker, before a note says so
PENDING_SECONDS = 30.0  # until a worker is ready; then another place is tried as well, if not all may have one

Key = Hashable


def keep_quiet(text: str) -> None:
    """Say nothing."""


class FleetError(Exception):
    """The fleet cannot go on."""


class JobFailed(FleetError):
    """A job failed TRIES times."""


@dataclass(eq=False, slots=True)
class Job:
    """A job that has no answer yet."""

    key: Key
    job: Any
    shared: Sequence[Any]
    failures: int = 0
    hung: int = 0  # workers that were replaced while they were at it: perhaps it only takes long
    tickets: set[int] = field(default_factory=set)
    avoid: set[int] = field(default_factory=set)  # workers that failed at it, or are late with it


@dataclass(eq=False, slots=True)
class Worker:
    """A worker that was started."""

    number: int
    place: str
    started: float
    at_once: int = 0  # 0 until it is ready
    ahead: int = 0
    tickets: dict[int, Job] = field(default_factory=dict)  # in the order in which they were sent

    @property
    def room(self) -> int:
        """Jobs that it takes now."""
        return self.at_once + self.ahead - len(self.tickets) if self.at_once else 0

    def running(self) -> list[Job]:
        """The jobs that it is at; the others wait."""
        return list(self.tickets.values())[: self.at_once]


@dataclass(eq=False, slots=True)
class Place:
    """Room for a worker on a node."""

    node: str
    worker: Worker | None = None
    failures: int = 0  # in a row
    rests_until: float = 0.0  # after a failure


class Fleet:
    """Gives jobs to workers and takes their answers. A context manager: leaving it ends every worker at once."""

    def __init__(
        self,
        backend: Backend,
        *,
        max_workers: int | None = None,
        needs: str = "a core",
        late_seconds: float = LATE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        note: Callable[[str], None] = keep_quiet,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        self._max_workers = max_workers
        self._needs = needs
        self._late_seconds = late_seconds
        self._retry_seconds = retry_seconds
        self._note = note
        self._clock = clock
        self._places: dict[str, Place] = {}
        self._workers: dict[int, Worker] = {}
        self._jobs: dict[Key, Job] = {}  # without an answer
        self._waiting: deque[Job] = deque()  # for a worker
        self._sent: dict[int, tuple[Worker, float]] = {}  # by ticket: to whom, and when
        self._numbers, self._tickets = count(1), count(1)
        self._longest: float | None = None  # seconds from sending a job to its answer
        self._last_error = ""
        self._quiet_since: float | None = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._backend.close()

    @property
    def unfinished(self) -> int:
        """Jobs without an answer."""
        return len(self._jobs)

    @property
    def workers(self) -> int:
        """Workers that take jobs."""
        return sum(worker.at_once > 0 for worker in self._workers.values())

    def room(self) -> int:
        """New jobs that workers would take at once."""
        return max(0, sum(worker.room for worker in self._workers.values()) - len(self._waiting))

    def share(self, data: Any) -> Any:
        """A handle for data that many jobs need: `give` takes it, `work` gets the data."""
        return self._backend.share(data)

    def give(self, key: Key, job: Any, shared: Sequence[Any] = ()) -> None:
        """Add a job; it waits if there is no room. Its key must not be that of an unfinished job."""
        if key in self._jobs:
            raise ValueError(f"job {key!r} is not finished")
        self._jobs[key] = Job(key, job, shared)
        self._waiting.append(self._jobs[key])
        self._dispatch()

    def drop(self, key: Key) -> None:
        """Forget a job; if a worker is at it, its answer will be ignored."""
        if job := self._jobs.pop(key, None):
            self._forget(job)

    def answers(self, seconds: float = POLL_SECONDS) -> list[tuple[Key, Any]]:
        """Keys and answers of jobs that ended; waits up to so many seconds for something to happen."""
        found: list[tuple[Key, Any]] = []
        for event in self._backend.events(seconds):
            self._handle(event, found)
        self._replace_late()
        self._fill_places()
        self._dispatch()
        self._check_workers()
        return found

    def results(self, jobs: Iterable[tuple[Key, Any]]) -> Iterator[tuple[Key, Any]]:
        """Keys and answers of all these jobs, as they end. Takes a job from the iterable when there is room for it."""
        source, is_exhausted = iter(jobs), False
        while self._jobs or not is_exhausted:
            if room := self.room() or not self._jobs:  # one job at least: without any, nobody needs a worker
                new = list(islice(source, room))
                is_exhausted = is_exhausted or len(new) < room
                for key, job in new:
                    self.give(key, job)
            yield from self.answers() if self._jobs or not is_exhausted else ()

    # --- Events ---

    def _handle(self, event: Event, found: list[tuple[Key, Any]]) -> None:
        match event:
            case JobAnswered(ticket, answer):
                self._answered(ticket, answer, found)
            case JobRaised(ticket, error):
                if job := self._take(ticket):
                    self._failed(job, error)
            case WorkerReady(number, at_once, ahead):
                if worker := self._workers.get(number):
                    worker.at_once, worker.ahead = at_once, ahead
                    self._end_spare_workers()
            case WorkerLost(number, error, by_node):
                self._lost(number, error, by_node)
            case PlaceFound(place, node):
                self._places.setdefault(place, Place(node))
            case PlaceGone(place):
                if gone := self._places.pop(place, None):
                    self._place_gone(gone)

    def _answered(self, ticket: int, answer: Any, found: list[tuple[Key, Any]]) -> None:
        worker, sent = self._sent.get(ticket, (None, 0.0))
        job = self._take(ticket)
        if worker is None:
            return
        self._longest = max(self._longest or 0.0, self._clock() - sent)
        if place := self._places.get(worker.place):
            place.failures = 0
        if job and self._jobs.pop(job.key, None):
            self._forget(job)
            found.append((job.key, answer))

    def _take(self, ticket: int) -> Job | None:
        """The unfinished job of a ticket, which is no longer out; None if the ticket or the job is over."""
        worker, _ = self._sent.pop(ticket, (None, 0.0))
        if worker is None:
            return None
        job = worker.tickets.pop(ticket)
        job.tickets.discard(ticket)
        return job if self._jobs.get(job.key) is job else None

    def _forget(self, job: Job) -> None:
        """A job is over: it waits no more. Tickets that are still out keep their worker busy until they come back."""
        if job in self._waiting:
            self._waiting.remove(job)

    def _failed(self, job: Job, error: str) -> None:
        """Count a failure of a job, and try it again."""
        job.failures += 1
        if job.failures >= TRIES:
            raise JobFailed(f"job {job.key!r} failed {TRIES} times; the last time: {error}")
        self._again(job)

    def _again(self, job: Job) -> None:
        """Put a job before all others, unless it waits already or another worker is at it in time."""
        if self._jobs.get(job.key) is job and not job.tickets and job not in self._waiting:
            self._waiting.appendleft(job)

    def _lost(self, number: int, error: str, by_node: bool) -> None:
        """A worker has ended: its jobs are given out again; those that ran may be why, if its node is not."""
        if not (worker := self._workers.pop(number, None)):
            return
        if place := self._places.get(worker.place):
            place.worker = None
            place.failures += 1
            if not worker.at_once:  # it was never ready; perhaps its node is about to leave
                place.rests_until = self._clock() + place.failures * self._retry_seconds
            self._last_error = error
            self._note(f"{place.node}: a worker ended: {error}")
            if place.failures >= TRIES:
                self._note(f"{place.node}: given up after {TRIES} failures in a row")
        blamed = [] if by_node else [job for job in worker.running() if self._jobs.get(job.key) is job]
        self._recall(worker)
        for job in blamed:
            job.avoid.add(number)
            self._forget(job)
            self._failed(job, error)

    def _place_gone(self, place: Place) -> None:
        """A node has left: nobody is to blame."""
        self._note(f"{place.node} has left")
        if place.worker:
            self._end(place.worker)

    def _end(self, worker: Worker) -> None:
        """End a worker; its jobs are given out again."""
        self._workers.pop(worker.number, None)
        if place := self._places.get(worker.place):
            place.worker = None
        self._backend.end(worker.number)
        self._recall(worker)

    def _recall(self, worker: Worker) -> None:
        """Give out again what a worker had."""
        for ticket in list(worker.tickets):
            if job := self._take(ticket):
                self._again(job)

    # --- Late jobs ---

    def _late_after(self) -> float:
        if self._longest is None:
            return float("inf")
        return max(self._late_seconds, LATE_FACTOR * self._longest)

    def _replace_late(self) -> None:
        """Give late jobs to a second worker; replace workers that hang."""
        now, least = self._clock(), self._late_after()
        for ticket, (worker, sent) in list(self._sent.items()):
            if now - sent <= least:
                break  # tickets are in the order in which they were sent
            if ticket not in self._sent:  # its worker was replaced just now
                continue
            job = worker.tickets[ticket]
            late = least * HUNG_FACTOR**job.hung
            if now - sent > HUNG_FACTOR * late:
                self._hung(worker, job)
                continue
            is_open = self._jobs.get(job.key) is job and job not in self._waiting
            if now - sent > late and is_open and len(job.tickets) == 1:
                job.avoid.add(worker.number)
                self._waiting.appendleft(job)

    def _hung(self, worker: Worker, late: Job) -> None:
        """Replace a worker that hangs. If its jobs only take long, they are never done unless they may take longer."""
        self._note(f"{self._places[worker.place].node}: a worker hangs at job {late.key!r} and is replaced")
        for job in worker.running():
            job.hung += 1
        self._end(worker)

    # --- Giving out ---

    def _fill_places(self) -> None:
        """Start workers where there is room for them."""
        now = self._clock()
        for name, place in self._places.items():
            if self._max_workers is not None and self._expected(now) >= self._max_workers:
                return
            if place.worker is None and place.failures < TRIES and now >= place.rests_until:
                number = next(self._numbers)
                place.worker = self._workers[number] = Worker(number, name, now)
                self._backend.start(name, number)

    def _expected(self, now: float) -> int:
        """Workers that are ready, or will be soon: one that waits for cores of another program may wait long."""
        return sum(worker.at_once > 0 or now - worker.started < PENDING_SECONDS for worker in self._workers.values())

    def _end_spare_workers(self) -> None:
        """Once there are as many workers as asked for, end those that are not ready."""
        if self._max_workers is not None and self.workers >= self._max_workers:
            for worker in [worker for worker in self._workers.values() if not worker.at_once]:
                self._end(worker)

    def _dispatch(self) -> None:
        """Send waiting jobs to the workers with most room."""
        while self._waiting:
            free = [worker for worker in self._workers.values() if worker.room > 0]
            if not free:
                return
            job = self._waiting[0]
            others = [worker for worker in free if worker.number not in job.avoid]
            if not others and job.tickets:  # late, and nobody else has room: look at the next one
                self._waiting.popleft()
                continue
            self._waiting.popleft()
            self._send(max(others or free, key=lambda worker: worker.room), job)

    def _send(self, worker: Worker, job: Job) -> None:
        ticket = next(self._tickets)
        worker.tickets[ticket] = job
        job.tickets.add(ticket)
        self._sent[ticket] = worker, self._clock()
        self._backend.send(worker.number, ticket, job.job, job.shared)

    def _check_workers(self) -> None:
        """Raise FleetError if no place is left; say so if nobody works for a while."""
        if self._places and all(place.failures >= TRIES for place in self._places.values()):
            raise FleetError(f"no worker could be started; the last error: {self._last_error}")
        if self.workers:
            self._quiet_since = None
        elif self._quiet_since is None:
            self._quiet_since = self._clock()
        elif self._clock() - self._quiet_since > QUIET_SECONDS:
            self._note("no worker is ready yet" if self._places else f"waiting for a node with {self._needs}")
            self._quiet_since = self._clock()
