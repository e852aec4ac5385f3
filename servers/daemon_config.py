"""A daemon's configuration, made from its settings. Everything that can be wrong is found here, before it listens."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import grpc

from plyd.engines import registry
from plyd.engines.core.cores import usable_cores, usable_megabytes
from plyd.engines.core.engine import Engine
from plyd.engines.programs.engine import ProgramEngine, protocols_of, usual_protocol
from plyd.engines.programs.process import Program
from plyd.servers.access import tls
from plyd.servers.access.addresses import Address, BadAddress, parse_address
from plyd.servers.access.auth import QUOTA_NAMES, Authenticator
from plyd.servers.access.quotas import Quotas
from plyd.servers.runtime import Capacity
from plyd.servers.search.known.store import ReportStore
from plyd.servers.search.known.store_database import is_postgres
from plyd.servers.settings import BadSetting, Settings


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
        engines=load_engines(settings),
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


def load_engines(settings: Settings) -> dict[str, Engine]:
    """The engine of each game, or the outside program that plays in its place."""
    engines = {game: registry.load(game, settings["model"]) for game in settings["games"]}
    program = read_program(settings)
    return {game: ProgramEngine(engine, *program) for game, engine in engines.items()} if program else engines


def read_program(settings: Settings) -> tuple[Program, str] | None:
    """The outside program and its protocol, None if there is none."""
    if not settings["program.command"]:
        return None
    command, games = split_command(settings["program.command"], settings["program.folder"]), settings["games"]
    if len(games) != 1:
        raise BadSetting(f"program.command with the games {', '.join(games) or 'none'}; a program plays one game")
    if settings["model"]:
        raise BadSetting("program.command and model exclude each other: a program plays without our networks")
    allowed, protocol = protocols_of(games[0]), settings["program.protocol"]
    if protocol != "auto" and protocol not in allowed:
        raise BadSetting(f'program.protocol is "{protocol}"; allowed for {games[0]} is {" or ".join(allowed)}')
    program = Program(
        command=command,
        name=settings["program.name"] or Path(command[0]).name,
        options=tuple(split_option(text) for text in settings["program.option"]),
        folder=settings["program.folder"],
        memory_mb=settings["program.memory_mb"],
        margin_seconds=settings["program.margin_seconds"],
        start_seconds=settings["program.start_seconds"],
        move_seconds=settings["program.move_seconds"],
        processes=settings["program.processes"] or 2 * (settings["slots"] or usable_cores()),
    )
    return program, usual_protocol(games[0], command) if protocol == "auto" else protocol


def split_command(text: str, folder: Path | None) -> tuple[str, ...]:
    """A command's words, the first one as the path of a file that exists."""
    try:
        first, *rest = shlex.split(text) or [""]
    except ValueError as error:
        raise BadSetting(f'program.command is "{text}": {error}') from None
    found = shutil.which(first) or (str(Path(first).absolute()) if Path(first).suffix and Path(first).is_file() else "")
    if not found:
        raise BadSetting(f'program.command is "{text}"; there is no program "{first}"')
    if folder and not folder.is_dir():
        raise BadSetting(f'program.folder is "{folder}", which is no folder')
    return os.path.abspath(found), *rest


def split_option(text: str) -> tuple[str, str]:
    """Name and value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals or "\n" in text:
        raise BadSetting(f'program.option is "{text}"; allowed is NAME=VALUE')
    return name, value


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
