"""`plyd solve` as a program: what goes in on stdin, what comes out, and how it ends."""

import contextlib
import math
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.clients.commands import solve as solve_command
from plyd.clients.commands.solve import answer
from tests.clients.library.relay import Relay
from tests.patience import LONG, SOON, until

EXPECTED = "expected b or a and 6 numbers from 0 to 33"


@pytest.fixture
def program(plyd, daemon):
    """Run `plyd solve` as a process on some input."""

    def run(data, *options):
        command = [*plyd, "solve", "--connect", daemon, *options]
        return subprocess.run(command, input=data, capture_output=True, timeout=SOON)

    return run


@pytest.fixture
def solve(daemon, tmp_path, capsys):
    """Run the loop of `plyd solve` within this process, from file to file."""

    def run(data, *, moves=False, strict=False):
        (tmp_path / "queries").write_bytes(data)
        with (tmp_path / "queries").open("rb") as source, (tmp_path / "answers").open("wb") as sink:
            files = {"source": source.fileno(), "sink": sink.fileno()}
            status = answer(daemon, moves=moves, strict=strict, banner=False, **files)
        return SimpleNamespace(
            stdout=(tmp_path / "answers").read_bytes(), stderr=capsys.readouterr().err.encode(), returncode=status
        )

    return run


@pytest.fixture
def start(plyd):
    """Start `plyd solve` with pipes to all its ends; whatever still runs at the end is killed."""
    started = []

    def begin(*options, **settings):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
        started.append(subprocess.Popen([*plyd, "solve", *options], **(pipes | settings)))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


