"""Benchmark figures: what was measured, the unit, and the goal."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement; `at_most` or `at_least` is the goal, if there is one."""

    game: str
    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    def json(self) -> str:
        """The figure as one line of JSON."""
        return json.dumps(asdict(self))
