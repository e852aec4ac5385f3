"""Outside programs behind a daemon: what callers see, what a bad program does to the daemon, and the settings."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.core.search import Limits
from plyd.engines.gomoku.engine import CARD
from plyd.engines.gomoku.rules import RULES
from plyd.engines.programs.engine import ProgramEngine
from plyd.engines.programs.process import Program
from plyd.engines.tiles_2584.engine import CARD as CARD_2584
from plyd.engines.tiles_2584.rules import GAME as GAME_2584
from plyd.servers.daemon_config import read_program
from plyd.servers.search.game_record import GameRecord
from plyd.servers.search.known.question import question_of
from plyd.servers.settings import BadSetting, gather
from plyd.v1 import engine_pb2, search_pb2
from tests.patience import SOON, until
from tests.servers.daemons import search_request
from tests.servers.fakes import FakeEngine

BRAIN = (sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "engines" / "programs" / "brain.py"))
SLOWLY = {"move_time_ms": SOON * 1000}


@pytest.fixture
def brain(open_daemon):
    """Opens a daemon of Gomoku whose moves come from brain.py with these arguments."""

    def serve(*words, slots=2, **limits):
        limits = {"start_seconds": SOON, "margin_seconds": SOON, **limits}
        program = Program((*BRAIN, *map(str, words)), "pbrain-test", **limits)
        return open_daemon(ProgramEngine(SimpleNamespace(card=CARD, variants=RULES), program, "gomocup"), slots=slots)

    return serve


def test_a_program_answers_as_an_engine_does(brain):
    daemon = brain()
    [info] = daemon.caller.engine.Describe(engine_pb2.DescribeRequest()).engines
    assert (info.game, info.program) == ("gomoku", "pbrain-test")
    assert info.summary == "The program pbrain-test plays, by the Gomocup protocol."
    assert (list(info.options), list(info.capabilities), info.HasField("model")) == ([], [], False)
    report = daemon.caller.engine.Search(search_request("5x5", ["c3"], limits=SLOWLY)).report
    assert (report.move, report.final, report.score.WhichOneof("value")) == ("a5", True, None)
    assert report.stop_reason == search_pb2.STOP_REASON_TIME


def play(daemon, *commands):
    """The replies to the commands of a game, each sent when the one before is answered."""
    replies = []
    for reply in daemon.caller.engine.Play(commands_when(commands, replies)):
        if not reply.HasField("report") or reply.report.final:
            replies.append(reply)  # noqa: PERF401  the commands wait for it
    return replies


def commands_when(commands, replies):
    for number, command in enumerate(commands):
        until(lambda n=number: len(replies) >= n)
        yield engine_pb2.PlayRequest(id=number + 1, **command)


def test_a_game_survives_a_program_that_fails(brain):
    daemon = brain("exit", 1)
    new = {"new_game": {"position": {"game": "gomoku", "start": "5x5"}}}
    go, reply = {"go": {"limits": SLOWLY}}, {"moves": {"moves": ["a5", "b5"]}}
    _, first, _, failed, again = play(daemon, new, go, reply, go, go)
    assert first.report.move == "a5"
    assert failed.error.code == grpc.StatusCode.ABORTED.value[0]
    assert failed.error.message.startswith('pbrain-test ended with status 3; its last line is "0,0"; its stderr ends')
    assert again.report.move == "c5"


@pytest.mark.parametrize("how", ["crash", "nonsense", "occupied"])
def test_a_search_that_a_program_cannot_answer_is_aborted_and_the_daemon_goes_on(brain, how):
    daemon = brain(how, slots=1)
    for _ in range(2):
        with pytest.raises(grpc.RpcError) as failure:
            daemon.caller.engine.Search(search_request("5x5", ["a5"], limits=SLOWLY))
        assert failure.value.code() is grpc.StatusCode.ABORTED
        assert failure.value.details().startswith("pbrain-test ")
    until(daemon.is_idle)


def test_a_caller_who_leaves_frees_the_slot_of_a_program_that_hangs(brain):
    daemon = brain("hang", slots=1, margin_seconds=0.05)
    call = daemon.caller.engine.Search.future(search_request("5x5", limits=SLOWLY))
    until(lambda: daemon.searches.running == 1)
    call.cancel()
    until(daemon.is_idle)
    assert daemon.engine._pool._busy == 0


def test_a_daemon_that_stops_leaves_no_process(brain):
    daemon = brain()
    assert daemon.caller.engine.Search(search_request("5x5", limits=SLOWLY)).report.move == "a5"
    [conversation] = daemon.engine._pool._idle
    assert daemon.stop().result(SOON)
    assert daemon.engine._pool._idle == []
    assert conversation.process._popen.returncode is not None


def test_a_program_hears_the_moves_that_led_to_a_position(open_daemon, tmp_path):
    player = str(Path(BRAIN[-1]).with_name("arena_player.py"))
    program = Program((*BRAIN[:-1], player, str(tmp_path / "log"), "2"), "tester", start_seconds=SOON)
    game = SimpleNamespace(card=CARD_2584, variants=GAME_2584.variants)
    daemon = open_daemon(ProgramEngine(game, program, "arena2584"))
    position = {"variant": "hard", "moves": ["1@5", "3@10"]}
    report = daemon.caller.engine.Search(engine_pb2.SearchRequest(position=position, limits=SLOWLY)).report
    assert report.move == "down"


def test_programs_of_one_name_are_asked_different_questions(tmp_path):
    def question(*options, command="sh"):
        program = Program((command, str(tmp_path / "player.sh")), "sh", options)
        engine = ProgramEngine(FakeEngine(), program, "ugi")
        return question_of(GameRecord(engine, "", ""), {}, Limits())

    file = tmp_path / "player.sh"
    file.write_text("first")
    first = question()
    assert first == question()
    assert question(("Hash", "16")) != first != question(command="env")
    file.write_text("second")
    assert question() != first


@pytest.mark.parametrize("without_history", [False, True])
def test_a_program_hears_the_game_whether_or_not_its_states_have_history(open_daemon, without_history):
    sticks = str(Path(BRAIN[-1]).with_name("ugi_sticks.py"))
    program = Program((*BRAIN[:-1], sticks, "crash"), "tester", start_seconds=SOON)
    daemon = open_daemon(ProgramEngine(FakeEngine(), program, "ugi"))
    new, moves = {"new_game": {"without_history": without_history}}, {"moves": {"moves": ["1", "2"]}}
    *_, failed = play(daemon, new, moves, {"go": {"limits": {"nodes": 9}}})
    assert failed.error.message.endswith('"uginewgame | position startpos moves 1 2 | go nodes 9"')


# --- Settings ---------------------------------------------------------------------------------------------------------


def settings(command, games=("gomoku",), **flags):
    return gather({"games": games, "program.command": command, **flags}, {}, None)


def test_a_command_is_found_and_split(tmp_path):
    program, protocol = read_program(settings("sh -c 'echo  x'", slots=3, **{"program.option": ("hash=1=2",)}))
    assert program.command == (shutil.which("sh"), "-c", "echo  x")
    assert (program.name, protocol, program.processes) == ("sh", "gomocup", 6)
    assert program.options == (("hash", "1=2"),)
    library = tmp_path / "s.so"
    library.write_text("")
    program, protocol = read_program(settings(str(library), ("connect4",)))
    assert (program.command, program.name, protocol) == ((str(library),), "s.so", "course")
    assert read_program(gather({"games": ("gomoku",)}, {}, None)) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (settings("no-such-program -x"), 'program.command is "no-such-program -x"; there is no program "no-such-'),
        (settings("sh 'x"), 'program.command is "sh \'x": No closing quotation'),
        (settings(" "), 'program.command is " "; there is no program ""'),
        (settings("sh", ()), "program.command with the games none; a program plays one game"),
        (settings("sh", ("gomoku", "2048")), "program.command with the games gomoku, 2048; a program plays one game"),
        (settings("sh", **{"program.protocol": "arena2584"}), 'is "arena2584"; allowed for gomoku is gomocup or ugi'),
        (settings("sh", **{"program.option": ("hash",)}), 'program.option is "hash"; allowed is NAME=VALUE'),
        (settings("sh", **{"program.folder": Path("/no/where")}), 'program.folder is "/no/where", which is no folder'),
        (settings("sh", model=(Path("x"),)), "program.command and model exclude each other"),
    ],
)
def test_a_program_that_cannot_be_used_is_refused_before_the_daemon_starts(given, message):
    with pytest.raises(BadSetting) as refusal:
        read_program(given)
    assert message in str(refusal.value)


def test_up_serves_no_program(monkeypatch):
    monkeypatch.setenv("PLYD_PROGRAM_COMMAND", "sh")
    done = CliRunner().invoke(main, ["up"])
    assert done.exit_code == 1
    assert "program.command is for one game: start its daemon with plyd serve GAME --program" in done.stderr
