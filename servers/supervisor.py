"""Keeps the processes of `plyd up` running: restarts one that dies, and stops all of them together."""

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plyd.servers.access.addresses import Address, reserved
from plyd.servers.telemetry.log import announce

log = logging.getLogger("plyd.up")

FIRST_DELAY_SECONDS = 0.25  # before a process that died is restarted; doubled each time it dies young
LONGEST_DELAY_SECONDS = 30.0
YOUNG_SECONDS = 10.0
STOP_SECONDS = 15.0  # for a process to stop before it is killed
WEB = "web"


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process to keep running: its name, the address it serves, and the arguments of its plyd command."""

    name: str
    address: Address
    arguments: tuple[str, ...]
    scheme: str = ""
    metrics: Address | None = None
    is_optional: bool = False  # the others run without it if it fails before it served

    @property
    def url(self) -> str:
        """Its address, as a client or a browser takes it."""
        return f"{self.scheme}{self.address}"

    def command(self) -> list[str]:
        """The command line of the process."""
        program = [sys.executable, "-P", "-m", "plyd.clients", *self.arguments, "--listen", str(self.address)]
        if self.metrics:
            program += ["--metrics-listen", str(self.metrics)]
        return [*program, "--with-stdin"]  # so that it stops when this process is killed


def engine_process(
    game: str,
    address: Address,
    metrics: Address | None = None,
    *,
    config: Path | None = None,
    is_encrypted: bool = False,
    is_optional: bool = False,
) -> ProcessSpec:
    """The daemon of one game."""
    arguments = ("serve", game, "--quiet-requests", *(() if config is None else ("--config", str(config))))
    return ProcessSpec(game, address, arguments, "tls:" if is_encrypted else "", metrics, is_optional)


def web_process(address: Address, engines: Sequence[ProcessSpec]) -> ProcessSpec:
    """The web page, connected to these daemons."""
    connect = (word for engine in engines for word in ("--connect", engine.url))
    return ProcessSpec(WEB, address, ("web", *connect), "http://")


class Supervisor:
    """Runs each process until the supervisor is stopped."""

    def __init__(self, specs: Sequence[ProcessSpec]) -> None:
        self._specs = specs
        self._processes: dict[ProcessSpec, asyncio.subprocess.Process] = {}
        self._served: set[ProcessSpec] = set()  # have served at least once
        self._left_out: set[ProcessSpec] = set()  # optional ones that failed before
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Keep every process running until SIGTERM or SIGINT; the exit status, 1 if one could not be started."""
        with contextlib.ExitStack() as reservations:
            for spec in self._specs:
                for address in (spec.address, spec.metrics):
                    if address and address.port:
                        reservations.enter_context(reserved(address))
            return await self._run()

    async def _run(self) -> int:
        shutdown = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, shutdown.set)
        keepers = [asyncio.ensure_future(self._keep(spec)) for spec in self._specs]
        stopping = asyncio.ensure_future(shutdown.wait())
        ended, _ = await asyncio.wait({stopping, *keepers}, return_when=asyncio.FIRST_COMPLETED)
        for keeper in ended - {stopping}:
            if fault := keeper.exception():
                log.error("a process cannot be kept running", exc_info=fault)
        log.info("stopping %d processes", len(self._processes))
        self._stopping.set()
        await asyncio.gather(*(self._stop(process) for process in self._processes.values()))
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        return 0 if stopping in ended else 1

    async def _keep(self, spec: ProcessSpec) -> None:
        """Run a process, and restart it whenever it ends, unless it fails before it has ever served.

        Such a failure is one of its settings or of its port: its own last line says why, and it would fail again. One
        that is optional is left out then.
        """
        delay = FIRST_DELAY_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            status = await self._run_once(spec)
            if self._stopping.is_set():
                return
            if status > 0 and spec not in self._served:
                log.error("%s ended with status %d before it served", spec.name, status)
                if spec.is_optional:
                    await self._leave_out(spec)
                return
            if time.monotonic() - began > YOUNG_SECONDS:
                delay = FIRST_DELAY_SECONDS
            what = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            log.warning("%s %s; starts again in %.2f s", spec.name, what, delay)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_SECONDS)

    async def _run_once(self, spec: ProcessSpec) -> int:
        """Run a process until it ends; its exit status."""
        process = await asyncio.create_subprocess_exec(
            *spec.command(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal reaches only this process, which then stops them all
        )
        self._processes[spec] = process
        assert process.stdout is not None
        async for line in process.stdout:
            if line.startswith(b"serving"):
                self._announce(spec, process.pid)
        return await process.wait()

    def _announce(self, spec: ProcessSpec, pid: int) -> None:
        """Print that a process serves; when all of them do for the first time, log the table of addresses."""
        announce(f"{spec.name} {spec.url} {pid}")
        if spec in self._served:
            log.info("%s serves again at %s", spec.name, spec.url)
            return
        self._served.add(spec)
        self._log_table_once_complete()

    async def _leave_out(self, spec: ProcessSpec) -> None:
        """Go on without a process, until all of them are stopped."""
        log.warning("%s is left out; its lines above say why, and the others go on", spec.name)
        self._left_out.add(spec)
        self._log_table_once_complete()
        await self._stopping.wait()

    def _log_table_once_complete(self) -> None:
        if len(self._served) + len(self._left_out) == len(self._specs):
            serving = [spec for spec in self._specs if spec in self._served]
            log.info("all of them serve:\n%s", address_table(serving))

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """Stop a process: SIGTERM first, then SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.warning("process %d did not stop within %.0f s; killed", process.pid, STOP_SECONDS)
            process.kill()
            await process.wait()


def address_table(specs: Sequence[ProcessSpec]) -> str:
    """The addresses of all processes as a table, and what to do next."""
    rows = [("game", "address", "metrics")]
    rows += [(it.name, it.url, f"http://{it.metrics}/metrics" if it.metrics else "") for it in specs]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"  {name:{widths[0]}}   {address:{widths[1]}}   {metrics}".rstrip() for name, address, metrics in rows]
    pages = [f"Open {it.url} in a browser. " for it in specs if it.name == WEB]
    return "\n".join([*lines, "".join([*pages, "Ctrl-C stops them all."])])
