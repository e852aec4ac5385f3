"""The JSON messages between the page and the bridge: requests are checked here, answers are made here.

A request is an object with `id` (a number chosen by the page), `do` (a verb) and the verb's fields:

    apply   position, moves, chance                            -> state: the board after the moves
    think   position, limits, lines, options                   -> report, report, ..., the last one final
    stop                                                       -> ok, after the search's final report
    review  as think, and turns                                -> turn, points and report of each, in any order; ok
    unreview                                                   -> ok, after that of the review
    join    room                                               -> shared: version, record, pages
    share   room, version, record                              -> shared: the record, or a newer one
    run     position, slides, options                          -> moves and state, now and then; then ok

Limits are `seconds`, `nodes`, `depth`, and `clock`, an object with `remaining` and `increment` in seconds.
A position is an object with `game`, `variant`, `start` and `moves`; only the game is required.
`options` is an object of texts, numbers and booleans. `turns` are numbers of moves: a review searches the position
before the first move (0), after it (1), and so on.

Each answer repeats the `id` and has one of `state`, `report`, `queue` (place in the queue, 0 when the search starts),
`ended` (the search ended without a report: another one took its place, or it was stopped in the queue), `ok` or
`error`. A new search ends the one that runs, a new review the one that runs. The bridge also sends `shared` when
another page changes a game that this one has joined, and `games` without being asked, whenever it changes: every game
that is served, and whether its daemon is up.

With `games` comes `version`, that of the page as the bridge serves it now.
"""

import json
import re
from dataclasses import asdict
from typing import Any

from plyd.clients.formats.files import MOST_MOVES as MAX_RECORDED_MOVES
from plyd.clients.formats.files import GameRecord, formats_of
from plyd.clients.formats.game_record import LONGEST_COMMENT, GameTree, comment_of
from plyd.clients.library.errors import InvalidRequest
from plyd.clients.library.report import Line, Report, Score
from plyd.clients.library.requests import option_text
from plyd.clients.library.state import LegalMove, State
from plyd.clients.web.search_stream import PageQuery
from plyd.v1 import engine_pb2, position_pb2, search_pb2

MAX_TEXT_LENGTH = 4096  # of a start, a variant and the like
MAX_SECONDS = 300.0
MAX_CLOCK_SECONDS = 86_400.0
MAX_NODES = 1 << 40
MAX_LINES = 64
MAX_OPTIONS = 32
COLOUR = re.compile("#[0-9a-fA-F]{6}")
SIDES = {
    position_pb2.SIDE_PLAYER_ONE: "one",
    position_pb2.SIDE_PLAYER_TWO: "two",
    position_pb2.SIDE_ENVIRONMENT: "environment",
}
OUTCOMES = {
    position_pb2.OUTCOME_ONGOING: "ongoing",
    position_pb2.OUTCOME_ENDED: "ended",
    position_pb2.OUTCOME_PLAYER_ONE_WINS: "one",
    position_pb2.OUTCOME_PLAYER_TWO_WINS: "two",
    position_pb2.OUTCOME_DRAW: "draw",
}
RESULTS = {search_pb2.RESULT_WIN: "win", search_pb2.RESULT_DRAW: "draw", search_pb2.RESULT_LOSS: "loss"}
BOARD_KINDS = {
    engine_pb2.BOARD_KIND_TILES: "tiles",
    engine_pb2.BOARD_KIND_POINTS: "points",
    engine_pb2.BOARD_KIND_CELLS: "cells",
    engine_pb2.BOARD_KIND_DROPPED: "dropped",
}
MOVE_KINDS = {
    position_pb2.MOVE_KIND_CELL: "cell",
    position_pb2.MOVE_KIND_FROM_TO: "from-to",
    position_pb2.MOVE_KIND_SLIDE: "slide",
    position_pb2.MOVE_KIND_PASS: "pass",
    position_pb2.MOVE_KIND_BUTTON: "button",
}
OPTION_TYPES = {
    engine_pb2.OPTION_TYPE_INTEGER: "integer",
    engine_pb2.OPTION_TYPE_NUMBER: "number",
    engine_pb2.OPTION_TYPE_BOOLEAN: "boolean",
    engine_pb2.OPTION_TYPE_CHOICE: "choice",
}
CAPABILITIES = {
    engine_pb2.CAPABILITY_EXACT: "exact",
    engine_pb2.CAPABILITY_ENVIRONMENT: "environment",
    engine_pb2.CAPABILITY_MEMORY: "memory",
    engine_pb2.CAPABILITY_COSTLY_LINES: "costly-lines",
    engine_pb2.CAPABILITY_EVALUATE: "evaluate",
}


