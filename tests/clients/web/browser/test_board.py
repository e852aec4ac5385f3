"""The board as people expect it: positions set up, names, numbers, clocks, pictures."""

from tests.clients.web.browser.conftest import eventually, make_move, point, set_up, told

FRAME = b"\x21\xf9\x04"  # begins the control block of a GIF's frame


def edit(page):
    page.get_by_role("button", name="Set up a position").click()
    page.get_by_role("group", name="Position editor").wait_for()


def test_a_position_is_set_up_and_one_that_cannot_occur_is_explained(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    edit(page)
    for cell in (38, 3):
        page.locator(".point").nth(cell).click()
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector("#editor-error:has-text('x moves first, so there are as many x as o, or one more')")
    page.locator(".point").nth(3).click()  # the same piece again removes it
    page.get_by_role("button", name="forbidden").click()
    page.locator(".point").nth(31).click()
    page.get_by_role("button", name="Done").click()
    page.wait_for_selector("#editor-error:has-text('With these stones, Yellow is to move.')")
    page.get_by_label("To move", exact=True).select_option(label="Yellow")
    page.get_by_role("button", name="Done").click()
    eventually(page, "app.game.start === arg.start", start="......./......./......./......./...#.../...x...")
    assert told(page, "[app.game.state.toMove, app.mover()]") == ["two", "you"]
    page.get_by_role("button", name="2048").click()
    eventually(page, "app.game.game === '2048' && !app.isBusy")
    edit(page)
    page.get_by_role("button", name="Clear").click()
    for tile, cell in (("1024", 0), ("2", 5)):
        page.get_by_role("button", name=tile, exact=True).click()
        page.locator(".hole").nth(cell).click()
    page.get_by_role("button", name="Done").click()
    eventually(page, "app.game.start === 'b 10 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0'")


def test_while_a_position_is_set_up_nothing_else_happens_and_cancel_goes_on(visit):
    page = visit(link="#game=gomoku&moves=h8")
    set_up(page, White="You", Clock="10 minutes")
    point(page, "h9").click()
    eventually(page, "app.clocks.running === 'one'")
    page.get_by_label("Adviser").check()
    page.wait_for_selector(".mark.best")
    edit(page)
    eventually(page, "!app.isThinking && !document.querySelector('.mark.best')")
    assert told(page, "app.clocks.running") == ""
    assert page.inner_text("#status") == "Position editor"
    page.get_by_label("Adviser").uncheck()
    page.get_by_label("Adviser").check()
    set_up(page, Strength="Beginner", Black="Engine")
    assert told(page, "app.isThinking || app.isBusy || app.game.ply !== 2") is False
    page.get_by_role("button", name="Cancel").click()
    eventually(page, "app.game.ply === 3 && app.isThinking && app.clocks.running === 'two'")
    assert page.inner_text("#status").endswith("You are to move, as White.")


def test_a_position_is_set_up_from_the_keyboard(visit):
    page = visit("gomoku")
    edit(page)
    page.get_by_role("button", name="Clear").focus()
    while "h8" not in (page.evaluate("document.activeElement.getAttribute('aria-label')") or ""):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.get_by_role("gridcell", name="i9, black").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("group", name="Position editor").wait_for(state="hidden")
    assert page.get_by_role("gridcell", name="i9, empty").is_visible()


def test_a_phone_shows_the_board_when_a_position_is_to_be_set_up(visit):
    page = visit("gomoku", viewport={"width": 390, "height": 844}, has_touch=True)
    button = page.get_by_role("button", name="Set up a position")
    button.scroll_into_view_if_needed()
    button.tap()
    page.get_by_role("group", name="Position editor").wait_for()
    top, bottom = (
        page.evaluate(f"document.getElementById('{name}').getBoundingClientRect().{side}")
        for name, side in (("board", "top"), ("editor", "bottom"))
    )
    assert top >= 0
    assert bottom <= 844


def test_two_people_play_on_one_link_and_a_reload_finds_the_game_again(visit):
    page = visit("connect4")
    link = told(page, "app.room.open('one')")
    told(page, "(app.showPosition(undefined), 0)")
    other = visit(link=link)
    eventually(other, "app.mover() === 'friend'")
    make_move(page, page.locator(".point").nth(3), "4")
    eventually(other, "app.game.moves.join() === '4' && app.mover() === 'you'")
    assert told(page, "app.mover()") == "friend"
    make_move(other, other.locator(".point").nth(2), "3")
    eventually(page, "app.game.moves.join() === '4,3' && app.mover() === 'you'")
    other.reload()
    eventually(other, "app?.room?.isOn && app.game.moves.join() === '4,3' && app.mover() === 'friend'")
    make_move(page, page.locator(".point").nth(3), "4")
    eventually(other, "app.game.moves.join() === '4,3,4' && app.mover() === 'you'")


def saved(page, form):
    page.get_by_label("Format").select_option(form)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    return download.value.path().read_bytes()


def test_names_numbers_and_clocks_are_shown_and_kept_and_pictures_saved(visit):
    page = visit(link="#game=gomoku&start=9x9")
    set_up(page, White="You", Clock="3 min + 2 s a move")
    page.get_by_label("Move numbers").check()
    page.get_by_label("Black's name").fill("Anna")
    for name in ("e5", "f5", "d4"):
        make_move(page, point(page, name), name)
    numbers = told(page, "[...document.querySelectorAll('.stone')].map((stone) => stone.textContent).filter(Boolean)")
    assert sorted(numbers) == ["1", "2", "3"]
    assert point(page, "d4").inner_text() == "3"
    assert page.get_by_role("timer", name="White's clock").inner_text().startswith(("3:0", "2:5"))
    assert told(page, "app.clocks.running") == "two"
    assert saved(page, "png").startswith(b"\x89PNG")
    gif = saved(page, "gif")
    assert gif.startswith(b"GIF89a")
    assert gif.count(FRAME) == 4  # the start, and each move
    assert b"PB[Anna]" in saved(page, "sgf")
    page.reload()
    eventually(page, "app.game?.ply === 3 && document.getElementById('seats').textContent.includes('Anna')")
    told(page, "(app.clocks.left.two = 1, 0)")
    eventually(page, "document.getElementById('status').textContent === 'White has lost on time.'")
    assert told(page, "app.mover()") == "nobody"
    assert b"RE[B+]" in saved(page, "sgf")
