"""The channel to a daemon: what the address and the environment say, and what is refused before anything is sent."""

import hashlib
import socket
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import grpc
import pytest
from click.testing import CliRunner

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.clients.library import channel
from plyd.clients.library.channel import (
    Credentials,
    DaemonAddress,
    channel_config,
    find_daemons,
    host_name,
    is_local,
    split_addresses,
)
from plyd.clients.library.connect.embedded import announce_start
from plyd.clients.library.errors import InvalidRequest, Unavailable
from plyd.engines.registry import ENGINES
from tests.servers.certificates import make_authority, make_certificate

NOTHING = Credentials()


def test_a_plain_address_is_not_encrypted_and_shows_nothing():
    config = channel_config("127.0.0.1:25840", NOTHING)
    assert (config.target, config.encryption, config.metadata) == ("127.0.0.1:25840", None, ())


def test_an_encrypted_address():
    config = channel_config("tls:engines.example:443", Credentials(token="t"))
    assert config.target == "engines.example:443"
    assert config.encryption is not None
    assert config.metadata == (("authorization", "Bearer t"),)


def test_what_is_shown_comes_from_the_environment(tmp_path):
    (tmp_path / "t").write_text("secret\n")
    given = {"PLYD_TOKEN_FILE": str(tmp_path / "t"), "PLYD_CA": "a", "PLYD_CERTIFICATE": "b", "PLYD_KEY": "c"}
    assert Credentials.of_environment(given) == Credentials("secret", "a", "b", "c")
    assert Credentials.of_environment(given | {"PLYD_TOKEN": "other"}).token == "other"
    assert Credentials.of_environment({}) == NOTHING


@pytest.mark.parametrize(
    ("target", "local"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("localhost:1", True),
        ("[::1]:1", True),
        ("unix:/s", True),
        ("ipv4:127.0.0.1:1", True),
        ("10.0.0.1:1", False),
        ("engines.example:1", False),
        ("dns:///engines.example:1", False),
    ],
)
def test_addresses_of_this_machine(target, local):
    assert is_local(target) is local


@pytest.mark.parametrize(
    ("target", "addresses"),
    [
        ("127.0.0.1:1", ["127.0.0.1:1"]),
        ("a:1,b:2", ["a:1", "b:2"]),
        ("a:1, b:2", ["a:1", "b:2"]),
        ("[::1]:1,127.0.0.1:2", ["[::1]:1", "127.0.0.1:2"]),
        ("ipv4:10.0.0.1:1,10.0.0.2:1", ["ipv4:10.0.0.1:1", "ipv4:10.0.0.2:1"]),
        ("unix:/a,b", ["unix:/a,b"]),
    ],
)
def test_a_list_of_addresses(target, addresses):
    assert split_addresses(target) == addresses


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("engines.example:1", "engines.example"),
        ("dns:engines.example:1", "engines.example"),
        ("dns:///engines.example:1", "engines.example"),
        ("dns://8.8.8.8/engines.example:1", ""),  # for gRPC alone
        ("localhost:1", ""),
        ("10.0.0.1:1", ""),
        ("ipv4:10.0.0.1:1", ""),
        ("[fe80::1]:1", ""),
        ("ipv6:[fe80::1]:1", ""),
        ("unix:/s", ""),
        ("engines.example", ""),
    ],
)
def test_the_name_to_look_up(address, name):
    assert host_name(address) == name


def places(family, *hosts):
    """What getaddrinfo gives."""
    return [(family, socket.SOCK_STREAM, 6, "", (host, 1)) for host in hosts]


@pytest.mark.parametrize(
    ("found", "daemons"),
    [
        (places(socket.AF_INET, "10.0.0.1"), [("ipv4:10.0.0.1:1", False)]),
        (places(socket.AF_INET, "10.0.0.1", "10.0.0.2"), [("ipv4:10.0.0.1:1", True), ("ipv4:10.0.0.2:1", True)]),
        (places(socket.AF_INET6, "fd::1") + places(socket.AF_INET, "10.0.0.1"), [("ipv6:[fd::1]:1", False)]),
        (places(socket.AF_INET, "10.0.0.1", "10.0.0.1"), [("ipv4:10.0.0.1:1", False)]),
    ],
)
def test_a_name_has_the_daemons_of_its_best_family_checked_if_there_are_several(monkeypatch, found, daemons):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    addresses = find_daemons(channel_config("dns:///engines.example:1", NOTHING))
    assert [(each.target, each.health_checked) for each in addresses] == daemons
    assert {each.authority for each in addresses} == {"engines.example:1"}


def test_a_name_that_is_not_found_is_left_to_grpc(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=socket.gaierror))
    assert find_daemons(channel_config("engines.example:1", NOTHING)) == (DaemonAddress("engines.example:1"),)


