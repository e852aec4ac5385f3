"""The page for everybody: by keyboard, by ear, with weak eyes, on a phone."""

from importlib import resources

import pytest

from tests.clients.web.browser.conftest import GAMES, choose, eventually, set_up, told

TOOLS = ["New", "Hint", "Stop"]  # of a game that begins: nothing to undo


@pytest.mark.parametrize(
    "game", ["2584-2x3", "connect4", "gomoku&start=9x9&moves=e5.d4.f5"]
)  # other tile games look like 2584-2x3
def test_axe_finds_nothing_wrong(visit, game):
    page = visit(link=f"#game={game}", reduced_motion="reduce")
    if "moves" in game:
        set_up(page, White="You", Clock="10 minutes")
        page.get_by_label("Move numbers").check()
        page.get_by_role("button", name="Review", exact=True).click()
        eventually(page, "app.study.isReviewed")
    page.get_by_label("Adviser").check()
    page.wait_for_selector(".arrow.best, .mark.best")
    page.get_by_role("button", name="Stop").click()
    for summary in page.locator("main summary").all():
        summary.click()
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text() + "; undefined")
    for scheme, ground, rules, passes in (
        ("light", "rgb(245, 242, 236)", "", 20),
        ("dark", "rgb(21, 23, 27)", "{ runOnly: ['color-contrast'] }", 1),  # in the dark only the colours differ
    ):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
        assert page.locator(".arrow.best, .mark.best").count()
        found = page.evaluate(f"axe.run({rules})")
        assert len(found["passes"]) >= passes
        assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
        assert "aria-valid-attr-value" not in [each["id"] for each in found["incomplete"]]
    for name in ("New", "Set up a position") if "gomoku" in game else ():
        page.get_by_role("button", name=name, exact=True).first.click()
        page.locator("dialog[open], #editor:visible").wait_for()
        found = page.evaluate("axe.run()")
        assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
        page.keyboard.press("Escape")


def test_a_screen_reader_hears_tiles_once_and_signs_never(visit):
    page = visit(link="#game=2584-2x3&start=b 5 1 6 1 12 0")
    assert page.locator("#board").aria_snapshot().splitlines() == [
        '- button "slide up" [disabled]',
        '- button "slide left" [disabled]',
        "- 'group \"Tiles, row by row: 8 1 13; 1 233 empty\"':",
        *(f'  - button "row {row} column {column}, {tile}" [disabled]' for row, column, tile in HEARD),
        '- button "slide right"',
        '- button "slide down"',
    ]


HEARD = [(1, 1, "8"), (1, 2, "1"), (1, 3, "13"), (2, 1, "1"), (2, 2, "233"), (2, 3, "empty")]


@pytest.mark.parametrize(
    ("game", "board"),
    [("2584-2x3", ["slide up", "slide left", "slide right", "slide down"]), ("gomoku", ["h8, empty"])],
)
def test_the_tab_key_goes_from_the_games_to_the_board_to_the_tools(visit, game, board):
    page = visit(link=f"#game={game}")
    names = []
    for _ in range(8 + len(board) + len(TOOLS)):
        page.keyboard.press("Tab")
        names.append(told(page, "document.activeElement.ariaLabel ?? document.activeElement.textContent"))
    games = ["Skip to the board", *GAMES.values(), "Language", "Switch between light and dark"]
    assert names == [*games, *board, *TOOLS]


def test_a_hint_is_offered_to_who_is_to_decide_and_to_nobody_else(visit):
    page = visit("gomoku")
    hint = page.get_by_role("button", name="Hint")
    assert hint.is_enabled()
    set_up(page, Strength="30 s a move", Black="Engine")
    assert hint.is_disabled()


def test_a_phone_shows_all_of_it_without_sideways_scrolling(visit):
    page = visit(viewport={"width": 360, "height": 740})
    for game in GAMES:
        choose(page, game)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, game
        box = page.locator("#board > *").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        for button in page.get_by_role("navigation").get_by_role("button").all():
            box = button.bounding_box()
            assert box["x"] + box["width"] <= 360, "a game out of sight"
        assert len({button.bounding_box()["y"] for button in page.locator("#tools button:visible").all()}) == 1