class PageRequest:
    """A page's request. Each method reads one field, and raises InvalidRequest if it is missing or of another type."""

    def __init__(self, text: str) -> None:
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            raise InvalidRequest(f"not JSON: {text[:60]!r}") from None
        if not isinstance(fields, dict):
            raise InvalidRequest(f"a request is an object, not {text[:60]!r}")
        self._fields: dict[str, Any] = fields
        number = fields.get("id")
        self.id = number if type(number) is int and 0 <= number < 1 << 53 else None
        if self.id is None:
            raise InvalidRequest(f"id is {number!r:.60}; allowed is a whole number from 0")
        self.verb = fields.get("do")

    def text(self, name: str, longest: int = MAX_TEXT_LENGTH) -> str:
        """A text field; empty if it is absent."""
        return _text(name, self._fields.get(name, ""), longest)

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number within bounds, or None if it is absent."""
        value = self._fields.get(name)
        if value is not None and not (type(value) is int and least <= value <= most):
            raise InvalidRequest(f"{name} is {value!r:.60}; allowed is a whole number from {least} to {most}")
        return value

    def seconds(self) -> float | None:
        """The time limit, or None if it is absent."""
        return _seconds("seconds", self._fields.get("seconds"), MAX_SECONDS)

    def clock(self) -> tuple[float | None, float]:
        """The seconds on a clock, None without one, and those that it gains after each move."""
        value = self._fields.get("clock")
        if value is None:
            return None, 0.0
        if not isinstance(value, dict):
            raise InvalidRequest(f"clock is {value!r:.60}; allowed is an object with remaining and increment")
        remaining = _seconds("remaining", value.get("remaining", 0), MAX_CLOCK_SECONDS)
        return remaining, _seconds("increment", value.get("increment", 0), MAX_SECONDS) or 0.0

    def flag(self, name: str) -> bool:
        """A boolean field; false if it is absent."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise InvalidRequest(f"{name} is {value!r:.60}; allowed is true or false")
        return value

    def moves(self) -> list[str]:
        """The list of moves; empty if it is absent."""
        return _moves(self._fields.get("moves", []))

    def record(self) -> object:
        """The game that a page shares, as it is."""
        return self._fields.get("record")

    def turns(self) -> list[int]:
        """The turns of a review: numbers of moves of its position."""
        value, most = self._fields.get("turns"), len(self.position().moves)
        if not isinstance(value, list) or not all(type(turn) is int and 0 <= turn <= most for turn in value):
            raise InvalidRequest(f"turns is {value!r:.60}; allowed is a list of whole numbers from 0 to {most}")
        return value

    def position(self) -> position_pb2.Position:
        """The position."""
        value = self._fields.get("position")
        if not isinstance(value, dict):
            raise InvalidRequest(f"position is {value!r:.60}; allowed is an object with game, variant, start, moves")
        game, variant, start = (
            _text(name, value.get(name, ""), MAX_TEXT_LENGTH) for name in ("game", "variant", "start")
        )
        moves = _moves(value.get("moves", []))
        return position_pb2.Position(game=game, variant=variant, start=start, moves=moves)

    def search_query(self) -> PageQuery:
        """The fields of a search."""
        options = self._fields.get("options", {})
        if not isinstance(options, dict) or len(options) > MAX_OPTIONS:
            raise InvalidRequest(f"options is {options!r:.60}; allowed is an object of at most {MAX_OPTIONS}")
        remaining, increment = self.clock()
        return PageQuery(
            position=self.position(),
            seconds=self.seconds(),
            remaining=remaining,
            increment=increment,
            nodes=self.whole("nodes", 1, MAX_NODES),
            depth=self.whole("depth", 1, 1000),
            lines=self.whole("lines", 1, MAX_LINES) or 1,
            options={_text("option", name, 64): _option(name, value) for name, value in options.items()},
        )


