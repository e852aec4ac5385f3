"""Figures with their required values, and whether the requirements are met."""

import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from plyd.clients.commands.bench import table

Figure = dict[str, Any]


def is_reached(figure: Figure) -> bool:
    """Whether a figure meets its requirement."""
    too_large = figure["at_most"] is not None and not figure["value"] <= figure["at_most"]
    too_small = figure["at_least"] is not None and not figure["value"] >= figure["at_least"]
    return not (too_large or too_small)


def print_verdict(figures: Sequence[Figure], *, as_json: bool, notes: Sequence[str] = ()) -> NoReturn:
    """Print the figures, and examples of errors on stderr; exit with status 1 if a requirement is not met."""
    from rich.console import Console

    for note in notes:
        print(note, file=sys.stderr)
    if as_json:
        for figure in figures:
            print(json.dumps({**figure, "reached": is_reached(figure)}))
    else:
        Console(width=max(100, Console(stderr=True).width)).print(table(list(figures)))
    sys.exit(0 if all(map(is_reached, figures)) else 1)
