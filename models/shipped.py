"""The networks that ship, each checked against the SHA-256 of its manifest."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plyd.models.errors import BadWeights
from plyd.models.files import read_file

WEIGHTS = Path(__file__).parent / "weights"


@dataclass(frozen=True, slots=True)
class ShippedNetwork:
    """A network's file, and what is known of it."""

    path: Path
    verdict: str
    """sound, or what is wrong with the file or its manifest."""
    sha256: str = "?"
    trained: dict[str, Any] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether the file is the one of its manifest."""
        return self.verdict == "sound"


def shipped() -> Iterator[ShippedNetwork]:
    """Every network that ships, by name."""
    for path in sorted(WEIGHTS.glob("*.plyd")):
        try:
            manifest = json.loads(path.with_suffix(".json").read_text())
            is_sound = read_file(path)[2] == manifest["sha256"]
            verdict = "sound" if is_sound else "not the one of its manifest"
            yield ShippedNetwork(path, verdict, manifest["sha256"], manifest["trained"])
        except (BadWeights, OSError, ValueError, KeyError, TypeError) as error:
            yield ShippedNetwork(path, str(error))
