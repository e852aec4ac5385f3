"""What is refused before anything is done for it: callers without a token, messages too large, calls and streams beyond
what a daemon takes. The honest caller beside them gets its answer."""

import asyncio
import hashlib
import queue
import threading
from collections import Counter

import grpc
import grpc.aio
import pytest

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.client import EngineClient
from plyd.servers.access.auth import Authenticator
from plyd.servers.rpc import decoding, engine_service
from plyd.v1 import engine_pb2, rules_pb2
from tests.patience import SOON, until
from tests.servers.daemons import (
    SLOW,
    Caller,
    analyze_request,
    field_at_fault,
    read_out,
    retry_seconds,
    search_request,
)
from tests.servers.fakes import FakeEngine, SticksRules

BOMB = engine_pb2.SearchRequest(position={"moves": [""] * 100_000})  # 200 kB, a few hundred bytes of gzip


def clients_text(**tokens):
    """A clients file with a client of each name."""
    digests = {name: hashlib.sha256(token.encode()).hexdigest() for name, token in tokens.items()}
    return "".join(f'[[client]]\nname = "{name}"\nsha256 = "{digest}"\n' for name, digest in digests.items())


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


@pytest.fixture
def decoded(monkeypatch):
    """The sizes of the messages that daemons opened from now on decode."""
    sizes, lenient = [], decoding.lenient

    def counting(decode, most_bytes):
        def decode_and_count(data):
            sizes.append(len(data))
            return decode(data)

        return lenient(decode_and_count, most_bytes)

    for module in (decoding, engine_service):
        monkeypatch.setattr(module, "lenient", counting)
    return sizes


@pytest.fixture
def clients(tmp_path):
    file = tmp_path / "clients.toml"
    file.write_text(clients_text(gui="one", bot="two"))
    return file


def connections_of(client):
    """The connections of a client to its only daemon."""
    [daemon] = client._daemons._balancer.daemons
    return daemon.connections.all


def error_of(call, *arguments, **settings):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, timeout=SOON, **settings)
    return caught.value


# --- The token before the message -------------------------------------------------------------------------------------


def test_no_message_of_a_caller_without_a_token_is_decoded(open_daemon, clients, decoded, logged):
    daemon = open_daemon(auth=Authenticator(clients))
    engine, rules = daemon.caller.engine, daemon.caller.rules
    for call, request in (
        (engine.Search, search_request("7 one")),
        (engine.Describe, engine_pb2.DescribeRequest(game="sticks")),
        (rules.Inspect, rules_pb2.InspectRequest(position={"start": "7 one"})),
    ):
        error = error_of(call, request, metadata=(*bearer("wrong"), ("x-request-id", "mine")))
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        assert ("x-request-id", "mine") in error.trailing_metadata()
    given, error = read_out(engine.Analyze(analyze_request("7 one"), timeout=SOON))
    assert (given, error.code()) == ([], grpc.StatusCode.UNAUTHENTICATED)
    for stream in (engine.Play, engine.Evaluate):
        assert read_out(stream(iter([BOMB]), timeout=SOON))[1].code() is grpc.StatusCode.UNAUTHENTICATED
    assert decoded == []
    assert daemon.runtime.observer.metrics.requests["Search", "UNAUTHENTICATED", ""].counts
    until(lambda: sum(line["status"] == "UNAUTHENTICATED" for line in logged()) == 6)
    engine.Search(search_request("7 one"), metadata=bearer("one"), timeout=SOON)
    assert len(decoded) == 1


def test_a_client_beyond_its_rate_is_refused_before_its_message_is_decoded(open_daemon, clients, decoded):
    clients.write_text(clients_text(gui="one") + "requests_per_second = 2\n")
    daemon = open_daemon(auth=Authenticator(clients))
    describe = daemon.caller.engine.Describe
    for _ in range(2):
        describe(engine_pb2.DescribeRequest(game="sticks"), metadata=bearer("one"), timeout=SOON)
    error = error_of(describe, engine_pb2.DescribeRequest(game="sticks"), metadata=bearer("one"))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert len(decoded) == 2
    assert daemon.runtime.observer.metrics.sheds["client_limit", "gui"] == 1


