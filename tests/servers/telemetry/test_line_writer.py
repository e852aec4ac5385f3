"""Lines that a thread writes: in order and whole, whatever the descriptor is; lost and counted if it is stuck."""

import contextlib
import os
import pty
import re
import socket
import termios
import threading

import pytest

from plyd.servers.telemetry import line_writer
from plyd.servers.telemetry.line_writer import LineWriter
from tests.patience import SOON

LIMIT = 1 << 16


@pytest.fixture
def ends(request, monkeypatch):
    """A descriptor to read from and one to write to, which soon blocks if nobody reads."""
    monkeypatch.setattr(line_writer, "MAX_QUEUED_BYTES", LIMIT)
    kind = getattr(request, "param", "pipe")
    if kind == "pipe":
        pair = os.pipe()
    elif kind == "socket":
        pair = tuple(end.detach() for end in socket.socketpair())
    else:
        pair = pty.openpty()
        termios.tcflow(pair[1], termios.TCOOFF)  # as Ctrl-S does
    plug(pair[1])
    yield pair
    for end in pair:
        os.close(end)


def noted(file):
    return LineWriter(file, lambda count: f"{count} lost\n")


def line(number):
    return f"{number} {'x' * 300}\n"


def plug(file):
    """Fills a descriptor with empty lines, so that the next write blocks."""
    os.set_blocking(file, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(file, b"\n" * 1000):
            pass
    with contextlib.suppress(BlockingIOError):
        while os.write(file, b"\n"):
            pass
    os.set_blocking(file, True)


def fill(writer):
    """Adds lines until one is lost; how many lines were added."""
    count = 0
    while not writer.lines_lost:
        writer.add(line(count))
        count += 1
    return count


class Reader(threading.Thread):
    """Reads all that comes, until the other end is closed."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file, self.data = file, b""
        self.start()

    def run(self):
        while not self.data.endswith(b"the end\n") and (more := os.read(self.file, 1 << 16)):
            self.data += more.replace(b"\r\n", b"\n")  # as a terminal has it

    def lines(self):
        self.join(SOON)
        return self.data.lstrip(b"\n").decode().splitlines(keepends=True)


@pytest.mark.parametrize("ends", ["pipe", "socket", "terminal"], indirect=True)
def test_a_stuck_reader_costs_lines_and_never_time(ends):
    reads, writes = ends
    writer = noted(writes)
    added = fill(writer)
    assert not writer.flush(0)
    if os.isatty(writes):
        termios.tcflow(writes, termios.TCOON)  # Ctrl-Q
    reader = Reader(reads)
    assert writer.flush(SOON)
    writer.add("the end\n")
    lines = reader.lines()
    assert lines[: added - 1] == [line(number) for number in range(added - 1)]
    assert lines[added - 1 :] == ["1 lost\n", "the end\n"]


def test_lines_are_whole_and_in_order_and_none_is_lost_while_somebody_reads(ends):
    reads, writes = ends
    reader, writer = Reader(reads), noted(writes)
    expected = [line(number) * (1 + number % 40) for number in range(100)]
    for text in expected:
        assert writer.flush(SOON)
        writer.add(text)
    writer.add("the end\n")
    assert "".join(reader.lines()) == "".join([*expected, "the end\n"])
    assert writer.lines_lost == 0


def test_lines_of_several_writers_to_one_pipe_are_not_mixed(ends):
    reads, writes = ends
    reader, writers = Reader(reads), [noted(writes), noted(writes)]
    for writer in writers:
        writer.add("".join(line(number) for number in range(200)))
    for writer in writers:
        assert writer.flush(SOON)
    writers[0].add("the end\n")
    assert sorted(reader.lines()) == sorted([line(number) for number in range(200)] * 2 + ["the end\n"])


def test_while_the_queue_is_more_than_half_full_all_further_lines_are_dropped_together(ends):
    reads, writes = ends
    writer = noted(writes)
    fill(writer)
    for _ in range(10):
        writer.add("short\n")  # would fit, but the notice stands where the gap is
    assert writer.lines_lost == 11
    reader = Reader(reads)
    assert writer.flush(SOON)
    writer.add("the end\n")
    assert reader.lines()[-2:] == ["11 lost\n", "the end\n"]


def test_the_mode_of_the_descriptor_stays_as_it_was_and_either_works(ends):
    reads, writes = ends
    os.set_blocking(writes, False)
    writer = noted(writes)
    added = fill(writer)
    reader = Reader(reads)
    assert writer.flush(SOON)
    writer.add("the end\n")
    assert reader.lines()[: added - 1] == [line(number) for number in range(added - 1)]
    assert os.get_blocking(writes) is False


def test_without_a_reader_lines_are_counted_as_lost(ends):
    reads, writes = ends
    other, _ = os.pipe()
    os.dup2(other, reads)  # closes the end that was read from
    writer = noted(writes)
    for number in range(3):
        writer.add(line(number) * 2)
    assert writer.flush(SOON)
    assert writer.lines_lost == 6


def test_after_a_line_that_was_cut_off_the_next_begins_on_its_own(tmp_path, monkeypatch):
    real, room = os.write, [200]

    def small(file, data):
        """A disk with room for some bytes."""
        if not room[0]:
            raise OSError(28, "No space left on device")
        count = real(file, data[: room[0]])
        room[0] -= count
        return count

    path = tmp_path / "log"
    with path.open("wb") as file:
        monkeypatch.setattr(line_writer.os, "write", small)
        writer = noted(file.fileno())
        writer.add(line(1))
        assert writer.flush(SOON)
        room[0] = 1 << 20
        writer.add("two\n")
        assert writer.flush(SOON)
    assert re.fullmatch(r"1 x+\n1 lost\ntwo\n", path.read_text())
    assert writer.lines_lost == 1
