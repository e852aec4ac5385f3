"""What a bridge does while it searches, with limits and options of the manager, and when the engine fails."""

import asyncio
import re
import time

import pytest

from plyd.clients.gomocup import bridge
from plyd.clients.gomocup.bridge import ABOUT
from plyd.clients.library.errors import DaemonFault, InvalidRequest
from plyd.v1 import engine_pb2, search_pb2
from tests.clients.gomocup.talks import QUIET, ScriptedEngine, Talk, X, quiet_board
from tests.patience import LONG, SOON


def test_wrong_numbers_in_info_are_told_with_the_next_move(talking):
    async def play(talk):
        await talk.tell("INFO timeout_turn soon")
        assert talk.is_silent()
        await talk.ask("START 15")
        await talk.ask("BEGIN")
        return talk.talk[0]

    assert talking(play) == "MESSAGE INFO timeout_turn needs a whole number, not 'soon'"


def test_another_game_ends_the_search_without_a_move(talking):
    async def play(talk):
        for line, answer in (("RESTART", "OK"), ("START 15", "OK"), ("TAKEBACK 9,1", "OK"), ("PLAY 0,0", "0,0")):
            await talk.ask(quiet_board()[0])
            await talk.tell(*quiet_board()[1:])
            await asyncio.sleep(0.05)
            assert await talk.ask(line) == answer
        await asyncio.sleep(0.05)
        assert talk.is_silent()

    talking(play, searches=True)


