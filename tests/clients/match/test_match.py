"""`plyd match`: who plays whom, from where, what is told of it, and what becomes of it when something dies."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.library.client import EngineClient
from plyd.clients.match import connect, runner
from plyd.clients.match.openings import drawn
from plyd.clients.match.side import BadMatch, Limits, contender_of
from plyd.v1 import engine_pb2, engine_pb2_grpc, position_pb2, search_pb2
from tests.patience import SOON, until
from tests.ports import free_place

PLYD = [sys.executable, "-m", "plyd.clients"]
QUICK = ["--start", "5x4", "--nodes", "20"]


def invoke(*arguments):
    """Run plyd with some arguments, in this process."""
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="plyd")


def serve(address="127.0.0.1:0"):
    """A daemon for Connect Four that serves, and its address."""
    command = [*PLYD, "serve", "connect4", "--listen", address, "--log-level", "error"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert select.select([process.stdout], [], [], 120)[0], "the daemon does not start"
    line = process.stdout.readline().decode()
    assert line.startswith("serving connect4 on "), line
    return process, line.split()[-1]


def end(process):
    """End a daemon, if it still runs."""
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def daemon():
    """The address of a daemon for Connect Four."""
    process, address = serve()
    yield address
    end(process)


@pytest.fixture
def play(daemon):
    """Run a match in which both sides are at the daemon; what it printed."""

    def play(*arguments, first="", second="", exit_code=0):
        sides = ["--first", f"at={daemon} {first}", "--second", f"at={daemon} {second}"]
        done = invoke("match", "connect4", *sides, *arguments)
        assert done.exit_code == exit_code, done.stderr
        return done

    return play


def saved(path):
    """The header and the games of a file, games by number."""
    header, *games = map(json.loads, path.read_text().splitlines())
    assert len({game["game"] for game in games}) == len(games)
    return header, sorted(games, key=lambda game: game["game"])


# Who plays


@pytest.mark.parametrize(
    ("text", "limits", "options", "at", "name"),
    [
        ("", "100 ms a move", {}, "", "first"),
        ("seed=3", "100 ms a move", {"seed": "3"}, "", "first"),
        ("time=0.2", "200 ms a move", {}, "", "first"),
        ("nodes=1000 depth=4", "1000 nodes, depth 4", {}, "", "first"),
        ("clock=60+0.5", "clock 60+0.5", {}, "", "first"),
        ("clock=5 name=fast", "clock 5+0", {}, "", "fast"),
        ("name='my own' at='unix:/tmp/a b'", "100 ms a move", {}, "unix:/tmp/a b", "my own"),
        ("at=localhost:1 c=a=b", "100 ms a move", {"c": "a=b"}, "localhost:1", "first"),
    ],
)
def test_words_describe_a_side(text, limits, options, at, name):
    side = contender_of(text, "first", Limits(seconds=0.1))
    assert (str(side.limits), side.options, side.at, side.name) == (limits, options, at, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed", "'seed' is not KEY=VALUE; a key is an engine's option, or one of time=, nodes=, depth=, clock=, at="),
        ("=3", "'=3' is not KEY=VALUE"),
        ("seed=", "'seed=' is not KEY=VALUE"),
        ("seed=1 seed=2", "seed is set twice, to '1' and '2'"),
        ("time=fast", "time is 'fast'; allowed is seconds a move"),
        ("time=0", "time is '0'; allowed is seconds a move"),
        ("time=nan", "time is 'nan'; allowed is seconds a move"),
        ("nodes=0", "nodes is '0'; allowed is a whole number from 1"),
        ("nodes=1e3", "nodes is '1e3'; allowed is a whole number from 1"),
        ("depth=-1", "depth is '-1'; allowed is a whole number from 1"),
        ("clock=1+x", "clock is '1+x'; allowed is seconds for all moves, and perhaps seconds added after each"),
        ("name='a", 'cannot read "name=\'a": No closing quotation'),
    ],
)
def test_words_that_do_not(text, message):
    with pytest.raises(BadMatch, match=re.escape(message)):
        contender_of(text, "first", Limits(seconds=0.1))


# A match


def test_result_for_people(play):
    done = play(*QUICK, "--games", 4, first="name=A seed=1", second="name=B seed=2")
    title, _, games, result, *_ = done.stdout.splitlines()
    assert title == "connect4: A against B"
    assert games.split() == ["games", "4", "of", "4"]
    won, drawn, lost = map(int, re.match(r"A +\+(\d) =(\d) -(\d)  \d+\.\d%$", result).groups())
    assert won + drawn + lost == 4
    for words in [
        r"moving first +\+",
        r"moving second +\+",
        r"Elo +\S+ \[.* to .*\]  LOS ",
        r"pairs +\d",
        r"length +\d",
    ]:
        assert re.search(words, done.stdout)
    assert re.search(r"^A +20 nodes, seed=1, at \S+ +\d+ +\d+\.\d +- +[\d,]+ +0$", done.stdout, re.MULTILINE)
    assert done.stderr.splitlines()[-1].startswith("4/4 games  +")


def test_result_for_programs(play):
    told = json.loads(play(*QUICK, "--games", 6, "--json", first="seed=1", second="time=0.002 name=B").stdout)
    assert told["games"] == told["wins"] + told["draws"] + told["losses"] == 6
    assert told["score"] == (told["wins"] + told["draws"] / 2) / 6
    assert sum(told["pairs"]) == 3
    for name in ("wins", "draws", "losses"):
        assert told["moved_first"][name] + told["moved_second"][name] == told[name]
    assert 0 <= told["los"] <= 1
    assert 4 < told["mean_plies"] <= 20
    first, second = told["first"], told["second"]
    assert (first["name"], first["nodes"], first["options"], first["forfeits"]) == ("first", 20, {"seed": "1"}, 0)
    assert (second["name"], second["seconds"], second["options"]) == ("B", 0.002, {})
    assert first["worst_overshoot_ms"] is None
    assert 0 <= second["worst_overshoot_ms"] < 5000
    assert min(side[key] for side in (first, second) for key in ("moves", "mean_ms", "nodes_per_second")) > 0
    assert "sprt" not in told


def test_sides_without_address_share_a_private_daemon(monkeypatch):
    started, enter = [], connect.EmbeddedDaemon.__enter__
    monkeypatch.setattr(connect.EmbeddedDaemon, "__enter__", lambda self: started.append(self) or enter(self))
    done = invoke("match", "connect4", *QUICK, "--games", 2, "--first", "seed=1", "--second", "seed=2")
    assert (done.exit_code, len(started)) == (0, 1)
    assert "games" in done.stdout


def test_one_side_elsewhere(daemon, monkeypatch):
    asked, init = [], EngineClient.__init__
    monkeypatch.setattr(EngineClient, "__init__", lambda self, *a, **k: asked.append(a[0]) or init(self, *a, **k))
    done = invoke("match", "connect4", *QUICK, "--games", 2, "--second", f"at={daemon} name=old", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["second"]["at"] == daemon
    assert {target.partition(":")[0] for target in asked} == {"unix", "127.0.0.1"}


def test_common_limits_are_for_sides_without_their_own(play):
    told = json.loads(play("--start", "4x4", "--move-time", 5, "--games", 2, "--json", first="nodes=3").stdout)
    assert told["first"]["plays_with"].startswith("3 nodes, at")
    assert told["second"]["plays_with"].startswith("5 ms a move, at")
    told = json.loads(play("--start", "4x4", "--clock", "9+1", "--depth", 1, "--games", 2, "--json").stdout)
    assert told["first"]["plays_with"].startswith("depth 1, clock 9+1, at")


# Openings


def test_openings_are_played_twice_with_sides_changed(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 8, "--opening-plies", 3, "--save", path)
    header, games = saved(path)
    assert (header["start"], header["opening_plies"], header["seed"]) == (["5x4"], 3, 0)
    assert [game["game"] for game in games] == list(range(8))
    assert [game["moved_first"] for game in games] == ["first", "second"] * 4
    for one, other in zip(games[::2], games[1::2], strict=True):
        assert (one["start"], one["opening"]) == (other["start"], other["opening"])
        assert len(one["opening"]) == 3
    assert len({tuple(game["opening"]) for game in games}) == 4


def test_winner_is_who_the_rules_say(play, tmp_path, daemon):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 8, "--opening-plies", 3, "--save", path)
    with EngineClient(daemon, "connect4") as client:
        for game in saved(path)[1]:
            state = client.inspect(game["start"], game["opening"] + game["moves"])
            last = ("first", "second")[(game["game"] + len(game["moves"]) + 1) % 2]  # who made the last move
            draw = state.outcome == position_pb2.OUTCOME_DRAW
            assert state.outcome != position_pb2.OUTCOME_ONGOING
            assert (game["winner"], game["reason"]) == ("draw" if draw else last, "rules")
            assert len(game["first"]["ms"]) + len(game["second"]["ms"]) == len(game["moves"])


def test_starts_are_taken_in_turn(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play("--start", "4x4", "--start", "5x4 #3,1", "--nodes", 5, "--games", 8, "--save", path)
    assert [game["start"] for game in saved(path)[1]] == ["4x4", "4x4", "5x4 #3,1", "5x4 #3,1"] * 2


def test_openings_of_a_file(play, tmp_path):
    path, book = tmp_path / "games.jsonl", tmp_path / "book.txt"
    book.write_text("5x4 | 1 2 3\n\n  4x4\n..../..../..o./.xx. | 1\n")
    done = play("--nodes", 5, "--games", 8, "--openings", book, "--save", path)
    header, games = saved(path)
    assert header["openings"].startswith("3 with SHA-256 ")
    assert [(game["start"], game["opening"]) for game in games[::2]] == [
        ("5x4", ["1", "2", "3"]),
        ("4x4", []),
        ("..../..../..o./.xx.", ["1"]),
        ("5x4", ["1", "2", "3"]),
    ]
    assert f"{book} has 3 openings for 8 games: they repeat" in done.stderr


def test_random_openings_are_distinct_as_far_as_possible(daemon):
    with EngineClient(daemon, "connect4") as client:
        some = drawn(client, ["4x4"], 1, 7)
        first, second = ([next(some).moves for _ in range(4)] for _ in range(2))
        assert sorted(first) == sorted(second) == [("1",), ("2",), ("3",), ("4",)]
        texts = [opening.text for opening, _ in zip(drawn(client, ["5x4"], 4, 7), range(60), strict=False)]
        assert len(set(texts)) == 60


def test_seed_gives_other_openings(daemon):
    with EngineClient(daemon, "connect4") as client:

        def some(seed):
            return [opening.moves for opening, _ in zip(drawn(client, ["7x6"], 4, seed), range(5), strict=False)]

        assert some(1) == some(1) != some(2)


def test_games_do_not_depend_on_concurrency(play, tmp_path):
    paths = [tmp_path / "one.jsonl", tmp_path / "three.jsonl"]
    for path, concurrency in zip(paths, (1, 3), strict=True):
        play(*QUICK, "--games", 8, "--concurrency", concurrency, "--save", path, first="seed=1", second="seed=2")
    one, three = ([(game["moves"], game["winner"]) for game in saved(path)[1]] for path in paths)
    assert one == three


def test_more_games_at_once_than_slots_is_told(play, daemon):
    with EngineClient(daemon, "connect4") as client:
        slots = client.describe().daemon.slots
    done = play(*QUICK, "--games", 2, "--concurrency", slots + 1)
    assert f"{slots + 1} games at once, but a daemon runs {slots} searches: moves wait" in done.stderr


def test_games_far_beyond_the_slots_wait_and_nobody_forfeits(play, tmp_path):
    play("--start", "5x4", "--move-time", "50", "--concurrency", "12", "--games", "12", "--save", tmp_path / "games")
    _, games = saved(tmp_path / "games")
    assert len(games) == 12
    assert {game["reason"] for game in games} == {"rules"}


# Forfeits, from an engine that is none


class Fake(engine_pb2_grpc.EngineServiceServicer):
    """Answers `go` as it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def Describe(self, request, context):  # noqa: N802
        return engine_pb2.DescribeResponse(daemon=engine_pb2.DaemonInfo(slots=2))

    def Search(self, request, context):  # noqa: N802
        return engine_pb2.SearchResponse(report=search_pb2.Report(final=True, move="1"))

    def Play(self, requests, context):  # noqa: N802
        for request in requests:
            if request.WhichOneof("command") == "go":
                yield self.answer(request.id, context)
            else:
                yield engine_pb2.PlayResponse(id=request.id, state=position_pb2.State())


