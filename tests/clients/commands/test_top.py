"""`plyd top`: figures that follow from a daemon's metrics, drawn for people or told to machines."""

import io
import json
import math
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from click.testing import CliRunner
from rich.console import Console

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.clients.commands.scrape import Figures, Reading, figures, quantile
from plyd.clients.commands.top import fitting, short, span, table
from plyd.servers.access.addresses import parse_address
from plyd.servers.telemetry.exporter import Exporter
from tests.patience import SOON, until
from tests.ports import free_place
from tests.servers.daemons import House, OpenDaemon
from tests.servers.fakes import FakeEngine

TOP = [sys.executable, "-m", "plyd.clients", "top"]
FULL = Figures(
    "127.0.0.1:25860",
    "ready",
    None,
    ("2584-2x3",),
    "0.1.0",
    90.0,
    100,
    0.001,
    0.02,
    2,
    1,
    3,
    4,
    5,
    6,
    2e8,
    0.5,
    ("127.0.0.1:25840",),
)


@pytest.fixture(scope="module")
def house():
    house = House()
    yield house
    house.close()


@pytest.fixture
def sticks(house):
    """A daemon of the fake game whose metrics are at `metrics`."""
    with OpenDaemon(house, FakeEngine(), slots=1, queue_size=2) as daemon:
        exporter = Exporter(daemon.runtime, parse_address("127.0.0.1:0"))
        daemon.metrics = str(exporter.address)
        yield daemon
        exporter.close()


def reading(at, start=1000.0, **samples):
    return Reading(at, {"plyd_ready": [({}, 1.0)], "process_start_time_seconds": [({}, start)], **samples})


def buckets(*counts, method="Search"):
    """Samples of the latency: how many took at most 1, 2, 3 ... seconds, and how many took longer."""
    bounds = [*map(str, range(1, len(counts))), "+Inf"]
    return [({"method": method, "le": bound}, count) for bound, count in zip(bounds, counts, strict=True)]


@pytest.mark.parametrize(
    ("share", "counts", "expected"),
    [
        (0.5, [(1.0, 0), (2.0, 10), (math.inf, 10)], 1.5),
        (0.5, [(1.0, 10), (2.0, 10), (math.inf, 10)], 0.5),
        (0.99, [(1.0, 0), (2.0, 100), (math.inf, 100)], 1.99),
        (0.99, [(1.0, 1), (2.0, 1), (math.inf, 100)], 2.0),  # above every bound: the last one is all that is known
        (0.5, [(math.inf, 10), (2.0, 10), (1.0, 0)], 1.5),  # in any order
        (0.5, [(1.0, 0), (math.inf, 0)], None),
    ],
)
def test_a_quantile_lies_within_its_bucket(share, counts, expected):
    assert quantile(share, counts) == (None if expected is None else pytest.approx(expected))


def test_rates_are_of_the_time_between_two_readings():
    before = reading(10.0, plyd_requests_total=[({"method": "Search"}, 5.0)], process_cpu_seconds_total=[({}, 1.0)])
    now = reading(
        12.0,
        plyd_requests_total=[({"method": "Search"}, 8.0), ({"method": "Apply"}, 3.0)],
        process_cpu_seconds_total=[({}, 2.0)],
    )
    told = figures("x", now, before)
    assert (told.requests_per_second, told.cpu_cores) == (3.0, 0.5)
    assert figures("x", now, None).requests_per_second is None


def test_latencies_are_of_calls_that_ended_between_two_readings_and_are_no_long_streams():
    before = reading(10.0, plyd_request_seconds_bucket=buckets(50, 50, 50))
    now = reading(11.0, plyd_request_seconds_bucket=buckets(50, 60, 60) + buckets(0, 0, 99, method="Play"))
    told = figures("x", now, before)
    assert (told.p50_seconds, told.p99_seconds) == (pytest.approx(1.5), pytest.approx(1.99))
    assert figures("x", now, replace(now, at=10.0)).p50_seconds is None  # none ended


def test_a_daemon_that_was_started_again_has_no_rates_from_before():
    before = reading(10.0, plyd_requests_total=[({}, 500.0)])
    now = reading(11.0, start=2000.0, plyd_requests_total=[({}, 3.0)])
    assert figures("x", now, before).requests_per_second is None


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (0.25, "0.25"), (12.34, "12.3"), (4567, "4567"), (12345, "12.3k"), (1.2e6, "1.2M"), (3e9, "3.0G")],
)
def test_numbers_are_short(number, shown):
    assert short(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.00034, "340 us"), (0.0052, "5.2 ms"), (1.3, "1.3 s"), (90, "1.5 m"), (12240, "3.4 h"), (181440, "2.1 d")],
)
def test_times_are_short(seconds, shown):
    assert span(seconds) == shown


@pytest.mark.parametrize("width", [250, 140, 100, 80])
def test_a_narrow_terminal_has_fewer_columns_but_whole_ones(width):
    console = Console(width=width, file=io.StringIO())
    drawn = fitting([FULL], console)
    assert console.measure(drawn, options=console.options.update(width=250)).maximum <= width
    headings = [column.header for column in drawn.columns]
    assert {"daemon", "game", "state", "req/s", "p99", "slots", "queue"} <= set(headings)
    assert (len(headings) == len(table([FULL]).columns)) is (width >= 140)


