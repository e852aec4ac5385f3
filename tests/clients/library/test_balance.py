"""Which daemon a call goes to. test_many_daemons.py has the same over the wire."""

import pytest

from plyd.clients.library.channel import DaemonAddress
from plyd.clients.library.connect import balance
from plyd.clients.library.connect.balance import AVOID_SECONDS, Balancer, Daemon
from plyd.clients.library.errors import InvalidRequest, Overloaded, Unavailable
from plyd.clients.library.requests import Retry
from plyd.v1.engine_pb2 import WatchLoadResponse


class FakeChannel:
    """A channel that makes no calls."""

    def __getattr__(self, name):
        return lambda *_, **__: None


@pytest.fixture
def closed():
    """The targets of daemons that were closed, in order."""
    return []


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list; tests set it."""
    now = [100.0]
    monkeypatch.setattr(balance.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def balancer(closed):
    """A balancer of the daemons a, b and c."""
    balancer = Balancer()
    connect(balancer, closed, "a", "b", "c")
    return balancer


def connect(balancer, closed, *targets):
    """Update the targets of a balancer; the new ones."""

    def new(address):
        return Daemon(address, FakeChannel, lambda _: closed.append(address.target))

    return {daemon.address.target for daemon in balancer.update(map(DaemonAddress, targets), new)}


def named(balancer, target):
    [daemon] = [daemon for daemon in balancer.daemons if daemon.address.target == target]
    return daemon


def chosen(balancer, count=1):
    """The targets that the next calls go to, one call after another."""
    targets = []
    for _ in range(count):
        with balancer.lease_call() as lease:
            targets.append(lease.daemon.address.target)
    return targets


def busy(running, waiting=0, slots=1):
    return WatchLoadResponse(slots=slots, running=running, waiting=waiting)


def refusal(seconds):
    error = Overloaded("all slots are taken")
    error.retry_seconds = seconds
    return error


def test_idle_daemons_take_turns(balancer):
    assert sorted(chosen(balancer, 3)) == ["a", "b", "c"]
    assert sorted(chosen(balancer, 300)) == ["a"] * 100 + ["b"] * 100 + ["c"] * 100


def test_calls_in_progress_are_load(balancer):
    leases = [balancer.lease_call() for _ in range(5)]
    assert sorted(lease.daemon.address.target for lease in leases[:3]) == ["a", "b", "c"]
    leases[0].end()
    leases[0].end()  # counts once
    assert [balancer.lease_call().daemon for _ in range(2)].count(leases[0].daemon) == 1


def test_load_of_others_counts_and_own_calls_count_once(balancer):
    lease = balancer.lease_call()
    mine = lease.daemon
    mine.report(busy(1))  # this very call
    assert mine.load == 1
    mine.report(busy(2, waiting=2))
    assert mine.load == 4
    lease.end()
    assert mine.load == 3
    mine.report(busy(3))  # sampled before the call ended
    assert mine.load == 2
    mine.report(busy(3))
    assert mine.load == 3
    mine.forget_load()
    assert mine.load == 0


def test_load_is_by_slot(balancer):
    named(balancer, "a").report(busy(3, slots=4))
    named(balancer, "b").report(busy(1))
    named(balancer, "c").report(busy(1, waiting=1, slots=2))
    assert chosen(balancer, 5) == ["a"] * 5


def test_games_spread_and_do_not_count_as_load(balancer):
    games = [balancer.lease_game() for _ in range(6)]
    assert sorted(game.daemon.address.target for game in games) == ["a", "a", "b", "b", "c", "c"]
    assert {daemon.load for daemon in balancer.daemons} == {0}


def test_a_daemon_that_was_unavailable_is_left_out_for_a_while(balancer, clock):
    named(balancer, "a").avoid()
    assert set(chosen(balancer, 10)) == {"b", "c"}
    clock[0] += AVOID_SECONDS
    assert set(chosen(balancer, 3)) == {"a", "b", "c"}


def test_where_all_failed_the_first_to_recover_is_called(balancer, clock):
    for name, seconds in (("a", 3), ("b", 1), ("c", 2)):
        named(balancer, name).avoid(seconds)
    assert chosen(balancer, 2) == ["b", "b"]


def test_a_call_that_fails_tries_each_other_daemon_at_once_then_waits(balancer, clock):
    retry, tried, delays = Retry(5.0), [], []
    for _ in range(4):
        with balancer.lease_call() as lease:
            tried.append(lease.daemon.address.target)
        delays.append(balancer.delay_after(Unavailable("gone"), lease.daemon, retry))
    assert sorted(tried[:3]) == ["a", "b", "c"]
    assert delays[:2] == [0, 0]
    assert min(delays[2:]) > 0


def test_a_call_that_all_refuse_is_refused(balancer, clock):
    retry = Retry(5.0)
    for _ in range(2):
        [target] = chosen(balancer)
        assert balancer.delay_after(refusal(30.0), named(balancer, target), retry) == 0
    [target] = chosen(balancer)
    with pytest.raises(Overloaded):
        balancer.delay_after(refusal(30.0), named(balancer, target), retry)
    clock[0] += AVOID_SECONDS
    with pytest.raises(Overloaded):  # the hint of each still holds: no other is asked
        balancer.delay_after(refusal(30.0), named(balancer, chosen(balancer)[0]), Retry(5.0))


def test_an_invalid_request_is_invalid_everywhere(balancer):
    with pytest.raises(InvalidRequest):
        balancer.delay_after(InvalidRequest("no"), balancer.daemons[0], Retry(5.0))


def test_a_daemon_that_is_gone_gets_no_calls_and_closes_after_its_last(balancer, closed):
    named(balancer, "a").report(busy(5))
    named(balancer, "c").report(busy(5))
    call, game = balancer.lease_call(), balancer.lease_game()
    assert {call.daemon.address.target, game.daemon.address.target} == {"b"}
    kept = named(balancer, "a")
    assert connect(balancer, closed, "a", "d") == {"d"}
    assert named(balancer, "a") is kept
    assert closed == ["c"]
    assert "b" not in chosen(balancer, 10)
    call.end()
    assert closed == ["c"]
    game.end()
    assert closed == ["c", "b"]
