"""Reports as JSON text, for the store: a line that people and other programs can read too."""

import json
from typing import Any

from plyd.engines.core.rules import Side
from plyd.engines.core.search import (
    ExpectedPoints,
    Line,
    Proven,
    Report,
    Result,
    Score,
    StopReason,
    Unknown,
    Unreachable,
    WinProbability,
)

MOST_COUNTED = 2**63 - 1
MOST_PLIES = 2**32 - 1  # that a message of the schema holds
MOST_SECONDS = 1e9


class BadReport(ValueError):
    """A text that is not a report."""


def write_report_text(report: Report) -> str:
    """A final report as text."""
    assert report.stop_reason
    told: dict[str, Any] = {
        "move": report.move,
        "score": _score_object(report.score),
        "lines": [_line(line) for line in report.lines],
    }
    told |= {"nodes": report.nodes, "depth": report.depth, "seconds": report.seconds}
    return json.dumps(told | {"stop_reason": report.stop_reason.value}, separators=(",", ":"))


def read_report_text(text: str) -> Report:
    """The report in a text; raises BadReport for any other text."""
    try:
        told = json.loads(text)
        lines = tuple(_read_line(line) for line in told["lines"])
        score, reason = _read_score(told["score"]), StopReason(told["stop_reason"])
        move = told["move"]
        if not isinstance(move, str | None):
            raise BadReport(f"move {move!r}")
        nodes, depth = _count(told["nodes"], MOST_COUNTED), _count(told["depth"], MOST_PLIES)
        seconds = float(told["seconds"])
        if not 0 <= seconds <= MOST_SECONDS:
            raise BadReport(f"seconds {seconds}")
        return Report(score, move, lines, nodes, depth, seconds, stop_reason=reason)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise BadReport(f"{text[:60]!r} is not a report: {error!r:.60}") from None


def _line(line: Line) -> dict[str, Any]:
    told: dict[str, Any] = {"moves": line.moves, "score": _score_object(line.score)}
    others = {name: getattr(line, name) for name in ("visits", "depth", "probability", "prior")}
    return told | {name: value for name, value in others.items() if value is not None}


def _read_line(told: dict[str, Any]) -> Line:
    most = {"visits": MOST_COUNTED, "depth": MOST_PLIES}
    others = {name: _count(told[name], largest) for name, largest in most.items() if name in told}
    shares = {name: float(told[name]) for name in ("probability", "prior") if name in told}
    return Line(tuple(map(str, told["moves"])), _read_score(told["score"]), **others, **shares)  # type: ignore[arg-type]


def _count(told: Any, largest: int) -> int:
    """A whole number that a message can hold."""
    if not 0 <= (count := int(told)) <= largest:
        raise BadReport(f"{count} is not from 0 to {largest}")
    return count


def _score_object(score: Score) -> dict[str, Any]:
    told: dict[str, Any] = {"for": score.point_of_view.name.lower()}
    match score.value:
        case ExpectedPoints(points):
            told["points"] = points
        case WinProbability(probability):
            told["probability"] = probability
        case Proven(result, plies):
            told |= {"proven": result.value} if plies is None else {"proven": result.value, "plies": plies}
        case Unknown():
            told["unknown"] = True
    return told | {"exact": True} if score.exact else told


def _read_score(told: dict[str, Any]) -> Score:
    value: ExpectedPoints | WinProbability | Proven | Unknown | Unreachable = Unreachable()
    if "points" in told:
        value = ExpectedPoints(float(told["points"]))
    elif "probability" in told:
        value = WinProbability(float(told["probability"]))
    elif "proven" in told:
        value = Proven(Result(told["proven"]), _count(told["plies"], MOST_PLIES) if "plies" in told else None)
    elif "unknown" in told:
        value = Unknown()
    return Score(Side[str(told["for"]).upper()], value, bool(told.get("exact")))
