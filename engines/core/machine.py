"""Two things a nogil kernel cannot get from Python: the time, and a flag that another thread sets.

A kernel that polls both every thousand nodes or so ends within microseconds of its limit. A plain array read would not
do for the flag: the compiler may read it once and keep it. Both compile to a few instructions and can be cached.
"""

from typing import Any

import numpy as np
from llvmlite import ir
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


def deadline_ns(began_ns: int, seconds: float | None) -> int:
    """The reading of `monotonic_ns` at which so many seconds have passed; NEVER for None and for very many."""
    return NEVER if seconds is None else min(NEVER, began_ns + int(seconds * 1e9))


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
