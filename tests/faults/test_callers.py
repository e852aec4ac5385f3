"""Callers who read slowly, say half a word, lie about lengths, are late, or come in thousands: nobody else notices."""

import contextlib
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from plyd.clients.stress.attacks.http2 import (
    DATA,
    END_HEADERS,
    HEADERS,
    OPENING,
    PING,
    PREFACE,
    SETTINGS,
    frame,
    headers,
)
from plyd.v1 import engine_pb2
from tests.faults.victim import ENDLESS, START, call, everything
from tests.patience import SOON, until
from tests.servers.daemons import Caller, analyze_request, search_request

SEARCH = "/plyd.v1.EngineService/Search"
MEGABYTES_FOR_NOTHING = 60  # that the daemon's memory may move by in any of this; a batch and its answer are one


# --- Slow readers -----------------------------------------------------------------------------------------------------


def test_a_reader_who_never_reads_its_answers_is_not_read_from_either_and_costs_little(victim):
    batch = engine_pb2.EvaluateRequest(lines=(START + "\n").encode() * 18_000)  # a quarter of a megabyte
    taken = 0

    def batches():
        nonlocal taken
        for _ in range(2000):  # half a gigabyte, if all were taken
            taken += 1
            yield batch

    before = victim.resident_megabytes()
    with Caller(victim.target, ("grpc.http2.bdp_probe", 0)) as slow:  # else its own gRPC takes in hundreds of megabytes
        stream = slow.engine.Evaluate(batches())
        seen = -1
        while seen != taken:  # until no more are taken
            seen = taken
            time.sleep(1)
        assert taken < 100
        assert victim.resident_megabytes() - before < MEGABYTES_FOR_NOTHING
        victim.check()  # while the other is still there
        stream.cancel()


def test_analyses_that_nobody_reads_free_their_slots_when_their_time_is_over(open_daemon):
    daemon = open_daemon(slots=2)
    options = {"reports": "1000000", "seconds_per_report": "0.001", "padding": "200000"}
    limits = {"move_time_ms": 300}
    unread = [daemon.caller.engine.Analyze(analyze_request(options=options, limits=limits)) for _ in range(2)]
    until(lambda: daemon.searches.running == 2)
    until(lambda: daemon.searches.running == 0)
    assert daemon.caller.engine.Search(search_request(), timeout=SOON).report.final
    assert daemon.runtime.calls == 2  # they are still there, and can be read
    for analysis in unread:
        reports = [response.report.final for response in analysis]
        assert reports.count(True) == reports[-1] == 1


# --- Half-open sockets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", PREFACE[:10], PREFACE, PREFACE + frame(SETTINGS, 0, 0, b"")[:5]])
def test_connections_that_say_half_a_word_or_nothing_keep_nobody_waiting(victim, said):
    before, memory = victim.open_files(), victim.resident_megabytes()
    connections = [victim.connect() for _ in range(100)]
    for connection in connections:
        connection.sendall(said)
    victim.check()
    assert victim.resident_megabytes() - memory < MEGABYTES_FOR_NOTHING
    for connection in connections:
        connection.close()
    until(lambda: victim.open_files() <= before + 5)


# --- Malformed and huge frames ----------------------------------------------------------------------------------------


