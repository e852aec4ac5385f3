"""`plyd play connect4` and `gomoku`: what a person types, and what stands on the screen then."""

import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.library.client import Game
from plyd.clients.library.errors import Unavailable
from plyd.clients.play import terminal_game
from tests.patience import SOON

REPORT = r"(\d+)  \(.+, [\d,]+ nodes, (?:[\d,]+/s, )?line (\d+)( \d+)*( \.\.\.)?\)"
EMPTY_4X4 = " 1  2  3  4\n" + " .  .  .  .\n" * 4


@pytest.fixture
def play(connect4):
    """Type lines to `plyd play connect4` on a board of 4x4; the result of the program."""

    def play(*lines, options=()):
        arguments = ["play", "connect4", "--connect", connect4, "--nodes", "200"]
        if "--start" not in options and "--size" not in options:
            arguments += ["--size", "4x4"]
        typed = "".join(f"{line}\n" for line in lines)
        return CliRunner().invoke(main, [*arguments, *options], input=typed, prog_name="plyd")

    return play


def boards(text):
    """Every board that was drawn, without its header."""
    return re.findall(r"^[ \d]+\n((?:[ (.xo#)]+\n)+)", text, re.MULTILINE)


def stones(board):
    return board.count("x") + board.count("o")


# Transcripts


def test_a_round_and_the_end_of_file(play):
    done = play("2")
    assert (done.exit_code, done.stderr) == (0, "")
    pattern = re.escape(f"{EMPTY_4X4}you, x: 2\n") + rf"engine, o: {REPORT}\n" + re.escape(" 1  2  3  4\n")
    assert re.match(pattern, done.stdout)
    assert done.stdout.endswith("\nyou, x:\n")
    start, after = boards(done.stdout)
    assert (stones(start), stones(after)) == (0, 2)
    assert re.search(r"\(o\)", after)


def test_the_line_of_play_begins_with_the_move(play):
    found = re.search(rf"engine, o: {REPORT}", play("2").stdout)
    assert found[1] == found[2]


def test_a_game_to_its_end(play):
    done = play(*"12341234123412341234", options=["--size", "4x5", "--forbidden", "1,1"])
    assert done.exit_code == 0
    last = boards(done.stdout)[-1]
    assert re.search(r"^(you, [xo] wins|engine, [xo] wins|a draw)\nundo, new or quit:", done.stdout, re.MULTILINE)
    assert last.splitlines()[-1].startswith(" #")
    assert stones(last) <= 19


def test_winning_and_taking_it_back(play):
    start = "..../..../ooo./xxx."
    done = play("4", "hint", "1", "undo", "quit", options=["--start", start])
    over = " .  .  .  .\n .  .  .  .\n o  o  o  .\n x  x  x (x)\nyou, x wins\nundo, new or quit: hint\n"
    assert over in done.stdout
    assert done.stderr.startswith("the game is over; type undo, new or quit\n")
    assert 'illegal move "1": the game is over' in done.stderr
    assert boards(done.stdout)[-1] == boards(done.stdout)[0] == over[: over.index("you")].replace("(x)", " .")


def test_the_engine_wins(play):
    done = play("undo", "quit", options=["--start", "..../..../ooo./xxx.", "--first", "engine"])
    assert "engine, x: 4  (" in done.stdout
    assert " x  x  x (x)\nengine, x wins\nundo, new or quit: undo\n" in done.stdout
    assert done.stderr == "nothing to take back; you have not moved yet\n"


def test_undo_takes_back_both_moves(play):
    done = play("2", "undo", "board", "quit")
    start, after, back, again = boards(done.stdout)
    assert start == back == again != after


def test_undo_of_two_rounds_leads_to_the_start(play):
    done = play("2", "3", "undo", "undo")
    drawn = boards(done.stdout)
    assert [stones(board) for board in drawn] == [0, 2, 4, 2, 0]
    assert drawn[3] == drawn[1]  # the mark of the last move, too


