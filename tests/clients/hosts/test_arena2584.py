"""`plyd arena`: golden transcripts of what a referee says and hears."""

import io
import re
import subprocess
import sys
from random import Random
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.formats.rec2584_judge import Judge
from plyd.clients.formats.tile_replay import SLIDES, Replay
from plyd.clients.hosts.arena2584 import VARIANTS, Adviser, Arena, ArenaPlayer
from plyd.clients.library.errors import Unavailable
from tests.patience import SOON


class FakeDaemon:
    """Slides to the first of left, down, right, up that it can; drops on the last empty cell."""

    def __init__(self):
        self.asked = []

    def search(self, position, options, **limits):
        self.asked.append((position, dict(options), limits))
        letter, *cells = position.split()
        replay = Replay()
        replay.cells = list(map(int, cells))
        if letter == "a":
            return SimpleNamespace(move=f"{options['tile']}@{replay.empty()[-1]}")
        return SimpleNamespace(move=SLIDES[replay.slides()[-1]])


class AbsentDaemon:
    def search(self, *_, **__):
        raise Unavailable("it is gone")


def arena_for(out, errors, daemon=None, variant="hard", name="plyd"):
    side = ArenaPlayer(
        name, Adviser((daemon or FakeDaemon()).search, {"depth": 1}, reckons_evil=True), VARIANTS[variant], seed=5
    )
    return Arena(side, out, errors)


def hold(lines, **settings):
    """What is said and complained of when a referee says these lines."""
    out, errors = io.StringIO(), io.StringIO()
    arena_for(out, errors, **settings).run(lines)
    return out.getvalue().splitlines(), errors.getvalue().splitlines()


def converse(transcript, **settings):
    """Check a transcript: a line with > goes in, the lines with < that follow it come out; nothing is complained of."""
    out, errors = io.StringIO(), io.StringIO()
    lines = [line.strip() for line in transcript.strip().splitlines()]

    def said():
        for number, line in enumerate(lines):
            heard = [line[2:] for line in lines[:number] if line[0] == "<"]
            if line[0] == ">":
                assert out.getvalue().splitlines() == heard
                yield f"{line[2:]}\n"

    arena_for(out, errors, **settings).run(said())
    assert out.getvalue().splitlines() == [line[2:] for line in lines if line[0] == "<"]
    assert errors.getvalue() == ""


def test_as_player():
    daemon = FakeDaemon()
    converse(
        """
        > match 7 open plyd:somebody
        < match 7 play ready
        > match 7 evil move 15
        > match 7 evil move 3a
        > match 7 play take turn
        < match 7 play move 3
        > match 7 play move 3
        > match 7 evil move 11
        > match 7 play take turn
        < match 7 play move 3
        > match 7 play move 3
        > match 7 close plyd
        """,
        daemon=daemon,
    )
    assert daemon.asked == [
        ("b 0 0 0 0 0 1 0 0 0 0 3 0 0 0 0 0", {"environment": "evil"}, {"depth": 1}),
        ("b 0 1 0 0 1 0 0 0 3 0 0 0 0 0 0 0", {"environment": "evil"}, {"depth": 1}),
    ]


def test_as_evil():
    daemon = FakeDaemon()
    converse(
        """
        > match x-1 open somebody:plyd
        < match x-1 evil ready
        > match x-1 evil take turn, drop 1
        < match x-1 evil move 18
        > match x-1 evil move 18
        > match x-1 evil take turn, drop 3
        < match x-1 evil move 3c
        > match x-1 evil move 3c
        > match x-1 play move 1
        > match x-1 evil take turn, drop 3
        < match x-1 evil move 3e
        > match x-1 evil move 3e
        > match x-1 close somebody
        """,
        daemon=daemon,
    )
    assert daemon.asked == [("a 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 3", {"environment": "evil", "tile": "3"}, {"depth": 1})]


def test_as_both():
    converse(
        """
        > match 1 open plyd:plyd
        < match 1 play ready
        < match 1 evil ready
        > match 1 evil take turn, drop 1
        < match 1 evil move 18
        > match 1 evil move 18
        > match 1 evil take turn, drop 1
        < match 1 evil move 1c
        > match 1 evil move 1c
        > match 1 play take turn
        < match 1 play move 2
        > match 1 play move 2
        > match 1 evil take turn, drop 1
        < match 1 evil move 1f
        """
    )


