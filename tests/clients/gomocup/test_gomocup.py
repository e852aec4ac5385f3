"""`plyd gomocup`: what a manager says, what it hears, and when."""

import asyncio
import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.gomocup import bridge, engine
from plyd.clients.gomocup.board import BLOCKED, LARGEST, OPPONENT, OWN, SMALLEST, Point, Setup, Table, Wrong
from plyd.clients.gomocup.bridge import ABOUT, Bridge
from plyd.clients.gomocup.engine import Brain, Question, common
from plyd.clients.gomocup.swap2 import OPENINGS, swap2, turned
from plyd.clients.gomocup.text import chance, report_words, score_words
from plyd.clients.gomocup.time_control import FAST_MS, UNLIMITED_MS, Clock, allowance
from plyd.clients.library.errors import DaemonFault, InvalidRequest
from plyd.clients.library.locate import ExistingDaemon
from plyd.engines.gomoku.rules import FREESTYLE
from plyd.v1 import engine_pb2, position_pb2, search_pb2
from tests.patience import LONG, SOON, until

PBRAIN = Path(sys.executable).parent / "pbrain-plyd"
TALK = ("MESSAGE", "DEBUG")
QUIET = "BOARD 2,2,1 14,3,2 3,15,1 16,14,2 9,1,1 1,9,2 DONE"  # on 20x20: stones that have nothing to do with each other
X, O = position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO  # noqa: E741


class Talk:
    """A bridge in this process: `tell` it lines, `hear` what it answers."""

    def __init__(self, brain, move_ms=40, **options):
        self.said = asyncio.Queue()
        self.talk = []  # messages passed over
        self.bridge = Bridge(brain, self.said.put_nowait, move_ms, options)

    async def tell(self, *lines):
        for line in lines:
            await self.bridge.obey(line, asyncio.get_running_loop().time())

    async def hear(self, seconds=SOON):
        while True:
            line = await asyncio.wait_for(self.said.get(), seconds)
            if line.split()[0] not in TALK:
                return line
            self.talk.append(line)

    async def ask(self, *lines):
        await self.tell(*lines)
        return await self.hear()

    def is_silent(self):
        return self.said.empty()


@pytest.fixture
def talking(gomoku, monkeypatch):
    """Run a conversation with a bridge to the session's daemon: an async function of a Talk."""
    monkeypatch.setattr(engine, "WARM_UP_SECONDS", 0.0)

    def run(conversation, address=gomoku, **options):
        async def whole():
            talk = Talk(Brain(ExistingDaemon(address)), **options)
            try:
                return await asyncio.wait_for(conversation(talk), 2 * SOON)
            finally:
                await talk.bridge.close()

        return asyncio.run(whole())

    return run


def quiet_board(size=20):
    """Lines that start a game whose search does not end by itself."""
    board = QUIET.split()
    return [f"START {size}", "INFO timeout_turn 60000", *board]


# Transcripts: what is said, and after it, indented, what is heard; * is a move

