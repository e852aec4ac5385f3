"""A daemon's configuration, made from its settings. Everything that can be wrong is found here, before it listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import grpc

from plyd.engines import registry
from plyd.engines.core.cores import usable_cores, usable_megabytes
from plyd.engines.core.engine import Engine
from plyd.servers.access import tls
from plyd.servers.access.addresses import Address, BadAddress, parse_address
from plyd.servers.access.auth import QUOTA_NAMES, Authenticator
from plyd.servers.access.quotas import Quotas
from plyd.servers.runtime import Capacity
from plyd.servers.search.store import ReportStore
from plyd.servers.search.store_database import is_postgres
from plyd.servers.settings import Settings


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """What a daemon is made of."""

    engines: Mapping[str, Engine]
    capacity: Capacity
    addresses: Sequence[Address]
    auth: Authenticator
    credentials: grpc.ServerCredentials | None = None
    metrics: Address | None = None
    metrics_names: Sequence[str] = ()
    tracing: str | None = None
    store: ReportStore | None = None


def make_daemon_config(settings: Settings) -> DaemonConfig:
    """The configuration that the settings describe; raises BadSetting, BadAddress or an EngineError."""
    addresses = read_addresses(settings)
    default_quotas = Quotas(**{name: settings[f"limits.{name}"] for name in QUOTA_NAMES})
    return DaemonConfig(
        engines={game: registry.load(game, settings["model"]) for game in settings["games"]},
        capacity=Capacity(
            slots=settings["slots"] or usable_cores(),
            queue_size=settings["queue"],
            max_sessions=settings["sessions"],
            memory_mb=settings["memory_mb"] or usable_megabytes() * 3 // 4,
            connection_seconds=settings["connection_seconds"],
        ),
        addresses=addresses,
        auth=Authenticator(settings["clients"], default_quotas),
        credentials=tls.credentials(settings["tls.certificate"], settings["tls.key"], settings["tls.client_ca"]),
        metrics=read_metrics_address(settings),
        metrics_names=settings["metrics.name"],
        tracing=read_tracing_endpoint(settings),
        store=ReportStore(address, settings["store_rows"]) if (address := read_store(settings)) else None,
    )


def read_addresses(settings: Settings) -> list[Address]:
    """The addresses to listen on. Those that other machines can reach need TLS or --insecure."""
    addresses = [parse_address(text) for text in settings["listen"]]
    is_encrypted = settings["tls.certificate"] is not None
    for address in addresses:
        if not address.is_local and not is_encrypted and not settings["insecure"]:
            raise BadAddress(
                f"{address} can be reached from other machines, unencrypted; "
                "set --tls-certificate and --tls-key, or allow it with --insecure"
            )
    return addresses


def read_metrics_address(settings: Settings) -> Address | None:
    """The address of the metrics, None if there is none. Metrics are never encrypted."""
    if not settings["metrics.listen"]:
        return None
    address = parse_address(settings["metrics.listen"])
    if address.path:
        raise BadAddress(f'metrics.listen is "{address}"; metrics are served over HTTP, so it has to be HOST:PORT')
    if not address.is_local and not settings["metrics.insecure"]:
        raise BadAddress(
            f"{address} can be reached from other machines, and metrics are never encrypted; "
            "allow it with --metrics-insecure"
        )
    return address


def read_store(settings: Settings) -> str | None:
    """The store's file or address, None if there is none. A file named in the settings file is relative to that."""
    text: str | None = settings["store"]
    if text and "://" in text and not is_postgres(text):
        raise BadAddress(f'store is "{text}"; allowed is a file, or postgresql://USER@HOST/NAME')
    if text and not is_postgres(text) and settings.file and settings.origin("store") == str(settings.file):
        return str(settings.file.absolute().parent / Path(text).expanduser())
    return text or None


def read_tracing_endpoint(settings: Settings) -> str | None:
    """The URL to send traces to, None if there is none."""
    text = settings["tracing.endpoint"]
    if not text:
        return None
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or brackets that do not close
        is_good = False
    if not is_good:
        raise BadAddress(
            f'tracing.endpoint is "{text}"; allowed is http://HOST:PORT, https://HOST:PORT or HOST:PORT '
            "of a collector that takes OTLP over gRPC"
        )
    return url
