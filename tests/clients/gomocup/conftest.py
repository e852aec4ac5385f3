"""Conversations with a bridge: to an engine that answers without a search, or to the session's daemon."""

import asyncio

import pytest

from plyd.clients.library.bridges import bridge_engine
from plyd.clients.library.bridges.bridge_engine import BridgeEngine
from plyd.clients.library.connect.locate import ExistingDaemon
from tests.clients.gomocup.talks import ScriptedEngine, Talk
from tests.patience import SOON


@pytest.fixture
def talking():
    """Run a conversation, an async function of a Talk, with an engine that plays without a search."""

    def run(conversation, *, searches=False, **options):
        return hold(conversation, lambda: ScriptedEngine(searches=searches), **options)

    return run


@pytest.fixture
def playing(gomoku, monkeypatch):
    """Run a conversation, an async function of a Talk, with the engine of the session's daemon, or of another one."""
    monkeypatch.setattr(bridge_engine, "WARM_UP_SECONDS", 0.0)

    def run(conversation, address=gomoku, **options):
        return hold(conversation, lambda: BridgeEngine(ExistingDaemon(address), "gomoku"), **options)

    return run


def hold(conversation, make_engine, **options):
    """What a conversation returns."""

    async def whole():
        talk = Talk(make_engine(), **options)
        try:
            return await asyncio.wait_for(conversation(talk), 2 * SOON)
        finally:
            await talk.bridge.close()

    return asyncio.run(whole())
