"""Keeps daemons and the page running: one process each, started again when it dies, all stopped together."""

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plyd.servers.access.addresses import Address, refuse_if_taken
from plyd.servers.telemetry.log import announce

log = logging.getLogger("plyd.up")

FIRST_DELAY_SECONDS = 0.25  # before a daemon that died is started again; doubled each time it dies young
LONGEST_DELAY_SECONDS = 30.0
YOUNG_SECONDS = 10.0
PAGE = "http://"
STOP_SECONDS = 15.0  # for a daemon to end by itself before it is killed


@dataclass(frozen=True, slots=True)
class Post:
    """One process to keep running: what it is called, where it answers, and the plyd command that it is."""

    name: str
    address: Address
    words: tuple[str, ...]
    scheme: str = ""
    metrics: Address | None = None

    @property
    def place(self) -> str:
        """Where it answers, as a person or a client would write it."""
        return f"{self.scheme}{self.address}"

    def command(self) -> list[str]:
        """The process to run."""
        program = [sys.executable, "-P", "-m", "plyd.clients", *self.words, "--listen", str(self.address)]
        if self.metrics:
            program += ["--metrics-listen", str(self.metrics)]
        return [*program, "--with-stdin"]  # so that it goes when we are killed


def engine_post(
    game: str,
    address: Address,
    metrics: Address | None = None,
    *,
    config: Path | None = None,
    is_encrypted: bool = False,
) -> Post:
    """A daemon of one game, its metrics at an address of their own."""
    words = ("serve", game) if config is None else ("serve", game, "--config", str(config))
    return Post(game, address, words, "tls:" if is_encrypted else "", metrics)


def web_post(address: Address, engines: Sequence[Post]) -> Post:
    """The page, for these daemons."""
    return Post("web", address, ("web", *(word for post in engines for word in ("--connect", post.place))), PAGE)


class Supervisor:
    """Runs a process for each post until told to stop."""

    def __init__(self, posts: Sequence[Post]) -> None:
        self._posts = posts
        self._processes: dict[Post, asyncio.subprocess.Process] = {}
        self._serving: set[Post] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Keep every post manned until SIGTERM or SIGINT; the exit status."""
        for post in self._posts:
            for address in (post.address, post.metrics):
                if address:
                    refuse_if_taken(address)
        told_to_stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, told_to_stop.set)
        keepers = [asyncio.ensure_future(self._keep(post)) for post in self._posts]
        going = asyncio.ensure_future(told_to_stop.wait())
        ended, _ = await asyncio.wait({going, *keepers}, return_when=asyncio.FIRST_COMPLETED)
        for keeper in ended - {going}:
            log.error("a daemon can no longer be kept running", exc_info=keeper.exception())
        log.info("stopping %d daemons", len(self._processes))
        self._stopping.set()
        await asyncio.gather(*(self._end(process) for process in self._processes.values()))
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        return 0 if going in ended else 1

    async def _keep(self, post: Post) -> None:
        """Run a post's daemon, again and again."""
        delay = FIRST_DELAY_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            status = await self._run_once(post)
            if self._stopping.is_set():
                return
            if time.monotonic() - began > YOUNG_SECONDS:
                delay = FIRST_DELAY_SECONDS
            what = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            log.warning("%s %s; starts again in %.2f s", post.name, what, delay)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_SECONDS)

    async def _run_once(self, post: Post) -> int:
        """Run a post's daemon until it ends; its exit status."""
        process = await asyncio.create_subprocess_exec(
            *post.command(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C in the terminal is for us; we then stop them all
        )
        self._processes[post] = process
        assert process.stdout is not None
        async for line in process.stdout:
            if line.startswith(b"serving"):
                self._announce(post, process.pid)
        return await process.wait()

    def _announce(self, post: Post, pid: int) -> None:
        self._serving.add(post)
        announce(f"{post.name} {post.place} {pid}")
        if len(self._serving) == len(self._posts):
            pages = [f"; open {post.place}" for post in self._posts if post.scheme == PAGE]
            log.info("every engine is serving%s; Ctrl-C stops them", "".join(pages))

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Stop a daemon, gently first."""
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.warning("process %d did not stop within %.0f s; killed", process.pid, STOP_SECONDS)
            process.kill()
            await process.wait()
