"""Messages of any type, made by hypothesis from the schema itself; hints by field name make many of them valid."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

Hints = Mapping[str, st.SearchStrategy[Any]]

NUMBERS = {
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_STRING: st.text(max_size=20),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=60),
}

ANY_TEXTS = st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3)


@st.composite
def messages(draw: st.DrawFn, kind: Descriptor, hints: Hints, most: int = 6) -> Message:
    """A message with any of its fields set."""
    message = GetMessageClass(kind)()
    for field in kind.fields:
        if not draw(st.booleans()):
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            held = draw(hints.get(field.name, ANY_TEXTS))
            getattr(message, field.name).update(held)
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(values(field, hints), max_size=most)))
        elif field.message_type:
            getattr(message, field.name).CopyFrom(draw(values(field, hints)))
        else:
            setattr(message, field.name, draw(values(field, hints)))
    return message


def values(field: FieldDescriptor, hints: Hints) -> st.SearchStrategy[Any]:
    """A field's values: mostly as hinted, sometimes anything."""
    if field.message_type:
        return messages(field.message_type, hints)
    if field.enum_type:
        return st.sampled_from([each.number for each in field.enum_type.values]) | st.integers(-5, 99)
    anything = NUMBERS[field.type]
    hint = hints.get(f"{field.containing_type.name}.{field.name}", hints.get(field.name))
    return st.one_of(hint, hint, hint, anything) if hint is not None else anything
