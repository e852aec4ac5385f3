"""Build hooks of both distributions: plyd (pyproject.toml) and plyd-client (clients/pyproject.toml).

An editable install gets a link tree, .links/plyd/*, that gives the top folders their one namespace. A wheel of
plyd-client gets the rooms that are its own, which are not all below its pyproject.toml; those of plyd are listed there.

Metadata has no relative links: `PLYD_HOME_URL=https://HOST/OWNER/plyd make dist` makes those of the README absolute and
names the project's pages. Without it they become plain text.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

TOP = Path(__file__).parent
# The rooms of plyd-client.
CLIENT_ROOMS = {"clients": "clients", "cluster": "cluster", "protocols": "protocols", "v1": "proto/plyd/v1"}
ROOMS = {"servers": "servers", "engines": "engines", "models": "models"} | CLIENT_ROOMS
NOT_INSTALLED = {"node", "node_modules", "__pycache__", "pyproject.toml", "README.md", "LICENSE"}
PAGES = {"Documentation": "blob/main/docs", "Changelog": "blob/main/CHANGELOG.md", "Source": ""}
IMAGE = re.compile(r"!\[([^]]*)\]\((?!https?:)([^)]+)\)\n*")
LINK = re.compile(r"\[([^]]*)\]\((?!https?:)([^)]+)\)")


class Rooms(BuildHookInterface):  # type: ignore[type-arg]
    """Gives the top folders their place in the namespace `plyd`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Link all folders for an editable install; include those of plyd-client in its wheel."""
        if version == "editable":
            link_rooms(TOP / ".links" / "plyd")
        elif self.metadata.name == "plyd-client":
            build_data["force_include"] = dict(client_files())


def link_rooms(tree: Path) -> None:
    """Link each top folder under its installed name."""
    tree.mkdir(parents=True, exist_ok=True)
    for name, folder in ROOMS.items():
        link = tree / name
        link.unlink(missing_ok=True)
        link.symlink_to(Path("../..") / folder, target_is_directory=True)


def client_files() -> Iterator[tuple[str, str]]:
    """Each file of plyd-client, and its place in the wheel."""
    for name, folder in CLIENT_ROOMS.items():
        for file in sorted((TOP / folder).rglob("*")):
            inside = file.relative_to(TOP / folder)
            if file.is_file() and NOT_INSTALLED.isdisjoint(inside.parts):
                yield str(file), f"plyd/{name}/{inside}"


class AbsoluteLinks(MetadataHookInterface):
    """Sets the metadata that depends on where the project has its home: its pages, and the README's links."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `urls` and, where it is dynamic, `readme`."""
        home = os.environ.get("PLYD_HOME_URL", "").rstrip("/")
        metadata["urls"] = {name: f"{home}/{page}".rstrip("/") for name, page in PAGES.items()} if home else {}
        if "readme" in metadata["dynamic"]:
            text = (Path(self.root) / "README.md").read_text()
            metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, home)}


def with_absolute_links(text: str, home: str) -> str:
    """A page of the checkout as it can be read elsewhere; without a home, no link and no picture is left of it."""
    text = IMAGE.sub(rf"![\1]({home}/raw/main/\2)\n\n" if home else "", text)
    return LINK.sub(rf"[\1]({home}/blob/main/\2)" if home else r"\1", text)
