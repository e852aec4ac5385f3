"""SIGTERM stops a run like Ctrl-C, so that figures are printed and no daemon is left behind.

Outside an event loop SIGTERM raises KeyboardInterrupt. Inside one it cancels the task instead: an exception raised in a
callback of gRPC's C extension would be dropped there, and the run would go on.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

import click


def stop_on_sigterm(context: click.Context) -> None:
    """Let SIGTERM raise KeyboardInterrupt until the command ends."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    context.call_on_close(lambda: signal.signal(signal.SIGTERM, previous))


def run_until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine; SIGTERM and Ctrl-C cancel it, and then raise KeyboardInterrupt here."""

    async def main() -> None:
        loop, task, previous = asyncio.get_running_loop(), asyncio.current_task(), signal.getsignal(signal.SIGTERM)
        assert task is not None
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            await work
        finally:
            loop.remove_signal_handler(signal.SIGTERM)
            signal.signal(signal.SIGTERM, previous)

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
