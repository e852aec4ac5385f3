"""What cannot be used is refused with a status, a sentence and the field at fault; what fails inside stays inside."""

import logging

import grpc
import pytest

from plyd.servers.rpc.status import INTERNAL_MESSAGE
from plyd.v1 import engine_pb2, rules_pb2
from tests.patience import SOON, until
from tests.servers.daemons import analyze_request, details_of, field_at_fault, search_request
from tests.servers.fakes import SECRET, FakeEngine

INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND


def refusal(method, request, timeout=SOON):
    """The error that a call ends with."""
    with pytest.raises(grpc.RpcError) as error:
        list(method(request, timeout=timeout))  # a stream ends when it is read
    return error.value


BAD_SEARCHES = [
    ({"position": {"game": "chess"}}, NOT_FOUND, "position.game", 'unknown game "chess"; served here: sticks'),
    (
        {"position": {"variant": "cruel"}},
        INVALID,
        "position.variant",
        'unknown variant "cruel" of sticks; variants are normal, greedy',
    ),
    (
        {"position": {"start": "seven"}},
        INVALID,
        "position.start",
        'cannot read "seven"; expected a number and one or two, like "7 one"',
    ),
    ({"position": {"moves": ["2", "3"]}}, INVALID, "position.moves", 'move 2: illegal move "3" at "5 two"'),
    (
        {"position": {"plies": 1_000_000_001}},
        INVALID,
        "position.plies",
        "plies is 1000000001; allowed is 0 to 1000000000",
    ),
    (
        {"position": {"points": float("nan")}},
        INVALID,
        "position.points",
        "points is nan; allowed is -1e+15 to 1e+15",
    ),
    ({"limits": {"nodes": 0}}, INVALID, "limits.nodes", "limits.nodes is 0; allowed is 1 or more"),
    ({"limits": {"depth": 0}}, INVALID, "limits.depth", "limits.depth is 0; allowed is 1 or more"),
    (
        {"limits": {"clock": {"moves_to_go": 0}}},
        INVALID,
        "limits.clock.moves_to_go",
        "limits.clock.moves_to_go is 0; allowed is 1 or more",
    ),
    ({"max_lines": 0}, INVALID, "max_lines", "max_lines is 0; allowed is 1 to 1000"),
    ({"max_lines": 1001}, INVALID, "max_lines", "max_lines is 1001; allowed is 1 to 1000"),
    (
        {"options": {"colour": "red"}},
        INVALID,
        "options",
        'unknown option "colour"; options are reports, seconds_per_report, padding, fail, ignores_stop, score',
    ),
    (
        {"options": {"reports": "many"}},
        INVALID,
        "options",
        'option reports is "many"; allowed is a whole number from 0 to 1000000000',
    ),
    ({"options": {"fail": "yes"}}, INVALID, "options", 'option fail is "yes"; allowed is true or false'),
    (
        {"options": {"score": "high"}},
        INVALID,
        "options",
        'option score is "high"; allowed is points or probability or proven or unreachable',
    ),
]


@pytest.mark.parametrize("method", ["Search", "Analyze"])
@pytest.mark.parametrize(("fields", "status", "field", "message"), BAD_SEARCHES, ids=[case[3] for case in BAD_SEARCHES])
def test_a_bad_search_is_refused(sticks, method, fields, status, field, message):
    request = (engine_pb2.SearchRequest if method == "Search" else engine_pb2.AnalyzeRequest)(**fields)
    error = refusal(getattr(sticks.caller.engine, method), request)
    assert error.code() is status
    assert error.details() == message
    assert field_at_fault(error) == field
    assert sticks.engine.asked == []


def test_a_daemon_of_several_games_wants_a_name(open_daemon):
    daemon = open_daemon(FakeEngine("sticks"), FakeEngine("stones"))
    error = refusal(daemon.caller.engine.Search, search_request())
    assert (error.code(), error.details()) == (NOT_FOUND, "no game named; served here: sticks, stones")
    named = search_request()
    named.position.game = "stones"
    assert daemon.caller.engine.Search(named, timeout=SOON).report.final


def test_describe_refuses_a_game_that_is_not_served(sticks):
    error = refusal(sticks.caller.engine.Describe, engine_pb2.DescribeRequest(game="go"))
    assert (error.code(), error.details()) == (NOT_FOUND, 'unknown game "go"; served here: sticks')


@pytest.mark.parametrize(
    ("method", "request_message"),
    [
        ("NewGame", rules_pb2.NewGameRequest(game="go")),
        ("Inspect", rules_pb2.InspectRequest(position={"game": "go"})),
        ("Apply", rules_pb2.ApplyRequest(position={"game": "go"})),
    ],
)
def test_the_rules_refuse_a_game_that_is_not_served(sticks, method, request_message):
    assert refusal(getattr(sticks.caller.rules, method), request_message).code() is NOT_FOUND


def test_a_text_that_could_spoil_a_terminal_is_quoted_and_cut(sticks):
    error = refusal(sticks.caller.engine.Search, search_request(options={"\x1b[2J\n" + "\N{SNOWMAN}" * 5000: "1"}))
    assert error.code() is INVALID
    assert error.details().startswith('unknown option "\\x1b[2J\\n\N{SNOWMAN}')
    assert len(error.details()) < 300


# --- Size -------------------------------------------------------------------------------------------------------------


