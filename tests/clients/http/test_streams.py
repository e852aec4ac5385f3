"""Streams from the daemon by HTTP are those by gRPC, message by message, and end as those do."""

import json
import socket

import pytest
from google.protobuf import json_format

from plyd.clients.http.codec import in_envelope
from tests.clients.http.bridge import BY_NAME, reply_of, timeless
from tests.clients.http.test_calls import as_json, plain
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, read_out

CASES = [
    {"options": {"reports": "1"}},
    {"position": {"start": "0 one"}},
    {"position": {"start": "5 three"}},
    {"position": {"game": "chess"}},
    {"options": {"fail": "true"}},
    {"maxLines": 0},
]


@pytest.mark.parametrize("fields", CASES, ids=str)
def test_an_analysis_is_that_of_grpc(bridge, sticks, fields):
    messages, end = bridge.stream("Analyze", fields)
    request = json_format.ParseDict(fields, BY_NAME["Analyze"].request())
    expected, error = read_out(sticks.caller.engine.Analyze(request, timeout=SOON))
    assert [reply_of("Analyze", messages[-1])] == [timeless(expected[-1])] if expected else not messages
    assert (plain(end["error"]) if error else end) == (as_json(error) if error else {})


def test_the_last_report_and_only_the_last_is_final(bridge, sticks):
    messages, end = bridge.stream("Analyze", {"options": {"reports": "9", "seconds_per_report": "0.01"}})
    finals = [message["report"].get("final", False) for message in messages]
    assert finals == [False] * (len(finals) - 1) + [True]
    assert end == {}


def test_a_stream_tells_the_request_id_at_its_end(bridge, sticks):
    _, end = bridge.stream("Analyze", {}, **{"X-Request-Id": "mine-2"})
    assert end["metadata"] == {"x-request-id": ["mine-2"]}


def test_a_load_can_be_watched_until_the_deadline(bridge, sticks):
    messages, end = bridge.stream("WatchLoad", {}, **{"Connect-Timeout-Ms": "300"})
    assert all(message == {"slots": 1} for message in messages)
    assert end["error"]["code"] == "deadline_exceeded"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the body has 0 bytes"),
        (b"{}", "the body has 2 bytes"),
        (in_envelope(b"{}") + in_envelope(b"{}"), "expected is one message"),
        (in_envelope(b"{}")[:-1], "expected is one message"),
        (in_envelope(b"{}", 1), "flags are 1"),
        (in_envelope(b"{}", 2), "flags are 2"),
        (in_envelope(b"{"), "in JSON"),
        (in_envelope(b" " * (1 << 20)), "1048576 bytes"),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_a_body_that_is_no_request_is_explained_at_the_end_of_the_stream(bridge, body, words):
    messages, end = bridge.stream("Analyze", body)
    assert messages == []
    assert words in end["error"]["message"]


def test_a_stream_has_a_content_type_of_its_own(bridge):
    status, error = bridge.post("Analyze", {})
    assert status == 415
    assert "application/connect+json" in error["message"]


def test_a_caller_who_hangs_up_stops_the_search(bridge, sticks):
    body = in_envelope(json.dumps({"options": SLOW}).encode())
    with socket.create_connection(bridge.host.split(":")) as caller:
        head = f"POST {BY_NAME['Analyze'].path} HTTP/1.1\r\nHost: {bridge.host}\r\n"
        head += f"Content-Type: application/connect+json\r\nContent-Length: {len(body)}\r\n\r\n"
        caller.sendall(head.encode() + body)
        assert caller.recv(10) == b"HTTP/1.1 2"
        until(lambda: sticks.searches.running == 1)
    until(sticks.is_idle)


@pytest.mark.parametrize("protocol", ["connect", "grpcweb"])
def test_another_program_of_either_protocol_reads_the_stream(bridge, sticks, buf, protocol):
    done = buf(bridge, protocol, "Analyze", {"options": {"reports": "3"}})
    assert done.returncode == 0, done.stderr
    assert '"final":true' in done.stdout.replace(" ", "")


def test_play_and_evaluate_want_a_websocket(bridge):
    for name in ("Play", "Evaluate"):
        status, error = bridge.post(name, {})
        assert (status, error["code"]) == (505, "unimplemented")
        assert f"ws://HOST/plyd.v1.EngineService/{name}" in error["message"]
