"""A backend of Ray actors. Ray places them, tells when they end, and carries jobs and answers; it retries nothing."""

import contextlib
import queue
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from operator import itemgetter
from typing import Any

import ray
import ray._private.worker
from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from plyd.cluster.backend import (
    Event,
    JobAnswered,
    JobRaised,
    PlaceFound,
    PlaceGone,
    WorkerLost,
    WorkerReady,
    WorkerSpec,
)
from plyd.cluster.fleet import FleetError
from plyd.cluster.host import BrokenWorker, Host, error_text
from plyd.cluster.processes import drained

LOCAL = "local"
NODES_SECONDS = 1.0  # between two looks at the nodes
CONNECT_SECONDS = 10.0
LONGEST_NOTE = 300  # characters
WHY = re.compile(r"The actor (?:is dead|died) because (.*?)(?:\. Node Id| Some common causes|$)")
NODE_DIED = "its node has died"  # in what Ray says of an actor


class ActorHost(Host):
    """A worker in an actor. One that cannot be set up says why; Ray would send a long text without the reason."""

    def __init__(self, worker: str, settings: Mapping[str, Any], cores: int) -> None:
        self._problem = ""
        try:
            super().__init__(worker, settings, cores)
        except Exception as error:
            self._problem = error_text(error)

    def checked(self) -> tuple[str, str]:
        """The version of plyd on this node, and why the worker cannot be set up, if so."""
        return version("plyd-client"), self._problem


def connect(address: str) -> None:
    """Connect this process to a cluster, or start one on this machine; raises FleetError if nobody answers."""
    if ray.is_initialized():
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    keep_stdout_clean()
    try:
        with own_sigterm():
            if address == LOCAL:
                ray.init(address=LOCAL, include_dashboard=False, **settings)
            else:
                knock(address)
                ray.init(address=address, **settings)
    except FleetError:
        raise
    except Exception as error:  # Ray raises any kind, also a plain Exception when its processes start too slowly
        what = "no cluster can be started here" if address == LOCAL else f"no Ray head answers at {address}"
        if type(error).__name__ == "AuthenticationError":  # which Ray has since 2.52
            what = f"{what}: its token differs; RAY_AUTH_MODE=token and RAY_AUTH_TOKEN have to be as for ray start"
        else:
            what = f"{what}: {error_text(error)}"
        raise FleetError(what) from None


def knock(address: str) -> None:
    """Raise FleetError if this is no address, OSError if nobody listens there; Ray would try for a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise FleetError(f"--cluster {address!r}; allowed is HOST:PORT of a Ray head, or {LOCAL}")
    socket.create_connection((host, int(port)), CONNECT_SECONDS).close()


@contextlib.contextmanager
def own_sigterm() -> Iterator[None]:
    """Keep this process's answer to SIGTERM, which Ray replaces; where it has none, let it clean up and exit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if callable(before) else lambda number, _: sys.exit(128 + number))


def keep_stdout_clean() -> None:
    """Ray prints what it hears of its nodes on stdout, which is for data: take the first line, and use stderr."""

    def talk(batch: Mapping[str, Any], **_: Any) -> None:
        text = " ".join(batch["lines"]).splitlines()
        print(f"cluster: Ray: {text[0][:LONGEST_NOTE] if text else ''}", file=sys.stderr, flush=True)

    vars(ray._private.worker)["print_to_stdstream"] = talk


