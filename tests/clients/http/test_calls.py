"""Unary calls by HTTP are those by gRPC: the same answers, and the same errors with the same details."""

import base64
import hashlib
import json
import socket

import grpc
import pytest
from google.protobuf import json_format
from google.rpc.error_details_pb2 import RetryInfo

from plyd.clients.http.codec import in_envelope
from plyd.clients.http.failures import HTTP_STATUS, code_name
from plyd.servers.access.auth import Authenticator
from tests.clients.http.bridge import BY_NAME, Bridge, reply_of, timeless
from tests.patience import LONG, SOON, until
from tests.ports import free_place
from tests.servers.daemons import SLOW, details_of

UNARY = [method for method in BY_NAME.values() if not method.takes_stream and not method.gives_stream]
POSITION = {"start": "5 two", "moves": ["2", "1"]}
GOOD = [
    ("Describe", {}),
    ("Describe", {"game": "sticks"}),
    ("Search", {"position": POSITION, "maxLines": 2, "options": {"reports": "3"}}),
    ("Search", {"position": {"start": "0 one"}}),
    ("Search", {"options": {"score": "proven"}, "limits": {"nodes": "5"}}),
    ("NewGame", {"variant": "greedy", "start": "9 two", "seed": "7"}),
    ("Inspect", {"position": POSITION}),
    ("Apply", {"position": POSITION, "moves": ["1"], "without_history": True}),
]
BAD = [
    ("Describe", {"game": "chess"}),
    ("Search", {"position": {"game": "chess"}}),
    ("Search", {"position": {"start": "5 three"}}),
    ("Search", {"position": {"moves": ["1", "9"]}}),
    ("Search", {"options": {"colour": "red"}}),
    ("Search", {"options": {"fail": "true"}}),
    ("Search", {"maxLines": 0}),
    ("Search", {"limits": {"nodes": 0}}),
    ("Search", {"position": {"start": "x" * 99_990}}),
    ("NewGame", {"variant": "none"}),
    ("Inspect", {"position": {"start": "5 three"}}),
    ("Apply", {"moves": ["3"]}),
]


def of_grpc(daemon, name, fields, **settings):
    """What the same call by gRPC gives: a message, or the error as the bridge should write it."""
    method = BY_NAME[name]
    try:
        request = json_format.ParseDict(fields, method.request())
        return timeless(method.on(daemon.caller)(request, timeout=SOON, **settings))
    except grpc.RpcError as error:
        return error


def as_json(error):
    """A gRPC error as the Connect protocol writes it, without what is there for the reader only."""
    fields = {"code": code_name(error.code()), "message": error.details()}
    if any(key.endswith("details-bin") for key, _ in error.trailing_metadata()) and (details := details_of(error)):
        fields["details"] = [(each.TypeName(), each.value) for each in details]
    return fields


def plain(error):
    """An error in JSON, its details decoded."""
    if "details" not in error:
        return error
    details = [(each["type"], base64.b64decode(each["value"] + "==")) for each in error["details"]]
    return error | {"details": details}


def test_every_unary_method_is_among_the_cases():
    assert {method.name for method in UNARY} == {name for name, _ in GOOD} == {name for name, _ in BAD}


@pytest.mark.parametrize(("name", "fields"), GOOD, ids=str)
def test_an_answer_is_that_of_grpc(bridge, sticks, name, fields):
    status, reply = bridge.post(name, fields)
    assert status == 200, reply
    assert reply_of(name, reply) == of_grpc(sticks, name, fields)


@pytest.mark.parametrize(("name", "fields"), BAD, ids=lambda each: str(each)[:50])
def test_an_error_is_that_of_grpc_with_its_details(bridge, sticks, name, fields):
    status, error = bridge.post(name, fields)
    expected = of_grpc(sticks, name, fields)
    assert plain(error) == as_json(expected)
    assert status == HTTP_STATUS[expected.code()]


def test_every_status_of_grpc_has_one_of_http():
    assert set(HTTP_STATUS) == set(grpc.StatusCode) - {grpc.StatusCode.OK}


def test_the_field_at_fault_can_be_read_without_protobuf(bridge):
    _, error = bridge.post("Search", {"position": {"start": "5 three"}})
    [detail] = error["details"]
    assert detail["type"] == "google.rpc.BadRequest"
    assert detail["debug"]["fieldViolations"][0]["field"] == "position.start"


