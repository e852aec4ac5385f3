"""The Evaluate stream over a real socket: one response for each batch, in order."""

import math
import queue

import grpc
import pytest

from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import Caller, analyze_request, read_out

TEXT, NUMBERS = engine_pb2.ANSWER_FORM_TEXT, engine_pb2.ANSWER_FORM_NUMBERS


def evaluate(daemon, *batches, **fields):
    requests = [engine_pb2.EvaluateRequest(lines=lines, **fields) for lines in batches]
    return list(daemon.caller.engine.Evaluate(iter(requests), timeout=30))


def test_values_are_what_search_says(fibonacci):
    lines = ["b 2 1 0 0 0 0", "a 2 1 0 0 0 0", "b 1 1 1 1 0 0"]
    [response] = evaluate(fibonacci, "\n".join(lines).encode())
    for line, value in zip(lines, response.values, strict=True):
        request = engine_pb2.SearchRequest(position={"start": line})
        report = fibonacci.caller.engine.Search(request, timeout=SOON).report
        assert report.score.expected_points == pytest.approx(value, rel=1e-12)
        assert report.score.exact


def test_responses_come_one_for_each_request_in_order(fibonacci):
    lines = [f"b {i} 1 0 0 0 0\n".encode() * (i + 1) for i in range(8)]
    responses = evaluate(fibonacci, *lines)
    assert [len(response.values) for response in responses] == list(range(1, 9))


@pytest.mark.parametrize("form", [engine_pb2.ANSWER_FORM_UNSPECIFIED, NUMBERS])
def test_numbers_with_moves_and_errors(fibonacci, form):
    lines = b"b 2 1 0 0 0 0\r\n\nc 1\na 2 1 0 0 0 0\nb 33 33 33 33 33 33"
    [response] = evaluate(fibonacci, lines, form=form, with_moves=True)
    assert [math.isnan(value) for value in response.values] == [False, True, False, True]
    assert len(response.moves) == 4
    assert response.moves[0] in ("left", "right", "down")
    assert list(response.moves[1:]) == ["", "", ""]
    assert [(error.line, error.answer) for error in response.errors] == [(2, 1)]
    assert "c" in response.errors[0].message
    assert response.text == b""


def test_text_has_a_line_for_each_answer(fibonacci):
    [response] = evaluate(fibonacci, b"b 2 1 0 0 0 0\nnonsense\n", form=TEXT)
    first, second = response.text.decode().splitlines()
    assert float(first.removeprefix("= ")) > 0
    assert second == "= -1"
    assert response.text.endswith(b"\n")
    assert [(error.line, error.answer) for error in response.errors] == [(1, 1)]
    assert (list(response.values), list(response.moves)) == ([], [])


def test_no_batch_and_an_empty_batch_are_fine(fibonacci):
    assert evaluate(fibonacci) == []
    assert evaluate(fibonacci, b"", b"\n\r\n", form=TEXT) == [engine_pb2.EvaluateResponse()] * 2


def test_one_line_is_answered_while_the_stream_stays_open(fibonacci):
    requests = queue.SimpleQueue()
    stream = fibonacci.caller.engine.Evaluate(iter(requests.get, None), timeout=30)
    for _ in range(3):
        requests.put(engine_pb2.EvaluateRequest(lines=b"b 2 1 0 0 0 0\n"))
        assert len(next(stream).values) == 1
    requests.put(None)
    assert list(stream) == []


def test_batches_do_not_wait_behind_searches(fibonacci):
    stub = fibonacci.caller.engine
    searches = [stub.Analyze(analyze_request("b 1 1 0 0 0 0", options={"method": "expectimax"})) for _ in range(2)]
    until(lambda: fibonacci.searches.running == 2)
    [response] = evaluate(fibonacci, b"b 2 1 0 0 0 0\n")
    assert len(response.values) == 1
    assert fibonacci.searches.running == 2
    for search in searches:
        search.cancel()


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"game": "chess"}, grpc.StatusCode.NOT_FOUND, 'unknown game "chess"; served here: 2584-2x3'),
        ({"variant": "x"}, grpc.StatusCode.INVALID_ARGUMENT, 'unknown variant "x" of 2584-2x3; variants are classic'),
        ({"form": 7}, grpc.StatusCode.INVALID_ARGUMENT, "unknown form 7; forms are ANSWER_FORM_UNSPECIFIED, ANSWER_"),
        ({"lines": b"\n" * ((1 << 19) + 1)}, grpc.StatusCode.INVALID_ARGUMENT, "a batch of 524289 bytes; at most"),
        ({"lines": b"\n" * (4 << 20)}, grpc.StatusCode.RESOURCE_EXHAUSTED, "SERVER: Received message larger than max"),
    ],
)
def test_a_bad_batch_ends_the_stream_after_the_answers_before_it(fibonacci, fields, status, message):
    requests = [engine_pb2.EvaluateRequest(lines=b"b 2 1 0 0 0 0\n"), engine_pb2.EvaluateRequest(**fields)]
    stream = fibonacci.caller.engine.Evaluate(iter(requests), timeout=30)
    answers, error = read_out(stream)
    assert error.code() is status
    assert error.details().startswith(message)
    assert len(answers) == 1 or status is grpc.StatusCode.RESOURCE_EXHAUSTED  # gRPC's own, which may overtake them


def test_the_largest_batch_allowed_is_answered(fibonacci):
    line = b"b 2 1 0 0 0 0\n"
    count = (1 << 19) // len(line)
    [response] = evaluate(fibonacci, line * count, form=TEXT)
    assert response.text.count(b"\n") == count


def test_a_batch_of_garbage_is_answered_within_what_a_stock_client_takes(fibonacci):
    [response] = evaluate(fibonacci, b"x\n" * (1 << 18), form=TEXT)
    assert response.text == b"= -1\n" * (1 << 18)
    assert [error.line for error in response.errors] == list(range(1 << 18))
    assert [error.answer for error in response.errors] == list(range(1 << 18))
    explained = [bool(error.message) for error in response.errors]
    assert explained == [True] * 1000 + [False] * ((1 << 18) - 1000)


def test_who_leaves_in_the_middle_of_a_stream_leaves_nothing_behind(fibonacci):
    requests = queue.SimpleQueue()
    with Caller(fibonacci.target) as caller:
        stream = caller.engine.Evaluate(iter(requests.get, None))
        requests.put(engine_pb2.EvaluateRequest(lines=b"b 2 1 0 0 0 0\n"))
        next(stream)
        assert fibonacci.runtime.calls == 1
    requests.put(None)
    until(lambda: fibonacci.runtime.calls == 0)
