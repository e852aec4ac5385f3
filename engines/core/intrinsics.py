"""What a nogil kernel cannot get from Python: the time, a stop flag set by another thread, and bit instructions.

A kernel that polls clock and flag about every thousand nodes ends within microseconds of its limit. A plain array read
does not work for the flag: the compiler may hoist it out of the loop. Both intrinsics compile to a few instructions and
can be cached.

A search is paused where it polls its flag, in the kernel too: its state stays as it is, so that its result is the same
as without the pause.
"""

import threading
import time
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CLOCK_MONOTONIC = 1
NEVER = 2**62  # a deadline that is never reached


RUN, STOP, PAUSE = 0, 1, 2  # values of a Stop's flag
NAP_MICROSECONDS = 2000  # a paused search looks at its flag this often
_changing = threading.Lock()  # held while a flag changes: a pause must not undo a stop


class Stop:
    """A flag that a search polls, and any thread may set: it stops the search for good, or pauses it for a while.

    Kernels read `flag` directly.
    """

    __slots__ = ("_followers", "flag")

    def __init__(self) -> None:
        self.flag = np.zeros(1, np.uint8)
        self._followers: tuple[Stop, ...] = ()

    def set(self) -> None:
        """Ask the search to end soon, even if it is paused."""
        with _changing:
            self.flag[0] = STOP

    def is_set(self) -> bool:
        """Whether the search was asked to end."""
        return bool(self.flag[0] == STOP)

    def pause(self) -> None:
        """Ask the search to wait until `resume` or `set`."""
        self._change(RUN, PAUSE)

    def resume(self) -> None:
        """Let a paused search go on."""
        self._change(PAUSE, RUN)

    def is_paused(self) -> bool:
        """Whether the search was asked to wait."""
        return bool(self.flag[0] == PAUSE)

    def poll(self) -> bool:
        """Wait while paused; whether the search was asked to end. Called by the search's threads."""
        while self.flag[0] == PAUSE:
            time.sleep(NAP_MICROSECONDS / 1e6)
        return self.is_set()

    def follower(self) -> "Stop":
        """Another Stop that is paused and resumed with this one, but set on its own: for helper threads."""
        follower = Stop()
        with _changing:
            follower.flag[0] = PAUSE if self.is_paused() else RUN
            self._followers = (*(other for other in self._followers if not other.is_set()), follower)
        return follower

    def _change(self, old: int, new: int) -> None:
        with _changing:
            for stop in (self, *self._followers):
                if stop.flag[0] == old:
                    stop.flag[0] = new


@intrinsic
def monotonic_ns(typing_context: Any) -> Any:  # noqa: ARG001
    """Nanoseconds of the clock of time.monotonic_ns(), as int64."""

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
    """Whether a Stop's flag is set, read from memory at every call; while it says PAUSE, this waits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        number = ir.IntType(32)
        usleep = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number]), "usleep")
        look, nap, go_on = (builder.append_basic_block(name) for name in ("look", "nap", "go_on"))
        builder.branch(look)
        builder.position_at_end(look)
        value = builder.load_atomic(array.data, "monotonic", 1)
        is_paused = builder.icmp_unsigned("==", value, ir.Constant(value.type, PAUSE))
        builder.cbranch(is_paused, nap, go_on).set_weights([1, 1 << 20])
        builder.position_at_end(nap)
        builder.call(usleep, [ir.Constant(number, NAP_MICROSECONDS)])
        builder.branch(look)
        builder.position_at_end(go_on)
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, RUN))

    return types.boolean(flag), generate


@intrinsic
def pointer_to(typing_context: Any, array: Any) -> Any:  # noqa: ARG001
    """The address of a contiguous array's first item. Indexing it costs one instruction, and passing it costs no
    reference counting, which numba does at every use of an array inside a tuple. The caller of the kernel must keep
    the array alive.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def prefetch(typing_context: Any, pointer: Any, index: Any) -> Any:  # noqa: ARG001
    """Prefetches an item into the CPU cache without waiting, so that a later read is fast."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), byte)
        builder.call(ask, [address, *(ir.Constant(flag, n) for n in (0, 3, 1))])  # read, high locality, data
        return context.get_dummy_value()

    return types.void(pointer, types.intp), generate


def _bit_instruction(name: str) -> Any:
    """An intrinsic from uint64 to int64 that compiles to the named LLVM instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word = arguments[0]
        if name == "cttz":
            return builder.cttz(word, ir.Constant(ir.IntType(1), 1))  # 1: undefined for zero, which callers never pass
        return builder.ctpop(word)

    def typing(typing_context: Any, word: Any) -> Any:  # noqa: ARG001
        return (types.int64(types.uint64), generate) if word == types.uint64 else None

    return intrinsic(typing)


count_bits = _bit_instruction("ctpop")
lowest_bit_index = _bit_instruction("cttz")


def has_quick_extract() -> bool:
    """Whether this CPU has a fast PEXT: BMI2, except for Zen 1 and Zen 2, which run it in microcode."""
    is_slow = binding.get_host_cpu_name() in ("znver1", "znver2")
    return bool(binding.get_host_cpu_features().get("bmi2")) and not is_slow


@intrinsic
def extract_bits(typing_context: Any, word: Any, mask: Any) -> Any:  # noqa: ARG001
    """PEXT: the bits of a word where the mask is set, packed into the low bits; both uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word, word])
        if has_quick_extract():
            pext = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pext.64")
            return builder.call(pext, arguments)
        # Bit by bit, lowest first: for each set bit of the mask, set the next result bit if the word has that bit.
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
    """The index of the n-th set bit of a uint64, from 0 at the low end; the word must have more than n set bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        word, one = ir.IntType(64), ir.Constant(ir.IntType(64), 1)
        source, n = arguments
        if has_quick_extract():
            kind = ir.FunctionType(word, [word, word])
            deposit = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pdep.64")
            found = builder.call(deposit, [builder.shl(one, n), source])
        else:
            rest = cgutils.alloca_once_value(builder, source)
            with cgutils.loop_nest(builder, [n], word):  # clear the lowest set bit, n times
                now = builder.load(rest)
                builder.store(builder.and_(now, builder.sub(now, one)), rest)
            found = builder.load(rest)
        return builder.cttz(found, ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64, types.int64), generate


@intrinsic
def publish(typing_context: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Stores a value in an array so that a thread that sees it also sees what was stored before it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store_atomic(arguments[2], builder.gep(data, [arguments[1]]), "release", array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic
def take_number(typing_context: Any, counter: Any) -> Any:  # noqa: ARG001
    """The number in a one-item int64 array, incremented atomically: no two threads get the same number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate
