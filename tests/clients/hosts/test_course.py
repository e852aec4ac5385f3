"""The course's C interface: legal moves on every board, by the engine if there is one, in time if there is none."""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from random import Random

import pytest

from plyd.clients.library.bridges.line_bridge import MAX_LINE_BYTES
from plyd.clients.library.bridges.line_server import bind
from plyd.clients.library.channel import Endpoint
from plyd.clients.library.client import EngineClient
from plyd.clients.library.connect.locate import ExistingDaemon
from plyd.clients.ugi.listen import UgiServer
from plyd.v1 import position_pb2
from tests.patience import LONG, SOON

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "clients" / "hosts" / "course" / "plyd_course.c"
HOST = Path(__file__).with_name("course_host.c")
FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
MOVE_MS = 20
ME, OPPONENT = 2, 1
pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler, cc")


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


class Board:
    """A board as the course's judge keeps it: row 0 at the top, and top[] stepped over the forbidden cell."""

    def __init__(self, rows, columns, forbidden=(-1, -1)):
        self.rows, self.columns, self.forbidden = rows, columns, forbidden
        self.cells = [0] * (rows * columns)
        self.top = [rows] * columns
        self.last = (-1, -1)
        self.first = None
        for column in range(columns):
            self.step(column)

    def step(self, column):
        if (self.top[column] - 1, column) == self.forbidden:
            self.top[column] -= 1

    def drop(self, who, column):
        self.first = self.first or who
        self.top[column] -= 1
        self.cells[self.top[column] * self.columns + column] = who
        self.last = self.top[column], column
        self.step(column)

    def text(self):
        signs = {0: ".", self.first: "x", 3 - (self.first or 0): "o"}
        cells = [signs[cell] for cell in self.cells]
        if self.forbidden[0] >= 0:
            cells[self.forbidden[0] * self.columns + self.forbidden[1]] = "#"
        return "/".join("".join(cells[i : i + self.columns]) for i in range(0, len(cells), self.columns))


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The library, built as `make course` does."""
    return built(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="session")
def patient_library(tmp_path_factory):
    """The library, but it waits for a daemon of a busy machine."""
    return built(tmp_path_factory.mktemp("course"), f"-DGRACE_MS={1000 * SOON}")


def built(folder, *more):
    path = folder / "libplyd-course.so"
    subprocess.run(["cc", *FLAGS, *more, "-std=c11", "-o", path, SOURCE], check=True)
    return path


@pytest.fixture
def ask(library, tmp_path, monkeypatch):
    """Ask the library, loaded afresh, for its point on a board: (row, column)."""
    return asking(library, tmp_path, monkeypatch)


@pytest.fixture
def ask_long(patient_library, tmp_path, monkeypatch):
    """The same with the patient one."""
    return asking(patient_library, tmp_path, monkeypatch)


def asking(library, tmp_path, monkeypatch):
    functions = ctypes.CDLL(shutil.copy(library, tmp_path))
    functions.getPoint.restype = ctypes.POINTER(Point)
    functions.clearPoint.argtypes = [ctypes.POINTER(Point)]
    monkeypatch.setenv("PLYD_MOVE_MS", str(MOVE_MS))

    def ask(board):
        top = (ctypes.c_int * board.columns)(*board.top)
        cells = (ctypes.c_int * len(board.cells))(*board.cells)
        found = functions.getPoint(board.rows, board.columns, top, cells, *board.last, *board.forbidden)
        point = found.contents.x, found.contents.y
        functions.clearPoint(found)
        return point

    return ask


@pytest.fixture
def told(capfd):
    """What was told on stderr since the last time, without the end that every complaint has."""
    return lambda: capfd.readouterr().err.replace("; playing without the engine\n", "")


@pytest.fixture
def serving(monkeypatch):
    """Let a function answer connections, one after another, at the address that the library uses."""
    with contextlib.ExitStack() as stack:

        def serve(answer):
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            stack.callback(server.shutdown, socket.SHUT_RDWR)

            def run():
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = server.accept()
                        with connection, contextlib.suppress(OSError):
                            answer(connection)

            threading.Thread(target=run, daemon=True).start()
            address = f"127.0.0.1:{server.getsockname()[1]}"
            monkeypatch.setenv("PLYD_COURSE", address)
            return address

        yield serve


def bridge_to(house, address):
    """A bridge to the daemon at an address, within this process; its own address, until the generator goes on."""
    server = UgiServer(ExistingDaemon(address), "connect4", {})

    async def start():
        listening, bound = await bind(Endpoint("127.0.0.1", 0), server.serve, MAX_LINE_BYTES)
        await listening.start_serving()
        return listening, str(bound)

    async def stop():
        listening.close()
        await server.close()

    listening, bound = house.begin(start()).result(SOON)
    yield bound
    house.begin(stop()).result(SOON)


@pytest.fixture(scope="session")
def bridge(house, connect4):
    yield from bridge_to(house, connect4)


# With a daemon

BOARDS = [(9, 9, (0, 0)), (10, 12, (9, 11)), (11, 9, (10, 0)), (12, 12, (0, 11)), (12, 10, (6, 4)), (6, 7, (-1, -1))]


@pytest.mark.parametrize(("rows", "columns", "forbidden"), BOARDS)
@pytest.mark.parametrize("begins", [True, False])
def test_every_move_is_legal_to_the_daemon(
    ask_long, told, bridge, connect4, monkeypatch, rows, columns, forbidden, begins
):
    monkeypatch.setenv("PLYD_COURSE", bridge)
    board, random, is_mine = Board(rows, columns, forbidden), Random(rows * columns + begins), begins
    with EngineClient(connect4, "connect4") as client:
        while (state := client.inspect(board.text())).outcome == position_pb2.OUTCOME_ONGOING:
            legal = {move.cell for move in state.legal_moves}
            assert legal == {(top - 1) * columns + column for column, top in enumerate(board.top) if top}
            if is_mine:
                row, column = ask_long(board)
                assert row * columns + column in legal
            else:
                column = random.choice([column for column in range(columns) if board.top[column]])
            board.drop(ME if is_mine else OPPONENT, column)
            is_mine = not is_mine
    assert told() == ""


def test_the_engine_and_not_the_fallback_answers(ask_long, bridge, connect4, monkeypatch):
    monkeypatch.setenv("PLYD_COURSE", bridge)
    board = Board(9, 9)
    for _ in range(3):
        board.drop(ME, 0)
        board.drop(OPPONENT, 8)
    with EngineClient(connect4, "connect4") as client:
        assert client.search(board.text(), seconds=0.05).move == "1"
    assert ask_long(board) == (5, 0)


def test_a_host_in_c_plays_a_game(patient_library, bridge, tmp_path):
    host = tmp_path / "host"
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", host, HOST, "-ldl"], check=True)
    variables = os.environ | {"PLYD_COURSE": bridge, "PLYD_MOVE_MS": "5"}
    command = list(map(str, [host, patient_library, 9, 10, 8, 9]))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SOON)
    assert (done.returncode, done.stderr) == (0, "")
    moves = [tuple(map(int, line.split(","))) for line in done.stdout.splitlines()]
    assert 7 <= len(moves) <= 89
    assert (8, 9) not in moves


def test_it_is_c_plus_plus_too(tmp_path):
    if not shutil.which("c++"):
        pytest.skip("there is no C++ compiler, c++")
    subprocess.run(["c++", *FLAGS, "-x", "c++", "-o", tmp_path / "course.so", SOURCE], check=True)
    assert ctypes.CDLL(str(tmp_path / "course.so")).getPoint


def test_make_builds_it():
    text = (ROOT / "Makefile").read_text()
    assert f"$(CC) {' '.join(FLAGS)} -std=c11 -o $@ $<" in text


def test_an_answer_that_comes_byte_by_byte(ask_long, told, bridge, serving):
    host, _, port = bridge.partition(":")

    def trickle(connection):
        with socket.create_connection((host, int(port))) as upstream:

            def forward():
                with contextlib.suppress(OSError):
                    while data := connection.recv(4096):
                        upstream.sendall(data)

            threading.Thread(target=forward, daemon=True).start()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := upstream.recv(4096):
                for byte in data:
                    connection.send(bytes([byte]))

    serving(trickle)
    assert ask_long(Board(9, 9))[0] == 8
    assert told() == ""


# Without one


@pytest.mark.parametrize(("rows", "columns", "forbidden"), [*BOARDS, (20, 20, (19, 10)), (1, 3, (0, 1))])
def test_without_a_daemon_moves_are_legal(ask, told, nowhere, monkeypatch, rows, columns, forbidden):
    monkeypatch.setenv("PLYD_COURSE", nowhere)
    board, who = Board(rows, columns, forbidden), ME
    while any(board.top):
        row, column = ask(board)
        assert 0 <= row == board.top[column] - 1
        assert (row, column) != forbidden
        board.drop(who, column)
        who = 3 - who
    assert ask(board) == (-1, -1)
    assert len(told().splitlines()) <= 1


def test_without_a_daemon_it_wins_and_blocks(ask, nowhere, monkeypatch):
    monkeypatch.setenv("PLYD_COURSE", nowhere)
    board = Board(9, 9, (8, 4))
    assert ask(board) == (7, 4)  # nearest to the centre, above the forbidden cell
    for _ in range(3):
        board.drop(OPPONENT, 8)
    assert ask(board) == (5, 8)
    for column in (0, 1, 3):
        board.drop(ME, column)
    assert ask(board) == (8, 2)


def test_the_reason_is_told_once(ask, told, nowhere, monkeypatch):
    monkeypatch.setenv("PLYD_COURSE", nowhere)
    for _ in range(3):
        ask(Board(10, 10))
    assert told() == f"plyd-course: {nowhere}: Connection refused"


def test_a_daemon_that_hangs_does_not_make_us_late(ask, told, serving):
    address = serving(lambda connection: time.sleep(LONG))
    began = time.monotonic()
    assert ask(Board(9, 9)) == (8, 4)
    assert MOVE_MS / 1000 < time.monotonic() - began < SOON
    assert told() == f"plyd-course: {address}: no answer in time"


def test_a_daemon_that_trickles_forever_does_not_make_us_late(ask, told, serving):
    def trickle(connection):
        while True:
            connection.sendall(b"info depth 1\n")
            time.sleep(0.01)

    address, began = serving(trickle), time.monotonic()
    assert ask(Board(9, 9)) == (8, 4)
    assert MOVE_MS / 1000 < time.monotonic() - began < SOON
    assert told() == f"plyd-course: {address}: no answer in time"


ANSWERS = [  # what a server sends, and what is told of it
    (b"", "the connection was closed"),
    (b"bestmove 5", "the connection was closed"),  # not a whole line
    (b"bestmove 0000\n", "refused: no move"),
    (b"info string error: so so\nbestmove 0000\n", "refused: so so"),
    (b"info string error: " + b"x" * 9000 + b"\nbestmove 0000\n", f"refused: {'x' * 200}"),
    (b"bestmove 10\n", 'the bridge answers "10", which is no column with room'),
    (b"bestmove x\n", 'the bridge answers "x", which is no column with room'),
    (b"bestmove \n", 'the bridge answers "", which is no column with room'),
    (b"bestmove " + b"9" * 9000 + b"\n", f'the bridge answers "{"9" * 200}", which is no column with room'),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the connection was closed"),
]


@pytest.mark.parametrize(("answer", "message"), ANSWERS)
def test_a_server_that_answers_badly(ask, told, serving, answer, message):
    def send(connection):
        connection.recv(4096)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass

    address = serving(send)
    assert ask(Board(9, 9)) == (8, 4)
    assert told() == f"plyd-course: {address}: {message}"


GOOD = [
    b"bestmove 5\n",
    b"info depth 3 pv 5 5\nbestmove 5\nbestmove 6\n",
    b"info pv " + b" 5" * 9000 + b"\nbestmove 5\n",
]


@pytest.mark.parametrize("answer", GOOD)
def test_an_answer_is_an_answer_however_it_comes(ask_long, told, serving, answer):
    def send(connection):
        connection.recv(4096)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass

    serving(send)
    board = Board(9, 9)
    board.drop(OPPONENT, 4)
    assert ask_long(board) == (7, 4)
    assert told() == ""


def test_a_game_is_one_connection_so_that_the_engine_keeps_its_tree(ask_long, told, serving):
    games = []

    def play(connection):
        games.append([])
        with connection.makefile("rw") as lines:
            for line in lines:
                games[-1].append(line.strip())
                if line.startswith("go"):
                    lines.write("bestmove 5\n")
                    lines.flush()

    serving(play)
    board = Board(9, 9)
    board.drop(OPPONENT, 0)
    start = board.text()
    for reply in (1, 2):
        board.drop(ME, ask_long(board)[1])
        board.drop(OPPONENT, reply)
    ask_long(board)
    ask_long(Board(9, 10))
    assert told() == ""
    assert [[line for line in game if line.startswith("position")] for game in games] == [
        [f"position fen {start}", f"position fen {start} moves 5 2", f"position fen {start} moves 5 2 5 3"],
        ["position fen " + "/".join(["." * 10] * 9)],
    ]


def test_a_bridge_that_was_restarted_goes_on_with_the_game(ask_long, told, serving, monkeypatch):
    monkeypatch.setenv("PLYD_MOVE_MS", str(1000 * LONG))

    def answer_once(connection):
        connection.recv(4096)
        connection.sendall(b"bestmove 5\n")

    serving(answer_once)
    board = Board(9, 9)
    board.drop(ME, ask_long(board)[1])
    board.drop(OPPONENT, 0)
    assert ask_long(board) == (7, 4)
    assert told() == ""


def test_a_daemon_of_another_game_says_so(ask_long, told, house, daemon, monkeypatch):
    for address in bridge_to(house, daemon):
        monkeypatch.setenv("PLYD_COURSE", address)
        assert ask_long(Board(9, 9)) == (8, 4)
        assert told().startswith(f"plyd-course: {address}: refused: ")
        ask_long(Board(9, 9))
        assert told() == ""


@pytest.mark.parametrize("address", ["nonsense", ":1", "127.0.0.1:", "unix:/tmp/x", "x" * 300 + ":"])
def test_an_address_that_is_none(ask, told, monkeypatch, address):
    monkeypatch.setenv("PLYD_COURSE", address)
    assert ask(Board(9, 9)) == (8, 4)
    assert told() == f"plyd-course: {address[:200]}: the address is no HOST:PORT"


def test_a_move_time_that_is_none(ask, told, nowhere, monkeypatch):
    monkeypatch.setenv("PLYD_COURSE", nowhere)
    monkeypatch.setenv("PLYD_MOVE_MS", "soon")
    for _ in range(2):
        assert ask(Board(9, 9)) == (8, 4)
    assert told().count('plyd-course: PLYD_MOVE_MS is "soon", not 1 to 3600000; 2700 is taken\n') == 1
