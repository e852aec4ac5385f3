"""The call context: what is known about the call that is being answered."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from plyd.servers.access.quotas import Client

if TYPE_CHECKING:  # opentelemetry is installed only where traces are wanted
    from opentelemetry.trace import Span

Metadata = tuple[tuple[str, Any], ...]
ANONYMOUS = Client("")


class CallContext:
    """One call: the metadata it came with, its client, the fields of its log line and its trace span."""

    __slots__ = ("client", "log_fields", "metadata", "peer", "span")

    def __init__(self, metadata: Metadata = ()) -> None:
        self.metadata = metadata
        self.client = ANONYMOUS  # until it is authenticated
        self.peer: Callable[[], str] = str  # gRPC's name for the connection, once the call has begun
        self.log_fields: dict[str, Any] = {}
        self.span: Span | None = None

    def fair_key(self) -> str:
        """Who takes turns with others for slots: the client, or the connection of one without a name."""
        return self.client.name or self.peer()

    def note(self, **fields: Any) -> None:
        """Add fields to the log line of this call; they are also attributes of its span."""
        self.log_fields.update(fields)


_current: ContextVar[CallContext | None] = ContextVar("call", default=None)


def begin_call(metadata: Metadata) -> None:
    """Make a context for the call that starts in the present task."""
    _current.set(CallContext(metadata))


def find_call() -> CallContext | None:
    """The context of the call that the present task or thread works for, None if there is none."""
    return _current.get()


def current_call() -> CallContext:
    """The context of the call that the present task or thread works for."""
    call = _current.get()
    assert call is not None, "no call is being answered here"
    return call
