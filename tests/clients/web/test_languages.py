"""The page's texts: all of them in tables, each in every language, none for nothing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import plyd.clients.web
from plyd.clients.formats.files import FILES
from plyd.engines import registry
from tests.clients.web.literals import literals

WEB = Path(plyd.clients.web.__file__).parent
STATIC = WEB / "static"
TABLES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (STATIC / "messages").glob("*.json")}
ENGLISH = TABLES["en"]
TRANSLATED = sorted(set(TABLES) - {"en"})
PLURAL_FORMS = {"en": {"one", "other"}}  # as Intl.PluralRules names them; Chinese has one form, a plain text
CHARACTERS = {"en": "ascii", "zh-CN": "gb2312", "zh-TW": "big5"}  # without the characters of the other Chinese script
DAEMON_WORDS = ("game", "side", "variant", "choice", "format", "option", "help")  # groups of texts by a daemon's names
NOT_IN_THE_FORM = {"tile", "environment"}  # options that the page sets by itself
KEY = re.compile(r"[a-z]+\.[a-z][a-z.-]*(?<!\.js)(?<!\.txt)")  # two words with a dot, and no file
TWO_WORDS_OR_A_SENTENCE = re.compile(r"[^\W\d_]{2,} [^\W\d_]|^[A-Z][a-z]|[^\W\d_a-zA-Z]")
NOT_SPOKEN = re.compile(r"(class(Name)?(:| =)[^,;]*|(querySelector(All)?|matches|matchMedia)\()$")  # before it
NO_TEXTS = {
    *("English", "简体中文", "繁體中文"),  # each language in itself
    *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Tab", "Escape", "Unavailable", "Hant"),
    *("plyd theme", "plyd language", "plyd last", "plyd ", "plyd game ", "plyd sound"),  # keys of the browser's storage
    *("At a glance", "2 moves deep", "the same"),  # strengths as old pages saved them
}


class Page(HTMLParser):
    """What index.html says: the keys of its texts, and texts that stand in it themselves."""

    def __init__(self):
        super().__init__()
        self.keys, self.texts, self._open = [], [], []
        self.feed((STATIC / "index.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "img", "input"):
            self._open.append(tag)
        for name, value in attributes:
            if name in ("data-text", "data-label", "data-title"):
                self.keys.append(value)
            elif name in ("aria-label", "title", "alt", "placeholder"):
                self.texts.append(value)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, text):
        if not {"noscript", "kbd"} & set(self._open):
            self.texts.append(text.strip())


def spoken(path):
    """The literals of a script that may reach a person: not classes and selectors."""
    return [text for before, text in literals(path.read_text(encoding="utf-8")) if not NOT_SPOKEN.search(before)]


SCRIPTS = sorted(STATIC.rglob("*.js"))


def used_keys():
    keys = set(Page().keys)
    for path in SCRIPTS:
        keys |= {text for text in spoken(path) if KEY.fullmatch(text)}
    for path in WEB.glob("*.py"):
        keys |= set(re.findall(r'BridgeError\(\w+, "([^"]+)"', path.read_text(encoding="utf-8")))
    return keys


def daemon_words():
    """The names by which cards are translated: all of them, and among them those that English puts in words too."""
    words, in_words = {f"format.{form}" for form in (*FILES, "png", "gif")}, set()  # pictures are made by the page
    for game in registry.ENGINES:
        engine = registry.load(game)
        words |= {f"game.{game}", *(f"side.{side.name}" for side in engine.card.sides)}
        words |= {f"variant.{name}" for name in engine.variants}
        for option in engine.card.options:
            if option.name not in NOT_IN_THE_FORM:
                own = f"help.{game}.{option.name}"
                words |= {f"choice.{each}" for each in option.choices}
                words.add(own if own in TABLES["zh-CN"] else f"help.{option.name}")
                in_words.add(f"option.{option.name}")
    return words | in_words, in_words


def group(key):
    return key.split(".")[0]


def forms(text):
    return list(text.values()) if isinstance(text, dict) else [text]


def test_every_text_of_the_page_is_in_the_english_table_and_no_other():
    words = {key for key in ENGLISH if group(key) in DAEMON_WORDS}
    assert used_keys() == set(ENGLISH) - words
    assert words == daemon_words()[1], "names of the options in the form"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_in_every_language_and_so_are_the_words_of_our_daemons(language):
    assert set(TABLES[language]) == set(ENGLISH) | daemon_words()[0]


@pytest.mark.parametrize("language", TABLES)
def test_texts_mention_the_same_values_in_the_forms_and_the_script_of_their_language(language):
    for key, text in TABLES[language].items():
        if isinstance(text, dict):
            assert set(text) == PLURAL_FORMS[language], key
        for form in forms(text):
            assert form.strip(), key
            form.replace("…", "").encode(CHARACTERS[language])
            assert values_of(form) == values_of(forms(ENGLISH.get(key, form))[-1]), key


def values_of(text):
    return set(re.findall(r"\{(\w+)\}", text))


def test_no_text_stands_in_the_page_itself():
    assert [text for text in Page().texts if re.search(r"[^\W_]", text)] == [
        "plyd",
        "plyd",
    ]  # title and heading


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_text_stands_in_a_script(path):
    assert not [text for text in spoken(path) if TWO_WORDS_OR_A_SENTENCE.search(text) and text not in NO_TEXTS]


def test_literals_are_found_wherever_they_stand():
    script = """
        // "a comment"
        const a = "one \\" two", b = `three ${c ? `four ${"five"}` : 'six'} seven`; /* 'no' */
        const d = text.replace(/"[/"]/g, "eight") / 2 / "nine".length;
    """
    found = [text for _, text in literals(script)]
    assert sorted(found) == sorted(['one \\" two', "three ", " seven", "four ", "", "five", "six", "eight", "nine"])


def test_the_scripts_know_no_game_and_no_method_of_an_engine_by_its_name():
    cards = [registry.load(game).card for game in registry.ENGINES]
    options = [option for card in cards for option in card.options if option.name not in NOT_IN_THE_FORM]
    names = {card.game for card in cards} | {choice for option in options for choice in option.choices}
    assert {"gomoku", "negascout"} <= names
    names.remove("graph")  # it is an element of the page, too
    for script in STATIC.glob("*.js"):
        assert not names & {text for _, text in literals(script.read_text(encoding="utf-8"))}, script
