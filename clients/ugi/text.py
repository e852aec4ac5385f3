"""What the bridge says: reports of the daemon as `info` lines, options of the engine as `option` lines."""

import math

from plyd.clients.library.report import Report
from plyd.protocols.ugi import Info
from plyd.v1 import engine_pb2, search_pb2

LARGEST_CENTIPAWNS = 4000
TYPES = {
    engine_pb2.OPTION_TYPE_BOOLEAN: "check",
    engine_pb2.OPTION_TYPE_INTEGER: "spin",
    engine_pb2.OPTION_TYPE_CHOICE: "combo",
}

PROVEN = {
    search_pb2.RESULT_WIN: LARGEST_CENTIPAWNS,
    search_pb2.RESULT_DRAW: 0,
    search_pb2.RESULT_LOSS: -LARGEST_CENTIPAWNS,
}


def info_of(report: Report, side: int) -> Info:
    """The `info` line of a report, for the side to move."""
    score = report.score
    sign = 1 if score.point_of_view == side else -1
    value = score.WhichOneof("value")
    centipawns = mate = points = None
    if value == "win_probability":
        centipawns = sign * centipawns_of(score.win_probability)
    elif value == "expected_points":
        points = score.expected_points
    elif value == "proven":
        mate = sign * moves_to_end(score.proven) or None
        centipawns = None if mate else sign * PROVEN[score.proven.result]
    return Info(
        depth=report.depth,
        nodes=report.nodes,
        time=report.elapsed_us // 1000,
        centipawns=centipawns,
        mate=mate,
        points=points,
        pv=tuple(report.lines[0].moves) if report.lines else (),
    )


def centipawns_of(probability: float) -> int:
    """Centipawns of a probability of winning: 400 for a 10 to 1 favourite."""
    if not 0.0 < probability < 1.0:
        return LARGEST_CENTIPAWNS if probability >= 1.0 else -LARGEST_CENTIPAWNS
    return round(max(-LARGEST_CENTIPAWNS, min(LARGEST_CENTIPAWNS, 400 * math.log10(probability / (1 - probability)))))


def moves_to_end(proven: search_pb2.ProvenResult) -> int:
    """Moves of one side to a proven win, negative to a loss, 0 for a draw or the end; 999 if it is not known."""
    if proven.result == search_pb2.RESULT_DRAW:
        return 0
    moves = (proven.plies + 1) // 2 if proven.HasField("plies") else 999
    return moves if proven.result == search_pb2.RESULT_WIN else -moves


def option_line(option: engine_pb2.Option) -> str:
    """The `option` line of an engine's option; numbers that are not whole are strings."""
    words = [f"option name {option.name} type {TYPES.get(option.type, 'string')} default {option.default_value}"]
    if option.type == engine_pb2.OPTION_TYPE_INTEGER:
        words.append(f"min {option.minimum:.0f} max {option.maximum:.0f}")
    return " ".join([*words, *(f"var {choice}" for choice in option.choices)])


def combo_line(name: str, choices: list[str]) -> str:
    """The `option` line of a choice, the default one first."""
    return " ".join([f"option name {name} type combo default {choices[0]}", *(f"var {choice}" for choice in choices)])