@pytest.mark.parametrize("first", ["me", "engine"])
def test_undo_at_the_start(play, first):
    done = play("undo", "board", options=["--first", first])
    assert done.stderr == "nothing to take back; you have not moved yet\n"
    assert [stones(board) for board in boards(done.stdout)][-1] == (first == "engine")


def test_a_hint_changes_nothing(play):
    done = play("hint", "board")
    assert re.search(rf"^you, x: hint\nhint: {REPORT}$", done.stdout, re.MULTILINE)
    assert [stones(board) for board in boards(done.stdout)] == [0, 0]


def test_swap(play):
    done = play("swap", "1", "new", "quit")
    assert re.search(rf"^you, x: swap\nyou are o now\nengine, x: {REPORT}$", done.stdout, re.MULTILINE)
    assert [stones(board) for board in boards(done.stdout)] == [0, 1, 3, 0, 1]


def test_new(play):
    done = play("1", "new", "undo", "NEW ")
    assert [stones(board) for board in boards(done.stdout)] == [0, 2, 0, 0]
    assert done.stderr == "nothing to take back; you have not moved yet\n"


def test_help_names_every_command(play):
    told = play("help").stdout
    assert "\na move: 1 2 3 4\n" in told
    for name in terminal_game.COMMANDS:
        assert re.search(rf"^{name}  ", told, re.MULTILINE)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("5", 'unknown move "5"; moves are columns, 1 to 4; type help for help'),
        ("0", 'unknown move "0"; moves are columns, 1 to 4; type help for help'),
        ("dance", 'unknown move "dance"; moves are columns, 1 to 4; type help for help'),
        ("2 3", 'unknown move "2 3"; moves are columns, 1 to 4; type help for help'),
        ("1", 'illegal move "1": the column is full; columns with room are 2, 3, 4; type help for help'),
    ],
)
def test_bad_input_is_passed_over(play, typed, message):
    done = play(typed, "", "board", options=["--start", "o.../x.../o.../x..."])
    assert done.exit_code == 0
    assert message in done.stderr
    first, second = boards(done.stdout)
    assert first == second


def test_bytes_that_are_no_text(plyd, connect4):
    command = [*plyd, "play", "connect4", "--connect", connect4, "--nodes", "9"]
    done = subprocess.run(command, input=b"\xff\xfe\nquit\n", capture_output=True, timeout=SOON)
    assert done.returncode == 0
    assert b"unknown move" in done.stderr


def test_the_engine_begins(play):
    done = play(options=["--first", "engine"])
    assert re.match(re.escape(EMPTY_4X4) + rf"engine, x: {REPORT}\n", done.stdout)
    assert done.stdout.endswith("\nyou, o:\n")


def test_watching(play):
    done = play("never read", options=["--watch"])
    assert done.exit_code == 0
    drawn = boards(done.stdout)
    assert [stones(board) for board in drawn] == list(range(len(drawn)))
    assert re.search(r"^([xo] wins|a draw)\n\Z", done.stdout, re.MULTILINE)
    assert "you" not in done.stdout