TRANSCRIPTS = {
    "a game": """
        START 15
            OK
        INFO timeout_turn 30
        BEGIN
            *
        TURN 0,0
            *
        TURN 14,14
            *
        """,
    "commands and lists in any case, and lines with spaces": """
        start 15
            OK
          Turn  1 , 2
            *
        TAKEBACK 1,2
            OK
        board
        1 , 2 , 1
        3,4,2
        done
            *
        """,
    "before START": """
        TURN 7,7
            ERROR no board yet; say START 15 first
        BEGIN
            ERROR no board yet; say START 15 first
        BOARD
            ERROR no board yet; say START 15 first
        SWAP2BOARD
            ERROR no board yet; say START 15 first
        RESTART
            ERROR no board yet; say START 15 first
        TAKEBACK 7,7
            ERROR no board yet; say START 15 first
        PLAY 7,7
            ERROR no board yet; say START 15 first
        STOP
        INFO timeout_turn 30
        START 15
            OK
        """,
    "sizes": """
        START 5
            OK
        START 20
            OK
        START 4
            ERROR 4 rows; boards are square, from 5 to 20, such as 15 or 20
        BEGIN
            *
        START 21
            ERROR 21 rows; boards are square, from 5 to 20, such as 15 or 20
        START -15
            ERROR -15 rows; boards are square, from 5 to 20, such as 15 or 20
        START 99999999999999999999999
            ERROR START has the board's size, as in START 15, not '99999999999999999999999'
        START
            ERROR START has the board's size, as in START 15, not ''
        START fifteen
            ERROR START has the board's size, as in START 15, not 'fifteen'
        RECTSTART 10,10
            OK
        RECTSTART 20,15
            ERROR 20 columns and 15 rows; boards are square, such as 15 or 20
        RECTSTART 30,30
            ERROR 30 rows; boards are square, from 5 to 20, such as 15 or 20
        RECTSTART 15
            ERROR RECTSTART has columns and rows, as in RECTSTART 15,15, not '15'
        """,
    "points that are none": """
        START 15
            OK
        TURN 15,0
            ERROR 15,0 is off the board; coordinates are 0 to 14
        TURN 0,15
            ERROR 0,15 is off the board; coordinates are 0 to 14
        TURN -1,3
            ERROR TURN has a point, as in TURN 7,8, not '-1,3'
        TURN 7
            ERROR TURN has a point, as in TURN 7,8, not '7'
        TURN 7,7,7
            ERROR TURN has a point, as in TURN 7,8, not '7,7,7'
        TURN
            ERROR TURN has a point, as in TURN 7,8, not ''
        TURN 99999999999999999999,1
            ERROR TURN has a point, as in TURN 7,8, not '99999999999999999999,1'
        PLAY x,y
            ERROR PLAY has a point, as in PLAY 7,8, not 'x,y'
        TAKEBACK 7,7
            ERROR no stone is on 7,7
        TAKEBACK 99,99
            ERROR no stone is on 99,99
        TAKEBACK h8
            ERROR TAKEBACK has a point, as in TAKEBACK 7,8, not 'h8'
        PLAY 7,7
            7,7
        TURN 7,7
            ERROR 7,7 is taken
        PLAY 7,7
            ERROR 7,7 is taken
        """,
    "what is not known": """
        HELLO
            UNKNOWN 'HELLO' is no command
        DONE
            UNKNOWN 'DONE' is no command
        7,7
            UNKNOWN '7,7' is no command
        STARTS 15
            UNKNOWN 'STARTS 15' is no command
        INFO colour blue
        INFO
        INFO folder /tmp
        INFO evaluate 3,3
        INFO game_type 1
        INFO max_memory 83886080
        SUGGEST 7,7
            UNKNOWN 'SUGGEST 7,7' is no command
        """,
    "two stones of one side in a row": """
        START 15
            OK
        PLAY 7,7
            7,7
        BEGIN
            *
        TURN 3,3
            *
        PLAY 12,12
            12,12
        TURN 12,3
            *
        """,
    "a board, and another": """
        START 15
            OK
        BOARD
        7,7,1
        8,8,2
        DONE
            *
        BOARD
        7,7,2
        DONE
            *
        BOARD
        DONE
            *
        TURN 0,0
            *
        """,
    "more stones of one side than of the other, and blocked points": """
        START 15
            OK
        BOARD
        7,7,1
        7,8,1
        8,8,1
        DONE
            *
        BOARD
        7,7,2
        9,8,2
        4,8,2
        1,1,3
        DONE
            *
        TURN 1,1
            ERROR 1,1 is taken
        TAKEBACK 1,1
            ERROR no stone is on 1,1
        """,
    "lists that are wrong": """
        START 15
            OK
        BOARD
        7,7
        8,8,2
        DONE
            ERROR BOARD has lines x,y,who (1 own, 2 the opponent's, 3 blocked) and then DONE, not '7,7'
        BOARD
        7,7,4
        DONE
            ERROR BOARD has lines x,y,who (1 own, 2 the opponent's, 3 blocked) and then DONE, not '7,7,4'
        BOARD
        7,7,1
        7,7,2
        DONE
            ERROR 7,7 is taken
        BOARD
        15,7,1
        nonsense
        DONE
            ERROR 15,7 is off the board; coordinates are 0 to 14
        BOARD
        7,7,1
        TURN 8,8
            ERROR BOARD has no DONE; it is passed over
            *
        BOARD

        INFO timeout_turn 20
        7,7,1
        ABOUT
            ABOUT
        DONE
            *
        SWAP2BOARD
        7,7,1
        DONE
            ERROR SWAP2BOARD has lines x,y and then DONE, not '7,7,1'
        SWAP2BOARD
        7,7
        DONE
            ERROR 1 stones; SWAP2BOARD has 0, 3 or 5
        """,
    "YXBOARD puts stones and says nothing": """
        START 15
            OK
        YXBOARD
        7,7,1
        DONE
        TURN 7,7
            ERROR 7,7 is taken
        TURN 8,8
            *
        """,
    "RESTART and START clear the board": """
        START 15
            OK
        TURN 7,7
            *
        RESTART
            OK
        TURN 7,7
            *
        START 8
            OK
        TURN 7,7
            *
        TURN 8,8
            ERROR 8,8 is off the board; coordinates are 0 to 7
        """,
    "the last empty points": """
        START 5
            OK
        BOARD
        0,0,1
        1,0,2
        2,0,1
        3,0,2
        4,0,1
        0,1,2
        1,1,1
        2,1,2
        3,1,1
        4,1,2
        0,2,2
        1,2,1
        2,2,2
        3,2,1
        4,2,2
        0,3,1
        1,3,2
        2,3,1
        3,3,2
        4,3,1
        0,4,1
        1,4,2
        2,4,1
        3,4,2
        DONE
            4,4
        BEGIN
            ERROR the board is full
        """,
    "caro is refused, once, and play goes on": """
        START 15
            OK
        INFO rule 8
        BEGIN
            ERROR caro is not supported; we play freestyle
            *
        TURN 0,0
            *
        INFO rule 12
        TURN 14,0
            ERROR caro is not supported; we play renju
            *
        INFO rule 3
        TURN 14,14
            *
        """,
    "a game that is over": """
        START 15
            OK
        BOARD
        0,0,2
        1,0,2
        2,0,2
        3,0,2
        4,0,2
        DONE
            *
        TURN 9,9
            *
        """,
}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcript(talking, name):
    async def follow(talk):
        for line in TRANSCRIPTS[name].splitlines()[1:-1]:
            text = line[8:]
            if not text.startswith("    "):
                assert talk.is_silent(), f"before {text}: {talk.said.get_nowait()}"
                await talk.tell(text)
                continue
            heard, wanted = await talk.hear(), text.strip()
            if wanted == "*":
                assert re.fullmatch(r"\d+,\d+", heard), text
            else:
                assert heard == (ABOUT if wanted == "ABOUT" else wanted)
        assert talk.is_silent()

    talking(follow, move_ms=20)


