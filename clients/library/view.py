"""What a client returns is a view of a message: the message's fields as typed attributes, and a readable repr.

Protobuf's classes cannot be subclassed. So a view holds the message, which `message` gives. Anything else that a
message has, such as `SerializeToString`, works on a view too, and so does assigning a field. To put a view's message
into another message, use `message`.
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)
MAX_TEXT = 60  # characters of a position in a repr


class View(Generic[M]):
    """A message with typed attributes. Two views are equal if their messages are."""

    __slots__ = ("message",)
    __hash__ = None  # type: ignore[assignment]  # as of messages

    def __init__(self, message: M) -> None:
        self.message: M = message

    def HasField(self, field_name: str) -> bool:  # noqa: N802
        """Whether an optional field is set, as the message's own method says."""
        return bool(self.message.HasField(field_name))

    def WhichOneof(self, oneof_group: str) -> str | None:  # noqa: N802
        """The field of a group that is set, as the message's own method says."""
        name: str | None = self.message.WhichOneof(oneof_group)
        return name

    def __eq__(self, other: object) -> bool:
        return bool(self.message == (other.message if isinstance(other, View) else other))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The rest of what the message has: its methods, and fields of a newer schema."""
            if name.startswith("__") or name == "message":
                raise AttributeError(name)
            return getattr(self.message, name)

        def __setattr__(self, name: str, value: Any) -> None:
            """Set a field of the message."""
            own = name in View.__slots__ or name in type(self).__slots__
            object.__setattr__(self, name, value) if own else setattr(self.message, name, value)


def plural(count: int, one: str, many: str = "") -> str:
    """A number of things: "1 ply", "1,200 nodes"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shortened(text: str) -> str:
    """A text that fits in a repr."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
