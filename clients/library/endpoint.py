"""Where a bridge of ours listens: a TCP host and port, read and checked before a socket is opened."""

import ipaddress
from dataclasses import dataclass

FORM = "an address is HOST:PORT (port 0 for any free one) or [IPV6]:PORT"


class BadEndpoint(Exception):
    """A place where we cannot listen, or are not allowed to."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A TCP host and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_endpoint(text: str, *, insecure: bool = False) -> Endpoint:
    """The endpoint that a text names: of this machine only, unless told otherwise. localhost is 127.0.0.1."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if host and ":" not in host:
            raise BadEndpoint(f'"{text}" has no IPv6 address in its brackets; {FORM}')
    elif ":" in host:
        raise BadEndpoint(f'"{text}" is ambiguous; {FORM}')
    if not colon or not host:
        raise BadEndpoint(f'"{text}" is not an address; {FORM}')
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):
        raise BadEndpoint(f'port "{port}" in "{text}" is not a number from 0 to 65535; {FORM}')
    endpoint = Endpoint("127.0.0.1" if host.lower() == "localhost" else host, int(port))
    if not endpoint.is_local and not insecure:
        raise BadEndpoint(f"{endpoint} can be reached from other machines, unencrypted; say --insecure to allow it")
    return endpoint