def plays(move, stop_reason=search_pb2.STOP_REASON_NODES):
    """An answer with a move."""
    report = search_pb2.Report(final=True, move=move, stop_reason=stop_reason)
    return lambda number, context: engine_pb2.PlayResponse(id=number, report=report)


def refuses(number, context):
    """An answer with an error that leaves the stream open."""
    return engine_pb2.PlayResponse(id=number, error=engine_pb2.CommandError(code=13, message="out of ideas"))


def sleeps(number, context):
    """No answer for as long as somebody waits."""
    while context.is_active():
        time.sleep(0.05)
    return plays("1")(number, context)


@pytest.fixture
def fake():
    """A function that serves an engine which answers so; its address."""
    servers = []

    def fake(answer):
        server = grpc.server(ThreadPoolExecutor(8))
        engine_pb2_grpc.add_EngineServiceServicer_to_server(Fake(answer), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    yield fake
    for server in servers:
        server.stop(None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (plays("9"), "first plays '9': unknown move \"9\"; moves are columns, 1 to 5"),
        (plays(None), "first has no move"),
        (refuses, "first answers with an error: out of ideas"),
        (lambda _, context: context.abort(grpc.StatusCode.INTERNAL, "boom"), "first answers with an error: "),
        (lambda _, context: context.abort(grpc.StatusCode.UNAVAILABLE, "gone"), "first is lost 3 times at one move: "),
        (plays("1", search_pb2.STOP_REASON_STOPPED), "first is lost 3 times at one move: the daemon shuts down"),
        (sleeps, "first gives no answer within 2 s"),
    ],
)
def test_forfeits(fake, daemon, tmp_path, monkeypatch, answer, reason):
    path = tmp_path / "games.jsonl"
    if answer is sleeps:
        monkeypatch.setattr(runner, "PATIENT_SECONDS", 2.0)
    sides = ["--first", f"at={fake(answer)}", "--second", f"at={daemon}"]
    done = invoke("match", "connect4", *sides, *QUICK, "--games", 2, "--save", path, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["losses"], told["first"]["forfeits"], told["second"]["forfeits"]) == (2, 2, 0)
    games = saved(path)[1]
    assert [game["winner"] for game in games] == ["second", "second"]
    assert [len(game["moves"]) for game in games] == [0, 1]
    for game in games:
        assert game["reason"].startswith(reason)
        assert f"game {game['game']}: {reason}" in done.stderr


