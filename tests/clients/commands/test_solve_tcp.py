"""`plyd solve --listen`: lines over real sockets, by clients that behave well, badly, or vanish."""

import asyncio
import contextlib
import math
import signal
import socket
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.clients.commands import solve_tcp
from plyd.clients.commands.solve import LONGEST_LINE, LineBuffer
from plyd.clients.commands.solve_tcp import (
    MAX_LOG_LINES,
    MOST_CONNECTIONS,
    READ_BYTES,
    RateLimitedLog,
    SolveClient,
    SolveServer,
)
from plyd.clients.library.bridges.line_server import bind
from plyd.clients.library.channel import Endpoint, parse_endpoint
from plyd.clients.library.connect.locate import ExistingDaemon
from plyd.clients.library.errors import BadEndpoint
from tests.clients.library.relay import Relay
from tests.patience import SOON, until

QUERY, ANSWER = b"b 2 2 0 0 0 0\n", b"= 1422.339261\n"


class Server:
    """A running `plyd solve --listen`, and its log."""

    def __init__(self, plyd, log, *options, listen="127.0.0.1:0"):
        self.log = log
        with log.open("wb") as stderr:
            command = [*plyd, "solve", "--listen", listen, *options]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)
        self.line = self.process.stdout.readline().decode()

    @property
    def address(self):
        host, _, port = self.line.split()[-1].rpartition(":")
        return host.strip("[]"), int(port)

    def connect(self):
        return Peer(socket.create_connection(self.address, SOON))

    def told(self):
        return self.log.read_text().splitlines()

    def megabytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(SOON)


class Peer:
    """Our end of a connection."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()
        self.socket.close()

    def ask(self, line):
        self.socket.sendall(line)
        return self.file.readline()

    def finish(self, data=b""):
        """Send the rest, say that nothing more comes, and read to the end."""
        self.socket.sendall(data)
        self.socket.shutdown(socket.SHUT_WR)
        return self.file.read()

    def vanish(self):
        """Reset the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.__exit__()


@pytest.fixture(scope="module")
def begin(plyd, tmp_path_factory):
    """Start a server; whatever still runs at the end is killed."""
    started = []

    def begin(*options, **settings):
        log = tmp_path_factory.mktemp("listen") / "stderr"
        started.append(Server(plyd, log, *options, **settings))
        return started[-1]

    yield begin
    for server in started:
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()


@pytest.fixture(scope="module")
def server(begin, daemon):
    """A server for the whole module; leave it as you found it."""
    return begin("--connect", daemon)


# Queries and answers


def test_every_line_is_answered_at_once(server, examples):
    with server.connect() as peer:
        for query, value in examples.items():
            assert peer.ask(f"{query}\n".encode()) == f"= {value}\n".encode()
            assert peer.ask(f"{query}\r\n".encode()) == f"= {value}\n".encode()


def test_half_closed_connection_is_answered_to_the_end_and_closed(server, daemon, boards):
    with EngineClient(daemon) as client:
        values = client.evaluate(boards).values
    with server.connect() as peer, ThreadPoolExecutor() as pool:
        sending = pool.submit(peer.socket.sendall, "\n".join(boards).encode())  # the last one without a newline
        answers = [peer.file.readline() for _ in range(len(boards) - 1)]
        sending.result()
        answers.append(peer.finish())
    assert answers == [b"= -1\n" if math.isnan(v) else f"= {v:.10g}\n".encode() for v in values]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n \t\n\n"])
def test_connection_without_a_query(server, data):
    with server.connect() as peer:
        assert peer.finish(data) == b""


def test_line_that_comes_in_pieces(server):
    with server.connect() as peer:
        for piece in (b"b 2", b" 2 0 0", b" 0 0\nb 7 12"):
            peer.socket.sendall(piece)
            time.sleep(0.02)
        assert peer.file.readline() == ANSWER
        assert peer.ask(b" 4 10 4 2\n") == b"= 0\n"


def test_many_clients_at_once_get_their_own_answers(server, examples):
    queries = list(examples.items())

    def talk(number):
        with server.connect() as peer:
            for query, value in queries[number % 9 :] + queries:
                assert peer.ask(f"{query}\n".encode()) == f"= {value}\n".encode()

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(talk, range(24)))


def test_moves_and_banner_are_for_each_connection(begin, daemon):
    server = begin("--connect", daemon, "--moves", "--banner")
    for _ in range(2):
        with server.connect() as peer:
            head = f"2584-Solver: plyd solve --listen 127.0.0.1:0 --connect {daemon} --moves --banner"
            answers = peer.finish(QUERY + b"a 0 0 0 0 4 2\nx\n").decode().split("\n")
            assert answers == [
                *[head, "", "solver is initialized.", ""],
                *["= 1422.339261 right", "= 1412.893618", "= -1", ""],
            ]


# Clients that behave badly


