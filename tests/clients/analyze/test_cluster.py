"""Turns searched on a node of a cluster, without the cluster."""

import errno

import pytest

from plyd.clients.analyze.cluster import AnalyzeWorker
from plyd.clients.analyze.engines import Engines
from plyd.clients.analyze.query import Query
from plyd.cluster import FleetError
from tests.clients.analyze.talk import converse


class BrokenFleet:
    """A fleet without a worker left."""

    unfinished = 0

    def room(self):
        return 1

    def give(self, key, job):
        self.unfinished += 1

    def answers(self, seconds):
        if self.unfinished:
            raise FleetError("no worker could be started")
        return []


def test_a_fleet_that_breaks_ends_the_command_though_more_queries_may_come():
    def script(talk):
        talk.say({"id": "a", "game": "connect4", "moves": []})
        return talk.hear()  # the input stays open

    with pytest.raises(FleetError, match="no worker could be started"):
        converse(None, script, fleet=BrokenFleet())


def test_a_daemon_that_cannot_be_started_is_an_error_of_the_job_not_a_job_without_an_end(monkeypatch):
    async def disk_is_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Engines, "client", disk_is_full)
    worker = AnalyzeWorker({"store": None}, 1)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            worker.work(Query(id="a", game="connect4", turns=(0,)))
