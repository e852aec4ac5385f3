"""`plyd arena --referee`: programs of students that play well, and that misbehave in every way."""

import json
import re
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.formats.rec2584 import read_records
from plyd.clients.formats.rec2584_judge import Judge
from plyd.clients.formats.tile_replay import Replay
from plyd.clients.hosts.program import Program, ProgramFault, clean_environment
from plyd.clients.hosts.referee2584 import Agent, Fault, MatchRules, Pairing, RefereedMatch, agent_figures
from plyd.clients.hosts.referee_cli import OURS, agents_of
from tests.clients.hosts import arena_program
from tests.patience import LONG

PROGRAM = f"{sys.executable} {arena_program.__file__}"
HARD = {1: 0.75, 3: 0.25}


@pytest.fixture
def hold(tmp_path):
    """Runs a contest; its result, its matches and what it wrote to stderr."""

    def hold(*arguments, exit_code=0):
        command = ["arena", "--referee", "--out", str(tmp_path / "out"), "--json", "--answer-limit", str(LONG)]
        done = CliRunner().invoke(main, [*command, *map(str, arguments)], prog_name="plyd")
        assert done.exit_code == exit_code, done.stderr
        if exit_code:
            return done.stderr
        lines = (tmp_path / "out" / "matches.jsonl").read_text().splitlines()
        return json.loads(done.stdout), list(map(json.loads, lines[1:])), done.stderr

    return hold


def test_programs_of_both_roles_play_whole_games(hold, tmp_path):
    found, matches, _ = hold(
        "--play", f"good={PROGRAM} good", "--evil", f"foe={PROGRAM} foe", "--evil", "random", "--games", 2
    )
    assert [(match["play"], match["evil"], match["verdict"]) for match in matches] == [
        ("good", "foe", "rules"),
        ("good", "foe", "rules"),
        ("good", "random", "rules"),
        ("good", "random", "rules"),
    ]
    for name in ("good-foe", "good-random"):  # the course's records, as its judges check them
        judge = Judge()
        ends = [judge.replay(*record) for record in read_records(tmp_path / "out" / f"{name}.rec")]
        expected = [match["points"] for match in matches if name == f"{match['play']}-{match['evil']}"]
        assert [end.points for end in ends] == expected
        assert not judge.unfinished
    tiles = [[action >> 4 for action in match["actions"][::2][1:]] for match in matches]
    assert [first == second for first, second in zip(tiles[0], tiles[2], strict=False)] == [True] * min(
        len(tiles[0]), len(tiles[2])
    )  # the same tiles for every pairing
    good = next(row for row in found["agents"] if row["name"] == "good")
    assert (good["matches"], good["wins"], good["faults"]) == (4, 0, 0)


