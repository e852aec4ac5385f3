"""Futures that nobody may be waiting for any more."""

import asyncio
from typing import Any


def mark_seen(done: asyncio.Future[Any]) -> None:
    """Mark the exception of a future that is done as seen, so that asyncio does not log it as forgotten."""
    if not done.cancelled():
        done.exception()
