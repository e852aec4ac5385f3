"""The command `plyd doctor`: what this machine has, what is wrong with it, and what to do about it."""

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import click

from plyd.servers.access.addresses import Address, BadAddress, refuse_if_taken
from plyd.servers.settings import BadSetting, Settings, gather
from plyd.servers.up_ports import METRICS_PORT, WEB_PORT, port_offsets

OPTIONAL = {"matplotlib": "plots", "torch": "training of Gomoku", "opentelemetry-sdk": "traces"}
QUICK = {"avx2": "Gomoku", "bmi2": "2048 and 2584"}  # instructions of x86-64 that make these games quick
AT_REST_MEGABYTES = 3800  # of all daemons and the page together, measured; 2584 alone has 2600
GOOD, WARNING, FAULT = "ok", "warning", "fault"
COLOURS = {GOOD: "green", WARNING: "yellow", FAULT: "red"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    verdict: str
    what: str
    says: str
    remedy: str = ""


@click.command(short_help="Check this machine and installation.")
def doctor() -> None:
    """Check what plyd needs on this machine, and say what to do about each problem.

    Checks the packages, cores, instructions and memory, the kernel cache, the settings, the ports of `plyd up`, and the
    networks that ship. Nothing is changed. The exit status is 1 if something is wrong that keeps plyd from working.

    \b
    plyd doctor
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("", "what", "finding", "what to do", box=box.SIMPLE, show_edge=False)
    findings = list(examine())
    for finding in findings:
        colour = COLOURS[finding.verdict]
        table.add_row(f"[{colour}]{finding.verdict}[/]", finding.what, finding.says, finding.remedy)
    Console(width=None if sys.stdout.isatty() else 200, markup=True, highlight=False).print(table)
    faults = sum(finding.verdict == FAULT for finding in findings)
    if faults:
        raise click.ClickException(f"{faults} of {len(findings)} checks found a fault")


def examine() -> Iterator[Finding]:
    """What every check finds, in the order in which they matter."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        packages,
        optional_packages,
        processor,
        memory,
        kernel_cache,
        settings_and_ports,
        weights,
    )
    for check in checks:
        yield from check()


def packages() -> Iterator[Finding]:
    """Whether every package that plyd needs is installed."""
    required = [text for package in ("plyd-client", "plyd") for text in metadata.requires(package) or []]
    needed = [re.split(r"[ <>=!~;\[]", text)[0] for text in required if "extra ==" not in text]
    missing = [name for name in needed if version_of(name) is None]
    yield Finding(
        GOOD, "plyd", f"{version_of('plyd')}, Python {platform.python_version()}, {Path(__file__).parents[2]}"
    )
    if missing:
        yield Finding(FAULT, "packages", f"missing: {', '.join(missing)}", "pip install plyd")
    else:
        shown = (f"{name} {version_of(name)}" for name in ("numba", "numpy", "grpcio", "protobuf", "onnxruntime"))
        yield Finding(GOOD, "packages", ", ".join(shown))


def optional_packages() -> Iterator[Finding]:
    """Which optional packages are installed."""
    for name, use in OPTIONAL.items():
        version = version_of(name)
        extra = {"matplotlib": "plot", "torch": "train"}.get(name, "trace")
        remedy = "" if version else f"for {use}: pip install 'plyd[{extra}]'"
        yield Finding(GOOD, name, version or "not installed (optional)", remedy)


