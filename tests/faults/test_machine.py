"""A machine that fails: no disk, no files, no log, a wrong clock, a broken weight file, a signal at a bad moment."""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.clients.library.errors import PlydError
from plyd.models import files
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tests.faults.victim import ENDLESS, START, VALUE, Victim
from tests.patience import LONG, SOON, until
from tests.servers.daemons import Caller, search_request

ROOT = Path(__file__).parent.parent.parent
PLYD = [sys.executable, "-P", "-m", "plyd.clients"]
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")  # Debian's package faketime


# --- A full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for two megabytes; mounting one takes root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=2m") != 0:
        pytest.skip(f"cannot mount a small disk: {os.strerror(ctypes.get_errno())}")
    yield folder
    assert libc.umount2(os.fsencode(folder), 2) == 0


def checkpoint(weights):
    """A checkpoint of so many weights, each 0.5."""
    return Checkpoint(
        game="2048",
        variant="classic",
        network="012345 456789",
        base=16,
        fresh_weight=0.0,
        places=np.arange(weights, dtype=np.uint32),
        weights=np.full(weights, 0.5, np.float32),
        sums=np.zeros((0, 2), np.float32),
        progress={"games": weights},
    )


def test_a_disk_that_fills_while_a_checkpoint_is_written_leaves_the_old_one(small_disk):
    path = small_disk / "checkpoint.plyd"
    write_checkpoint(path, checkpoint(1000))
    with pytest.raises(OSError, match="No space left on device") as error:
        write_checkpoint(path, checkpoint(1_000_000))
    assert error.value.filename == str(path)
    assert read_checkpoint(path).progress == {"games": 1000}
    assert [file.name for file in small_disk.iterdir()] == [path.name]


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_whatever_fails_while_a_checkpoint_is_written_leaves_the_old_one(tmp_path, monkeypatch, moment):
    path = tmp_path / "checkpoint.plyd"
    write_checkpoint(path, checkpoint(1000))

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if moment == "fsync":
        monkeypatch.setattr(files.os, "fsync", fail)
    elif moment == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr(files.np, "ascontiguousarray", fail)
    with pytest.raises(OSError, match="No space left on device"):
        write_checkpoint(path, checkpoint(2000))
    monkeypatch.undo()
    assert read_checkpoint(path).progress == {"games": 1000}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_training_on_a_full_disk_ends_with_one_line_and_goes_on_once_there_is_room(small_disk):
    folder = small_disk / "run"
    words = ["train", "2048", "--network", "0123 4567", "--threads", "1", "--out", str(folder)]
    train = [*PLYD, *words, "--games"]
    assert subprocess.run([*train, "50"], capture_output=True, timeout=LONG).returncode == 0
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    before = (folder / "checkpoint.plyd").read_bytes()
    full = subprocess.run([*train, "100"], capture_output=True, text=True, timeout=LONG)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    [complaint] = [line for line in full.stderr.splitlines() if line.startswith("Error: ")]
    assert complaint.startswith(f"Error: No space left on device: {folder}")
    assert (folder / "checkpoint.plyd").read_bytes() == before
    filler.unlink()
    again = subprocess.run([*train, "100"], capture_output=True, text=True, timeout=LONG)
    assert (again.returncode, "resumes at game 50" in again.stderr) == (0, True)
    assert read_checkpoint(folder).progress["games"] == 100


@pytest.mark.slow
def test_a_gomoku_trainer_on_a_full_disk_leaves_the_old_checkpoint(small_disk):
    pytest.importorskip("torch")
    from plyd.engines.gomoku.train.trainer import GomokuPlan, GomokuTrainer

    trainer, path = GomokuTrainer(GomokuPlan(1, 8), small_disk, processes=1), small_disk / "checkpoint.plyd"
    trainer.save(path)
    before = path.read_bytes()
    (small_disk / "filler").write_bytes(bytes((2 << 20) - len(before) - 3 * 4096))
    with pytest.raises(OSError, match="No space left on device"):
        trainer.save(path)
    assert path.read_bytes() == before
    (small_disk / "filler").unlink()
    trainer.save(path)
    GomokuTrainer(GomokuPlan(1, 8), small_disk, processes=1).load(path)


