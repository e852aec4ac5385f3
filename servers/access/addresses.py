"""Addresses that a daemon listens on: HOST:PORT or unix:PATH, checked before gRPC gets them."""

import contextlib
import errno
import ipaddress
import os
import re
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from plyd.servers.access.port_holder import Claimed, claimed, listener

MAX_PATH_BYTES = 107  # of a Unix socket
MAX_PORT = 65535
HOST_PORT = re.compile(r"(?:\[(?P<ipv6>[^\[\]]*:[^\[\]]*)\]|(?P<host>[^:\[\]]+)):(?P<port>[0-9]{1,5})")
FORM = f"an address is HOST:PORT or [IPV6]:PORT (port 0 to {MAX_PORT}; 0: any free port), or unix:PATH"


class BadAddress(Exception):
    """An address that is not valid or cannot be listened on."""


@dataclass(frozen=True, slots=True)
class Address:
    """A TCP host and port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.path or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def is_ip(host: str) -> bool:
    """Whether a host is an IP address, not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def parse_address(text: str) -> Address:
    """The address that a text describes."""
    if text.startswith("unix:"):
        return Address(path=_socket_path(text))
    found = HOST_PORT.fullmatch(text)
    if not found or int(found["port"]) > MAX_PORT:
        raise BadAddress(f'"{text}" is not an address; {FORM}')
    return Address(found["ipv6"] or found["host"], int(found["port"]))


def _socket_path(text: str) -> str:
    path = text.removeprefix("unix:")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError:
        length = 0
    if not length or "\0" in path:
        raise BadAddress(f"{text!r} has no valid path; {FORM}")
    if length > MAX_PATH_BYTES:
        raise BadAddress(f'"{text}" is too long; the path of a Unix socket has at most {MAX_PATH_BYTES} bytes')
    return path


def clear_path(path: str) -> None:
    """Remove a Unix socket that nobody listens on any more; raises BadAddress if anything else is there."""
    try:
        _clear(path)
    except OSError as error:
        raise BadAddress(f'cannot listen on "unix:{path}": {error.strerror}') from None


def _clear(path: str) -> None:
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise BadAddress(f'folder "{folder}" of socket "{path}" does not exist') from None
        return
    if not stat.S_ISSOCK(kind):
        raise BadAddress(f'"{path}" exists and is not a socket')
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise BadAddress(f'another daemon listens on "unix:{path}"')


def refuse_if_taken(address: Address) -> None:
    """Raise BadAddress, with the reason, if a TCP address cannot be listened on now."""
    try:
        family, kind, *_, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        holder = listener(address.port) if error.errno == errno.EADDRINUSE else ""
        raise BadAddress(f"cannot listen on {address}: {error.strerror}{holder and f' by {holder}'}") from None
    except UnicodeError:
        raise BadAddress(f'cannot listen on {address}: "{address.host}" is not a valid host name') from None


@contextlib.contextmanager
def reserved(address: Address) -> Iterator[None]:
    """Keep an address for processes that are about to listen on it; raises BadAddress if another has or keeps it."""
    try:
        with claimed(f"plyd up {address}"):
            refuse_if_taken(address)
            yield
    except Claimed as error:
        holder = str(error) or "another plyd up"
        raise BadAddress(f"cannot listen on {address}: Address already in use by {holder}") from None
