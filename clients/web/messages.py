"""What goes between the page and the bridge: JSON that is checked on its way in, and made from messages on its way out.

A request is an object with `id` (a number of the page's choice), `do` (a verb) and the verb's fields:

    apply   position, moves, chance                            -> state: what stands on the board after the moves
    think   position, seconds, nodes, depth, lines, options    -> report, report, ..., the last one final
    stop                                                       -> ok, after the search's final report

A position is an object of `game`, `variant`, `start` and `moves`; all but the game may be left out.

Each answer repeats the `id` and has one of `state`, `report`, `queue` (searches before ours), `ended` (there was no
report), `ok` or `error`. A search that comes while another runs ends that one. The bridge also says, unasked, `games`:
what is served, and which of it is there now.
"""

import json
from dataclasses import asdict
from typing import Any

from plyd.clients.formats.files import MOST_MOVES as MOST_RECORDED
from plyd.clients.formats.files import GameRecord
from plyd.clients.library.errors import InvalidRequest, PlydError
from plyd.clients.library.requests import Position, Report, State
from plyd.clients.web.search_stream import Question
from plyd.v1 import engine_pb2, position_pb2, search_pb2

LONGEST_TEXT = 4096  # characters of a start, a variant and the like
MOST_MOVES = 4096
MOST_SECONDS = 300.0
MOST_NODES = 1 << 40
MOST_LINES = 64
MOST_OPTIONS = 32
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
    engine_pb2.CAPABILITY_EVALUATE: "evaluate",
}