def test_referee_who_does_not_repeat_our_moves():
    converse(
        """
        > match 1 open plyd:plyd
        < match 1 play ready
        < match 1 evil ready
        > match 1 evil take turn, drop 1
        < match 1 evil move 18
        > match 1 evil take turn, drop 1
        < match 1 evil move 1c
        > match 1 play take turn
        < match 1 play move 2
        > match 1 evil take turn, drop 1
        < match 1 evil move 1f
        > match 1 play take turn
        < match 1 play move 3
        > match 2 open plyd:other
        < match 2 play ready
        > match 2 evil move 10
        > match 2 evil move 11
        > match 2 play take turn
        < match 2 play move 3
        > match 2 evil move 11
        > match 2 play take turn
        < match 2 play move 3
        """
    )


def test_referee_has_the_last_word_on_our_move():
    daemon = FakeDaemon()
    converse(
        """
        > match 1 open plyd:other
        < match 1 play ready
        > match 1 evil move 15
        > match 1 evil move 16
        > match 1 play take turn
        < match 1 play move 3
        > match 1 play move 0
        > match 1 evil move 1f
        > match 1 play take turn
        < match 1 play move 3
        """,
        daemon=daemon,
    )
    assert daemon.asked[-1][0] == "b 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0 1"


def test_question_asked_again_is_answered_again():
    converse(
        """
        > match 1 open plyd:other
        < match 1 play ready
        > match 1 evil move 15
        > match 1 evil move 16
        > match 1 play take turn
        < match 1 play move 3
        > match 1 play take turn
        < match 1 play move 3
        > match 1 play move 3
        """
    )


def test_matches_go_on_side_by_side():
    converse(
        """
        > match A open plyd:other
        < match A play ready
        > match B open other:plyd
        < match B evil ready
        > match A evil move 10
        > match B evil take turn, drop 1
        < match B evil move 18
        > match A evil move 11
        > match B evil move 18
        > match A play take turn
        < match A play move 3
        > match B evil take turn, drop 1
        < match B evil move 1c
        > match A play move 3
        > match A close other
        > match A open other:other
        > match A evil move 10
        > match A evil take turn, drop 1
        > match A close other
        > match B evil move 1c
        > match B play move 2
        > match B evil take turn, drop 1
        < match B evil move 1f
        """
    )


def test_our_name_decides():
    converse(
        """
        > match 1 open plyd:me
        < match 1 evil ready
        > match 1 play take turn
        > match 2 open ME:plyd
        """,
        name="me",
    )


def test_tile_that_is_not_announced_is_chance():
    rare = {variant: max(odds) for variant, odds in VARIANTS.items()}
    for variant, index in rare.items():
        lines = ["match 1 open x:plyd", *["match 1 evil take turn", "match 1 close x", "match 1 open x:plyd"] * 80]
        out, errors = hold(lines, variant=variant)
        indices = [int(line.split()[-1], 16) >> 4 for line in out if " move " in line]
        assert errors == []
        assert set(indices) == {1, index}
        assert indices.count(1) > indices.count(index)


def test_blank_lines_and_other_line_ends_and_spaces():
    out, errors = hold(["", "  ", "match 1 open plyd:x\r", "match 1 evil move 0x10\r", "match 1 evil move 1F "])
    assert (out, errors) == (["match 1 play ready"], [])


OPEN = ["match 1 open plyd:plyd", "match 1 evil move 10", "match 1 evil move 11"]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ([], "hello", "unknown command"),
        ([], "match 1", "unknown command"),
        ([], "match 1 open plyd", "unknown command"),
        ([], "match 1 open a:b:c", "unknown command"),
        ([], "match 1 play move 3", "no match 1 is open"),
        ([], "match 1 close plyd", "no match 1 is open"),
        (OPEN, "match 1 open plyd:x", "match 1 is open already"),
        (OPEN, "match 1 play move g", "unknown command"),
        (OPEN, "match 1 play move -1", "unknown command"),
        (OPEN, "match 1 play move 0", "a slide up, which changes nothing"),
        (OPEN, "match 1 play move ffffffff", "opcode 4294967295; expected a slide 0 to 3"),
        (OPEN, "match 1 play move 12", "opcode 18; expected a slide 0 to 3"),
        (OPEN, "match 1 evil move 12", "it is not the turn of evil"),
        (OPEN, "match 1 evil take turn, drop 1", "it is not the turn of evil"),
        (OPEN[:2], "match 1 play take turn", "it is not the turn of play"),
        (OPEN[:2], "match 1 evil move 10", "a drop on cell 0, which is not empty"),
        (OPEN[:2], "match 1 evil move 41", "opcode 65; expected a drop"),
        (OPEN[:2], "match 1 evil take turn, drop 17", "no drop of 17; the environment drops 1, 2, 3"),
        (OPEN[:2], "match 1 evil take turn, drop x", "unknown command"),
        (OPEN, "match 1 play take turn, drop 1", "no drop of 1; the environment drops 1, 2, 3"),
        ([], "match " + "9" * 200, "unknown command"),
    ],
)
def test_line_that_makes_no_sense_is_told_and_passed_over(lines, line, message):
    ready = hold(lines)[0]
    out, errors = hold([*lines, line, "match 2 open plyd:x"])
    quote = line if len(line) <= 80 else f"{line[:80]}..."
    assert errors == [f"{quote!r}: {message}"]
    assert out == [*ready, "match 2 play ready"]


