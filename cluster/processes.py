"""A backend of worker processes on this machine. Pickles go through pipes to our own children and back."""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, Any

from plyd.cluster.backend import Event, JobAnswered, JobRaised, PlaceFound, WorkerLost, WorkerReady, WorkerSpec
from plyd.cluster.host import BrokenWorker, Host, error_text

COMMAND = [sys.executable, "-P", "-m", "plyd.cluster.processes"]  # -P: not the working folder's code


class Processes:
    """Workers as processes of this machine, `count` of them."""

    def __init__(self, spec: WorkerSpec, count: int) -> None:
        self._spec = spec
        self._cores = spec.cores or 1
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._letters: dict[int, queue.SimpleQueue[Any]] = {}  # messages to each process; None is the last
        for number in range(count):
            self._events.put(PlaceFound(f"process {number}", f"process {number}"))

    def events(self, seconds: float) -> list[Event]:
        """What has happened since the last call."""
        found = drained(self._events, seconds)
        for event in found:
            if isinstance(event, WorkerLost):
                self.end(event.worker)
        return found

    def start(self, place: str, worker: int) -> None:  # noqa: ARG002
        """Start a process."""
        environment = {**os.environ, "OMP_NUM_THREADS": str(self._cores)}
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._processes[worker] = process
        self._letters[worker] = queue.SimpleQueue()
        self._letters[worker].put((self._spec.worker, self._spec.settings, self._cores))
        threading.Thread(target=self._listen, args=(worker, process), daemon=True).start()
        threading.Thread(target=write_all, args=(self._letters[worker], process.stdin), daemon=True).start()

    def send(self, worker: int, ticket: int, job: Any, shared: Sequence[Any]) -> None:
        """Give a job to a process."""
        self._letters[worker].put((ticket, job, tuple(shared)))

    def end(self, worker: int) -> None:
        """Kill a process; its job in progress is lost."""
        process = self._processes.pop(worker, None)
        if process is None:
            return
        process.kill()
        process.wait()
        self._letters.pop(worker).put(None)
        if process.stdout:
            with contextlib.suppress(OSError):
                process.stdout.close()

    def share(self, data: Any) -> Any:
        """The data itself: it goes through a pipe with each job."""
        return data

    def close(self) -> None:
        """Kill every process."""
        for worker in list(self._processes):
            self.end(worker)

    def _listen(self, worker: int, process: subprocess.Popen[bytes]) -> None:
        """A thread of each process: turns what it says into events."""
        assert process.stdout is not None
        said = ""
        try:
            while True:
                kind, *facts = pickle.load(process.stdout)  # noqa: S301  from our own child
                if kind == "ready":
                    self._events.put(WorkerReady(worker, 1, self._spec.ahead))
                elif kind == "answer":
                    self._events.put(JobAnswered(*facts))
                elif kind == "raised":
                    self._events.put(JobRaised(*facts))
                else:
                    said = facts[0]
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            if self._processes.get(worker) is process:  # not ended by us
                status = process.wait()
                self._events.put(WorkerLost(worker, said or f"the process ended with status {status}"))


def write_all(letters: "queue.SimpleQueue[Any]", pipe: IO[bytes]) -> None:
    """A thread of each process: writes what it is sent. A pipe is full until a busy process reads it."""
    with contextlib.suppress(OSError), pipe:  # it has ended, and its listener says so
        while (message := letters.get()) is not None:
            pickle.dump(message, pipe, pickle.HIGHEST_PROTOCOL)
            pipe.flush()


def drained(events: "queue.SimpleQueue[Event]", seconds: float) -> list[Event]:
    """All events of a queue; waits up to so many seconds for the first one."""
    found: list[Event] = []
    with contextlib.suppress(queue.Empty):
        found.append(events.get(timeout=seconds) if seconds > 0 else events.get_nowait())
        while True:
            found.append(events.get_nowait())
    return found


def serve(jobs: IO[bytes], answers: IO[bytes]) -> None:
    """Do the jobs of a pipe until it ends, or until the worker breaks."""

    def say(*message: Any) -> None:
        pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()

    try:
        host = Host(*pickle.load(jobs))  # noqa: S301  from our own parent
    except Exception as error:
        return say("broken", error_text(error))
    say("ready")
    with contextlib.suppress(EOFError):
        while True:
            ticket, job, shared = pickle.load(jobs)  # noqa: S301  from our own parent
            try:
                say("answer", ticket, host.work(job, *shared))
            except BrokenWorker as error:
                return say("broken", error_text(error))
            except Exception as error:
                say("raised", ticket, error_text(error))
    return host.close()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    with open(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # what a job prints is talk
        with contextlib.suppress(BrokenPipeError):
            serve(sys.stdin.buffer, out)
