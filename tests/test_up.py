"""`plyd up`: every engine in its own daemon, started again when it dies, all stopped together."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from click.testing import CliRunner

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.engines.registry import ENGINES
from plyd.servers import supervisor
from tests.patience import SOON, until
from tests.ports import free_ports
from tests.servers.conftest import keep_loggers  # noqa: F401

PORTS = 20 + len(ENGINES)  # from the base port on; the last ones are of metrics
GAME = "2584-2x3"


class Up:
    """A `plyd up` under test."""

    def __init__(self, folder, games, *options):
        self.names = [*games, *([] if "--no-web" in options else ["web"])]
        self.port = free_ports(PORTS)
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "plyd.clients", "up", *games, "--base-port", str(self.port), *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def lines(self):
        """The lines of the log."""
        return [json.loads(line) for line in self.log.read_text().rpartition("\n")[0].splitlines()]

    def ready(self):
        """(game, address, pid) of each daemon, as they become ready."""
        lines = [self.process.stdout.readline().split() for _ in self.names]
        assert all(len(line) == 3 for line in lines), self.log.read_text()
        return [(game, address, int(pid)) for game, address, pid in lines]


@pytest.fixture
def up(tmp_path, request):
    it = Up(tmp_path, *getattr(request, "param", ((GAME,), "--no-web")))
    yield it
    it.process.kill()
    it.process.wait()
    it.process.stdout.close()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


# --- Real processes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("up", [((GAME, "connect4"),)], indirect=True)
def test_each_engine_gets_its_own_process_and_ports_and_the_page_and_all_stop_together(up):
    ready = up.ready()
    places = {game: address for game, address, _ in ready}
    ports = {game: up.port + list(ENGINES).index(game) for game in (GAME, "connect4")}
    page = f"http://127.0.0.1:{up.port + 10}"
    assert places == {**{game: f"127.0.0.1:{port}" for game, port in ports.items()}, "web": page}
    assert len({pid for _, _, pid in ready}) == 3
    for game, port in ports.items():
        with EngineClient(places[game]) as client:
            assert [engine.game for engine in client.describe().engines] == [game]
        assert f'plyd_game_info{{game="{game}"}} 1.0' in read(f"http://127.0.0.1:{port + 20}/metrics")
    until(lambda: health(page)["complete"])
    assert {game for game, is_there in health(page)["games"].items() if is_there} == set(ports)
    assert tables(up) == [[*row(ports[GAME], GAME), *row(ports["connect4"], "connect4"), "web", page]]
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(SOON) == 0
    assert not any(is_alive(pid) for _, _, pid in ready)
    assert not [line for line in up.lines() if line["message"] == "request"]  # they would hide the table
    assert "Traceback" not in up.log.read_text()


def row(port, game):
    return [game, f"127.0.0.1:{port}", f"http://127.0.0.1:{port + 20}/metrics"]


def tables(up):
    """The words of each table of addresses in the log, without its heading."""
    messages = [line["message"].splitlines() for line in up.lines() if line["logger"] == "plyd.up"]
    return [" ".join(lines[2:-1]).split() for lines in messages if len(lines) > 1]


def read(url):
    with urllib.request.urlopen(url, timeout=SOON) as answer:
        return answer.read().decode()


def health(page):
    """What the page's server says of the daemons behind it."""
    try:
        return json.loads(read(f"{page}/healthz"))
    except urllib.error.HTTPError as error:
        return json.load(error)


def test_a_daemon_that_is_killed_comes_back_on_its_port_and_clients_go_on_and_ctrl_c_stops_it(up):
    [(_, address, pid)] = up.ready()
    with EngineClient(address, retry_seconds=20) as client:
        before = client.search("b 2 2 0 0 0 0").score.expected_points
        os.kill(pid, signal.SIGKILL)
        assert client.search("b 2 2 0 0 0 0").score.expected_points == before
    _, again, new_pid = up.process.stdout.readline().split()
    assert (again, int(new_pid) != pid) == (address, True)
    assert "was killed by SIGKILL; starts again in 0.25 s" in up.log.read_text()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(SOON) == 0
    assert not is_alive(int(new_pid))


def test_daemons_go_even_when_the_supervisor_is_killed(up):
    ready = up.ready()
    up.process.kill()
    until(lambda: not any(is_alive(pid) for _, _, pid in ready))


