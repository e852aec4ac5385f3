"""Where a daemon listens: HOST:PORT or unix:PATH, read and checked before gRPC sees it."""

import ipaddress
import os
import socket
import stat
from dataclasses import dataclass

LONGEST_PATH = 107  # bytes, of a Unix socket's name
FORM = "an address is HOST:PORT (port 0 for any free one), [IPV6]:PORT or unix:PATH"


class BadAddress(Exception):
    """An address that cannot be read or used."""


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


def parse_address(text: str) -> Address:
    """The address that a text names."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path:
            raise BadAddress(f'"{text}" has no path; {FORM}')
        try:
            length = len(os.fsencode(path))
        except UnicodeEncodeError:
            length = 0
        if not length or "\0" in path:
            raise BadAddress(f"{text!r} is no path of a file; {FORM}")
        if length > LONGEST_PATH:
            raise BadAddress(f'"{text}" is too long; a Unix socket\'s path has at most {LONGEST_PATH} bytes')
        return Address(path=path)
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if host and ":" not in host:
            raise BadAddress(f'"{text}" has no IPv6 address in its brackets; {FORM}')
    elif ":" in host:
        raise BadAddress(f'"{text}" is ambiguous; {FORM}')
    if not colon or not host:
        raise BadAddress(f'"{text}" is not an address; {FORM}')
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):
        raise BadAddress(f'port "{port}" in "{text}" is not a number from 0 to 65535; {FORM}')
    return Address(host=host, port=int(port))


def clear_path(path: str) -> None:
    """Make way for a new Unix socket: remove one that nobody answers on; refuse anything else that is there."""
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
    """Raise BadAddress if nobody can listen on a TCP address now, and say why."""
    try:
        family, kind, *_, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        raise BadAddress(f"cannot listen on {address}: {error.strerror}") from None
    except UnicodeError:
        raise BadAddress(f'cannot listen on {address}: "{address.host}" is no name of a host') from None