def read_line(file, seconds=SOON):
    """The next line of an unbuffered pipe; an empty one at its end."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([file], [], [], seconds)[0], f"no answer, only {line!r}"
        byte = file.read(1)
        if not byte:
            break
        line += byte
    return line


# Values


def test_examples(program, examples):
    done = program("\n".join(examples).encode())
    assert done.stdout.decode().splitlines() == [f"= {value}" for value in examples.values()]
    assert done.stderr == b""
    assert done.returncode == 0


def test_one_answer_for_each_query_in_order(solve, daemon, boards):
    done = solve("\n".join(boards).encode())
    with EngineClient(daemon) as client:
        values = client.evaluate(boards).values
    assert done.stdout.decode().splitlines() == ["= -1" if math.isnan(v) else f"= {v:.10g}" for v in values]
    assert done.returncode == 0


def test_moves(solve):
    done = solve(b"b 2 2 0 0 0 0\nb 0 0 0 0 4 2\na 0 0 0 0 4 2\nb 7 12 4 10 4 2\nb 1 1 1 1 1 1\n", moves=True)
    assert done.stdout == b"= 1422.339261 right\n= 1412.897933 left\n= 1412.893618\n= 0\n= -1\n"
    assert done.returncode == 0


def test_banner(program, daemon):
    done = program(b"b 2 2 0 0 0 0\n", "--banner")
    head = f"2584-Solver: plyd solve --connect {daemon} --banner"
    assert done.stdout.decode().splitlines() == [head, "", "solver is initialized.", "", "= 1422.339261"]


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", []),
        (b"\n \t\r\n\n ", []),
        (b"b 2 2 0 0 0 0", ["1422.339261"]),
        (b"b 2 2 0 0 0 0\r\na 0 0 0 0 4 2\r\nb 7 12 4 10 4 2\r", ["1422.339261", "1412.893618", "0"]),
        (b"\n\nb 2 2 0 0 0 0\n\n\r\n\nb 7 12 4 10 4 2\n\n", ["1422.339261", "0"]),
        (
            b"b\t2\t2\t0\t0\t0\t0\n  b  2 2 0\t 0 0 0   \nb 02 002 0 00 0 0\nb 33 0 0 0 0 0",
            ["1422.339261"] * 3 + ["-1"],
        ),
    ],
)
def test_lines_that_are_fine(solve, data, values):
    done = solve(data)
    assert done.stdout.decode().splitlines() == [f"= {value}" for value in values]
    assert done.stderr == b""
    assert done.returncode == 0


# Malformed lines

MALFORMED = [  # line, what is said of it
    (b"c 2 2 0 0 0 0", 'unknown letter "c" in "c 2 2 0 0 0 0"'),
    (b"B 2 2 0 0 0 0", 'unknown letter "B"'),
    (b"bb 2 2 0 0 0 0", 'unknown letter "bb"'),
    (b"b2 2 0 0 0 0", 'unknown letter "b2"'),
    (b"2 2 0 0 0 0", 'unknown letter "2"'),
    (b"b", '0 numbers in "b"'),
    (b"b 2 2 0 0 0", '5 numbers in "b 2 2 0 0 0"'),
    (b"b 2 2 0 0 0 0 0", '7 numbers in "b 2 2 0 0 0 0 0"'),
    (b"b 2 x 0 0 0 0", '"x" is not a number in "b 2 x 0 0 0 0"'),
    (b"b 2 2.0 0 0 0 0", '"2.0" is not a number'),
    (b"b 2 1e1 0 0 0 0", '"1e1" is not a number'),
    (b"b 2 +2 0 0 0 0", '"+2" is not a number'),
    (b"b 2 34 0 0 0 0", '"34" is out of range in "b 2 34 0 0 0 0"'),
    (b"b 2 99999999999999999999 0 0 0 0", '"99999999999999999999" is out of range'),
    (b"b 2 -1 0 0 0 0", '"-1" is out of range'),
    (b"b 2 2 0 0 0 0 # why", '"#" is not a number'),
    (b"\x01\x02\x1b[31m", 'unknown letter "\\x01\\x02\\x1b[31m"'),
    (b"\x00", 'unknown letter "\\x00"'),
    (b"b 2 2 0\x000 0 0", '"0\\x000" is not a number'),
    (b"b 2 2 0 0 0 \xff", '"\\xff" is not a number'),
    ("b 2 2 0 0 0 ٣".encode(), '"٣" is not a number'),
    ("b 2 2 0 0 0 0\u2028".encode(), "is not a number"),
    (b"x" * 100_000, f'100000 characters, more than 4096, in "{"x" * 60}..."'),
]


def test_malformed_line_is_told_and_work_goes_on(solve):
    done = solve(b"".join(b"b 2 2 0 0 0 0\n\n" + line + b"\n" for line, _ in MALFORMED))
    assert done.stdout == b"= 1422.339261\n= -1\n" * len(MALFORMED)
    lines = done.stderr.decode().removesuffix("\n").split("\n")
    for number, (told, (_, message)) in enumerate(zip(lines, MALFORMED, strict=True), 1):
        assert told.startswith(f"line {3 * number}: ")
        assert message in told
        assert told.endswith(EXPECTED)
    assert done.returncode == 1


def test_line_without_end(solve):
    done = solve(b"b 2 2 0 0 0 0\n" + b"7 " * (5 << 20))
    assert done.stdout == b"= 1422.339261\n= -1\n"
    [told] = done.stderr.decode().splitlines()
    assert told.startswith('line 2: 4101 characters, more than 4096, in "7 7 7')
    assert len(told) < 300
    assert done.returncode == 1


def test_good_query_is_not_found_in_a_line_without_end(solve):
    done = solve(b"b 2 2 0 0 0 0" + b" " * (1 << 20) + b"\nb 7 12 4 10 4 2\n")
    assert done.stdout.splitlines()[1:] == [b"= 0"]


def test_line_numbers_over_several_batches(solve):
    lines = [b"b 2 2 0 0 0 0"] * 60_000  # several times what is read at once
    bad = {1: b"x", 20_000: b"", 20_001: b"b", 40_000: b"\r", 40_001: b"a 1 1", 59_999: b"?"}
    for number, line in bad.items():
        lines[number - 1] = line
    done = solve(b"\n".join(lines) + b"\n")
    told = [line.split(":")[0] for line in done.stderr.decode().splitlines()]
    assert told == ["line 1", "line 20001", "line 40001", "line 59999"]
    answers = done.stdout.splitlines()
    assert len(answers) == 59_998  # two lines were empty
    assert [number for number, answer in enumerate(answers) if answer == b"= -1"] == [0, 19_999, 39_998, 59_996]
    assert done.returncode == 1


def test_nothing_but_malformed_lines(solve):
    done = solve(b"x\n" * 30_000)
    assert done.stdout == b"= -1\n" * 30_000
    told = done.stderr.decode().splitlines()
    assert [line.partition(": ")[0] for line in told] == [f"line {number}" for number in range(1, 30_001)]
    assert all(line.endswith(EXPECTED) for line in told)
    assert done.returncode == 1


def test_strict_stops_at_the_first_malformed_line(solve):
    good = b"b 2 2 0 0 0 0\n"
    done = solve(good * 30_000 + b"\nx\n" + good + b"y\n" + good * 30_000, strict=True)
    assert done.stdout == b"= 1422.339261\n" * 30_000
    assert done.stderr.decode() == f'line 30002: unknown letter "x" in "x"; {EXPECTED}\n'
    assert done.returncode == 1


def test_strict_without_malformed_lines(solve):
    done = solve(b"b 2 2 0 0 0 0\n", strict=True)
    assert done.stdout == b"= 1422.339261\n"
    assert done.returncode == 0


def test_strict_does_not_wait_for_more(start, daemon):
    process = start("--connect", daemon, "--strict")
    process.stdin.write(b"b 2 2 0 0 0 0\nx\n")
    assert process.wait(SOON) == 1
    assert process.stdout.read() == b"= 1422.339261\n"


# One line, one answer


def test_every_line_is_answered_at_once(start, daemon, examples):
    process = start("--connect", daemon)
    for query, value in [*examples.items()] * 5:
        process.stdin.write(f"{query}\n".encode())
        assert read_line(process.stdout).split()[:2] == [b"=", value.encode()]
    process.stdin.close()
    assert process.wait(SOON) == 0


def test_malformed_line_is_told_at_once(start, daemon):
    process = start("--connect", daemon)
    for number in range(1, 4):
        process.stdin.write(b"x\n")
        assert read_line(process.stdout) == b"= -1\n"
        assert read_line(process.stderr).startswith(b"line %d: " % number)


def test_line_that_comes_in_pieces(start, daemon):
    process = start("--connect", daemon)
    for piece in (b"b 2", b" 2 0 0", b" 0 0\nb 7 12", b" 4 10 4 2\n"):
        process.stdin.write(piece)
        time.sleep(0.05)
    assert read_line(process.stdout) == b"= 1422.339261\n"
    assert read_line(process.stdout) == b"= 0\n"


def test_banner_comes_before_any_question(start, daemon):
    process = start("--connect", daemon, "--banner")
    assert [read_line(process.stdout) for _ in range(4)][2] == b"solver is initialized.\n"
    process.stdin.write(b"b 2 2 0 0 0 0\n")
    assert read_line(process.stdout) == b"= 1422.339261\n"


def test_terminal(start, daemon):
    ours, theirs = pty.openpty()
    process = start("--connect", daemon, stdin=theirs)
    for _ in range(3):
        os.write(ours, b"b 2 2 0 0 0 0\n")
        assert read_line(process.stdout) == b"= 1422.339261\n"
    os.write(ours, b"\x04")  # Ctrl-D
    assert process.wait(SOON) == 0
    os.close(theirs)
    os.close(ours)


# Pipes, files and signals


def test_reader_who_has_enough(plyd, daemon, boards, tmp_path):
    (tmp_path / "queries").write_text("\n".join(boards))
    line = f"{' '.join(plyd)} solve --connect {daemon} < {tmp_path}/queries | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=SOON)
    assert done.stdout.splitlines()[1:] == [b"0"]
    assert done.stderr == b""


@pytest.mark.parametrize("options", [[], ["--banner"]])
def test_reader_who_has_enough_while_stdin_stays_open(start, daemon, options):
    process = start("--connect", daemon, *options)
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):  # with a banner it is gone before it is asked
        process.stdin.write(b"b 2 2 0 0 0 0\n")
    assert process.wait(SOON) == 0
    assert process.stderr.read() == b""


def test_input_that_cannot_be_read(start, daemon, tmp_path):
    with open(tmp_path / "write only", "wb") as file:
        process = start("--connect", daemon, stdin=file)
        assert process.wait(SOON) == 1
    assert process.stderr.read() == b"Error: [Errno 9] Bad file descriptor\n"


def test_output_that_cannot_be_written(plyd, daemon):
    with open("/dev/full", "wb") as full:
        command = [*plyd, "solve", "--connect", daemon]
        done = subprocess.run(command, input=b"b 2 2 0 0 0 0\n", stdout=full, stderr=subprocess.PIPE, timeout=SOON)
    assert done.returncode == 1
    assert done.stderr == b"Error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "unix:/nowhere/at/all", "host.invalid:1"])
def test_nobody_to_connect_to(monkeypatch, address):
    monkeypatch.setattr(solve_command, "FIRST_SECONDS", 0.1)
    done = CliRunner().invoke(main, ["solve", "--connect", address])
    assert (done.exit_code, done.stdout) == (1, "")
    [told] = done.stderr.splitlines()
    assert told.startswith(f"Error: {address} is unavailable: ")


def test_ctrl_c(start, daemon):
    process = start("--connect", daemon)
    process.stdin.write(b"b 2 2 0 0 0 0\n")
    read_line(process.stdout)
    process.send_signal(signal.SIGINT)
    assert process.wait(SOON) == 130
    assert process.stderr.read() == b""


def test_daemon_lost_and_back_between_queries(start, daemon, examples):
    with Relay(daemon) as relay:
        process = start("--connect", relay.address)
        for number in range(2):
            for query, value in examples.items():
                process.stdin.write(f"{query}\n".encode())
                assert read_line(process.stdout) == f"= {value}\n".encode()
            if number == 0:
                relay.cut()
                relay.restore()
        process.stdin.close()
        assert process.wait(SOON) == 0
        assert process.stderr.read() == b""


def test_daemon_killed_and_back_in_the_middle_of_many(start, own_daemon, daemon, boards):
    process = start("--connect", own_daemon.address, bufsize=-1)
    lines = boards * 5

    def feed():
        process.stdin.write("\n".join(lines).encode())
        process.stdin.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    answers = [process.stdout.readline()]
    own_daemon.kill()
    own_daemon.launch()
    answers += process.stdout
    feeder.join()
    with EngineClient(daemon) as client:
        values = client.evaluate(boards).values
    assert answers == [b"= -1\n" if math.isnan(v) else b"= %.10g\n" % v for v in values] * 5
    assert process.wait(SOON) == 0
    assert process.stderr.read() == b""


# A daemon of one's own


def processes(folder):
    """Command lines of the processes that know a folder by name."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (line := path.read_bytes()):
                found.append(line)
    return found


