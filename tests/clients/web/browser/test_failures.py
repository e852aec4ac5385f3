"""A page whose daemon or bridge dies: it says so, keeps the person's move, and goes on."""

import os
import signal

from tests.clients.web.browser.conftest import choose, eventually, make_move, point, set_up, state_of, told


def test_a_daemon_that_is_killed_is_noticed_and_the_game_goes_on(visit, up):
    page = visit("2584-2x3")
    page.get_by_label("Adviser").check()
    page.wait_for_selector(".arrow.best")
    before = state_of(page)["text"]
    up.kill("2584-2x3")
    eventually(page, "document.getElementById('notice').textContent.includes('restarting')")
    up.wait_for("2584-2x3")
    page.wait_for_selector("#notice", state="hidden")
    assert state_of(page)["text"] == before
    page.get_by_role("button", name=f"slide {state_of(page)['legal'][0]['move']}").click()
    eventually(page, "app.game.state.text !== arg.before && document.querySelector('.arrow.best')", before=before)


def test_a_move_whose_bridge_dies_before_it_answers_is_sent_again(visit, up):
    page = visit("connect4")
    set_up(page, Yellow="You")
    make_move(page, page.locator(".point").nth(3), "4")
    os.kill(up.pids["web"], signal.SIGSTOP)  # the bridge answers nothing any more
    page.locator(".point").nth(2).click()
    eventually(page, "app.isBusy && [...app.socket.waiting.values()].some(request => request.isSent)")
    assert told(page, "app.game.moves.join()") == "4"
    up.kill("web")
    up.wait_for("web")
    eventually(page, "!app.isBusy && app.game.moves.join() === '4,3'")
    page.wait_for_selector("#notice", state="hidden")
    make_move(page, page.locator(".point").nth(3), "4")
    visit.complaints.clear()  # the browser logs that the socket could not be opened


CLICK_WHEN_LOST = """(() => {
    const { lost } = app.socket.listener;
    app.socket.listener.lost = () => {
        lost();
        document.querySelectorAll(".point")[3].click();
        app.noticed = document.getElementById("notice").textContent;
    };
})()"""


def test_a_move_made_while_the_bridge_is_away_is_kept_and_the_person_is_told_so(visit, up):
    page = visit("connect4")
    set_up(page, Yellow="You")
    told(page, CLICK_WHEN_LOST)
    up.kill("web")
    eventually(page, "app.noticed")
    assert told(page, "app.noticed") == "The connection to plyd is lost; trying again… Your move is kept."
    up.wait_for("web")
    eventually(page, "!app.isBusy && app.game.moves.join() === '4'")
    page.wait_for_selector("#notice", state="hidden")
    visit.complaints.clear()  # the browser logs that the socket could not be opened


UNAVAILABLE_ONCE = """(() => {
    const apply = app.socket.apply.bind(app.socket);
    app.socket.apply = (...question) => {
        app.socket.apply = apply;
        return Promise.reject(Object.assign(new Error("the daemon is away"), { kind: "Unavailable" }));
    };
})()"""


def test_a_move_is_tried_again_when_its_daemon_was_away_for_too_long(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    told(page, UNAVAILABLE_ONCE)
    make_move(page, page.locator(".point").nth(3), "4")


def test_another_game_can_be_played_while_a_move_waits_for_its_daemon(visit):
    page = visit("connect4")
    told(page, "(app.socket.apply = () => new Promise(() => {}), 0)")
    page.locator(".point").nth(3).click()
    eventually(page, "app.isBusy")
    told(page, "delete app.socket.apply")
    choose(page, "gomoku")
    set_up(page, White="You")
    make_move(page, point(page, "h8"), "h8")
