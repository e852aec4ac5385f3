"""What goes wrong around a page: daemons and the bridge itself that die, and games that come and go as files."""

import os
import signal

import pytest

from tests.clients.web.conftest import eventually, set_up, state_of, told


def test_a_daemon_that_is_killed_is_noticed_and_the_game_goes_on(visit, fleet):
    page = visit("2584-2x3")
    page.get_by_label("Adviser").check()
    page.wait_for_selector(".arrow.best")
    before = state_of(page)["text"]
    os.kill(fleet.pids["2584-2x3"], signal.SIGKILL)
    page.wait_for_selector("#notice:has-text('restarting')")
    fleet.hear()
    page.wait_for_selector("#notice", state="hidden")
    assert state_of(page)["text"] == before
    page.keyboard.press(
        {"up": "ArrowUp", "right": "ArrowRight", "down": "ArrowDown", "left": "ArrowLeft"}[
            state_of(page)["legal"][0]["move"]
        ]
    )
    eventually(page, "app.game.state.text !== arg.before && document.querySelector('.arrow.best')", before=before)


def test_a_bridge_that_is_killed_is_noticed_and_the_page_connects_again(visit, fleet):
    page = visit("connect4")
    set_up(page, Yellow="You")
    page.locator(".point").nth(3).click()
    eventually(page, "app.game.ply === 1")
    os.kill(fleet.pids["web"], signal.SIGKILL)
    page.wait_for_selector("#notice:has-text('connection')")
    fleet.hear()
    page.wait_for_selector("#notice", state="hidden")
    page.locator(".point").nth(3).click()
    eventually(page, "app.game.ply === 2")
    visit.complaints.clear()  # that the socket could not be opened for a while, the browser says by itself


@pytest.mark.parametrize("form", ["sgf", "psq", "text"])
def test_a_game_of_gomoku_is_saved_and_opened_again(visit, tmp_path, form):
    page = visit("gomoku")
    set_up(page, White="You")
    for name in ("h8", "i9", "g7"):
        page.locator(f".point[aria-label^='{name},']").click()
        eventually(page, "!app.isBusy && app.game.moves.at(-1) === arg.name", name=name)
    page.get_by_label("Format").select_option(form)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    other = visit("2048")
    other.set_input_files("#file", file)
    eventually(other, "app.game.game === 'gomoku' && app.game.ply === 3")
    assert state_of(other)["position"]["moves"] == ["h8", "i9", "g7"]
    assert told(other, "app.isPaused")


def test_a_game_of_2584_is_saved_as_the_course_has_it_and_opened_again(visit, tmp_path):
    page = visit("2584")
    set_up(page, Strength="At a glance", Player="Engine")
    eventually(page, "app.game.moves.length > 20")
    page.keyboard.press("s")
    eventually(page, "app.isPaused && !app.isBusy && !app.isThinking")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    assert file.suffix == ".rec"
    moves, text = told(page, "app.game.moves"), state_of(page)["text"]
    other = visit()
    other.set_input_files("#file", file)
    eventually(other, "app.game.game === '2584' && app.game.moves.length > 20")
    assert told(other, "app.game.moves") == moves
    assert state_of(other)["text"] == text
    assert told(other, "app.game.points") == told(page, "app.game.points")


def test_a_file_that_is_no_game_is_explained(visit, tmp_path):
    page = visit("gomoku")
    file = tmp_path / "holiday.jpg"
    file.write_bytes(b"\xff\xd8\xff")
    page.set_input_files("#file", file)
    page.wait_for_selector("#status:has-text('cannot tell what')")
    visit.complaints.clear()  # the browser's own word on an answer of 400


def test_a_link_to_nowhere_leaves_a_page_that_works(visit):
    page = visit(link="#game=chess&start=8x8")
    assert page.locator("#board > *").count() == 1
    wrong = visit(link="#game=gomoku&start=99x99")
    assert told(wrong, "app.game.state.outcome") == "ongoing"
