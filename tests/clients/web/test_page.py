"""Whole games in the browser, one of each kind, and what a person does on the way."""

import re

import pytest

from tests.clients.web.conftest import GAMES, choose, eventually, set_up, state_of, told

ARROWS = {"up": "ArrowUp", "right": "ArrowRight", "down": "ArrowDown", "left": "ArrowLeft"}


def point(page, name):
    return page.get_by_role("gridcell", name=re.compile(f"^{name},"))


def test_the_page_comes_with_every_game(visit):
    page = visit()
    buttons = page.get_by_role("navigation").get_by_role("button").all_inner_texts()
    assert buttons == list(GAMES.values())


def test_everything_together_is_small(visit, fleet):
    page = visit()
    sizes = page.evaluate("() => performance.getEntriesByType('resource').map(each => each.decodedBodySize)")
    assert len(sizes) >= 10
    assert 40_000 < sum(sizes) < 300_000


def test_a_whole_game_of_2x3_by_the_arrow_keys_as_the_adviser_says(visit):
    page = visit(link="#game=2584-2x3&start=b 5 1 6 1 12 0")
    page.get_by_label("Adviser").check()
    for _ in range(400):
        eventually(
            page,
            "app.mover() === 'nobody' || (app.mover() === 'you' && !app.isBusy && app.view.board.arrows && "
            "Object.values(app.view.board.arrows).some(button => button.classList.contains('best')))",
        )
        if told(page, "app.mover()") == "nobody":
            break
        best = told(page, "Object.entries(app.view.board.arrows).find(([, b]) => b.classList.contains('best'))[0]")
        worth = page.get_by_role("button", name=f"slide {best}, worth").get_attribute("aria-label")
        assert re.fullmatch(rf"slide {best}, worth [\d,.]+, best", worth)
        ply = told(page, "app.game.ply")
        page.keyboard.press(ARROWS[best])
        eventually(page, "app.game.ply > arg.ply", ply=ply)
    state = state_of(page)
    assert (state["outcome"], state["legal"]) == ("ended", [])
    assert "the game is over" in page.inner_text("#status")
    assert told(page, "app.game.points") > 0


def test_2x3_shows_the_exact_value_of_every_move(visit):
    page = visit(link="#game=2584-2x3&start=b 2 2 0 0 0 0")
    page.get_by_label("Adviser").check()
    page.wait_for_selector(".arrow.best")
    assert "1,422.339 to come, exactly" in page.inner_text("#score")
    values = dict(
        zip(
            page.locator("#lines tbody th").all_inner_texts(),
            page.locator("#lines tbody td:nth-child(2)").all_inner_texts(),
            strict=True,
        )
    )
    assert values["right"] == "1,422.339"
    assert set(values) == {"right", "down"}
    assert [page.locator(f".arrow.{way} .worth").inner_text() for way in ("right", "up")] == ["1,422.339", ""]


@pytest.mark.parametrize("game", ["2584", "2048"])
def test_the_engine_plays_a_tile_game_by_itself_until_told_to_stop(visit, game):
    page = visit(game)
    set_up(page, Strength="At a glance", Player="Engine")
    eventually(page, "app.game.moves.length > 60")
    page.get_by_role("button", name="Stop").click()
    eventually(page, "app.isPaused && !app.isThinking && !app.isBusy")
    moves = told(page, "app.game.moves.length")
    page.wait_for_timeout(300)
    assert told(page, "app.game.moves.length") == moves
    tiles = page.locator(".tile").all_inner_texts()
    assert sorted(tiles) == sorted(filter(None, state_of(page)["cells"]))
    page.get_by_role("button", name="Go on").click()
    eventually(page, "app.game.moves.length > arg.moves", moves=moves)


@pytest.mark.parametrize("game", ["2584", "2048"])
def test_a_whole_tile_game_by_a_person_who_slides_whatever_slides(visit, game):
    page = visit(game)
    for _ in range(2000):
        eventually(page, "app.mover() === 'nobody' || (app.mover() === 'you' && !app.isBusy)")
        ply, legal = told(page, "[app.game.ply, app.game.state.legal.map((each) => each.move)]")
        if not legal:
            break
        page.keyboard.press(next(ARROWS[move] for move in ("up", "down", "left", "right") if move in legal))
        eventually(page, "app.game.ply > arg.ply", ply=ply)
    state = state_of(page)
    assert (state["outcome"], state["legal"]) == ("ended", [])
    assert re.fullmatch(r"[\d,.]+ points. No move is left: the game is over.", page.inner_text("#status"))
    page.wait_for_timeout(200)  # the last ones to merge are still on their way
    assert sorted(page.locator(".tile").all_inner_texts()) == sorted(state["cells"])


def test_a_person_against_the_evil_environment(visit):
    page = visit("2584")
    set_up(page, Tiles_come_from="Evil engine")
    for _ in range(8):
        eventually(page, "app.mover() === 'you' && !app.isBusy")
        ply = told(page, "app.game.ply")
        page.keyboard.press(ARROWS[state_of(page)["legal"][0]["move"]])
        eventually(page, "app.game.ply === arg.ply + 2 && app.mover() === 'you'", ply=ply)
    assert all("@" in move for move in told(page, "app.game.moves.slice(3).filter((_, i) => i % 2 === 0)"))


def test_a_person_drops_the_tiles_and_the_engine_slides_them(visit):
    page = visit("2048")
    set_up(page, Strength="At a glance", Player="Engine", Tiles_come_from="You")
    for _ in range(3):
        eventually(page, "app.mover() === 'dropper' && !app.isBusy")
        cell, ply = state_of(page)["cells"].index(""), told(page, "app.game.ply")
        page.locator(".hole").nth(cell).click()
        eventually(page, "app.game.ply === arg.ply + 2", ply=ply)
        assert told(page, f"app.game.moves[{ply}]").endswith(f"@{cell}")


def test_a_whole_game_of_connect_four_on_a_board_with_a_forbidden_cell(visit):
    page = visit("connect4")
    page.get_by_label("Columns").fill("6")
    page.get_by_label("Rows").fill("5")
    page.get_by_label("Forbidden cell").fill("3,1")
    page.get_by_label("Forbidden cell").press("Enter")
    eventually(page, "app.game.start.includes('#')")
    set_up(page, Strength="Beginner")
    assert page.get_by_role("gridcell", name="column 3, row 1, forbidden").is_visible()
    while True:
        eventually(page, "app.mover() !== 'engine' && !app.isBusy")
        if told(page, "app.mover()") == "nobody":
            break
        ply, legal = told(page, "app.game.ply"), state_of(page)["legal"]
        page.locator(".point").nth(legal[ply % len(legal)]["cell"]).click()
        eventually(page, "app.game.ply > arg.ply", ply=ply)
    assert re.search(r"has won|draw", page.inner_text("#status"))
    assert (page.locator(".won").count() >= 4) == (state_of(page)["outcome"] != "draw")


def test_a_whole_game_of_gomoku_between_two_engines(visit):
    page = visit("gomoku")
    page.get_by_label("Size").fill("9")
    page.get_by_role("button", name="New game").click()
    eventually(page, "app.game.start.startsWith('9x9')")
    set_up(page, Strength="Easy", Black="Engine", White="Engine")
    eventually(page, "app.mover() === 'nobody'")
    state = state_of(page)
    assert state["outcome"] in ("one", "two", "draw")
    if state["outcome"] != "draw":
        assert page.locator(".won").count() >= 5
    assert page.locator("#moves li").count() == len(state["position"]["moves"])
    known = told(page, "app.game.values.filter(value => value !== null && value !== undefined).length")
    assert known >= len(state["position"]["moves"]) - 1
    assert page.locator("#graph .line").count() == 1


def test_what_renju_forbids_is_marked_and_cannot_be_played(visit):
    start = "........./........./....x..../....x..../..xx...../........./......o../.......oo/........o"
    page = visit(link=f"#game=gomoku&variant=renju&start={start}")
    set_up(page, White="You")
    assert page.locator(".barred").count() == 1  # two open threes
    barred = point(page, "e5")
    assert barred.get_attribute("aria-label") == "e5, forbidden"
    assert barred.get_attribute("aria-disabled") == "true"
    barred.click(force=True)
    point(page, "a9").click()
    eventually(page, "app.game.ply === 1 && app.mover() === 'you'")
    assert state_of(page)["position"]["moves"] == ["a9"]
    assert page.locator(".barred").count() == 0  # to white


def test_analysis_is_drawn_on_the_board_goes_on_and_stops(visit):
    page = visit("gomoku")
    page.get_by_label("Adviser").check()
    page.wait_for_selector(".mark.best")
    eventually(page, "Number(document.querySelector('#lines tbody td:nth-child(3)').textContent.replace(',', '')) > 50")
    assert re.match(r"Black [\d.]+%", page.inner_text("#score"))
    assert re.search(r"depth \d+ · [\d,.]+ k? ?nodes · ", page.inner_text("#facts"))
    page.get_by_label("Adviser").uncheck()
    eventually(page, "!app.isThinking")


def test_negascout_plays_with_all_its_strength_and_advises_with_all_its_lines(visit):
    page = visit("gomoku")
    page.get_by_text("More options").click()
    set_up(page, engine="negascout", Strength="3 s a move")
    point(page, "h8").click()
    eventually(page, "document.querySelectorAll('#lines tbody tr').length === 1")
    eventually(page, "app.game.ply === 2 && app.mover() === 'you'")
    page.get_by_label("Adviser").check()
    eventually(page, "document.querySelectorAll('#lines tbody tr').length === 8")


def test_connect_four_shows_what_each_column_is_worth(visit):
    page = visit(link="#game=connect4&start=9x8")
    page.get_by_label("Adviser").check()
    eventually(page, "document.querySelectorAll('.mark.hint b').length === 9")
    assert all(re.fullmatch(r"[\d.]+|[WL=]\d*", text) for text in page.locator(".mark.hint b").all_inner_texts())


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
    assert page.locator("[data-stone=x], [data-stone=o]").count() == 2
    page.get_by_role("button", name="Redo").click()
    eventually(page, "app.game.ply === 4")
    page.get_by_label("Go to move").fill("0")
    eventually(page, "app.game.ply === 0")
    assert page.locator("[data-stone=x], [data-stone=o]").count() == 0
    page.locator("#moves button").nth(2).click()
    eventually(page, "app.game.ply === 3 && app.isPaused")
    assert page.locator("[data-stone=x], [data-stone=o]").count() == 3
    assert page.locator(".last").count() == 1


def test_a_reload_keeps_the_game_and_its_history(visit):
    page = visit("gomoku")
    set_up(page, White="You")
    for name in ("h8", "h9", "i9"):
        point(page, name).click()
        eventually(page, "!app.isBusy && app.game.moves.at(-1) === arg.name", name=name)
    page.reload()
    eventually(page, "app.game?.ply === 3")
    page.get_by_role("button", name="Undo").click()
    eventually(page, "app.game.ply === 2 && app.game.moves.length === 3")


def test_a_reload_keeps_the_points_and_the_undo_of_a_tile_game(visit):
    page = visit("2048")
    set_up(page, Strength="At a glance", Player="Engine")
    eventually(page, "app.game.points > 100")
    page.keyboard.press("s")
    eventually(page, "app.isPaused && !app.isBusy && !app.isThinking")
    before = told(page, "[app.game.points, app.game.state.text, app.game.moves.length]")
    page.reload()
    eventually(page, "app.game?.state")
    assert told(page, "[app.game.points, app.game.state.text, app.game.moves.length]") == before
    page.keyboard.press("u")
    eventually(page, "app.game.ply < arg.plies", plies=before[2])


