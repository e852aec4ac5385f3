"""What a nogil kernel cannot get from Python: the time, a flag that another thread sets, instructions for bits.

A kernel that polls both every thousand nodes or so ends within microseconds of its limit. A plain array read would not
do for the flag: the compiler may read it once and keep it. Both compile to a few instructions and can be cached.
"""

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CLOCK_MONOTONIC = 1
NEVER = 2**62  # a deadline that does not come


class Stop:
    """A flag that a search polls: set once, by any thread, never cleared. Kernels get `flag` itself."""

    __slots__ = ("flag",)

    def __init__(self) -> None:
        self.flag = np.zeros(1, np.uint8)

    def set(self) -> None:
        """Ask the search to end soon."""
        self.flag[0] = 1

    def is_set(self) -> bool:
        """Whether the search was asked to end."""
        return bool(self.flag[0])


@intrinsic
def monotonic_ns(typing_context: Any) -> Any:  # noqa: ARG001
    """Nanoseconds of the clock behind time.monotonic_ns(), as int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word = ir.IntType(64)
        timespec = ir.ArrayType(word, 2)  # seconds, nanoseconds
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), timespec.as_pointer()])
        clock_gettime = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        now = cgutils.alloca_once(builder, timespec)
        builder.call(clock_gettime, [ir.Constant(ir.IntType(32), CLOCK_MONOTONIC), now])
        seconds = builder.extract_value(builder.load(now), 0)
        nanoseconds = builder.extract_value(builder.load(now), 1)
        return builder.add(builder.mul(seconds, ir.Constant(word, 10**9)), nanoseconds)

    return types.int64(), generate


@intrinsic
def is_raised(typing_context: Any, flag: Any) -> Any:  # noqa: ARG001
    """Whether a Stop's flag is set, read from memory each time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        value = builder.load_atomic(array.data, "monotonic", 1)
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))

    return types.boolean(flag), generate


@intrinsic
def pointer_to(typing_context: Any, array: Any) -> Any:  # noqa: ARG001
    """The address of a contiguous array's first item. Indexing it costs one instruction, and passing it on no reference
    count, which for arrays inside tuples numba takes at every use. Whoever calls the kernel keeps the array alive.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def prefetch(typing_context: Any, pointer: Any, index: Any) -> Any:  # noqa: ARG001
    """Asks for an item by address to be brought near, and goes on: a later read need not wait for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), byte)
        builder.call(ask, [address, *(ir.Constant(flag, n) for n in (0, 3, 1))])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(pointer, types.intp), generate


def _bit_instruction(name: str) -> Any:
    """An intrinsic from a uint64 to an int64 by the LLVM instruction of that name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word = arguments[0]
        if name == "cttz":
            return builder.cttz(word, ir.Constant(ir.IntType(1), 1))  # 1: zero is never asked for
        return builder.ctpop(word)

    def typing(typing_context: Any, word: Any) -> Any:  # noqa: ARG001
        return (types.int64(types.uint64), generate) if word == types.uint64 else None

    return intrinsic(typing)


count_bits = _bit_instruction("ctpop")
lowest_bit_index = _bit_instruction("cttz")


def has_quick_extract() -> bool:
    """Whether this processor has a bit extraction instruction worth using: BMI2, but not the first Zens' microcode."""
    is_slow = binding.get_host_cpu_name() in ("znver1", "znver2")
    return bool(binding.get_host_cpu_features().get("bmi2")) and not is_slow


@intrinsic
def extract_bits(typing_context: Any, word: Any, mask: Any) -> Any:  # noqa: ARG001
    """The bits of a word where the mask has ones, moved together to the low end; both uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word, word])
        if has_quick_extract():
            pext = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pext.64")
            return builder.call(pext, arguments)
        # bit by bit: result |= one for each bit of the mask, lowest first, whose place in the word is set
        source, mask = arguments
        zero, one = ir.Constant(word, 0), ir.Constant(word, 1)
        rest, place, result = (cgutils.alloca_once_value(builder, start) for start in (mask, one, zero))
        with cgutils.loop_nest(builder, [builder.ctpop(mask)], word):
            mask_now = builder.load(rest)
            lowest = builder.and_(mask_now, builder.neg(mask_now))
            is_set = builder.icmp_unsigned("!=", builder.and_(source, lowest), zero)
            bit = builder.select(is_set, builder.load(place), zero)
            builder.store(builder.or_(builder.load(result), bit), result)
            builder.store(builder.xor(mask_now, lowest), rest)
            builder.store(builder.shl(builder.load(place), one), place)
        return builder.load(result)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def nth_bit_index(typing_context: Any, word: Any, n: Any) -> Any:  # noqa: ARG001
    """The place of a uint64's n-th bit that is set, counted from 0 at the low end; there are more than n of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word, one = ir.IntType(64), ir.Constant(ir.IntType(64), 1)
        source, n = arguments
        if has_quick_extract():
            kind = ir.FunctionType(word, [word, word])
            deposit = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pdep.64")
            found = builder.call(deposit, [builder.shl(one, n), source])
        else:
            rest = cgutils.alloca_once_value(builder, source)
            with cgutils.loop_nest(builder, [n], word):  # take the lowest bit away, n times
                now = builder.load(rest)
                builder.store(builder.and_(now, builder.sub(now, one)), rest)
            found = builder.load(rest)
        return builder.cttz(found, ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64, types.int64), generate


@intrinsic
def take_number(typing_context: Any, counter: Any) -> Any:  # noqa: ARG001
    """The number in a one-item int64 array, which goes up by one: no two threads get the same."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate
