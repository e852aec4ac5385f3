"""Reports as answers, which are objects of JSON; and answers as rows of CSV."""

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from plyd.clients.library.errors import PlydError
from plyd.clients.library.report import Line, Report, Score
from plyd.v1 import position_pb2, search_pb2

Answer = dict[str, Any]

RESULTS = {search_pb2.RESULT_WIN: "win", search_pb2.RESULT_DRAW: "draw", search_pb2.RESULT_LOSS: "loss"}
WORTH = {"win": 1.0, "draw": 0.5, "loss": 0.0}
FIELDS = {"max_lines": "lines", "limits.move_time_ms": "moveTimeMs"}  # of the schema, and of a query
CSV_COLUMNS = ("id", "turn", "move", "value", "pointOfView", "exact", "line", "nodes", "depth", "seconds", "error")


def report_answer(query_id: str, turn: int, report: Report, *, final: bool) -> Answer:
    """The answer that a report gives. A search that was cut off ends with its last report, as a stopped one."""
    answer: Answer = {"id": query_id, "turn": turn, "final": final}
    if report.HasField("move"):
        answer["move"] = report.move
    answer |= {"score": score_object(report.score), "lines": [_line_object(line) for line in report.lines]}
    answer |= {"nodes": report.nodes, "depth": report.depth}
    answer |= {"seconds": report.elapsed_us / 1e6, "waitedSeconds": report.waited_us / 1e6}
    if final:
        reason = report.stop_reason or search_pb2.STOP_REASON_STOPPED
        answer["stopReason"] = search_pb2.StopReason.Name(reason).removeprefix("STOP_REASON_").lower()
    if report.known:
        answer["known"] = True
    return answer


def score_object(score: Score) -> Answer:
    """A score as an object."""
    side = position_pb2.Side.Name(score.point_of_view).removeprefix("SIDE_").lower()
    told: Answer = {"pointOfView": side}
    match score.WhichOneof("value"):
        case "win_probability":
            told["winProbability"] = score.win_probability
        case "expected_points":
            told["expectedPoints"] = score.expected_points
        case "proven":
            told["proven"] = RESULTS.get(score.proven.result, "")
            if score.proven.HasField("plies"):
                told["plies"] = score.proven.plies
        case _:
            told["unreachable"] = True
    return told | {"exact": True} if score.exact else told


def _line_object(line: Line) -> Answer:
    told: Answer = {"moves": list(line.moves), "score": score_object(line.score)}
    for name in ("visits", "depth", "probability", "prior"):
        if line.HasField(name):
            told[name] = getattr(line, name)
    return told


def error_answer(query_id: str | None, error: Exception, turn: int | None = None, line: int | None = None) -> Answer:
    """The final answer to a query, or to one turn of it, that cannot be answered."""
    answer: Answer = {} if query_id is None else {"id": query_id}
    if turn is not None:
        answer["turn"] = turn
    answer |= {"final": True, "error": str(error)}
    if name := getattr(error, "field", ""):
        answer["field"] = query_field(name) if isinstance(error, PlydError) else name
    if query_id is None and line is not None:
        answer["inputLine"] = line
    return answer


def query_field(name: str) -> str:
    """The field of a query that a field of the schema comes from."""
    return FIELDS.get(name) or re.sub(r"[.\[].*", "", re.sub(r"^(position|limits)\.", "", name))


def value_of(score: Mapping[str, Any]) -> float | None:
    """A score as one number: points, or a probability with a proven result as 1, 1/2 or 0; None if it has none."""
    if "proven" in score:
        return WORTH.get(score["proven"])
    number = score.get("winProbability", score.get("expectedPoints"))
    return None if number is None else float(number)


def as_json(answer: Answer) -> str:
    """An answer as a line of JSON."""
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False) + "\n"


def as_csv(rows: list[list[Any]]) -> str:
    """Rows as CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def csv_row(answer: Answer) -> list[Any]:
    """A final answer as a row under CSV_COLUMNS."""
    score = answer.get("score", {})
    line = " ".join(answer["lines"][0]["moves"]) if answer.get("lines") else None
    told = answer | {"value": value_of(score), "pointOfView": score.get("pointOfView"), "line": line}
    told["exact"] = bool(score.get("exact") or "proven" in score) if score else None
    if answer.get("noResults"):
        told["error"] = "terminated"
    return [told.get(name) for name in CSV_COLUMNS]