def test_junk_never_ends_it(talking):
    random = Random(1)
    names = [
        "START",
        "TURN",
        "BOARD",
        "DONE",
        "INFO",
        "PLAY",
        "TAKEBACK",
        "SWAP2BOARD",
        "RECTSTART",
        "BEGIN",
        "YXBOARD",
    ]
    words = ["7,7", "0,0,1", "3,3,2", "timeout_turn", "rule", "time_left", "-1", "9" * 30, "\0\ufffd\x1b", "", " ", ","]

    async def babble(talk):
        await talk.ask("START 15")
        for _ in range(400):
            await talk.tell(" ".join([random.choice(names), *random.choices(words, k=random.randrange(3))]))
            await talk.tell("".join(chr(random.randrange(256)) for _ in range(random.randrange(9))))
        await talk.tell("DONE", "INFO timeout_turn 20", "INFO time_left 100000", "START 15")
        while await talk.hear() != "OK":
            pass
        assert re.fullmatch(r"\d+,\d+", await talk.ask("TURN 3,3"))

    talking(babble, move_ms=10)


def test_every_move_of_a_game_is_legal(talking):
    random = Random(2)

    async def play(talk):
        assert await talk.ask("START 7") == "OK"
        empty = {Point(x, y) for x in range(7) for y in range(7)}
        while len(empty) > 1:
            theirs = random.choice(sorted(empty))
            empty.remove(theirs)
            ours = Point(*map(int, (await talk.ask(f"TURN {theirs}")).split(",")))
            empty.remove(ours)
        assert await talk.ask(f"TURN {empty.pop()}") == "ERROR the board is full"

    talking(play, move_ms=5)


def test_a_five_is_completed_and_one_is_stopped(talking):
    """Rows count from the top and columns from the left, on the way there and on the way back."""

    async def play(talk):
        four = [f"{x},2,{{}}" for x in range(4)]
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50")
        assert await talk.ask("BOARD", *(line.format(1) for line in four), "9,9,2", "9,8,2", "DONE") == "4,2"
        assert await talk.ask("RESTART") == "OK"
        assert await talk.ask("BOARD", *(line.format(2) for line in four), "9,9,1", "4,12,1", "DONE") == "4,2"

    talking(play, move_ms=1000 * SOON)


def test_exactly_five_is_another_game(talking):
    """xxx.xx is won by rule 0 and not by rule 1; the report tells which one was searched."""
    row = [f"{x},0,1" for x in (0, 1, 2, 4, 5)] + [f"{x},2,2" for x in (0, 3, 6, 9, 12)]

    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50")
        assert await talk.ask("BOARD", *row, "DONE") == "3,0"
        await talk.ask("RESTART")
        assert await talk.ask("INFO rule 1", "BOARD", *row, "DONE") != "3,0"

    talking(play, move_ms=1000 * SOON)


def test_renju_is_another_game(talking):
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

    talking(play, move_ms=1000 * SOON)


def test_a_forbidden_move_of_the_opponents_is_told_of_and_answered(talking):
    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO rule 4")
        board = [f"{x},0,2" for x in (0, 1, 2, 4, 5)] + [f"{x},2,1" for x in (0, 3, 6, 9, 12)]
        await talk.ask("BOARD", *board, "14,14,2", "DONE")
        await talk.ask("TURN 3,0")
        return talk.talk

    said = "\n".join(talking(play, move_ms=1000 * SOON))
    assert "it makes six or more in a row, which x may not" in said


def test_messages_tell_of_the_search(talking):
    async def play(talk):
        await talk.ask("START 15")
        await talk.tell("INFO max_node 50")
        await talk.ask("TURN 7,7")
        return talk.talk[-1]

    message = talking(play, move_ms=1000 * SOON)
    assert re.fullmatch(r"MESSAGE depth \d+ score \S+( in \d+)? nodes \d+( speed \d+)? pv \d+,\d+( \d+,\d+)*", message)


def test_wrong_numbers_in_info_are_told_with_the_next_move(talking):
    async def play(talk):
        await talk.tell("INFO timeout_turn soon")
        assert talk.is_silent()
        await talk.ask("START 15")
        await talk.ask("BEGIN")
        return talk.talk[0]

    assert talking(play) == "MESSAGE INFO timeout_turn has a whole number, not 'soon'"


# What the engine remembers


