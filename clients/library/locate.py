"""Where a bridge finds its daemon: at an address it was given, or at home, a private one that is kept alive."""

import asyncio
import contextlib
import threading
from typing import Protocol

from plyd.clients.library.embedded import PrivateDaemon

LEAVE_SECONDS = 0.3  # for a private daemon to go in good order; Gomoku managers wait 0.7 s before they kill


class Place(Protocol):
    """Where a daemon answers."""

    async def target(self) -> str:
        """Its address, once it is ready."""

    def lost(self) -> None:
        """It does not answer any more."""

    def close(self) -> None:
        """It is not needed any more."""


class Elsewhere:
    """A daemon that somebody else runs."""

    def __init__(self, target: str) -> None:
        self._target = target

    async def target(self) -> str:
        """Its address."""
        return self._target

    def lost(self) -> None:
        """It may come back."""

    def close(self) -> None:
        """Nothing to do."""


class Home:
    """A private daemon, started at once and again whenever it is lost. It starts and stops in threads of its own."""

    def __init__(self, game: str) -> None:
        self._game = game
        self._daemon: PrivateDaemon | None = None
        self._starting = self._start()

    async def target(self) -> str:
        """Its address, once it is ready."""
        return await asyncio.shield(self._starting)

    def lost(self) -> None:
        """Start another one, unless one is starting."""
        if self._starting.done():
            self._leave()
            self._starting = self._start()

    def close(self) -> None:
        """Let it go; one that takes its time, or has not even started, will notice that we are gone."""
        self._leave().join(LEAVE_SECONDS)

    def _start(self) -> "asyncio.Future[str]":
        loop = asyncio.get_running_loop()
        started: asyncio.Future[str] = loop.create_future()
        started.add_done_callback(lambda future: future.cancelled() or future.exception())  # nobody may ask

        def settle(daemon: PrivateDaemon | None, error: Exception | None) -> None:
            self._daemon = daemon
            if error:
                started.set_exception(error)
            elif daemon:
                started.set_result(daemon.target)

        def run() -> None:
            daemon, error = None, None
            try:
                daemon = PrivateDaemon(self._game).__enter__()
            except Exception as fault:
                error = fault
            with contextlib.suppress(RuntimeError):  # we are going
                loop.call_soon_threadsafe(settle, daemon, error)

        threading.Thread(target=run, daemon=True).start()
        return started

    def _leave(self) -> threading.Thread:
        daemon, self._daemon = self._daemon, None

        def run() -> None:
            if daemon:
                daemon.__exit__(None, None, None)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread
