"""What the documentation site makes from code: the command line, the Python API, and the options of every game.

mkdocs calls the functions whose names begin with `on_` (mkdocs.yml). `python docs/generate.py` writes the games' ports
and options, as `Describe` tells them, to docs/protocol.md; a test compares them.
"""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "README.zh-CN.md": "index.zh-CN.md",
    "README.zh-TW.md": "index.zh-TW.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
BEGIN, END = "<!-- made by docs/generate.py -->\n", "<!-- end -->"


# The games, for docs/protocol.md


def games_text() -> str:
    """Port, variants and options of every game of this package."""
    from plyd.clients.library.channel import UP_ADDRESSES
    from plyd.engines import registry

    lines = ["| game | address under `plyd up` | variants, the default first |", "|---|---|---|"]
    cards = {game: registry.load(game) for game in registry.ENGINES}
    for game, engine in cards.items():
        variants = "; ".join(f"`{name}`: {rules.summary}" for name, rules in engine.variants.items())
        lines.append(f"| `{game}` | `{UP_ADDRESSES[game]}` | {variants} |")
    lines += ["", "| game | option | default | allowed | meaning |", "|---|---|---|---|---|"]
    for game, engine in cards.items():
        for option in engine.card.options:
            cells = f"`{option.name}`", f"`{option.default}`".lower(), option._allowed(), option.summary
            lines.append(f"| `{game}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_games() -> None:
    """Put the games' ports and options into docs/protocol.md."""
    page = ROOT / "docs" / "protocol.md"
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(before + BEGIN + games_text() + END + rest.partition(END)[2])


# Pages of the site


def cli_page() -> str:
    """Every command with its help, as the program prints it."""
    from plyd.clients.cli import main

    lines = ["# Command line", "", "What `plyd COMMAND --help` prints, for every command.", ""]
    for names, command in _commands(main, ("plyd",)):
        with click.Context(command, info_name=" ".join(names), terminal_width=100) as context:
            lines += [f"## {' '.join(names)}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _commands(command: click.Command, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all commands below it."""
    yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, f"{name} is listed but missing"
            yield from _commands(below, (*names, name))


def python_page() -> str:
    """The public classes of plyd.clients, from their signatures and docstrings."""
    from plyd import clients

    lines = ["# Python API", "", "Public names of `plyd.clients`; [a tutorial](../tutorials/embed.md) uses them.", ""]
    for name in clients.__all__:
        lines += _described(name, getattr(clients, name), "##")
    return "\n".join(lines)


def _described(name: str, thing: Any, heading: str) -> Iterator[str]:
    """A class with its public methods, or a function."""
    yield from (f"{heading} {name}", "")
    if signature := _signature(thing):
        yield from ("```python", f"{name.rpartition('.')[2]}{signature}", "```", "")
    yield from (inspect.getdoc(thing) or "", "")
    if inspect.isclass(thing):
        for method, value in vars(thing).items():
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if not method.startswith("_") and inspect.isroutine(function):
                yield from _described(f"{name}.{method}", inspect.unwrap(function), "###")


def _signature(thing: Any) -> str:
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"(\w+\.)+(\w+)", r"\2", text)  # plyd.v1.engine_pb2.Option is Option
    return text if len(text) < 100 else text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")


def notebook_page() -> str:
    """The notebook with its outputs, as a page."""
    lines: list[str] = []
    for cell in json.loads((ROOT / "docs" / "notebook.ipynb").read_text())["cells"]:
        source = "".join(cell["source"])
        lines += [source, ""] if cell["cell_type"] == "markdown" else ["```python", source, "```", ""]
        for output in cell.get("outputs", ()):
            shown = output.get("data", {"text/plain": output.get("text", "")})
            if "image/svg+xml" in shown:
                lines += ["".join(shown["image/svg+xml"]), ""]
            else:
                lines += ["```text", "".join(shown["text/plain"]).rstrip(), "```", ""]
    return "\n".join(lines)


# What mkdocs calls


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from code and from the files at the top of the repository."""
    from mkdocs.structure.files import File

    made = {"reference/cli.md": cli_page(), "reference/python.md": python_page(), "notebook.md": notebook_page()}
    made |= {page: (ROOT / source).read_text() for source, page in PAGES.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Let links that leave the site name a file of the repository; one that is not there ends the build."""
    source = page.file.src_uri
    folder = ROOT if source in PAGES.values() else (ROOT / "docs" / source).parent

    def relink(found: re.Match[str]) -> str:
        mark, text, target = found.groups()
        path, hash_sign, anchor = target.partition("#")
        place = (folder / path).resolve()
        is_notebook = place == ROOT / "docs" / "notebook.ipynb"
        if "://" in target or not path or (folder != ROOT and place.is_relative_to(ROOT / "docs") and not is_notebook):
            return found[0]
        if not place.exists():
            raise SystemExit(f"{source}: {target} is not in the repository")
        inside = place.relative_to(ROOT)
        if str(inside) in PAGES:
            return f"{mark}[{text}]({_up(source)}{PAGES[str(inside)]}{hash_sign}{anchor})"
        if is_notebook:  # the page that is made of it
            return f"[{text}]({_up(source)}notebook.md)"
        if inside.parts[0] == "docs" and inside.suffix in (".md", ".png", ".svg"):
            return f"{mark}[{text}]({_up(source)}{inside.relative_to('docs')}{hash_sign}{anchor})"
        return text if "`" in text else f"{text} (`{inside}`)"

    return LINK.sub(relink, markdown)


def _up(source: str) -> str:
    """The way from a page to the top of the site."""
    return "../" * source.count("/")


if __name__ == "__main__":
    write_games()
