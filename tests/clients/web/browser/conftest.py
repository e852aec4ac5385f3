"""A real browser on a real page: one `plyd up` for all tests, one Chromium a file, a fresh profile for each test."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest

from tests.patience import LONG, SOON
from tests.ports import free_ports
from tests.test_up import PORTS

GAMES = {
    "2584-2x3": "2584 on 2x3",
    "2584": "2584 on 4x4",
    "2048": "2048",
    "connect4": "Connect Four",
    "gomoku": "Gomoku",
}
CONTEXT = {"viewport": {"width": 1280, "height": 900}, "service_workers": "block"}  # test_install.py has the worker
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def up(tmp_path_factory):
    """`plyd up`: every engine and the page."""
    up = PlydUp(tmp_path_factory.mktemp("up") / "log")
    yield up
    up.process.terminate()
    up.process.wait(SOON)
    up.process.stdout.close()


class PlydUp:
    """A `plyd up` for the tests: the page's address, and the process of each daemon."""

    def __init__(self, log):
        port = free_ports(PORTS)
        command = [sys.executable, "-m", "plyd.clients", "up", "--base-port", str(port)]
        with log.open("wb") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.pids, self.url, self._log = {}, f"http://127.0.0.1:{port + 10}", log
        while len(self.pids) < len(GAMES) + 1:
            self.wait_for_next()

    def wait_for_next(self):
        """Wait for the next process that is ready: a line NAME ADDRESS PID."""
        guard = threading.Timer(LONG, self.process.kill)  # then there is no further line
        guard.start()
        line = self.process.stdout.readline()
        guard.cancel()
        assert line, self._log.read_text()
        if match := re.fullmatch(r"(\S+)\s+\S+\s+(\d+)\s*", line):
            self.pids[match[1]] = int(match[2])

    def kill(self, name):
        """Kill a process."""
        os.kill(self.pids.pop(name), signal.SIGKILL)

    def wait_for(self, name):
        """Wait until a process that was killed is ready again."""
        while name not in self.pids:
            self.wait_for_next()


@pytest.fixture(scope="module")
def chromium():
    """A browser; without one the tests are skipped, except in CI.

    While it is open, Playwright keeps an event loop in this thread. It is closed before other tests start one.
    """
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not path and not os.environ.get("CI"):
        pytest.skip("no browser here; `apt-get install chromium` brings one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(up, chromium):
    """Opens pages, each with its own profile; afterwards, none has logged an error or asked another host."""
    contexts, complaints, strangers = [], [], []

    def visit(game="", link="", context=None, **settings):
        if context is None:
            context = chromium.new_context(**CONTEXT | settings)
            context.set_default_timeout(1000 * SOON)
            contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: strangers.append(request.url) if is_strange(request.url, up) else None)
        page.goto(up.url + "/" + link)
        page.wait_for_selector("#board > *")
        if game:
            choose(page, game)
        return page

    visit.complaints = complaints
    yield visit
    for context in contexts:
        context.close()
    assert not complaints
    assert not strangers


PAGE_STATE = """app && {
    mover: app.game && app.mover(), isBusy: app.isBusy, isPaused: app.isPaused, isThinking: app.isThinking,
    start: app.game?.start, moves: app.game?.moves, ply: app.game?.ply, isOpen: app.socket.isOpen,
    asked: app.socket.lastId, unanswered: [...app.socket.waiting.keys()],
    status: document.getElementById("status").textContent, notice: document.getElementById("notice").textContent,
}"""


def is_strange(url, up):
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(up.url).netloc


def choose(page, game):
    """Open a game by its button."""
    page.get_by_role("navigation").get_by_role("button", name=GAMES[game], exact=True).click()
    page.wait_for_function("game => window.plyd.game?.game === game && document.querySelector('#board > *')", arg=game)


def point(page, name):
    """A point of a board of stones."""
    return page.get_by_role("gridcell", name=re.compile(f"^{name},"))


def make_move(page, locator, move):
    """Click, and wait until the move is made."""
    locator.click()
    eventually(page, "!app.isBusy && app.game.moves.at(-1) === arg.move", move=move)


def new_game(page, **fields):
    """Start a game by the form; fields by their labels, underscores stand for blanks."""
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New", exact=True).click()
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("button", name="New game").click()


def set_up(page, **settings):
    """Choose players, strength and the like, by their labels: underscores stand for blanks."""
    for label, value in settings.items():
        page.get_by_label(label.replace("_", " "), exact=True).select_option(label=value)


def eventually(page, claim, **arg):
    """Wait until an expression holds in the page; `app` is the page's controller, there once the texts are loaded.

    It is polled by time, not by frame: on a busy machine a browser may draw no frame for long.
    """
    from playwright.sync_api import TimeoutError as StillNot

    try:
        page.wait_for_function(
            f"(arg) => {{ const app = window.plyd; return app && ({claim}); }}", arg=arg or None, polling=20
        )
    except StillNot:
        found = told(page, f"JSON.stringify({PAGE_STATE})")
        raise AssertionError(f"still not so: {claim}, {arg}; the page: {found}") from None


def told(page, expression):
    """The value of an expression in the page; `app` is the page's controller."""
    return page.evaluate(f"() => {{ const app = window.plyd; return {expression}; }}")


def state_of(page):
    """The state that the page shows."""
    return json.loads(told(page, "JSON.stringify(app.game.state)"))
