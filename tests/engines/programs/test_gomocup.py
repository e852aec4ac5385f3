"""Gomoku programs: what they hear in a game, how they may fail, and that the next search has a new one."""

import os
import threading
from pathlib import Path

import pytest

from plyd.engines.core.errors import Overloaded, ProgramFailed
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, Proven, Result, StopReason, Unknown
from plyd.engines.gomoku.rules import FREESTYLE
from tests.patience import SOON, until

WELL = Limits(max_seconds=SOON)
BRIEFLY = Limits(max_seconds=0.01)


class Player:
    """A searcher and the game that it follows."""

    def __init__(self, engine, start="5x5", variant="freestyle"):
        self.searcher = engine.searcher(variant, {})
        self.start, self.moves = start, []

    def search(self, *moves, limits=WELL, stop=None):
        self.moves += moves
        position = FREESTYLE.parse(self.start)
        for move in self.moves:
            position = FREESTYLE.play(position, move).position
        self.searcher.follow(self.start, self.moves)
        *_, last = self.searcher.search(position, limits, stop or Stop())
        return last

    def play(self, *moves, **how):
        move = self.search(*moves, **how).move
        self.moves.append(move)
        return move


def heard(log, *, info=False):
    lines = log.read_text().splitlines()
    log.write_text("")
    return [line for line in lines if info or not line.startswith("INFO")]


def test_a_game_goes_on_by_turns_and_other_positions_are_set_up(brain, tmp_path):
    log = tmp_path / "log"
    player = Player(brain("well", 0, log))
    assert player.play() == "a5"
    assert heard(log) == ["START 15", "START 5", "BEGIN"]
    assert [player.play("b5"), player.play("d5")] == ["c5", "e5"]
    assert heard(log) == ["TURN 1,0", "TURN 3,0"]
    del player.moves[-3:]  # taken back: a5 b5 are left
    assert player.play() == "c5"
    assert heard(log) == ["START 5", "BOARD", "0,0,1", "1,0,2", "DONE"]
    assert player.play("e1") == "d5"
    assert heard(log) == ["TURN 4,4"]
    player.moves[-1] = "e5"  # not what it answered
    assert player.play("a1") == "d5"
    assert heard(log)[:2] == ["START 5", "BOARD"]


def test_a_program_hears_the_rule_its_time_and_its_memory(brain, tmp_path):
    log = tmp_path / "log"
    engine = brain("well", 0, log, memory_mb=300, options=(("folder", "/x"),))
    Player(engine, variant="renju").search(limits=Limits(max_seconds=1.5))
    told = heard(log, info=True)
    for line in ("INFO rule 4", f"INFO max_memory {300 << 20}", "INFO timeout_match 0", "INFO folder /x"):
        assert line in told
    [timeout] = [line for line in told if "timeout_turn" in line]
    assert 1 <= int(timeout.split()[-1]) <= 1500


def test_a_report_has_the_move_and_no_score(brain):
    last = Player(brain()).search()
    assert (last.move, last.lines[0].moves, last.stop_reason) == ("a5", ("a5",), StopReason.TIME)
    assert last.score.value == Unknown()
    assert last.score.point_of_view is Side.PLAYER_ONE


def test_a_finished_game_needs_no_program(program_engine, brain):
    searcher = brain("crash").searcher("freestyle", {})
    over = FREESTYLE.parse("xxxxx/oooo./...../...../.....")
    [report] = searcher.search(over, WELL, Stop())
    assert (report.move, report.stop_reason) == (None, StopReason.NO_SEARCH)
    assert report.score.value == Proven(Result.WIN, 0)


SUDDEN = [
    ("crash", "tester was ended by SIGABRT"),
    ("exit", 'tester ended with status 3; .*its stderr ends with "no more moves for you"'),
    ("close", "tester closed its stdout"),
    ("endless", "tester writes a line of more than 65536 bytes"),
    ("nonsense", 'tester answers "banana"; a move is x,y, each from 0 to 4'),
    ("outside", 'tester answers "99,99"; a move is x,y, each from 0 to 4'),
    ("occupied", 'tester plays a5: illegal move "a5": a stone, x, is there'),
    ("binary", r'tester answers "\\x00.*\\x1b\[2J"'),
]


@pytest.mark.parametrize(("how", "message"), SUDDEN)
def test_a_program_that_misbehaves_is_quoted_and_the_next_search_has_a_new_one(brain, how, message):
    player = Player(brain(how, 1))
    assert player.play() == "a5"
    with pytest.raises(ProgramFailed, match=message):
        player.search("b5")
    assert player.play() == "c5"


@pytest.mark.parametrize("how", ["hang", "deaf", "chatter"])
def test_a_program_that_gives_no_move_is_killed_after_its_time_and_a_margin(brain, how):
    player = Player(brain(how, 1, margin_seconds=0.05))
    assert player.play() == "a5"
    with pytest.raises(ProgramFailed, match=r"no move within 0.01 s and a margin of 0.05 s, and was killed; its last"):
        player.search("b5", limits=BRIEFLY)
    assert player.play() == "c5"