def test_a_game_stays_on_one_stream(gomoku):
    async def play():
        brain = Brain(ExistingDaemon(gomoku))
        talk = Talk(brain, 1000 * SOON)
        await talk.ask("START 15")
        await talk.tell("INFO max_node 20")
        first = await talk.ask("BEGIN")
        games = [brain._game]
        second = await talk.ask("TURN 0,0")
        games.append(brain._game)
        for line in (f"TAKEBACK {second}", "TAKEBACK 0,0"):
            assert await talk.ask(line) == "OK"
        third = await talk.ask("TURN 14,0")
        games.append(brain._game)
        await talk.ask("BOARD", f"{first},1", "14,0,2", f"{third},1", "14,14,2", "DONE")
        games.append(brain._game)
        assert brain._asked.setup.start == "15x15"
        assert len(brain._asked.setup.moves) == 4
        await talk.bridge.close()
        return games

    assert len(set(asyncio.run(play()))) == 1


def test_a_late_search_ends_later_and_its_stream_stays(gomoku):
    async def play():
        brain, reports, now = Brain(ExistingDaemon(gomoku)), [], asyncio.get_running_loop().time
        setup = Setup("20x20", ("c18", "o17", "d5", "q6"))
        await brain.search(Question(setup, "freestyle", depth=1), now() + 60, now() + 60, reports.append)
        first, number = brain._game, len(reports)
        assert reports[-1].final
        with pytest.raises(TimeoutError):
            await brain.search(Question(setup, "freestyle"), now() + 60, now() + 0.2, reports.append)
        assert not brain._search.done()
        await asyncio.wait({brain._search}, timeout=SOON)
        later = Question(Setup(setup.start, (*setup.moves, "a1", "t20")), "freestyle", depth=1)
        await brain.search(later, now() + 60, now() + 60, reports.append)
        assert brain._game is first
        assert sum(report.final for report in reports[number:]) == 2
        with pytest.raises(InvalidRequest):
            await brain.search(
                Question(Setup("20x20", ("a1", "a1")), "freestyle"), now() + 60, now() + 60, reports.append
            )
        await brain.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("one", "other", "count"), [("", "", 0), ("ab", "ab", 2), ("ab", "abc", 2), ("abc", "abd", 2), ("a", "b", 0)]
)
def test_moves_in_common(one, other, count):
    assert common(tuple(one), tuple(other)) == count


# While it thinks


def test_another_game_ends_the_search_without_a_move(talking):
    async def play(talk):
        for line, answer in (("RESTART", "OK"), ("START 15", "OK"), ("TAKEBACK 9,1", "OK"), ("PLAY 0,0", "0,0")):
            await talk.ask(quiet_board()[0])
            await talk.tell(*quiet_board()[1:])
            await asyncio.sleep(0.05)
            assert await talk.ask(line) == answer
        await asyncio.sleep(0.05)
        assert talk.is_silent()

    talking(play)


