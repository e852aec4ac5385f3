"""The Universal Game Interface: every command and answer, from and to text."""

import pytest

from plyd.protocols.ugi import (
    LARGEST,
    BadLine,
    GoCommand,
    Info,
    PositionCommand,
    number_after,
    read_bestmove,
    read_go,
    read_info,
    read_position,
    read_setoption,
)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("startpos", PositionCommand()),
        ("startpos moves 4 4 3", PositionCommand("", ("4", "4", "3"))),
        ("fen 7x6 #4,1", PositionCommand("7x6 #4,1")),
        ("fen b 1 0 0 0 0 2 moves left 1@3", PositionCommand("b 1 0 0 0 0 2", ("left", "1@3"))),
        ("fen ./.  x moves", PositionCommand("./. x")),
    ],
)
def test_positions_are_read_and_written_the_same(text, command):
    assert read_position(text) == command
    assert read_position(str(command).removeprefix("position ")) == command


@pytest.mark.parametrize("text", ["", "moves 4", "fen", "fen moves 4", "startpos 4", "7x6"])
def test_other_positions_are_refused(text):
    with pytest.raises(BadLine, match="position needs startpos, or fen"):
        read_position(text)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("infinite", GoCommand(infinite=True)),
        ("", GoCommand(infinite=True)),
        ("movetime 100", GoCommand(movetime=100)),
        ("p1time 1000 p2time 2000 p1inc 10 p2inc 20", GoCommand(1000, 2000, 10, 20)),
        ("depth 4", GoCommand(depth=4)),
        ("wild nodes 500 words", GoCommand(nodes=500)),
        ("nodes 99999999999999999999", GoCommand(nodes=LARGEST)),
    ],
)
def test_limits_are_read_and_written_the_same(text, command):
    assert read_go(text) == command
    assert read_go(str(command).removeprefix("go ")) == command


@pytest.mark.parametrize("text", ["movetime", "movetime fast", "depth 1.5", "nodes ²", "nodes -1"])
def test_a_limit_without_its_number_is_refused(text):
    with pytest.raises(BadLine, match=f"{text.split()[0]} needs a whole number"):
        read_go(text)


@pytest.mark.parametrize(
    "info",
    [
        Info(),
        Info(4, 473, 12, centipawns=-57, pv=("f1", "b1")),
        Info(9, 1, 2, mate=-3),
        Info(1, 2, 3, points=1422.5, pv=("left",)),
    ],
)
def test_infos_are_read_as_they_are_written(info):
    assert read_info(str(info).removeprefix("info ")) == info


def test_of_other_infos_what_can_be_read_is():
    line = "depth 4 seldepth 9 score cp 200 time 0.5 nodes -3 tthits 38 hashfull 0 nps 12 pv f1 b1"
    assert read_info(line) == Info(depth=4, centipawns=200, pv=("f1", "b1"))
    assert read_info("string depth 9 pv a b") == Info()
    assert read_info("depth") == Info()


def test_no_move_is_told_from_a_move():
    assert [read_bestmove(text) for text in ("e4", "e4 ponder e5", "0000", "(none)", "")] == ["e4", "e4", *[None] * 3]


def test_names_and_values_of_options_may_have_several_words():
    assert read_setoption("name Clear Hash value a b") == ("Clear Hash", "a b")
    assert read_setoption("name x value") == ("x", "")
    for text in ("", "name", "name x", "x value 3", "name value 3"):
        with pytest.raises(BadLine, match="setoption needs a name and a value"):
            read_setoption(text)


def test_a_number_is_whole_and_not_too_large():
    words = ["a", "1", "b", "-2", "c", "1_0", "d"]
    assert [number_after(words, name) for name in "abcde"] == [1, -2, None, None, None]
