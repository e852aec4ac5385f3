"""Games that outlive the page: reloads, links, positions typed in, and files."""

import base64
import json
import zlib

from tests.clients.web.browser.conftest import choose, eventually, make_move, new_game, point, set_up, state_of, told


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
        make_move(page, page.locator(".point").nth(column), str(column + 1))
        page.wait_for_function("moves => location.hash.endsWith(moves)", arg="moves=4" if column == 3 else "moves=4.5")
    told(page, "history.replaceState(null, '', location.hash.replace('4.5', '4'))")
    page.reload()
    eventually(page, "app.game?.state")
    assert told(page, "app.game.moves.join()") == "4,5"


def test_a_link_restores_the_position_elsewhere(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    for column in (3, 3, 4):
        make_move(page, page.locator(".point").nth(column), str(column + 1))
    page.wait_for_function("() => location.hash.endsWith('moves=4.4.5')")
    link = page.evaluate("location.hash")
    other = visit(link=link)
    eventually(other, "app.game.game === 'connect4'")
    assert state_of(other)["position"]["moves"] == ["4", "4", "5"]
    assert other.locator("[data-stone=one]").count() == 2
    for written in ("4.4.5", "4+4+5", "4, 4, 5"):  # people write links by hand
        parse = f"import('/static/game/link.js').then(link => link.parseLink('#game=connect4&moves={written}').moves)"
        assert told(page, parse) == ["4", "4", "5"]


def test_each_game_is_where_it_was_left(visit):
    page = visit("connect4")
    set_up(page, Yellow="You")
    page.locator(".point").nth(3).click()
    eventually(page, "app.game.ply === 1")
    choose(page, "2048")
    choose(page, "connect4")
    eventually(page, "app.game.moves.join() === '4'")


def test_a_link_to_where_a_tile_is_to_drop_leaves_the_drop_to_who_drops(visit):
    page = visit("2048")
    set_up(page, Tiles_come_from="You")
    page.goto(page.url.split("#")[0] + "#game=2048&start=a 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 5")
    page.reload()
    eventually(page, "app.game?.state.text.startsWith('a 1 1 0')")
    assert told(page, "[app.mover(), app.game.moves.length]") == ["dropper", 0]


def test_a_position_can_be_typed_in_and_a_wrong_one_is_explained(visit):
    page = visit("2584-2x3")
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_text("From a position").click()
    page.get_by_label("Position", exact=True).fill("b 2 2 0 0 0")
    page.get_by_role("button", name="New game").click()
    page.wait_for_selector("#setup-error:has-text('expected b or a and 6 numbers')")
    page.get_by_label("Position", exact=True).fill("b 5 1 6 0 12 0")
    page.get_by_role("button", name="New game").click()
    eventually(page, "app.game.state.text === 'b 5 1 6 0 12 0'")
    assert sorted(page.locator(".tile").all_inner_texts()) == ["1", "13", "233", "8"]


def test_a_board_that_cannot_be_is_explained_and_locks_nobody_out(visit):
    page = visit("connect4")
    new_game(page, Forbidden_cell="9,9")
    page.wait_for_selector("#setup-error:has-text('9,9')")
    page.keyboard.press("Escape")
    forget = "() => { sessionStorage.clear(); for (const game of ['connect4', '2048']) localStorage.removeItem(`plyd game ${game}`); }"  # noqa: E501
    page.evaluate(forget)
    page.get_by_role("button", name="2048", exact=True).click()
    eventually(page, "app.game.game === '2048'")
    page.evaluate(forget)
    choose(page, "connect4")
    page.wait_for_selector("#status:has-text('9,9')")
    new_game(page, Forbidden_cell="")
    eventually(page, "app.game.start === '7x6' || app.game.state.cells.every(cell => cell === '')")


def saved(page, folder, form=None):
    """The file that the page saves."""
    if form:
        page.get_by_label("Format").select_option(form)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def test_a_game_of_gomoku_is_saved_and_opened_again_in_each_format(visit, tmp_path):
    page, other = visit("gomoku"), visit()
    set_up(page, White="You")
    for name in ("h8", "i9", "g7"):
        make_move(page, point(page, name), name)
    for form in ("sgf", "psq", "text"):
        choose(other, "2048")
        other.set_input_files("#file", saved(page, tmp_path, form))
        eventually(other, "app.game.game === 'gomoku' && app.game.ply === 3 && app.isPaused")
        assert state_of(other)["position"]["moves"] == ["h8", "i9", "g7"]
        told(other, "(app.goTo(0), 0)")  # so that the next file is seen to be opened
        eventually(other, "app.game.ply === 0")


def test_a_game_of_2584_is_saved_as_the_course_has_it_and_opened_again(visit, tmp_path):
    page = visit("2584")
    set_up(page, Strength="At a glance", Player="Engine")
    eventually(page, "app.game.moves.length > 20")
    page.keyboard.press("s")
    eventually(page, "app.isPaused && !app.isBusy && !app.isThinking")
    file = saved(page, tmp_path)
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


METHOD, ENGINE = {"name": "method"}, {"name": "engine"}
RENAMED = [  # the engine's options, the options that were saved, and what is loaded
    ([METHOD], {"engine": "negascout", "threads": "2"}, {"method": "negascout", "threads": "2"}),
    ([METHOD], {"method": "mcts", "engine": "negascout"}, {"method": "mcts"}),
    ([METHOD], {"threads": "2"}, {"threads": "2"}),
    ([METHOD], None, {}),
    ([ENGINE], {"engine": "negascout"}, {"engine": "negascout"}),
    ([METHOD, ENGINE], {"engine": "negascout"}, {"engine": "negascout"}),
]


def test_saved_options_follow_an_option_that_was_renamed(visit):
    page = visit()
    load = """([options, saved]) => import('/static/game/storage.js').then(storage => {
        localStorage.setItem('plyd gomoku', JSON.stringify({ adviser: true, options: saved ?? undefined }));
        const defaults = { adviser: false, level: '1 s', levelTwo: 'same', options: {} };
        return storage.loadSettings({ game: 'gomoku', options }, defaults);
    })"""
    for options, saved, loaded in RENAMED:
        found = page.evaluate(load, [options, saved])
        assert found == {"adviser": True, "level": "1 s", "levelTwo": "same", "options": loaded}


def packed(whole):
    """A game as a link has it."""
    deflate = zlib.compressobj(wbits=-15)
    data = deflate.compress(json.dumps(whole).encode()) + deflate.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


TREE = {"moves": ["h8", "i9", "i8"]}
FOREIGN = [  # what a link may say of the tree, that no page of ours says
    {"moves": "h8"},
    {"moves": [1]},
    {"parents": [0, 1]},
    {"parents": [0, 1, 9]},
    {"parents": {"length": 3}},
    {"values": {"a": 1}},
    {"values": ["x"]},
    {"comments": [5]},
    {"reviews": {"length": 1}},
    {"reviews": [{"value": "1", "side": "one"}]},
    {"reviews": [{"value": 0.5, "side": "one", "move": {}}]},
    {"reviews": [{"value": 0.5, "side": "one", "slides": 7}]},
    {"reviews": [{"value": 0.5, "side": "three"}]},
]


def test_a_link_that_somebody_else_has_made_up_opens_its_position(visit):
    page = visit()
    read = "(hash) => import('/static/game/link.js').then((link) => link.readLink(hash))"
    link = "#game=gomoku&start=15x15&moves=h8.i9&whole="
    for whole in (None, [], 5, {"tree": None}, *({"tree": TREE | foreign} for foreign in FOREIGN)):
        record = page.evaluate(read, link + packed(whole))
        assert (record["moves"], "tree" in record) == (["h8", "i9"], False), whole
    kept = page.evaluate(
        read, link + packed({"tree": TREE, "players": ["Ann", "Bob"], "flag": "two", "at": 1, "end": 3})
    )
    assert (kept["tree"], kept["players"], kept["flag"], kept["at"], kept["end"]) == (TREE, ["Ann", "Bob"], "two", 1, 3)
    strange = {"players": None, "flag": {}, "at": "x", "end": 1.5, "points": "1", "start": 5, "room": {"name": 5}}
    kept = page.evaluate(read, link + packed({"tree": TREE, **strange}))
    assert (kept["start"], kept["points"], kept["tree"]) == ("15x15", 0, TREE)
    assert not kept.keys() & (strange.keys() - {"start", "points"})
    other = visit(link=link + packed({"tree": TREE | {"comments": ["<img src=x onerror=alert(1)>"]}, **strange}))
    eventually(other, "app.game.moves.join() === 'h8,i9,i8'")
    assert other.locator("#comment img").count() == 0


def test_a_saved_game_that_is_broken_locks_nobody_out(visit):
    page = visit("connect4")
    for broken in (
        {"game": "connect4", "players": None},
        {"game": "connect4", "tree": {"moves": ["1"], "parents": [9]}},
    ):
        page.evaluate(
            "(text) => { window.plyd.autosave.now = () => {}; for (const store of [localStorage, sessionStorage]) "
            "{ store.setItem('plyd last', 'connect4'); store.setItem('plyd game connect4', text); } }",
            json.dumps(broken),
        )
        page.goto(page.url.partition("#")[0])
        page.reload()
        eventually(page, "app.game?.state")
        assert state_of(page)["outcome"] == "ongoing"
