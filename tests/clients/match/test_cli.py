"""`plyd match`: wrong usage, bad input and help."""

import pytest

from tests.clients.match.matches import invoke


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'GAME'"),
        (["connect4", "--games", "3"], "--games 3 is odd; each opening is played twice"),
        (["connect4", "--games", "0"], "0 is not in the range"),
        (["connect4", "--first", "fast"], "Invalid value for --first: 'fast' is not KEY=VALUE"),
        (["connect4", "--second", "nodes=x"], "Invalid value for --second: nodes is 'x'"),
        (
            ["connect4", "--clock", "fast"],
            "Invalid value for --clock: clock is 'fast'; allowed is seconds per game",
        ),
        (["connect4", "--resume"], "--resume needs the FILE of --save"),
        (["connect4", "--sprt", "5", "5"], "--sprt 5 5: ELO0 must be less than ELO1"),
        (["connect4", "--sprt", "0", "inf"], "--sprt 0 inf: allowed is -1000 to 1000"),
        (["connect4", "--openings", "x", "--start", "4x4"], "--openings and --start exclude each other"),
        (["connect4", "--openings", "x", "--opening-plies", "2"], "--openings and --opening-plies exclude each other"),
        (["connect4", "--first", "name=a", "--second", "name=a"], "both sides are named 'a'"),
    ],
)
def test_wrong_usage(arguments, message):
    done = invoke("match", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("options", "first", "message"),
    [
        ([], "sed=1", 'first: unknown option "sed"; options are '),
        ([], "moves=1", 'first: unknown option "moves"; options are '),
        ([], "seed=x", 'first: option seed is "x"'),
        (["--start", "99x1"], "", "99x1"),
        (
            ["--start", "4x4", "--opening-plies", 16],
            "",
            "after 16 random moves from '4x4' the game is over; use fewer",
        ),
        (["--start", "..../ooo./xxxx/oxox"], "", "the game is over in '..../ooo./xxxx/oxox'"),
        (["--variant", "hard"], "", '"hard"'),
        (["--openings", "/no/where"], "", "cannot read /no/where: No such file or directory"),
        (["--save", "/no/where"], "", "cannot write /no/where: No such file or directory"),
    ],
)
def test_bad_input(play, options, first, message):
    done = play("--games", 2, "--nodes", 5, *options, first=first, exit_code=1)
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4x4\n4x4 | 9\n", 'line 2: move 1: unknown move "9"'),
        ("4x4 | 1 2 1 2 1 2 1\n", "line 1: the game is over in '4x4 | 1 2 1 2 1 2 1'"),
        ("\n \n", "contains no openings; an opening is a line such as '7x6 | 4 4'"),
        ("\xff", "line 1: cannot read"),
        (b"\xff", "it is not text"),
    ],
)
def test_bad_file_of_openings(play, tmp_path, text, message):
    book = tmp_path / "book.txt"
    book.write_bytes(text if isinstance(text, bytes) else text.encode())
    [line] = play("--openings", book, "--nodes", 5, exit_code=1).stderr.splitlines()
    assert str(book) in line
    assert message in line


def test_game_for_one_player(daemon):
    done = invoke("match", "2584-2x3", "--first", f"at={daemon}", "--second", f"at={daemon}")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: 2584-2x3 is a game for one player; a match needs a game for two\n"


def test_game_that_is_not_there(connect4):
    done = invoke("match", "chess", "--first", f"at={connect4}", "--second", f"at={connect4}")
    assert done.exit_code == 1
    assert "connect4" in done.stderr


def test_nobody_there(connect4, nowhere):
    done = invoke("match", "connect4", "--first", f"at={nowhere}", "--second", f"at={connect4}")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: first: {nowhere} is unavailable")


def test_help_teaches():
    text = invoke("match", "--help").stdout
    for words in [
        "plyd match connect4",
        "--first KEY=VALUE",
        "at=HOST:PORT",
        "time=SECONDS",
        "--sprt",
        "--resume",
        "clock=S+S",
    ]:
        assert words in text