def test_clock_runs_out(fake, daemon):
    def slow(number, context):
        time.sleep(0.4)
        return plays("1")(number, context)

    sides = ["--first", f"at={fake(slow)} clock=0.2+1", "--second", f"at={daemon} nodes=1"]
    done = invoke("match", "connect4", *sides, "--start", "5x4", "--games", 2, "--json")
    assert json.loads(done.stdout)["first"]["forfeits"] == 2
    assert re.search(r"game 0: first is out of time: 0\.\d+ s for a move with 0\.200 s left", done.stderr)


def test_overshoot_is_seen(fake, daemon):
    def slow(number, context):
        time.sleep(0.1)
        return plays("9")(number, context)

    sides = ["--first", f"at={fake(slow)} time=0.02", "--second", f"at={daemon} nodes=1"]
    told = json.loads(invoke("match", "connect4", *sides, "--start", "5x4", "--games", 2, "--json").stdout)
    assert 75 < told["first"]["worst_overshoot_ms"] < 2000
    assert 95 < told["first"]["mean_ms"] < 2000


# The sequential test


def test_sequential_test_ends_the_match(fake, daemon, tmp_path):
    path = tmp_path / "games.jsonl"
    sides = ["--first", f"at={fake(plays('9'))}", "--second", f"at={daemon}"]
    options = [*sides, *QUICK, "--games", 1000, "--sprt", -200, 0, "--save", path]
    done = invoke("match", "connect4", *options, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["sprt"]["accepted"] == "H0"
    assert told["sprt"]["llr"] <= told["sprt"]["lower"] == pytest.approx(-2.944, abs=1e-3)
    assert told["games"] == 2 * sum(told["pairs"]) == 2 * told["pairs"][0] == 16  # (score_of(200) / 0.5)^n > 19
    assert len(saved(path)[1]) >= told["games"]
    text = invoke("match", "connect4", *options, "--resume").stdout
    assert "between -2.94 and 2.94; H0 is accepted: -200 Elo" in text
    assert re.search(rf"games +{told['games']} of 1000", text)


def test_sequential_test_that_is_not_decided(play):
    done = play(*QUICK, "--games", 4, "--sprt", -1, 1)
    assert "; not decided between -1 and 1 Elo" in done.stdout
    assert "  LLR " in done.stderr


# What is saved


def test_resume_after_a_kill(play, daemon, tmp_path):
    path, whole = tmp_path / "games.jsonl", tmp_path / "whole.jsonl"
    options = [*QUICK, "--games", 16, "--concurrency", 2]
    command = [*PLYD, "match", "connect4", "--first", f"at={daemon} ", "--second", f"at={daemon} ", *options]
    with subprocess.Popen([*map(str, command), "--save", str(path)], stderr=subprocess.DEVNULL) as process:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 3)
        process.kill()
    before = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"game": 15, "sta')  # as if the kill had come in the middle of a line
    assert before.count(b"\n") < 17
    done = play(*options, "--save", path, "--resume")
    assert re.search(r"games +16 of 16", done.stdout)
    assert path.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    play(*options, "--save", whole)
    resumed, clean = ([game["moves"] for game in saved(path)[1]] for path in (path, whole))
    assert resumed == clean


