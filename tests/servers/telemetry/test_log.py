"""The log: one JSON object a line, or lines for people."""

import io
import json
import logging
import re
import sys

import pytest

from plyd.servers.telemetry import line_writer, log
from plyd.servers.telemetry.log import HumanFormatter, JsonFormatter, LoggedCall

CALL = LoggedCall(7.0079, "Search", "OK", 0.00125, "unix:", {"game": "sticks"})
FIELDS = {"method": "Search", "status": "OK", "ms": 1.25, "peer": "unix:", "game": "sticks"}


def record(message="hello", level=logging.INFO, name="plyd.daemon", fault=None, **more):
    made = logging.LogRecord(name, level, "file.py", 1, message, (), fault)
    vars(made).update(more)
    return made


def of_calls(*calls):
    return record("requests", name="plyd.request", calls=list(calls))


def fault():
    try:
        raise ValueError("bad\nluck")
    except ValueError:
        return sys.exc_info()


def test_json_is_one_object_on_one_line():
    line = JsonFormatter().format(record('two\nlines "quoted" \N{SNOWMAN}'))
    assert "\n" not in line
    parsed = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", parsed.pop("time"))
    assert parsed == {"level": "info", "logger": "plyd.daemon", "message": 'two\nlines "quoted" \N{SNOWMAN}'}


def test_json_has_a_line_for_each_call_with_its_own_time():
    lines = JsonFormatter().format(of_calls(CALL, CALL._replace(ended=8.5, status="INTERNAL"))).splitlines()
    first, second = map(json.loads, lines)
    same = {"level": "info", "logger": "plyd.request", "message": "request", **FIELDS}
    assert first == {"time": "1970-01-01T00:00:07.007Z", **same}
    assert second == {"time": "1970-01-01T00:00:08.500Z", **same, "status": "INTERNAL"}


def test_json_is_in_universal_time():
    assert json.loads(JsonFormatter().format(record(created=0.0079)))["time"] == "1970-01-01T00:00:00.007Z"


def test_json_keeps_a_traceback_on_the_line():
    line = JsonFormatter().format(record("it failed", logging.ERROR, fault=fault()))
    assert "\n" not in line
    parsed = json.loads(line)
    assert (parsed["level"], parsed["message"]) == ("error", "it failed")
    assert parsed["traceback"].startswith("Traceback")
    assert "ValueError: bad\nluck" in parsed["traceback"]


def test_json_writes_whatever_fields_a_call_has():
    odd = {"error": 'line\nbreak "quoted" \N{SNOWMAN}', "thing": object()}
    line = JsonFormatter().format(of_calls(CALL._replace(fields=odd)))
    assert "\n" not in line
    assert json.loads(line)["error"] == odd["error"]


def test_people_read_what_happened_first():
    one, other = HumanFormatter().format(of_calls(CALL, CALL._replace(method="Apply"))).splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d Search OK 1\.2 ms peer=unix: game=sticks", one)
    assert re.fullmatch(r"\d\d:\d\d:\d\d Apply OK 1\.2 ms peer=unix: game=sticks", other)


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_line_says_how_many_were_lost(monkeypatch, keep_loggers, tmp_path, form):
    with (tmp_path / "log").open("w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        log.set_up("info", form)
        monkeypatch.setattr(line_writer, "MAX_QUEUED_BYTES", 0)
        for _ in range(3):
            logging.getLogger("plyd.daemon").info("no room")
        monkeypatch.setattr(line_writer, "MAX_QUEUED_BYTES", 1 << 20)
        logging.getLogger("plyd.daemon").info("there is room again")
        logging.getLogger().handlers[0].flush()
    told, after = (tmp_path / "log").read_text().splitlines()
    assert "3 log lines were lost" in told
    assert "warning" in told
    assert "there is room again" in after
    assert log.lines_lost() == 3


@pytest.mark.parametrize(
    ("level", "ending"),
    [(logging.INFO, " hello"), (logging.WARNING, " warning: hello"), (logging.ERROR, " error: hello")],
)
def test_people_are_told_the_level_if_it_matters(level, ending):
    assert re.fullmatch(r"\d\d:\d\d:\d\d" + ending, HumanFormatter().format(record("hello", level, "plyd.daemon")))


def test_people_see_a_traceback_below():
    first, *rest = HumanFormatter().format(record("it failed", logging.ERROR, fault=fault())).splitlines()
    assert first.endswith("error: it failed")
    assert rest[0].startswith("Traceback")
    assert rest[-2:] == ["ValueError: bad", "luck"]


class Terminal(io.StringIO):
    is_terminal = False

    def isatty(self):
        return self.is_terminal


@pytest.fixture
def set_up(monkeypatch, keep_loggers):
    """Sets the log up and gives what it writes to."""

    def set_up(*arguments, is_terminal=False, **settings):
        stderr = Terminal()
        stderr.is_terminal = is_terminal
        monkeypatch.setattr(sys, "stderr", stderr)
        log.set_up(*arguments, **settings)
        return stderr

    return set_up


@pytest.mark.parametrize(
    ("form", "is_terminal", "is_json"),
    [
        ("auto", True, False),
        ("auto", False, True),
        ("human", False, False),
        ("human", True, False),
        ("json", True, True),
        ("json", False, True),
    ],
)
def test_auto_is_for_people_on_a_terminal_and_json_otherwise(set_up, form, is_terminal, is_json):
    stderr = set_up("info", form, is_terminal=is_terminal)
    logging.getLogger("plyd.daemon").info("hello")
    [line] = stderr.getvalue().splitlines()
    assert line.startswith("{") is is_json
    assert "hello" in line


def test_the_level_decides_what_is_written(set_up):
    stderr = set_up("warning", "human")
    logging.getLogger("plyd.daemon").info("quiet")
    logging.getLogger("plyd.daemon").warning("loud")
    assert "quiet" not in stderr.getvalue()
    assert "loud" in stderr.getvalue()


@pytest.mark.parametrize(("level", "is_logged"), [("info", False), ("debug", True), ("error", False)])
def test_quiet_requests_are_logged_only_at_debug_and_failures_always(set_up, level, is_logged):
    stderr = set_up(level, "json", quiet_requests=True)
    requests = logging.getLogger("plyd.request")
    requests.info("a request")
    requests.error("a failure")
    logged = [json.loads(line)["message"] for line in stderr.getvalue().splitlines()]
    assert logged == ["a request"] * is_logged + ["a failure"]


def test_what_others_complain_about_comes_in_the_same_form(set_up):
    stderr = set_up("info", "json")
    logging.getLogger("grpc._cython.cygrpc").error("no message", exc_info=fault())
    logging.getLogger("asyncio").info("chatter")
    [line] = stderr.getvalue().splitlines()
    assert json.loads(line)["logger"] == "grpc._cython.cygrpc"
