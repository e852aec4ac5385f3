"""AsyncEngineClient behind the interface of EngineClient, so that one test makes its claim of both."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator

from plyd.clients import AsyncEngineClient, AsyncGame
from tests.patience import LONG, SOON


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, function, *arguments, **keywords):
        """What a function returns in the loop; awaited if it is a coroutine, blocking if it is more than a value."""

        async def call():
            value = function(*arguments, **keywords)
            return await value if inspect.isawaitable(value) else value

        value = asyncio.run_coroutine_threadsafe(call(), self.loop).result(LONG)
        if isinstance(value, AsyncGame):
            return Blocking(self, value)
        return BlockingIterator(self, value) if isinstance(value, AsyncIterator) else value

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(SOON)
        self.loop.close()


class Blocking:
    """An asynchronous object whose methods run in a loop and block."""

    def __init__(self, loop, inner):
        self._loop, self._inner = loop, inner

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        return lambda *arguments, **keywords: self._loop.run(found, *arguments, **keywords)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class BlockingIterator:
    """An asynchronous iterator as an ordinary one."""

    def __init__(self, loop, inner):
        self._loop, self._inner = loop, inner

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._loop.run(self._inner.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self):
        self._loop.run(self._inner.aclose)


def blocking_client(loop, *arguments, **settings):
    """An AsyncEngineClient with blocking methods."""
    return Blocking(loop, loop.run(lambda: AsyncEngineClient(*arguments, **settings)))


def threaded_source(source):
    """An asynchronous iterator over a source that blocks."""

    async def read():
        items, end = iter(source), object()
        while (item := await asyncio.to_thread(next, items, end)) is not end:
            yield item

    return read()