@pytest.mark.parametrize(
    ("target", "shown", "message"),
    [
        ("127.0.0.1:1,10.0.0.1:1", Credentials(token="t"), 'a token would go to "127.0.0.1:1,10.0.0.1:1" unencrypted'),
        ("10.0.0.1:1", Credentials(token="t"), 'a token would go to "10.0.0.1:1" unencrypted; is the address "tls:10'),
        ("tls:a:1", Credentials(ca="/none"), 'cannot read PLYD_CA "/none": No such file'),
        ("tls:a:1", Credentials(certificate="/none"), "a certificate and its key go together"),
        ("127.0.0.1:1", Credentials(token="a b"), "the token contains invalid characters"),
        ("127.0.0.1:1", Credentials(token="a\nb"), "the token contains invalid characters"),
    ],
)
def test_refused_before_anything_is_sent(target, shown, message):
    with pytest.raises(InvalidRequest) as caught:
        channel_config(target, shown)
    assert message in str(caught.value)


@pytest.mark.parametrize("command", [["solve"], ["health"], ["play", "2584"], ["play", "gomoku"], ["arena"]])
def test_a_command_tells_in_one_line(command):
    address = ["127.0.0.1:1"] if command == ["health"] else ["--connect", "127.0.0.1:1"]
    done = CliRunner().invoke(main, [*command, *address], env={"PLYD_TOKEN_FILE": "/none"}, input="")
    assert done.exit_code == 1
    assert 'cannot read PLYD_TOKEN_FILE "/none": No such file or directory' in done.stderr
    assert "Traceback" not in done.stderr


def test_a_token_and_the_lines_for_its_daemon():
    done = CliRunner().invoke(main, ["token", "gui"])
    token = done.stdout.strip()
    assert len(token) == 43
    assert f'name = "gui"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"' in done.stderr


def test_a_token_for_a_name_that_no_client_has():
    done = CliRunner().invoke(main, ["token", "a b"])
    assert done.exit_code == 1
    assert "name is 'a b'; allowed is 1 to 64 of" in done.stderr


# Where `plyd up` serves


def test_addresses_of_up_are_those_of_the_registry():
    assert list(channel.UP_ADDRESSES) == list(ENGINES)
    assert list(channel.UP_ADDRESSES.values()) == [f"127.0.0.1:{25840 + i}" for i in range(len(ENGINES))]


def test_the_start_of_a_large_engine_is_announced_with_the_running_daemon(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setitem(channel.UP_ADDRESSES, "2584", address)
        announce_start("2584")
        assert capsys.readouterr().err == (
            "starting a private 2584 engine (2.4 GB of weights, up to 30 s); "
            f"--connect {address} uses the daemon that is running\n"
        )
    announce_start("2584")
    assert capsys.readouterr().err == "starting a private 2584 engine (2.4 GB of weights, up to 30 s)\n"
    announce_start("gomoku")
    assert capsys.readouterr().err == ""


# Hints at TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A folder with an authority, a certificate of it, and another authority."""
    folder = tmp_path_factory.mktemp("certificates")
    make_authority(folder)
    make_authority(folder, "other")
    make_certificate(folder, "server", "localhost")
    return folder


@pytest.fixture(scope="module")
def tls_servers(certificates):
    """Addresses of a server with TLS, of one that requires a client certificate, and of one without TLS."""
    pair = (certificates / "server.key").read_bytes(), (certificates / "server.pem").read_bytes()
    authority = (certificates / "ca.pem").read_bytes()
    servers = [grpc.server(ThreadPoolExecutor(1)) for _ in range(3)]
    ports = [
        servers[0].add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair])),
        servers[1].add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair], authority, True)),
        servers[2].add_insecure_port("127.0.0.1:0"),
    ]
    for server in servers:
        server.start()
    yield {name: f"127.0.0.1:{port}" for name, port in zip(("tls", "mutual", "plain"), ports, strict=True)}
    for server in servers:
        server.stop(None)


@pytest.mark.parametrize(
    ("server", "prefix", "ca", "hint"),
    [
        ("tls", "tls:", "", "; PLYD_CA names a file of certificate authorities to trust"),
        ("tls", "tls:", "other.pem", "; PLYD_CA names a file of certificate authorities to trust"),
        ("tls", "", "", "; if the daemon uses TLS, its address is tls:{address}"),
        ("plain", "tls:", "", "; if the daemon does not use TLS, its address is {address}"),
        (
            "mutual",
            "tls:",
            "ca.pem",
            "; if the daemon wants a client certificate, set PLYD_CERTIFICATE and PLYD_KEY",
        ),
    ],
)
def test_a_connection_that_fails_because_of_tls_says_what_to_try(tls_servers, certificates, server, prefix, ca, hint):
    address = tls_servers[server]
    credentials = Credentials(ca=str(certificates / ca) if ca else "")
    with (
        EngineClient(prefix + address, retry_seconds=0, credentials=credentials) as client,
        pytest.raises(Unavailable) as caught,
    ):
        client.describe()
    assert str(caught.value).endswith(hint.format(address=address))


def test_health_gives_the_hint_too(tls_servers):
    done = CliRunner().invoke(main, ["health", tls_servers["tls"]])
    assert done.exit_code == 1
    assert done.stderr.endswith(f"; if the daemon uses TLS, its address is tls:{tls_servers['tls']}\n")