# --- Broken weights ---------------------------------------------------------------------------------------------------


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    return data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (cut, "is corrupt or cut short: its SHA-256 does not agree"),
        (flipped, "is corrupt or cut short: its SHA-256 does not agree"),
        (lambda data: b"", "is not a file of weights: it does not begin with PLYDNET1"),
        (lambda data: b"GIF89a" + data, "is not a file of weights: it does not begin with PLYDNET1"),
    ],
)
def test_a_broken_model_is_one_line_and_status_1(tmp_path, keep_loggers, spoil, complaint):
    broken = tmp_path / "broken.plyd"
    broken.write_bytes(spoil((ROOT / "models/weights/gomoku-freestyle.plyd").read_bytes()))
    done = CliRunner().invoke(main, ["serve", "gomoku", "--model", str(broken), "--listen", "127.0.0.1:0"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"Error: {broken} {complaint}\n"


@pytest.mark.parametrize(("game", "name"), [("2048", "2048-classic.plyd"), ("gomoku", "gomoku-freestyle.plyd")])
def test_a_truncated_weight_file_that_ships_ends_the_daemon_with_one_clear_line(tmp_path, game, name):
    package = tmp_path / "plyd"
    weights = package / "models/weights"
    weights.mkdir(parents=True)
    for room in ("engines", "servers", "clients"):
        (package / room).symlink_to(ROOT / room)
    (package / "v1").symlink_to(ROOT / "proto/plyd/v1")
    for file in [*(ROOT / "models").iterdir(), *(ROOT / "models/weights").iterdir()]:
        if file.name not in (name, "weights", "__pycache__"):
            (package / file.relative_to(ROOT)).symlink_to(file)
    (weights / name).write_bytes(cut((ROOT / "models/weights" / name).read_bytes()))
    command = [*PLYD, "serve", game, "--listen", f"unix:{tmp_path / 's'}", "--log-format", "human"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    [complaint] = [line for line in done.stderr.splitlines() if "SHA-256" in line]
    assert f"{weights / name} is corrupt or cut short" in complaint
    assert not (tmp_path / "s").exists()


# --- The kernel cache -------------------------------------------------------------------------------------------------


def served_with_cache(folder, cache):
    """What a daemon whose kernels are cached in a folder logs, once it has answered."""
    command = [*PLYD, "serve", "2584-2x3", "--listen", f"unix:{folder / 's'}", "--log-format", "json"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        assert process.stdout.readline().startswith(b"serving")
        with EngineClient(f"unix:{folder / 's'}") as client:
            assert client.search(START).move
        process.terminate()
        _, said = process.communicate(timeout=SOON)
        return [line["message"] for line in map(json.loads, said.splitlines()) if line["logger"] == "plyd.kernels"]
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_daemon_serves_with_damaged_kernels_and_mends_them(tmp_path, suffix):
    cache = tmp_path / "cache"
    assert served_with_cache(tmp_path, cache) == []
    damaged = [*cache.glob(f"*/*.{suffix}")]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:50])
    told = served_with_cache(tmp_path, cache)
    assert told
    assert all("is unusable and is compiled again" in line for line in told)
    assert all(path.stat().st_size > 50 for path in damaged)
    assert served_with_cache(tmp_path, cache) == []


@pytest.mark.slow
def test_a_daemon_serves_when_the_disk_of_its_kernels_is_full(small_disk, tmp_path):
    cache = small_disk / "kernels"
    cache.mkdir(mode=0o755)
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    [line] = served_with_cache(tmp_path, cache)
    assert "No space left on device" in line


@pytest.mark.slow
def test_a_daemon_serves_without_a_cache_that_others_can_write(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    [line] = served_with_cache(tmp_path, cache)
    assert "mode 0777" in line
    assert [*cache.iterdir()] == []


# --- The log, open files, the clock -----------------------------------------------------------------------------------


def test_a_log_that_nobody_hears_any_more_does_not_stop_the_daemon(tmp_path):
    path = tmp_path / "s"
    command = [*PLYD, "serve", "2584-2x3", "--listen", f"unix:{path}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith(b"serving")
        process.stderr.close()
        with EngineClient(f"unix:{path}") as client:
            for _ in range(50):
                assert client.search(START).score.expected_points == VALUE
        process.terminate()
        assert process.wait(SOON) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_log_and_lines_that_nobody_reads_do_not_stop_the_daemon(tmp_path):
    path = tmp_path / "s"
    command = [*PLYD, "serve", "2584-2x3", "--listen", f"unix:{path}"]
    reads, writes = os.pipe()
    ours, theirs = socket.socketpair()  # as journald's
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    os.write(writes, bytes(fcntl.fcntl(writes, fcntl.F_GETPIPE_SZ)))  # full
    process = subprocess.Popen(command, stdout=writes, stderr=theirs)
    try:
        with EngineClient(f"unix:{path}") as client:
            client.wait_until_ready(SOON)
            for _ in range(100):  # more lines than the socket has room for
                assert client.search(START, timeout=SOON).score.expected_points == VALUE
        process.terminate()
        assert process.wait(SOON) == 0
        assert b"listening on" in ours.recv(4096)  # what it had room for is whole
    finally:
        process.kill()
        process.wait()
        ours.close()
        theirs.close()
        os.close(reads)
        os.close(writes)


def test_a_daemon_without_room_for_more_connections_serves_those_it_has_and_recovers(tmp_path):
    with Victim(tmp_path) as victim, Caller(victim.target) as old:
        old.engine.Search(search_request(START), timeout=SOON)
        most = victim.open_files() + 8
        resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, (most, most))
        crowd = [victim.connect() for _ in range(30)]
        until(lambda: victim.open_files() >= most - 1)
        for _ in range(20):
            assert old.engine.Search(search_request(START), timeout=SOON).report.score.expected_points == VALUE
        until(lambda: seconds_worked(victim.pid, 0.5) < 0.2)  # it does not run in circles
        for connection in crowd:
            connection.close()
        with EngineClient(victim.target, retry_seconds=SOON) as client:
            assert client.search(START).score.expected_points == VALUE


def seconds_worked(pid, seconds):
    """Processor time that a process uses within so many seconds."""

    def used():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(seconds)
    return used() - before


def test_a_clock_that_jumps_by_years_changes_no_limit(tmp_path):
    if not FAKETIME.exists():
        pytest.skip("needs Debian's package faketime")
    clock, path = tmp_path / "clock", tmp_path / "s"
    clock.write_text("+0")
    faked = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    environment = {**os.environ, **faked, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    command = [*PLYD, "serve", "2584-2x3", "--listen", f"unix:{path}", "--log-format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        assert process.stdout.readline().startswith(b"serving")
        with EngineClient(f"unix:{path}") as client:
            for jump in ("+3y", "-3y"):
                began = time.monotonic()
                timer = threading.Timer(0.1, clock.write_text, [jump])  # in mid-search
                timer.start()
                report = client.search(START, seconds=0.3, options=ENDLESS)
                took = time.monotonic() - began
                timer.join()
                assert report.final
                assert 0.25 < took < SOON  # neither at once nor in three years
                assert client.search(START).score.expected_points == VALUE
        process.terminate()
        said = process.communicate(timeout=SOON)[1].decode()
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    lines = [json.loads(line) for line in said.splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    years = {int(line["time"][:4]) for line in requests}
    assert max(years) - min(years) >= 5  # it did jump
    assert all(0 <= line["ms"] < 1000 * SOON for line in requests)


def test_a_wall_clock_that_jumps_within_the_process_changes_no_limit(open_daemon, monkeypatch):
    daemon = open_daemon()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    began = time.monotonic()
    limits, options = {"move_time_ms": 200}, {"reports": "1000000", "seconds_per_report": "0.01"}
    report = daemon.caller.engine.Search(search_request(limits=limits, options=options)).report
    assert report.final
    assert 0.15 < time.monotonic() - began < SOON


# --- Signals ----------------------------------------------------------------------------------------------------------


def test_a_daemon_told_to_go_while_it_is_overloaded_answers_or_refuses_everybody_and_goes(tmp_path):
    fates, lock = [], threading.Lock()
    with Victim(tmp_path) as victim:

        def ask():
            with EngineClient(victim.target, retry_seconds=0) as client:
                fate = ""
                while fate != "Unavailable":
                    try:
                        fate = f"final {client.search(START, seconds=0.3, options=ENDLESS).final}"
                    except PlydError as error:
                        fate = type(error).__name__
                    with lock:
                        fates.append(fate)
                    time.sleep(0.01)

        callers = [threading.Thread(target=ask) for _ in range(24)]
        for caller in callers:
            caller.start()
        until(lambda: fates.count("Overloaded") > 20 and fates.count("final True") > 2)
        victim.signal(signal.SIGTERM)
        assert victim.exit_status(SOON) == 0
        for caller in callers:
            caller.join(SOON)
    assert set(fates) == {"final True", "Overloaded", "Unavailable"}
    assert fates.count("Unavailable") == 24


@pytest.mark.slow
def test_a_daemon_killed_again_and_again_costs_clients_that_retry_nothing():
    command = [*PLYD, "stress", "kill", "--minutes", "0.7", "--every", "14", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stdout + done.stderr
