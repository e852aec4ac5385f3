"""`plyd serve` as a real process: its addresses, its output, its log, and how it goes."""

import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.v1 import engine_pb2, search_pb2
from tests.patience import SOON, until
from tests.ports import free_place
from tests.servers.daemons import Caller, Process, analyze_request, search_request

ROOT = Path(__file__).parents[2]
START = "b 1 1 0 0 0 0"
ENDLESS = {"method": "expectimax"}  # looks ahead until it is stopped


# --- A life from start to signal --------------------------------------------------------------------------------------


@dataclass
class Life:
    """What was seen of one daemon."""

    addresses: list[str]
    path: Path
    mode: int
    daemon: engine_pb2.DaemonInfo
    moves: list[str]
    calls: list[tuple[str, str]]
    search: search_pb2.Report
    reports: list[search_pb2.Report]
    process: Process
    exit_status: int


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """A daemon of two slots on two addresses that is told to go while it searches on both."""
    folder = tmp_path_factory.mktemp("life")
    path = folder / "s"
    settings = ["--slots", "2", "--queue", "5", "--sessions", "7"]
    with Process(folder, "--listen", "127.0.0.1:0", "--listen", f"unix:{path}", *settings) as process:
        addresses = process.addresses(2)
        calls = []

        def call(caller, method, message, timeout=SOON):
            """The answer to a call, None if it was refused; counted either way."""
            answer, done = getattr(caller.engine, method).with_call, "OK"
            try:
                return answer(message, timeout=timeout)[0]
            except grpc.RpcError as error:
                done = error.code().name
                return None
            finally:
                calls.append((method, done))

        with Caller(addresses[0]) as tcp, Caller(addresses[1]) as unix:
            moves = [call(caller, "Search", search_request(START)).report.move for caller in (tcp, unix)]
            assert call(tcp, "Search", search_request("z")) is None
            daemon = call(unix, "Describe", engine_pb2.DescribeRequest()).daemon
            mode = path.stat().st_mode
            analysis = unix.engine.Analyze(analyze_request(START, options=ENDLESS))
            first = next(analysis).report
            search = tcp.engine.Search.future(search_request(START, options=ENDLESS))
            assert call(tcp, "Search", search_request(START, limits={"move_time_ms": 50}, options=ENDLESS))
            process.signal(signal.SIGTERM)
            reports = [first, *(response.report for response in analysis)]
            report = search.result(timeout=SOON).report
        status = process.exit_status(SOON)
        calls += [("Analyze", "OK"), ("Search", "OK")]
        yield Life(addresses, path, mode, daemon, moves, calls, report, reports, process, status)


def test_it_says_where_it_serves_in_the_order_asked_for(life):
    tcp, unix = life.addresses
    host, port = tcp.split(":")
    assert (host, int(port) > 0) == ("127.0.0.1", True)
    assert unix == f"unix:{life.path}"


def test_slots_queue_and_sessions_are_what_was_asked_for(life):
    assert (life.daemon.slots, life.daemon.queue_size, life.daemon.max_sessions) == (2, 5, 7)


def test_it_says_nothing_else_on_stdout(life):
    assert life.process.rest_of_stdout() == ""


def test_every_address_answers_the_same(life):
    assert life.moves[0] == life.moves[1] != ""


def test_a_unix_socket_is_for_its_owner_only(life):
    assert stat.S_ISSOCK(life.mode)
    assert stat.S_IMODE(life.mode) == 0o600


def test_a_signal_in_mid_search_has_the_best_so_far_answered(life):
    assert life.search.final
    assert life.search.stop_reason == search_pb2.STOP_REASON_STOPPED
    assert life.search.HasField("move")


def test_a_signal_in_mid_analysis_has_the_final_report_sent(life):
    assert [report.final for report in life.reports] == [False] * (len(life.reports) - 1) + [True]
    assert life.reports[-1].stop_reason == search_pb2.STOP_REASON_STOPPED
    assert life.reports[-1].HasField("move")
    assert life.reports[-1].nodes > 0


def test_it_goes_with_status_0_and_leaves_no_socket_behind(life):
    assert life.exit_status == 0
    assert not life.path.exists()


