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
    Unreachable,
    WinProbability,
)


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
        return Report(
            score, move, lines, int(told["nodes"]), int(told["depth"]), float(told["seconds"]), stop_reason=reason
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise BadReport(f"{text[:60]!r} is not a report: {error!r:.60}") from None


def _line(line: Line) -> dict[str, Any]:
    told: dict[str, Any] = {"moves": line.moves, "score": _score_object(line.score)}
    others = {name: getattr(line, name) for name in ("visits", "depth", "probability", "prior")}
    return told | {name: value for name, value in others.items() if value is not None}


def _read_line(told: dict[str, Any]) -> Line:
    others = {name: int(told[name]) for name in ("visits", "depth") if name in told}
    shares = {name: float(told[name]) for name in ("probability", "prior") if name in told}
    return Line(tuple(map(str, told["moves"])), _read_score(told["score"]), **others, **shares)  # type: ignore[arg-type]


def _score_object(score: Score) -> dict[str, Any]:
    told: dict[str, Any] = {"for": score.point_of_view.name.lower()}
    match score.value:
        case ExpectedPoints(points):
            told["points"] = points
        case WinProbability(probability):
            told["probability"] = probability
        case Proven(result, plies):
            told |= {"proven": result.value} if plies is None else {"proven": result.value, "plies": plies}
    return told | {"exact": True} if score.exact else told


def _read_score(told: dict[str, Any]) -> Score:
    value: ExpectedPoints | WinProbability | Proven | Unreachable = Unreachable()
    if "points" in told:
        value = ExpectedPoints(float(told["points"]))
    elif "probability" in told:
        value = WinProbability(float(told["probability"]))
    elif "proven" in told:
        value = Proven(Result(told["proven"]), int(told["plies"]) if "plies" in told else None)
    return Score(Side[str(told["for"]).upper()], value, bool(told.get("exact")))
