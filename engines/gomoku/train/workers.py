"""The worker processes that play games for a training run."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO, Any

from plyd.engines.core.training_run import TrainingError

JOBS_AHEAD = 2  # per worker, so that it never waits


class WorkerPool:
    """Worker processes that play games, one job after another. A context manager: it ends them on exit."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._processes: list[subprocess.Popen[str]] = []
        self._pending: list[int] = []
        self._answers: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()

    def __enter__(self) -> "WorkerPool":
        command = [sys.executable, "-m", "plyd.engines.gomoku.train.self_play"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        for number in range(self._count):
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )
            self._processes.append(process)
            self._pending.append(0)
            assert process.stdout is not None
            threading.Thread(target=self._listen, args=(number, process.stdout), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()  # the game in progress is lost
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()

    def _listen(self, number: int, lines: IO[str]) -> None:
        try:
            for line in lines:
                self._answers.put((number, line))
        except ValueError:  # closed
            return

    def idle(self) -> list[int]:
        """Numbers of the workers that need a job; a worker that needs two is listed twice."""
        for process in self._processes:
            if process.poll() is not None:
                raise TrainingError(f"a worker process ended with status {process.returncode}")
        return [number for number, jobs in enumerate(self._pending) for _ in range(JOBS_AHEAD - jobs)]

    def give(self, number: int, job: str) -> None:
        """Gives a worker one more job."""
        pipe = self._processes[number].stdin
        assert pipe is not None
        try:
            pipe.write(job)
            pipe.flush()
        except BrokenPipeError:
            raise TrainingError("a worker process has ended") from None
        self._pending[number] += 1

    def answers(self) -> Iterator[dict[str, Any]]:
        """Answers to jobs since the last call."""
        while not self._answers.empty():
            number, line = self._answers.get()
            self._pending[number] -= 1
            yield json.loads(line)
