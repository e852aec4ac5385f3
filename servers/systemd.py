"""Notifies systemd of the daemon's state: a datagram of NAME=VALUE lines to a Unix socket."""

import asyncio
import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send a state such as "READY=1" to systemd; does nothing if systemd did not start this process."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    if path.startswith("@"):
        path = "\0" + path[1:]  # an abstract socket: a name without a file
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)  # a full socket must not block the daemon
        sender.sendto(state.encode(), path)


async def feed_watchdog() -> None:
    """Report that the event loop runs, twice in each interval of systemd's watchdog; returns at once without one."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return
    while True:
        notify("WATCHDOG=1")
        await asyncio.sleep(int(microseconds) / 2e6)
