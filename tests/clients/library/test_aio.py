"""What asyncio adds to test_client.py: cancelled tasks, asynchronous sources, and no tasks left behind."""

import asyncio
import contextlib
import itertools

import pytest

from plyd.clients import AsyncEngineClient
from plyd.clients.library.errors import Cancelled, InvalidRequest, Overloaded
from tests.patience import LONG, SOON

OPENING = "b 2 2 0 0 0 0"
AHEAD = {"method": "expectimax"}  # a search that ends only at a limit


def run(talk, target):
    """What comes of talking to a target with a client of its own."""

    async def main():
        async with AsyncEngineClient(target) as client, asyncio.timeout(LONG):
            return await talk(client)

    return asyncio.run(main())


async def eventually(claim):
    """What the claim returns, once it is true."""
    async with asyncio.timeout(SOON):
        while not (truth := await claim()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return truth


async def search_if_free(client, **wish):
    """The best move, or None if the daemon has no slot."""
    with contextlib.suppress(Overloaded):
        return (await client.search(OPENING, **wish)).move


async def is_alone():
    """Whether no other task is left."""
    return len(asyncio.all_tasks()) == 1


def test_cancelling_a_task_frees_its_slot_and_stays_a_cancellation(narrow_daemon):
    async def talk(client):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await eventually(lambda: search_if_free(client, options=AHEAD))
        assert await eventually(lambda: search_if_free(client, options=AHEAD, depth=3)) in ("right", "down")

    run(talk, narrow_daemon)


def test_closing_the_client_cancels_every_kind_of_call(daemon):
    async def talk(client):
        async def drain(items):
            return [item async for item in items]

        game = await client.play(OPENING, method="expectimax")
        calls = [
            drain(client.analyze(OPENING, options=AHEAD)),
            drain(client.evaluate_batches(itertools.repeat(b"b 2 2 0 0 0 0"))),
            drain(game.go()),
            client.search(OPENING, options=AHEAD, timeout=LONG),
        ]
        tasks = list(map(asyncio.ensure_future, calls))
        await asyncio.sleep(0.2)
        await client.close()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert list(map(type, ends)) == [Cancelled] * 4

    run(talk, daemon)


def test_closing_a_game_cancels_the_search_of_another_task(daemon):
    async def talk(client):
        game = await client.play(OPENING, method="expectimax")
        begun = asyncio.Event()

        async def search():
            async for _ in game.go():
                begun.set()

        searching = asyncio.ensure_future(search())
        await begun.wait()
        game.close()
        with pytest.raises(Cancelled):
            await searching

    run(talk, daemon)


def test_closing_early_closes_an_asynchronous_source(daemon):
    closed = []

    async def ask():
        try:
            while True:
                yield b"b 2 2 0 0 0 0\n"
        finally:
            closed.append(True)

    async def talk(client):
        answers = client.evaluate_batches(ask())
        for _ in range(20):
            assert len((await anext(answers))[1].values) == 1
        await answers.aclose()
        await eventually(is_alone)
        assert closed

    run(talk, daemon)


def test_batch_refused_leaves_no_task_behind(daemon):
    async def talk(client):
        with pytest.raises(InvalidRequest):
            async for _ in client.evaluate_batches(itertools.chain([b"b" * 600_000], itertools.repeat(b"b\n"))):
                pass
        await eventually(is_alone)

    run(talk, daemon)
