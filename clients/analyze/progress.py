"""The progress of a queue on stderr: a bar on a terminal, else nothing."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from plyd.clients.analyze.work import WorkQueue

DRAW_SECONDS = 0.2


@contextlib.asynccontextmanager
async def progress_bar(queue: WorkQueue) -> AsyncIterator[None]:
    """Shows how many turns are done, of those known so far, while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    drawing = asyncio.ensure_future(_draw(queue))
    try:
        yield
    finally:
        drawing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await drawing


async def _draw(queue: WorkQueue) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("positions"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as bar:
        task = bar.add_task("", total=None)
        try:
            while True:
                bar.update(task, total=queue.total or None, completed=queue.done, refresh=True)
                await asyncio.sleep(DRAW_SECONDS)
        finally:
            bar.update(task, total=queue.total, completed=queue.done, refresh=True)
