"""The units: systemd itself reads them, and a daemon lives with what they forbid."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from plyd.engines.registry import ENGINES
from plyd.servers.daemon import GRACE_SECONDS
from plyd.servers.settings import FILE_VARIABLE, SERVE, gather
from tests.patience import SOON
from tests.servers.daemons import Caller, Process, search_request

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
MOST_EXPOSED = 15  # tenths; systemd calls anything below 20 OK
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze") and not os.environ.get("CI"), reason="needs Debian's systemd"
)


@pytest.fixture
def units(tmp_path):
    """The units as installed, but for the program, which is in another place on this machine."""
    program = tmp_path / "plyd"
    program.symlink_to(sys.executable)
    folder = tmp_path / "units"
    shutil.copytree(UNITS, folder)
    for unit in [*folder.glob("*.service")]:
        unit.write_text(unit.read_text().replace("/opt/plyd/bin/plyd", str(program)))
    (folder / "plyd@.service").rename(folder / "plyd@2584-2x3.service")  # one instance
    (folder / "plyd@.service.d").rename(folder / "plyd@2584-2x3.service.d")
    return folder


def analyze(*words):
    """What systemd-analyze says, and whether it was content."""
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=SOON)
    return done.returncode, done.stdout + done.stderr


@needs_systemd
@pytest.mark.parametrize("unit", ["plyd@2584-2x3.service", "plyd-web.service", "plyd.target"])
def test_systemd_finds_nothing_wrong(units, unit):
    status, said = analyze("verify", "--man=no", "--recursive-errors=no", str(units / unit))
    ours = [line for line in said.splitlines() if "plyd" in line]
    assert (status, ours) == (0, [])


@needs_systemd
def test_systemd_would_find_a_key_that_does_not_exist(units):
    unit = units / "plyd-web.service"
    unit.write_text(unit.read_text().replace("RestartSec=", "RestartSeconds="))
    assert "RestartSeconds" in analyze("verify", "--man=no", str(unit))[1]


@needs_systemd
@pytest.mark.parametrize("unit", ["plyd@2584-2x3.service", "plyd-web.service"])
def test_a_unit_is_little_exposed(units, unit):
    status, said = analyze("security", "--offline=yes", f"--threshold={MOST_EXPOSED}", str(units / unit))
    assert status == 0, said[-200:]


def values(unit, key):
    """What a unit says of a key, each time."""
    return re.findall(rf"^{key}=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)


def test_what_the_daemon_may_not_do_the_page_may_not_either():
    def guarded(unit):
        section = (UNITS / unit).read_text().partition("User=plyd\n")[2].partition("[Install]")[0]
        return {line for line in section.splitlines() if line and not line.startswith(("#", "MemoryDenyWriteExecute"))}

    assert guarded("plyd@.service") == guarded("plyd-web.service")


def test_running_searches_have_time_to_answer_before_systemd_kills():
    [seconds] = values("plyd@.service", "TimeoutStopSec")
    assert float(seconds.removesuffix("s")) > GRACE_SECONDS + 5


def test_each_game_has_the_port_that_the_page_looks_for():
    ports = {game: f"PLYD_LISTEN=127.0.0.1:{25840 + i}\n" for i, game in enumerate(ENGINES)}
    assert {file.stem: file.read_text() for file in UNITS.glob("*.env")} == ports


def test_plyd_knows_every_setting_of_the_units():
    texts = [file.read_text() for file in UNITS.rglob("*") if file.is_file()]
    named = {name for text in texts for name in re.findall(r"\b(PLYD_[A-Z_]+)=", text)}
    assert named - {FILE_VARIABLE} <= {setting.variable for setting in SERVE}
    assert gather({}, {}, UNITS / "plyd.toml")["limits.move_seconds"] == 60


# --- What a daemon tells systemd --------------------------------------------------------------------------------------


def test_a_daemon_says_when_it_is_ready_that_it_lives_and_that_it_goes(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(120)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        with Process(tmp_path, "--listen", "127.0.0.1:0") as process:
            heard = [manager.recv(100) for _ in range(4)]
            [address] = process.addresses()  # said before READY, so this does not wait
            with Caller(address) as caller:
                assert caller.engine.Search(search_request("b 1 1 0 0 0 0"), timeout=10).report.final
            process.signal(15)
            while heard[-1] != b"STOPPING=1":
                heard.append(manager.recv(100))
            assert process.exit_status() == 0
    assert heard[:4] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert set(heard[4:-1]) <= {b"WATCHDOG=1"}


@pytest.mark.parametrize("place", ["", "/nowhere/at/all", "@nobody-listens-here"])
def test_a_daemon_that_nobody_listens_to_serves_all_the_same(place, monkeypatch):
    from plyd.servers.systemd import notify

    monkeypatch.setenv("NOTIFY_SOCKET", place)
    notify("READY=1")


def test_a_socket_without_a_file_is_told_too(monkeypatch):
    from plyd.servers.systemd import notify

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0plyd-test-{os.getpid()}")
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@plyd-test-{os.getpid()}")
        notify("STATUS=well")
        assert manager.recv(100) == b"STATUS=well"


# --- What a unit forbids ----------------------------------------------------------------------------------------------


@pytest.fixture
def guarded():
    """A command to put before another, which then has no more system calls than the daemon's unit allows."""
    if "Seccomp:" not in Path("/proc/self/status").read_text():
        pytest.skip("this kernel cannot filter system calls")
    return [sys.executable, str(Path(__file__).parent / "guarded.py"), str(UNITS / "plyd@.service")]


@needs_systemd
@pytest.mark.parametrize(
    "attempt",
    ["os.chroot('/')", "os.sched_setaffinity(0, {0})", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"],
)
def test_what_a_game_engine_has_no_use_for_is_refused(guarded, attempt):
    command = [*guarded, sys.executable, "-c", f"import os, socket; {attempt}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert "PermissionError: [Errno 1]" in done.stderr


@needs_systemd
def test_a_daemon_serves_and_goes_with_what_is_left(guarded, tmp_path):
    command = [*guarded, sys.executable, "-m", "plyd.clients", "serve", "2584-2x3", "--log-level", "warning"]
    command += ["--listen", "127.0.0.1:0", "--listen", f"unix:{tmp_path / 's'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith("serving")
            with Caller(f"unix:{tmp_path / 's'}") as caller:
                assert caller.engine.Search(search_request("b 1 1 0 0 0 0"), timeout=10).report.final
        finally:
            process.terminate()
        _, complaints = process.communicate(timeout=SOON)
    assert (process.returncode, complaints) == (0, "")
