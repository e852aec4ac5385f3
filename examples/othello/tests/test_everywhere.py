"""Othello in all that plyd has: registry, terminal, match, records, the page. Nothing there knows this game.

These tests run in a checkout of plyd, whose tests have daemons, bridges and browsers to borrow.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.formats import files
from plyd.clients.library.client import EngineClient
from plyd.engines import registry

pytest.importorskip("tests.servers.daemons", reason="not in a checkout of plyd")

from tests.clients.web.browser.conftest import chromium, eventually, new_game, point, set_up, state_of, told  # noqa: F401
from tests.clients.web.test_bridge import Bridge
from tests.patience import LONG, SOON, until
from tests.plugins.packages import install
from tests.servers.daemons import House, OpenDaemon

PACKAGE = Path(__file__).parents[1]
MUST_PASS = "xxxxxx/xxxxxo/xxxxxo/xxxxxo/xxxxx./xxxxx. o"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package as pip would have installed it: its entry point is in the metadata on the path."""
    monkeypatch.syspath_prepend(install(tmp_path, "plyd-othello", "othello = plyd_othello.engine:Othello"))


@pytest.fixture(scope="module")
def house():
    house = House()
    yield house
    house.close()


@pytest.fixture(scope="module")
def daemon(house, engine):
    """The address of a daemon of Othello."""
    with OpenDaemon(house, engine, slots=2) as daemon:
        yield daemon.target


def invoke(*arguments, typed=""):
    return CliRunner().invoke(main, arguments, input=typed, prog_name="plyd")


def test_the_registry_has_it(installed):
    assert "othello" in registry.games()
    assert registry.load("othello").card.title == "Othello"
    assert re.search(r"^  othello +\S", invoke("play", "--help").stdout, re.MULTILINE)


def test_a_whole_game_is_watched_in_the_terminal(installed, daemon):
    done = invoke("play", "othello", "--connect", daemon, "--size", "6", "--watch", "--nodes", "60")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("  a  b  c  d  e  f\n1 .  .  .  .  .  .\n")
    assert re.search(r"^([xo] wins|a draw)\n\Z", done.stdout, re.MULTILINE)
    assert re.search(r"\([xo]\)", done.stdout)


def test_a_person_passes_in_the_terminal(installed, daemon):
    options = ("--connect", daemon, "--start", MUST_PASS, "--nodes", "60")
    done = invoke("play", "othello", *options, typed="f5\nhelp\npass\nquit\n")
    assert 'illegal move "f5"; legal is pass' in done.stderr
    assert "\na move: pass\n" in done.stdout
    assert re.search(r"^you, o: pass\nengine, x: f[56]  ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--size", "7"), "a board of 7x7"),
        (("--blocked", "1,1"), "Othello takes no --blocked"),
        (("--variant", "reversed"), "'reversed' is not one of 'classic'"),
    ],
)
def test_what_the_card_does_not_allow_is_refused_in_the_terminal(installed, daemon, options, message):
    done = invoke("play", "othello", "--connect", daemon, *options)
    assert done.exit_code
    assert message in done.stderr


def test_a_match_is_played_and_saved(daemon, tmp_path):
    sides = ("--first", f"at={daemon} name=strong nodes=1500", "--second", f"at={daemon} name=weak nodes=1")
    saved = tmp_path / "games.jsonl"
    done = invoke("match", "othello", *sides, "--start", "6x6", "--games", "4", "--save", str(saved))
    assert done.exit_code == 0, done.stderr
    assert len([line for line in saved.read_text().splitlines() if "moves" in json.loads(line)]) == 4


def test_a_record_holds_passes_and_is_read_again(daemon):
    with EngineClient(daemon) as client:
        [card] = client.describe().engines
        state = client.apply(MUST_PASS, "pass", "f5")
    record = files.GameRecord("othello", "classic", state.position.start, tuple(state.position.moves))
    assert files.formats_of(card) == ("text",)
    name, _, data = files.write(record, "text", card)
    assert (name, files.read(name, data)) == ("othello.txt", record)


# --- The page ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def visit(house, daemon, chromium):  # noqa: F811
    """Opens the page with a link; afterwards, it has logged no error."""
    bridge, complaints = Bridge(house, daemon), []
    until(lambda: bridge.post("/export", b'{"record": {"game": "othello", "moves": []}, "format": "text"}')[0] == 200)
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * SOON)

    def visit(link):
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{bridge.url}/{link}")
        page.wait_for_selector("#board > *")
        return page

    yield visit
    context.close()
    bridge.close()
    assert not complaints


