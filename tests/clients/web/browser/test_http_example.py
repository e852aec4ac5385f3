"""examples/html/index.html in a real browser: a page of another origin plays a game through `plyd http`."""

import contextlib
import functools
import http.server
import threading
from pathlib import Path

import pytest

from plyd.engines import registry
from tests.clients.http.bridge import Bridge
from tests.patience import SOON
from tests.servers.daemons import House, OpenDaemon

FOLDER = Path(__file__).parents[4] / "examples" / "html"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    """A web server for the page."""
    handler = functools.partial(QuietHandler, directory=FOLDER)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def daemon():
    house = House()
    with OpenDaemon(house, registry.load("connect4")) as daemon:
        yield house, daemon.target
    house.close()


SETTLED = """n => document.querySelectorAll(".x, .o").length >= n
    && /Your move|The end/.test(document.getElementById("status").textContent)
    || document.getElementById("status").textContent.startsWith("The end")"""


def test_a_game_is_played_to_its_end(chromium, site, daemon):
    house, target = daemon
    with Bridge(house, target, origins=[site]) as bridge, contextlib.closing(chromium.new_page()) as page:
        page.set_default_timeout(1000 * SOON)
        page.goto(f"{site}/?bridge=http://{bridge.host}")
        for turn in range(22):
            page.wait_for_function(SETTLED, arg=2 * turn, polling=20)
            if (status := page.get_by_role("status").inner_text()) != "Your move: click a column.":
                break
            free = page.locator("tr:first-child td[class='']")
            (free.first if turn % 2 else free.last).click()  # the edges in turn: no four of ours
        assert status == "The end: player two wins."
