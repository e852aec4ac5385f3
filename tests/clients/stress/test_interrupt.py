"""SIGTERM during a run of `plyd stress`."""

import asyncio
import os
import signal

import click
import pytest

from plyd.clients.stress.interrupt import run_until_stopped, stop_on_sigterm


@pytest.fixture
def command():
    """The context of a command that SIGTERM stops; the handler before it comes back."""
    before = signal.getsignal(signal.SIGTERM)
    with click.Context(click.Command("stress")) as context:
        stop_on_sigterm(context)
        yield
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("command")
def test_a_signal_cancels_the_task_and_raises_nothing_where_it_arrives():
    seen = []

    async def work():
        os.kill(os.getpid(), signal.SIGTERM)  # as if it came within a callback of gRPC
        seen.append("not interrupted")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_until_stopped(work())
    assert seen == ["not interrupted", "cancelled"]


@pytest.mark.usefixtures("command")
def test_outside_a_loop_a_signal_raises():
    run_until_stopped(asyncio.sleep(0))
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.usefixtures("command")
def test_an_error_of_the_work_is_raised():
    async def work():
        raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        run_until_stopped(work())
