"""Memory for searchers: address space is reserved once; the system assigns pages as they are touched."""

import contextlib
import ctypes
import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE_BYTES = 4 << 20  # from this size on, large pages are worth it


def dense_zeros(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of zeros that is filled from its start on, such as a tree; it has large pages if it is large.

    All of it goes back to the system with the array. Of what `np.zeros` got, the C library may keep up to 32 MB.
    """
    space = _reserve(count, dtype)
    if len(space) >= LARGE_BYTES:
        _advise(space, "MADV_HUGEPAGE")
    return np.frombuffer(space, dtype, count)


def sparse_zeros(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of zeros for random access, such as a hash index.

    It has small pages, so that a short search touches little of it: with large ones, a few random accesses would have
    the system clear megabytes.
    """
    space = _reserve(count, dtype)
    _advise(space, "MADV_NOHUGEPAGE")
    return np.frombuffer(space, dtype, count)


def _reserve(count: int, dtype: DTypeLike) -> mmap.mmap:
    size = max(1, count * np.dtype(dtype).itemsize)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _advise(space: mmap.mmap, name: str) -> None:
    with contextlib.suppress(AttributeError, OSError):  # other systems have no such advice
        space.madvise(getattr(mmap, name))


def return_free_memory() -> None:
    """Give the system back what the C library keeps for later: after compiling, tens of megabytes."""
    with contextlib.suppress(AttributeError, OSError):  # other C libraries have no such function
        ctypes.CDLL(None).malloc_trim(0)


def touched_megabytes(arrays: Iterable[NDArray[Any]]) -> int:
    """Megabytes of the pages that the system has assigned to arrays, rounded up."""
    return -(-sum(_touched_bytes(array) for array in arrays) >> 20)


def _touched_bytes(array: NDArray[Any]) -> int:
    first = array.ctypes.data // mmap.PAGESIZE
    pages = -(-(array.ctypes.data + array.nbytes) // mmap.PAGESIZE) - first
    is_touched: NDArray[np.uint8] = np.zeros(pages, np.uint8)
    try:
        mincore = ctypes.CDLL(None).mincore
        address, size = ctypes.c_void_p(first * mmap.PAGESIZE), ctypes.c_size_t(pages * mmap.PAGESIZE)
        if mincore(address, size, is_touched.ctypes.data_as(ctypes.c_void_p)) == 0:
            return int(np.count_nonzero(is_touched & 1)) * mmap.PAGESIZE
    except (AttributeError, OSError):  # other systems may not have it
        pass
    return array.nbytes