def test_each_request_leaves_exactly_one_line_of_json(life):
    lines = life.process.requests()
    assert sorted((line["method"], line["status"]) for line in lines) == sorted(life.calls)
    assert ("Search", "INVALID_ARGUMENT") in life.calls
    for line in lines:
        assert line["ms"] > 0
        assert line["peer"].startswith(("ipv4:127.0.0.1:", "unix:"))
        assert line["level"] == "info"
        if line["status"] == "OK" and line["method"] != "Describe":
            assert line["game"] == "2584-2x3"


def test_the_log_tells_of_its_life(life):
    told = [line["message"] for line in life.process.log() if line["logger"] == "plyd.daemon"]
    assert told[:2] == [f"listening on {address}" for address in life.addresses]
    assert told[2] == "warming up 2584-2x3; a first start compiles for a while"
    assert told[3].startswith("2584-2x3 is warm after ")
    assert told[4:] == ["shutting down", "stopped"]


# --- Two at one place -------------------------------------------------------------------------------------------------


@pytest.fixture
def neighbour(open_daemon):
    """Starts a daemon that is there already at an address; it has to be unharmed by those who come after."""
    neighbours = []

    def start(address):
        neighbours.append(open_daemon(listen=address))
        return neighbours[-1].target

    yield start
    for daemon in neighbours:
        assert daemon.caller.engine.Search(search_request(), timeout=SOON).report.final


@pytest.fixture
def refused(keep_loggers):
    """Runs a `plyd serve` that cannot start: the one line in which it says so."""

    def run(*addresses):
        words = (word for address in addresses for word in ("--listen", address))
        result = CliRunner().invoke(main, ["serve", "2584-2x3", "--log-level", "error", *words])
        assert (result.exit_code, result.stdout) == (1, "")
        [line] = result.stderr.splitlines()
        return line

    return run


def test_a_second_daemon_on_a_port_is_refused_and_leaves_no_socket_behind(neighbour, refused, tmp_path):
    taken = neighbour("127.0.0.1:0")
    complaint = refused(f"unix:{tmp_path / 's'}", taken)
    assert complaint.startswith(f"Error: cannot listen on {taken}: Address already in use by process {os.getpid()} (")
    assert not (tmp_path / "s").exists()


def test_a_second_daemon_on_a_unix_socket_is_refused(neighbour, refused, tmp_path):
    taken = neighbour(f"unix:{tmp_path / 's'}")
    assert refused(taken) == f'Error: another daemon listens on "{taken}"'


def test_a_file_that_is_no_socket_is_refused_and_kept(refused, tmp_path):
    file = tmp_path / "precious"
    file.write_text("data")
    assert refused(f"unix:{file}") == f'Error: "{file}" exists and is not a socket'
    assert file.read_text() == "data"


# --- Coming back ------------------------------------------------------------------------------------------------------


def test_a_daemon_killed_in_mid_search_can_be_started_again_in_the_same_place(serve, tmp_path):
    path = tmp_path / "s"
    first = serve("--listen", free_place(), "--listen", f"unix:{path}")
    addresses = first.addresses(2)
    with Caller(addresses[1]) as caller:
        analysis = caller.engine.Analyze(analyze_request(START, options=ENDLESS))
        next(analysis)
        first.signal(signal.SIGKILL)
        with pytest.raises(grpc.RpcError) as error:
            list(analysis)
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE
    assert first.exit_status() == -signal.SIGKILL
    assert path.is_socket()  # nobody was left to remove it
    second = serve("--listen", addresses[0], "--listen", addresses[1])
    assert second.addresses(2) == addresses
    for address in addresses:
        with Caller(address) as caller:
            assert caller.engine.Search(search_request(START), timeout=SOON).report.final


def test_connections_begin_anew_after_a_while_and_cost_no_call_and_no_game(serve):
    process = serve("--listen", "127.0.0.1:0", "--connection-seconds", "1")

    def connections():
        return {line["peer"] for line in process.requests() if line["method"] == "Search"}

    with EngineClient(*process.addresses(), retry_seconds=0) as engine, engine.play(START) as game:
        until(lambda: engine.search(START).final and len(connections()) >= 3, 30)
        assert game.best(nodes=1).final


# --- Other ways to go -------------------------------------------------------------------------------------------------


