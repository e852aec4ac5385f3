"""The page in the reader's language."""

import json
import re

from tests.clients.web.browser.conftest import choose, eventually, make_move, set_up, told
from tests.clients.web.test_languages import TABLES, forms

CHOICES = {  # by what the browser prefers: which of our languages is closest
    "en": [["en-GB"], ["fr-FR", "de"], [], ["en-US", "zh-TW"]],
    "zh-CN": [["zh"], ["zh-Hans-HK"], ["zh-SG"], ["fr-FR", "zh-CN", "en"]],
    "zh-TW": [["zh-TW"], ["zh-HK"], ["zh-Hant"], ["zh-MO"]],
}
SPOKEN = """() => {
    const isSpoken = (element) => !element.closest("[lang=en]:not(html), #language, kbd, script, noscript, h1, title");
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) if (isSpoken(texts.currentNode.parentElement)) found.push(texts.currentNode.data);
    for (const name of ["aria-label", "aria-valuetext", "title", "placeholder"]) {
        const elements = [...document.querySelectorAll(`[${name}]`)].filter(isSpoken);
        found.push(...elements.map((element) => element.getAttribute(name)));
    }
    return found;
}"""


def test_the_browser_chooses_the_language_and_a_person_another_which_is_remembered(visit):
    page = visit("", link="#game=gomoku", locale="zh-TW")
    assert told(page, "document.documentElement.lang") == "zh-TW"
    page.get_by_text("更多選項").click()
    set_up(page, 白方="你", 方法="MCTS")
    assert page.inner_text("#status").startswith("輪到你走")
    assert page.get_by_label("執行緒數").get_attribute("aria-describedby") == "help-threads"
    assert page.inner_text("#help-threads").startswith("一次搜尋")
    make_move(page, page.get_by_role("gridcell", name=re.compile(r"^h8\W")), "h8")
    page.get_by_label("語言").select_option(label="English")
    eventually(page, "document.documentElement.lang === 'en' && app.game?.ply === 1")
    assert page.get_by_role("button", name="Undo").is_enabled()
    assert told(page, "[app.settings.two, app.settings.options.method]") == ["you", "mcts"]
    page.reload()
    eventually(page, "app.game")
    assert told(page, "document.documentElement.lang") == "en"
    for language, choices in CHOICES.items():
        for preferred in choices:
            asked = f"import('/static/page/language.js').then(it => it.choose(null, {json.dumps(preferred)}))"
            assert told(page, asked) == language, preferred


def test_whatever_the_page_says_comes_from_the_table(visit):
    marked = {key: f"⟦{forms(text)[-1]}⟧" for key, text in TABLES["zh-CN"].items()}
    page = visit(link="#game=2584-2x3")
    page.route("**/static/messages/en.json", lambda route: route.fulfill(json=marked))
    page.reload()
    for game in ("2584-2x3", "connect4", "gomoku"):
        title = marked[f"game.{game}"]
        page.get_by_role("navigation").get_by_role("button", name=title, exact=True).click()
        eventually(page, "app.game?.game === arg.game && document.title.startsWith(arg.title)", game=game, title=title)
        page.locator("#adviser").check()
        page.wait_for_selector("#lines tbody tr")
        summaries = told(page, "app.cards.map(card => card.summary)")
        assert not [text for text in page.evaluate(SPOKEN) if is_unmarked(text, summaries)], game


def is_unmarked(text, summaries):
    """Whether a text has words that come neither from the table nor from a daemon: moves, cells, short numbers."""
    if text in summaries:
        return False
    while "⟦" in text and (inner := re.sub(r"⟦[^⟦⟧]*⟧", "", text)) != text:
        text = inner
    return any(
        re.search(r"[^\W\d_]", word) and not re.fullmatch(r"[a-z]\d*|[\d.,]+[KMB]", word) for word in text.split()
    )


def test_strengths_that_were_saved_before_there_were_languages_still_hold(visit):
    page = visit()
    for saved, level in {"500 ms a move": "seconds 0.5", "10 s a move": "seconds 10", "Easy": "nodes 100"}.items():
        told(page, f"localStorage.setItem('plyd gomoku', JSON.stringify({{ level: '{saved}', levelTwo: 'the same' }}))")
        choose(page, "2048")
        choose(page, "gomoku")
        eventually(page, "app.settings.level === arg.level && app.settings.levelTwo === 'same'", level=level)
        assert page.locator("#choice-level").input_value() == level
