"""What a person does during a game: undo, hints, the slider, keys, touch."""

from tests.clients.web.browser.conftest import eventually, point, set_up, told


def test_undo_redo_and_a_walk_through_the_game(visit):
    page = visit("gomoku")
    set_up(page, Strength="Beginner")
    for name in ("h8", "h9"):
        eventually(page, "app.mover() === 'you' && !app.isBusy")
        free = name if page.get_by_role("gridcell", name=f"{name}, empty").count() else "a1"
        point(page, free).click()
    eventually(page, "app.game.moves.length === 4 && app.mover() === 'you'")
    page.get_by_role("button", name="Undo").click()
    eventually(page, "app.game.ply === 2")
    assert page.locator("[data-stone=one], [data-stone=two]").count() == 2
    page.get_by_role("button", name="Redo").click()
    eventually(page, "app.game.ply === 4")
    page.get_by_label("Go to move").fill("0")
    eventually(page, "app.game.ply === 0")
    assert page.locator("[data-stone=one], [data-stone=two]").count() == 0
    page.locator("#moves button").nth(2).click()
    eventually(page, "app.game.ply === 3 && app.isPaused")
    assert page.locator("[data-stone=one], [data-stone=two]").count() == 3
    assert page.locator(".last").count() == 1


def test_a_hint_tells_a_move_and_changes_nothing(visit):
    page = visit("connect4")
    page.get_by_role("button", name="Hint").click()
    eventually(page, "document.querySelector('#status').textContent.startsWith('Hint: ')")
    eventually(page, "document.querySelectorAll('.mark.best').length === 1")
    assert told(page, "app.game.ply") == 0


def test_sides_are_swapped_and_the_board_is_turned(visit):
    page = visit("gomoku")
    set_up(page, Strength="Beginner")
    page.get_by_role("button", name="Swap").click()
    eventually(page, "app.game.ply === 1 && app.mover() === 'you'")
    assert page.get_by_label("Black", exact=True).input_value() == "engine"
    before = point(page, "a1").bounding_box()
    page.get_by_role("button", name="Flip").click()
    after = point(page, "a1").bounding_box()
    assert after["x"] > before["x"]
    assert after["y"] < before["y"]


def test_the_board_can_be_played_from_the_keyboard(visit):
    page = visit("gomoku")
    set_up(page, White="You")
    point(page, "h8").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    eventually(page, "app.game.moves.join() === 'i9'")
    assert page.get_by_role("gridcell", name="i9, black, last move").is_visible()


def test_tiles_slide_by_touch(visit):
    page = visit("2048", has_touch=True)
    box = page.locator(".tile-field").bounding_box()
    fingers = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for across, down in ((60, 0), (0, 60), (-60, 0), (0, -60)):
        for kind, points in (
            ("touchStart", [{"x": x - across, "y": y - down}]),
            ("touchMove", [{"x": x + across, "y": y + down}]),
            ("touchEnd", []),
        ):
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        eventually(page, "!app.isBusy")
    eventually(page, "app.game.ply >= 4")


def test_dark_and_light_are_both_there(visit):
    page = visit(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 27)"
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(245, 242, 236)"


def test_a_game_that_is_chosen_opens_and_an_undo_is_shown_whatever_comes_meanwhile(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    page.locator(".point").nth(3).click()
    eventually(page, "app.game.ply === 1 && !app.isBusy")
    told(
        page, "(app.step(-1), Promise.resolve(app.moving?.done).then(() => app.proceed()), 0)"
    )  # as when the list of games comes anew
    eventually(page, "app.game.ply === 0 && !document.querySelector('[data-stone=one]')")
    told(page, "(app.choose(app.cards.find(card => card.game === 'gomoku')), app.proceed(), 0)")
    eventually(page, "app.game.game === 'gomoku' && document.body.dataset.game === 'gomoku'")


def test_undo_and_go_on_while_the_engine_thinks(visit):
    page = visit("gomoku")
    set_up(page, Strength="30 s a move")
    point(page, "h8").click()
    eventually(page, "app.game.ply === 1 && app.isThinking")
    page.get_by_role("button", name="Undo").click()
    eventually(page, "app.game.ply === 0")
    page.get_by_role("button", name="Redo").click()
    eventually(page, "app.game.ply === 1 && app.isPaused")
    assert "Paused" in page.inner_text("#status")
    page.get_by_role("button", name="Go on").click()
    eventually(page, "app.isThinking")
    page.get_by_role("button", name="Stop").click()  # it plays what it has
    eventually(page, "app.game.ply === 2 && app.mover() === 'you'")


def test_the_engine_moves_however_soon_after_go_on_it_is_stopped(visit):
    page = visit("gomoku")
    set_up(page, Strength="30 s a move")
    point(page, "h8").click()
    eventually(page, "app.game.ply === 1 && app.isThinking")
    told(page, "(app.pause(), app.stop(), app.stop(), 0)")  # Go on and Stop, while the search before them ends
    eventually(page, "app.game.ply === 2 && app.mover() === 'you'")


def test_a_search_that_ends_in_the_queue_leaves_a_game_that_can_go_on(visit):
    page = visit("gomoku")
    told(page, "(app.socket.think = () => { delete app.socket.think; return Promise.resolve(null); }, 0)")
    point(page, "h8").click()
    eventually(page, "app.game.ply === 1 && app.isPaused")
    assert "Paused" in page.inner_text("#status")
    set_up(page, Strength="Beginner")
    page.get_by_role("button", name="Go on").click()
    eventually(page, "app.game.ply === 2 && app.mover() === 'you'")


def test_a_hint_does_not_disturb_the_engine_nor_end_the_adviser(visit):
    page = visit(link="#game=connect4&start=9x9")  # not solved at once
    set_up(page, Strength="500 ms a move")
    page.get_by_label("Adviser").check()
    page.locator(".point").nth(3).click()
    eventually(page, "app.game.ply === 1")
    page.keyboard.press("h")
    eventually(page, "app.game.ply === 2 && app.isThinking")
    page.keyboard.press("h")
    eventually(page, "document.querySelector('#status').textContent.startsWith('Hint: ')")
    eventually(page, "app.isThinking && app.settings.adviser")


def test_two_engines_with_the_adviser_on_pause_and_go_on_each_with_its_strength(visit):
    page = visit(link="#game=connect4&start=9x9")  # not solved at once, so that the adviser goes on
    page.get_by_label("Adviser").check()
    set_up(page, Strength="100 ms a move", **{"Yellow's_strength": "Beginner"}, Red="Engine")
    eventually(page, "app.game.ply >= 2")
    page.get_by_role("button", name="Stop").click()
    eventually(page, "app.isPaused && app.isThinking && !app.isBusy")
    ply = told(page, "app.game.ply")
    page.get_by_role("button", name="Go on").click()
    eventually(page, "app.game.ply > arg.ply || app.mover() === 'nobody'", ply=ply)


def test_a_quick_hand_on_the_slider_ends_where_it_was_left_with_advice_for_that_place(visit):
    page = visit(link="#game=connect4&start=7x6&moves=4.4.4.3.5.2.6")
    page.get_by_label("Adviser").check()
    page.evaluate("() => { for (const ply of [6, 5, 4, 3, 2, 1, 0, 3]) window.plyd.goTo(ply); }")
    eventually(page, "app.game.ply === 3 && !app.isBusy")
    page.wait_for_selector(".mark.best")
    assert page.locator("[data-stone=one], [data-stone=two]").count() == 3
    assert page.get_by_label("Go to move").input_value() == "3"
