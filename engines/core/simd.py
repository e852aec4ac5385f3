"""Sixteen 16-bit lanes that a kernel handles as one value: a whole board in one AVX2 register.

A board has one column per lane, with the lowest row in the lowest bit. Shifting all stones up takes one instruction
(`up`), shifting them sideways about one (`aside`). Nothing wraps around, so a board needs no guard bits:

    lane  0 1 2 3 ... 15
    row 2 . . . .             up(b, 1)            aside(b, 1)
    row 1 . x . .            . x . .              . . . .
    row 0 x . o .            x . o .  (row 1)     . x . o ...

LLVM compiles it to what the CPU has: one 256-bit register with AVX2, otherwise two of 128 bits.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

Lanes = Any  # for signatures only; numba infers the type
LANES, BITS = 16, 16
LANE = ir.IntType(BITS)
VECTOR = ir.VectorType(LANE, LANES)
WHOLE = ir.IntType(LANES * BITS)
ZERO = ir.Constant(VECTOR, [0] * LANES)


class LanesType(types.Type):  # type: ignore[misc]
    """The numba type of such a value."""

    def __init__(self) -> None:
        super().__init__("Lanes")


lanes_type = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """Its representation in LLVM."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def _two_operands(name: str) -> Any:
    """An intrinsic of two values, lane by lane, that compiles to the named instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return getattr(builder, name)(*arguments)

    def typing(typing_context: Any, one: Any, other: Any) -> Any:  # noqa: ARG001
        return (lanes_type(lanes_type, lanes_type), generate) if one == other == lanes_type else None

    return intrinsic(typing)


plus = _two_operands("add")
minus = _two_operands("sub")
both = _two_operands("and_")
either = _two_operands("or_")
differ = _two_operands("xor")


def _operator(function: Any, instruction: Any) -> None:
    @overload(function, strict=False)
    def implementation(one: Any, other: Any) -> Any:
        if isinstance(one, LanesType) and isinstance(other, LanesType):
            return lambda one, other: instruction(one, other)
        return None


for _function, _instruction in (
    (operator.and_, both),
    (operator.iand, both),
    (operator.or_, either),
    (operator.ior, either),
    (operator.xor, differ),
    (operator.add, plus),
    (operator.sub, minus),
):
    _operator(_function, _instruction)


@intrinsic
def _inverse(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.not_(arguments[0])

    return lanes_type(lanes_type), generate


@overload(operator.invert, strict=False)
def _invert(value: Any) -> Any:
    if isinstance(value, LanesType):
        return lambda value: _inverse(value)
    return None


@intrinsic(prefer_literal=True)
def up(typing_context: Any, value: Any, rows: Any) -> Any:  # noqa: ARG001
    """Every lane shifted up by `rows` bits (a constant), down if negative; bits shifted out of a lane are lost."""
    count = rows.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        by = ir.Constant(VECTOR, [abs(count)] * LANES)
        return builder.shl(arguments[0], by) if count > 0 else builder.lshr(arguments[0], by)

    return lanes_type(lanes_type, rows), generate


@intrinsic(prefer_literal=True)
def aside(typing_context: Any, value: Any, columns: Any) -> Any:  # noqa: ARG001
    """Every lane moved `columns` lanes up (a constant), down if negative; lanes left empty are 0."""
    count = columns.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        order = [i - count if 0 <= i - count < LANES else LANES for i in range(LANES)]
        return builder.shuffle_vector(arguments[0], ZERO, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order))

    return lanes_type(lanes_type, columns), generate


@intrinsic
def is_any(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Whether any bit is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.icmp_unsigned("!=", builder.bitcast(arguments[0], WHOLE), ir.Constant(WHOLE, 0))

    return types.boolean(lanes_type), generate


@intrinsic
def used_lanes(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """A uint64 with a bit for each lane that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        used = builder.icmp_unsigned("!=", arguments[0], ZERO)
        return builder.zext(builder.bitcast(used, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(lanes_type), generate


@intrinsic
def count_all(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """The number of set bits, as int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        words = builder.bitcast(arguments[0], ir.VectorType(ir.IntType(64), 4))
        total = ir.Constant(ir.IntType(64), 0)
        for i in range(4):
            word = builder.extract_element(words, ir.Constant(ir.IntType(32), i))
            total = builder.add(total, builder.ctpop(word))
        return total

    return types.int64(lanes_type), generate


@intrinsic
def only_lane(typing_context: Any, value: Any, lane: Any) -> Any:  # noqa: ARG001
    """The value with all other lanes set to 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        value, lane = arguments
        index = builder.trunc(lane, LANE)
        single = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), index, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        wanted = builder.shuffle_vector(single, ir.Constant(VECTOR, ir.Undefined), everywhere)
        is_it = builder.icmp_unsigned("==", wanted, ir.Constant(VECTOR, list(range(LANES))))
        return builder.and_(value, builder.sext(is_it, VECTOR))

    return lanes_type(lanes_type, types.int64), generate


@intrinsic
def lane_of(typing_context: Any, value: Any, lane: Any) -> Any:  # noqa: ARG001
    """One lane, as uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.zext(builder.extract_element(*arguments), ir.IntType(64))

    return types.uint64(lanes_type, types.int64), generate


@intrinsic
def words_of(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """The value as four uint64, the lower lanes first."""
    kind = types.UniTuple(types.uint64, 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        words = builder.bitcast(arguments[0], ir.VectorType(ir.IntType(64), 4))
        parts = [builder.extract_element(words, ir.Constant(ir.IntType(32), i)) for i in range(4)]
        return context.make_tuple(builder, kind, parts)

    return kind(lanes_type), generate


@intrinsic
def load(typing_context: Any, array: Any, row: Any) -> Any:  # noqa: ARG001
    """A row of a C-ordered uint16 array of shape (n, 16)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_row_address(context, builder, signature, arguments))
        loaded.align = 2
        return loaded

    return lanes_type(array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, row: Any, value: Any) -> Any:  # noqa: ARG001
    """Write a row of a C-ordered uint16 array of shape (n, 16)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = builder.store(arguments[2], _row_address(context, builder, signature, arguments))
        stored.align = 2
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


def _row_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(builder.bitcast(array.data, VECTOR.as_pointer()), [arguments[1]])


@intrinsic
def positive_part(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Every lane, read as a signed number, or 0 if it is negative."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        is_positive = builder.icmp_signed(">", arguments[0], ZERO)
        return builder.select(is_positive, arguments[0], ZERO)

    return lanes_type(lanes_type), generate


@intrinsic
def load_at(typing_context: Any, pointer: Any, index: Any) -> Any:  # noqa: ARG001
    """Sixteen items from an index on, of 16 bits each, by the address of the first item (`pointer_to`)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return _load_vector(builder, *arguments, VECTOR)

    return (lanes_type(pointer, types.intp), generate) if _is_of_lanes(pointer) else None


@intrinsic
def store_at(typing_context: Any, pointer: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Write sixteen items from an index on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        address = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), VECTOR.as_pointer())
        stored = builder.store(arguments[2], address)
        stored.align = 2
        return context.get_dummy_value()

    return (types.void(pointer, types.intp, lanes_type), generate) if _is_of_lanes(pointer) else None


@intrinsic
def different_pairs(typing_context: Any, one: Any, index: Any, other: Any, other_index: Any) -> Any:  # noqa: ARG001
    """A uint64 with a bit for each of sixteen pairs of neighbouring items that differs between two arrays."""
    pairs = ir.VectorType(ir.IntType(32), LANES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        here, there = (_load_vector(builder, *arguments[i : i + 2], pairs) for i in (0, 2))
        differs = builder.icmp_unsigned("!=", here, there)
        return builder.zext(builder.bitcast(differs, ir.IntType(LANES)), ir.IntType(64))

    signature = types.uint64(one, types.intp, other, types.intp)
    return (signature, generate) if _is_of_lanes(one) and _is_of_lanes(other) else None


def _is_of_lanes(pointer: Any) -> bool:
    return isinstance(pointer, types.CPointer) and pointer.dtype in (types.int16, types.uint16)


def _load_vector(builder: Any, pointer: Any, index: Any, kind: Any) -> Any:
    loaded = builder.load(builder.bitcast(builder.gep(pointer, [index]), kind.as_pointer()))
    loaded.align = 2
    return loaded
