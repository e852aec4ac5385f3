"""A backend without workers: a test says what happens, and when."""

from collections import deque

from plyd.cluster.backend import JobAnswered, JobRaised, PlaceFound, PlaceGone, WorkerLost, WorkerReady
from plyd.cluster.fleet import Fleet


class FakeBackend:
    """Keeps what a fleet sends; `now` is its clock."""

    def __init__(self):
        self.pending = deque()
        self.started = {}  # place of each worker
        self.out = {}  # worker and job of each ticket that is out
        self.ended = []
        self.now = 0.0
        self.is_closed = False

    def events(self, seconds):
        found = list(self.pending)
        self.pending.clear()
        return found

    def start(self, place, worker):
        self.started[worker] = place

    def send(self, worker, ticket, job, shared):
        self.out[ticket] = worker, job

    def end(self, worker):
        self.ended.append(worker)

    def share(self, data):
        return data

    def close(self):
        self.is_closed = True

    # --- what a test says ---

    def join(self, *places):
        self.pending += [PlaceFound(place, place) for place in places]

    def leave(self, *places):
        self.pending += [PlaceGone(place) for place in places]

    def ready(self, at_once=1, ahead=0):
        self.pending += [WorkerReady(worker, at_once, ahead) for worker in self.started]

    def tickets(self, job=None, worker=None):
        return [t for t, (w, j) in self.out.items() if job in (None, j) and worker in (None, w)]

    def answer(self, *tickets):
        for ticket in tickets:
            worker, job = self.out.pop(ticket)
            self.pending.append(JobAnswered(ticket, (worker, job)))

    def fail(self, *tickets):
        for ticket in tickets:
            worker, job = self.out.pop(ticket)
            self.pending.append(JobRaised(ticket, f"ValueError: {job} on {worker}"))

    def die(self, worker, by_node=False):
        self.out = {t: (w, j) for t, (w, j) in self.out.items() if w != worker}
        self.pending.append(WorkerLost(worker, f"worker {worker} ended", by_node))


def fleet_of(*places, at_once=1, ahead=0, **settings):
    """A fleet with a ready worker at each place, and its backend."""
    backend = FakeBackend()
    fleet = Fleet(backend, clock=lambda: backend.now, **settings)
    backend.join(*places)
    fleet.answers()
    backend.ready(at_once, ahead)
    fleet.answers()
    return fleet, backend