@pytest.mark.slow
def test_of_two_that_start_together_one_serves_and_the_other_says_who_has_the_port_and_ends(tmp_path):
    port = free_ports(PORTS)
    command = [sys.executable, "-m", "plyd.clients", "up", GAME, "connect4", "--base-port", str(port), "--no-web"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        until(lambda: any(each.poll() is not None for each in both))
        first, second = sorted(both, key=lambda each: each.poll() is not None)
        said, told = second.communicate(timeout=SOON)
        assert (second.returncode, said) == (1, "")
        line = f"Error: cannot listen on 127.0.0.1:{port}: Address already in use by process {first.pid} ("
        assert [each for each in told.splitlines() if each.startswith("Error")][-1].startswith(line)
        assert {first.stdout.readline().split()[0] for _ in range(2)} == {GAME, "connect4"}
        first.terminate()
        assert first.wait(SOON) == 0
    finally:
        for each in both:
            each.kill()
            each.communicate()


# --- What is run, without running it ----------------------------------------------------------------------------------


@pytest.fixture
def invoke(monkeypatch, keep_loggers):  # noqa: F811
    """Runs `plyd up` without its processes: the result, and the specs of what it would run."""

    def invoke(*arguments):
        specs = []

        class Recorder(supervisor.Supervisor):
            async def run(self):
                specs.extend(self._specs)
                return 0

        monkeypatch.setattr(supervisor, "Supervisor", Recorder)
        return CliRunner().invoke(main, ["up", *arguments]), specs

    return invoke


def test_without_names_every_engine_is_run_and_the_page_with_all_of_them(invoke):
    done, specs = invoke("--base-port", "100")
    assert done.exit_code == 0
    assert [(it.name, it.address.port) for it in specs] == [*zip(ENGINES, range(100, 200), strict=False), ("web", 110)]
    assert [it.metrics.port for it in specs[:-1]] == list(range(120, 120 + len(ENGINES)))
    page = specs[-1].command()
    assert [page[i + 1] for i, word in enumerate(page) if word == "--connect"] == [it.url for it in specs[:-1]]


def test_a_game_has_the_same_port_whichever_are_run(invoke):
    [_, [connect4]] = invoke("connect4", "--no-web")
    assert connect4.address.port == 25840 + list(ENGINES).index("connect4")


def test_no_metrics_if_told_so(invoke):
    [_, [spec]] = invoke(GAME, "--no-web", "--no-metrics")
    assert "--metrics-listen" not in spec.command()


def test_daemons_get_the_configuration_file_and_log_no_requests(invoke, tmp_path):
    (tmp_path / "plyd.toml").write_text("slots = 1")
    [_, [spec]] = invoke(GAME, "--no-web", "--config", str(tmp_path / "plyd.toml"))
    command = spec.command()
    assert command[command.index("--config") + 1] == str(tmp_path / "plyd.toml")
    assert "--quiet-requests" in command


@pytest.fixture
def refusal(keep_loggers):  # noqa: F811
    """Runs a `plyd up` that cannot start: what it says."""

    def refusal(*arguments):
        done = CliRunner().invoke(main, ["up", *arguments])
        assert done.exit_code == 1
        return done.stderr

    return refusal


def test_a_game_that_is_not_there_is_refused_in_one_line(refusal):
    assert refusal("2585") == f'Error: unknown game "2585"; games are {", ".join(ENGINES)}\n'


@pytest.mark.parametrize("offset", [0, 20])
def test_a_port_that_is_taken_is_refused_in_one_line(refusal, offset):
    port = free_ports(21)
    with socket.create_server(("127.0.0.1", port + offset)):
        said = refusal(GAME, "--no-web", "--base-port", str(port))
    complaint = f"Error: cannot listen on 127.0.0.1:{port + offset}: Address already in use by process {os.getpid()} ("
    assert said.startswith(complaint)
    assert said.count("\n") == 1


def test_a_host_that_others_can_reach_is_refused_with_the_commands_that_serve_it(refusal):
    said = refusal("--host", "0.0.0.0")
    assert said.startswith('Error: host "0.0.0.0" is not a loopback address')
    for part in ("plyd serve GAME --listen 0.0.0.0:25840", "--tls-certificate", "--clients", "--name NAME"):
        assert part in said
