"""An address of several daemons: each call goes to the least loaded one that serves, and goes on when one is lost."""

import asyncio
import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import grpc
import pytest

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.channel import Credentials
from plyd.clients.library.connect import balance, daemons
from plyd.clients.library.connect.balance import Daemon as Backend
from plyd.clients.library.errors import Cancelled, DaemonFault, Overloaded, Unavailable
from plyd.servers.rpc.decoding import MessageDecoder
from tests.clients.library.relay import Relay
from tests.clients.library.resets import ResettingServer
from tests.patience import SOON, until
from tests.ports import free_ports
from tests.servers.certificates import make_authority, make_certificate
from tests.servers.daemons import SLOW, OpenDaemon
from tests.servers.fakes import FakeEngine

NO_RETRY = {"retry_seconds": 0}


@pytest.fixture
def open_daemon(house):
    """Opens daemons of the fake game for one test. A cold one reports NOT_SERVING until its engine's gate opens."""
    with contextlib.ExitStack() as stack:

        def open_one(*, cold=False, **settings):
            engine = FakeEngine()
            if cold:
                engine.gate.clear()
            daemon = stack.enter_context(OpenDaemon(house, engine, warm=not cold, **settings))
            stack.callback(engine.gate.set)  # or it could not be closed
            return daemon

        yield open_one


@pytest.fixture
def pair(open_daemon):
    return [open_daemon() for _ in range(2)]


@pytest.fixture(autouse=True)
def forgiving(monkeypatch):
    """Daemons that failed are tried again soon."""
    monkeypatch.setattr(balance, "AVOID_SECONDS", 0.1)
    monkeypatch.setattr(daemons, "PAUSE_SECONDS", 0.01)


def address_of(*daemons):
    return ",".join(daemon.target for daemon in daemons)


def searches(*daemons):
    """How many searches each daemon was given."""
    return [len(daemon.engine.asked) for daemon in daemons]


def wait_for_loads(client, *loads):
    """Wait until the client knows these loads of its daemons, in any order."""
    found = client._daemons._balancer.daemons
    until(lambda: sorted(daemon.load for daemon in found) == sorted(loads))


def look_up(monkeypatch, hosts, port):
    """Let the name engines.test have these IP addresses; a list that a test may change."""
    real = socket.getaddrinfo

    def found(host, *arguments, **keywords):
        if host != "engines.test":
            return real(host, *arguments, **keywords)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in hosts]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_a_daemon_that_does_not_serve_gets_no_calls(connect, open_daemon):
    warm, cold = open_daemon(), open_daemon(cold=True)
    client = connect(address_of(cold, warm), **NO_RETRY)
    client.wait_until_ready(SOON)
    assert all(client.search(timeout=SOON).final for _ in range(100))
    assert searches(warm, cold) == [100, 0]
    cold.engine.gate.set()
    until(lambda: client.search() and searches(cold) > [0])


def test_idle_daemons_share_the_calls(connect, pair):
    client = connect(address_of(*pair))
    assert all(client.search().final for _ in range(20))
    assert all(searches(*pair))


def test_searches_go_where_others_do_not(connect, pair):
    busy, idle = pair
    client = connect(address_of(*pair))
    client.describe()
    running = busy.occupied()
    wait_for_loads(client, 0, 1)
    assert all(client.search().final for _ in range(20))
    assert searches(busy, idle) == [1, 20]
    running.cancel()
    wait_for_loads(client, 0, 0)
    until(lambda: client.search() and searches(busy) > [1])


def without_loads(monkeypatch):
    """Let daemons be older ones, which have no WatchLoad; the calls of it."""
    asked, service = [], MessageDecoder.service

    def older(self, details):
        if details.method.endswith("/WatchLoad"):
            asked.append(details.method)
            return None
        return service(self, details)

    monkeypatch.setattr(MessageDecoder, "service", older)
    return asked


def test_older_daemons_that_tell_no_load_are_balanced_by_the_calls_of_this_client(connect, pair, monkeypatch):
    asked = without_loads(monkeypatch)
    client = connect(address_of(*pair))
    analysis = client.analyze(options=SLOW)
    next(analysis)
    assert all(client.search().final for _ in range(20))
    assert sorted(searches(*pair)) == [1, 20]
    analysis.close()
    until(lambda: client.search() and min(searches(*pair)) > 1)
    until(lambda: len(asked) == 2)
    until(lambda: not any("_follow_load" in thread.name for thread in threading.enumerate()))


def test_an_asyncio_client_balances_older_daemons_too(pair, monkeypatch):
    asked = without_loads(monkeypatch)

    async def talk():
        async with AsyncEngineClient(address_of(*pair)) as client:
            return [(await client.search()).final for _ in range(20)]

    assert all(asyncio.run(talk()))
    assert all(searches(*pair))
    assert len(asked) <= 2


def test_searches_at_once_run_on_all_daemons_and_none_waits(connect, open_daemon):
    daemons = [open_daemon() for _ in range(3)]
    client = connect(address_of(*daemons))
    with ThreadPoolExecutor(3) as threads:
        found = [threads.submit(client.search, options=SLOW) for _ in daemons]
        until(lambda: [daemon.searches.running for daemon in daemons] == [1, 1, 1])
        assert [daemon.searches.waiting for daemon in daemons] == [0, 0, 0]
        client.close()
        assert all(isinstance(each.exception(SOON), Cancelled) for each in found)


def test_a_search_that_one_daemon_refuses_goes_to_another(connect, open_daemon, monkeypatch):
    monkeypatch.setattr(Backend, "report", lambda *_: None)  # so that the client does not know who is busy
    full, free = open_daemon(queue_size=0), open_daemon(queue_size=0)
    client = connect(address_of(full, free))
    running = full.occupied()
    assert all(client.search().final for _ in range(5))
    assert searches(full, free) == [1, 5]
    also_running = free.occupied()
    with pytest.raises(Overloaded):
        client.search()
    running.cancel()
    also_running.cancel()