def test_a_message_larger_than_allowed_is_refused(sticks):
    error = refusal(sticks.caller.engine.Search, search_request("1" * 100_000))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in error.details()
    assert sticks.caller.engine.Search(search_request(), timeout=SOON).report.final


def test_a_batch_larger_than_allowed_is_refused(sticks):
    error = refusal(sticks.caller.engine.Evaluate, iter([engine_pb2.EvaluateRequest(lines=b"x" * 1001)]))
    assert (error.code(), error.details()) == (INVALID, "a batch of 1001 bytes; at most 1000 are allowed")
    assert field_at_fault(error) == "lines"


def test_what_is_allowed_is_described(sticks):
    daemon = sticks.caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON).daemon
    assert (daemon.slots, daemon.queue_size, daemon.max_sessions) == (1, 2, 3)
    assert (daemon.max_batch_bytes, daemon.max_message_bytes) == (1000, 100_000)


# --- What an engine cannot do -----------------------------------------------------------------------------------------


def test_an_engine_that_does_not_evaluate_says_so(sticks):
    error = refusal(sticks.caller.engine.Evaluate, iter([engine_pb2.EvaluateRequest(lines=b"7 one\n")]))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert error.details() == "sticks does not evaluate batches of positions; use Search"
    assert len(details_of(error)) == 0


@pytest.mark.parametrize("method", ["Search", "Analyze"])
@pytest.mark.parametrize("reports", ["0", "3"])
def test_a_fault_of_the_engine_stays_inside_and_goes_to_the_log(sticks, caplog, method, reports):
    request = {"Search": search_request, "Analyze": analyze_request}[method](
        options={"fail": "true", "reports": reports}
    )
    error = refusal(getattr(sticks.caller.engine, method), request)
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, INTERNAL_MESSAGE)
    wire = repr(error) + repr(error.trailing_metadata()) + repr(error.initial_metadata())
    assert SECRET not in wire
    assert "Traceback" not in wire
    [fault] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert SECRET in str(fault.exc_info[1])
    assert fault.exc_info[2] is not None


def test_a_daemon_serves_on_after_a_fault(sticks, logged):
    for _ in range(3):
        refusal(sticks.caller.engine.Search, search_request(options={"fail": "true"}))
    assert sticks.caller.engine.Search(search_request(), timeout=SOON).report.final
    until(sticks.is_idle)
    until(lambda: [facts["status"] for facts in logged()] == ["INTERNAL"] * 3 + ["OK"])


def test_a_search_without_a_final_report_is_a_fault(open_daemon):
    class Speechless(FakeEngine):
        def searcher(self, variant, options, megabytes=None):
            class Searcher:
                def search(self, position, limits, stop):
                    return iter(())

            return Searcher()

    error = refusal(open_daemon(Speechless()).caller.engine.Search, search_request())
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, INTERNAL_MESSAGE)


def test_an_unknown_method_is_unimplemented(sticks):
    method = sticks.caller.channel.unary_unary("/plyd.v1.EngineService/Guess", lambda x: x, lambda x: x)
    assert refusal(method, b"").code() is grpc.StatusCode.UNIMPLEMENTED


def test_bytes_that_are_no_message_are_refused(sticks):
    method = sticks.caller.channel.unary_unary("/plyd.v1.EngineService/Search", lambda x: x, lambda x: x)
    assert refusal(method, b"\xff\xff\xff").code() is INVALID
    assert sticks.caller.engine.Search(search_request(), timeout=SOON).report.final


# --- One log line per request -----------------------------------------------------------------------------------------


def test_every_request_leaves_one_line_with_what_happened(sticks, logged):
    stub, rules = sticks.caller.engine, sticks.caller.rules
    stub.Describe(engine_pb2.DescribeRequest(), timeout=SOON)
    stub.Search(search_request(options={"reports": "4"}), timeout=SOON)
    list(stub.Analyze(analyze_request(), timeout=SOON))
    list(stub.Play(iter([engine_pb2.PlayRequest(new_game={}), engine_pb2.PlayRequest(stop={})]), timeout=SOON))
    refusal(stub.Evaluate, iter([engine_pb2.EvaluateRequest(lines=b"7 one\n")]))
    rules.NewGame(rules_pb2.NewGameRequest(), timeout=SOON)
    rules.Inspect(rules_pb2.InspectRequest(), timeout=SOON)
    rules.Apply(rules_pb2.ApplyRequest(moves=["1"]), timeout=SOON)
    refusal(rules.Apply, rules_pb2.ApplyRequest(moves=["9"]))
    until(lambda: len(logged()) == 9)
    lines = logged()
    assert [(line["method"], line["status"], line.get("game")) for line in lines] == [
        ("Describe", "OK", None),
        ("Search", "OK", "sticks"),
        ("Analyze", "OK", "sticks"),
        ("Play", "OK", "sticks"),
        ("Evaluate", "UNIMPLEMENTED", "sticks"),
        ("NewGame", "OK", "sticks"),
        ("Inspect", "OK", "sticks"),
        ("Apply", "OK", "sticks"),
        ("Apply", "INVALID_ARGUMENT", "sticks"),
    ]
    assert all(line["ms"] >= 0 and line["peer"].startswith("ipv4:127.0.0.1:") for line in lines)
    assert lines[1]["nodes"] == 4
    assert lines[1]["waited_ms"] >= 0
    assert lines[3]["commands"] == 2
    assert (lines[4]["batches"], lines[4]["bytes"]) == (1, 6)
    assert lines[8]["error"] == 'move 1: illegal move "9" at "7 one"'