def test_a_wrong_command_does_not_disturb_the_search(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(*quiet_board()[1:])
        assert (await talk.ask("TURN 99,99")).startswith("ERROR")
        assert (await talk.ask("TAKEBACK 19,19")).startswith("ERROR")
        assert (await talk.ask("WHO ARE YOU")).startswith("UNKNOWN")
        assert await talk.ask("ABOUT") == ABOUT
        assert re.fullmatch(r"\d+,\d+", await talk.ask("YXSTOP"))

    talking(play)


def test_the_clock_runs_from_the_command_that_we_think_about(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell("INFO timeout_turn 300", "INFO time_left 100000", *QUIET.split())
        await asyncio.sleep(0.2)
        assert (await talk.ask("TURN 99,99")).startswith("ERROR")
        assert re.fullmatch(r"\d+,\d+", await talk.hear())
        return talk.bridge._clock.spent_ms

    assert talking(play) >= 250


def test_less_time_while_it_thinks(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(*quiet_board()[1:])
        assert re.fullmatch(r"\d+,\d+", await talk.ask("INFO timeout_turn 100"))

    talking(play)


def test_a_node_limit_ends_the_search(talking):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell("INFO max_node 1", "INFO max_depth 1", "INFO thread_num 1")
        assert re.fullmatch(r"\d+,\d+", await talk.ask(*quiet_board()[1:], "STOP"))

    talking(play)


# Swap2


def scripted(*chances):
    """An engine that answers questions with these win probabilities of white, and remembers what it was asked."""
    asked, left = [], list(chances)

    async def ask(setup, end):
        asked.append(setup)
        value = left.pop(0)
        if value is None:
            return None
        score = search_pb2.Score(point_of_view=O, win_probability=value)
        if value in (0, 1):
            score.proven.result = search_pb2.RESULT_WIN if value else search_pb2.RESULT_LOSS
        return search_pb2.Report(move="a1", score=score)

    return ask, asked


def decide(stones, *chances, size=15, seed=1):
    ask, asked = scripted(*chances)
    points = [Point(*point) for point in stones]
    return asyncio.run(swap2(points, size, 0.0, ask, Random(seed))), asked


THREE = [(7, 7), (8, 7), (9, 9)]
FIVE = [*THREE, (8, 8), (8, 6)]


@pytest.mark.parametrize("stones", [THREE, FIVE], ids=["three", "five"])
@pytest.mark.parametrize(
    ("white", "answer"),
    [
        ([0.6, 0.5], "0,14"),
        ([0.5, 0.5], "0,14"),
        ([0.9, 0.05], "SWAP"),  # too well of who is to move, in turn
        ([0.4, None], "SWAP"),
        ([0.6, None], "0,14"),
        ([1], "0,14"),
        ([0], "SWAP"),
        ([None], None),
    ],
)
def test_swap2_takes_the_better_side(stones, white, answer):
    said, asked = decide(stones, *white)
    moves = ("h8", "i8", "j6", "i7", "i9")[: len(stones)]
    assert asked == [Setup("15x15", moves), Setup("15x15", (*moves, "a1"))][: len(white)]
    if answer:
        assert said == answer
    else:
        assert re.fullmatch(r"\d+,\d+", said)
        assert tuple(map(int, said.split(","))) not in stones


def test_swap2_opens_with_what_is_most_even():
    said, asked = decide([], 0.1, 0.2, 0.9, 0.9, 0.45, 0.45, 0.7, 0.7, 1, 0.6, 0.6)
    table = Table(15)
    points = [Point(*map(int, word.split(","))) for word in said.split()]
    assert tuple(map(table.move_to, points)) == asked[4].moves


def test_swap2_opens_without_an_engine():
    assert re.fullmatch(r"\d+,\d+ \d+,\d+ \d+,\d+", decide([], *[None] * len(OPENINGS))[0])


@pytest.mark.parametrize("size", [SMALLEST, 6, 15, LARGEST])
def test_every_opening_is_three_different_points_of_the_board(size):
    for opening in OPENINGS:
        for turn in range(8):
            points = {turned(offset, size, turn) for offset in opening}
            assert len(points) == 3
            assert all(0 <= value < size for point in points for value in point)


@pytest.mark.parametrize("count", [1, 2, 4, 6])
def test_swap2_with_another_number_of_stones(count):
    with pytest.raises(Wrong, match=f"{count} stones; SWAP2BOARD has 0, 3 or 5"):
        decide([(x, 0) for x in range(count)])


@pytest.mark.parametrize(
    ("stones", "form"),
    [([], r"\d+,\d+ \d+,\d+ \d+,\d+"), (THREE, r"SWAP|\d+,\d+"), (FIVE, r"SWAP|\d+,\d+")],
    ids=["none", "three", "five"],
)
def test_swap2_with_the_engine(talking, stones, form):
    async def play(talk):
        await talk.ask("START 15")
        said = await talk.ask("SWAP2BOARD", *(f"{x},{y}" for x, y in stones), "DONE")
        assert re.fullmatch(form, said)
        assert re.fullmatch(r"\d+,\d+", await talk.ask("BOARD", "7,7,1", "8,7,2", "DONE"))

    talking(play, move_ms=120)


# The table


def test_the_engine_reads_every_table_as_we_mean_it():
    random = Random(3)
    for _ in range(300):
        size = random.randint(SMALLEST, 9)
        table = Table(size)
        for _ in range(random.randrange(12)):
            stones = table.stones()
            point = Point(random.randrange(size), random.randrange(size))
            who = random.choice((OWN, OPPONENT))
            if random.random() < 0.1:
                table.set_up({**stones, point: random.choice((OWN, OPPONENT, BLOCKED))})
            elif point not in stones:
                table.put(point, who)
            elif stones[point] != BLOCKED:
                table.take(point)
        check_setup(table)


def check_setup(table):
    setup = table.setup()
    position = FREESTYLE.parse(setup.start)
    for move in setup.moves:
        position = FREESTYLE.play(position, move).position
    ours = position.mover
    names = {ours: OWN, "x" if ours == "o" else "o": OPPONENT, "#": BLOCKED}
    read = {
        Point(x, y): names[cell] for y, row in enumerate(position.rows) for x, cell in enumerate(row) if cell != "."
    }
    assert read == table.stones()
    assert setup.mover == (X if ours == "x" else O)


def test_who_began_is_x_as_far_as_the_stones_tell():
    table = Table(5)
    assert table.setup() == Setup("5x5", ())
    table.set_up({Point(0, 0): OPPONENT, Point(1, 0): OPPONENT, Point(2, 2): OWN})
    assert table.setup() == Setup("xx.../...../..o../...../..... o", ())
    table.put(Point(4, 4), OWN)
    table.put(Point(4, 0), OPPONENT)
    assert table.setup() == Setup("xx.../...../..o../...../..... o", ("e1", "e5"))


@pytest.mark.parametrize("size", range(SMALLEST, LARGEST + 1))
def test_points_there_and_back(size):
    table = Table(size)
    for point in (Point(0, 0), Point(size - 1, 0), Point(0, size - 1), Point(2, 3)):
        assert table.point_of(table.move_to(point)) == point
    assert table.move_to(Point(0, size - 1)) == "a1"
    for move in ("", "a0", "u1", "a21", "7,7", "a", f"a{size + 1}"):
        assert table.point_of(move) is None


def test_the_nearest_point_is_beside_the_stones():
    table = Table(15)
    assert table.nearest() == Point(7, 7)
    table.set_up({Point(0, 0): OPPONENT})
    assert table.nearest() in (Point(0, 1), Point(1, 0))
    table.set_up({Point(x, y): OWN for x in range(15) for y in range(15)})
    assert table.nearest() is None


# Time, without a clock


@pytest.mark.parametrize(
    ("turn", "left", "moves", "search"),
    [
        (5000, UNLIMITED_MS, 0, 4800),
        (30_000, UNLIMITED_MS, 0, 29_800),
        (200, UNLIMITED_MS, 0, 160),
        (50, UNLIMITED_MS, 0, 25),
        (10, UNLIMITED_MS, 0, 5),
        (1000, UNLIMITED_MS, 0, 950),
        (30_000, 180_000, 0, 9_000),
        (30_000, 100_000, 10, 10_000),
        (30_000, 80_000, 40, 10_000),
        (1000, 100_000, 0, 950),
        (30_000, 100, 0, 5),
        (30_000, 0, 0, 0),
        (30_000, -500, 0, 0),
    ],
)
def test_time_for_a_move(turn, left, moves, search):
    assert allowance(turn, left, moves).search * 1000 == pytest.approx(search)


def test_an_answer_comes_within_the_limit_and_after_the_search():
    for turn in (*range(30, 300), 1000, 30_000):
        for left in (UNLIMITED_MS, 40, 1000, 60_000):
            search, answer = allowance(turn, left, 5)
            assert 0 <= search < answer
            assert answer * 1000 < min(turn, left)


def test_a_match_never_runs_out_of_time():
    left = 10_000.0
    for move in range(200):
        left -= allowance(30_000, round(left), move).search * 1000
        assert left > 0


def test_a_clock_takes_what_the_manager_says():
    clock = Clock(default_ms=5000)
    assert clock.allowance(0) == allowance(5000, UNLIMITED_MS, 0)
    clock.turn_ms = 0
    assert clock.allowance(0) == allowance(FAST_MS, UNLIMITED_MS, 0)
    clock.turn_ms = 30_000
    clock.set_left(UNLIMITED_MS)
    clock.spent(4.0)
    assert clock.allowance(0) == allowance(30_000, UNLIMITED_MS, 0)
    clock.set_left(50_000)
    clock.spent(4.0)
    assert clock.allowance(1) == allowance(30_000, 46_000, 1)


def test_a_clock_counts_where_nobody_else_does():
    clock = Clock(default_ms=30_000)
    clock.restart()
    clock.match_ms = 100_000
    clock.spent(4.0)
    assert clock.allowance(1) == allowance(30_000, 96_000, 1)
    clock.set_left(20_000)
    assert clock.allowance(1) == allowance(30_000, 20_000, 1)
    clock.restart()
    assert clock.allowance(0) == allowance(30_000, 100_000, 0)
    clock.match_ms = 0
    assert clock.allowance(0) == allowance(30_000, UNLIMITED_MS, 0)


def test_a_slow_machine_gets_more_reserve_until_answers_are_in_time():
    clock, usual = Clock(default_ms=500), allowance(500, UNLIMITED_MS, 0)
    clock.spent(usual.search + 0.006, usual.search)
    clock.spent(0.001, usual.search)  # a win at hand: the machine is as slow as it was
    assert clock.allowance(1) == usual, "a few milliseconds are what the reserve is for"
    for _ in range(8):  # the engine answers 45 ms late; we do not wait that long, if there is not the time
        search, answer = clock.allowance(1)
        clock.spent(min(search + 0.045, answer), search)
    search, answer = clock.allowance(1)
    assert search + 0.045 < answer < 0.5
    assert search > 0.3
    for _ in range(8):
        clock.spent(clock.allowance(1).search + 0.003, clock.allowance(1).search)
    assert clock.allowance(1) == usual


def test_a_daemon_that_was_away_for_long_costs_no_more_than_half_of_the_next_moves():
    clock = Clock(default_ms=1000)
    clock.spent(60.0, 0.95)
    assert clock.allowance(1).search == 0.5


@pytest.mark.parametrize("limits", [["timeout_turn 0"], ["timeout_turn 600000", "time_left 400"], ["timeout_turn 60"]])
def test_short_limits_are_kept(talking, limits):
    async def play(talk):
        await talk.ask(quiet_board()[0])
        await talk.tell(*(f"INFO {limit}" for limit in limits))
        began = time.monotonic()
        assert re.fullmatch(r"\d+,\d+", await talk.ask(*QUIET.split()))
        return time.monotonic() - began

    assert talking(play, move_ms=1000 * LONG) < SOON


# Words


def report(pov=O, **value):
    return search_pb2.Report(score=search_pb2.Score(point_of_view=pov, **value), move="a1", nodes=500, depth=3)


def proven(result, plies=None):
    return search_pb2.ProvenResult(result=result, plies=plies)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (report(win_probability=0.615), "61.5%"),
        (report(pov=X, win_probability=0.25), "75.0%"),
        (report(proven=proven(search_pb2.RESULT_WIN, 7)), "win in 7"),
        (report(pov=X, proven=proven(search_pb2.RESULT_WIN, 6)), "loss in 6"),
        (report(proven=proven(search_pb2.RESULT_DRAW)), "draw"),
    ],
)
def test_scores_speak_of_who_is_to_move(said, words):
    assert score_words(said, Setup("15x15", ("h8",))) == words


def test_reports_in_words():
    said = report(win_probability=0.5)
    said.elapsed_us = 1_000_000
    said.lines.add(moves=["a1", "b2"])
    assert report_words(said, Setup("15x15", ("h8",)), Table(15)) == (
        "depth 3 score 50.0% nodes 500 speed 500 pv 0,14 1,13"
    )
    assert chance(said, Setup("15x15", ("h8",))) == 0.5


# Daemons that fail


class Failing:
    """A brain whose searches fail as they are told to, after a first report or before it."""

    trouble = ""

    def __init__(self, error, move="", **known):
        self.error = error
        self.move = move
        self.known = known
        self.questions = []

    async def ready(self, options):
        pass

    async def search(self, question, end, late, told):
        self.questions.append(question)
        if self.move:
            told(search_pb2.Report(move=self.move, score=search_pb2.Score(point_of_view=X, win_probability=0.5)))
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
            assert "MESSAGE the engine has no move; this one is not its own" in talk.talk
        await talk.bridge.close()

    asyncio.run(play())


def test_a_slow_start_is_told_and_costs_no_time_of_a_move(monkeypatch):
    monkeypatch.setattr(bridge, "START_TALK_SECONDS", 0.01)

    class Slow(Failing):
        async def ready(self, options):
            await asyncio.sleep(0.3)

    async def play():
        talk, began = Talk(Slow(None, "a1"), 200), asyncio.get_running_loop().time()
        await talk.bridge.obey("START 15", began)
        await talk.bridge.obey("BEGIN", began)  # said before START was answered
        assert await talk.hear() == "OK"
        assert talk.talk == ["MESSAGE the engine starts; the first time it compiles for a while"]
        assert await talk.hear() == "0,14"
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(play()) > 0.3 + 0.15


MEMORY = engine_pb2.Option(name="memory", default_value="256", minimum=8)
THREADS = engine_pb2.Option(name="threads", default_value="0", minimum=0, maximum=64)


@pytest.mark.parametrize(
    ("told", "own", "options"),
    [
        (["max_memory 0", "thread_num 0"], {}, {}),
        (["max_memory 367001600", "thread_num 2"], {}, {"memory": "150", "threads": "2"}),
        (["max_memory 99999999999"], {}, {"memory": "256"}),
        (["max_memory 1000000"], {}, {"memory": "8"}),
        (["max_memory 367001600", "thread_num 1"], {"threads": "4", "memory": "99"}, {"threads": "4", "memory": "99"}),
    ],
)
def test_options_follow_what_the_manager_says_unless_they_are_set(told, own, options):
    async def play():
        brain = Failing(DaemonFault("never mind"), memory=MEMORY, threads=THREADS)
        talk = Talk(brain, 50, **own)
        await talk.ask("START 15")
        await talk.ask(*(f"INFO {words}" for words in told), "BEGIN")
        return brain.questions[0].options

    assert asyncio.run(play()) == options


def test_nobody_there(talking, nowhere, monkeypatch):
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 0.2)

    async def play(talk):
        assert (await talk.ask("START 15")).startswith(f"ERROR {nowhere} is unavailable")
        assert await talk.ask("BEGIN") == "ERROR no board yet; say START 15 first"
        assert await talk.ask("ABOUT") == ABOUT

    talking(play, address=nowhere)


