"""Who may come in, over a real socket: tokens, what each client may have, and the file of clients read again."""

import hashlib
import os
import queue
import signal

import grpc
import pytest

from plyd.engines import registry
from plyd.servers.access.auth import Authenticator, host_of, read_clients
from plyd.servers.access.quotas import Quotas
from plyd.servers.settings import BadSetting
from plyd.v1 import engine_pb2, rules_pb2, search_pb2
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, Caller, retry_seconds, search_request


def entry(name, token, **limits):
    """A client as the file has it."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    return "\n".join(
        ["[[client]]", f'name = "{name}"', f'sha256 = "{digest}"', *(f"{k} = {v}" for k, v in limits.items())]
    )


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


@pytest.fixture
def clients(tmp_path):
    file = tmp_path / "clients.toml"
    file.write_text(entry("gui", "one", searches=1, move_seconds=0.2) + "\n" + entry("bot", "two") + "\n")
    return file


@pytest.fixture
def guarded(open_daemon, clients):
    return open_daemon(auth=Authenticator(clients), slots=4)


def status_of(call, *arguments, **settings):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, timeout=SOON, **settings)
    return caught.value


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        bearer("three"),
        bearer(""),
        (("authorization", "one"),),
        (("authorization", "Basic one"),),
        (("x-token", "one"),),
    ],
    ids=str,
)
def test_who_shows_no_token_that_is_known_is_turned_away(guarded, metadata):
    for call, request in (
        (guarded.caller.engine.Describe, engine_pb2.DescribeRequest()),
        (guarded.caller.engine.Search, search_request()),
        (guarded.caller.rules.NewGame, rules_pb2.NewGameRequest()),
    ):
        error = status_of(call, request, metadata=metadata)
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        assert "authorization: Bearer TOKEN" in error.details()


@pytest.mark.parametrize("method", ["Play", "Evaluate"])
def test_streams_too_are_for_who_is_known(guarded, method):
    stream = getattr(guarded.caller.engine, method)(iter(()), timeout=SOON)
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_who_is_known_comes_in_and_is_named_in_the_log(guarded, logged):
    guarded.caller.engine.Describe(engine_pb2.DescribeRequest(), metadata=bearer("two"))
    until(lambda: any(facts.get("client") == "bot" for facts in logged()))


def test_health_needs_no_token(guarded):
    from grpc_health.v1 import health_pb2

    assert guarded.caller.health.Check(health_pb2.HealthCheckRequest()).status == 1


def test_a_client_has_its_own_limit_of_searches(guarded):
    running = guarded.caller.engine.Search.future(search_request(options=SLOW), metadata=bearer("two"))
    until(lambda: guarded.searches.running == 1)
    first = guarded.caller.engine.Analyze(search_like(), metadata=bearer("one"))
    next(first)
    error = status_of(guarded.caller.engine.Search, search_request(), metadata=bearer("one"))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details() == "gui may have 1 searches at once; try again later"
    assert retry_seconds(error) > 0
    guarded.caller.engine.Search(search_request(), metadata=bearer("two"))  # the other one has none
    running.cancel()
    until(guarded.is_idle)
    guarded.caller.engine.Search(search_request(), metadata=bearer("one"))


def search_like():
    return engine_pb2.AnalyzeRequest(options=SLOW)


def test_a_search_ends_when_its_client_s_time_is_over(guarded):
    report = guarded.caller.engine.Search(search_request(options=SLOW), metadata=bearer("one"), timeout=SOON).report
    assert report.final
    assert report.stop_reason == search_pb2.STOP_REASON_TIME
    assert report.elapsed_us > 0


def test_requests_come_at_their_rate(open_daemon):
    daemon = open_daemon(auth=Authenticator(None, Quotas(requests_per_second=3)))
    for _ in range(3):
        daemon.caller.engine.Describe(engine_pb2.DescribeRequest())
    error = status_of(daemon.caller.engine.Describe, engine_pb2.DescribeRequest())
    assert error.details() == "127.0.0.1 may send 3 requests a second; try again later"
    assert 0 < retry_seconds(error) <= 1 / 3


def test_games_of_one_client(open_daemon):
    daemon = open_daemon(auth=Authenticator(None, Quotas(sessions=1)))
    commands = queue.SimpleQueue()
    commands.put(engine_pb2.PlayRequest(id=1, new_game={}))
    stream = daemon.caller.engine.Play(iter(commands.get, None), timeout=SOON)
    assert next(stream).id == 1
    with pytest.raises(grpc.RpcError) as caught:
        list(daemon.caller.engine.Play(iter(()), timeout=SOON))
    assert caught.value.details() == "127.0.0.1 may have 1 open games; try again later"
    commands.put(None)
    assert list(stream) == []
    assert list(daemon.caller.engine.Play(iter(()), timeout=SOON)) == []


def test_memory_of_one_client_is_shared_by_its_searchers(open_daemon):
    daemon = open_daemon(registry.load("connect4"), auth=Authenticator(None, Quotas(memory_mb=20)), slots=2)
    search = daemon.caller.engine.Search
    assert search(
        search_request("7x6", limits={"nodes": 10}), timeout=60
    ).report.final  # the default, cut to what is left
    error = status_of(search, search_request("7x6", limits={"nodes": 10}, options={"memory": "64"}))
    assert error.details() == "the search needs 64 MB of memory, which are not free; try again later"
    assert search(search_request("7x6", limits={"nodes": 10}, options={"memory": "16"}), timeout=60).report.final
    assert daemon.runtime.memory.used == 0


def test_a_game_holds_its_memory_until_it_ends(open_daemon):
    daemon = open_daemon(registry.load("connect4"), memory_mb=100)
    commands = [engine_pb2.PlayRequest(id=1, new_game={"position": {"start": "7x6"}, "options": {"memory": "60"}})]
    commands.append(engine_pb2.PlayRequest(id=2, go={"limits": {"nodes": 10}}))
    stream = daemon.caller.engine.Play(iter(commands), timeout=60)
    assert [reply.id for reply in stream][-1] == 2
    until(lambda: daemon.runtime.memory.used == 0)


def test_the_file_is_read_again_on_a_signal(serve, clients):
    process = serve("--listen", "127.0.0.1:0", "--clients", str(clients))
    with Caller(process.addresses()[0]) as caller:
        describe = caller.engine.Describe
        describe(engine_pb2.DescribeRequest(), metadata=bearer("one"))
        clients.write_text(entry("new", "three"))
        os.kill(process.pid, signal.SIGHUP)
        until(lambda: any(line["message"] == "1 clients are known" for line in process.log()))
        describe(engine_pb2.DescribeRequest(), metadata=bearer("three"))
        assert (
            status_of(describe, engine_pb2.DescribeRequest(), metadata=bearer("one")).code().name == "UNAUTHENTICATED"
        )
        clients.write_text("nonsense = 1")
        os.kill(process.pid, signal.SIGHUP)
        until(lambda: any("the old one stays in use" in line["message"] for line in process.log()))
        describe(engine_pb2.DescribeRequest(), metadata=bearer("three"))


def test_who_is_read_again_keeps_what_it_has(clients):
    auth = Authenticator(clients)
    client = auth._known["gui"]
    with client.searching():
        clients.write_text(entry("gui", "one", searches=1))
        auth.reload()
        assert auth._known["gui"] is client
        assert client.quotas == Quotas(searches=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[clients]]\nname = 'a'", 'unknown key "clients"; did you mean "client"?'),
        ("client = 1", "client is 1; each client is a table, written [[client]]"),
        ("[[client]]\nsha256 = 'ab'", "client 1: name is ''; allowed is"),
        ("[[client]]\nname = 'a'", "client 1, a: neither sha256 nor common_name"),
        ("[[client]]\nname = 'a'\nsha256 = 'ab'", "sha256 is 'ab'; allowed is 64 hexadecimal digits"),
        ("[[client]]\nname = 'a'\ntoken = 'ab'", 'unknown key "token"; '),
        ("[[client]]\nname = 'a'\ncommon_name = 'a'\nsearches = 0", "client 1, a: limits.searches is 0; allowed"),
        ("[[client]]\nname = 'a'\ncommon_name = 1", "common_name is 1"),
        (entry("a", "x") + "\n" + entry("a", "y"), "two clients have the same name"),
        (entry("a", "x") + "\n" + entry("b", "x"), "two clients have the same sha256"),
    ],
)
def test_bad_file_of_clients(tmp_path, text, message):
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(BadSetting) as caught:
        read_clients(file)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("peer", "host"),
    [("ipv4:127.0.0.1:4711", "127.0.0.1"), ("ipv6:%5B::1%5D:4711", "%5B::1%5D"), ("unix:", "unix"), ("", "")],
)
def test_host_of_a_peer(peer, host):
    assert host_of(peer) == host


def test_strangers_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr("plyd.servers.access.auth.MAX_HOSTS", 10)
    auth = Authenticator(None, Quotas(searches=1))
    kept = auth._client_at("busy")
    with kept.searching():
        for number in range(100):
            auth._client_at(str(number))
        assert auth._client_at("busy") is kept
    assert len(auth._hosts) <= 11
