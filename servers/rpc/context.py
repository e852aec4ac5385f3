"""The call context: what is known about the call that is being answered."""

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from plyd.engines.core.errors import EngineError
from plyd.servers.access.auth import Grant
from plyd.servers.access.quotas import Client

if TYPE_CHECKING:  # opentelemetry is installed only where traces are wanted
    from opentelemetry.trace import Span

Metadata = tuple[tuple[str, Any], ...]
ANONYMOUS = Client("")


class CallContext:
    """One call: the metadata it came with, its client, the fields of its log line and its trace span.

    `refusal` is why it was refused before its message was read; `must_wait` whether its turn has to come before that.
    """

    __slots__ = ("client", "grant", "log_fields", "metadata", "must_wait", "peer", "refusal", "span", "writing")

    def __init__(self, metadata: Metadata = ()) -> None:
        self.metadata = metadata
        self.peer = ""
        self.client = ANONYMOUS  # until it is authenticated
        self.grant: Grant | None = None
        self.refusal: EngineError | None = None
        self.must_wait = False
        self.writing: asyncio.Future[None] | None = None  # the last message of a stream, of a client that is known
        self.log_fields: dict[str, Any] = {}
        self.span: Span | None = None

    def admit(self, grant: Grant) -> None:
        """Set the call's client, and count its request; raises Overloaded if they come too fast."""
        self.grant = grant
        client = self.client = grant.client
        if client.is_known:
            self.log_fields["client"] = client.name
        client.count_request()

    @property
    def party(self) -> str:
        """Who takes turns with others: the client if it has a name, else the connection."""
        return self.client.name or self.peer

    def note(self, **fields: Any) -> None:
        """Add fields to the log line of this call; they are also attributes of its span."""
        self.log_fields.update(fields)


_current: ContextVar[CallContext | None] = ContextVar("call", default=None)


def begin_call(metadata: Metadata) -> CallContext:
    """A new context, of the call that starts in the present task."""
    call = CallContext(metadata)
    _current.set(call)
    return call


def find_call() -> CallContext | None:
    """The context of the call that the present task or thread works for, None if there is none."""
    return _current.get()


def current_call() -> CallContext:
    """The context of the call that the present task or thread works for."""
    call = _current.get()
    assert call is not None, "no call is being answered here"
    return call
