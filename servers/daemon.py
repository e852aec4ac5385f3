"""The daemon: listens, warms up, serves, and shuts down in good order."""

import asyncio
import functools
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import EngineError
from plyd.servers.access.addresses import Address, BadAddress, clear_path, refuse_if_taken
from plyd.servers.access.auth import Authenticator
from plyd.servers.daemon_config import DaemonConfig
from plyd.servers.rpc.decoding import MessageDecoder
from plyd.servers.rpc.engine_service import EngineService
from plyd.servers.rpc.rules_service import RulesService
from plyd.servers.runtime import Capacity, Runtime
from plyd.servers.search.known.store import ReportStore
from plyd.servers.settings import BadSetting
from plyd.servers.systemd import feed_watchdog, notify
from plyd.servers.telemetry.log import announce
from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2, rules_pb2_grpc

if TYPE_CHECKING:
    from plyd.servers.telemetry.tracing import Tracing

log = logging.getLogger("plyd.daemon")

SERVICES = (
    engine_pb2.DESCRIPTOR.services_by_name["EngineService"].full_name,
    rules_pb2.DESCRIPTOR.services_by_name["RulesService"].full_name,
)
GRACE_SECONDS = 10.0  # for running calls to end when the daemon shuts down
WATCH_SECONDS = 0.1  # between looks at the gRPC server
GAME_SECONDS = 3600.0  # for games to end whose gRPC server broke down
FINISH_SECONDS = 1.0  # for the tasks of cancelled calls to end
MAX_PENDING = 20_000  # calls that the event loop has not accepted yet
READ_AHEAD_BYTES = 256 << 10  # of a stream, before its messages are asked for
SWITCH_SECONDS = 0.0005  # Python switches between threads this often


