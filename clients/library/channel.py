"""Addresses and channels: where a daemon answers, how to connect to it, and where a bridge of ours listens.

A daemon's address is HOST:PORT, unix:PATH or, with encryption, tls:HOST:PORT. An address names several daemons if it is
a list, HOST:PORT,HOST:PORT,... (tls: before it holds for all), or if HOST is a name with several IP addresses; dns:
before a name changes nothing. Calls then go to the least loaded of them (library/connect/balance.py).

Credentials come from the environment, so that every command and library call uses them and no process list shows them:

    PLYD_TOKEN, PLYD_TOKEN_FILE       a bearer token, or a file that contains it
    PLYD_CA                           certificate authorities to trust (PEM) instead of the system's
    PLYD_CERTIFICATE, PLYD_KEY        the client's own certificate and key (PEM), for daemons that require one
"""

import ipaddress
import json
import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import grpc.aio

from plyd.clients.library.errors import BadEndpoint, InvalidRequest

TLS = "tls:"
CHANNEL_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 64 << 20),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2000),  # the timeout of one attempt to connect
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 30_000),  # detects a daemon that vanished without closing the connection
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.use_local_subchannel_pool", 1),  # one connection a client
]
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


class DaemonAddress(NamedTuple):
    """Where one daemon answers, and how to connect to it."""

    target: str
    authority: str = ""  # the name that its certificate is checked against, if not the target
    health_checked: bool = False  # calls fail unsent while the daemon does not report SERVING


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    """Where to connect, with which encryption, and the metadata of each call."""

    target: str
    encryption: grpc.ChannelCredentials | None
    metadata: tuple[tuple[str, str], ...]

    @property
    def addresses(self) -> tuple[DaemonAddress, ...]:
        """The addresses as they were given."""
        return tuple(map(DaemonAddress, split_addresses(self.target)))

    @property
    def has_names(self) -> bool:
        """Whether the daemons have to be looked up by name."""
        return any(host_name(address.target) for address in self.addresses)


def channel_config(target: str, credentials: Credentials | None = None) -> ChannelConfig:
    """How to connect to an address. A token is sent only over TLS or within this machine."""
    shown = Credentials.of_environment() if credentials is None else credentials
    is_encrypted = target.startswith(TLS)
    if shown.token and not (shown.token.isascii() and shown.token.isprintable() and " " not in shown.token):
        raise InvalidRequest("the token contains invalid characters; a token is one line of printable ASCII")
    metadata = (("authorization", f"Bearer {shown.token}"),) if shown.token else ()
    if not is_encrypted:
        if shown.token and not all(map(is_local, split_addresses(target))):
            raise InvalidRequest(f'a token would go to "{target}" unencrypted; is the address "{TLS}{target}"?')
        return ChannelConfig(target, None, metadata)
    return ChannelConfig(target.removeprefix(TLS), shown.channel_credentials(), metadata)


def open_channel(config: ChannelConfig, address: DaemonAddress) -> grpc.Channel:
    """A channel to one daemon, for blocking calls."""
    options = channel_options(address)
    if config.encryption:
        return grpc.secure_channel(address.target, config.encryption, options)
    return grpc.insecure_channel(address.target, options)


def open_async_channel(config: ChannelConfig, address: DaemonAddress) -> grpc.aio.Channel:
    """A channel to one daemon, for asyncio."""
    options = channel_options(address)
    if config.encryption:
        return grpc.aio.secure_channel(address.target, config.encryption, options)
    return grpc.aio.insecure_channel(address.target, options)


def channel_options(address: DaemonAddress) -> list[tuple[str, Any]]:
    """The options of a channel."""
    service: dict[str, Any] = {"loadBalancingConfig": [{"round_robin": {}}]}  # unlike pick_first, it always reconnects
    if address.health_checked:
        service["healthCheckConfig"] = {"serviceName": ""}
    options = [*CHANNEL_OPTIONS, ("grpc.service_config", json.dumps(service))]
    return [*options, ("grpc.default_authority", address.authority)] if address.authority else options


def split_addresses(target: str) -> list[str]:
    """The addresses in a list of them; ipv4: or ipv6: before the list belongs to each."""
    if target.startswith("unix"):
        return [target]
    prefix = next((prefix for prefix in ("ipv4:", "ipv6:") if target.startswith(prefix)), "")
    return [prefix + address.strip() for address in target.removeprefix(prefix).split(",")]


def host_name(address: str) -> str:
    """The name of the machine in an address, "" if the address has an IP address or a path, or is this machine's."""
    host = _plain(address).rpartition(":")[0]
    is_name = host and "/" not in host and ":" not in host and not host.startswith("[")
    return host if is_name and not is_local(address) and not _is_ip(host) else ""


def find_daemons(config: ChannelConfig) -> tuple[DaemonAddress, ...]:
    """The addresses of all daemons: each name is looked up now. Blocks.

    A lone one is not health-checked: there is no other to call instead, and behind it may be a proxy of several.
    """
    found = [each for address in config.addresses for each in _look_up(address)]
    return tuple(each._replace(health_checked=len(found) > 1) for each in found)


def are_found(addresses: Iterable[DaemonAddress]) -> bool:
    """Whether no name is left among addresses that were looked up."""
    return not any(host_name(address.target) for address in addresses)


def _look_up(address: DaemonAddress) -> list[DaemonAddress]:
    """The IP addresses of a name; the address itself if it has no name or the name is not found."""
    if not (host := host_name(address.target)):
        return [address]
    name = _plain(address.target)
    try:
        flags = socket.AI_ADDRCONFIG
        found = socket.getaddrinfo(host, int(name.rpartition(":")[2]), type=socket.SOCK_STREAM, flags=flags)
    except (OSError, ValueError):
        return [address]  # gRPC tries as well, and says what is wrong
    family = found[0][0]  # the best; addresses of the other family are those of the same daemons
    hosts = dict.fromkeys(place[0] for kind, *_, place in found if kind == family)
    form = "ipv6:[{}]:{}" if family == socket.AF_INET6 else "ipv4:{}:{}"
    return [DaemonAddress(form.format(host, name.rpartition(":")[2]), name) for host in hosts]


def _plain(address: str) -> str:
    """An address without dns: before it."""
    return address.removeprefix("dns:").removeprefix("///")


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


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
