"""Turns searched on a node of a cluster, without the cluster."""

import errno

import pytest

from plyd.clients.analyze.cluster import AnalyzeWorker
from plyd.clients.analyze.engines import Engines
from plyd.clients.analyze.query import Query


def test_a_daemon_that_cannot_be_started_is_an_error_of_the_job_not_a_job_without_an_end(monkeypatch):
    async def disk_is_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Engines, "client", disk_is_full)
    worker = AnalyzeWorker({"store": None}, 1)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            worker.work(Query(id="a", game="connect4", turns=(0,)))