# --- Size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_that_is_too_large_is_not_decoded_compressed_or_not(open_daemon, decoded, compression):
    daemon = open_daemon()
    error = error_of(daemon.caller.engine.Search, BOMB, compression=compression)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == f"the message has {BOMB.ByteSize()} bytes; at most 163840 are allowed"
    assert decoded == []
    daemon.caller.engine.Search(search_request("7 one"), timeout=SOON)


def test_a_compressed_message_is_not_decompressed_beyond_what_is_allowed(open_daemon, decoded):
    daemon = open_daemon()
    huge = search_request("7" * (8 << 20))
    error = error_of(daemon.caller.engine.Search, huge, compression=grpc.Compression.Gzip)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in error.details()
    assert decoded == []


def test_a_history_of_20000_moves_is_not_too_large_a_message(open_daemon):
    error = error_of(open_daemon().caller.engine.Search, search_request(moves=["1@15"] * 20_000))
    assert error.details() == 'move 1: illegal move "1@15" at "7 one"'


def test_moves_are_bounded_by_their_bytes(open_daemon):
    error = error_of(open_daemon().caller.engine.Search, search_request(moves=["1@15"] * 22_000))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == (
        "the moves take 132000 bytes; at most 131072 are allowed; "
        "a longer game goes on from its board: ask for states without_history"
    )
    assert field_at_fault(error) == "position.moves"


def test_the_largest_batch_passes(open_daemon, decoded):
    daemon = open_daemon()
    batch = engine_pb2.EvaluateRequest(lines=b"\n" * daemon.runtime.capacity.max_batch_bytes)
    assert (
        read_out(daemon.caller.engine.Evaluate(iter([batch]), timeout=SOON))[1].code() is grpc.StatusCode.UNIMPLEMENTED
    )
    assert decoded == [batch.ByteSize()]


def test_an_endless_move_is_refused_by_its_length(open_daemon):
    error = error_of(open_daemon().caller.engine.Search, search_request(moves=["1" * 100_000]))
    assert error.details().startswith('move 1: 100000 characters in "111')
    assert len(error.details()) < 200


# --- How many at once -------------------------------------------------------------------------------------------------


class OpenStream:
    """A Play stream with one game; what it says can be read."""

    def __init__(self, caller, metadata=()):
        self.commands = queue.SimpleQueue()
        self.commands.put(engine_pb2.PlayRequest(id=1, new_game={"position": {"start": "7 one"}}))
        self.replies = caller.engine.Play(iter(self.commands.get, None), metadata=metadata, timeout=SOON)


def test_one_connection_takes_100_calls_at_once_and_the_next_waits_for_the_end_of_one(open_daemon):
    daemon = open_daemon(max_sessions=200)
    streams = [OpenStream(daemon.caller) for _ in range(101)]
    for stream in streams[:100]:
        assert next(stream.replies).id == 1
    assert daemon.runtime.sessions == 100
    streams[0].commands.put(None)
    assert next(streams[100].replies).id == 1
    for stream in streams:
        stream.commands.put(None)
        stream.replies.cancel()
    until(daemon.is_idle)


def test_256_games_of_one_client_are_open_at_once(open_daemon):
    daemon = open_daemon()
    with EngineClient(daemon.target) as client:
        games = [client.play("7 one") for _ in range(256)]
        assert daemon.runtime.sessions == 256
        assert client.describe().daemon.max_streams_per_connection == 100
        assert games[0].moves("1").text == games[255].moves("1").text == "6 two"
        for game in games:
            game.close()
        until(daemon.is_idle)
        assert [connection.calls for connection in connections_of(client)] == [0, 0, 0]