def test_a_person_plays_a_whole_game_on_the_page(visit):
    page = visit("#game=othello&start=6x6")
    set_up(page, Strength="Beginner")
    assert page.locator("[data-stone=one]").count() == page.locator("[data-stone=two]").count() == 2
    while True:
        eventually(page, "app.mover() !== 'engine' && !app.isBusy")
        if told(page, "app.mover()") == "nobody":
            break
        ply, move = told(page, "app.game.ply"), state_of(page)["legal"][0]
        if move["kind"] == "pass":
            page.get_by_role("button", name="Pass", exact=True).click()
        else:
            point(page, move["move"]).click()
        eventually(page, "app.game.ply > arg.ply", ply=ply)
    assert re.search(r"has won|draw", page.inner_text("#status"))
    assert page.locator(".won").count() == 0  # no line has won


def test_stones_can_be_seen_and_the_last_move_is_marked(visit):
    page = visit("#game=othello&start=8x8&moves=d3")
    colours = [
        page.locator(f"[data-stone={side}] > .stone").first.evaluate("each => getComputedStyle(each).backgroundImage")
        for side in ("one", "two")
    ]
    assert all("gradient" in colour for colour in colours)
    assert colours[0] != colours[1]
    assert page.locator(".last").count() == 1
    assert page.get_by_role("gridcell", name="d3, black, last move").is_visible()
    assert page.locator(".labels.top span").all_inner_texts() == list("abcdefgh")
    assert page.locator(".labels.side span").all_inner_texts() == list("12345678")
    assert page.locator(".barred").count() == 0  # not every empty cell is a move


def test_a_pass_is_a_button_and_a_key_and_is_undone(visit):
    page = visit("#game=othello&start=6x6")
    set_up(page, White="You")  # else the engine would pass at once
    page.evaluate("start => { location.hash = `game=othello&start=${encodeURIComponent(start)}`; }", MUST_PASS)
    eventually(page, "document.querySelector('#choices button')")
    assert page.inner_text("#status") == "You have no move, as White: pass."
    page.get_by_role("button", name="Pass", exact=True).click()
    eventually(page, "app.game.moves.join() === 'pass' && !app.isBusy && app.mover() === 'you'")
    assert page.locator("#choices").is_hidden()
    page.get_by_role("button", name="Undo").click()
    eventually(page, "app.game.ply === 0 && !app.isBusy")
    page.keyboard.press("p")
    eventually(page, "app.game.ply === 1 && app.game.moves.join() === 'pass'")


def test_sizes_of_the_card_are_offered_and_the_engine_plays_itself(visit):
    page = visit("#game=othello")
    size = page.get_by_label("Size")
    assert [size.get_attribute(name) for name in ("min", "max", "step")] == ["6", "10", "2"]
    new_game(page, Size="10")
    eventually(page, "app.game.start === '10x10'")
    set_up(page, Strength="Beginner", Black="Engine", White="Engine")
    eventually(page, "app.game.ply > 6")
    page.get_by_label("Adviser").check()
    eventually(page, "document.querySelector('#lines tbody tr')")


# --- Installed by pip -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pip_installs_it_and_every_command_knows_it(tmp_path):
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(PACKAGE)], check=True, timeout=LONG)
    code = f"import sys; sys.path.append({str(target)!r}); from plyd.clients.cli import main; main()"

    def plyd(*arguments, typed=""):
        environment = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=LONG, env=environment)

    assert "othello is ready" in plyd("warm", "othello").stderr
    played = plyd("play", "othello", "--size", "6", "--watch", "--nodes", "50")
    assert re.search(r"^([xo] wins|a draw)\n\Z", played.stdout, re.MULTILINE), played.stderr
    matched = plyd("match", "othello", "--start", "6x6", "--games", "2", "--nodes", "50")
    assert matched.returncode == 0, matched.stderr
    figures = [json.loads(line) for line in plyd("bench", "othello", "--json", "--no-cold").stdout.splitlines()]
    assert {figure["game"] for figure in figures} == {"othello"}
    assert any("signature" in figure["name"] for figure in figures)
