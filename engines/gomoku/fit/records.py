"""Games in a file, one JSON object per line: what `pattern_games` plays and `fitting` learns from.

    {"size": 15, "variant": "freestyle", "opening": 5, "moves": "h8 i9 g7 ...", "result": 1, "scores": [null, 12, ...]}

The first `opening` moves are random, the others are the player's. `result` is 1 if the first player won, -1 if the
second did, 0 for a draw. `scores` has the search's value of each move, for the side that made it, and null for random
moves; files of earlier versions have none.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from plyd.engines.core.errors import BadPosition, quoted
from plyd.engines.gomoku.rules import LARGEST, SMALLEST, Rule


@dataclass(frozen=True, slots=True)
class PatternGame:
    """One game: a line of the file."""

    size: int
    variant: Rule
    opening: int
    moves: tuple[str, ...]
    result: int
    scores: tuple[int | None, ...] = ()

    def text(self) -> str:
        """The game as a line of the file."""
        return json.dumps({**asdict(self), "moves": " ".join(self.moves)})


def read_records(path: Path) -> Iterator[PatternGame]:
    """The games of a file, ignoring an incomplete last line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                return
            try:
                read = json.loads(line)
                record = PatternGame(
                    int(read["size"]),
                    Rule(read["variant"]),
                    int(read["opening"]),
                    tuple(read["moves"].split()),
                    int(read["result"]),
                    tuple(None if score is None else int(score) for score in read.get("scores", ())),
                )
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                raise BadPosition(f"line {number} of {path} is not a game: {quoted(line.strip())}") from error
            if not SMALLEST <= record.size <= LARGEST or record.result not in (-1, 0, 1):
                raise BadPosition(f"line {number} of {path} has size {record.size} and result {record.result}")
            if record.scores and len(record.scores) != len(record.moves):
                raise BadPosition(
                    f"line {number} of {path} has {len(record.moves)} moves and {len(record.scores)} scores"
                )
            yield record


def continued(path: Path) -> list[str]:
    """The lines of a file, if there is one. An incomplete last line is removed from the file."""
    if not path.exists():
        return []
    whole, newline, rest = path.read_text(encoding="utf-8").rpartition("\n")
    if rest:
        path.write_text(whole + newline, encoding="utf-8")
    return whole.split("\n") if whole else []
