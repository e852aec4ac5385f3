"""The page as an app: it opens without its bridge, and a new version of it replaces the old one whole."""

import json
import shutil

import pytest

from plyd.clients.web.app import STATIC
from plyd.clients.web.shell import KEPT
from tests.clients.web.browser.conftest import eventually, told
from tests.clients.web.test_bridge import Bridge
from tests.clients.web.test_languages import TABLES
from tests.patience import SOON, until
from tests.ports import free_ports
from tests.servers.daemons import House, OpenDaemon
from tests.servers.fakes import FakeEngine

# The names are asked for apart from what is kept: to open a cache that was just deleted would make it again, empty.
CACHES = "caches.keys()"
KEPT_BY = """caches.open(NAME).then(cache => cache.keys()).then(requests =>
    requests.map(request => new URL(request.url).pathname))"""


@pytest.fixture
def plyd(tmp_path):
    """A bridge that comes and goes at one address, with a fake engine behind it."""
    house = House()
    with OpenDaemon(house, FakeEngine()) as daemon:
        plyd = Plyd(house, daemon.target, tmp_path / "static")
        yield plyd
        plyd.stop()
    house.close()


class Plyd:
    """The bridge, with page files of its own."""

    def __init__(self, house, target, static):
        self._house, self._target, self._port = house, target, free_ports()
        self.static, self.url, self._bridge = static, f"http://127.0.0.1:{self._port}/", None
        shutil.copytree(STATIC, static)

    def start(self):
        self._bridge = Bridge(self._house, self._target, port=self._port, static=self.static)

    def stop(self):
        if self._bridge:
            self._bridge.close()
        self._bridge = None


@pytest.fixture
def page(chromium):
    """A page in a browser that allows service workers; no script of it has failed."""
    context, faults = chromium.new_context(), []
    context.set_default_timeout(1000 * SOON)
    context.on("weberror", lambda error: faults.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert not faults


def says(page, language, key):
    """Wait until the page's notice is a text of the table."""
    notice = (
        "document.documentElement.lang === arg.language && document.getElementById('notice').innerText === arg.text"
    )
    eventually(page, notice, language=language, text=TABLES[language][key])


def test_the_page_opens_without_its_bridge_and_goes_on_with_the_game_in_the_version_that_comes_back(plyd, page):
    # 1. The first visit keeps the page's files, all of them and nothing else.
    plyd.start()
    page.goto(f"{plyd.url}#game=sticks&start=7 one")
    eventually(page, "app.game && !app.isBusy && navigator.serviceWorker.controller")
    page.get_by_label("Bob", exact=True).select_option(label="You")
    told(page, "app.play('2')")
    eventually(page, "!app.isBusy && app.game.moves.join() === '2'")
    files = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.suffix in KEPT}
    complaints = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert {each["errorId"] for each in complaints} <= {"in-incognito"}  # as every profile of a test
    version = told(page, "document.documentElement.dataset.version")
    [name] = told(page, CACHES)
    assert name == f"plyd {version}"
    kept = told(page, KEPT_BY.replace("NAME", json.dumps(name)))
    assert sorted(kept) == sorted(["/", *(f"/static/{name}" for name in files)])

    # 2. Without a bridge the page opens, says so, and speaks every language. Nothing else is answered.
    plyd.stop()
    page.reload()
    says(page, "en", "notice.unreachable")
    assert told(page, "fetch('/healthz').then(() => 'kept', () => 'away')") == "away"
    assert told(page, "document.querySelector('main').inert")
    page.get_by_label("Language").select_option(label="繁體中文")
    says(page, "zh-TW", "notice.unreachable")

    # 3. plyd is updated and comes back: the old page connects again, has its game, and offers the new page.
    table = TABLES["zh-TW"] | {"tool.hint": "新的提示"}
    (plyd.static / "messages/zh-TW.json").write_text(json.dumps(table), encoding="utf-8")
    plyd.start()
    eventually(page, "!app.isBusy && app.game?.moves.join() === '2'")
    assert page.get_by_role("button", name=TABLES["zh-TW"]["tool.hint"], exact=True).is_visible()
    page.get_by_role("button", name=table["update.load"]).click()
    page.get_by_role("button", name=table["tool.hint"], exact=True).wait_for()
    eventually(page, "!app.isBusy && app.game?.moves.join() === '2'")
    assert page.locator("#update").count() == 0

    # 4. What is kept now is the new version, whole, and the old one is gone.
    version = told(page, "document.documentElement.dataset.version")
    assert f"plyd {version}" != name
    until(lambda: told(page, CACHES) == [f"plyd {version}"])  # and it is active
    plyd.stop()
    page.reload()
    says(page, "zh-TW", "notice.unreachable")
    assert told(page, "document.getElementById('hint').textContent") == table["tool.hint"]
    assert told(page, "document.documentElement.dataset.version") == version