def test_256_games_of_one_asyncio_client_are_open_at_once(open_daemon):
    daemon = open_daemon()

    async def play():
        async with AsyncEngineClient(daemon.target) as client:
            games = await asyncio.gather(*(client.play("7 one") for _ in range(256)))
            assert daemon.runtime.sessions == 256
            for game in games:
                game.close()
            assert [connection.calls for connection in connections_of(client)] == [0, 0, 0]

    asyncio.run(asyncio.wait_for(play(), SOON))


def test_calls_beyond_what_a_daemon_answers_at_once_are_told_to_come_later(open_daemon, decoded):
    daemon = open_daemon(slots=1, queue_size=0, max_sessions=1, max_calls=1)  # so that 3 calls fit in
    describe, request = daemon.caller.engine.Describe, engine_pb2.DescribeRequest(game="sticks")
    silent = [daemon.caller.channel.stream_stream(SEARCH)(iter(queue.SimpleQueue().get, None)) for _ in range(3)]
    until(lambda: daemon.runtime.accepted == 3)  # they say that they come, and send nothing
    error = error_of(describe, request)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details() == "3 calls are being answered, the most allowed; try again later"
    assert retry_seconds(error) > 0
    assert decoded == []
    assert daemon.runtime.observer.metrics.sheds["calls", ""] == 1
    for call in silent:
        call.cancel()
    until(lambda: daemon.runtime.accepted == 0)
    describe(request, timeout=SOON)


SEARCH = "/plyd.v1.EngineService/Search"


def test_callers_with_a_token_have_room_that_others_cannot_take(open_daemon, clients):
    daemon = open_daemon(auth=Authenticator(clients), slots=1, queue_size=0, max_sessions=1, max_calls=8)  # 10, and 5
    searching = daemon.caller.engine.Search.future(search_request(options=SLOW), metadata=bearer("two"))
    until(lambda: daemon.searches.running == 1)
    stream = daemon.caller.channel.stream_stream(SEARCH)
    known = [stream(iter(queue.SimpleQueue().get, None), metadata=bearer("two")) for _ in range(5)]
    until(lambda: daemon.runtime.accepted == 6)
    describe, request = daemon.caller.engine.Describe, engine_pb2.DescribeRequest()
    assert error_of(describe, request).code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    describe(request, metadata=bearer("one"), timeout=SOON)
    for call in (searching, *known):
        call.cancel()
    until(lambda: daemon.runtime.accepted == 0)
    assert error_of(describe, request).code() is grpc.StatusCode.UNAUTHENTICATED


def test_3000_calls_at_once_over_20_connections_are_all_answered(open_daemon):
    daemon = open_daemon()

    async def flood():
        options = [("grpc.use_local_subchannel_pool", 1)]
        channels = [grpc.aio.insecure_channel(daemon.target, options) for _ in range(20)]
        await asyncio.gather(*(channel.channel_ready() for channel in channels))
        calls = [channel.unary_unary("/plyd.v1.EngineService/Describe")(b"") for channel in channels * 150]
        statuses = Counter(await asyncio.gather(*(call.code() for call in calls)))
        await asyncio.gather(*(channel.close() for channel in channels))
        return statuses

    assert asyncio.run(asyncio.wait_for(flood(), 10 * SOON)) == {grpc.StatusCode.OK: 3000}


# --- Rules in threads -------------------------------------------------------------------------------------------------


class SlowRules(SticksRules):
    """Says that it may take long, and waits to be let go."""

    def __init__(self):
        super().__init__("slow", 2, is_quick=False)
        object.__setattr__(self, "gate", threading.Event())
        object.__setattr__(self, "threads", [])

    def parse(self, text):
        self.threads.append(threading.current_thread().name)
        assert self.gate.wait(SOON)
        return super().parse(text)


