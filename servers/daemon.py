"""The daemon: listens, warms up, serves, and goes in good order."""

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import EngineError
from plyd.servers.access.addresses import Address, BadAddress, clear_path, refuse_if_taken
from plyd.servers.access.auth import Gate
from plyd.servers.daemon_config import Plan
from plyd.servers.rpc.decoding import Switchboard
from plyd.servers.rpc.engine_service import EngineService
from plyd.servers.rpc.rules_service import RulesService
from plyd.servers.runtime import Capacity, Runtime
from plyd.servers.settings import BadSetting
from plyd.servers.systemd import keep_watchdog_quiet, notify
from plyd.servers.telemetry.log import announce
from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2, rules_pb2_grpc

if TYPE_CHECKING:
    from plyd.servers.telemetry.tracing import Tracing

log = logging.getLogger("plyd.daemon")

SERVICES = (
    engine_pb2.DESCRIPTOR.services_by_name["EngineService"].full_name,
    rules_pb2.DESCRIPTOR.services_by_name["RulesService"].full_name,
)
GRACE_SECONDS = 10.0  # for calls to end once the daemon has been told to go
SWITCH_SECONDS = 0.0005  # how long a thread may keep Python to itself


class Daemon:
    """A gRPC server around some engines. Start it, warm it up, and stop it; `run` does all three for a process."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        capacity: Capacity,
        gate: Gate | None = None,
        credentials: grpc.ServerCredentials | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        self.runtime = Runtime(engines, capacity, gate, tracing)
        self._credentials = credentials
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(options=_options(capacity))
        switchboard: Any = Switchboard()
        engine_pb2_grpc.add_EngineServiceServicer_to_server(EngineService(self.runtime), switchboard)
        rules_pb2_grpc.add_RulesServiceServicer_to_server(RulesService(self.runtime), switchboard)
        self._server.add_generic_rpc_handlers((switchboard,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    async def start(self, addresses: Sequence[Address]) -> list[Address]:
        """Listen, not yet ready; the addresses with their real ports."""
        await self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        bound: list[Address] = []
        try:
            for address in addresses:
                bound += [self._listen(address)]
        except BadAddress:
            for address in bound:
                if address.path:
                    os.unlink(address.path)  # gRPC does so when it stops, but not if it never started
            raise
        await self._server.start()
        return bound

    async def warm_up(self) -> None:
        """Load and compile, then say SERVING."""
        for game, engine in self.runtime.engines.items():
            began = time.perf_counter()
            log.info("warming up %s; a first start compiles for a while", game)
            await asyncio.to_thread(engine.warm_up)
            log.info("%s is warm after %.2f s", game, time.perf_counter() - began)
        gc.collect()
        gc.freeze()  # what engines are made of stays: no search has to wait while it is counted
        self.runtime.set_ready()
        await self._tell_health(health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> bool:
        """Say NOT_SERVING, let running searches answer, then close; whether all of them ended in time."""
        await self._health.enter_graceful_shutdown()
        self.runtime.drain()
        ended_well = True
        try:
            async with asyncio.timeout(grace_seconds):
                await self.runtime.until_idle()
        except TimeoutError:
            ended_well = False
            calls, searches = self.runtime.calls, self.runtime.searches.running
            log.warning("%d calls and %d searches did not end within %.1f s", calls, searches, grace_seconds)
        await self._server.stop(0.2)
        self.runtime.close()
        return ended_well

    def _listen(self, address: Address) -> Address:
        if address.path:
            clear_path(address.path)
        else:
            refuse_if_taken(address)
        mask = os.umask(0o177)  # a Unix socket is for its owner only
        try:
            if self._credentials and not address.path:  # a Unix socket never leaves the machine
                port = self._server.add_secure_port(str(address), self._credentials)
            else:
                port = self._server.add_insecure_port(str(address))
        except RuntimeError:
            raise BadAddress(f"cannot listen on {address}") from None
        finally:
            os.umask(mask)
        return address if address.path else Address(address.host, port)

    async def _tell_health(self, status: int) -> None:
        for service in ("", *SERVICES):
            await self._health.set(service, status)


def _options(capacity: Capacity) -> list[tuple[str, int]]:
    """What gRPC is to do otherwise than by itself."""
    options = [
        ("grpc.max_receive_message_length", capacity.max_message_bytes),
        ("grpc.so_reuseport", 0),  # two daemons on one port is a mistake, not a feature
        ("grpc.keepalive_time_ms", 30_000),  # notice callers who vanished without a word
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]
    if capacity.connection_seconds is not None:
        options.append(("grpc.max_connection_age_ms", min(round(capacity.connection_seconds * 1000), 2**31 - 1)))
    return options


async def run(plan: Plan, *, with_stdin: bool = False) -> int:
    """Serve until SIGTERM or SIGINT (or, if told so, until stdin closes); the process's exit status.

    Prints one line "serving GAMES on ADDRESS" for each address once it is ready, and tells systemd, if that started it.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    loop = asyncio.get_running_loop()
    told_to_go = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_go.set)
    if with_stdin:
        threading.Thread(target=_wait_for_parent, args=(loop, told_to_go), daemon=True).start()

    tracing = _tracing(plan.tracing) if plan.tracing else None
    daemon = Daemon(plan.engines, plan.capacity, plan.gate, plan.credentials, tracing)
    loop.add_signal_handler(signal.SIGHUP, _read_clients, plan.gate)
    if plan.metrics:
        _export(daemon.runtime, plan.metrics)
    bound = await daemon.start(plan.addresses)
    for address in bound:
        log.info("listening on %s%s", address, ", by TLS" if plan.credentials and not address.path else "")
    warming = asyncio.ensure_future(daemon.warm_up())
    going = asyncio.ensure_future(told_to_go.wait())
    await asyncio.wait({warming, going}, return_when=asyncio.FIRST_COMPLETED)
    fault = warming.exception() if warming.done() else None
    if isinstance(fault, EngineError):  # says all there is to say
        log.error("an engine did not get warm: %s", fault)
    elif fault:
        log.error("an engine did not get warm", exc_info=fault)
    elif warming.done():
        for address in bound:
            announce(f"serving {' '.join(plan.engines)} on {address}")
        notify("READY=1")
        watchdog = asyncio.ensure_future(keep_watchdog_quiet())
        await going
        watchdog.cancel()
    notify("STOPPING=1")
    log.info("shutting down")
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)  # a second one ends the process at once
    ended_well = await daemon.stop()
    if tracing:
        await asyncio.to_thread(tracing.close)
    log.info("stopped")
    if not ended_well or not warming.done():
        logging.shutdown()
        os._exit(0 if ended_well else 1)  # a thread is still at it and would keep the process
    return 1 if fault else 0


def _read_clients(gate: Gate) -> None:
    """Read the file of clients again; a bad one changes nothing."""
    try:
        log.info("%d clients are known", gate.reload())
    except BadSetting as error:
        log.error("the file of clients stays as it was: %s", error)


def _export(runtime: Runtime, address: Address) -> None:
    """Answer Prometheus at an address, for as long as the process lives."""
    from plyd.servers.telemetry.exporter import Exporter  # imported late: a private daemon starts quicker without

    log.info("metrics on http://%s/metrics", Exporter(runtime, address).address)


def _tracing(endpoint: str) -> "Tracing":
    """What sends traces to an endpoint."""
    try:
        from plyd.servers.telemetry.tracing import Tracing
    except ImportError as error:
        raise BadAddress(f'cannot send traces to "{endpoint}": {error}; pip install "plyd[trace]" brings it') from None
    return Tracing(endpoint)


def _wait_for_parent(loop: asyncio.AbstractEventLoop, told_to_go: asyncio.Event) -> None:
    """Block until stdin closes, as it does when the parent process is gone, then say so."""
    while os.read(0, 1024):
        pass
    loop.call_soon_threadsafe(told_to_go.set)
