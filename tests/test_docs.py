"""The documentation as a site: what it makes from code, and its tutorials. `make docs` builds it and checks links."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from plyd.clients.cli import main
from tests.patience import LONG

DOCS = Path(__file__).parent.parent / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)
COMMANDS = {" ".join(names): command for names, command in generate._commands(main, ("plyd",))}


def test_every_command_is_on_the_page_of_commands():
    page = generate.cli_page()
    assert {"plyd serve", "plyd models pack", "plyd stress soak"} <= set(COMMANDS)
    for name in COMMANDS:
        assert f"\n## {name}\n" in page


def test_every_public_method_is_on_the_page_of_the_python_api():
    page = generate.python_page()
    for name in (
        "EngineClient.start",
        "EngineClient.search",
        "AsyncEngineClient.analyze",
        "Game.best",
        "PlydError",
        "State.svg",
        "Score.win_probability",
    ):
        assert re.search(rf"^##+ {re.escape(name)}$", page, re.MULTILINE)


def test_the_page_of_the_notebook_has_its_cells_and_their_outputs():
    page = generate.notebook_page()
    assert page.startswith("# plyd in a notebook\n")
    assert page.count("```python") > 5
    assert page.count("<svg ") == page.count("</svg>") >= 4
    assert "wins" in page


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_commands_of_a_tutorial_have_the_options_that_it_uses(tutorial):
    lines = re.findall(r"^\$ (plyd [^#\n]*)", tutorial.read_text(), re.MULTILINE)
    assert lines or tutorial.stem == "embed"
    for line in lines:
        words = line.split()
        name = next(" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in COMMANDS)
        known = {flag for parameter in COMMANDS[name].params for flag in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_python_of_the_tutorial_runs(number):
    code = re.findall(r"^```python\n(.*?)^```", (DOCS / "tutorials" / "embed.md").read_text(), re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code[number]], capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


LINKS = [  # on a page, a link, and what it becomes
    ("web.md", "[a](guis.md#x)", "[a](guis.md#x)"),
    ("web.md", "[a](https://x.example)", "[a](https://x.example)"),
    ("web.md", "[`x`](../Makefile)", "`x`"),
    ("web.md", "[x](../models/files.py)", "x (`models/files.py`)"),
    ("index.md", "[a](docs/web.md#b)", "[a](web.md#b)"),
    ("index.md", "![a](docs/images/web-2584.png)", "![a](images/web-2584.png)"),
    ("index.md", "[a](CONTRIBUTING.md)", "[a](contributing.md)"),
    ("index.md", "[a](docs/notebook.ipynb)", "[a](notebook.md)"),
    ("python.md", "[a](notebook.ipynb)", "[a](notebook.md)"),
    ("tutorials/play.md", "[a](../../README.md)", "[a](../index.md)"),
]


def relinked(page, text):
    return generate.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page)), None, None)


@pytest.mark.parametrize(("page", "link", "meant"), LINKS)
def test_links_within_the_repository_lead_somewhere_on_the_site(page, link, meant):
    assert relinked(page, f"See {link}.") == f"See {meant}."


def test_a_link_to_nowhere_ends_the_build():
    with pytest.raises(SystemExit, match=r"lost\.md"):
        relinked("index.md", "[a](docs/lost.md)")