def test_it_goes_when_stdin_closes_if_told_to_and_logs_for_people(serve):
    process = serve("--listen", "0.0.0.0:0", "--insecure", "--with-stdin", "--log-format", "human")
    [address] = process.addresses()
    assert address.startswith("0.0.0.0:")
    with Caller(f"127.0.0.1:{address.split(':')[1]}") as caller:
        caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON)
        analysis = caller.engine.Analyze(analyze_request(START, options=ENDLESS))
        next(analysis)
        process.close_stdin()
        *_, last = analysis
    assert last.report.stop_reason == search_pb2.STOP_REASON_STOPPED
    assert process.exit_status(SOON) == 0
    lines = [line.split(" ", 1)[1] for line in process.said().splitlines()]  # after the time of day
    requests = [line for line in lines if " ms " in line]
    assert [line.split(" ")[:2] for line in requests] == [["Describe", "OK"], ["Analyze", "OK"]]
    assert "game=2584-2x3" in requests[1]
    assert lines[0] == f"listening on {address}"
    assert lines[-1] == "stopped"


def test_a_signal_during_warm_up_ends_it_well(serve, tmp_path):
    process = serve("--listen", f"unix:{tmp_path / 's'}")
    until(lambda: "listening on" in process.said())
    process.signal(signal.SIGTERM)
    assert process.exit_status() == 0
    assert not (tmp_path / "s").exists()
    assert process.log()[-1]["message"] == "stopped"


FAKE = """
import asyncio, sys
from plyd.servers import daemon
from plyd.servers.access.addresses import parse_address
from plyd.servers.access.auth import Authenticator
from plyd.servers.daemon_config import DaemonConfig
from plyd.servers.runtime import Capacity
from plyd.servers.telemetry import log
from tests.servers.fakes import FakeEngine

class Unlucky(FakeEngine):
    def warm_up(self):
        raise OSError("no weights")

class EndsLast(daemon.health.aio.HealthServicer):  # each Watch ends in another of the loop's last turns
    stopped = False
    watches = 0

    async def Watch(self, request, context):
        EndsLast.watches += 1
        turns = EndsLast.watches
        try:
            await super().Watch(request, context)
        finally:
            while not EndsLast.stopped:
                await asyncio.sleep(0)
            for _ in range(turns):
                await asyncio.sleep(0)

def note_stop(record):
    EndsLast.stopped = EndsLast.stopped or record.getMessage() == "stopped"
    return True

daemon.Daemon.stop.__defaults__ = (float(sys.argv[2]),)
daemon.health.aio.HealthServicer = EndsLast
daemon.log.addFilter(note_stop)
engine = Unlucky() if sys.argv[3:] == ["unlucky"] else FakeEngine()
log.set_up("info", "json")
config = DaemonConfig({"sticks": engine}, Capacity(1), [parse_address(sys.argv[1])], Authenticator())
sys.exit(asyncio.run(daemon.run(config)))
"""


