"""Addresses and channels: where a daemon answers, how to connect to it, and where a bridge of ours listens.

A daemon's address is HOST:PORT, unix:PATH or, with encryption, tls:HOST:PORT. Credentials come from the environment, so
that every command and library call uses them and no process list shows them:

    PLYD_TOKEN, PLYD_TOKEN_FILE       a bearer token, or a file that contains it
    PLYD_CA                           certificate authorities to trust (PEM) instead of the system's
    PLYD_CERTIFICATE, PLYD_KEY        the client's own certificate and key (PEM), for daemons that require one
"""

import ipaddress
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from plyd.clients.library.errors import BadEndpoint, InvalidRequest

TLS = "tls:"
UP_ADDRESSES = {  # where `plyd up` serves each game by default
    "2584-2x3": "127.0.0.1:25840",
    "2584": "127.0.0.1:25841",
    "2048": "127.0.0.1:25842",
    "connect4": "127.0.0.1:25843",
    "gomoku": "127.0.0.1:25844",
}
ENDPOINT_FORM = "an address is HOST:PORT (port 0 for any free one) or [IPV6]:PORT"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client presents to a daemon, and which authorities it trusts. Paths are of PEM files."""

    token: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] | None = None) -> "Credentials":
        """The credentials that environment variables name."""
        given = os.environ if environment is None else environment
        token, file = given.get("PLYD_TOKEN", ""), given.get("PLYD_TOKEN_FILE", "")
        if not token and file:
            token = _read("PLYD_TOKEN_FILE", file).decode(errors="replace").strip()
        return cls(token, given.get("PLYD_CA", ""), given.get("PLYD_CERTIFICATE", ""), given.get("PLYD_KEY", ""))

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """The credentials as gRPC takes them."""
        if bool(self.certificate) != bool(self.key):
            raise InvalidRequest("a certificate and its key go together; set PLYD_CERTIFICATE and PLYD_KEY, or neither")
        return grpc.ssl_channel_credentials(
            _read("PLYD_CA", self.ca) if self.ca else None,
            _read("PLYD_KEY", self.key) if self.key else None,
            _read("PLYD_CERTIFICATE", self.certificate) if self.certificate else None,
        )


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    """Where to connect, with which encryption, and the metadata of each call."""

    target: str
    encryption: grpc.ChannelCredentials | None
    metadata: tuple[tuple[str, str], ...]


def channel_config(target: str, credentials: Credentials | None = None) -> ChannelConfig:
    """How to connect to an address. A token is sent only over TLS or within this machine."""
    shown = Credentials.of_environment() if credentials is None else credentials
    is_encrypted = target.startswith(TLS)
    if shown.token and not (shown.token.isascii() and shown.token.isprintable() and " " not in shown.token):
        raise InvalidRequest("the token contains invalid characters; a token is one line of printable ASCII")
    metadata = (("authorization", f"Bearer {shown.token}"),) if shown.token else ()
    if not is_encrypted:
        if shown.token and not is_local(target):
            raise InvalidRequest(f'a token would go to "{target}" unencrypted; is the address "{TLS}{target}"?')
        return ChannelConfig(target, None, metadata)
    return ChannelConfig(target.removeprefix(TLS), shown.channel_credentials(), metadata)


def open_channel(config: ChannelConfig, options: Sequence[tuple[str, Any]] = ()) -> grpc.Channel:
    """A channel for blocking calls."""
    if config.encryption:
        return grpc.secure_channel(config.target, config.encryption, options)
    return grpc.insecure_channel(config.target, options)


def is_local(target: str) -> bool:
    """Whether an address belongs to this machine."""
    host = target.rpartition(":")[0].removeprefix("ipv4:").removeprefix("ipv6:").strip("[]")
    return target.startswith("unix:") or host == "localhost" or is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether an IP address is one that only this machine can reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def running_daemon(game: str) -> str:
    """The address where `plyd up` serves a game, if something listens there, or ""."""
    host, _, port = UP_ADDRESSES.get(game, "").rpartition(":")
    try:
        socket.create_connection((host, int(port or 0)), timeout=1.0).close()
    except OSError:
        return ""
    return UP_ADDRESSES[game]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A TCP host and port where a bridge listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(text: str, *, insecure: bool = False) -> Endpoint:
    """The endpoint that a text names; a loopback one unless insecure. localhost is 127.0.0.1."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if host and ":" not in host:
            raise BadEndpoint(f'"{text}" has no IPv6 address in its brackets; {ENDPOINT_FORM}')
    elif ":" in host:
        raise BadEndpoint(f'"{text}" is ambiguous; {ENDPOINT_FORM}')
    if not colon or not host:
        raise BadEndpoint(f'"{text}" is not an address; {ENDPOINT_FORM}')
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):
        raise BadEndpoint(f'port "{port}" in "{text}" is not a number from 0 to 65535; {ENDPOINT_FORM}')
    endpoint = Endpoint("127.0.0.1" if host.lower() == "localhost" else host, int(port))
    if not is_loopback(endpoint.host) and not insecure:
        raise BadEndpoint(f"{endpoint} can be reached from other machines, unencrypted; --insecure allows it")
    return endpoint


def _read(name: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidRequest(f'cannot read {name} "{path}": {error.strerror}') from None