def test_a_daemon_without_gomoku(talking, daemon):
    async def play(talk):
        return await talk.ask("START 15")

    assert talking(play, address=daemon).startswith("ERROR")


def test_an_option_that_there_is_not(talking):
    async def play(talk):
        return await talk.ask("START 15")

    assert 'ERROR unknown option "colour"' in talking(play, colour="blue")


def test_a_daemon_that_is_lost_and_comes_back(talking, spare_gomoku):
    async def play(talk):
        assert await talk.ask("START 15") == "OK"
        await talk.tell("INFO timeout_turn 60000", "INFO max_node 1")
        await talk.ask("TURN 7,7")
        assert talk.talk[-1].startswith("MESSAGE depth")
        spare_gomoku.kill()
        await talk.tell("INFO timeout_turn 150")
        assert re.fullmatch(r"\d+,\d+", await talk.ask("TURN 0,0"))
        assert talk.talk[-1] == "MESSAGE the engine has no move; this one is not its own"
        assert "unavailable" in talk.talk[-2]
        spare_gomoku.launch()
        await asyncio.to_thread(spare_gomoku.wait)
        await talk.tell("INFO timeout_turn 60000", "INFO max_node 1")
        assert re.fullmatch(r"\d+,\d+", await talk.ask("TURN 14,0"))
        assert talk.talk[-2].startswith("MESSAGE depth") or talk.talk[-1].startswith("MESSAGE depth")

    talking(play, address=spare_gomoku.address, move_ms=150)