def test_calls_go_on_when_a_daemon_is_lost_and_return_when_it_is_back(connect, pair):
    lost, other = pair
    with Relay(lost.target) as relay:
        client = connect(f"{relay.address},{other.target}", **NO_RETRY)
        until(lambda: client.search() and all(searches(*pair)))
        relay.cut()
        before = searches(lost)
        assert all(client.search().final for _ in range(50))
        assert searches(lost) == before
        relay.restore()
        until(lambda: client.search() and searches(lost) > before)


def test_games_spread_stay_where_they_began_and_begin_again_elsewhere(connect, pair):
    lost, other = pair
    with Relay(lost.target) as relay:
        client = connect(f"{relay.address},{other.target}")
        games = [client.play() for _ in range(4)]
        assert [daemon.runtime.sessions for daemon in pair] == [2, 2]
        for game in games:
            game.moves("1")
            assert game.best(nodes=1).final
        assert searches(*pair) == [2, 2]
        relay.cut()
        ends = []
        for game in games:
            try:
                ends.append(game.moves("1").text)
            except Unavailable:
                ends.append("lost")
        assert sorted(ends) == ["5 one", "5 one", "lost", "lost"]
        with client.play("", ["1", "1"]) as again:
            assert again.state.text == "5 one"
            assert other.runtime.sessions == 3
        for game in games:
            game.close()


def test_a_daemon_that_drains_hands_its_callers_to_the_other(connect, pair):
    client = connect(address_of(*pair), **NO_RETRY)
    with client.play(), client.play():
        assert [daemon.runtime.sessions for daemon in pair] == [1, 1]
        stopped = pair[0].stop()
        assert all(client.search().final for _ in range(20))
    assert stopped.result(SOON)
    assert client.search().final


def test_an_analysis_begins_at_another_daemon(connect, pair):
    lost, other = pair
    with Relay(lost.target) as relay:
        client = connect(f"{relay.address},{other.target}", **NO_RETRY)
        client.wait_until_ready(SOON)
        relay.cut()
        for _ in range(4):
            *_, last = client.analyze(nodes=1)
            assert last.final
        assert searches(*pair) == [0, 4]


def test_watch_tells_whether_any_daemon_serves(connect, open_daemon):
    cold, other = open_daemon(cold=True), open_daemon(cold=True)
    client = connect(address_of(cold, other))
    changes = client.watch()
    assert next(changes) is False
    cold.engine.gate.set()
    assert next(changes) is True
    other.engine.gate.set()
    cold.stop()
    other.stop()
    assert next(changes) is False
    changes.close()


def test_a_name_stands_for_all_its_daemons_and_is_looked_up_again(connect, open_daemon, monkeypatch):
    hosts, port = ["127.0.0.2", "127.0.0.3"], free_ports()
    look_up(monkeypatch, hosts, port)
    one, two = (open_daemon(listen=f"{host}:{port}") for host in hosts)
    client = connect(f"dns:///engines.test:{port}", retry_seconds=SOON)
    until(lambda: client.search() and all(searches(one, two)))
    three = open_daemon(listen=f"127.0.0.4:{port}")
    hosts[:] = ["127.0.0.4"]
    one.stop().result(SOON)
    two.stop().result(SOON)
    assert client.search().final
    assert searches(three) == [1]


def test_a_name_that_is_no_longer_found_keeps_its_daemons(connect, open_daemon, monkeypatch):
    hosts, port = ["127.0.0.2", "127.0.0.3"], free_ports()
    look_up(monkeypatch, hosts, port)
    one, two = (open_daemon(listen=f"{host}:{port}") for host in hosts)
    client = connect(f"engines.test:{port}", **NO_RETRY)
    until(lambda: client.search() and all(searches(one, two)))
    failing = Mock(side_effect=socket.gaierror)
    monkeypatch.setattr(socket, "getaddrinfo", failing)
    one.stop().result(SOON)
    until(lambda: client.search() and failing.call_count > 1)  # looked up again since one was lost
    assert client.search().final


def test_a_daemon_found_by_name_is_checked_by_that_name(connect, open_daemon, monkeypatch, tmp_path):
    make_authority(tmp_path)
    make_certificate(tmp_path, "server", "localhost")  # not for 127.0.0.2
    pair = [(tmp_path / "server.key").read_bytes(), (tmp_path / "server.pem").read_bytes()]
    daemon = open_daemon(listen="127.0.0.2:0", credentials=grpc.ssl_server_credentials([pair]))
    port = int(daemon.target.rpartition(":")[2])
    place = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: place)
    client = connect(f"tls:dns:localhost:{port}", credentials=Credentials(ca=str(tmp_path / "ca.pem")))
    assert client.search().final


@pytest.mark.parametrize("code", [0, 1, 2, 8, 11])  # HTTP/2: no error, protocol, internal, cancel, enhance your calm
def test_a_stream_that_a_proxy_cuts_is_unavailable(connect, code):
    with ResettingServer(code) as proxy:
        client = connect(proxy.address, **NO_RETRY)
        with pytest.raises(Unavailable):
            client.search()
        with pytest.raises(Unavailable):
            client.play()
        assert proxy.streams == 2


def test_a_fault_of_the_daemon_itself_is_a_fault(connect, pair):
    client = connect(address_of(*pair))
    with pytest.raises(DaemonFault):
        client.search(options={"fail": "true"})
    assert sum(searches(*pair)) == 1
