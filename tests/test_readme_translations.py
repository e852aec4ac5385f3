"""The README in Chinese says what README.md says: the same parts in the same order, commands, links, names and figures.

Whoever changes README.md changes both translations: these tests tell where.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LANGUAGES = {"README.md": "English", "README.zh-CN.md": "简体中文", "README.zh-TW.md": "繁體中文"}
SCRIPTS = {"README.zh-CN.md": "gb2312", "README.zh-TW.md": "big5"}  # without the characters of the other Chinese script
CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SWITCH = re.compile(r"^.*\(README\..*$\n", re.MULTILINE)  # the line that names the languages
PARTS = (("#", "heading"), ("- ", "item"), ("|", "row"), ("![", "image"), ("```", "code"))
TRANSLATIONS = pytest.mark.parametrize("name", SCRIPTS)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def code_blocks(text):
    """The blocks of code, without their comments, which are translated."""
    return [(language, re.sub(r"  +# .*", "", code)) for language, code in CODE_BLOCK.findall(text)]


def prose(text):
    return CODE_BLOCK.sub("", SWITCH.sub("", text, count=1))


def parts(text):
    """What the lines are, in order: headings by their level, items, rows of tables with their cells, images, code."""
    found = []
    for line in CODE_BLOCK.sub("```", text).splitlines():
        for mark, kind in PARTS:
            if line.startswith(mark):
                found.append((kind, len(line) - len(line.lstrip("#")), line.count("|")))
    return found


def links(text):
    return Counter(re.findall(r"\]\(([^)]*)\)", prose(text)))


def code_names(text):
    return Counter(re.findall(r"`[^`]+`", prose(text)))


def figures(text):
    """The numbers of each row of the tables; the order within a row may differ."""
    rows = [line for line in prose(text).splitlines() if line.startswith("|")]
    return [sorted(re.findall(r"\d+(?:[.,x]\d+)*", row)) for row in rows]


@TRANSLATIONS
@pytest.mark.parametrize("look_at", [parts, code_blocks, links, code_names, figures])
def test_a_translation_has_what_the_readme_has(name, look_at):
    english = look_at(read("README.md"))
    assert english
    assert look_at(read(name)) == english


@TRANSLATIONS
def test_a_translation_is_translated_into_its_own_script(name):
    text = SWITCH.sub("", read(name), count=1)
    for language in LANGUAGES.values():
        text = text.replace(language, "")
    text.replace("…", "").encode(SCRIPTS[name])
    for line in prose(text).splitlines():
        words = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        assert not re.search(r"(?:[a-z]{2,} ){4}", words), f"not translated: {line}"


@pytest.mark.parametrize("name", LANGUAGES)
def test_each_readme_links_to_the_others(name):
    names = [language if other == name else f"[{language}]({other})" for other, language in LANGUAGES.items()]
    assert read(name).splitlines()[2] == " | ".join(names)
