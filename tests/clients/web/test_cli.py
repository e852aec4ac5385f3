"""`plyd web` started wrongly: one line that says what to do, no traceback."""

import socket

import pytest
from click.testing import CliRunner

from plyd.clients.web import cli

FREE = "127.0.0.1:0"


@pytest.fixture
def served(monkeypatch):
    """What would be served: `plyd web` stops short of serving."""
    served = []

    def run(listener, url, targets, names, *, with_stdin):
        listener.close()
        served.append((url, targets, names))

    monkeypatch.setattr(cli, "run", run)
    return served


def web(*arguments):
    return CliRunner().invoke(cli.web, arguments)


def error_of(*arguments):
    """The one line that `plyd web` fails with."""
    result = web(*arguments)
    assert result.exit_code == 1
    assert not isinstance(result.exception, Exception), result.exception  # SystemExit is none
    [line] = result.output.splitlines()
    return line


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ("nonsense", '"nonsense" is not an address; an address is HOST:PORT'),
        ("127.0.0.1:http", 'port "http" in "127.0.0.1:http" is not a number from 0 to 65535'),
        ("::1:80", '"::1:80" is ambiguous'),
        ("0.0.0.0:0", "0.0.0.0:0 can be reached from other machines"),
        ("[::]:0", "[::]:0 can be reached from other machines"),
    ],
)
def test_an_address_that_cannot_be_used_is_explained_in_one_line(served, listen, message):
    assert message in error_of("--listen", listen)
    assert not served


def test_who_listens_beyond_this_machine_learns_how(served):
    line = error_of("--listen", "0.0.0.0:0")
    assert "--insecure" in line
    assert "--name HOST" in line


@pytest.mark.parametrize("host", ["x" * 70, "192.0.2.1"])
def test_a_host_that_is_not_of_this_machine_is_explained_in_one_line(served, host):
    assert f"cannot listen on {host}:0: " in error_of("--listen", f"{host}:0", "--insecure")


def test_a_port_that_is_taken_is_explained_in_one_line(served):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in error_of("--listen", f"127.0.0.1:{port}")


def test_on_all_interfaces_without_a_name_a_warning_says_that_one_is_needed(served):
    result = web("--listen", "0.0.0.0:0", "--insecure")
    assert (result.exit_code, len(served)) == (0, 1)
    assert "add --name HOST" in result.stderr
    named = web("--listen", "0.0.0.0:0", "--insecure", "--name", "plyd.test")
    assert (named.exit_code, named.stderr) == (0, "")
    assert served[-1][2] == ("0.0.0.0", "plyd.test")


def test_without_options_the_daemons_of_plyd_up_are_used(served):
    assert web("--listen", FREE).exit_code == 0
    [(url, targets, names)] = served
    assert url.startswith("http://127.0.0.1:")
    assert targets == tuple(f"127.0.0.1:{port}" for port in range(25840, 25845))
    assert names == ("127.0.0.1",)
