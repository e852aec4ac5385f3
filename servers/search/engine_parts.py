"""Loads and compiles the parts of engines: those of a default search when the daemon starts, others when asked for."""

import asyncio
import gc
import logging
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from plyd.engines.core.engine import Engine
from plyd.engines.core.memory import return_free_memory
from plyd.engines.core.options import read_options

log = logging.getLogger("plyd.daemon")

EVERYTHING = ""  # the only part of an engine that has no parts


class EngineParts:
    """What is ready of a daemon's engines."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = engines
        self._ready: set[tuple[str, str]] = set()
        self._loading: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._thread = ThreadPoolExecutor(1, "plyd-parts")  # one at a time: numba compiles no two kernels at once

    @property
    def is_loading(self) -> bool:
        """Whether a part is being loaded or compiled."""
        return bool(self._loading)

    async def warm_up(self) -> None:
        """Prepare what a default search of each engine needs."""
        for game, engine in self._engines.items():
            options = read_options(engine.card.options, {})
            parts = engine.search_parts(next(iter(engine.variants)), options) if engine.parts else (EVERYTHING,)
            began = time.perf_counter()
            log.info("warming up %s; a first start compiles for a while", game)
            await self._prepare(engine, parts)
            log.info("%s is warm after %.2f s", game, time.perf_counter() - began)

    async def until_ready(self, engine: Engine, parts: Iterable[str]) -> None:
        """Wait until parts are ready, and prepare those that nobody asked for before."""
        if not all((engine.card.game, part) in self._ready for part in parts):
            await self._prepare(engine, parts)

    async def _prepare(self, engine: Engine, parts: Iterable[str]) -> None:
        for part in parts:
            key = engine.card.game, part
            if key in self._ready:
                continue
            if key not in self._loading:
                self._loading[key] = asyncio.ensure_future(self._load(engine, part))
            await asyncio.shield(self._loading[key])  # who waits may leave; the others go on waiting

    async def _load(self, engine: Engine, part: str) -> None:
        """Prepare a part. If that fails, the next request tries again."""
        key, began = (engine.card.game, part), time.perf_counter()
        try:
            prepare = (lambda: engine.prepare(part)) if part else engine.warm_up
            await asyncio.get_running_loop().run_in_executor(self._thread, prepare)
        finally:
            del self._loading[key]
        self._ready.add(key)
        if part:
            log.info("%s: %s is ready after %.2f s", *key, time.perf_counter() - began)
        gc.collect()
        gc.freeze()  # engines live as long as the process: garbage collections need not visit them
        return_free_memory()

    def close(self) -> None:
        """End the thread, if it has nothing to do."""
        self._thread.shutdown(wait=False)
