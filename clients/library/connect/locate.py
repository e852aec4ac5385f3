"""Where a bridge finds its daemon: at a given address, or an embedded daemon that is restarted when it is lost."""

import asyncio
import contextlib
import threading
from typing import Protocol

from plyd.clients.library.connect.embedded import EmbeddedDaemon

LEAVE_SECONDS = 0.3  # to wait for an embedded daemon to stop; Gomoku managers kill a program after 0.7 s


class DaemonSource(Protocol):
    """Provides the address of a daemon."""

    async def target(self) -> str:
        """Its address, once it is ready."""

    def lost(self) -> None:
        """The daemon no longer answers."""

    def close(self) -> None:
        """The daemon is no longer needed."""


class ExistingDaemon:
    """A daemon at a given address, started by somebody else."""

    def __init__(self, target: str) -> None:
        self._target = target

    async def target(self) -> str:
        """Its address."""
        return self._target

    def lost(self) -> None:
        """Nothing to do: it may come back."""

    def close(self) -> None:
        """Nothing to do."""


class RestartingDaemon:
    """An embedded daemon, started at once and again whenever it is lost. Threads start and stop it."""

    def __init__(self, game: str, store: str | None = None) -> None:
        self._game = game
        self._store = store
        self._daemon: EmbeddedDaemon | None = None
        self._starting = self._start()

    async def target(self) -> str:
        """Its address, once it is ready."""
        return await asyncio.shield(self._starting)

    def lost(self) -> None:
        """Start another one, unless one is starting."""
        if self._starting.done():
            self._stop()
            self._starting = self._start()

    def close(self) -> None:
        """Stop it. One that needs longer, or is still starting, ends when this process ends."""
        self._stop().join(LEAVE_SECONDS)

    def _start(self) -> "asyncio.Future[str]":
        loop = asyncio.get_running_loop()
        started: asyncio.Future[str] = loop.create_future()
        # Marks an exception as retrieved, since it may be that nobody awaits the future.
        started.add_done_callback(lambda future: future.cancelled() or future.exception())

        def finish(daemon: EmbeddedDaemon | None, error: Exception | None) -> None:
            self._daemon = daemon
            if error:
                started.set_exception(error)
            elif daemon:
                started.set_result(daemon.target)

        def run() -> None:
            daemon, error = None, None
            try:
                daemon = EmbeddedDaemon(self._game, store=self._store).__enter__()
            except Exception as fault:
                error = fault
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish, daemon, error)

        threading.Thread(target=run, daemon=True).start()
        return started

    def _stop(self) -> threading.Thread:
        daemon, self._daemon = self._daemon, None

        def run() -> None:
            if daemon:
                daemon.__exit__(None, None, None)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread
