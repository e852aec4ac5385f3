"""Reads and checks the limits of a request."""

from plyd.engines.core.errors import BadLimit
from plyd.engines.core.search import Clock, Limits
from plyd.servers.search.game_record import with_field
from plyd.v1 import engine_pb2, search_pb2

MAX_LINES = 1000
MAX_NODES = 2**62  # more than any search can do, and still an int64
NO_LIMITS = Limits()


def read_limits(request: engine_pb2.SearchRequest | engine_pb2.AnalyzeRequest | engine_pb2.GoCommand) -> Limits:
    """The limits, and the number of lines, that a request asks for; raises BadLimit if one is out of range."""
    if not request.HasField("limits") and not request.HasField("max_lines"):
        return NO_LIMITS
    message, max_lines = request.limits, request.max_lines if request.HasField("max_lines") else None
    for name in ("nodes", "depth"):
        if message.HasField(name) and getattr(message, name) < 1:
            raise _zero(f"limits.{name}")
    if max_lines is not None and not 1 <= max_lines <= MAX_LINES:
        raise with_field("max_lines", BadLimit(f"max_lines is {max_lines}; allowed is 1 to {MAX_LINES}"))
    return Limits(
        max_seconds=message.move_time_ms / 1000 if message.HasField("move_time_ms") else None,
        clock=_read_clock(message.clock) if message.HasField("clock") else None,
        max_nodes=min(message.nodes, MAX_NODES) if message.HasField("nodes") else None,
        max_depth=message.depth if message.HasField("depth") else None,
        max_lines=max_lines or 1,
    )


def _read_clock(message: search_pb2.Clock) -> Clock:
    moves_to_go = message.moves_to_go if message.HasField("moves_to_go") else None
    if moves_to_go == 0:
        raise _zero("limits.clock.moves_to_go")
    return Clock(message.remaining_ms / 1000, message.increment_ms / 1000, moves_to_go)


def _zero(field: str) -> Exception:
    return with_field(field, BadLimit(f"{field} is 0; allowed is 1 or more"))