def test_once_tells_of_a_daemon_at_work_and_of_one_that_is_away(sticks):
    away = free_place()
    busy = sticks.occupied()
    done = CliRunner().invoke(main, ["top", sticks.metrics, away, "--once", "--json", "--interval", "1"])
    busy.cancel()
    assert done.exit_code == 0
    here, there = json.loads(done.stdout)
    assert (here["address"], here["state"], here["games"]) == (sticks.metrics, "ready", ["sticks"])
    assert here["serving"] == [sticks.target]
    assert (here["slots"], here["running"], here["waiting"]) == (1, 1, 0)
    assert 0 < here["nodes_per_second"] < 60  # a report each 20 ms
    assert here["memory_bytes"] > 1e6
    assert here["uptime_seconds"] > 0
    assert (there["state"], there["problem"], there["slots"]) == ("away", "Connection refused", None)


def test_once_is_a_table_for_people(sticks):
    done = CliRunner().invoke(main, ["top", sticks.metrics, "--once", "--interval", "0.1"])
    heading, row = [line for line in done.stdout.splitlines() if line.strip(" ─")]
    assert heading.split()[:5] == ["daemon", "game", "state", "up", "req/s"]
    assert row.split()[:3] == [sticks.target, "sticks", "ready"]


def test_the_address_in_the_table_is_one_that_health_takes(sticks):
    done = CliRunner().invoke(main, ["top", sticks.metrics, "--once", "--interval", "0.1"])
    _, row = [line for line in done.stdout.splitlines() if line.strip(" ─")]
    assert CliRunner().invoke(main, ["health", row.split()[0]]).exit_code == 0


def test_once_fails_if_nobody_answers():
    done = CliRunner().invoke(main, ["top", "127.0.0.1:1", "--once", "--interval", "0.1"])
    assert done.exit_code == 1
    assert "127.0.0.1:1 (metrics)" in done.stdout
    assert "Connection refused" in done.stdout


def test_what_is_no_daemon_is_away(house):
    def answer(server):
        for _ in range(2):
            with server.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello 1\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        place = f"127.0.0.1:{server.getsockname()[1]}"
        done = CliRunner().invoke(main, ["top", place, "--once", "--json", "--interval", "0.1"])
    [told] = json.loads(done.stdout)
    assert (told["state"], told["problem"]) == ("away", "it is no plyd daemon")


def test_an_address_that_is_none_is_refused_in_one_line():
    done = CliRunner().invoke(main, ["top", "here", "--once"])
    assert done.exit_code == 1
    assert done.stderr.startswith('Error: "here" is not an address')


def test_without_addresses_it_looks_where_plyd_up_has_its_metrics():
    done = CliRunner().invoke(main, ["top", "--once", "--json", "--interval", "0.1"])
    assert [it["address"] for it in json.loads(done.stdout)] == [f"127.0.0.1:{port}" for port in range(25860, 25865)]


def test_lines_of_json_go_on_while_a_daemon_goes_and_comes_back(house):
    place = free_place()
    with OpenDaemon(house, FakeEngine()) as daemon:
        exporter = Exporter(daemon.runtime, parse_address(place))
        with subprocess.Popen(
            [*TOP, place, "--json", "--interval", "0.1"], stdout=subprocess.PIPE, text=True
        ) as process:
            try:

                def until_it_is(state):
                    until(lambda: json.loads(process.stdout.readline())[0]["state"] == state)

                until_it_is("ready")
                exporter.close()
                until_it_is("away")
                exporter = Exporter(daemon.runtime, parse_address(place))
                until_it_is("ready")
                process.send_signal(signal.SIGINT)
                assert process.wait(SOON) == 0
            finally:
                process.kill()
                exporter.close()


def test_on_a_terminal_it_is_live_and_ctrl_c_ends_it(tmp_path):
    """A real daemon, a real search, a real terminal."""
    place = free_place()
    serve = [sys.executable, "-m", "plyd.clients", "serve", "2584-2x3", "--listen", "127.0.0.1:0"]
    with (tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen([*serve, "--metrics-listen", place], stdout=subprocess.PIPE, stderr=log, text=True)
    terminal, other_end = pty.openpty()
    process = None
    try:
        with EngineClient(daemon.stdout.readline().split()[-1]) as client:
            environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "30"}
            command = [*TOP, place, "--interval", "0.2"]
            process = subprocess.Popen(command, stdout=other_end, env=environment)
            os.close(other_end)
            seen = ""
            end = time.monotonic() + SOON
            while not re.search(r"2584-2x3 +ready +[\d.]+ \w+ +[1-9]", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", seen)):
                assert time.monotonic() < end, seen
                client.search("b 2 2 0 0 0 0")
                seen += os.read(terminal, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 0
    finally:
        for each in (process, daemon):
            if each:
                each.kill()
                each.wait()
        daemon.stdout.close()
        os.close(terminal)