def test_a_reload_with_the_address_of_a_moment_ago_keeps_the_game(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    for column in (3, 4):
        page.locator(".point").nth(column).click()
        eventually(page, "!app.isBusy && app.game.moves.at(-1) === arg.move", move=str(column + 1))
        page.wait_for_function("moves => location.hash.endsWith(moves)", arg="moves=4" if column == 3 else "moves=4.5")
    told(page, "history.replaceState(null, '', location.hash.replace('4.5', '4'))")
    page.reload()
    eventually(page, "app.game?.state")
    assert told(page, "app.game.moves.join()") == "4,5"


def test_a_link_restores_the_position_elsewhere(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    for column in (3, 3, 4):
        page.locator(".point").nth(column).click()
        eventually(page, "!app.isBusy && app.game.moves.at(-1) === arg.move", move=str(column + 1))
    page.wait_for_function("() => location.hash.endsWith('moves=4.4.5')")
    link = page.evaluate("location.hash")
    for written in (link, link.replace("4.4.5", "4+4+5"), link.replace("4.4.5", "4, 4, 5")):  # people write them, too
        other = visit(link=written)
        eventually(other, "app.game.game === 'connect4'")
        assert state_of(other)["position"]["moves"] == ["4", "4", "5"]
        assert other.locator("[data-stone=x]").count() == 2


def test_a_hint_tells_a_move_and_changes_nothing(visit):
    page = visit("connect4")
    page.get_by_role("button", name="Hint").click()
    eventually(page, "document.querySelector('#status').textContent.startsWith('Hint: ')")
    assert page.locator(".mark.best").count() == 1
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


def test_a_position_can_be_typed_in_and_a_wrong_one_is_explained(visit):
    page = visit("2584-2x3")
    page.get_by_text("From a position").click()
    page.get_by_label("Position", exact=True).fill("b 2 2 0 0 0")
    page.get_by_role("button", name="New game").click()
    page.wait_for_selector("text=expected b or a and 6 numbers")
    page.get_by_label("Position", exact=True).fill("b 5 1 6 0 12 0")
    page.get_by_role("button", name="New game").click()
    eventually(page, "app.game.state.text === 'b 5 1 6 0 12 0'")
    assert sorted(page.locator(".tile").all_inner_texts()) == ["1", "13", "233", "8"]


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
        page.wait_for_timeout(50)
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
    eventually(page, "app.game.ply === 0 && !document.querySelector('[data-stone=x]')")
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


def test_a_hint_does_not_disturb_the_engine_nor_end_the_adviser(visit):
    page = visit("connect4")
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
    page = visit("connect4")
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
    assert page.locator("[data-stone=x], [data-stone=o]").count() == 3
    assert page.get_by_label("Go to move").input_value() == "3"


def test_each_game_is_where_it_was_left(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    page.locator(".point").nth(3).click()
    eventually(page, "app.game.ply === 1")
    choose(page, "2048")
    choose(page, "connect4")
    eventually(page, "app.game.moves.join() === '4'")


def test_a_board_that_cannot_be_is_explained_and_locks_nobody_out(visit):
    page = visit("connect4")
    page.get_by_label("Forbidden cell").fill("9,9")
    page.get_by_role("button", name="New game").click()
    page.wait_for_selector("#status:has-text('9,9')")
    page.evaluate("() => sessionStorage.clear()")
    page.get_by_role("button", name="2048", exact=True).click()
    eventually(page, "app.game.game === '2048'")
    page.evaluate("() => sessionStorage.clear()")
    choose(page, "connect4")
    page.wait_for_selector("#status:has-text('9,9')")
    page.get_by_label("Forbidden cell").fill("")
    page.get_by_role("button", name="New game").click()
    eventually(page, "app.game.start === '7x6' || app.game.state.cells.every(cell => cell === '')")


def test_a_link_to_where_a_tile_is_to_drop_leaves_the_drop_to_who_drops(visit):
    page = visit("2048")
    set_up(page, Tiles_come_from="You")
    page.goto(page.url.split("#")[0] + "#game=2048&start=a 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 5")
    page.reload()
    eventually(page, "app.game?.state.text.startsWith('a 1 1 0')")
    assert told(page, "[app.mover(), app.game.moves.length]") == ["dropper", 0]
