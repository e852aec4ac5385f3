"""Games of each kind in the browser: by a person, by engines, and with advice."""

import re

import pytest

from plyd.clients.web.app import STATIC
from tests.clients.web.browser.conftest import GAMES, eventually, new_game, point, set_up, state_of, told

ARROWS = {"up": "ArrowUp", "right": "ArrowRight", "down": "ArrowDown", "left": "ArrowLeft"}


def test_the_page_has_every_game_and_is_small(visit):
    page = visit()
    buttons = page.get_by_role("navigation").get_by_role("button").all_inner_texts()
    assert buttons == list(GAMES.values())
    sizes = page.evaluate("() => performance.getEntriesByType('resource').map(each => each.decodedBodySize)")
    assert len(sizes) >= 10
    modules = {path.name for path in STATIC.rglob("*.js")} - {"main.js"}
    preloaded = told(
        page, "[...document.querySelectorAll('[rel=modulepreload]')].map((link) => link.href.split('/').at(-1))"
    )
    assert set(preloaded) == modules  # all at once, not one after the other
    assert 40_000 < sum(sizes) < 400_000


def test_a_whole_game_of_2x3_by_the_arrow_keys_as_the_adviser_says(visit):
    page = visit(link="#game=2584-2x3&start=b 5 1 6 1 12 0")
    page.get_by_label("Adviser").check()
    ply = -1
    while True:
        eventually(
            page,
            "app.game.ply > arg.ply && !app.isBusy && "
            "(app.mover() === 'nobody' || document.querySelector('.arrow.best'))",
            ply=ply,
        )
        mover, ply = told(page, "[app.mover(), app.game.ply]")
        if mover == "nobody":
            break
        [label] = told(page, "[...document.querySelectorAll('.arrow.best')].map(each => each.ariaLabel)")
        best = re.fullmatch(r"slide (\w+), worth [\d,.]+, best", label)[1]
        page.keyboard.press(ARROWS[best])
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
    page.get_by_label("Turbo").set_checked(game == "2048")
    set_up(page, Strength="At a glance", Player="Engine")
    eventually(page, "app.game.moves.length > 20")
    page.get_by_role("button", name="Stop").click()
    eventually(page, "app.isPaused && !app.isThinking && !app.isBusy")
    told(page, "app.proceed()")
    assert told(page, "!app.isThinking && !app.isBusy")
    moves = told(page, "app.game.moves.length")
    check_tiles(page)
    page.get_by_role("button", name="Go on").click()
    eventually(page, "app.game.moves.length > arg.moves", moves=moves)


def check_tiles(page):
    """The tiles that are drawn are those of the position, once the last ones have merged."""
    eventually(page, "document.querySelectorAll('.tile').length === app.game.state.cells.filter(Boolean).length")
    assert sorted(page.locator(".tile").all_inner_texts()) == sorted(filter(None, state_of(page)["cells"]))


NEARLY_FULL = "b 4 8 12 16 8 12 16 4 12 16 4 8 16 0 0 0"  # 5 34 233 1597: none merges with another


def test_a_tile_game_by_a_person_ends_when_nothing_slides(visit):
    page = visit(link=f"#game=2584&start={NEARLY_FULL}")
    ply = -1
    while True:
        eventually(page, "app.game.ply > arg.ply && !app.isBusy", ply=ply)
        ply, legal = told(page, "[app.game.ply, app.game.state.legal.map((each) => each.move)]")
        if not legal:
            break
        page.keyboard.press(next(ARROWS[move] for move in ("up", "down", "left", "right") if move in legal))
    assert ply >= 4
    assert state_of(page)["outcome"] == "ended"
    assert re.fullmatch(r"[\d,.]+ points. No move is left: the game is over.", page.inner_text("#status"))
    check_tiles(page)


def test_a_person_against_the_evil_environment(visit):
    page = visit("2584")
    set_up(page, Tiles_come_from="Evil engine")
    for _ in range(4):
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
        eventually(page, "app.game.node.tile?.label")
        cell, ply = state_of(page)["cells"].index(""), told(page, "app.game.ply")
        label = told(page, "app.game.node.tile.label")
        assert page.inner_text("#status").endswith(f"Choose a cell for the next tile: {label}.")
        page.locator(".hole").nth(cell).click()
        eventually(page, "app.game.ply === arg.ply + 2", ply=ply)
        assert told(page, f"app.game.moves[{ply}]") == f"{label.translate({52: '2', 50: '1'})}@{cell}"


@pytest.mark.parametrize("game", ["2048", "2584-2x3"])
def test_turbo_plays_a_whole_game_whose_every_move_can_be_visited(visit, game):
    page = visit(game)
    page.get_by_label("Turbo").check()
    set_up(page, Player="Engine")
    eventually(page, "app.mover() === 'nobody'")
    plies, points = told(page, "[app.game.moves.length, app.game.points]")
    check_tiles(page)
    assert plies > 200
    assert told(page, "app.game.ply") == plies
    assert told(page, "app.game.moves.slice(2).every((move, i) => move.includes('@') === (i % 2 === 1))")
    page.evaluate("async () => { await window.plyd.goTo(101); await window.plyd.goTo(window.plyd.game.moves.length); }")
    eventually(page, "app.game.ply === arg.plies && app.game.points === arg.points", plies=plies, points=points)


def test_turbo_can_be_paused_in_the_middle(visit):
    page = visit("2048")
    page.get_by_label("Turbo").check()
    set_up(page, Player="Engine")
    eventually(page, "app.game.ply > 100")
    page.keyboard.press("s")
    eventually(page, "(app.isPaused || app.mover() === 'nobody') && !app.socket.waiting.size")
    ply = told(page, "app.game.ply")
    assert told(page, "app.game.moves.length") == ply
    page.wait_for_timeout(300)
    assert told(page, "app.game.ply") == ply