@pytest.fixture
def fake_process(tmp_path):
    """Starts a process around a fake engine, on a Unix socket, with so many seconds of grace."""
    processes = []

    def start(grace_seconds, *arguments):
        command = [sys.executable, "-c", FAKE, f"unix:{tmp_path / 's'}", str(grace_seconds), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def stuck(tmp_path):
    """A call whose search does not stop, whatever it is told."""
    options = {"reports": "1000000", "seconds_per_report": "0.02", "ignores_stop": "true"}
    with Caller(f"unix:{tmp_path / 's'}") as caller:
        yield lambda: caller.engine.Analyze(analyze_request(options=options), wait_for_ready=True)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_search_that_does_not_stop_cannot_keep_the_process(fake_process, stuck, leaves):
    process = fake_process(0.5)
    assert process.stdout.readline().startswith("serving sticks on unix:")
    call = stuck()
    next(call)
    if leaves:
        call.cancel()
        while '"method": "Analyze"' not in process.stderr.readline():
            pass
    process.send_signal(signal.SIGTERM)
    assert process.wait(SOON) == 1
    assert f"{0 if leaves else 1} calls and 1 searches did not end within 0.5 s" in process.stderr.read()


def test_a_second_signal_ends_it_at_once(fake_process, stuck):
    process = fake_process(1000)
    assert process.stdout.readline().startswith("serving")
    call = stuck()
    next(call)
    process.send_signal(signal.SIGTERM)
    while "shutting down" not in process.stderr.readline():
        pass
    until(lambda: process.send_signal(signal.SIGTERM) or process.poll() is not None)
    assert process.returncode == -signal.SIGTERM


def test_ctrl_c_ends_it_as_well(fake_process):
    process = fake_process(10)
    assert process.stdout.readline().startswith("serving")
    process.send_signal(signal.SIGINT)
    assert process.wait(SOON) == 0
    assert '"stopped"' in process.stderr.read()


def test_an_engine_that_does_not_get_warm_ends_the_daemon_with_status_1(fake_process, tmp_path):
    process = fake_process(10, "unlucky")
    stdout, stderr = process.communicate(timeout=SOON)
    assert (process.returncode, stdout) == (1, "")
    assert "OSError: no weights" in stderr
    assert all(line.startswith("{") for line in stderr.splitlines())
    assert not (tmp_path / "s").exists()


def test_a_health_watch_that_ends_in_the_last_moment_leaves_no_traceback(fake_process, tmp_path):
    process = fake_process(10)
    assert process.stdout.readline().startswith("serving")
    with Caller(f"unix:{tmp_path / 's'}") as caller:
        watches = [caller.health.Watch(health_pb2.HealthCheckRequest()) for _ in range(6)]
        assert {next(watch).status for watch in watches} == {health_pb2.HealthCheckResponse.SERVING}
        process.send_signal(signal.SIGTERM)
        assert {next(watch).status for watch in watches} == {health_pb2.HealthCheckResponse.NOT_SERVING}
        for watch in watches:
            watch.cancel()  # as a client does that stops at the same time
        said = process.communicate(timeout=SOON)[1]
    assert process.returncode == 0
    assert "Traceback" not in said
    assert [json.loads(line)["message"] for line in said.splitlines()][-2:] == ["shutting down", "stopped"]


# --- Refused before anything starts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["chess"], 'unknown game "chess"; games are 2584-2x3'),
        (["2584-2x3", "chess"], 'unknown game "chess"; games are 2584-2x3'),
        (["2584-2x3", "--listen", "localhost"], '"localhost" is not an address; an address is HOST:PORT'),
        (["2584-2x3", "--listen", "localhost:x"], '"localhost:x" is not an address; an address is HOST:PORT'),
        (["2584-2x3", "--listen", "::1:80"], '"::1:80" is not an address'),
        (["2584-2x3", "--listen", "unix:"], "'unix:' has no valid path"),
        (["2584-2x3", "--listen", "127.0.0.1:0", "--listen", ":0"], '":0" is not an address'),
        (["2584-2x3", "--listen", "0.0.0.0:0"], "0.0.0.0:0 can be reached from other machines, unencrypted; set"),
        (["2584-2x3", "--listen", "[::]:0"], "[::]:0 can be reached from other machines"),
        (["2584-2x3", "--listen", "example.org:80"], "example.org:80 can be reached from other machines"),
    ],
)
def test_what_cannot_be_served_is_one_line_on_stderr_and_status_1(arguments, complaint, keep_loggers):
    result = CliRunner().invoke(main, ["serve", *arguments])
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"Error: {complaint}")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["2584-2x3", "--slots", "0"],
        ["2584-2x3", "--slots", "two"],
        ["2584-2x3", "--queue", "-1"],
        ["2584-2x3", "--sessions", "0"],
        ["2584-2x3", "--log-format", "xml"],
        ["2584-2x3", "--no-such-option"],
    ],
)
def test_wrong_usage_has_status_2(arguments):
    result = CliRunner().invoke(main, ["serve", *arguments])
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_a_daemon_whose_lines_nobody_reads_serves_all_the_same(tmp_path):
    path = tmp_path / "socket"
    command = [sys.executable, "-m", "plyd.clients", "serve", "2584-2x3", "--listen", f"unix:{path}"]
    with open("/dev/full", "wb") as full:
        process = subprocess.Popen(command, stdout=full, stderr=subprocess.PIPE)
    with EngineClient(f"unix:{path}") as client:
        client.wait_until_ready(120)
    process.terminate()
    said = process.communicate(timeout=SOON)[1]
    assert process.returncode == 0
    assert b"Traceback" not in said
    assert not path.exists()