def test_a_full_daemon_says_when_to_try_again(open_daemon):
    daemon, bridge = open_daemon(slots=1, queue_size=0)
    call = daemon.occupied()
    status, error = bridge.post("Search", {})
    call.cancel()
    [detail] = plain(error)["details"]
    assert (status, error["code"], detail[0]) == (429, "resource_exhausted", "google.rpc.RetryInfo")
    assert RetryInfo.FromString(detail[1]).retry_delay.ToTimedelta().total_seconds() > 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "in JSON"),
        (b"{", "in JSON"),
        (b"[]", "in JSON"),
        (b'"text"', "in JSON"),
        (b"\xff", "in JSON"),
        (b"[" * 100_000, "in JSON"),
        (b'{"postion": {}}', 'no field named "postion"'),
        (b'{"position": {"moves": 5}}', "moves"),
        (b'{"maxLines": -1}', "axLines"),
        (b'{"position": {"start": "\\ud800"}}', "in JSON"),
        (b'{"maxLines": ' + b"9" * 5000 + b"}", "in JSON"),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_a_body_that_is_no_request_is_explained(bridge, body, words):
    status, error = bridge.post("Search", body)
    assert (status, error["code"]) == (400, "invalid_argument")
    assert words in error["message"]


def test_a_body_that_is_too_large_is_refused(bridge):
    status, error = bridge.post("Search", b" " * (1 << 20) + b"{}")
    assert (status, error["code"]) == (429, "resource_exhausted")
    assert "1048576 bytes" in error["message"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
def test_another_content_type_is_refused_and_the_right_one_named(bridge, kind):
    status, error = bridge.post("Search", {}, **{"Content-Type": kind})
    assert status == 415
    assert "allowed is application/json" in error["message"]


def test_a_charset_is_no_other_content_type(bridge):
    assert bridge.post("Describe", {}, **{"Content-Type": "application/json; charset=UTF-8"})[0] == 200


def test_compressed_bodies_are_refused_with_what_is_supported(bridge):
    status, error = bridge.post("Search", {}, **{"Content-Encoding": "gzip"})
    assert (status, error["code"]) == (501, "unimplemented")
    assert "supported is identity" in error["message"]


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE"])
def test_a_call_is_a_post(bridge, verb):
    status, headers, _ = bridge.ask(BY_NAME["Search"].path, b"{}", verb, **{"Content-Type": "application/json"})
    assert (status, headers["allow"]) == (405, "POST")


def test_an_unknown_method_is_unimplemented(bridge):
    status, _, body = bridge.ask("/plyd.v1.EngineService/Guess", b"{}")
    assert (status, json.loads(body)["code"]) == (404, "unimplemented")


def test_a_deadline_is_a_limit_of_the_search(bridge, sticks):
    sticks.engine.asked.clear()
    assert bridge.post("Search", {}, **{"Connect-Timeout-Ms": str(1000 * LONG)})[0] == 200
    [asked] = sticks.engine.asked
    assert LONG * 0.5 < asked.limits.max_seconds < LONG


def test_a_deadline_that_passes_ends_the_call(house):
    silent = socket.create_server(("127.0.0.1", 0))  # accepts connections and says nothing
    with silent, Bridge(house, f"127.0.0.1:{silent.getsockname()[1]}") as bridge:
        status, error = bridge.post("Search", {}, **{"Connect-Timeout-Ms": "0"})
    assert (status, error["code"]) == (504, "deadline_exceeded")


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "12345678901"])
def test_a_deadline_that_is_no_number_is_refused(bridge, text):
    status, error = bridge.post("Search", {}, **{"Connect-Timeout-Ms": text})
    assert (status, error["code"]) == (400, "invalid_argument")
    assert repr(text) in error["message"]


def test_a_caller_who_hangs_up_stops_the_search(bridge, sticks):
    body = json.dumps({"options": SLOW}).encode()
    with socket.create_connection(bridge.host.split(":")) as caller:
        head = f"POST {BY_NAME['Search'].path} HTTP/1.1\r\nHost: {bridge.host}\r\nContent-Type: application/json\r\n"
        caller.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: sticks.searches.running == 1)
    until(sticks.is_idle)


def test_tokens_are_those_of_grpc(open_daemon, tmp_path):
    clients = tmp_path / "clients.toml"
    clients.write_text(f'[[client]]\nname = "gui"\nsha256 = "{hashlib.sha256(b"one").hexdigest()}"\n')
    daemon, bridge = open_daemon(auth=Authenticator(clients))
    for token in (None, "two", "one"):
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        status, reply = bridge.post("Inspect", {}, **({"Authorization": f"Bearer {token}"} if token else {}))
        expected = of_grpc(daemon, "Inspect", {}, metadata=metadata)
        if token == "one":
            assert (status, reply_of("Inspect", reply)) == (200, expected)
        else:
            assert (status, plain(reply)) == (401, as_json(expected))


