"""What a client returns is a view of a message: the message's fields as typed attributes, and a readable repr.

Protobuf's classes cannot be subclassed. So a view holds the message, which `message` gives. Anything else that a
message has, such as `SerializeToString`, works on a view too, and so does assigning a field. To put a view's message
into another message, use `message`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)
V = TypeVar("V")
MAX_TEXT = 60  # characters of a position in a repr


class View(Generic[M]):
    """A message with typed attributes. Two views are equal if their messages are."""

    __slots__ = ("message",)
    __hash__ = None  # type: ignore[assignment]  # as of messages

    message: M
    """The message itself."""

    def __init__(self, message: M) -> None:
        object.__setattr__(self, "message", message)

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


class Views(Sequence[V]):
    """A list of messages as views, each of which is made when it is asked for."""

    __slots__ = ("_messages", "_view")

    def __init__(self, view: Callable[[Any], V], messages: Sequence[Any]) -> None:
        self._view = view
        self._messages = messages

    @overload
    def __getitem__(self, index: int) -> V: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[V]: ...

    def __getitem__(self, index: int | slice) -> V | Sequence[V]:
        found = self._messages[index]
        return [self._view(each) for each in found] if isinstance(index, slice) else self._view(found)

    def __iter__(self) -> Iterator[V]:
        return map(self._view, self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


def plural(count: int, one: str, many: str = "") -> str:
    """A number of things: "1 ply", "1,200 nodes"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shortened(text: str) -> str:
    """A text that fits in a repr."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