def test_pondering(play):
    done = play("2", "3", "undo", "hint", options=["--ponder"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert [stones(board) for board in boards(done.stdout)] == [0, 2, 4, 2]


def test_a_game_that_is_over_at_the_start(play):
    done = play("quit", options=["--start", "..../..../ooo./xxxx"])
    assert done.stdout.endswith("you, x wins\nundo, new or quit: quit\n")


def test_a_daemon_that_was_away_is_told_the_game(play, monkeypatch):
    plain, calls = Game.best, []

    def lost(game, **thinking):
        calls.append(game)
        if len(calls) == 2:
            raise Unavailable("it is gone")
        return plain(game, **thinking)

    monkeypatch.setattr(Game, "best", lost)
    done = play("2", "3", "undo", "quit")
    assert (done.exit_code, done.stderr) == (0, "it is gone; asking again\n")
    assert [stones(board) for board in boards(done.stdout)] == [0, 2, 4, 2]


# Gomoku


@pytest.fixture
def gomoku_game(gomoku):
    """Type lines to `plyd play gomoku`; the result of the program."""

    def play(*lines, options=()):
        arguments = ["play", "gomoku", "--connect", gomoku, "--move-time", "30"]
        typed = "".join(f"{line}\n" for line in lines)
        return CliRunner().invoke(main, [*arguments, *options], input=typed, prog_name="plyd")

    return play


def points(text):
    """The rows of every board of Gomoku that was drawn, without their numbers."""
    rows = re.findall(r"^ ?\d{1,2}((?:[ (][.xo#][ )]?)+)$", text, re.MULTILINE)
    return [re.sub(r"[ ()]", "", row) for row in rows]


def test_coordinates_stand_along_the_edges_of_a_gomoku_board(gomoku_game):
    done = gomoku_game("quit")
    assert (done.exit_code, done.stderr) == (0, "")
    head, *rows, prompt = done.stdout.splitlines()
    assert head == "   " + "  ".join("abcdefghijklmno")
    assert rows == [f"{row:2}" + " . " * 14 + " ." for row in range(15, 0, -1)]
    assert prompt == "you, x: quit"


def test_a_round_of_gomoku_and_taking_it_back(gomoku_game):
    done = gomoku_game("B4", "undo", "help", "quit", options=["--size", "5"])
    assert (done.exit_code, done.stderr) == (0, "")
    rows = points(done.stdout)
    assert rows[:5] == rows[10:15] == ["....."] * 5
    assert rows[6][1] == "x"
    assert "".join(rows[5:10]).count("o") == 1
    assert re.search(r"^engine, o: [a-e][1-5]  \(.+, [\d,]+ nodes, ", done.stdout, re.MULTILINE)
    assert "\na move: a5 b5 c5 ... c1 d1 e1\n" in done.stdout


@pytest.mark.parametrize(("variant", "end"), [("freestyle", "you, x wins"), ("standard", "engine, o: ")])
def test_the_variant_says_whether_six_in_a_row_win(gomoku_game, variant, end):
    start = "xxx.xx/oo.oo./....o./....../....../......"
    done = gomoku_game("d6", "quit", options=["--start", start, "--variant", variant])
    assert points(done.stdout)[6] == "xxxxxx"
    assert end in done.stdout.split("d6\n", 1)[1]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("f5", 'unknown move "f5"; moves are points, a1 to e5; type help for help'),
        ("c3", 'illegal move "c3": a stone, x, is there; moves are empty points; type help for help'),
        ("a1", 'illegal move "a1": a blocked point is there; moves are empty points; type help for help'),
    ],
)
def test_a_move_that_is_none(gomoku_game, typed, message):
    done = gomoku_game(typed, "quit", options=["--start", "...../...../..x../.o.../#...."])
    assert message in done.stderr


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--size", "4"], 1, '4 rows in "4x4"; allowed is 5 to 20'),
        (["--size", "five"], 2, "'five'; expected a number such as 15"),
        (["--forbidden", "1,1"], 2, "Gomoku takes no --blocked"),
        (["--size", "5", "--start", "5x5"], 2, "--start excludes --size and --blocked"),
        (["--start", "5x6"], 1, "boards are square"),
        (["--variant", "caro"], 2, "'caro' is not one of 'freestyle', 'standard', 'renju'"),
    ],
)
def test_wrong_usage_of_gomoku(gomoku_game, options, status, message):
    done = gomoku_game(options=options)
    assert (done.exit_code, done.stdout) == (status, "")
    assert message in done.stderr