class Request:
    """A page's request, whose fields are read one by one; what is missing or of another kind raises InvalidRequest."""

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

    def text(self, name: str, longest: int = LONGEST_TEXT) -> str:
        """A text, empty if it is not there."""
        return _text(name, self._fields.get(name, ""), longest)

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number within bounds, or None if it is not there."""
        value = self._fields.get(name)
        if value is not None and not (type(value) is int and least <= value <= most):
            raise InvalidRequest(f"{name} is {value!r:.60}; allowed is a whole number from {least} to {most}")
        return value

    def seconds(self) -> float | None:
        """The time limit, or None if there is none."""
        value = self._fields.get("seconds")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
            raise InvalidRequest(f"seconds is {value!r:.60}; allowed is 0 to {MOST_SECONDS:g}")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; false if it is not there."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise InvalidRequest(f"{name} is {value!r:.60}; allowed is true or false")
        return value

    def moves(self) -> list[str]:
        """A list of moves, empty if it is not there."""
        return _moves(self._fields.get("moves", []))

    def position(self) -> Position:
        """A position; it has to name its game."""
        value = self._fields.get("position")
        if not isinstance(value, dict):
            raise InvalidRequest(f"position is {value!r:.60}; allowed is an object with game, variant, start, moves")
        game, variant, start = (_text(name, value.get(name, ""), LONGEST_TEXT) for name in ("game", "variant", "start"))
        return Position(game=game, variant=variant, start=start, moves=_moves(value.get("moves", [])))

    def question(self) -> Question:
        """What a search is asked."""
        options = self._fields.get("options", {})
        if not isinstance(options, dict) or len(options) > MOST_OPTIONS:
            raise InvalidRequest(f"options is {options!r:.60}; allowed is an object of at most {MOST_OPTIONS} texts")
        return Question(
            position=self.position(),
            seconds=self.seconds(),
            nodes=self.whole("nodes", 1, MOST_NODES),
            depth=self.whole("depth", 1, 1000),
            lines=self.whole("lines", 1, MOST_LINES) or 1,
            options={_text("option", name, 64): _text(f"option {name}", value, 64) for name, value in options.items()},
        )


def _text(name: str, value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise InvalidRequest(f"{name:.60} is {value!r:.60}; allowed is a text of at most {longest} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name:.60} is {value!r:.60}; allowed is a text of whole characters") from None
    return value


def _moves(value: Any, most: int = MOST_MOVES) -> list[str]:
    if not isinstance(value, list) or len(value) > most:
        raise InvalidRequest(f"moves is {value!r:.60}; allowed is a list of at most {most} moves")
    return [_text("a move", move, 64) for move in value]


def record_of(data: bytes) -> tuple[GameRecord, str]:
    """The record and the format that a page asks to have written."""
    try:
        wanted = json.loads(data)
        record, form = wanted["record"], wanted["format"]
        one, two = record.get("players", ["", ""])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidRequest("not a record: expected an object with record and format") from None
    names = ("game", "variant", "start", "result")
    texts = {name: _text(name, record.get(name, ""), LONGEST_TEXT) for name in names}
    players = (_text("a player", one, 64), _text("a player", two, 64))
    moves = tuple(_moves(record.get("moves"), MOST_RECORDED))
    return GameRecord(**texts, moves=moves, players=players), _text("format", form, 16)


def record_words(record: GameRecord) -> dict[str, Any]:
    """A record for the page."""
    return asdict(record)


def state_words(state: State) -> dict[str, Any]:
    """A state for the page."""
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
        "legal": [_legal_words(move) for move in state.legal_moves],
    }


def _legal_words(move: position_pb2.LegalMove) -> dict[str, Any]:
    words: dict[str, Any] = {"move": move.move}
    if move.HasField("cell"):
        words["cell"] = move.cell
    if move.HasField("probability"):
        words["probability"] = move.probability
    return words


def report_words(report: Report) -> dict[str, Any]:
    """A report for the page; times in milliseconds."""
    return {
        "final": report.final,
        "move": report.move if report.HasField("move") else None,
        "score": score_words(report.score),
        "lines": [_line_words(line) for line in report.lines],
        "nodes": report.nodes,
        "depth": report.depth,
        "ms": report.elapsed_us / 1000,
        "reason": search_pb2.StopReason.Name(report.stop_reason).removeprefix("STOP_REASON_").lower(),
    }


def score_words(score: search_pb2.Score) -> dict[str, Any]:
    """A score for the page: kind is points, win, proven or unreachable."""
    kind = score.WhichOneof("value")
    words: dict[str, Any] = {"side": SIDES.get(score.point_of_view, ""), "exact": score.exact}
    if kind == "expected_points":
        return words | {"kind": "points", "value": score.expected_points}
    if kind == "win_probability":
        return words | {"kind": "win", "value": score.win_probability}
    if kind == "proven":
        plies = score.proven.plies if score.proven.HasField("plies") else None
        return words | {"kind": "proven", "result": RESULTS.get(score.proven.result, ""), "plies": plies}
    return words | {"kind": "unreachable"}


def _line_words(line: search_pb2.Line) -> dict[str, Any]:
    words: dict[str, Any] = {"moves": list(line.moves), "score": score_words(line.score)}
    for name in ("visits", "depth", "probability", "prior"):
        if line.HasField(name):
            words[name] = getattr(line, name)
    return words


def card_words(engine: engine_pb2.EngineInfo, *, is_there: bool, formats: tuple[str, ...]) -> dict[str, Any]:
    """A game for the page."""
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
        "options": [_option_words(option) for option in engine.options],
        "formats": list(formats),
    }


def _option_words(option: engine_pb2.Option) -> dict[str, Any]:
    words: dict[str, Any] = {
        "name": option.name,
        "summary": option.summary,
        "type": OPTION_TYPES.get(option.type, ""),
        "default": option.default_value,
        "choices": list(option.choices),
    }
    if option.HasField("minimum"):
        words["minimum"] = option.minimum
    if option.HasField("maximum"):
        words["maximum"] = option.maximum
    return words


def error_words(error: PlydError) -> dict[str, Any]:
    """An error for the page: its kind is the name of a class of plyd.clients.library.errors."""
    return {"kind": type(error).__name__, "message": str(error), "retrySeconds": error.retry_seconds}
