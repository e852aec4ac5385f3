"""What a daemon is to be, made of the settings: all that can be wrong with them is found here, before it listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import grpc

from plyd.engines import registry
from plyd.engines.core.cores import usable_cores, usable_megabytes
from plyd.engines.core.engine import Engine
from plyd.servers.access import tls
from plyd.servers.access.addresses import Address, BadAddress, parse_address
from plyd.servers.access.auth import LIMITS, Gate
from plyd.servers.access.quotas import Allowance
from plyd.servers.runtime import Capacity
from plyd.servers.settings import Settings


@dataclass(frozen=True, slots=True)
class Plan:
    """A daemon to be."""

    engines: Mapping[str, Engine]
    capacity: Capacity
    addresses: Sequence[Address]
    gate: Gate
    credentials: grpc.ServerCredentials | None = None
    metrics: Address | None = None
    tracing: str | None = None


def make_plan(settings: Settings) -> Plan:
    """The daemon that the settings ask for; raises BadSetting, BadAddress or an EngineError."""
    addresses = read_addresses(settings)
    everybody = Allowance(**{name: settings[f"limits.{name}"] for name in LIMITS})
    return Plan(
        engines={game: registry.load(game, settings["model"]) for game in settings["games"]},
        capacity=Capacity(
            slots=settings["slots"] or usable_cores(),
            queue_size=settings["queue"],
            max_sessions=settings["sessions"],
            memory_mb=settings["memory_mb"] or usable_megabytes() * 3 // 4,
            connection_seconds=settings["connection_seconds"],
        ),
        addresses=addresses,
        gate=Gate(settings["clients"], everybody),
        credentials=tls.credentials(settings["tls.certificate"], settings["tls.key"], settings["tls.client_ca"]),
        metrics=read_metrics_address(settings),
        tracing=read_tracing_endpoint(settings),
    )


def read_addresses(settings: Settings) -> list[Address]:
    """Where to listen; other machines are let in only by TLS, or if told to do without."""
    addresses = [parse_address(text) for text in settings["listen"]]
    is_encrypted = settings["tls.certificate"] is not None
    for address in addresses:
        if not address.is_local and not is_encrypted and not settings["insecure"]:
            raise BadAddress(
                f"{address} can be reached from other machines, unencrypted; "
                "set --tls-certificate and --tls-key, or say --insecure to allow it"
            )
    return addresses


def read_metrics_address(settings: Settings) -> Address | None:
    """Where metrics are read, if anywhere; they are never encrypted."""
    if not settings["metrics.listen"]:
        return None
    address = parse_address(settings["metrics.listen"])
    if address.path:
        raise BadAddress(f'metrics.listen is "{address}"; metrics are read over HTTP at HOST:PORT')
    if not address.is_local and not settings["metrics.insecure"]:
        raise BadAddress(
            f"{address} can be reached from other machines, and metrics are for all; say --metrics-insecure to allow it"
        )
    return address


def read_tracing_endpoint(settings: Settings) -> str | None:
    """The URL that traces are sent to, if any."""
    text = settings["tracing.endpoint"]
    if not text:
        return None
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, brackets that do not close
        is_good = False
    if not is_good:
        raise BadAddress(
            f'tracing.endpoint is "{text}"; allowed is http://HOST:PORT, https://HOST:PORT or HOST:PORT, '
            "where OTLP is spoken over gRPC"
        )
    return url
