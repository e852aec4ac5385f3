"""A line of input as a query or an action. Finds everything that is wrong with it before a daemon sees it."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from plyd.clients.analyze.fields import ACTION, QUERY, BadField, Field, is_text
from plyd.clients.formats import files
from plyd.clients.formats.game_record import quoted
from plyd.clients.library.errors import InvalidRequest
from plyd.clients.library.requests import SearchArgs

LIMITS = ("moveTimeMs", "nodes", "depth")
POSITION = ("game", "variant", "start", "moves")


class BadQuery(Exception):
    """A line that is neither a query nor an action."""

    def __init__(self, message: str, field: str = "", query_id: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.query_id = query_id


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What ends the search of a turn. None: no limit."""

    move_time_ms: int | None = None
    nodes: int | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A game, the turns of it to search, and how."""

    id: str
    game: str = ""
    variant: str = ""
    start: str = ""
    moves: tuple[str, ...] = ()
    turns: tuple[int, ...] = (0,)
    limits: SearchLimits = SearchLimits()
    options: Mapping[str, str] = field(default_factory=dict)
    lines: int = 1
    priority: int = 0
    report_every: float | None = None

    @property
    def is_timed(self) -> bool:
        """Whether time waiting for a slot is lost to the search."""
        return self.limits.move_time_ms is not None

    def search_args(self) -> SearchArgs:
        """Arguments for the client library."""
        ms = self.limits.move_time_ms
        return SearchArgs(
            seconds=None if ms is None else ms / 1000,
            nodes=self.limits.nodes,
            depth=self.limits.depth,
            lines=self.lines,
            options=self.options,
        )


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do at once; `echo` is the object as it was sent."""

    id: str
    action: str
    echo: Mapping[str, Any]
    terminate_id: str | None = None
    turns: frozenset[int] | None = None  # None: every turn


def parse_line(line: bytes, defaults: Query) -> Query | Action:
    """The query or the action in a line; `defaults` has what a query does not say. Raises BadQuery."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadQuery(f"not JSON: {str(error)[:100]}") from None
    if not isinstance(given, dict):
        raise BadQuery(f"{quoted(line.decode(errors='replace'))} is not an object; a query is a JSON object on a line")
    query_id = given.get("id") if is_text(given.get("id")) else None
    try:
        return _action(given) if "action" in given else _query(given, defaults)
    except BadQuery as error:
        error.query_id = query_id or None
        raise


def _checked(given: Mapping[str, Any], fields: tuple[Field, ...]) -> dict[str, Any]:
    """The values of the fields that are given; raises BadQuery for unknown fields and wrong values."""
    known = {one.name: one for one in fields}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.6)
            hint = f"did you mean {quoted(near[0])}?" if near else f"known are {', '.join(known)}"
            raise BadQuery(f"unknown field {quoted(name)}; {hint}", name)
    values = {}
    for name, one in known.items():
        if name in given:
            try:
                values[name] = one.check(given[name])
            except BadField as error:
                raise BadQuery(f"{name} {error}", name) from None
        elif one.default == "required":
            raise BadQuery(f"{name} is missing; allowed is a {one.kind}", name)
    return values


def _action(given: Mapping[str, Any]) -> Action:
    values = _checked(given, ACTION)
    kind, terminate_id, turns = values["action"], values.get("terminateId"), values.get("turns")
    if kind == "terminate" and terminate_id is None:
        raise BadQuery("terminateId is missing; terminate needs the id of a query", "terminateId")
    if kind != "terminate" and terminate_id is not None:
        raise BadQuery(f"terminateId belongs to terminate, not to {kind}", "terminateId")
    if kind not in ("terminate", "terminate_all") and "turns" in given:
        raise BadQuery(f"turns belongs to terminate and terminate_all, not to {kind}", "turns")
    return Action(values["id"], kind, given, terminate_id, None if turns is None else frozenset(turns))


def _query(given: Mapping[str, Any], defaults: Query) -> Query:
    values = _checked(given, QUERY)
    query = _with_position(replace(defaults, id=values["id"]), values)
    if any(name in values for name in LIMITS):  # a query that sets a limit has only its own
        query = replace(query, limits=SearchLimits(*(values.get(name) for name in LIMITS)))
    last = len(query.moves)
    turns = values.get("analyzeTurns", (last,))
    if turns is not None and max(turns) > last:
        raise BadQuery(f"analyzeTurns has turn {max(turns)}; the last turn is {last}", "analyzeTurns")
    return replace(
        query,
        turns=tuple(range(last + 1)) if turns is None else turns,
        options={**defaults.options, **values.get("options", {})},
        lines=values.get("lines", defaults.lines),
        priority=values.get("priority", 0),
        report_every=values.get("reportEvery"),
    )


def _with_position(query: Query, values: Mapping[str, Any]) -> Query:
    """The query with the position that its fields, or its file, describe."""
    if "file" not in values:
        if "fileGame" in values:
            raise BadQuery("fileGame belongs to file, which is missing", "fileGame")
        return replace(query, **{name: values[name] for name in POSITION if name in values})
    for name in POSITION:
        if name in values:
            raise BadQuery(f"{name} and file exclude each other", name)
    path = Path(values["file"])
    try:
        if path.exists() and not path.is_file():  # a pipe may never end, and all other queries would wait
            raise InvalidRequest(f"cannot read {path}: not a regular file")
        return with_file(query, path, values.get("fileGame", 1))
    except InvalidRequest as error:
        raise BadQuery(str(error), "file") from None


def with_file(query: Query, path: Path, number: int = 1) -> Query:
    """The query with the game of a file, to be searched at its last turn; raises InvalidRequest."""
    try:
        record = files.read(path.name, bytes_of(path), number)
    except InvalidRequest as error:
        raise InvalidRequest(f"cannot read {path}: {error}") from None
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise InvalidRequest(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    position = {name: getattr(record, name) for name in POSITION}
    return replace(query, **position, turns=(len(record.moves),))


def bytes_of(path: Path) -> bytes:
    """What is in a game file, if it is not too long: then all that is allowed, and one byte more."""
    with path.open("rb") as file:
        return file.read(files.MOST_BYTES + 1)
