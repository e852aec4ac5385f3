"""Addresses: what can be read, what is local, and what is cleared away for a new Unix socket."""

import os
import socket
import stat

import pytest

from plyd.servers.access import port_holder
from plyd.servers.access.addresses import Address, BadAddress, clear_path, parse_address, refuse_if_taken, reserved
from tests.ports import free_ports


@pytest.mark.parametrize(
    ("text", "address", "is_local"),
    [
        ("127.0.0.1:0", Address("127.0.0.1", 0), True),
        ("127.0.0.1:25840", Address("127.0.0.1", 25840), True),
        ("127.9.9.9:1", Address("127.9.9.9", 1), True),
        ("localhost:65535", Address("localhost", 65535), True),
        ("[::1]:80", Address("::1", 80), True),
        ("0.0.0.0:80", Address("0.0.0.0", 80), False),
        ("[::]:80", Address("::", 80), False),
        ("192.168.1.5:80", Address("192.168.1.5", 80), False),
        ("engine.example.org:443", Address("engine.example.org", 443), False),
        ("localhost.example.org:443", Address("localhost.example.org", 443), False),
        ("unix:/tmp/plyd.sock", Address(path="/tmp/plyd.sock"), True),
        ("unix:here.sock", Address(path="here.sock"), True),
        ("unix:" + "x" * 107, Address(path="x" * 107), True),
    ],
)
def test_an_address_is_read_and_written_the_same(text, address, is_local):
    assert parse_address(text) == address
    assert str(address) == text
    assert address.is_local is is_local


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", '"" is not an address'),
        ("localhost", '"localhost" is not an address'),
        ("/tmp/socket", '"/tmp/socket" is not an address'),
        (":80", '":80" is not an address'),
        ("[]:80", '"\\[\\]:80" is not an address'),
        ("localhost:", '"localhost:" is not an address; an address is HOST:PORT'),
        ("localhost:http", '"localhost:http" is not an address'),
        ("localhost:65536", "port 0 to 65535"),
        ("localhost:-1", "is not an address"),
        ("localhost:+1", "is not an address"),
        ("localhost: 1", "is not an address"),
        ("localhost:1\n", "is not an address"),
        ("localhost:٣", "is not an address"),
        ("localhost:²", "is not an address"),
        ("localhost:1e3", "is not an address"),
        ("localhost:" + "9" * 5000, "is not an address"),
        ("::1:80", '"::1:80" is not an address; .* \\[IPV6\\]:PORT'),
        ("[::1:80", "is not an address"),
        ("::1]:80", "is not an address"),
        ("[localhost]:80", "is not an address"),
        ("http://localhost:80", "is not an address"),
        ("unix:", "'unix:' has no valid path"),
        ("unix:" + "x" * 108, "is too long; the path of a Unix socket has at most 107 bytes"),
        ("unix:" + "é" * 54, "is too long"),
    ],
)
def test_a_bad_address_says_what_is_wrong(text, complaint):
    with pytest.raises(BadAddress, match=complaint):
        parse_address(text)


# --- Making way for a socket ------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to stand in, since a socket's path must be short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_there_is_fine(folder):
    clear_path("socket")
    clear_path(f"{folder}/socket")
    assert list(folder.iterdir()) == []


def test_a_socket_that_nobody_answers_on_is_removed(folder):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind("socket")
    assert stat.S_ISSOCK(os.stat("socket").st_mode)
    clear_path("socket")
    assert list(folder.iterdir()) == []


def test_a_socket_that_somebody_answers_on_is_left_alone(folder):
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind("socket")
        alive.listen()
        with pytest.raises(BadAddress, match=r'^another daemon listens on "unix:socket"$'):
            clear_path("socket")
        assert stat.S_ISSOCK(os.stat("socket").st_mode)


def test_anything_else_is_left_alone(folder):
    (folder / "file").write_text("precious")
    (folder / "folder").mkdir()
    for name in ("file", "folder"):
        with pytest.raises(BadAddress, match=f'^"{name}" exists and is not a socket$'):
            clear_path(name)
    assert (folder / "file").read_text() == "precious"


def test_a_folder_that_is_not_there_is_told(folder):
    with pytest.raises(BadAddress, match=r'^folder "no/such" of socket "no/such/socket" does not exist$'):
        clear_path("no/such/socket")


def test_a_path_through_a_file_is_told(folder):
    (folder / "file").write_text("")
    with pytest.raises(BadAddress, match=r'^cannot listen on "unix:file/socket": Not a directory$'):
        clear_path("file/socket")


def test_a_socket_of_another_kind_is_left_alone(folder):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind("socket")
        with pytest.raises(BadAddress, match=r'^cannot listen on "unix:socket": '):
            clear_path("socket")
    assert stat.S_ISSOCK(os.stat("socket").st_mode)


@pytest.mark.parametrize("text", ["unix:a\0b", "unix:\ud800", "[unix]:5", "[localhost]:80", "[]:1"])
def test_a_text_that_could_be_no_place_is_refused(text):
    with pytest.raises(BadAddress):
        parse_address(text)


@pytest.mark.parametrize("host", ["x" * 64, "a..b"])
def test_a_host_that_no_name_server_could_know_is_refused(host):
    with pytest.raises(BadAddress, match="cannot listen on"):
        refuse_if_taken(parse_address(f"{host}:1"))


def test_an_address_is_reserved_once_and_who_comes_second_is_told_who_has_it():
    address = Address("127.0.0.1", free_ports(1))
    for _ in range(2):  # it is free again afterwards
        with reserved(address):
            refuse_if_taken(address)  # nobody listens yet
            complaint = f"cannot listen on {address}: Address already in use by process {os.getpid()} \\("
            with pytest.raises(BadAddress, match=complaint), reserved(address):
                pass


def test_the_process_that_listens_is_named():
    named = rf"by process {os.getpid()} \("
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadAddress, match=named):
        refuse_if_taken(Address(*taken.getsockname()))


def test_a_listener_that_cannot_be_seen_is_not_named(monkeypatch):
    monkeypatch.setattr(port_holder, "_inodes", lambda port: iter(()))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadAddress, match=r"already in use$"):
        refuse_if_taken(Address(*taken.getsockname()))