def test_resumed_match_can_grow(play, tmp_path):
    path = tmp_path / "games.jsonl"
    for games in (4, 8):
        play(*QUICK, "--games", games, "--save", path, "--resume")
        assert len(saved(path)[1]) == games
    assert json.loads(play(*QUICK, "--games", 2, "--save", path, "--resume", "--json").stdout)["games"] == 2


def test_file_of_another_match(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 2, "--save", path)
    for options, message in [
        (["--seed", 1], "its seed is 0, asked for is 1"),
        (["--opening-plies", 2], "its opening_plies is 4, asked for is 2"),
        (["--start", "4x4"], 'its start is ["5x4"], asked for is ["5x4", "4x4"]'),
    ]:
        done = play(*QUICK, "--games", 2, "--save", path, "--resume", *options, exit_code=1)
        assert done.stderr == f"Error: {path} is of another match: {message}\n"
    done = play(*QUICK, "--games", 2, "--save", path, "--resume", first="seed=5", exit_code=1)
    assert re.search(r'its first is {"name": "first", .*}, asked for is .*{"seed": "5"}}\n', done.stderr)
    done = play(*QUICK, "--games", 2, "--save", path, exit_code=1)
    assert done.stderr == f"Error: {path} is there already; go on with it by --resume, or save elsewhere\n"


