"""The real engine behind a bridge: rules, streams, and daemons that are missing, lost or hang."""

import asyncio
import re
import signal

import pytest

from plyd.clients.gomocup.bridge import ABOUT
from plyd.clients.library.bridges import bridge_engine
from plyd.clients.library.bridges.bridge_engine import BridgeEngine, BridgeQuery, EnginePosition, common_moves
from plyd.clients.library.connect.locate import ExistingDaemon
from plyd.clients.library.errors import InvalidRequest
from tests.clients.gomocup.talks import Talk, quiet_board
from tests.patience import SOON


def test_a_five_is_completed_and_one_is_stopped(playing):
    """Rows count from the top and columns from the left, on the way there and on the way back."""

    async def play(talk):
        four = [f"{x},2,{{}}" for x in range(4)]
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50")
        assert await talk.ask("BOARD", *(line.format(1) for line in four), "9,9,2", "9,8,2", "DONE") == "4,2"
        assert await talk.ask("RESTART") == "OK"
        assert await talk.ask("BOARD", *(line.format(2) for line in four), "9,9,1", "4,12,1", "DONE") == "4,2"

    playing(play, move_ms=1000 * SOON)


def test_exactly_five_is_another_game(playing):
    """xxx.xx is won by rule 0 and not by rule 1; the report tells which one was searched."""
    row = [f"{x},0,1" for x in (0, 1, 2, 4, 5)] + [f"{x},2,2" for x in (0, 3, 6, 9, 12)]

    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50")
        assert await talk.ask("BOARD", *row, "DONE") == "3,0"
        await talk.ask("RESTART")
        assert await talk.ask("INFO rule 1", "BOARD", *row, "DONE") != "3,0"

    playing(play, move_ms=1000 * SOON)


def test_renju_is_another_game(playing):
    """xxx.xx is forbidden to who began and wins for the other, by rule 4; by rule 1 it is nothing to both."""
    row = [f"{x},0,1" for x in (0, 1, 2, 4, 5)] + [f"{x},2,2" for x in (0, 3, 6, 9, 12)]

    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50", "INFO rule 4")
        assert await talk.ask("BOARD", *row, "DONE") != "3,0"
        await talk.ask("RESTART")
        assert await talk.ask("BOARD", *row, "14,14,2", "DONE") == "3,0"
        await talk.ask("RESTART")
        assert await talk.ask("INFO rule 1", "BOARD", *row, "14,14,2", "DONE") != "3,0"

    playing(play, move_ms=1000 * SOON)


def test_a_forbidden_move_of_the_opponents_is_told_of_and_answered(playing):
    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50", "INFO rule 4")
        board = [f"{x},0,2" for x in (0, 1, 2, 4, 5)] + [f"{x},2,1" for x in (0, 3, 6, 9, 12)]
        await talk.ask("BOARD", *board, "14,14,2", "DONE")
        await talk.ask("TURN 3,0")
        return talk.talk

    said = "\n".join(playing(play, move_ms=1000 * SOON))
    assert "it makes six or more in a row, which x may not" in said


def test_messages_tell_of_the_search(playing):
    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50")
        await talk.ask("TURN 7,7")
        return talk.talk[-1]

    message = playing(play, move_ms=1000 * SOON)
    assert re.fullmatch(r"MESSAGE depth \d+ score \S+( in \d+)? nodes \d+( speed \d+)? pv \d+,\d+( \d+,\d+)*", message)


def test_a_node_limit_ends_the_search(playing):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell("INFO max_node 1", "INFO max_depth 1", "INFO thread_num 1")
        assert re.fullmatch(r"\d+,\d+", await talk.ask(*quiet_board()[1:], "STOP"))

    playing(play)


def test_a_game_stays_on_one_stream(gomoku):
    async def play():
        engine = BridgeEngine(ExistingDaemon(gomoku), "gomoku")
        talk = Talk(engine, 1000 * SOON)
        await talk.ask("START 15")
        await talk.tell("INFO max_node 20")
        first = await talk.ask("BEGIN")
        games = [engine._game]
        second = await talk.ask("TURN 0,0")
        games.append(engine._game)
        for line in (f"TAKEBACK {second}", "TAKEBACK 0,0"):
            assert await talk.ask(line) == "OK"
        third = await talk.ask("TURN 14,0")
        games.append(engine._game)
        await talk.ask("BOARD", f"{first},1", "14,0,2", f"{third},1", "14,14,2", "DONE")
        games.append(engine._game)
        assert engine._asked.position.start == "15x15"
        assert len(engine._asked.position.moves) == 4
        await talk.bridge.close()
        return games

    assert len(set(asyncio.run(play()))) == 1