def test_malformed_lines_are_told_in_the_log_only(server):
    with server.connect() as peer:
        name = ":".join(map(str, peer.socket.getsockname()))
        assert peer.ask(QUERY + b"\n") == ANSWER
        assert peer.ask(b"c 2 2 0 0 0 0\n") == b"= -1\n"
        told = f'{name}: line 3: unknown letter "c" in "c 2 2 0 0 0 0"; expected b or a and 6 numbers from 0 to 33'
        until(lambda: told in server.told())


def test_log_is_not_flooded(begin, daemon):
    server = begin("--connect", daemon)
    with server.connect() as peer:
        assert peer.finish(b"x\n" * 20_000) == b"= -1\n" * 20_000
    until(lambda: server.told() and server.told()[-1].startswith("... and "))
    lines, rest = server.told()[:-1], [line for line in server.told() if line.startswith("... and ")]
    assert len(lines) <= 5 * MAX_LOG_LINES
    counted = sum(int(line.split()[2]) for line in rest)
    assert counted + len([line for line in server.told() if line not in rest]) == 20_000


def test_line_without_end_fills_no_memory(server):
    before = server.megabytes()
    with server.connect() as peer:
        for _ in range(320):
            peer.socket.sendall(b"7 " * (1 << 15))
        assert peer.ask(b"\n") == b"= -1\n"
        assert peer.ask(QUERY) == ANSWER
    assert server.megabytes() < before + 15  # of 20 MB that were sent


def test_good_query_is_not_found_in_a_line_without_end():
    lines = LineBuffer()
    assert lines.add(QUERY.rstrip() + b" " * LONGEST_LINE) == b""
    assert b"..." in lines.add(b"0\n")


def test_client_who_never_reads_hurts_nobody(server):
    with server.connect() as glutton, server.connect() as peer:
        before = server.megabytes()
        glutton.socket.settimeout(0.5)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 1 << 28:
                sent += glutton.socket.send(QUERY * 5000)
        assert sent < 1 << 28, "it was always read"
        assert peer.ask(QUERY) == ANSWER
        assert server.megabytes() < before + 15


async def cut_off(target, data):
    """Send data to a server in this process, read nothing, and return once it hangs up."""
    log, loop = RateLimitedLog(), asyncio.get_running_loop()
    asker = SolveClient(ExistingDaemon(target), log, moves=False)
    server, bound = await bind(Endpoint("127.0.0.1", 0), SolveServer(asker, log, b"").serve, READ_BYTES)
    await server.start_serving()
    with socket.socket() as peer:
        peer.setblocking(False)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await loop.sock_connect(peer, (bound.host, bound.port))
        async with asyncio.timeout(SOON):
            with contextlib.suppress(ConnectionError):
                while True:
                    await loop.sock_sendall(peer, data)
                    await asyncio.sleep(0.05)
    server.close()
    await asker.close()


def test_client_who_never_reads_is_cut_off_in_the_end(daemon, monkeypatch, capsys):
    monkeypatch.setattr(solve_tcp, "WRITE_SECONDS", 0.2)
    asyncio.run(cut_off(daemon, QUERY * 5000))
    assert capsys.readouterr().err.endswith(": closed: the peer does not read its answers\n")


def test_query_does_not_wait_for_ever(nowhere, monkeypatch, capsys):
    monkeypatch.setattr(solve_tcp, "AWAY_SECONDS", 0.2)
    monkeypatch.setattr(solve_tcp, "TRY_SECONDS", 0.1)
    asyncio.run(cut_off(nowhere, QUERY))
    *waiting, hung_up = capsys.readouterr().err.splitlines()
    assert all(line.startswith(f"queries wait for the daemon: {nowhere} is unavailable: ") for line in waiting)
    assert f": closed: {nowhere} is unavailable: " in hung_up


def test_clients_who_vanish_hurt_nobody(server):
    with server.connect() as peer:
        before = len(server.told())
        for data in (b"", QUERY[:5], QUERY, QUERY * 20_000):
            for _ in range(5):
                gone = server.connect()
                gone.socket.sendall(data)
                gone.vanish()
        assert peer.ask(QUERY) == ANSWER
        assert len(server.told()) == before


def test_number_of_connections_is_limited(begin, daemon):
    server = begin("--connect", daemon)
    before = server.megabytes()
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(server.connect()) for _ in range(MOST_CONNECTIONS)]
        assert peers[-1].ask(QUERY) == ANSWER
        assert server.megabytes() < before + 20
        with server.connect() as one_more, contextlib.suppress(ConnectionResetError):
            assert one_more.file.read() == b""
        assert server.told()[-1].endswith(f"refused: {MOST_CONNECTIONS} connections are open")
        assert peers[0].ask(QUERY) == ANSWER
        assert peers[1].finish() == b""

        def is_served():
            with server.connect() as peer, contextlib.suppress(OSError):
                return peer.ask(QUERY) == ANSWER

        until(is_served)