@pytest.fixture
def private(start, tmp_path):
    """`plyd solve` with a daemon of its own, and the folder where that keeps its things."""
    process = start("--banner", env=os.environ | {"TMPDIR": str(tmp_path)})
    for _ in range(4):
        read_line(process.stdout)
    process.stdin.write(b"b 2 2 0 0 0 0\n")
    assert read_line(process.stdout) == b"= 1422.339261\n"
    assert list(tmp_path.iterdir())
    assert processes(tmp_path)
    return process, tmp_path


def is_gone(folder):
    """Whether nothing is left of a private daemon."""
    return not processes(folder) and not list(folder.iterdir())


def test_private_daemon_answers_and_goes(private, examples):
    process, folder = private
    [found] = folder.iterdir()
    assert found.stat().st_mode & 0o077 == 0  # for its owner only
    process.stdin.write("\n".join(examples).encode())
    process.stdin.close()
    assert process.stdout.read().decode().splitlines() == [f"= {value}" for value in examples.values()]
    assert process.wait(SOON) == 0
    assert is_gone(folder)
    assert process.stderr.read() == b""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_private_daemon_goes_with_its_owner(private, number, status):
    process, folder = private
    process.send_signal(number)
    assert process.wait(SOON) == status
    until(lambda: is_gone(folder))