def test_nonsense_leaves_the_board_and_our_answer_alone():
    lines = [*OPEN, "match 1 play take turn", "match 1 play move 9", "match 1 evil take turn, drop 3"]
    out, errors = hold(lines)
    assert out[-2:] == ["match 1 play move 3", "match 1 evil move 3f"]
    assert len(errors) == 1


def test_player_without_a_move_says_so():
    game, random = Replay(), Random(1)
    while not game.is_over():
        game.play(0x10 | random.choice(game.empty()) if game.drops_next else random.choice(game.slides()))
    roles = ["evil" if at == 0 or at % 2 else "play" for at in range(len(game.actions))]
    told = [f"match 1 {role} move {action:x}" for role, action in zip(roles, game.actions, strict=True)]
    out, errors = hold(["match 1 open plyd:x", *told, "match 1 play take turn", "match 1 close x"])
    assert out == ["match 1 play ready", "match 1 play move ffffffff"]
    assert errors == ["'match 1 play take turn': no slide is left"]


def test_daemon_that_is_gone_does_not_make_us_silent():
    lines = [*OPEN, "match 1 play take turn", "match 1 evil take turn, drop 3"]
    out, errors = hold(lines, daemon=AbsentDaemon())
    assert out[-2].startswith("match 1 play move ")
    assert out[-1].startswith("match 1 evil move 3")
    assert errors == [f"'match 1 {role} take turn': it is gone" for role in ("play", "evil")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--depth", "2", "--move-time", "5"], "--depth and --move-time exclude each other"),
        (["--connect", ""], "an address is HOST:PORT, unix:PATH or tls:HOST:PORT"),
        (["--variant", "easy"], "'easy' is not one of 'hard', 'classic'"),
    ],
)
def test_wrong_usage(arguments, message):
    done = CliRunner().invoke(main, ["arena", *arguments], prog_name="plyd")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_nobody_there(nowhere):
    done = CliRunner().invoke(main, ["arena", "--connect", nowhere], prog_name="plyd")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {nowhere} is unavailable")


def test_help_shows_a_match_that_is_true():
    text = CliRunner().invoke(main, ["arena", "--help"]).stdout
    [match] = [part for part in text.split("\n\n") if part.lstrip().startswith("in  ")]
    rows = [line[2:].partition("    ") for line in match.splitlines()[1:]]
    out, errors = hold([said.strip() for said, _, _ in rows])
    assert out == [heard.strip() for _, _, heard in rows if heard.strip()]
    assert errors == []


def referee(say, hear, index_of, moves):
    """Hold one match in which plyd plays against itself, for so many slides at most; the opcodes played."""
    say("match 1 open plyd:plyd")
    assert [hear(), hear()] == ["match 1 play ready", "match 1 evil ready"]
    game = Replay()
    while not game.is_over() and len(game.actions) < 2 * moves:
        role = "evil" if game.drops_next else "play"
        say(f"match 1 {role} take turn" + (f", drop {index_of()}" if game.drops_next else ""))
        head, _, code = hear().rpartition(" ")
        assert head == f"match 1 {role} move"
        game.play(int(code, 16))
        say(f"match 1 {role} move {code}")
    say("match 1 close plyd")
    return game.actions


@pytest.mark.slow
def test_match_through_a_private_daemon():
    random = Random(3)
    command = [sys.executable, "-m", "plyd.clients", "arena", "--depth", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, bufsize=1, **pipes) as process:
        actions = referee(
            lambda line: process.stdin.write(f"{line}\n"),
            lambda: process.stdout.readline().strip(),
            lambda: random.choices((1, 3), (0.75, 0.25))[0],
            moves=100,
        )
        out, errors = process.communicate(timeout=SOON)
    assert (out, process.returncode) == ("", 0)
    assert re.fullmatch(r"starting a private 2584 engine .*\n", errors)
    assert Judge().replay(actions).moves >= 20