# Coming and going


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_in_good_order(begin, daemon, number):
    server = begin("--connect", daemon)
    with server.connect() as idle, server.connect() as busy:
        assert idle.ask(QUERY) == ANSWER
        busy.socket.sendall(QUERY * 1000)
        assert busy.file.readline() == ANSWER
        assert server.stop(number) == 0
        assert idle.file.read() == b""
        with contextlib.suppress(ConnectionResetError):
            assert set(busy.file) <= {ANSWER}
    assert server.told() == []
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_signal_while_the_private_daemon_starts(plyd):
    command = [*plyd, "solve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(0.7)
        process.terminate()
        assert process.wait(SOON) in (0, -signal.SIGTERM)  # the second if Python itself was not up yet
        assert process.stderr.read() == b""


def test_daemon_lost_and_back(begin, daemon):
    with Relay(daemon) as relay:
        server = begin("--connect", relay.address)
        with server.connect() as peer, server.connect() as other:
            assert peer.ask(QUERY) == ANSWER
            relay.cut()
            other.socket.sendall(QUERY)
            peer.socket.sendall(QUERY + b"b 7 12 4 10 4 2\n")
            until(server.told)  # one attempt has failed
            relay.restore()
            assert peer.finish() == ANSWER + b"= 0\n", "\n".join(server.told())
            assert other.finish() == ANSWER
        [told] = server.told()
        assert told.startswith(f"queries wait for the daemon: {relay.address} is unavailable: ")
        assert server.stop() == 0


def test_private_daemon_that_dies_is_started_again(begin):
    server = begin()
    with server.connect() as peer:
        assert peer.ask(QUERY) == ANSWER
        [child] = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split() or [None]
        subprocess.run(["kill", "-9", child], check=True)
        assert peer.ask(QUERY) == ANSWER
    assert server.stop() == 0


def refused(listen, *options):
    """The one line with which the command refuses to start."""
    done = CliRunner().invoke(main, ["solve", "--listen", listen, *options])
    assert (done.exit_code, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    return line


def test_nobody_to_connect_to(nowhere, monkeypatch):
    monkeypatch.setattr(solve_tcp, "FIRST_SECONDS", 0.1)
    assert refused("127.0.0.1:0", "--connect", nowhere).startswith(f"Error: {nowhere} is unavailable: ")


def test_port_that_is_taken(server, daemon):
    address = server.line.split()[-1]
    line = f"Error: cannot listen on {address}: Address already in use"
    assert refused(address, "--connect", daemon) == line


# Where it listens


def test_addresses_of_this_machine():
    assert parse_endpoint("127.0.0.1:0") == Endpoint("127.0.0.1", 0)
    assert parse_endpoint("localhost:2584") == Endpoint("127.0.0.1", 2584)
    assert str(parse_endpoint("[::1]:65535")) == "[::1]:65535"
    assert parse_endpoint("0.0.0.0:80", insecure=True) == Endpoint("0.0.0.0", 80)
    assert parse_endpoint("somewhere.example:80", insecure=True) == Endpoint("somewhere.example", 80)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '"" is not an address; an address is HOST:PORT'),
        ("2584", '"2584" is not an address'),
        (":2584", '":2584" is not an address'),
        ("127.0.0.1:", 'port "" in "127.0.0.1:" is not a number from 0 to 65535'),
        ("127.0.0.1:65536", 'port "65536" in'),
        ("127.0.0.1:-1", 'port "-1" in'),
        ("127.0.0.1:1e3", 'port "1e3" in'),
        ("::1:80", '"::1:80" is ambiguous'),
        ("0.0.0.0:80", "0.0.0.0:80 can be reached from other machines, unencrypted; --insecure allows it"),
        ("[::]:80", r"\[::\]:80 can be reached from other machines"),
        ("somewhere.example:80", "somewhere.example:80 can be reached"),
        ("unix:/tmp/x", 'port "/tmp/x" in'),
    ],
)
def test_addresses_that_are_refused(text, message):
    with pytest.raises(BadEndpoint, match=f"^{message}"):
        parse_endpoint(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "0.0.0.0:0"], "Error: 0.0.0.0:0 can be reached from other machines, unencrypted"),
        (["--insecure"], "Error: --insecure goes with --listen"),
        (["--listen", "127.0.0.1:0", "--strict"], "Error: --strict and --listen exclude each other"),
    ],
)
def test_wrong_usage(nowhere, options, message):
    done = CliRunner().invoke(main, ["solve", "--connect", nowhere, *options])
    assert done.exit_code in (1, 2)
    assert message in done.stderr


def test_name_that_nobody_has(daemon):
    line = refused("host.invalid:0", "--connect", daemon, "--insecure")
    assert line.startswith("Error: cannot listen on host.invalid:0: ")


def test_beyond_this_machine_if_told_so(begin, daemon):
    server = begin("--connect", daemon, "--insecure", listen="0.0.0.0:0")
    assert server.line.startswith("listening on 0.0.0.0:")
    with server.connect() as peer:
        assert peer.ask(QUERY) == ANSWER
