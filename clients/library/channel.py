"""A way to a daemon: plain or encrypted, and with what the caller shows to be let in.

The address says whether it is encrypted: `tls:HOST:PORT`. What a caller shows comes from the environment, so that every
command and library call has it, and no list of processes tells it:

    PLYD_TOKEN, PLYD_TOKEN_FILE       a bearer token, or a file that has it
    PLYD_CA                           whose certificates are believed (PEM), in place of the system's authorities
    PLYD_CERTIFICATE, PLYD_KEY        our own certificate and key (PEM), for daemons that want one
"""

import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from plyd.clients.library.errors import InvalidRequest

TLS = "tls:"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller shows, and whom it believes. Paths are of PEM files."""

    token: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] | None = None) -> "Credentials":
        """What the environment says."""
        given = os.environ if environment is None else environment
        token, file = given.get("PLYD_TOKEN", ""), given.get("PLYD_TOKEN_FILE", "")
        if not token and file:
            token = _read("PLYD_TOKEN_FILE", file).decode(errors="replace").strip()
        return cls(token, given.get("PLYD_CA", ""), given.get("PLYD_CERTIFICATE", ""), given.get("PLYD_KEY", ""))

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """What gRPC needs to encrypt."""
        if bool(self.certificate) != bool(self.key):
            raise InvalidRequest("a certificate and its key go together; set PLYD_CERTIFICATE and PLYD_KEY, or neither")
        return grpc.ssl_channel_credentials(
            _read("PLYD_CA", self.ca) if self.ca else None,
            _read("PLYD_KEY", self.key) if self.key else None,
            _read("PLYD_CERTIFICATE", self.certificate) if self.certificate else None,
        )


@dataclass(frozen=True, slots=True)
class Way:
    """Where to connect, how, and what to say with each call."""

    target: str
    encryption: grpc.ChannelCredentials | None
    metadata: tuple[tuple[str, str], ...]


def way_to(target: str, credentials: Credentials | None = None) -> Way:
    """The way to an address; a token goes only where nobody can listen in."""
    shown = Credentials.of_environment() if credentials is None else credentials
    is_encrypted = target.startswith(TLS)
    if shown.token and not (shown.token.isascii() and shown.token.isprintable() and " " not in shown.token):
        raise InvalidRequest("the token has characters that no token has; it is one line of printable ASCII")
    metadata = (("authorization", f"Bearer {shown.token}"),) if shown.token else ()
    if not is_encrypted:
        if shown.token and not is_local(target):
            raise InvalidRequest(f'a token would go to "{target}" unencrypted; is the address "{TLS}{target}"?')
        return Way(target, None, metadata)
    return Way(target.removeprefix(TLS), shown.channel_credentials(), metadata)


def open_channel(way: Way, options: Sequence[tuple[str, Any]] = ()) -> grpc.Channel:
    """A channel for blocking calls."""
    if way.encryption:
        return grpc.secure_channel(way.target, way.encryption, options)
    return grpc.insecure_channel(way.target, options)


def is_local(target: str) -> bool:
    """Whether an address is of this machine."""
    host = target.rpartition(":")[0].strip("[]")
    if target.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("ipv4:").removeprefix("ipv6:").strip("[]")).is_loopback
    except ValueError:
        return False


def _read(name: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidRequest(f'cannot read {name} "{path}": {error.strerror}') from None