# Usage


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--size", "3x4"], 1, '3 columns in "3x4"; allowed is 4 to 16'),
        (["--size", "4x4", "--forbidden", "5,1"], 1, "forbidden cell 5,1"),
        (["--size", "4x4", "--start", "4x4"], 2, "--start excludes --size and --blocked"),
        (["--size", "4"], 2, "'4'; expected columns x rows, such as 7x6"),
        (["--start", "..../...."], 1, "2 rows"),
        (["--option", "seed"], 2, "'seed'; expected NAME=VALUE"),
        (["--option", "sed=1"], 1, 'unknown option "sed"'),
        (["--nodes", "0"], 2, "0 is not in the range"),
        (["--first", "you"], 2, "'you' is not one of 'me', 'engine'"),
        (["--watch", "--ponder"], 2, "--ponder and --watch exclude each other"),
        (["--connect", ""], 2, "an address is HOST:PORT or unix:PATH"),
    ],
)
def test_wrong_usage(play, options, status, message):
    done = play(options=options)
    assert (done.exit_code, done.stdout) == (status, "")
    assert message in done.stderr


def test_nobody_there(play, nowhere):
    done = play(options=["--connect", nowhere])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {nowhere} is unavailable")


def test_a_private_daemon(plyd):
    command = [*plyd, "play", "connect4", "--size", "4x4", "--move-time", "20", "--option", "seed=7"]
    done = subprocess.run(command, input="1\nquit\n", capture_output=True, text=True, timeout=SOON)
    assert (done.returncode, done.stderr) == (0, "")
    assert [stones(board) for board in boards(done.stdout)] == [0, 2]


def test_every_game_is_listed():
    told = CliRunner().invoke(main, ["play", "--help"]).stdout
    for game in ("2048", "2584", "connect4", "gomoku"):
        assert re.search(rf"^  {game}  +\S", told, re.MULTILINE)


@pytest.mark.parametrize("arguments", [["--until", "2048", "2584", "--help"], ["--evil", "2584", "--help"]])
def test_options_may_stand_before_the_game(arguments):
    told = CliRunner().invoke(main, ["play", *arguments], prog_name="plyd").stdout
    assert told.startswith("Usage: plyd play 2584 ")


# In a terminal


def read_until(terminal, pattern):
    """What the program wrote until the pattern came."""
    text, end = "", time.monotonic() + SOON
    while not re.search(pattern, text):
        assert time.monotonic() < end, text
        if has_written(terminal, 0.1):
            text += os.read(terminal, 1 << 16).decode()
    return text


def has_written(terminal, seconds):
    """Whether the program has written something, perhaps after some time."""
    return bool(select.select([terminal], [], [], seconds)[0])


@pytest.fixture
def at_terminal(plyd, connect4):
    """Run a game in a terminal: the terminal's end that we hold, and the process."""
    terminal, end = pty.openpty()
    command = [*plyd, "play", "connect4", "--connect", connect4, "--size", "4x4", "--nodes", "100"]
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, env=variables | {"TERM": "xterm"})
    os.close(end)
    yield terminal, process
    process.kill()
    process.wait()
    os.close(terminal)


def test_colours_and_end_of_file_in_a_terminal(at_terminal):
    terminal, process = at_terminal
    read_until(terminal, r"you, x: ")
    os.write(terminal, b"2\n")
    drawn = read_until(terminal, r"\)[^\n]*\n(?s:.*)you, x: ")
    assert "\x1b[31m\x1b[1mx" in drawn
    assert "\x1b[33m\x1b[1m" in drawn
    os.write(terminal, b"\x04")
    assert process.wait(SOON) == 0


def test_ctrl_c_ends_politely(at_terminal):
    terminal, process = at_terminal
    read_until(terminal, r"you, x: ")
    pause = 0.5  # readline loses a signal in the moment between its prompt and its listening
    while not has_written(terminal, pause):
        process.send_signal(signal.SIGINT)
        pause = 5
    assert read_until(terminal, "\n") == "\r\n"
    assert process.wait(SOON) == 130


def test_colours_are_left_out_if_not_wanted(monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", "1")
    terminal_game.say("\x1b[31mx\x1b[0m")
    assert capsys.readouterr().out == "x\n"
