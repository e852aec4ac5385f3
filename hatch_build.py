"""Build hook: an editable install gets a link tree, .links/plyd/*, that gives the top folders their one namespace."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOMS = ("servers", "engines", "clients", "models", "protocols", "cluster")
LINKS = {"v1": "proto/plyd/v1", **{room: room for room in ROOMS}}


class LinkTree(BuildHookInterface):  # type: ignore[type-arg]
    """Makes the links when hatchling builds an editable wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Link each top folder under its installed name."""
        if version != "editable":
            return
        tree = Path(self.root) / ".links" / "plyd"
        tree.mkdir(parents=True, exist_ok=True)
        for name, target in LINKS.items():
            link = tree / name
            link.unlink(missing_ok=True)
            link.symlink_to(Path("../..") / target, target_is_directory=True)