def test_a_daemon_that_hangs(talking, spare_gomoku):
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

    talking(play, address=spare_gomoku.address, move_ms=150)


# The program


class Manager:
    """A manager with a process of ours."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def tell(self, *lines, end=b"\n"):
        self.process.stdin.write(b"".join((line if isinstance(line, bytes) else line.encode()) + end for line in lines))
        self.process.stdin.flush()

    def hear(self, seconds=SOON):
        while (line := self.lines.get(timeout=seconds)) and line.split()[0] in (b"MESSAGE", b"DEBUG"):
            pass
        return line and line.decode().removesuffix("\n")

    def ask(self, *lines, **how):
        self.tell(*lines, **how)
        return self.hear()

    def leave(self, seconds=SOON):
        """How long the process takes to go once it is told so."""
        began = time.monotonic()
        assert self.process.wait(seconds) == 0
        return time.monotonic() - began

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


@pytest.fixture
def manager(plyd, gomoku):
    """Start managers of processes that ask the session's daemon."""
    managers = []

    def start(*options):
        managers.append(Manager(*plyd, "gomocup", "--connect", gomoku, *options))
        return managers[-1]

    yield start
    for one in managers:
        one.close()


def test_a_process_answers_to_both_line_ends_and_ignores_blank_lines(manager):
    one = manager("--move-time", "20", "--option", "threads=1")
    assert one.ask("ABOUT", end=b"\r\n") == ABOUT
    assert one.ask("", "START 15", "", end=b"\r\n") == "OK"
    assert re.fullmatch(r"\d+,\d+", one.ask("BEGIN"))
    assert one.ask(b"\xff\x00\xfe\x80").startswith("UNKNOWN")
    assert one.ask(b"x" * 300_000).startswith("UNKNOWN 'xxxx")
    one.tell("END")
    assert one.hear() is None
    assert one.process.wait(SOON) == 0
    assert one.process.stderr.read() == b""


