"""Reads and checks the limits of a request."""

from plyd.engines.core.errors import BadLimit
from plyd.engines.core.search import Clock, Limits
from plyd.servers.search.game_record import with_field
from plyd.servers.search.play_on import Asked
from plyd.v1 import engine_pb2, search_pb2

MAX_LINES = 1000
MAX_NODES = 2**62  # more than any search can do, and still an int64
NO_LIMITS = Limits()
MAX_PLAYED_ON = 1_000_000  # moves of one PlayOnCommand
DEFAULT_PLAYED_ON = 1000
MIN_INTERVAL_MS, MAX_INTERVAL_MS, DEFAULT_INTERVAL_MS = 10, 60_000, 50
AT_A_GLANCE = Limits(max_depth=1)


def read_limits(request: engine_pb2.SearchRequest | engine_pb2.AnalyzeRequest | engine_pb2.GoCommand) -> Limits:
    """The limits, and the number of lines, that a request asks for; raises BadLimit if one is out of range."""
    if not request.HasField("limits") and not request.HasField("max_lines"):
        return NO_LIMITS
    max_lines = request.max_lines if request.HasField("max_lines") else None
    if max_lines is not None:
        _check_range("max_lines", max_lines, 1, MAX_LINES)
    return _limits_of(request.limits, max_lines or 1)


def read_play_on(command: engine_pb2.PlayOnCommand) -> Asked:
    """How an engine is to play on; raises BadLimit if a field is out of range."""
    moves = command.moves if command.HasField("moves") else DEFAULT_PLAYED_ON
    interval_ms = command.interval_ms if command.HasField("interval_ms") else DEFAULT_INTERVAL_MS
    _check_range("moves", moves, 1, MAX_PLAYED_ON)
    _check_range("interval_ms", interval_ms, MIN_INTERVAL_MS, MAX_INTERVAL_MS)
    limits = _limits_of(command.limits, 1)
    if limits.clock:
        raise with_field("limits.clock", BadLimit("a clock cannot be given for many moves; give a time for each move"))
    seed = command.seed if command.HasField("seed") else None
    return Asked(moves, AT_A_GLANCE if limits == NO_LIMITS else limits, seed, interval_ms / 1000)


def _limits_of(message: search_pb2.Limits, max_lines: int) -> Limits:
    for name in ("nodes", "depth"):
        if message.HasField(name) and getattr(message, name) < 1:
            raise _zero(f"limits.{name}")
    return Limits(
        max_seconds=message.move_time_ms / 1000 if message.HasField("move_time_ms") else None,
        clock=_read_clock(message.clock) if message.HasField("clock") else None,
        max_nodes=min(message.nodes, MAX_NODES) if message.HasField("nodes") else None,
        max_depth=message.depth if message.HasField("depth") else None,
        max_lines=max_lines,
    )


def _read_clock(message: search_pb2.Clock) -> Clock:
    moves_to_go = message.moves_to_go if message.HasField("moves_to_go") else None
    if moves_to_go == 0:
        raise _zero("limits.clock.moves_to_go")
    return Clock(message.remaining_ms / 1000, message.increment_ms / 1000, moves_to_go)


def _check_range(field: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise with_field(field, BadLimit(f"{field} is {value}; allowed is {least} to {most}"))


def _zero(field: str) -> Exception:
    return with_field(field, BadLimit(f"{field} is 0; allowed is 1 or more"))
