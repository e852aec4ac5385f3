"""One page's connection whose daemon is frozen: what is kept for the page is bounded, whatever it sends."""

import asyncio
import json

from plyd.clients.web.connection import MAX_REQUESTS, PageConnection
from plyd.clients.web.rooms import Rooms

POSITION = {"game": "sticks"}


class Daemons:
    """A daemon that answers nothing until it is released."""

    def __init__(self):
        self.listeners = set()
        self.released = asyncio.Event()
        self.client = self

    def find(self, _):
        return self

    async def apply(self, *_, **__):
        await self.released.wait()

    async def search(self, *_):
        await self.released.wait()
        return
        yield


class Frozen:
    """A connection to such a daemon; `sent` takes what the page would have been told."""

    def __init__(self):
        self.daemons = Daemons()
        self.page = PageConnection(None, self.daemons, Rooms())
        self.page._stream = self.daemons
        self.number = 0

    def say(self, verb):
        self.number += 1
        self.page._handle(json.dumps({"id": self.number, "do": verb, "position": POSITION}))

    def sent(self):
        messages = list(self.page._unsent._messages.values())
        self.page._unsent._messages.clear()
        return messages

    async def release(self):
        self.daemons.released.set()
        await asyncio.wait(self.page._tasks)
        return self.sent()


def test_many_stops_are_one_and_are_bounded_as_all_requests_are():
    async def flood():
        it = Frozen()
        it.say("think")
        for _ in range(100):
            it.say("stop")
        await asyncio.sleep(0)
        assert len(it.page._tasks) == MAX_REQUESTS
        refused = it.sent()
        assert len(refused) == 101 - MAX_REQUESTS
        assert all("the most allowed for one page" in words["error"]["message"] for words in refused)
        assert [words["ok"] for words in await it.release()] == [True] * (MAX_REQUESTS - 1)

    asyncio.run(flood())


def test_the_first_stop_of_a_search_is_never_refused():
    async def crowd():
        it = Frozen()
        it.say("think")
        for _ in range(MAX_REQUESTS - 1):
            it.say("apply")
        it.say("stop")
        await asyncio.sleep(0)
        assert it.page._search.stopped.is_set()
        assert it.sent() == []
        it.say("stop")
        assert "error" in it.sent()[0]
        for task in it.page._tasks:
            task.cancel()
        await asyncio.wait(it.page._tasks)

    asyncio.run(crowd())