def test_the_bridge_lends_nobody_its_own_token(open_daemon, tmp_path, monkeypatch):
    monkeypatch.setenv("PLYD_TOKEN", "one")
    clients = tmp_path / "clients.toml"
    clients.write_text(f'[[client]]\nname = "gui"\nsha256 = "{hashlib.sha256(b"one").hexdigest()}"\n')
    _, bridge = open_daemon(auth=Authenticator(clients))
    assert bridge.post("Inspect", {})[0] == 401


def test_a_token_never_leaves_this_machine_unencrypted(house):
    with Bridge(house, "engines.example:25840") as bridge:
        status, error = bridge.post("Inspect", {}, Authorization="Bearer one")
    assert (status, error["code"]) == (400, "failed_precondition")
    assert "tls:engines.example:25840" in error["message"]


def test_a_request_id_comes_back(bridge):
    path = BY_NAME["Inspect"].path
    _, headers, _ = bridge.ask(path, b"{}", **{"Content-Type": "application/json", "X-Request-Id": "mine-1"})
    assert headers["trailer-x-request-id"] == "mine-1"


def test_a_daemon_that_is_down_is_named(house):
    place = free_place()
    with Bridge(house, place) as bridge:
        status, error = bridge.post("Describe", {})
    assert (status, error["code"]) == (503, "unavailable")
    assert f"{place} is unavailable" in error["message"]


def test_with_several_daemons_the_game_decides(wide_bridge, sticks, fibonacci):
    _, described = wide_bridge.post("Describe", {})
    assert [engine["game"] for engine in described["engines"]] == ["sticks", "2584-2x3"]
    _, reply = wide_bridge.post("Search", {"position": {"game": "2584-2x3", "start": "b 2 2 0 0 0 0"}})
    assert reply["report"]["move"] == "right"
    assert wide_bridge.post("NewGame", {"game": "sticks"})[1]["state"]["text"] == "7 one"
    for position, words in (({}, "no game given"), ({"game": "chess"}, "unknown game 'chess'")):
        status, error = wide_bridge.post("Search", {"position": position})
        assert (status, error["code"]) == (404, "not_found")
        assert words in error["message"]
        assert "2584-2x3, sticks" in error["message"]


def test_another_daemon_of_the_same_game_takes_over(open_daemon, house):
    (first, _), (second, _) = open_daemon(), open_daemon()
    with Bridge(house, first.target, second.target) as bridge:
        request = {"position": {"game": "sticks"}}
        assert bridge.post("Search", request)[0] == 200
        first.stop().result(SOON)
        assert bridge.post("Search", request)[0] in (200, 503)  # the first to notice may fail
        assert bridge.post("Search", request)[0] == 200
    assert (len(first.engine.asked), len(second.engine.asked) > 0) == (1, True)


@pytest.mark.parametrize("protocol", ["connect", "grpcweb"])
@pytest.mark.parametrize(("name", "fields"), [GOOD[2], BAD[2]], ids=str)
def test_another_program_of_either_protocol_understands_the_bridge(bridge, sticks, buf, protocol, name, fields):
    done = buf(bridge, protocol, name, fields)
    status, reply = bridge.post(name, fields)
    if status == 200:
        assert reply_of(name, json.loads(done.stdout)) == reply_of(name, reply)
    else:
        told = json.loads(done.stderr)
        assert (told["code"], told["message"]) == (reply["code"], reply["message"])
        assert [each["type"].rpartition("/")[2] for each in told["details"]] == ["google.rpc.BadRequest"]


def test_grpc_web_in_base64_ends_with_the_status(bridge, sticks):
    def ask(data, **headers):
        kind = {"Content-Type": "application/grpc-web-text", "X-Grpc-Web": "1"}
        status, answered, body = bridge.ask(BY_NAME["Inspect"].path, data, **kind | headers)
        assert (status, answered["content-type"]) == (200, kind["Content-Type"])
        return base64.b64decode(body)  # one frame, or the first of several that are padded each

    request = json_format.ParseDict({"position": {"start": "é"}}, BY_NAME["Inspect"].request())
    data = base64.b64encode(in_envelope(request.SerializeToString()))
    told = ask(data)
    assert told.startswith(b"\x80")
    assert b'grpc-status: 3\r\ngrpc-message: cannot read "%C3%A9"' in told
    assert b"grpc-status-details-bin: " in told
    assert b"grpc-status: 3" in ask(b"!" + data)
    assert b"grpc-timeout is '1'; allowed is" in ask(data, **{"Grpc-Timeout": "1"})
    empty = base64.b64encode(in_envelope(b""))
    assert ask(empty, **{"Grpc-Timeout": "100S"}).startswith(b"\0")
