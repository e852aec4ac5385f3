"""`EngineClient.start`: a private daemon that lives as long as its client."""

import asyncio
from pathlib import Path

import pytest

from plyd.clients import AsyncEngineClient, EngineClient, PlydError
from plyd.clients.library.connect.embedded import EmbeddedDaemon

BOARD = "b 2 2 0 0 0 0"


def socket_of(client):
    return Path(client.settings.target.removeprefix("unix:"))


def test_a_private_daemon_answers_and_goes_with_its_client(monkeypatch):
    monkeypatch.setenv("PLYD_TOKEN", "for another daemon")
    with EngineClient.start("2584-2x3") as engine:
        process = engine._private._process
        assert engine.search(BOARD).score.exact
        assert socket_of(engine).exists()
    assert process.returncode == 0
    assert not socket_of(engine).exists()
    engine.close()  # once more does nothing


def test_the_asyncio_client_starts_one_too():
    async def ask():
        async with await AsyncEngineClient.start("2584-2x3") as engine:
            process = engine._private._process
            report = await engine.search(BOARD)
        return report, process.returncode

    report, status = asyncio.run(ask())
    assert (report.score.exact, status) == (True, 0)


def test_a_private_daemon_has_the_settings_that_it_is_given():
    with EmbeddedDaemon("2584-2x3", settings=["--slots", "3"]) as daemon, EngineClient(daemon.target) as engine:
        assert engine.describe().daemon.slots == 3


@pytest.mark.parametrize("game", ["--help", "--program=true", "\0"])
def test_a_name_is_never_an_option_of_the_daemon(game):
    with pytest.raises(PlydError, match="unknown game"):
        EngineClient.start(game)


def test_a_game_that_does_not_exist_is_told():
    with pytest.raises(PlydError, match='unknown game "chess"; games are 2584-2x3'):
        EngineClient.start("chess")
