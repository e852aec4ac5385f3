"""The channel to a daemon: what the address and the environment say, and what is refused before anything is sent."""

import hashlib

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.library.channel import Credentials, channel_config, is_local
from plyd.clients.library.errors import InvalidRequest

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
    ("target", "shown", "message"),
    [
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