NONSENSE = random.Random(1).randbytes(5000)
MALFORMED = {
    "random bytes": NONSENSE,
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + NONSENSE[:500],
    "random bytes after the preface": PREFACE + NONSENSE,
    "random bytes after the settings": OPENING + NONSENSE,
    "a frame of 16 MB": OPENING + b"\xff\xff\xff" + bytes([DATA, 0]) + (1).to_bytes(4, "big") + NONSENSE,
    "a frame of no known kind": OPENING + frame(200, 255, 3, NONSENSE[:100]),
    "settings of 5 bytes": PREFACE + frame(SETTINGS, 0, 0, b"12345"),
    "headers that are none": OPENING + frame(HEADERS, END_HEADERS, 1, NONSENSE[:200]),
    "headers on stream 0": OPENING + frame(HEADERS, END_HEADERS, 0, headers(SEARCH)),
    "data without headers": OPENING + frame(DATA, 1, 1, b"\0\0\0\0\0"),
    "a ping of 7 bytes": OPENING + frame(PING, 0, 0, b"1234567"),
    "ten thousand pings": OPENING + frame(PING, 0, 0, b"12345678") * 10_000,
    "headers that never end": OPENING + frame(HEADERS, 0, 1, headers(SEARCH)) + frame(9, 0, 1, b"\0\1x\1y" * 3000) * 50,
    "a message of 4 GB": call(SEARCH, b"", declared=2**32 - 1),
    "a message above the limit": call(SEARCH, b"x" * 1000, declared=5 << 20),
    "a message cut short": call(SEARCH, b"x" * 10, declared=100),
    "a message that is none": call(SEARCH, NONSENSE[:1000]),
    "a message said to be compressed": call(SEARCH, b"").replace(b"\0\0\0\0\0", b"\1\0\0\0\0"),
    "an unknown compression": call(SEARCH, b"", grpc_encoding="brotli"),
    "an unknown method": call("/plyd.v1.EngineService/Win", b""),
    "no method at all": call("", b""),
    "a time-out that is none": call(SEARCH, b"", grpc_timeout="soon"),
    "a time-out of no time": call(SEARCH, b"", grpc_timeout="0n"),
    "a time-out of a nanosecond": call(SEARCH, b"", grpc_timeout="1n"),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_frames_end_at_most_their_own_connection(victim, data):
    memory = victim.resident_megabytes()
    with victim.connect() as connection:
        try:
            connection.sendall(data)
        except ConnectionError:
            return  # it has hung up already
        with contextlib.suppress(OSError):  # it has hung up
            connection.shutdown(socket.SHUT_WR)
        everything(connection, SOON)  # until it hangs up, having read all
    victim.check()
    assert victim.resident_megabytes() - memory < MEGABYTES_FOR_NOTHING


def test_frames_of_random_bytes_by_the_hundred_leave_the_daemon_well(victim):
    chance, files = random.Random(2), victim.open_files()
    for _ in range(300):
        with victim.connect() as connection:
            kind, flags, stream = chance.randrange(10), chance.randrange(256), chance.randrange(8)
            connection.sendall(OPENING + frame(kind, flags, stream, chance.randbytes(chance.randrange(200))))
    until(lambda: victim.open_files() <= files + 5)


def test_a_length_beyond_the_limit_is_refused_before_the_bytes_are_there(victim):
    with victim.connect() as connection:
        body = frame(DATA, 0, 1, b"\0" + (2**31).to_bytes(4, "big"))
        connection.sendall(OPENING + frame(HEADERS, END_HEADERS, 1, headers(SEARCH)) + body)
        refusal = b"Received message larger than max"
        assert refusal in everything(connection, SOON, refusal)


def test_metadata_beyond_all_measure_is_refused(victim):
    with Caller(victim.target) as caller, pytest.raises(grpc.RpcError) as error:
        caller.engine.Search(search_request(START), metadata=[("x-much", "y" * 100_000)], timeout=SOON)
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


# --- Deadlines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [-1, 0, 1e-9, 1e-6, 1e-4, 1e-3])
def test_a_deadline_in_the_past_or_nearly_costs_no_slot(victim, timeout):
    with Caller(victim.target) as caller:
        for _ in range(50):
            try:
                report = caller.engine.Search(search_request(START, options=ENDLESS), timeout=timeout).report
                assert report.final  # an answer that was quicker than the alarm of gRPC's clock
            except grpc.RpcError as error:  # with RESOURCE_EXHAUSTED if the one before had not quite left its slot
                assert error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)  # noqa: PT017
        for _ in range(10):  # more than there are slots
            request = search_request(START, options=ENDLESS, limits={"depth": 1})
            assert caller.engine.Search(request, timeout=SOON).report.final


# --- Very many -------------------------------------------------------------------------------------------------------


def test_a_thousand_short_streams_leave_nothing_behind(victim):
    with Caller(victim.target) as caller:

        def short_stream(number):
            request = engine_pb2.PlayRequest(id=number, new_game={"position": {"start": START}})
            replies = caller.engine.Play(iter([request]), timeout=SOON) if number % 2 else None
            replies = replies or caller.engine.Analyze(analyze_request(START), timeout=SOON)
            try:
                next(replies)
            except grpc.RpcError as error:
                assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED  # noqa: PT017
            replies.cancel()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(short_stream, range(300)))  # until whatever grows at first has grown
            memory, files = victim.resident_megabytes(), victim.open_files()
            list(pool.map(short_stream, range(1000)))
    assert victim.resident_megabytes() - memory < 15
    until(lambda: victim.open_files() <= files)


def test_a_bomb_of_games_is_refused_and_all_is_well_once_it_is_over(victim):
    hold = threading.Event()
    request = engine_pb2.PlayRequest(id=1, new_game={"position": {"start": START}})

    def commands():
        yield request
        hold.wait(60)

    with Caller(victim.target) as caller:
        games = [caller.engine.Play(commands()) for _ in range(120)]
        with ThreadPoolExecutor(120) as pool:
            fates = list(pool.map(fate, games))
        assert (fates.count("begun"), fates.count("RESOURCE_EXHAUSTED")) == (16, 104)
        victim.check()  # searches need no game
        for game in games:
            game.cancel()
        hold.set()
        until(lambda: fate(caller.engine.Play(iter([request]))) == "begun")


def fate(game):
    """What became of a game that was asked for."""
    try:
        next(game)
        return "begun"
    except grpc.RpcError as error:
        return error.code().name
