"""Every field of a query, an action and an answer. The parser, `--help` and docs/analyze.md follow these tables."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from plyd.clients.formats.game_record import quoted

ACTIONS = ("terminate", "terminate_all", "clear", "version")
ALL_TURNS = "all"
MOST_LINES = 1000
MOST_MS = 4_000_000_000 - 1
MOST_NODES = 2**62
MOST_PRIORITY = 2**31 - 1


class BadField(Exception):
    """A value that a field does not allow; the message says what it allows."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its type, its default and its meaning for people, and the function that checks a value."""

    name: str
    kind: str
    default: str
    summary: str
    check: Callable[[Any], Any] = lambda value: value


def shown(value: Any) -> str:
    """A value in an error message."""
    return quoted(value) if isinstance(value, str) else f"{value!r:.60}"


def is_text(value: Any) -> bool:
    """Whether a value is a string that UTF-8 can write: JSON may hold half a character."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def text(value: Any) -> str:
    """A string."""
    if not is_text(value):
        raise BadField(f"is {shown(value)}; allowed is a string")
    return str(value)


def name(value: Any) -> str:
    """A string that is not empty."""
    if not text(value):
        raise BadField("is empty; allowed is any other string")
    return str(value)


def texts(value: Any) -> tuple[str, ...]:
    """A list of strings."""
    if not isinstance(value, list) or not all(map(is_text, value)):
        raise BadField(f"is {shown(value)}; allowed is a list of strings")
    return tuple(value)


def integer(least: int, most: int) -> Callable[[Any], int]:
    """A check for a whole number within a range."""

    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise BadField(f"is {shown(value)}; allowed is a whole number from {least} to {most}")
        return value

    return check


def seconds(value: Any) -> float:
    """A positive number."""
    if type(value) not in (int, float) or not 0 < value <= sys.float_info.max:  # an int may be larger
        raise BadField(f"is {shown(value)}; allowed is a number of seconds above 0")
    return float(value)


def turns(value: Any) -> tuple[int, ...] | None:
    """A list of different turns; None for all of them."""
    if value == ALL_TURNS:
        return None
    if not isinstance(value, list) or not value or not all(type(item) is int and item >= 0 for item in value):
        raise BadField(f'is {shown(value)}; allowed is a list of whole numbers from 0, or "{ALL_TURNS}"')
    if len(set(value)) < len(value):
        raise BadField(f"is {shown(value)}; a turn may be named only once")
    return tuple(value)


def options(value: Any) -> Mapping[str, str]:
    """An engine's options by name, as the texts that a daemon reads."""
    if not isinstance(value, dict) or not all(
        is_text(key) and (type(item) in (int, float, bool) or is_text(item)) for key, item in value.items()
    ):
        raise BadField(f"is {shown(value)}; allowed is an object of strings, numbers and booleans")
    return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()}


def action(value: Any) -> str:
    """The name of an action."""
    if value not in ACTIONS:
        raise BadField(f"is {shown(value)}; allowed is {', '.join(ACTIONS)}")
    return str(value)


QUERY = (
    Field("id", "string", "required", "Your name for the query; every answer repeats it.", name),
    Field("game", "string", "`--game`", "Game, as `plyd serve` names it.", text),
    Field("variant", "string", "`--variant`, or the game's first", "Rule set within the game.", text),
    Field("start", "string", "the game's start", "Position at turn 0, in the game's notation.", text),
    Field("moves", "list of strings", "none", "Moves from there, oldest first; those of chance too.", texts),
    Field("file", "string", "none", "Path of a game file, instead of the four fields before.", name),
    Field("fileGame", "integer", "1", "Which game of a file with several (SGF, 2584 record).", integer(1, 2**31)),
    Field(
        "analyzeTurns",
        'list of integers, or `"all"`',
        "the last turn",
        "Positions to search: turn 0 is the start, turn n the position after n moves.",
        turns,
    ),
    Field("moveTimeMs", "integer", "`--move-time`", "Time for each turn, in milliseconds.", integer(0, MOST_MS)),
    Field("nodes", "integer", "`--nodes`", "Nodes for each turn.", integer(1, MOST_NODES)),
    Field("depth", "integer", "`--depth`", "Depth for each turn, in plies.", integer(1, 2**32 - 1)),
    Field("options", "object", "`--option`", "Engine options by name.", options),
    Field("lines", "integer", "`--lines`, or 1", "Lines of play to report, 1 to 1000.", integer(1, MOST_LINES)),
    Field(
        "priority",
        "integer",
        "0",
        "Queries of higher priority are begun first, and older ones among equals.",
        integer(-MOST_PRIORITY, MOST_PRIORITY),
    ),
    Field(
        "reportEvery",
        "number",
        "no answers but final ones",
        "Seconds between answers during the search, at least; one comes when the engine has news.",
        seconds,
    ),
)