def test_one_process_plays_both_roles_if_it_is_the_same_program(hold):
    _, matches, _ = hold("--play", f"both={PROGRAM} both", "--evil", f"both={PROGRAM} both", "--games", 1)
    assert matches[0]["verdict"] == "rules"


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ("crash 3", r"bad (play) crashes: exit status 3; its last words: 'out of luck'"),
        ("abort 3", r"bad (play) crashes: SIGABRT"),
        ("illegal 3", r"bad (play) plays 7 after 8 actions: opcode 7; expected a slide 0 to 3"),
        ("nonsense 3", r"bad (play) answers 'up'; expected an opcode in hexadecimal"),
        ("flood 3", r"bad (play) writes a line of more than 65536 bytes"),
        ("'no move' 3", r"bad (play) plays ffffffff after 8 actions: opcode 4294967295; expected a slide 0 to 3"),
    ],
)
def test_player_that_misbehaves_loses(hold, how, verdict):
    found, [match], stderr = hold("--play", f"bad={PROGRAM} bad {how}", "--evil", "random", "--games", 1)
    assert (match["winner"], match["verdict"]) == ("evil", verdict)
    assert f"match 0: {verdict}" in stderr
    assert [row["faults"] for row in found["agents"]] == [1, 0]


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ("hang 3", "bad (evil) gives no answer within 0.5 s to 'match 0 evil take turn, drop "),
        ("silent 3", "bad (evil) gives no answer within 0.5 s to 'match 0 evil take turn, drop "),
        ("'other tile' 0", "bad (evil) plays 20 after 0 actions: a drop of index 2; it must drop "),
    ],
)
def test_evil_that_misbehaves_loses(how, verdict):
    """The player is not a program, so that only the evil can be late."""
    [bad] = agents_of([f"bad={PROGRAM} bad {how}"], "evil", [])
    seconds = 0.5 if "no answer" in verdict else LONG
    pairing = Pairing(Agent("good"), bad, MatchRules(HARD, LONG, seconds))
    answer = pairing._answer
    replays = []
    pairing._answer = lambda game, role, drop: answer(game, role, drop) if role == "evil" else replays[0].slides()[0]
    turn = pairing._turn

    def watched(game, replay, random, seconds):
        replays[:] = [replay]
        turn(game, replay, random, seconds)

    pairing._turn = watched
    pairing._agents["play"] = Agent("good", ("in this process",))
    pairing._programs[pairing._agents["play"]] = QuietProgram()
    match = pairing.match(0, "seed")
    pairing.close()
    assert match.winner == "play"
    assert match.verdict.startswith(verdict)


class QuietProgram:
    """A program that takes all lines."""

    def tell(self, line):
        pass

    def ask(self, line, answer, seconds):
        pass

    def close(self):
        pass


def test_program_that_is_never_ready_loses(hold):
    bad = f"bad={PROGRAM} bad 'never ready'"
    _, [match], _ = hold("--play", bad, "--evil", "random", "--games", 1, "--ready-limit", 0.5)
    assert match["verdict"] == "bad (play) gives no answer within 0.5 s to 'match 0 open bad:random'"


def test_program_that_cannot_be_started_loses_and_is_soon_given_up(hold):
    _, matches, _ = hold("--play", "none=/does/not/exist", "--evil", "random", "--games", 5)
    assert {match["verdict"] for match in matches[:3]} == {
        "none (play) cannot be started: /does/not/exist: No such file or directory"
    }
    assert {match["verdict"] for match in matches[3:]} == {"none (play) is not started again after 3 faults in a row"}


def test_program_is_started_again_after_a_fault(hold):
    _, matches, _ = hold("--play", f"bad={PROGRAM} bad crash 150", "--evil", f"foe={PROGRAM} foe", "--games", 6)
    verdicts = [match["verdict"] == "rules" for match in matches]
    assert True in verdicts
    assert False in verdicts
    assert verdicts.index(True, verdicts.index(False))  # one after a crash


def test_program_sees_none_of_our_secrets(monkeypatch):
    monkeypatch.setenv("PLYD_TOKEN", "secret")
    monkeypatch.setenv("SOME_KEY", "secret")
    assert not {"PLYD_TOKEN", "SOME_KEY"} & clean_environment().keys()
    program = Program([*PROGRAM.split(), "x", "environment"], clean_environment())
    with pytest.raises(ProgramFault, match="its last words: ") as fault:
        program.ask("match 1 open x:y", re.compile("no"), LONG)
    program.close()
    assert "PATH" in str(fault.value)
    assert "SOME_KEY" not in str(fault.value)


def test_contest_goes_on_where_it_was_killed(hold, tmp_path):
    contest = ["--play", f"good={PROGRAM} good", "--evil", "random", "--games", 3]
    _, matches, _ = hold(*contest)
    file = tmp_path / "out" / "matches.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    _, again, _ = hold(*contest)
    assert again[0] == matches[0]
    assert [match["actions"] for match in again] == [match["actions"] for match in matches]
    refused = hold(*contest[:-1], 4, exit_code=1)
    assert "belongs to another match: its games is 3, not 4" in refused