def test_rules_that_may_take_long_never_hold_the_event_loop_up(open_daemon):
    engine, rules = FakeEngine(), SlowRules()
    engine.variants = {"slow": rules, "normal": FakeEngine.variants["normal"]}
    daemon = open_daemon(engine)
    slow = {"start": "7 one", "variant": "slow"}
    calls = [
        daemon.caller.rules.Inspect.future(rules_pb2.InspectRequest(position=slow)),
        daemon.caller.rules.NewGame.future(rules_pb2.NewGameRequest(**slow)),
        daemon.caller.rules.Apply.future(rules_pb2.ApplyRequest(position=slow, moves=["1"])),
    ]
    until(lambda: len(rules.threads) == 2 and daemon.runtime.rules.waiting == 1)
    quick = {"start": "7 one", "variant": "normal"}
    assert daemon.caller.rules.Inspect(rules_pb2.InspectRequest(position=quick), timeout=SOON).state.text == "7 one"
    rules.gate.set()
    assert [call.result(SOON).state.text for call in calls] == ["7 one", "7 one", "6 two"]
    assert all(name.startswith("rules") for name in rules.threads)


# --- A right that ends ------------------------------------------------------------------------------------------------


def reload_clients(house, daemon):
    """Has the daemon read its clients file again, as on SIGHUP."""

    async def reload():
        daemon.runtime.auth.reload()

    house.begin(reload()).result(SOON)


@pytest.mark.parametrize("change", [{"bot": "two"}, {"bot": "two", "gui": "other"}], ids=["gone", "new token"])
def test_calls_of_a_client_whose_token_is_revoked_end_and_those_of_others_go_on(house, open_daemon, clients, change):
    daemon = open_daemon(auth=Authenticator(clients), slots=4)
    engine = daemon.caller.engine
    mine, theirs = OpenStream(daemon.caller, bearer("one")), OpenStream(daemon.caller, bearer("two"))
    analysis = engine.Analyze(analyze_request(options=SLOW), metadata=bearer("one"), timeout=SOON)
    batches = engine.Evaluate(iter(queue.SimpleQueue().get, None), metadata=bearer("one"), timeout=SOON)
    search = engine.Search.future(search_request(options=SLOW), metadata=bearer("one"), timeout=SOON)
    for first in (mine.replies, theirs.replies, analysis):
        next(first)
    mine.commands.put(engine_pb2.PlayRequest(id=2, go={}))
    until(lambda: daemon.searches.running == 2 and daemon.runtime.calls == 5)
    clients.write_text(clients_text(**change))
    reload_clients(house, daemon)
    for stream in (mine.replies, analysis, batches):
        assert read_out(stream)[1].code() is grpc.StatusCode.UNAUTHENTICATED
    assert search.exception(SOON).details() == "the client's right to call has ended"
    until(lambda: daemon.searches.running == 0)
    theirs.commands.put(engine_pb2.PlayRequest(id=2, moves={"moves": ["1"]}))
    assert next(theirs.replies).state.text == "6 two"
    theirs.commands.put(None)
    assert list(theirs.replies) == []


def test_a_call_whose_message_comes_after_its_token_was_revoked_is_refused(house, open_daemon, clients):
    daemon = open_daemon(auth=Authenticator(clients))
    messages = queue.SimpleQueue()
    call = daemon.caller.channel.stream_stream(SEARCH)(iter(messages.get, None), metadata=bearer("one"), timeout=SOON)
    until(lambda: daemon.runtime.accepted == 1)
    clients.write_text(clients_text(bot="two"))
    reload_clients(house, daemon)
    messages.put(search_request().SerializeToString())
    assert read_out(call)[1].code() is grpc.StatusCode.UNAUTHENTICATED
    messages.put(None)


def test_quotas_that_change_apply_to_an_open_game_at_once(house, open_daemon, clients):
    daemon = open_daemon(auth=Authenticator(clients))
    with Caller(daemon.target) as caller:
        first = OpenStream(caller, bearer("two"))
        next(first.replies)
        clients.write_text(clients_text(bot="two") + "sessions = 1\n")
        reload_clients(house, daemon)
        assert read_out(OpenStream(caller, bearer("two")).replies)[1].details().startswith("bot may have 1 open games")
        first.commands.put(None)
        assert list(first.replies) == []
