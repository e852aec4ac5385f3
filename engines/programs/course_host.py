"""Loads a C library with the course's interface and asks it: one line of numbers in, "row column" out.

A script for a process of its own, because the library may crash: it imports nothing of ours. The numbers are rows,
columns, lastX, lastY, noX, noY, then top (a number for each column) and the board (one for each cell).
"""

import ctypes
import os
import sys

READY = "ready"


class Point(ctypes.Structure):
    """The library's answer: row and column, both from 0 at the top left."""

    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


def main() -> None:
    """Answer lines until they end."""
    out = os.dup(1)
    os.dup2(2, 1)  # what the library prints is not an answer
    try:
        library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
        get_point, clear_point = library.getPoint, library.clearPoint
    except (OSError, AttributeError) as error:
        sys.exit(f"cannot use {sys.argv[1]} as a player: {error}")
    get_point.restype, clear_point.restype = ctypes.POINTER(Point), None
    clear_point.argtypes = (ctypes.POINTER(Point),)
    os.write(out, f"{READY}\n".encode())
    for line in sys.stdin:
        rows, columns, last_x, last_y, no_x, no_y, *rest = map(int, line.split())
        top = (ctypes.c_int * columns)(*rest[:columns])
        board = (ctypes.c_int * (rows * columns))(*rest[columns:])
        point = get_point(rows, columns, top, board, last_x, last_y, no_x, no_y)
        answer = f"{point.contents.x} {point.contents.y}" if point else "NULL"
        if point:
            clear_point(point)
        os.write(out, f"{answer}\n".encode())


if __name__ == "__main__":
    main()