def match_of(winner, largest, verdict="rules", seconds=0.001, actions=21):
    taken = {"play": seconds, "evil": seconds}
    return RefereedMatch(0, "p", "e", winner, verdict, 100, largest, [0] * actions, taken)


def test_points_are_those_of_the_course():
    won = [match_of("play", 17), match_of("play", 19), match_of("evil", 12)]
    player, evil = (agent_figures(won, role, 0) for role in ("play", "evil"))
    assert player["course_points"] == 67 + 2  # 66.7% rounded up; two indices above 17
    assert evil["course_points"] == 34 + 0
    evil = agent_figures([match_of("evil", 12), match_of("evil", 14)], "evil", 0)
    assert evil["course_points"] == 100 + 3
    broken = [match_of("evil", 0, "p (play) crashes"), match_of("evil", 15)]
    assert agent_figures(broken, "evil", 0)["course_points"] == 100 + 2  # of the match that was played
    assert agent_figures(broken, "play", 0)["faults"] == 1


def test_slow_program_loses_30_percent():
    """10 slides of 21 actions in 1 ms each match: 10,000 a second."""
    won = [match_of("play", 17)]
    quick, slow = agent_figures(won, "play", 9_999), agent_figures(won, "play", 10_001)
    assert (quick["is_slow"], quick["course_points_after_penalty"]) == (False, 100)
    assert (slow["is_slow"], slow["course_points"], slow["course_points_after_penalty"]) == (True, 100, 70)


def test_player_wins_by_reaching_the_2584_tile(monkeypatch):
    pairing = Pairing(Agent("p", ("x",)), Agent("random"), MatchRules(HARD, 1, 1))
    monkeypatch.setattr(pairing, "_open", lambda game: None)
    for index, winner in ((17, "play"), (16, "evil")):

        def turn(game, replay, random, seconds, index=index):
            replay.cells, replay.actions = [index, 5, *[1, 3] * 7], [0, 0]
            monkeypatch.setattr(replay, "is_over", lambda: True)

        monkeypatch.setattr(pairing, "_turn", turn)
        assert pairing.match(0, "seed").winner == winner


def test_evil_may_draw_its_own_tiles():
    rules = MatchRules(HARD, LONG, LONG, own_tiles=True)
    [agent] = agents_of([f"foe={PROGRAM} foe"], "evil", [])
    pairing = Pairing(Agent("random"), agent, rules)
    asked = []

    def answer(game, role, drop):
        asked.append(drop)
        return 0x35

    pairing._answer = answer
    replay = Replay()
    pairing._turn(0, replay, Random(1), {"play": 0.0, "evil": 0.0})
    assert (asked, replay.actions) == ([""], [0x35])
    pairing._answer = lambda game, role, drop: 0x24
    with pytest.raises(Fault, match="a drop of index 2; it must drop 1 or 3"):
        pairing._turn(0, replay, Random(1), {"play": 0.0, "evil": 0.0})


def test_our_own_program_gets_our_options():
    [ours] = agents_of([OURS], "play", ["--depth", "2"])
    assert ours.command[-5:] == ("arena", "--name", "plyd", "--depth", "2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--referee", "--play", "plyd"], "--referee needs at least one --play and one --evil"),
        (["--play", "plyd"], "--play and --evil need --referee"),
        (["--referee", "--play", "random", "--evil", "random"], "'random'; expected NAME=COMMAND, plyd"),
        (["--referee", "--play", "a b=x", "--evil", "random"], "'a b=x'; expected NAME=COMMAND with a name of its own"),
        (["--referee", "--play", "a=x", "--play", "a=y", "--evil", "random"], "'a=y'; expected NAME=COMMAND"),
        (["--referee", "--play", "a='x", "--evil", "random"], "No closing quotation"),
        (["--referee", "--play", "a=", "--evil", "random"], "'a=' has no command"),
    ],
)
def test_usage(arguments, message):
    done = CliRunner().invoke(main, ["arena", *arguments], prog_name="plyd")
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")
    assert Path("arena").exists() is False