@pytest.mark.parametrize("how", ["END", "end of file"])
def test_a_process_goes_at_once_in_the_middle_of_a_search(manager, how):
    one = manager()
    assert one.ask(quiet_board()[0]) == "OK"
    one.tell(*quiet_board()[1:])
    time.sleep(0.2)
    if how == "END":
        one.tell("end", end=b"\r\n")
    else:
        one.process.stdin.close()
    assert one.leave() < 3  # it is 0.1 s; the search would take 60
    assert one.hear() is None


def test_a_process_goes_when_nobody_reads(plyd, gomoku):
    command = [*plyd, "gomocup", "--connect", gomoku]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(b"ABOUT\nABOUT\n")
        process.stdin.flush()
        assert process.wait(SOON) == 0


def test_what_was_said_before_the_end_is_answered(manager):
    one = manager()
    one.tell("ABOUT", "TURN 7,7", "END")
    assert [one.hear(), one.hear(), one.hear()] == [ABOUT, "ERROR no board yet; say START 15 first", None]


def test_the_installed_program_runs_a_daemon_of_its_own():
    one = Manager(PBRAIN, "--move-time", "100")
    try:
        assert one.ask("ABOUT") == ABOUT
        assert one.ask("START 15") == "OK"
        assert re.fullmatch(r"\d+,\d+", one.ask("BEGIN"))
        [child] = children(one.process.pid)
        os.kill(child, signal.SIGKILL)
        assert re.fullmatch(r"\d+,\d+", one.ask("TURN 0,0"))
        assert one.ask("RESTART") == "OK"  # waits for the next daemon
        assert re.fullmatch(r"\d+,\d+", one.ask("BEGIN"))
        [child] = children(one.process.pid)
        one.tell("END")
        assert one.leave() < 5
        wait_until_gone(child)
    finally:
        one.close()


def test_leaving_while_the_daemon_starts():
    one = Manager(PBRAIN)
    try:
        one.tell("ABOUT", "START 15")
        assert one.hear() == ABOUT
        one.tell("END")
        assert one.leave() < 5
    finally:
        one.close()


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] or [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def wait_until_gone(pid):
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--connect", ""], "an address is HOST:PORT or unix:PATH"),
        (["--option", "threads"], "'threads'; expected NAME=VALUE"),
        (["--move-time", "-1"], "-1 is not in the range"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_wrong_usage(options, message):
    done = CliRunner().invoke(main, ["gomocup", *options], prog_name="plyd")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_help_teaches():
    told = CliRunner().invoke(main, ["gomocup", "--help"]).stdout
    for word in ("plyd warm gomoku", "c-gomoku-cli", "TURN 8,8", "--connect ADDRESS"):
        assert word in told


def test_more_time_than_the_wire_can_carry_is_no_limit():
    clock = Clock(default_ms=5000, turn_ms=10**18, match_ms=10**18)
    assert clock.allowance(0) == allowance(UNLIMITED_MS, UNLIMITED_MS, 0)
    clock.set_left(10**18)
    assert clock.allowance(0) == allowance(UNLIMITED_MS, UNLIMITED_MS, 0)


def test_limits_beyond_what_the_engine_takes_are_taken_as_its_most():
    async def play():
        asked = []
        brain = Brain(ExistingDaemon("nowhere"))
        brain.known = {"threads": engine_pb2.Option(name="threads", maximum=64)}

        async def ready(options):
            pass

        async def search(question, end, late, told):
            asked.append(question)

        brain.ready, brain.search = ready, search
        bridge = Bridge(brain, lambda line: None, 100, {})
        for line in ("START 15", "INFO max_depth 99999999999", "INFO thread_num 5000", "BEGIN"):
            await bridge.obey(line, 0.0)
        await bridge._thinking
        return asked

    [question] = asyncio.run(play())
    assert (question.depth, question.options) == (1000, {"threads": "64"})