@pytest.mark.slow
def test_private_daemon_goes_when_the_reader_has_enough(private):
    process, folder = private
    process.stdout.close()
    process.stdin.write(b"b 2 2 0 0 0 0\n")
    assert process.wait(SOON) == 0
    assert is_gone(folder)


def test_private_daemon_that_does_not_start(start, tmp_path):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "numba.py").write_text("raise SystemExit('numba is broken here')")
    (tmp_path / "temporary").mkdir()
    places = {"PYTHONPATH": str(tmp_path / "modules"), "TMPDIR": str(tmp_path / "temporary")}
    process = start(env=os.environ | places)
    assert process.wait(SOON) == 1
    told = process.stderr.read().decode()
    assert told == "Error: a private daemon for 2584-2x3 did not start: numba is broken here\n"
    assert is_gone(tmp_path / "temporary")


# --- Odd places -------------------------------------------------------------------------------------------------------


def test_modules_in_the_working_folder_and_a_long_temporary_folder_do_no_harm(tmp_path):
    for name in ("click", "uvloop", "grpc", "numba"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the wrong place')")
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    plyd = os.path.join(os.path.dirname(sys.executable), "plyd")
    places = {"cwd": tmp_path, "env": {**os.environ, "TMPDIR": str(folder)}}
    done = subprocess.run([plyd, "solve"], input=b"b 2 2 0 0 0 0\n", capture_output=True, timeout=LONG, **places)
    assert (done.stdout, done.stderr) == (b"= 1422.339261\n", b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_stdin_or_stdout_is_told(closed):
    command = f"{sys.executable} -m plyd.clients solve {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=LONG)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"Error: ")
    assert b"Bad file descriptor" in done.stderr


def test_empty_address_is_refused():
    done = CliRunner().invoke(main, ["solve", "--connect", ""])
    assert done.exit_code == 2
    assert "an address is HOST:PORT, unix:PATH or tls:HOST:PORT" in done.stderr