def test_a_late_search_ends_later_and_its_stream_stays(gomoku):
    async def play():
        engine, reports, now = BridgeEngine(ExistingDaemon(gomoku), "gomoku"), [], asyncio.get_running_loop().time
        position = EnginePosition("20x20", ("c18", "o17", "d5", "q6"))
        await engine.search(BridgeQuery(position, "freestyle", depth=1), now() + 60, now() + 60, reports.append)
        first, number = engine._game, len(reports)
        assert reports[-1].final
        with pytest.raises(TimeoutError):
            await engine.search(BridgeQuery(position, "freestyle"), now() + 60, now() + 0.2, reports.append)
        assert not engine._search.done()
        await asyncio.wait({engine._search}, timeout=SOON)
        later = BridgeQuery(EnginePosition(position.start, (*position.moves, "a1", "t20")), "freestyle", depth=1)
        await engine.search(later, now() + 60, now() + 60, reports.append)
        assert engine._game is first
        assert sum(report.final for report in reports[number:]) == 2
        with pytest.raises(InvalidRequest):
            await engine.search(
                BridgeQuery(EnginePosition("20x20", ("a1", "a1")), "freestyle"), now() + 60, now() + 60, reports.append
            )
        await engine.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("one", "other", "count"), [("", "", 0), ("ab", "ab", 2), ("ab", "abc", 2), ("abc", "abd", 2), ("a", "b", 0)]
)
def test_moves_in_common(one, other, count):
    assert common_moves(tuple(one), tuple(other)) == count


def test_nobody_there(playing, nowhere, monkeypatch):
    monkeypatch.setattr(bridge_engine, "CONNECT_SECONDS", 0.2)

    async def play(talk):
        assert (await talk.ask("START 15")).startswith(f"ERROR {nowhere} is unavailable")
        assert await talk.ask("BEGIN") == "ERROR no board; send START first, such as START 15"
        assert await talk.ask("ABOUT") == ABOUT

    playing(play, address=nowhere)


def test_a_daemon_without_gomoku(playing, daemon):
    async def play(talk):
        return await talk.ask("START 15")

    assert playing(play, address=daemon).startswith("ERROR")


def test_an_option_that_there_is_not(playing):
    async def play(talk):
        return await talk.ask("START 15")

    assert 'ERROR unknown option "colour"' in playing(play, colour="blue")


def test_a_daemon_that_is_lost_and_comes_back(playing, spare_gomoku):
    async def play(talk):
        assert await talk.ask("START 15") == "OK"
        await talk.tell("INFO timeout_turn 60000", "INFO max_node 1")
        await talk.ask("TURN 7,7")
        assert talk.talk[-1].startswith("MESSAGE depth")
        spare_gomoku.kill()
        await talk.tell("INFO timeout_turn 150")
        assert re.fullmatch(r"\d+,\d+", await talk.ask("TURN 0,0"))
        assert (
            talk.talk[-1]
            == "MESSAGE no move from the engine; playing the empty point nearest to the centre of the stones"
        )
        assert "unavailable" in talk.talk[-2]
        spare_gomoku.launch()
        await asyncio.to_thread(spare_gomoku.wait)
        await talk.tell("INFO timeout_turn 60000", "INFO max_node 1")
        assert re.fullmatch(r"\d+,\d+", await talk.ask("TURN 14,0"))
        assert talk.talk[-2].startswith("MESSAGE depth") or talk.talk[-1].startswith("MESSAGE depth")

    playing(play, address=spare_gomoku.address, move_ms=150)


def test_a_daemon_that_hangs(playing, spare_gomoku):
    async def play(talk):
        assert await talk.ask("START 15") == "OK"
        spare_gomoku.process.send_signal(signal.SIGSTOP)
        try:
            assert re.fullmatch(r"\d+,\d+", await talk.ask("TURN 7,7"))
        finally:
            spare_gomoku.process.send_signal(signal.SIGCONT)
        assert "MESSAGE the engine is late" in talk.talk
        await talk.tell("INFO timeout_turn 60000", "INFO max_node 1")
        await talk.ask("TURN 0,0")
        assert talk.talk[-1].startswith("MESSAGE depth")

    playing(play, address=spare_gomoku.address, move_ms=150)
