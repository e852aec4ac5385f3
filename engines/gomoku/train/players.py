"""The players of a training run: processes on this machine, or actors on a cluster. One that dies is replaced."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from plyd.cluster import Fleet, FleetError, WorkerSpec
from plyd.cluster.options import ClusterSettings, open_fleet
from plyd.cluster.processes import Processes
from plyd.engines.core.training_run import TrainingError
from plyd.models.policy_value import read_network

SPEC = WorkerSpec("plyd.engines.gomoku.train.self_play:SelfPlayWorker")
NETWORKS_SHARED = 8


class Players:
    """A fleet that gets networks along with its jobs."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._shared: dict[Path, Any] = {}  # handles of networks

    def room(self) -> int:
        """Jobs that players would take now."""
        return self._fleet.room()

    def give(self, number: int, job: dict[str, Any], networks: Sequence[Path]) -> None:
        """Give out a job; its networks are shared once, whoever plays with them."""
        for path in networks:
            if path not in self._shared:
                self._shared[path] = self._fleet.share(read_network(path)[1]["onnx"].tobytes())
        self._fleet.give(number, job, [self._shared[path] for path in networks])
        while len(self._shared) > NETWORKS_SHARED:
            del self._shared[next(path for path in self._shared if path not in networks)]

    def answers(self) -> list[dict[str, Any]]:
        """Answers to jobs since the last call."""
        return [answer for _, answer in self._fleet.answers(0)]


@contextlib.contextmanager
def open_players(processes: int, cluster: ClusterSettings | None = None) -> Iterator[Players]:
    """Players, while the block runs: so many processes, or as many as a cluster has room for."""
    with open_workers(SPEC, processes if cluster is None else None, cluster) as fleet:
        yield Players(fleet)


@contextlib.contextmanager
def open_workers(spec: WorkerSpec, count: int | None, cluster: ClusterSettings | None) -> Iterator[Fleet]:
    """A fleet of so many workers, while the block runs: processes of this machine, or actors of a cluster."""
    if cluster:
        with open_fleet(cluster if count is None else replace(cluster, workers=count), spec) as fleet:
            yield fleet
        return
    try:
        with Fleet(Processes(spec, count or 1), note=lambda text: print(text, file=sys.stderr)) as fleet:
            yield fleet
    except FleetError as error:
        raise TrainingError(str(error)) from None