@pytest.mark.parametrize("text", ["hello\n", "[1]\n", "hello", "\n"])
def test_file_of_no_match_stays_as_it_is(play, tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    done = play(*QUICK, "--games", 2, "--save", path, "--resume", exit_code=1)
    assert done.stderr.startswith(f"Error: {path} is not a file of a match")
    assert path.read_text() == text


def test_saved_games_that_are_damaged(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 2, "--save", path)
    header, one, _ = path.read_text().splitlines()
    for line in ["hello", "{}", '{"game": 1}', one.replace('"winner":"', '"winner":"x'), "[]"]:
        path.write_text(f"{header}\n{one}\n{line}\n")
        done = play(*QUICK, "--games", 2, "--save", path, "--resume", exit_code=1)
        assert done.stderr == f"Error: {path}, line 3: {line[:60]!r} is no game of a match\n"
    path.write_text(f"{header}\n{one.replace('5x4', '4x4')}\n")
    done = play(*QUICK, "--games", 2, "--save", path, "--resume", exit_code=1)
    assert re.search(r"game \d began with '4x4 \| .*' when it was saved; it would begin with '5x4", done.stderr)


# What dies, and who interrupts


def test_daemon_that_restarts_costs_no_game(tmp_path):
    path = tmp_path / "games.jsonl"
    process, address = serve(free_place())
    sides = ["--first", f"at={address}", "--second", f"at={address}"]
    done = []
    command = ["match", "connect4", *sides, "--start", "6x5", "--move-time", 20, "--games", 8, "--save", path]
    thread = threading.Thread(target=lambda: done.append(invoke(*command)))
    thread.start()
    try:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 1)
        end(process)
        process, _ = serve(address)
        thread.join(SOON)
    finally:
        end(process)
    [done] = done
    assert done.exit_code == 0, done.stderr
    assert {game["reason"] for game in saved(path)[1]} == {"rules"}
    assert len(saved(path)[1]) == 8


