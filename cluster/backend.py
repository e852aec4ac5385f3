"""What a fleet needs of whatever runs its workers, and the events that come back.

A place is room for one worker on a node. A backend reports each place once, and again if its node comes back. The fleet
decides which places get a worker. Each start at a place is a new worker with a new number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What every worker is, and how many jobs it takes."""

    worker: str  # "module:name" of its class
    settings: dict[str, Any] = field(default_factory=dict)
    cores: int | None = 1  # of each worker; None: all of its node's, one worker a node
    at_once: int | None = None  # jobs that a worker runs at once; None: by its cores ...
    jobs_per_core: int = 1  # ... this many for each
    ahead: int = 1  # jobs that wait at a worker, so that it never does
    shares_cores: bool = False  # runs on cores of other workers, and so never waits for a free one


@dataclass(frozen=True, slots=True)
class PlaceFound:
    """There is room for a worker."""

    place: str
    node: str  # a name for people


@dataclass(frozen=True, slots=True)
class PlaceGone:
    """A node has left; what it ran is lost."""

    place: str


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker is set up and takes jobs."""

    worker: int
    at_once: int  # jobs that it runs; one that dies may have died of any of them
    ahead: int


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker has ended, or could not be set up."""

    worker: int
    error: str
    by_node: bool = False  # its node is lost, or out of reach: no job of it is to blame


@dataclass(frozen=True, slots=True)
class JobAnswered:
    """A worker's answer to a job."""

    ticket: int
    answer: Any


@dataclass(frozen=True, slots=True)
class JobRaised:
    """A job raised an error."""

    ticket: int
    error: str


Event = PlaceFound | PlaceGone | WorkerReady | WorkerLost | JobAnswered | JobRaised


class Backend(Protocol):
    """Runs workers at places. Never retries anything: that is the fleet's business."""

    def events(self, seconds: float) -> Sequence[Event]:
        """What has happened since the last call; waits up to so many seconds for the first event."""

    def start(self, place: str, worker: int) -> None:
        """Begin to set up a worker; WorkerReady or WorkerLost follows."""

    def send(self, worker: int, ticket: int, job: Any, shared: Sequence[Any]) -> None:
        """Give a job to a worker; JobAnswered, JobRaised or WorkerLost follows, or nothing if it hangs."""

    def end(self, worker: int) -> None:
        """End a worker at once; no event follows."""

    def share(self, data: Any) -> Any:
        """A handle for data that many jobs need, to be sent with them."""

    def close(self) -> None:
        """End every worker."""
