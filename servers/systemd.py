"""Tells the service manager how the daemon is: systemd's protocol, a datagram of NAME=VALUE lines to a Unix socket."""

import asyncio
import contextlib
import os
import socket


def notify(state: str) -> None:
    """Tell whoever started us, such as "READY=1"; does nothing if nobody asked to be told."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place:
        return
    if place.startswith("@"):
        place = "\0" + place[1:]  # a name without a file
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)  # nobody's full mailbox may hold up the daemon
        sender.sendto(state.encode(), place)


async def keep_watchdog_quiet() -> None:
    """Say that the event loop still turns, twice as often as asked for; returns at once if nobody asked us."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return
    while True:
        notify("WATCHDOG=1")
        await asyncio.sleep(int(microseconds) / 2e6)
