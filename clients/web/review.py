"""The review of a game for a page: many turns of one game searched, as many at once as there are slots.

One search waits in the queue as that of any page does, so that a review goes on beside others; the rest take slots that
nobody else wants. What the daemon's store knows is not searched again.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace

from plyd.clients.library.report import Report
from plyd.clients.web.daemons import DaemonLink
from plyd.clients.web.search_stream import PageQuery, SearchStream
from plyd.v1 import position_pb2

Found = tuple[int, float, Report]


async def review(link: DaemonLink, query: PageQuery, turns: Sequence[int]) -> AsyncGenerator[Found, None]:
    """Each turn with the points so far and its final report, in the order in which they are found.

    A turn is a number of moves of the query's position. Whoever closes the generator ends all searches.
    """
    left = iter(turns)
    found: asyncio.Queue[Found | None] = asyncio.Queue()
    count = max(1, min(link.queue.slots, len(turns)))
    workers = [asyncio.ensure_future(_work(link, query, left, found, is_spare=at > 0)) for at in range(count)]
    everything = asyncio.gather(*workers)
    everything.add_done_callback(lambda _: found.put_nowait(None))
    try:
        while (one := await found.get()) is not None:
            yield one
        await everything  # raises what a worker has raised
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await everything


async def _work(
    link: DaemonLink, query: PageQuery, left: Iterator[int], found: "asyncio.Queue[Found | None]", *, is_spare: bool
) -> None:
    """Search turns, one after the other, until none is left."""
    stream, never = SearchStream(is_spare=is_spare), asyncio.Event()
    try:
        for turn in left:
            reports = stream.search(link, _at(query, turn), never, lambda _: None)
            async with contextlib.aclosing(reports):
                async for report in reports:
                    if report.final:
                        found.put_nowait((turn, stream.points, report))
    finally:
        stream.close()


def _at(query: PageQuery, turn: int) -> PageQuery:
    position = query.position
    return replace(
        query,
        use_store=True,
        position=position_pb2.Position(
            game=position.game, variant=position.variant, start=position.start, moves=position.moves[:turn]
        ),
    )