def test_daemon_that_is_gone_ends_the_match_with_what_there_is(tmp_path, monkeypatch):
    path = tmp_path / "games.jsonl"
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.3)
    process, address = serve()
    sides = ["--first", f"at={address}", "--second", f"at={address}"]
    done = []
    command = ["match", "connect4", *sides, "--start", "6x5", "--move-time", 20, "--games", 100, "--save", path]
    thread = threading.Thread(target=lambda: done.append(invoke(*command)))
    thread.start()
    try:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 1)
    finally:
        end(process)
    thread.join(SOON)
    [done] = done
    assert done.exit_code == 1
    assert re.search(rf"games +{len(saved(path)[1])} of 100\n", done.stdout)
    assert re.search(rf"^Error: .*{address} is unavailable", done.stderr, re.MULTILINE)


def test_interrupt_prints_what_there_is(daemon, tmp_path):
    path = tmp_path / "games.jsonl"
    options = ["--start", "5x4", "--move-time", "20", "--games", "1000", "--save", str(path), "--json"]
    command = [*PLYD, "match", "connect4", "--first", f"at={daemon}", "--second", f"at={daemon}", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
    assert process.returncode == 130
    assert 2 <= json.loads(out)["games"] == len(saved(path)[1]) < 1000
    assert b"Traceback" not in err


def test_board_is_drawn_on_a_terminal(daemon):
    terminal, other_end = pty.openpty()
    command = [*PLYD, "match", "connect4", "--first", f"at={daemon}", "--second", f"at={daemon}", *QUICK]
    done = subprocess.run([*command, "--games", "4"], stdout=subprocess.PIPE, stderr=other_end, timeout=SOON)
    os.close(other_end)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert done.returncode == 0
    assert done.stdout.startswith(b"connect4: first against second\n")
    assert "connect4: first against second" in shown
    assert "4/4 games" not in shown


# Usage


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
            "Invalid value for --clock: clock is 'fast'; allowed is seconds for all moves",
        ),
        (["connect4", "--resume"], "--resume needs the FILE of --save"),
        (["connect4", "--sprt", "5", "5"], "--sprt 5 5: ELO0 has to be less than ELO1"),
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
            "after 16 random moves from '4x4' the game is over; begin with",
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
        ("\n \n", "holds no opening; one is a line such as '7x6 | 4 4'"),
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


def test_game_for_one_player(plyd):
    done = invoke("match", "2584-2x3")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: 2584-2x3 is a game for one player; a match needs a game for two\n"


def test_game_that_is_not_there(daemon):
    done = invoke("match", "chess")
    assert done.exit_code == 1
    assert 'unknown game "chess"; games are ' in done.stderr
    done = invoke("match", "chess", "--first", f"at={daemon}", "--second", f"at={daemon}")
    assert done.exit_code == 1
    assert "connect4" in done.stderr


def test_nobody_there(daemon, nowhere):
    done = invoke("match", "connect4", "--first", f"at={nowhere}", "--second", f"at={daemon}")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: first: {nowhere} is unavailable")


def test_help_teaches():
    text = invoke("match", "--help").stdout
    for words in [
        "plyd match connect4",
        "--first WORDS",
        "at=HOST:PORT",
        "time=SECONDS",
        "--sprt",
        "--resume",
        "clock=S+S",
    ]:
        assert words in text