def _seconds(name: str, value: Any, most: float) -> float | None:
    """A number of seconds, or None if it is absent."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise InvalidRequest(f"{name} is {value!r:.60}; allowed is 0 to {most:g}")
    return float(value)


def _option(name: str, value: Any) -> str:
    """The text of an option's value."""
    try:
        return _text(f"option {name}", option_text(name, value), 64)
    except TypeError as error:
        raise InvalidRequest(str(error)) from None


def _text(name: str, value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise InvalidRequest(f"{name:.60} is {value!r:.60}; allowed is a text of at most {longest} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name:.60} is {value!r:.60}; allowed is a text of whole characters") from None
    return value


def _moves(value: Any) -> list[str]:
    """A list of moves. Its length is bounded by the bytes of a message, and of what a daemon takes."""
    if not isinstance(value, list) or len(value) > MAX_RECORDED_MOVES:
        raise InvalidRequest(f"moves is {value!r:.60}; allowed is a list of at most {MAX_RECORDED_MOVES} moves")
    return [_text("a move", move, 64) for move in value]


def parse_export(data: bytes) -> tuple[GameRecord, str]:
    """The game record and the file format in the body of a request to /export."""
    try:
        wanted = json.loads(data)
        record, form = wanted["record"], wanted["format"]
        one, two = record.get("players", ["", ""])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidRequest("not a record: expected an object with record and format") from None
    names = ("game", "variant", "start", "result")
    texts = {name: _text(name, record.get(name, ""), MAX_TEXT_LENGTH) for name in names}
    players = (_text("a player", one, 64), _text("a player", two, 64))
    moves, tree = tuple(_moves(record.get("moves"))), record.get("tree")
    record = GameRecord(**texts, moves=moves, players=players, tree=None if tree is None else _tree(tree))
    return record, _text("format", form, 16)


def _tree(value: Any) -> GameTree:
    """The tree of a record: moves and, if they do not just follow each other, parents; comments and marks by node."""
    if not isinstance(value, dict):
        raise InvalidRequest(f"tree is {value!r:.60}; allowed is an object with moves, parents, comments, marks")
    moves = _moves(value.get("moves"))
    parents = value.get("parents") or list(range(len(moves)))
    if not isinstance(parents, list) or len(parents) != len(moves):
        raise InvalidRequest(f"parents is {parents!r:.60}; allowed is a list with a number for each move")
    for at, parent in enumerate(parents):
        if type(parent) is not int or not 0 <= parent <= at:
            raise InvalidRequest(f"parent {at + 1} is {parent!r:.60}; allowed is a whole number from 0 to {at}")
    comments, marks = (
        _texts(name, value.get(name) or [], len(moves) + 1, most)
        for name, most in (("comments", LONGEST_COMMENT), ("marks", 16))
    )
    return GameTree(tuple(moves), tuple(parents), tuple(map(comment_of, comments)), marks)


def _texts(name: str, value: Any, count: int, longest: int) -> tuple[str, ...]:
    """A list of texts, of which any may be null."""
    if not isinstance(value, list) or len(value) > count:
        raise InvalidRequest(f"{name} is {value!r:.60}; allowed is a list of at most {count} texts")
    return tuple("" if text is None else _text(name, text, longest) for text in value)


def record_json(record: GameRecord) -> dict[str, Any]:
    """A game record as JSON."""
    return asdict(record)


def state_json(state: State) -> dict[str, Any]:
    """A state as JSON."""
    position = state.position
    return {
        "position": {
            "game": position.game,
            "variant": position.variant,
            "start": position.start,
            "moves": list(position.moves),
        },
        "text": state.text,
        "toMove": SIDES.get(state.to_move, ""),
        "outcome": OUTCOMES.get(state.outcome, ""),
        "points": state.points,
        "rows": state.board.rows,
        "columns": state.board.columns,
        "cells": list(state.board.cells),
        "won": list(state.board.winning_cells),
        "last": list(state.last_cells),
        "legal": [_legal_json(move) for move in state.legal_moves],
    }


def _legal_json(move: LegalMove) -> dict[str, Any]:
    """A legal move as JSON: what it is, how it is made, and the cells to point at, in order."""
    cells = list(move.cells) or ([move.cell] if move.HasField("cell") else [])
    kind = MOVE_KINDS.get(move.kind, "cell" if cells else "button")
    fields: dict[str, Any] = {"move": move.move, "kind": kind, "cells": cells}
    if move.HasField("probability"):
        fields["probability"] = move.probability
    return fields


def report_json(report: Report) -> dict[str, Any]:
    """A report as JSON; times in milliseconds."""
    return {
        "final": report.final,
        "move": report.move if report.HasField("move") else None,
        "score": score_json(report.score),
        "lines": [_line_json(line) for line in report.lines],
        "nodes": report.nodes,
        "keptNodes": report.kept_nodes,
        "depth": report.depth,
        "ms": report.elapsed_us / 1000,
        "reason": search_pb2.StopReason.Name(report.stop_reason).removeprefix("STOP_REASON_").lower(),
    }


def score_json(score: Score) -> dict[str, Any]:
    """A score as JSON; its kind is points, win, proven, unreachable or none."""
    kind = score.WhichOneof("value")
    fields: dict[str, Any] = {"side": SIDES.get(score.point_of_view, ""), "exact": score.exact}
    if kind == "expected_points":
        return fields | {"kind": "points", "value": score.expected_points}
    if kind == "win_probability":
        return fields | {"kind": "win", "value": score.win_probability}
    if kind == "proven":
        plies = score.proven.plies if score.proven.HasField("plies") else None
        return fields | {"kind": "proven", "result": RESULTS.get(score.proven.result, ""), "plies": plies}
    return fields | {"kind": "unreachable" if kind else "none"}


def _line_json(line: Line) -> dict[str, Any]:
    fields: dict[str, Any] = {"moves": list(line.moves), "score": score_json(line.score)}
    for name in ("visits", "depth", "probability", "prior"):
        if line.HasField(name):
            fields[name] = getattr(line, name)
    return fields


def card_json(engine: engine_pb2.EngineInfo, *, is_there: bool) -> dict[str, Any]:
    """What the page needs to know of an engine, as JSON."""
    limits = engine.board_limits
    return {
        "game": engine.game,
        "title": engine.title,
        "summary": engine.summary,
        "isThere": is_there,
        "variants": [{"name": variant.name, "summary": variant.summary} for variant in engine.variants],
        "notation": engine.position_notation,
        "examples": list(engine.position_examples),
        "nodes": engine.node_meaning,
        "rows": [limits.min_rows, limits.max_rows],
        "columns": [limits.min_columns, limits.max_columns],
        "capabilities": [CAPABILITIES[each] for each in engine.capabilities if each in CAPABILITIES],
        "options": [_option_json(option) for option in engine.options],
        "formats": list(formats_of(engine)),
        "board": _look_json(engine.board_look),
        "sides": [_side_json(side) for side in engine.sides],
        "start": _start_json(engine.start_form) if engine.HasField("start_form") else None,
    }


def _look_json(look: engine_pb2.BoardLook) -> dict[str, Any]:
    """How a board is drawn; the kind is "plain", a plain grid, if it is none that this page knows."""
    return {
        "kind": BOARD_KINDS.get(look.kind, "plain"),
        "columns": list(look.column_labels),
        "rows": list(look.row_labels),
        "rowsFromBottom": look.rows_from_bottom,
        "emptyIsOpen": look.empty_is_open,
    }


def _side_json(look: engine_pb2.SideLook) -> dict[str, Any]:
    return {
        "side": SIDES.get(look.side, ""),
        "name": look.name,
        "stone": look.stone,
        "colour": look.colour if COLOUR.fullmatch(look.colour) else "",
    }


def _start_json(form: engine_pb2.StartForm) -> dict[str, Any]:
    return {
        "template": form.template,
        "isSquare": form.square,
        "rows": form.rows,
        "columns": form.columns,
        "step": form.step or 1,
        "blockedCell": form.blocked_cell,
    }


def _option_json(option: engine_pb2.Option) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": option.name,
        "summary": option.summary,
        "type": OPTION_TYPES.get(option.type, ""),
        "default": option.default_value,
        "choices": list(option.choices),
    }
    if option.HasField("minimum"):
        fields["minimum"] = option.minimum
    if option.HasField("maximum"):
        fields["maximum"] = option.maximum
    return fields
