"""A match whose daemon dies, or that is interrupted; and its table on a terminal."""

import json
import os
import pty
import re
import signal
import subprocess
import threading

import grpc

from plyd.clients.match import connect
from tests.clients.conftest import Daemon
from tests.clients.match.fakes import plays
from tests.clients.match.matches import PLYD, QUICK, invoke, saved
from tests.patience import SOON, until
from tests.terminals import shown_on


def begin(*command):
    """Run a match in a thread; the thread, and a list that gets its result."""
    done = []
    thread = threading.Thread(target=lambda: done.append(invoke(*command)))
    thread.start()
    return thread, done


def test_daemon_that_restarts_costs_no_game(tmp_path):
    path, daemon = tmp_path / "games.jsonl", Daemon(game="connect4")
    sides = ["--first", f"at={daemon.address}", "--second", f"at={daemon.address}"]
    options = ["--start", "6x5", "--move-time", 10, "--games", 8, "--save", path]
    thread, done = begin("match", "connect4", *sides, *options)
    try:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 1)
        daemon.kill()
        daemon.launch()
        daemon.wait()
        thread.join(SOON)
    finally:
        daemon.close()
    [done] = done
    assert done.exit_code == 0, done.stderr
    assert {game["reason"] for game in saved(path)[1]} == {"rules"}
    assert len(saved(path)[1]) == 8


def test_daemon_that_is_gone_ends_the_match_with_what_there_is(connect4, fake, tmp_path, monkeypatch):
    path = tmp_path / "games.jsonl"
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.1)
    played = threading.Event()

    def plays_until_gone(number, context):
        if path.exists() and path.read_bytes().count(b"\n") > 1:
            played.set()
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return plays("9")(number, context)  # an illegal move: games are short

    address = fake(plays_until_gone)
    sides = ["--first", f"at={address}", "--second", f"at={connect4}"]
    thread, done = begin("match", "connect4", *sides, "--start", "6x5", "--nodes", 5, "--games", 100, "--save", path)
    try:
        assert played.wait(SOON)
    finally:
        fake.stop()
    thread.join(SOON)
    [done] = done
    assert done.exit_code == 1
    assert re.search(rf"games +{len(saved(path)[1])} of 100\n", done.stdout)
    assert re.search(rf"^Error: first: {address} is unavailable", done.stderr, re.MULTILINE)


def test_interrupt_prints_what_there_is(connect4, tmp_path):
    path = tmp_path / "games.jsonl"
    options = ["--start", "5x4", "--move-time", "20", "--games", "1000", "--save", str(path), "--json"]
    command = [*PLYD, "match", "connect4", "--first", f"at={connect4}", "--second", f"at={connect4}", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
    assert process.returncode == 130
    assert 2 <= json.loads(out)["games"] == len(saved(path)[1]) < 1000
    assert b"Traceback" not in err


def test_board_is_drawn_on_a_terminal(connect4):
    terminal, other_end = pty.openpty()
    command = [*PLYD, "match", "connect4", "--first", f"at={connect4}", "--second", f"at={connect4}", *QUICK]
    done = subprocess.run([*command, "--games", "4"], stdout=subprocess.PIPE, stderr=other_end, timeout=SOON)
    os.close(other_end)
    shown = shown_on(terminal)
    assert done.returncode == 0
    assert done.stdout.startswith(b"connect4: first against second\n")
    assert "connect4: first against second" in shown
    assert "4/4 games" not in shown
