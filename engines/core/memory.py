"""Memory for searchers: address space is reserved once; the system assigns pages as they are touched."""

import contextlib
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def sparse_zeros(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of zeros for random access, such as a hash index.

    It has small pages, so that a short search touches little of it. `np.zeros` asks for large pages: better for arrays
    that are filled from the start on, but a few random accesses would have the system clear megabytes.
    """
    space = mmap.mmap(-1, max(1, count * np.dtype(dtype).itemsize))
    with contextlib.suppress(AttributeError, OSError):  # other systems have no such advice
        space.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(space, dtype, count)