def version_of(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor() -> Iterator[Finding]:
    """Cores, and instructions that kernels use."""
    from plyd.engines.core.cores import usable_cores

    cores = usable_cores()
    yield Finding(GOOD, "cores", f"{cores} usable of {os.cpu_count()}")
    try:
        flags = set(re.findall(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[0].split())
    except (OSError, IndexError):
        yield Finding(
            WARNING, "instructions", f"unknown on {platform.machine()}", "speeds may differ from the README's"
        )
        return
    for name, games in QUICK.items():
        if name in flags:
            yield Finding(GOOD, name, "there")
        else:
            yield Finding(WARNING, name, f"missing: {games} are slower", "use another machine for matches")


def memory() -> Iterator[Finding]:
    """Whether the daemons of all games fit."""
    from plyd.engines.core.cores import usable_megabytes

    total, needed = usable_megabytes(), AT_REST_MEGABYTES
    says = f"{total:,} MB; all daemons together need about {needed:,} MB at rest"
    if total >= 1.2 * needed:
        yield Finding(GOOD, "memory", says)
    else:
        yield Finding(WARNING, "memory", says, "serve fewer games: plyd up 2048 connect4 (2584 needs most)")


def kernel_cache() -> Iterator[Finding]:
    """Whether compiled kernels are kept, and for which games there are some."""
    from plyd.engines import registry
    from plyd.engines.core import kernel_cache as cache

    root = cache.root()
    if root is None:
        remedy = "chown it to you and chmod go-w it, or set NUMBA_CACHE_DIR to a folder of your own"
        yield Finding(WARNING, "kernel cache", "none to trust: each start compiles", remedy)
        return
    if not os.access(root, os.W_OK):
        yield Finding(WARNING, "kernel cache", f"{root} cannot be written", "set NUMBA_CACHE_DIR to another folder")
        return
    size = sum(file.stat().st_size for file in root.rglob("*.nb?")) >> 20
    yield Finding(GOOD, "kernel cache", f"{root}, {size} MB")
    for game, place in registry.ENGINES.items():
        engine = cache.PACKAGE.joinpath(*place.partition(":")[0].split(".")[1:]).with_suffix(".py")
        own = [path for path in cache.reachable(engine) if cache.USES_US in cache.contents(path)]
        warm = [path for path in own if any((root / f"{cache.module_of(path)}-{cache.digest_of(path)}").glob("*.nbc"))]
        if warm:
            yield Finding(GOOD, f"kernels of {game}", "in the cache")
        else:
            yield Finding(
                WARNING, f"kernels of {game}", "none in the cache: the first start compiles", f"plyd warm {game}"
            )


def settings_and_ports() -> Iterator[Finding]:
    """Whether the settings are good, and the ports of `plyd up` free or served by plyd."""
    try:
        settings = gather({}, os.environ, None)
    except BadSetting as error:
        yield Finding(FAULT, "settings", str(error), "plyd config check FILE")
        return
    yield Finding(GOOD, "settings", str(settings.file) if settings.file else "defaults and the environment")
    for name, port in ports(settings).items():
        yield port_finding(name, Address(settings["up.host"], port))


def port_finding(name: str, address: Address) -> Finding:
    """Whether a port is free, or who has it."""
    try:
        refuse_if_taken(address)
    except BadAddress as error:
        is_plyd = "plyd" in str(error)
        remedy = "nothing, if that is your plyd up" if is_plyd else "stop it, or plyd up --base-port PORT"
        return Finding(GOOD if is_plyd else WARNING, f"port of {name}", str(error), remedy)
    return Finding(GOOD, f"port of {name}", f"{address} is free")


def ports(settings: Settings) -> dict[str, int]:
    """The ports that `plyd up` listens on, by what is there."""
    from plyd.engines import registry

    base = settings["up.base_port"]
    offsets = port_offsets(registry.ENGINES, registry.plugins().places)
    found = {game: base + offset for game, offset in offsets.items()}
    if settings["up.web"]:
        found["the page"] = settings["up.web_port"] or base + WEB_PORT
    if settings["up.metrics"]:
        found |= {f"{game}'s metrics": base + METRICS_PORT + offset for game, offset in offsets.items()}
    return found


def weights() -> Iterator[Finding]:
    """Whether the networks that ship are those of their manifests."""
    from plyd.engines import registry

    for name, fault in registry.faults_of_weights().items():
        if fault:
            yield Finding(FAULT, f"weights {name}", fault, "install plyd again")
        else:
            yield Finding(GOOD, f"weights {name}", "sound")
