"""One side of a match, written as words: `nodes=1000 seed=3 at=127.0.0.1:25841 name=new`."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LIMITS = ("time", "nodes", "depth", "clock")  # the words that limit a search
OWN_WORDS = (*LIMITS, "at", "name")  # whatever else is said is an option of the engine


class BadMatch(ValueError):
    """A match that cannot be played as it was asked for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When each search ends."""

    seconds: float | None = None  # a move
    nodes: int | None = None
    depth: int | None = None
    clock: tuple[float, float] | None = None  # seconds for all moves of a game, and seconds added after each

    def __str__(self) -> str:
        parts = [f"{self.seconds * 1000:g} ms a move"] if self.seconds is not None else []
        parts += [f"{self.nodes} nodes"] if self.nodes is not None else []
        parts += [f"depth {self.depth}"] if self.depth is not None else []
        parts += [f"clock {self.clock[0]:g}+{self.clock[1]:g}"] if self.clock is not None else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Contender:
    """One side of a match: what it is called, where it answers, how long it thinks, how the engine is set."""

    name: str
    limits: Limits
    options: Mapping[str, str] = field(default_factory=dict)
    at: str = ""  # a daemon's address; none: a private daemon

    def __str__(self) -> str:
        """How it plays, for people: "100 ms a move, seed=3"."""
        parts = [str(self.limits), *(f"{key}={value}" for key, value in self.options.items())]
        return ", ".join(parts) + (f", at {self.at}" if self.at else "")

    def as_json(self) -> dict[str, Any]:
        """Everything about it, without what is not set."""
        limits = {key: value for key, value in asdict(self.limits).items() if value is not None}
        return {"name": self.name, **({"at": self.at} if self.at else {}), **limits, "options": dict(self.options)}


def contender_of(text: str, name: str, common: Limits) -> Contender:
    """The side that words describe. One that sets any limit has only its own limits, any other the common ones."""
    words = words_of(text)
    own = {key: words[key] for key in LIMITS if key in words}
    options = {key: value for key, value in words.items() if key not in OWN_WORDS}
    limits = limits_of(own) if own else common
    return Contender(words.get("name", name), limits, options, words.get("at", ""))


def words_of(text: str) -> dict[str, str]:
    """The words KEY=VALUE of a text by their keys; quotes hold a value with spaces together."""
    words: dict[str, str] = {}
    try:
        split = shlex.split(text)
    except ValueError as error:
        raise BadMatch(f"cannot read {text!r}: {error}") from None
    for word in split:
        key, _, value = word.partition("=")
        if not key or not value:
            own = ", ".join(f"{key}=" for key in OWN_WORDS)
            raise BadMatch(f"{word!r} is not KEY=VALUE; a key is an engine's option, or one of {own}")
        if key in words:
            raise BadMatch(f"{key} is set twice, to {words[key]!r} and {value!r}")
        words[key] = value
    return words


def limits_of(words: Mapping[str, str]) -> Limits:
    """The limits that words set."""
    return Limits(
        seconds_of("time", words["time"], "seconds a move") if "time" in words else None,
        count_of("nodes", words["nodes"]) if "nodes" in words else None,
        count_of("depth", words["depth"]) if "depth" in words else None,
        clock_of(words["clock"]) if "clock" in words else None,
    )


def clock_of(text: str) -> tuple[float, float]:
    """Seconds for a game and seconds added after each move, from "60+0.5" or "60"."""
    whole, _, increment = text.partition("+")
    form = "seconds for all moves, and perhaps seconds added after each, as in 60+0.5"
    return seconds_of("clock", whole, form, text), seconds_of("clock", increment or "0", form, text, least=0.0)


def seconds_of(key: str, text: str, form: str, whole: str = "", least: float = 0.001) -> float:
    """A number of seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not least <= seconds <= 1_000_000:
        raise BadMatch(f"{key} is {whole or text!r}; allowed is {form}")
    return seconds


def count_of(key: str, text: str) -> int:
    """A whole number of at least 1."""
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= 1):
        raise BadMatch(f"{key} is {text!r}; allowed is a whole number from 1")
    return int(text)
