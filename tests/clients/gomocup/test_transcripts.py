"""Whole conversations with a manager, and junk, with an engine that answers without a search."""

import re
from random import Random

import pytest

from plyd.clients.gomocup.bridge import ABOUT
from plyd.protocols.gomocup import Point

# What the manager sends and, indented, what it gets; * is a move


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
            ERROR no board; send START first, such as START 15
        BEGIN
            ERROR no board; send START first, such as START 15
        BOARD
            ERROR no board; send START first, such as START 15
        SWAP2BOARD
            ERROR no board; send START first, such as START 15
        RESTART
            ERROR no board; send START first, such as START 15
        TAKEBACK 7,7
            ERROR no board; send START first, such as START 15
        PLAY 7,7
            ERROR no board; send START first, such as START 15
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
            ERROR board size 4; allowed is 5 to 20
        BEGIN
            *
        START 21
            ERROR board size 21; allowed is 5 to 20
        START -15
            ERROR board size -15; allowed is 5 to 20
        START 99999999999999999999999
            ERROR START needs the board size, such as START 15, not '99999999999999999999999'
        START
            ERROR START needs the board size, such as START 15, not ''
        START fifteen
            ERROR START needs the board size, such as START 15, not 'fifteen'
        RECTSTART 10,10
            OK
        RECTSTART 20,15
            ERROR 20 columns and 15 rows; only square boards are supported
        RECTSTART 30,30
            ERROR board size 30; allowed is 5 to 20
        RECTSTART 15
            ERROR RECTSTART needs columns and rows, such as RECTSTART 15,15, not '15'
        """,
    "points that are none": """
        START 15
            OK
        TURN 15,0
            ERROR 15,0 is off the board; coordinates are 0 to 14
        TURN 0,15
            ERROR 0,15 is off the board; coordinates are 0 to 14
        TURN -1,3
            ERROR TURN needs a point, such as TURN 7,8, not '-1,3'
        TURN 7
            ERROR TURN needs a point, such as TURN 7,8, not '7'
        TURN 7,7,7
            ERROR TURN needs a point, such as TURN 7,8, not '7,7,7'
        TURN
            ERROR TURN needs a point, such as TURN 7,8, not ''
        TURN 99999999999999999999,1
            ERROR TURN needs a point, such as TURN 7,8, not '99999999999999999999,1'
        PLAY x,y
            ERROR PLAY needs a point, such as PLAY 7,8, not 'x,y'
        TAKEBACK 7,7
            ERROR no stone on 7,7
        TAKEBACK 99,99
            ERROR no stone on 99,99
        TAKEBACK h8
            ERROR TAKEBACK needs a point, such as TAKEBACK 7,8, not 'h8'
        PLAY 7,7
            7,7
        TURN 7,7
            ERROR 7,7 is occupied
        PLAY 7,7
            ERROR 7,7 is occupied
        """,
    "what is not known": """
        HELLO
            UNKNOWN command 'HELLO'
        DONE
            UNKNOWN command 'DONE'
        7,7
            UNKNOWN command '7,7'
        STARTS 15
            UNKNOWN command 'STARTS 15'
        INFO colour blue
        INFO
        INFO folder /tmp
        INFO evaluate 3,3
        INFO game_type 1
        INFO max_memory 83886080
        SUGGEST 7,7
            UNKNOWN command 'SUGGEST 7,7'
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
            ERROR 1,1 is occupied
        TAKEBACK 1,1
            ERROR no stone on 1,1
        """,
    "lists that are wrong": """
        START 15
            OK
        BOARD
        7,7
        8,8,2
        DONE
            ERROR expected lines x,y,who (1 own, 2 the opponent's, 3 blocked) and DONE after BOARD, not '7,7'
        BOARD
        7,7,4
        DONE
            ERROR expected lines x,y,who (1 own, 2 the opponent's, 3 blocked) and DONE after BOARD, not '7,7,4'
        BOARD
        7,7,1
        7,7,2
        DONE
            ERROR 7,7 is occupied
        BOARD
        15,7,1
        nonsense
        DONE
            ERROR 15,7 is off the board; coordinates are 0 to 14
        BOARD
        7,7,1
        TURN 8,8
            ERROR BOARD without DONE is ignored
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
            ERROR expected lines x,y and DONE after SWAP2BOARD, not '7,7,1'
        SWAP2BOARD
        7,7
        DONE
            ERROR 1 stones; SWAP2BOARD takes 0, 3 or 5
        """,
    "YXBOARD puts stones and says nothing": """
        START 15
            OK
        YXBOARD
        7,7,1
        DONE
        TURN 7,7
            ERROR 7,7 is occupied
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
            ERROR caro is not supported; playing freestyle
            *
        TURN 0,0
            *
        INFO rule 12
        TURN 14,0
            ERROR caro is not supported; playing renju
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
