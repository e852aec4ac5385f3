"""The review of a game, its tree of variations, and where both are kept."""

from plyd.clients.analyze.query import Query
from plyd.clients.analyze.review import review_rows
from tests.clients.web.browser.conftest import eventually, state_of, told

MOVES = ["e5", "e4", "e6", "a1", "e7", "a2", "i9", "a3", "e8", "a4", "i1", "a5"]  # at e9, black had won
SHARED = "import('/static/game/link.js').then(async (it) => (await it.shareLink(app.game)).link)"
GAME = f"#game=gomoku&variant=freestyle&start=9x9&moves={'.'.join(MOVES)}"


def shows(page, selector, words):
    eventually(
        page, "document.querySelector(arg.selector).textContent.includes(arg.words)", selector=selector, words=words
    )


def review(page):
    page.get_by_label("Time for each move of the review").select_option(index=0)
    page.get_by_role("button", name="Review", exact=True).click()
    eventually(page, "app.study.isReviewed && !app.study.review.isRunning")


def test_a_game_is_reviewed_kept_saved_and_shared_and_the_review_deleted(visit, tmp_path):
    page = visit(link=GAME)
    review(page)
    page.get_by_role("button", name="11. i1, blunder").wait_for()
    assert [row.split()[0] for row in page.locator("#accuracy tbody tr").all_inner_texts()] == ["Black", "White"]
    assert page.locator("#graph .dot.blunder").count() >= 1
    page.keyboard.press("m")  # from the end: there is no later one
    page.get_by_role("button", name="< Mistake").click()
    eventually(page, "app.game.ply === 11")
    shows(page, "#verdict", "11. i1: blunder, 100% lost; best was e9")
    page.get_by_role("button", name="Show the best line").click()
    eventually(page, "app.game.node.move === 'e9' && app.game.ply === 11")
    assert state_of(page)["outcome"] == "one"
    page.locator("#moves .variation").get_by_role("button", name="11. e9").wait_for()

    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    download.value.save_as(tmp_path / "game.sgf")
    text = (tmp_path / "game.sgf").read_text()
    assert "RE[W+]" in text  # of the main line
    assert "BM[2]C[plyd\\: 11. i1\\: blunder, 100% lost; best was e9]" in text
    page.get_by_role("button", name="2048").click()
    eventually(page, "app.game.game === '2048'")
    page.set_input_files("#file", tmp_path / "game.sgf")
    eventually(page, "app.game.game === 'gomoku' && app.game.moves.join(' ') === arg.moves", moves=" ".join(MOVES))
    shows(page, "#comment", "plyd: 12. a5")
    page.get_by_role("button", name="11. e9", exact=True).wait_for()

    other = visit(link=GAME)
    review(other)
    shared = visit(link=told(other, SHARED))
    eventually(shared, "app.study.isReviewed")
    shared.get_by_role("button", name="11. i1, blunder").wait_for()
    shared.get_by_role("button", name="Delete review").click()
    eventually(shared, "!app.game.line.some((node) => node.review) && document.getElementById('reviewed').hidden")
    shared.close()
    again = visit(context=other.context)  # a new tab, as after the old one was closed
    eventually(again, "app.study.isReviewed && app.game.moves.length === 12")


def test_a_review_asks_for_the_second_best_move_too_which_tells_an_only_move(visit):
    page = visit(link=GAME)
    told(page, "(app.socket.review = async (position, turns, query) => { app.asked = query; }, 0)")
    page.get_by_role("button", name="Review", exact=True).click()
    eventually(page, "app.asked?.lines === 2")


def test_the_keys_walk_through_the_tree(visit):
    page = visit(link="#game=connect4&start=7x6&moves=4.4.5")
    page.get_by_label("Yellow", exact=True).select_option(label="You")
    for key, place in (("Home", "0 4,4,5"), ("ArrowRight", "1 4,4,5")):
        page.keyboard.press(key)
        eventually(page, "`${app.game.ply} ${app.game.moves}` === arg.place", place=place)
    page.locator(".point").nth(0).click()
    eventually(page, "`${app.game.ply} ${app.game.moves}` === '2 4,1' && !app.isBusy")
    for key, place in (
        ("ArrowUp", "2 4,4,5"),
        ("End", "3 4,4,5"),
        ("ArrowLeft", "2 4,4,5"),
        ("ArrowDown", "2 4,1"),
        ("ArrowLeft", "1 4,1"),
        ("ArrowRight", "2 4,1"),
    ):
        page.keyboard.press(key)
        eventually(page, "`${app.game.ply} ${app.game.moves}` === arg.place", place=place)
    page.get_by_role("button", name="Make main line").click()
    eventually(page, "app.game.root.children[0].children.map((node) => node.move).join() === '1,4'")
    page.get_by_role("button", name="Delete from here").click()
    eventually(page, "app.game.ply === 1 && app.game.moves.join() === '4,4,5'")


def test_a_tile_game_is_reviewed_by_the_points_that_each_slide_lost(visit):
    page = visit(link="#game=2584-2x3&start=b 5 1 6 1 12 0")
    page.keyboard.press("ArrowDown")
    eventually(page, "app.game.ply === 2 && !app.isBusy")
    review(page)
    rows = told(page, "import('/static/study/grade.js').then((it) => it.gradesOf(app.game.line, true))")
    grade = rows[1]
    assert (grade["move"], grade["best"], round(grade["before"], 2)) == ("down", "right", 318.5)
    assert round(grade["loss"], 2) == 285.27
    assert grade["mark"] == "blunder"
    told(page, "(app.goTo(1), 0)")
    shows(page, "#verdict", "blunder, 285 points lost; best was right")
    assert page.locator("#accuracy tbody tr").count() == 1


ANSWERS = {  # by turn, as `plyd analyze` has them
    0: {"move": "a", "score": {"pointOfView": "player_one", "winProbability": 0.75}, "lines": []},
    1: {"move": "b", "score": {"pointOfView": "player_two", "winProbability": 0.5}, "lines": []},
    2: {"move": "c", "score": {"pointOfView": "player_one", "proven": "loss"}, "lines": []},
    3: {"move": "d", "score": {"pointOfView": "player_two", "proven": "win", "plies": 1}, "lines": []},
    4: {"score": {"pointOfView": "player_one", "proven": "loss", "plies": 0}, "lines": []},
}
GRADES = """async ([moves, reviews]) => {
    const { unpackTree } = await import("/static/game/tree.js"), { gradesOf } = await import("/static/study/grade.js");
    return gradesOf(unpackTree({ moves, reviews }), false).slice(1);
}"""


def test_the_page_and_plyd_analyze_grade_alike(visit):
    moves = ("x", "b", "y", "d")
    rows = review_rows(Query(id="", game="gomoku", moves=moves), ANSWERS)[1:]
    values = {0: 0.75, 1: 0.5, 2: 0.0, 3: 0.0, 4: 0.0}  # player one's
    sides = {0: "one", 1: "two", 2: "one", 3: "two", 4: "one"}
    reviews = [{"value": values[at], "side": sides[at], "move": ANSWERS[at].get("move")} for at in range(5)]
    grades = visit().evaluate(GRADES, [moves, reviews])
    fields = ("side", "move", "before", "after", "best", "loss")
    assert [[grade[name] for name in fields] for grade in grades] == [row[1:] for row in rows]
    assert [grade["mark"] for grade in grades] == ["blunder", "best", "fine", "best"]