def test_a_program_that_does_not_stop_is_killed(brain):
    stop, engine = Stop(), brain("hang", margin_seconds=0.05)
    engine.warm_up()
    player = Player(engine)
    player.searcher._pool._idle[0].begin = lambda *_: stop.set()  # once it is ready
    with pytest.raises(ProgramFailed, match=r"no move within 0.05 s of being stopped, and was killed"):
        player.search(stop=stop)


def failing_search(player, stop):
    """A thread whose search fails once it is stopped."""

    def search():
        with pytest.raises(ProgramFailed):
            player.search(stop=stop)

    thread = threading.Thread(target=search, daemon=True)
    thread.start()
    return thread


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_what_a_program_started_dies_with_it(brain, tmp_path):
    log = tmp_path / "child"
    player, stop = Player(brain("hang-with-child", 0, log, margin_seconds=0.05)), Stop()
    search = failing_search(player, stop)
    child = int(until(lambda: log.exists() and log.read_text()))
    assert is_running(child)
    stop.set()
    search.join(SOON)
    until(lambda: not is_running(child))


def test_a_program_sees_nothing_of_our_environment(brain, monkeypatch, tmp_path):
    monkeypatch.setenv("PLYD_TOKEN", "secret")
    with pytest.raises(ProgramFailed, match=r"stderr ends with") as failure:
        Player(brain("environment", folder=tmp_path)).search()
    assert "PLYD" not in str(failure.value)
    assert "'PATH'" in str(failure.value)
    assert str(failure.value).endswith(f'{tmp_path}"')


def test_a_program_gets_no_more_memory_than_allowed(brain):
    with pytest.raises(ProgramFailed, match=r"tester ended with status 1; .*MemoryError"):
        Player(brain("eat", memory_mb=300)).search()


@pytest.mark.parametrize(
    ("how", "message"), [("silent", 'does not say "OK" within 0.05 s; it said nothing'), ("refuse", "to START 5")]
)
def test_a_program_that_is_not_ready_says_why(brain, how, message):
    with pytest.raises(ProgramFailed, match=message):
        Player(brain(how, start_seconds=0.05 if how == "silent" else SOON)).search()


def test_a_program_that_is_no_program_is_noticed_at_the_start(brain, program_engine):
    engine = program_engine(brain(), "gomocup", "echo", "hello")
    with pytest.raises(ProgramFailed, match='tester ended with status 0; its last line is "hello"'):
        engine.warm_up()


# --- Several games at once --------------------------------------------------------------------------------------------


def starts(log):
    return log.read_text().splitlines().count("START 15")  # each process hears it once


def test_each_game_has_a_process_as_long_as_there_are_enough(brain, tmp_path):
    log = tmp_path / "log"
    engine = brain("well", 0, log, processes=2)
    engine.warm_up()
    one, other, third = (Player(engine) for _ in range(3))
    assert [one.play(), other.play("a5"), one.play("b5")] == ["a5", "b5", "c5"]
    assert starts(log) == 2
    log.write_text("")
    assert third.play() == "a5"  # takes the process of the game that has waited longest
    assert one.play("d5") == "e5"
    assert other.play("c5") == "d5"
    assert starts(log) == 0
    assert heard(log).count("START 5") == 2


def test_the_process_of_a_game_that_is_over_serves_the_next(brain, tmp_path):
    log = tmp_path / "log"
    engine = brain("well", 0, log, processes=8)
    for _ in range(3):
        assert Player(engine).play() == "a5"
    assert starts(log) == 1


def test_a_search_without_a_process_waits_for_one_and_gives_up_in_time(brain):
    engine, stop = brain("hang", processes=1, margin_seconds=0.05), Stop()
    search = failing_search(Player(engine), stop)
    until(lambda: engine._pool._busy == 1)
    with pytest.raises(Overloaded, match="all 1 processes of the program are busy"):
        Player(engine).search(limits=BRIEFLY)
    stop.set()
    search.join(SOON)
    assert engine._pool._busy == 0


def test_a_program_that_is_not_ready_does_not_hold_a_search_that_is_stopped(brain):
    stop = Stop()
    stop.set()
    with pytest.raises(ProgramFailed, match=r'does not say "OK" within 0.05 s; it said nothing'):
        Player(brain("silent", margin_seconds=0.05)).search(stop=stop)


def test_a_search_that_runs_when_the_engine_closes_sees_its_program_killed(brain):
    engine, stop = brain("hang"), Stop()
    search = failing_search(Player(engine), stop)
    until(lambda: engine._pool._lent)
    engine.close()
    search.join(SOON)
    assert not search.is_alive()


def test_no_process_is_left_when_the_engine_closes(brain):
    engine = brain()
    Player(engine).play()
    [conversation] = engine._pool._idle
    engine.close()
    with pytest.raises(ProcessLookupError):
        os.kill(conversation.process.pid, 0)
