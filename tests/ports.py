"""Ports for what has to know its port beforehand, or comes back to it.

They lie below those that the system gives out by itself, and each process of the tests has its own: else one that was
found free may be somebody's, for a moment, when it is used.
"""

import contextlib
import os
import random
import socket

FIRST, SHARE = 10_000, 1_500
_begin = FIRST + SHARE * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10)
_next = random.SystemRandom().randrange(SHARE)  # so that two runs of the tests seldom meet


def free_ports(count=1):
    """The first of so many free ports in a row."""
    global _next
    while True:
        _next = _next if _next + count <= SHARE else 0
        first = _begin + _next
        _next += count
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for port in range(first, first + count):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


def free_place():
    """An address of this machine that is free."""
    return f"127.0.0.1:{free_ports()}"
