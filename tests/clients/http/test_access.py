"""Who may call the bridge: hosts, origins, and how `plyd http` is started."""

import pytest
from click.testing import CliRunner

from plyd.clients.http import cli
from tests.clients.http.bridge import BY_NAME, JSON, Bridge

OTHER = "https://games.example"
PATH = BY_NAME["Describe"].path


@pytest.fixture(scope="module")
def open_bridge(house, shared_sticks):
    """A bridge that pages of another site may call."""
    with Bridge(house, shared_sticks.target, names=["plyd.test"], origins=[OTHER]) as bridge:
        yield bridge


def test_a_name_that_is_not_of_this_machine_is_refused(bridge, open_bridge):
    for host in ("evil.example", "plyd.test"):
        status, _, body = bridge.ask(PATH, b"{}", **JSON | {"Host": host})
        assert status == 403
        assert host.encode() in body
    assert open_bridge.ask(PATH, b"{}", **JSON | {"Host": "plyd.test"})[0] == 200


def test_pages_of_other_sites_are_refused_unless_allowed(bridge, open_bridge):
    for origin in (OTHER, "null", "https://evil.example"):
        assert bridge.ask(PATH, b"{}", **JSON | {"Origin": origin})[0] == 403
        status, headers, _ = open_bridge.ask(PATH, b"{}", **JSON | {"Origin": origin})
        expected = (200, OTHER) if origin == OTHER else (403, None)
        assert (status, headers["access-control-allow-origin"]) == expected


def test_a_browser_that_asks_first_is_told_what_is_allowed(bridge, open_bridge):
    asked = {
        "Origin": OTHER,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,connect-protocol-version,connect-timeout-ms,content-type",
    }
    assert bridge.ask(PATH, None, "OPTIONS", **asked)[0] == 403
    status, headers, _ = open_bridge.ask(PATH, None, "OPTIONS", **asked)
    assert (status, headers["access-control-allow-origin"]) == (200, OTHER)
    for name in asked["Access-Control-Request-Headers"].split(","):
        assert name in headers["access-control-allow-headers"].lower()


@pytest.fixture
def served(monkeypatch):
    """What would be served: `plyd http` stops short of serving."""
    served = []
    monkeypatch.setattr(cli, "serve_app", lambda app, listener, url, *_: (listener.close(), served.append(url)))
    return served


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "nonsense"], '"nonsense" is not an address'),
        (["--listen", "0.0.0.0:0"], "--insecure"),
        (["--origin", "games.example"], "--origin is 'games.example'; allowed is"),
        (["--origin", "https://games.example/"], "allowed is http://HOST"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_explained_in_one_line(served, arguments, words):
    result = CliRunner().invoke(cli.http, arguments)
    [line] = result.output.splitlines()
    assert (result.exit_code, served) == (1, [])
    assert words in line


def test_it_serves_on_loopback(served):
    assert CliRunner().invoke(cli.http, ["--listen", "127.0.0.1:0", "--origin", "null"]).exit_code == 0
    [url] = served
    assert url.startswith("http://127.0.0.1:")