ACTION = (
    Field("id", "string", "required", "Your name for the action; its answer repeats it.", name),
    Field("action", "string", "required", "`terminate`, `terminate_all`, `clear` or `version`.", action),
    Field("terminateId", "string", "required by `terminate`", "The query to end.", name),
    Field("turns", "list of integers", "every turn", "For `terminate` and `terminate_all`: only these turns.", turns),
)

ANSWER = (
    Field("id", "string", "the query could not be read", "The query's id."),
    Field("turn", "integer", "the query as a whole is refused", "The position searched."),
    Field("final", "boolean", "always there", "True for the last answer to this turn, and only for it."),
    Field("move", "string", "there is none", "Best move."),
    Field("score", "object", "nothing was searched", "Worth of the position; see below."),
    Field(
        "lines",
        "list of objects",
        "nothing was searched",
        "Lines of play, best first, with `moves`, `score` and, where the engine has them, `visits`, `depth`, "
        "`probability` and `prior`.",
    ),
    Field("nodes", "integer", "nothing was searched", "Nodes visited so far."),
    Field("depth", "integer", "nothing was searched", "Depth completed, in plies; 0 where it means nothing."),
    Field("seconds", "number", "nothing was searched", "Time spent searching."),
    Field("waitedSeconds", "number", "nothing was searched", "Time spent waiting for a search slot."),
    Field(
        "stopReason",
        "string",
        "not final",
        "Why the search ended: `finished`, `time`, `nodes`, `depth`, `stopped` or `no_search`.",
    ),
    Field("known", "boolean", "false", "The daemon knew the answer and did not search."),
    Field("noResults", "boolean", "false", "The turn was terminated before anything was found."),
    Field("error", "string", "no error", "What is wrong, and what is allowed. Such an answer is final."),
    Field("field", "string", "no field is at fault", "The field of the query that is wrong."),
    Field("inputLine", "integer", "the id is known", "Which line of the input could not be read, counted from 1."),
)

SCORE = (
    Field("pointOfView", "string", "always there", "`player_one` or `player_two`: more is better for this side."),
    Field("winProbability", "number", "another value", "Probability of winning, 0 to 1; a draw counts one half."),
    Field("expectedPoints", "number", "another value", "Points still to be gained, on average."),
    Field("proven", "string", "another value", "A certain result: `win`, `draw` or `loss`."),
    Field("plies", "integer", "not known", "Plies until the proven result."),
    Field("unreachable", "boolean", "another value", "True: the position cannot occur in play."),
    Field("exact", "boolean", "false", "The value is exact, not an estimate."),
)


def help_lines() -> str:
    """The fields of queries and actions, one a line, for `--help`."""
    width = max(len(field.name) for field in QUERY + ACTION)
    blocks = ["\b\nFields of a query (docs/analyze.md has types and defaults):", "\b\nInstead of a query, an action:"]
    for at, fields in enumerate((QUERY, ACTION)):
        blocks[at] += "".join(f"\n  {field.name:{width}}  {field.summary.replace('`', '')}" for field in fields)
    return "\n\n".join(blocks)