def test_a_whole_game_of_connect_four_on_a_board_with_a_forbidden_cell(visit):
    page = visit("connect4")
    new_game(page, Columns="6", Rows="5", Forbidden_cell="3,1")
    eventually(page, "app.game.start.includes('#')")
    set_up(page, Strength="Beginner")
    assert page.get_by_role("gridcell", name="column 3, row 1, forbidden").is_visible()
    while True:
        eventually(page, "app.mover() !== 'engine' && !app.isBusy")
        if told(page, "app.mover()") == "nobody":
            break
        ply, legal = told(page, "app.game.ply"), state_of(page)["legal"]
        page.locator(".point").nth(legal[ply % len(legal)]["cells"][0]).click()
        eventually(page, "app.game.ply > arg.ply", ply=ply)
    assert re.search(r"has won|draw", page.inner_text("#status"))
    assert (page.locator(".won").count() >= 4) == (state_of(page)["outcome"] != "draw")


def test_a_whole_game_of_gomoku_between_two_engines(visit):
    page = visit("gomoku")
    new_game(page, Size="9")
    eventually(page, "app.game.start.startsWith('9x9')")
    set_up(page, Strength="Beginner", Black="Engine", White="Engine")
    eventually(page, "app.mover() === 'nobody'")
    state = state_of(page)
    assert state["outcome"] in ("one", "two", "draw")
    drawn = "document.querySelectorAll('#moves li').length === arg.plies && document.querySelector('#graph .line')"
    eventually(page, drawn, plies=len(state["position"]["moves"]))  # in the next frame
    if state["outcome"] != "draw":
        assert page.locator(".won").count() >= 5
        assert page.inner_text("#score").endswith("has won.")
        assert page.inner_text("#bar-text") in ("0%", "100%")
    assert page.get_by_role("button", name="Stop").is_disabled()
    known = told(page, "app.game.values.filter(value => value !== null && value !== undefined).length")
    assert known >= len(state["position"]["moves"]) - 1


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
    eventually(page, "document.querySelectorAll('#lines tbody tr').length === 8")
    eventually(page, r"/depth ([3-9]|\d\d)/.test(document.querySelector('#facts').textContent)")
    assert re.match(r"Black [\d.]+%", page.inner_text("#score"))
    assert re.search(r"depth \d+ · [\d,.]+K? nodes · ", page.inner_text("#facts"))
    page.get_by_label("Adviser").uncheck()
    eventually(page, "!app.isThinking")


WATCH_LINES = """
    window.seenLines = [];
    const count = () => seenLines.push(document.querySelectorAll("#lines tbody tr").length);
    new MutationObserver(count).observe(document.body, { childList: true, subtree: true });
"""


def test_an_engine_whose_lines_cost_depth_plays_with_one_and_advises_with_all(visit):
    page = visit("gomoku")
    assert told(page, "app.card.capabilities.includes('costly-lines')")
    set_up(page, Strength="1 s a move")
    page.evaluate(WATCH_LINES)  # they are gone once the engine has moved
    point(page, "h8").click()
    eventually(page, "app.game.ply === 2 && app.mover() === 'you'")
    assert max(page.evaluate("seenLines")) == 1
    page.get_by_label("Adviser").check()
    eventually(page, "document.querySelectorAll('#lines tbody tr').length === 8")


def test_connect_four_shows_what_each_column_is_worth(visit):
    page = visit(link="#game=connect4&start=9x8")
    page.get_by_label("Adviser").check()
    eventually(page, "document.querySelectorAll('.mark.hint b').length === 9")
    assert all(re.fullmatch(r"[\d.]+|[WL=]\d*", text) for text in page.locator(".mark.hint b").all_inner_texts())


BOARD = """async () => {
    const { StoneBoard } = await import("/static/board/stones.js");
    const card = {
        title: "Draughts", columns: [3, 3], board: { kind: "plain", columns: ["a", "b", "c"], rows: ["1"] },
        sides: [{ side: "one", name: "White", stone: "w" }, { side: "two", name: "Black", stone: "b" }],
    };
    window.played = [];
    const actions = { move: (move, among) => played.push([move, among.length]) };
    window.board = new StoneBoard(document.getElementById("board"), actions, card, 8);
    const legal = (move, cells) => ({ move, cells, kind: cells.length > 1 ? "from-to" : "cell" });
    window.board.show({
        rows: 1, columns: 3, cells: ["w", "K", ""], last: [1], won: [], outcome: "ongoing", toMove: "one",
        legal: [legal("a-b", [0, 1]), legal("a-c", [0, 2]), legal("b-c=Q", [1, 2]), legal("b-c=R", [1, 2])],
    }, undefined, "you");
}"""


def test_a_move_from_one_cell_to_another_takes_two_clicks_on_a_plain_grid_of_labels(visit):
    page = visit("connect4")
    page.evaluate(BOARD)
    a, b, c = (page.get_by_role("gridcell", name=re.compile(f"^{name}1,")) for name in "abc")
    assert [each.get_attribute("aria-label") for each in (a, b, c)] == ["a1, white", "b1, K, last move", "c1, empty"]
    assert b.inner_text() == "K"
    assert [each.get_attribute("aria-disabled") for each in (a, b, c)] == ["false", "false", "true"]
    a.click()
    assert (page.evaluate("played"), page.locator(".picked").count()) == ([], 1)
    assert c.get_attribute("aria-disabled") == "false"
    a.click()  # the same cell again gives it up
    assert page.locator(".picked").count() == 0
    a.click()
    c.click()
    b.click()
    c.click()  # two moves go there
    assert page.evaluate("played") == [["a-c", 1], ["b-c=Q", 2]]
    assert page.locator(".picked").count() == 0
