"""One side of a match, written as KEY=VALUE pairs: `nodes=1000 seed=3 at=127.0.0.1:25843 name=new`."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LIMITS = ("time", "nodes", "depth", "clock")  # keys that limit a search
DAEMON = ("at", "serve", "env")  # keys that say which daemon
OWN_KEYS = (*LIMITS, *DAEMON, "name")  # every other key is an option of the engine


class BadMatch(ValueError):
    """The match cannot be played with these settings."""


@dataclass(frozen=True, slots=True)
class SideLimits:
    """The limits of each search of one side."""

    seconds: float | None = None  # per move
    nodes: int | None = None
    depth: int | None = None
    clock: tuple[float, float] | None = None  # seconds per game, and increment in seconds per move

    def __str__(self) -> str:
        parts = [f"{self.seconds * 1000:g} ms a move"] if self.seconds is not None else []
        parts += [f"{self.nodes} nodes"] if self.nodes is not None else []
        parts += [f"depth {self.depth}"] if self.depth is not None else []
        parts += [f"clock {self.clock[0]:g}+{self.clock[1]:g}"] if self.clock is not None else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class MatchSide:
    """One side of a match: its name, its limits, its engine options and its daemon."""

    name: str
    limits: SideLimits
    options: Mapping[str, str] = field(default_factory=dict)
    at: str = ""  # address of the daemon; empty for a private daemon
    serve: str = ""  # arguments of `plyd serve` for a private daemon that no other side uses
    env: str = ""  # virtual environment whose plyd runs such a daemon; empty for this one

    @property
    def has_own_daemon(self) -> bool:
        """Whether a private daemon is started that no other side uses."""
        return bool(self.serve or self.env)

    def __str__(self) -> str:
        """Limits, options and address for the report: "100 ms a move, seed=3"."""
        parts = [str(self.limits), *(f"{key}={value}" for key, value in self.options.items())]
        parts += [f"serve {self.serve}"] if self.serve else []
        parts += [f"env {self.env}"] if self.env else []
        return ", ".join(parts) + (f", at {self.at}" if self.at else "")

    def as_json(self) -> dict[str, Any]:
        """All settings, without those that are not set."""
        limits = {key: value for key, value in asdict(self.limits).items() if value is not None}
        daemon = {key: value for key, value in (("at", self.at), ("serve", self.serve), ("env", self.env)) if value}
        return {"name": self.name, **daemon, **limits, "options": dict(self.options)}


def parse_side(text: str, name: str, common: SideLimits) -> MatchSide:
    """The side that a text describes; it has the common limits unless it sets a limit itself."""
    pairs = parse_pairs(text)
    options = {key: value for key, value in pairs.items() if key not in OWN_KEYS}
    return make_side(pairs, options, name, common)


def make_side(pairs: Mapping[str, str], options: Mapping[str, str], name: str, common: SideLimits) -> MatchSide:
    """The side with these values of OWN_KEYS and these engine options."""
    own = {key: pairs[key] for key in LIMITS if key in pairs}
    at, serve, env = pairs.get("at", ""), pairs.get("serve", ""), pairs.get("env", "")
    for key, value in (("serve", serve), ("env", env)):
        if at and value:
            raise BadMatch(f"at={at} and {key}={value!r} exclude each other: {key}= starts a private daemon")
    split_words(serve)
    return MatchSide(pairs.get("name", name), parse_limits(own) if own else common, options, at, serve, env)


def parse_pairs(text: str) -> dict[str, str]:
    """Values by key, from a text of KEY=VALUE pairs; a value that contains spaces is quoted."""
    pairs: dict[str, str] = {}
    for word in split_words(text):
        key, _, value = word.partition("=")
        if not key or not value:
            own = ", ".join(f"{key}=" for key in OWN_KEYS)
            raise BadMatch(f"{word!r} is not KEY=VALUE; a key is an option of the engine, or one of {own}")
        if key in pairs:
            raise BadMatch(f"{key} is set twice, to {pairs[key]!r} and {value!r}")
        pairs[key] = value
    return pairs


def split_words(text: str) -> list[str]:
    """The words of a text, which may be quoted as in a shell."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise BadMatch(f"cannot read {text!r}: {error}") from None


def parse_limits(pairs: Mapping[str, str]) -> SideLimits:
    """The limits that these pairs set."""
    return SideLimits(
        parse_seconds("time", pairs["time"], "seconds per move") if "time" in pairs else None,
        parse_count("nodes", pairs["nodes"]) if "nodes" in pairs else None,
        parse_count("depth", pairs["depth"]) if "depth" in pairs else None,
        parse_clock(pairs["clock"]) if "clock" in pairs else None,
    )


def parse_clock(text: str) -> tuple[float, float]:
    """Seconds per game and increment per move, from "60+0.5" or "60"."""
    whole, _, increment = text.partition("+")
    form = "seconds per game with an optional increment per move, such as 60+0.5"
    return parse_seconds("clock", whole, form, text), parse_seconds("clock", increment or "0", form, text, least=0.0)


def parse_seconds(key: str, text: str, form: str, whole: str = "", least: float = 0.001) -> float:
    """A number of seconds, at least `least`."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not least <= seconds <= 1_000_000:
        raise BadMatch(f"{key} is {whole or text!r}; allowed is {form}")
    return seconds


def parse_count(key: str, text: str) -> int:
    """A whole number of at least 1."""
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= 1):
        raise BadMatch(f"{key} is {text!r}; allowed is a whole number from 1")
    return int(text)
