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

from plyd.clients import EngineClient
from plyd.engines.registry import ENGINES
from tests.patience import SOON, until
from tests.ports import free_ports

PORTS = 20 + len(ENGINES)  # from the base port on; the last ones are of metrics


class Up:
    """A `plyd up` under test."""

    def __init__(self, folder, games, *options):
        self.names = [*(games or ENGINES), *([] if "--no-web" in options else ["web"])]
        self.port = free_ports(PORTS)
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "plyd.clients", "up", *games, "--base-port", str(self.port), *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def ready(self):
        """(game, address, pid) of each daemon, as they become ready."""
        lines = [self.process.stdout.readline().split() for _ in self.names]
        assert all(len(line) == 3 for line in lines), self.log.read_text()
        return [(game, address, int(pid)) for game, address, pid in lines]


@pytest.fixture
def up(tmp_path, request):
    it = Up(tmp_path, *getattr(request, "param", ((next(iter(ENGINES)),), "--no-web")))
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


def daemons_of(parent):
    with open(f"/proc/{parent}/task/{parent}/children") as children:
        return [int(pid) for pid in children.read().split()]


@pytest.mark.parametrize("up", [((),)], indirect=True)
def test_every_engine_gets_its_own_process_and_port_and_the_page_and_all_stop_together(up):
    ready = up.ready()
    page = next(line for line in ready if line[0] == "web")
    engines = [line for line in ready if line is not page]
    assert {game for game, _, _ in engines} == set(ENGINES)
    assert {address for _, address, _ in engines} == {f"127.0.0.1:{up.port + i}" for i in range(len(ENGINES))}
    assert len({pid for _, _, pid in ready}) == len(ENGINES) + 1
    for game, address, _ in engines:
        with EngineClient(address) as client:
            assert [engine.game for engine in client.describe().engines] == [game]
    assert page[1] == f"http://127.0.0.1:{up.port + 10}"
    until(lambda: f"every engine is serving; open {page[1]}; Ctrl-C" in up.log.read_text())
    until(lambda: health(page[1])["complete"])
    assert health(page[1])["games"] == dict.fromkeys(ENGINES, True)
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(SOON) == 0
    assert not any(is_alive(pid) for _, _, pid in ready)


def test_each_engine_has_its_metrics_on_a_port_of_their_own(up):
    up.ready()
    with urllib.request.urlopen(f"http://127.0.0.1:{up.port + 20}/metrics", timeout=SOON) as answer:
        told = answer.read().decode()
    assert f'plyd_game_info{{game="{next(iter(ENGINES))}"}} 1.0' in told
    assert "plyd_ready 1.0" in told


@pytest.mark.parametrize("up", [((next(iter(ENGINES)),), "--no-web", "--no-metrics")], indirect=True)
def test_no_metrics_if_told_so(up):
    up.ready()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", up.port + 20))


def test_a_port_for_metrics_that_is_taken_is_refused_in_one_line():
    port = free_ports(21)
    with socket.create_server(("127.0.0.1", port + 20)):
        command = [sys.executable, "-m", "plyd.clients", "up", "2584-2x3", "--no-web", "--base-port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 1
    assert done.stderr == f"Error: cannot listen on 127.0.0.1:{port + 20}: Address already in use\n"


def health(page):
    """What the page's server says of the daemons behind it."""
    try:
        with urllib.request.urlopen(f"{page}/healthz", timeout=SOON) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def test_a_game_that_is_not_there_is_refused_in_one_line():
    command = [sys.executable, "-m", "plyd.clients", "up", "2585"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 1
    assert done.stderr == f'Error: unknown game "2585"; games are {", ".join(ENGINES)}\n'


def test_a_daemon_that_is_killed_comes_back_on_its_port_and_clients_go_on(up):
    [(_, address, pid), *_] = up.ready()
    with EngineClient(address, retry_seconds=20) as client:
        before = client.search("b 2 2 0 0 0 0").score.expected_points
        os.kill(pid, signal.SIGKILL)
        assert client.search("b 2 2 0 0 0 0").score.expected_points == before
    _, again, new_pid = up.process.stdout.readline().split()
    assert (again, int(new_pid) != pid) == (address, True)
    assert "was killed by SIGKILL; starts again in 0.25 s" in up.log.read_text()


def test_a_daemon_that_keeps_dying_waits_longer_each_time(up):
    [(_, _, pid), *_] = up.ready()
    for delay in ("0.25", "0.50", "1.00"):
        os.kill(pid, signal.SIGKILL)
        until(lambda delay=delay: f"starts again in {delay} s" in up.log.read_text())
        pid = int(up.process.stdout.readline().split()[2])


def test_daemons_are_kept_running_when_nobody_reads_the_lines_any_more(up):
    [(_, _, pid), *_] = up.ready()
    up.process.stdout.close()
    for delay in ("0.25", "0.50"):
        os.kill(pid, signal.SIGKILL)
        until(lambda delay=delay: f"starts again in {delay} s" in up.log.read_text())
        warm = up.log.read_text().count("is warm after")
        until(lambda warm=warm: up.log.read_text().count("is warm after") > warm)
        [pid] = daemons_of(up.process.pid)


def test_ctrl_c_stops_them_all(up):
    ready = up.ready()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(SOON) == 0
    assert not any(is_alive(pid) for _, _, pid in ready)


def test_daemons_go_even_when_the_supervisor_is_killed(up):
    ready = up.ready()
    up.process.kill()
    until(lambda: not any(is_alive(pid) for _, _, pid in ready))


def test_a_port_that_is_taken_is_refused_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "plyd.clients", "up", "--base-port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 1
    assert done.stderr == f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_only_loopback_is_served():
    done = subprocess.run(
        [sys.executable, "-m", "plyd.clients", "up", "--host", "0.0.0.0"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 1
    assert 'host "0.0.0.0" is not a loopback address' in done.stderr
