"""CONTRIBUTING's recipe for a new game is the example: each file that it names is there, with what it shows."""

import re
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPE = TEXT.partition("## A new game")[2].partition("\n## ")[0]
[EXAMPLE] = {ROOT / place for place in re.findall(r"\]\((examples/\w+)\)", RECIPE)}


def test_every_step_names_a_file_of_the_example():
    steps = re.findall(r"^\d\. `([\w/.]+)`", RECIPE, re.MULTILINE)
    assert len(steps) == 5
    assert all((EXAMPLE / step).is_file() for step in steps)


def test_what_the_recipe_shows_is_in_the_example():
    shown = re.findall(r"```(toml|python)\n(.*?)```", RECIPE, re.DOTALL)
    assert [kind for kind, _ in shown] == ["toml", "python"]
    for (_, code), file in zip(shown, ("pyproject.toml", "tests/test_contract.py"), strict=True):
        assert textwrap.dedent(code).strip() in (EXAMPLE / file).read_text()


def test_the_entry_point_is_the_engine_and_the_files_that_it_names_are_there():
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    [(game, place)] = project["entry-points"]["plyd.engines"].items()
    module, _, name = place.partition(":")
    source = (EXAMPLE / f"{module.replace('.', '/')}.py").read_text()
    assert f"class {name}(Engine):" in source
    assert f'game="{game}"' in source


def test_nothing_outside_of_the_example_and_the_docs_knows_its_game():
    [game] = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]["plyd.engines"]
    rooms = ("clients", "servers", "engines", "models", "proto", "deploy", "tests")
    files = [path for room in rooms for path in (ROOT / room).rglob("*") if path.suffix in SOURCES and path.is_file()]
    assert len(files) > 300
    assert not [path for path in files if game in path.read_text(errors="replace").lower()]


SOURCES = {".py", ".pyi", ".js", ".css", ".html", ".proto", ".toml", ".yaml", ".service", ".env"}