def test_a_wrong_command_does_not_disturb_the_search(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(*quiet_board()[1:])
        assert (await talk.ask("TURN 99,99")).startswith("ERROR")
        assert (await talk.ask("TAKEBACK 19,19")).startswith("ERROR")
        assert (await talk.ask("WHO ARE YOU")).startswith("UNKNOWN")
        assert await talk.ask("ABOUT") == ABOUT
        assert re.fullmatch(r"\d+,\d+", await talk.ask("YXSTOP"))

    talking(play, searches=True)


def test_the_clock_runs_from_the_command_that_we_think_about(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell("INFO timeout_turn 600000", "INFO time_left 2147483647", *QUIET.split())
        began = talk.bridge._began
        await asyncio.sleep(0.01)
        assert (await talk.ask("TURN 99,99")).startswith("ERROR")
        assert talk.bridge._since > began == talk.bridge._began > 0

    talking(play, searches=True)


@pytest.mark.parametrize(
    ("turn", "left", "is_stopped"), [(1000 * LONG, 20_000 * LONG, True), (100, 2_147_483_647, False)]
)
def test_an_easy_move_is_sent_early_if_there_is_a_match_clock(talking, monkeypatch, turn, left, is_stopped):
    monkeypatch.setattr(bridge, "is_easy", lambda *_: True)

    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(f"INFO timeout_turn {turn}", f"INFO time_left {left}")
        talk.bridge._clock.lag_ms = 200.0  # the most there is: a busy machine shortens no search any further
        assert re.fullmatch(r"\d+,\d+", await talk.ask(*QUIET.split()))
        return talk.bridge._engine.is_stopped

    assert talking(play, searches=True) == is_stopped


def test_less_time_while_it_thinks(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(*quiet_board()[1:])
        assert re.fullmatch(r"\d+,\d+", await talk.ask("INFO timeout_turn 100"))

    talking(play, searches=True)


@pytest.mark.parametrize("limits", [["timeout_turn 0"], ["timeout_turn 600000", "time_left 400"], ["timeout_turn 60"]])
def test_short_limits_are_kept(talking, limits):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(*(f"INFO {limit}" for limit in limits))
        began = time.monotonic()
        assert re.fullmatch(r"\d+,\d+", await talk.ask(*QUIET.split()))
        return time.monotonic() - began

    assert talking(play, searches=True, move_ms=1000 * LONG) < SOON


class Failing:
    """A engine whose searches fail as they are on_report to, after a first report or before it."""

    trouble = ""

    def __init__(self, error, move="", **known):
        self.error = error
        self.move = move
        self.known = known
        self.questions = []

    async def ready(self, options):
        pass

    async def search(self, query, end, late, on_report):
        self.questions.append(query)
        if self.move:
            on_report(search_pb2.Report(move=self.move, score=search_pb2.Score(point_of_view=X, win_probability=0.5)))
        if self.error:
            raise self.error
        await asyncio.sleep(late - asyncio.get_running_loop().time())
        raise TimeoutError

    async def close(self):
        pass


@pytest.mark.parametrize("error", [DaemonFault("it is broken"), InvalidRequest("no"), KeyError("a bug"), None])
@pytest.mark.parametrize(("move", "answer"), [("", r"\d+,\d+"), ("a1", "0,14"), ("h8", r"\d+,\d+"), ("zz", r"\d+,\d+")])
def test_a_move_is_owed_whatever_happens(error, move, answer):
    async def play():
        talk = Talk(Failing(error, move), 50)
        assert await talk.ask("START 15") == "OK"
        said = await talk.ask("TURN 7,7")
        assert re.fullmatch(answer, said)
        assert said != "7,7"
        assert any(line.startswith("MESSAGE") and str(error or "late") in line for line in talk.talk)
        if move in ("", "h8", "zz"):
            assert (
                "MESSAGE no move from the engine; playing the empty point nearest to the centre of the stones"
                in talk.talk
            )
        await talk.bridge.close()

    asyncio.run(play())


def test_a_slow_start_is_told_and_costs_no_time_of_a_move(monkeypatch):
    monkeypatch.setattr(bridge, "START_NOTICE_SECONDS", 0.01)

    class Slow(Failing):
        async def ready(self, options):
            await asyncio.sleep(0.3)

    async def play():
        talk, began = Talk(Slow(None, "a1"), 200), asyncio.get_running_loop().time()
        await talk.bridge.handle_line("START 15", began)
        await talk.bridge.handle_line("BEGIN", began)  # said before START was answered
        assert await talk.hear() == "OK"
        assert talk.talk == ["MESSAGE the engine is starting; the first start compiles kernels and takes longer"]
        assert await talk.hear() == "0,14"
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(play()) > 0.3 + 0.15


MEMORY = engine_pb2.Option(name="memory", default_value="256", minimum=8)
THREADS = engine_pb2.Option(name="threads", default_value="0", minimum=0, maximum=64)


@pytest.mark.parametrize(
    ("on_report", "own", "options"),
    [
        (["max_memory 0", "thread_num 0"], {}, {}),
        (["max_memory 367001600", "thread_num 2"], {}, {"memory": "150", "threads": "2"}),
        (["max_memory 99999999999"], {}, {"memory": "256"}),
        (["max_memory 1000000"], {}, {"memory": "8"}),
        (["max_memory 367001600", "thread_num 1"], {"threads": "4", "memory": "99"}, {"threads": "4", "memory": "99"}),
    ],
)
def test_options_follow_what_the_manager_says_unless_they_are_set(on_report, own, options):
    async def play():
        engine = Failing(DaemonFault("never mind"), memory=MEMORY, threads=THREADS)
        talk = Talk(engine, 50, **own)
        await talk.ask("START 15")
        await talk.ask(*(f"INFO {words}" for words in on_report), "BEGIN")
        return engine.questions[0].options

    assert asyncio.run(play()) == options


def test_limits_beyond_what_the_engine_takes_are_taken_as_its_most():
    async def play():
        engine = ScriptedEngine(threads=THREADS)
        talk = Talk(engine, 100)
        await talk.ask("START 15")
        await talk.ask("INFO max_depth 99999999999", "INFO thread_num 5000", "BEGIN")
        await talk.bridge.close()
        return engine.queries

    [query] = asyncio.run(play())
    assert (query.depth, query.options) == (1000, {"threads": "64"})