class Actors:
    """Workers as Ray actors: as many on each node as its cores allow."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._settings = ray.put(spec.settings)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._actors: dict[int, Any] = {}
        self._places: dict[str, tuple[str, int]] = {}  # node and cores of each
        self._next_look = 0.0
        self._actor: Any = ray.remote(ActorHost)

    def events(self, seconds: float) -> list[Event]:
        """What has happened since the last call."""
        if (now := time.monotonic()) >= self._next_look:
            self._next_look = now + NODES_SECONDS
            self._look_at_nodes()
        found = drained(self._events, seconds)
        for event in found:
            if isinstance(event, WorkerLost):
                self.end(event.worker)  # here, because Ray hangs if one of its own threads kills an actor
        return found

    def _look_at_nodes(self) -> None:
        """Report places of nodes that have joined, and those of nodes that have left."""
        seen = {}
        for number, node in self._rooms():
            place = f"{node['NodeID']} {number}"
            seen[place] = node["NodeID"], self._cores_on(node)
            if place not in self._places:
                self._events.put(PlaceFound(place, f"node {node['NodeManagerAddress']} {node['NodeID'][:6]}"))
        for place in self._places.keys() - seen.keys():
            self._events.put(PlaceGone(place))
        self._places = seen

    def _rooms(self) -> list[tuple[int, Any]]:
        """The rooms for workers of each node, numbered: the first of every node before the second of any."""
        nodes = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        rooms = [
            (number, node)
            for node in nodes
            if (cores := self._cores_on(node))
            for number in range(int(node["Resources"].get("CPU", 0)) // cores)
        ]
        return sorted(rooms, key=itemgetter(0))

    def _cores_on(self, node: Any) -> int:
        """Cores that a worker gets on a node."""
        return self._spec.cores or int(node["Resources"].get("CPU", 0))

    def start(self, place: str, worker: int) -> None:
        """Create an actor on the node of a place."""
        node, cores = self._places.get(place, ("", 1))
        if not node:
            self._events.put(WorkerLost(worker, "its node has left"))
            return
        at_once = self._spec.at_once or cores * self._spec.jobs_per_core
        actor: Any = self._actor.options(
            num_cpus=0 if self._spec.shares_cores else cores,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=at_once,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(self._spec.worker, self._settings, cores)
        self._actors[worker] = actor

        def is_ready(future: Any) -> None:
            if error := future.exception():
                self._ended(worker, error)
                return
            there, problem = future.result()
            if there != version("plyd-client"):
                problem = f"the node has plyd {there}; this is {version('plyd-client')}"
            if problem:
                self._events.put(WorkerLost(worker, problem))
            else:
                self._events.put(WorkerReady(worker, at_once, self._spec.ahead))

        actor.checked.remote().future().add_done_callback(is_ready)

    def send(self, worker: int, ticket: int, job: Any, shared: Sequence[Any]) -> None:
        """Call the actor."""

        def is_done(future: Any) -> None:
            error = future.exception()
            if error is None:
                self._events.put(JobAnswered(ticket, future.result()))
            elif isinstance(error, RayTaskError) and not isinstance(error, BrokenWorker):
                self._events.put(JobRaised(ticket, error_text(error.cause if error.cause else error)))
            else:
                self._ended(worker, error)

        self._actors[worker].work.remote(job, *shared).future().add_done_callback(is_done)

    def _ended(self, worker: int, error: BaseException) -> None:
        """An actor has ended, or is of no use; called from Ray's threads."""
        if isinstance(error, RayTaskError) and error.cause:
            error = error.cause
        by_node = isinstance(error, ActorUnavailableError) or NODE_DIED in str(error)
        self._events.put(WorkerLost(worker, reason_of(error), by_node))

    def end(self, worker: int) -> None:
        """Kill an actor; what it runs is lost, and its own child processes end with it."""
        if actor := self._actors.pop(worker, None):
            ray.kill(actor, no_restart=True)

    def share(self, data: Any) -> Any:
        """A reference into the object store: each node fetches the data once."""
        return ray.put(data)

    def close(self) -> None:
        """Kill every actor."""
        for worker in list(self._actors):
            self.end(worker)


def reason_of(error: BaseException) -> str:
    """Why an actor has ended, on one line."""
    text = error_text(error)
    if isinstance(error, ActorUnavailableError):
        return "its node is out of reach"
    if isinstance(error, RayActorError) and error.actor_init_failed:
        text = str(error).rstrip().rpartition("\n")[2]
    elif isinstance(error, RayActorError) and (why := WHY.search(text)):
        text = why[1]
    return text[:LONGEST_NOTE]
