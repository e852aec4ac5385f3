"""The page of a tournament in a real browser."""

import threading
import urllib.error
import urllib.request

import pytest

from plyd.clients.tournament import page as page_server
from tests.clients.match.conftest import fake  # noqa: F401
from tests.clients.match.fakes import plays
from tests.clients.match.matches import invoke
from tests.patience import SOON, until
from tests.ports import free_ports


def fetched(url, **headers):
    """What a URL answers: the status and the body."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=SOON) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return None, b""


@pytest.fixture
def tournament(connect4, fake, tmp_path, monkeypatch):  # noqa: F811
    """A tournament whose second player waits for `go`, and then plays an illegal move: its page, `go`, its thread."""
    monkeypatch.setattr(page_server, "WATCHED_SECONDS", SOON)  # the page gets the final state, however late it asks
    go = threading.Event()

    def waits(number, context):
        go.wait(SOON)
        return plays("9")(number, context)

    path = tmp_path / "cup.toml"
    players = [("one <b>", connect4), ("two", fake(waits)), ("three", connect4)]
    tables = [f'[[player]]\nname = "{name}"\nat = "{at}"\nnodes = 5' for name, at in players]
    path.write_text("\n".join(['game = "connect4"', 'start = "5x4"', "concurrency = 2", *tables]))
    url = f"http://127.0.0.1:{free_ports(1)}"
    done = []
    thread = threading.Thread(
        target=lambda: done.append(invoke("tournament", path, "--listen", url.removeprefix("http://")))
    )
    thread.start()
    until(lambda: fetched(f"{url}/state")[0] == 200 or done)
    assert not done, done[0].stderr
    yield url, go, thread
    go.set()
    thread.join(SOON)
    assert done[0].exit_code == 0, done[0].stderr


def test_page_shows_standings_and_boards_of_a_tournament(tournament, chromium):
    url, go, thread = tournament
    complaints = []
    page = chromium.new_page()
    page.set_default_timeout(1000 * SOON)
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    board = page.locator("figure", has_text="two").first
    board.wait_for()
    assert board.locator(".grid span").count() == 20
    assert board.locator(".grid span", has_text="x").count() + board.locator(".grid span", has_text="o").count() >= 5
    assert fetched(f"{url}/state", Host="evil.example")[0] == 403
    assert fetched(f"{url}/state", Origin="http://evil.example")[0] == 403
    go.set()
    page.get_by_text("6 of 6 games, finished").wait_for()
    rows = page.locator("#standings tbody tr")
    assert rows.count() == 3
    assert "two" in rows.nth(2).text_content()
    assert page.locator("#cross tbody tr").count() == 3
    assert page.get_by_text("two plays '9'").count() == 4
    assert not complaints  # later on, it finds no server
    thread.join(SOON)  # the page is still open, so it asks again
    page.close()