class Daemon:
    """A gRPC server around some engines: start it, warm it up, stop it. `run` does all three for a process."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        capacity: Capacity,
        auth: Authenticator | None = None,
        credentials: grpc.ServerCredentials | None = None,
        tracing: "Tracing | None" = None,
        store: ReportStore | None = None,
    ) -> None:
        self.runtime = Runtime(engines, capacity, auth, tracing, store)
        self._credentials = credentials
        self._health = health.aio.HealthServicer()
        self._server = self._new_server()
        self._watching: asyncio.Task[None] | None = None  # over the server
        self._broken: dict[grpc.aio.Server, asyncio.Task[None]] = {}  # servers that broke down, while their calls end

    def _new_server(self) -> grpc.aio.Server:
        """A gRPC server of all our services, which does not listen yet."""
        server = grpc.aio.server(options=_options(self.runtime.capacity))
        decoder: Any = MessageDecoder(self.runtime)
        engine_pb2_grpc.add_EngineServiceServicer_to_server(EngineService(self.runtime), decoder)
        rules_pb2_grpc.add_RulesServiceServicer_to_server(RulesService(self.runtime), decoder)
        server.add_generic_rpc_handlers((decoder,))
        unregistered: Any = Unregistered(server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, unregistered)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, unregistered)
        return server

    async def start(self, addresses: Sequence[Address]) -> list[Address]:
        """Listen, not ready yet; the addresses with their real ports."""
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        bound: list[Address] = []
        try:
            for address in addresses:
                bound += [self._listen(address)]
        except BadAddress:
            for address in bound:
                if address.path:
                    os.unlink(address.path)  # gRPC removes it when it stops, but not if it never started
            raise
        await self._server.start()
        self._watching = asyncio.ensure_future(self._keep_serving(bound))
        self.runtime.addresses = [f"{self._scheme(address)}{address}" for address in bound]
        return bound

    async def _keep_serving(self, bound: Sequence[Address]) -> None:
        """Put a new gRPC server in the place of each one that breaks down.

        grpcio's stops listening, for good, when a call comes whose path is not UTF-8. Calls that run go on for a while.
        """
        while True:
            try:
                await self._server.wait_for_termination(WATCH_SECONDS)
            except Exception as fault:  # whatever ended it
                log.error("the gRPC server broke down, a new one takes its place: %r", fault)
                broken = self._server
                ending = self._broken[broken] = asyncio.ensure_future(broken.stop(GAME_SECONDS))
                ending.add_done_callback(functools.partial(self._ended, broken))
                await self._listen_again(bound)

    def _ended(self, broken: grpc.aio.Server, ending: asyncio.Task[None]) -> None:  # noqa: ARG002
        del self._broken[broken]

    async def _listen_again(self, bound: Sequence[Address]) -> None:
        """Start a new server at the same addresses, as soon as they are free."""
        while True:
            self._server = self._new_server()
            try:
                for address in bound:
                    self._listen(address)
                break
            except BadAddress as error:
                log.warning("%s; trying again", error)
                await asyncio.sleep(WATCH_SECONDS)
        await self._server.start()

    async def warm_up(self) -> None:
        """Load weights and compile kernels, then report SERVING."""
        await self.runtime.parts.warm_up()
        self.runtime.set_ready()
        await self._set_health(health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> bool:
        """Report NOT_SERVING, let running searches answer, then close; whether all calls ended in time."""
        await self._health.enter_graceful_shutdown()
        self.runtime.drain()
        in_time = True
        try:
            async with asyncio.timeout(grace_seconds):
                await self.runtime.until_idle()
        except TimeoutError:
            in_time = False
            calls, searches = self.runtime.calls, self.runtime.searches.running
            log.warning("%d calls and %d searches did not end within %.1f s", calls, searches, grace_seconds)
        if self._watching:
            self._watching.cancel()
        for server in (self._server, *self._broken):  # each to its end: gRPC still holds pointers into one that has not
            await server.stop(0.2)
        await asyncio.gather(*self._broken.values())
        self.runtime.close()
        await asyncio.to_thread(self._close_engines)
        return in_time

    def _close_engines(self) -> None:
        for engine in self.runtime.engines.values():
            engine.close()

    def _scheme(self, address: Address) -> str:
        """The prefix with which clients write the address."""
        return "tls:" if self._is_encrypted(address) else ""

    def _is_encrypted(self, address: Address) -> bool:
        return self._credentials is not None and not address.path  # a Unix socket never leaves the machine

    def _listen(self, address: Address) -> Address:
        if address.path:
            clear_path(address.path)
        else:
            refuse_if_taken(address)
        mask = os.umask(0o177)  # only the owner may open a Unix socket
        try:
            if self._credentials and self._is_encrypted(address):
                port = self._server.add_secure_port(str(address), self._credentials)
            else:
                port = self._server.add_insecure_port(str(address))
        except RuntimeError:
            raise BadAddress(f"cannot listen on {address}") from None
        finally:
            os.umask(mask)
        return address if address.path else Address(address.host, port)

    async def _set_health(self, status: int) -> None:
        for service in ("", *SERVICES):
            await self._health.set(service, status)


class Unregistered:
    """Takes the place of a server for generated code, which then adds its methods as generic handlers only.

    grpcio waits for a call of each registered method, and frees what gRPC's core still writes to when it breaks down.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Nothing: the same handlers arrive by `add_generic_rpc_handlers`."""


def _options(capacity: Capacity) -> list[tuple[str, int]]:
    """Options of the gRPC server that differ from their defaults."""
    options = [
        ("grpc.max_receive_message_length", capacity.most_bytes),
        ("grpc.max_concurrent_streams", capacity.max_streams),  # holds a flood of streams that are reset at once
        ("grpc.http.overload_protection", 0),  # would refuse some calls of a caller who uses all its streams
        ("grpc.server.max_pending_requests", MAX_PENDING),  # beyond it gRPC drops calls without a word
        ("grpc.server.max_pending_requests_hard_limit", MAX_PENDING),
        ("grpc.so_reuseport", 0),  # two daemons on one port are a mistake
        ("grpc.keepalive_time_ms", 30_000),  # notice callers who vanished without closing the connection
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.lookahead_bytes", READ_AHEAD_BYTES),
        ("grpc.http2.bdp_probe", 0),  # else what gRPC reads ahead of one who writes much grows to hundreds of megabytes
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),  # else pings end a call that is silent for minutes
        ("grpc.keepalive_permit_without_calls", 1),
    ]
    if capacity.connection_seconds is not None:
        options.append(("grpc.max_connection_age_ms", min(round(capacity.connection_seconds * 1000), 2**31 - 1)))
    return options


async def run(config: DaemonConfig, *, with_stdin: bool = False) -> int:
    """Serve until SIGTERM or SIGINT (or, with `with_stdin`, until stdin closes); the process's exit status.

    Once ready, prints a line "serving GAMES on ADDRESS" for each address and notifies systemd.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    loop = asyncio.get_running_loop()
    shutdown = _shutdown_event(loop, with_stdin)
    tracing = _tracing(config.tracing) if config.tracing else None
    daemon = Daemon(config.engines, config.capacity, config.auth, config.credentials, tracing, config.store)
    if config.store:
        log.info("reports are kept in %s", config.store)
    loop.add_signal_handler(signal.SIGHUP, _reload_clients, config.auth)
    if config.metrics:
        _export(daemon.runtime, config.metrics, config.metrics_names)
    bound = await daemon.start(config.addresses)
    for address in bound:
        log.info("listening on %s%s", address, ", with TLS" if config.credentials and not address.path else "")
    warming = asyncio.ensure_future(daemon.warm_up())
    stopping = asyncio.ensure_future(shutdown.wait())
    await asyncio.wait({warming, stopping}, return_when=asyncio.FIRST_COMPLETED)
    fault = warming.exception() if warming.done() else None
    if fault:
        log.error("an engine could not be warmed up: %s", fault, exc_info=_unless_expected(fault))
    elif warming.done():
        await _serve(config.engines, bound, stopping)
    in_time = await _shut_down(daemon, loop, tracing)
    if not in_time or not warming.done() or daemon.runtime.parts.is_loading:
        logging.shutdown()
        os._exit(0 if in_time else 1)  # a thread is still running and would keep the process alive
    stopping.cancel()
    await _finish_tasks()
    return 1 if fault else 0


def _shutdown_event(loop: asyncio.AbstractEventLoop, with_stdin: bool) -> asyncio.Event:
    """An event that SIGTERM and SIGINT set and, with `with_stdin`, the end of stdin."""
    shutdown = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, shutdown.set)
    if with_stdin:
        threading.Thread(target=_wait_for_parent, args=(loop, shutdown), daemon=True).start()
    return shutdown


async def _serve(games: Iterable[str], bound: Sequence[Address], stopping: Awaitable[object]) -> None:
    """Announce that the daemon is ready, and wait until it has to stop."""
    for address in bound:
        announce(f"serving {' '.join(games)} on {address}")
    notify("READY=1")
    watchdog = asyncio.ensure_future(feed_watchdog())
    await stopping
    watchdog.cancel()


async def _shut_down(daemon: Daemon, loop: asyncio.AbstractEventLoop, tracing: "Tracing | None") -> bool:
    """Drain and stop; whether all calls ended in time."""
    notify("STOPPING=1")
    log.info("shutting down")
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)  # a second signal ends the process at once
    in_time = await daemon.stop()
    if tracing:
        await asyncio.to_thread(tracing.close)
    log.info("stopped")
    return in_time


async def _finish_tasks() -> None:
    """Wait for all other tasks of this loop.

    A stopped gRPC server has cancelled the calls that were left, such as Health/Watch, but their tasks may need a few
    more turns of the loop. A loop that ends before them cancels them again, which gRPC logs with a traceback.
    """
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        await asyncio.wait(tasks, timeout=FINISH_SECONDS)


def _unless_expected(fault: BaseException) -> BaseException | None:
    """The fault if its traceback is of use: an EngineError's message says everything."""
    return None if isinstance(fault, EngineError) else fault


def _reload_clients(auth: Authenticator) -> None:
    """Read the clients file again; a bad one changes nothing."""
    try:
        log.info("%d clients are known", auth.reload())
    except BadSetting as error:
        log.error("the clients file is not valid, the old one stays in use: %s", error)


def _export(runtime: Runtime, address: Address, names: Sequence[str]) -> None:
    """Serve metrics at an address for as long as the process lives."""
    from plyd.servers.telemetry.exporter import Exporter  # imported late: a daemon without metrics starts faster

    log.info("metrics on http://%s/metrics", Exporter(runtime, address, names).address)


def _tracing(endpoint: str) -> "Tracing":
    """The sender of traces to an endpoint."""
    try:
        from plyd.servers.telemetry.tracing import Tracing
    except ImportError as error:
        raise BadAddress(
            f'cannot send traces to "{endpoint}": {error}; install it with pip install "plyd[trace]"'
        ) from None
    return Tracing(endpoint)


def _wait_for_parent(loop: asyncio.AbstractEventLoop, shutdown: asyncio.Event) -> None:
    """Set the event when stdin closes, which happens when the parent process is gone."""
    while os.read(0, 1024):
        pass
    loop.call_soon_threadsafe(shutdown.set)
