"""Who has a port: the process that listens on it, and the claim of a `plyd up` on the ports that it will serve.

A `plyd up` probes its ports seconds before its daemons bind them, so two that start together would both find them free.
A claim is a Unix socket with an abstract name: binding it is atomic, it belongs to the same network namespace as the
port, and it goes with its process.
"""

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

LISTENING = "0A"  # in /proc/net/tcp
LONGEST_COMMAND = 80  # characters that are shown


class Claimed(Exception):
    """Another process has claimed a name; the text says which, if that is known."""


@contextlib.contextmanager
def claimed(name: str) -> Iterator[None]:
    """Claim a name, on Linux, for as long as the context lasts; raises Claimed if another process has."""
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX) as lock:
        try:
            lock.bind(f"\0{name}")
            lock.listen()
        except OSError:
            raise Claimed(_claimant(name)) from None
        yield


def _claimant(name: str) -> str:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(f"\0{name}")
            pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError:  # it has not begun to listen, or others are asking
            return ""
    return _process(pid) if pid else ""


def listener(port: int) -> str:
    """The process that listens on a TCP port, as "process PID (COMMAND)"; empty if this user cannot see it."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for file in Path("/proc").glob("[0-9]*/fd/*") if wanted else ():
        with contextlib.suppress(OSError):  # gone, or another user's
            if os.readlink(file) in wanted:
                return _process(int(file.parts[2]))
    return ""


def _inodes(port: int) -> Iterator[str]:
    """The inodes of the sockets that listen on a port."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}") as lines:
            for line in lines:
                words = line.split()
                if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                    yield words[9]


def _process(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        command = "?"
    shown = "".join(letter if letter.isprintable() else "?" for letter in command[:LONGEST_COMMAND])
    return f"process {pid} ({shown})"
