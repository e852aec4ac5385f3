"""`plyd play`: games from the engine, from a daemon, or from record files, and what is printed of them."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.formats.rec2584 import read_records
from plyd.clients.formats.rec2584_judge import Judge
from plyd.clients.formats.tile_replay import SLIDES, Replay
from plyd.clients.hosts.arena2584 import Adviser
from plyd.clients.library import client, errors
from plyd.clients.play import tile_games, tiles
from tests.patience import SOON, until
from tests.terminals import shown_on

HARD = {1: 0.75, 3: 0.25}

FAKE_BULK = """
import json, sys, time
print(*sys.argv[1:], file=open(__file__ + ".arguments", "w"))
for i in range(5):
    game = {"points": 1000 * i, "moves": 50, "largest": 16 + i % 2, "start_ms": 1000 * i + 1, "end_ms": 1000 * i + 501}
    if "--actions" in sys.argv:
        game["actions"] = [0x10, 0x11, 3, 0x1F]
    print(json.dumps(game), flush=True)
"""


def invoke(*arguments):
    """Run plyd with some arguments, in this process."""
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="plyd")


@pytest.fixture
def bulk(tmp_path, monkeypatch):
    """Let a small program stand in for the engine; the function gives the arguments it got."""
    script = tmp_path / "bulk.py"

    def install(code=FAKE_BULK):
        script.write_text(code)
        monkeypatch.setattr(tile_games, "BULK", [sys.executable, str(script)])
        return lambda: script.with_name("bulk.py.arguments").read_text().strip()

    return install


class FakeClient:
    """A client whose daemon plays the first legal move, and remembers what it was asked."""

    def __init__(self, game="2584", target="", variant="", retry_seconds=0.0):
        self.game, self.asked = game, []

    def search(self, position, options, **limits):
        self.asked.append((position, dict(options), limits))
        replay = Replay(self.game)
        letter, *cells = position.split()
        replay.cells = list(map(int, cells))
        replay.actions = [0x10, 0x11] if letter == "b" else [0x10, 0x11, 3]
        if letter == "b":
            return SimpleNamespace(move=SLIDES[replay.slides()[0]])
        return SimpleNamespace(move=f"{options['tile']}@{replay.empty()[-1]}")


def settings(game="2584", games=2, evil=False, seed=7):
    return tile_games.TileSettings(game, "hard", games, 1, None, evil, "evil" if evil else "chance", seed, 1)


# Bulk


def test_statistics_of_games_in_the_engine(bulk):
    arguments = bulk()
    done = invoke("play", "2584", "--games", 5, "--seed", 3, "--threads", 2, "--block", 3)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "3       avg = 1000, max = 2000, 100 moves/s\n"
        "        1597    100%    (66.67%)\n"
        "        2584    33.33%  (33.33%)\n"
        "\n"
        "5       avg = 3500, max = 4000, 100 moves/s\n"
        "        1597    100%    (50%)\n"
        "        2584    50%     (50%)\n"
        "\n"
    )
    assert arguments() == "2584 --variant classic --games 5 --depth 1 --seed 3 --threads 2 --reckon chance"


def test_every_option_reaches_the_engine(bulk, tmp_path):
    arguments, path = bulk(), tmp_path / "games.rec"
    options = ["--variant", "hard", "--move-time", 20, "--evil", "--save", path]
    assert invoke("play", "2584", *options).exit_code == 0
    assert re.fullmatch(
        r"2584 --variant hard --games 100 --move-time 20 --seed \d+ --threads \d+ --reckon evil --evil --actions",
        arguments(),
    )
    assert [list(actions) for actions, *_ in read_records(path)] == [[0x10, 0x11, 3, 0x1F]] * 5


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit('no weights')", "Error: the engine failed: no weights\n"),
        ("raise SystemExit(3)", "Error: the engine failed: exit status 3\n"),
        ("print('hello')", "Error: the engine wrote b'hello\\n', which is not a finished game\n"),
        ("print('{\"points\": 1}')", "Error: the engine wrote b'{\"points\": 1}\\n', which is not a finished game\n"),
        ("print('[1]')", "Error: the engine wrote b'[1]\\n', which is not a finished game\n"),
    ],
)
def test_engine_that_fails(bulk, code, message):
    bulk(code)
    done = invoke("play", "2048")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", message)


def test_games_before_a_failure_are_told(bulk):
    bulk(FAKE_BULK + "raise SystemExit('no more')")
    done = invoke("play", "2584")
    assert done.exit_code == 1
    assert done.stdout.startswith("5       avg = 2000, max = 4000, 100 moves/s\n")
    assert done.stderr == "Error: the engine failed: no more\n"


def program(script):
    """The command line of `plyd play` with another engine."""
    engine = [sys.executable, str(script)]
    code = f"from plyd.clients.play import cli, tile_games; tile_games.BULK = {engine!r}; cli.play()"
    return [sys.executable, "-c", code]


def test_interrupt_prints_what_there_is_and_ends_the_engine(tmp_path):
    script, path = tmp_path / "bulk.py", tmp_path / "games.rec"
    pid = tmp_path / "pid"
    script.write_text(FAKE_BULK + f"import os\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    command = [*program(script), "2584", "--block", "4", "--save", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert select.select([process.stdout], [], [], SOON)[0]
        until(lambda: pid.exists() and pid.read_text())
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
    assert (process.returncode, err) == (130, b"")
    assert [line.split()[0] for line in out.decode().splitlines() if " avg = " in line] == ["4", "5"]
    assert len(list(read_records(path))) == 5
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_bar_is_drawn_on_a_terminal_only(tmp_path):
    script = tmp_path / "bulk.py"
    script.write_text(FAKE_BULK)
    terminal, end = pty.openpty()
    command = [*program(script), "2584", "--games", "5"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=end, timeout=SOON)
    os.close(end)
    drawn = shown_on(terminal)
    assert done.returncode == 0
    assert done.stdout.decode().startswith("5       avg = 2000")
    assert "games" in drawn
    assert "avg" not in drawn


# Usage


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["2584", "--depth", "2", "--move-time", "5"], "--depth and --move-time exclude each other"),
        (["2048", "--variant", "hard"], "No such option '--variant'"),
        (["2048", "--save", "x"], "No such option '--save'"),
        (["2048", "--read", "x"], "No such option '--read'"),
        (["2584", "--read", "x", "--save", "y"], "--read and --save exclude each other"),
        (["2584", "--read"], "--read needs a FILE"),
        (["2584", "x"], "unexpected FILE 'x'; is --read missing?"),
        (["2584", "--connect", "x", "--threads", "2"], "--threads and --connect exclude each other"),
        (["2584", "--connect", ""], "an address is HOST:PORT or unix:PATH"),
        (["2584", "--games", "0"], "0 is not in the range"),
        (["4096"], "'4096' is not one of '2048', '2584'"),
    ],
)
def test_wrong_usage(arguments, message):
    done = invoke("play", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_file_that_cannot_be_written(bulk, tmp_path):
    bulk()
    done = invoke("play", "2584", "--save", tmp_path / "no" / "games.rec")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"Error: cannot write {tmp_path}/no/games.rec: No such file or directory\n"


def test_help_teaches():
    text = invoke("play", "--help").stdout
    for word in ["plyd play 2048 --games 1000", "--read games.rec", "--move-time MS", "--connect ADDRESS", "--evil"]:
        assert word in text


# Record files


def test_record_files_are_judged(tmp_path):
    path = tmp_path / "games.rec"
    results = tile_games.play_games(
        Adviser(FakeClient().search, {"depth": 1}, reckons_evil=False), settings(games=4), HARD
    )
    assert tiles.print_results(results, tiles.Blocks("2584", 3), 4, path) == 0
    done = invoke("play", "2584", "--read", path, path, "--block", 3)
    assert done.exit_code == 0
    assert done.stdout.count(f"{path}\n") == done.stdout.count("ends    all terminal") == 2
    assert re.findall(r"^(\d+) +avg", done.stdout, re.MULTILINE) == ["3", "4", "3", "4"]


def test_games_that_were_not_ended_are_status_1(bulk, tmp_path):
    bulk()
    path = tmp_path / "games.rec"
    invoke("play", "2584", "--save", path)
    done = invoke("play", "2584", "--read", path)
    assert done.exit_code == 1
    assert "ends    5 of 5 games could go on, the first is record 1" in done.stdout


def test_record_file_that_is_broken(tmp_path):
    path = tmp_path / "games.rec"
    path.write_bytes(b"no game")
    done = invoke("play", "2584", "--read", path)
    assert (done.exit_code, done.stderr) == (1, f"Error: {path}: 7 bytes; a record file has at least 8\n")


def test_record_file_that_is_not_there(tmp_path):
    done = invoke("play", "2584", "--read", tmp_path / "games.rec")
    assert done.exit_code == 1
    assert done.stderr == f"Error: cannot read {tmp_path}/games.rec: No such file or directory\n"


# Over the wire


@pytest.mark.parametrize("game", ["2048", "2584"])
def test_one_search_a_move(game):
    fake = FakeClient(game)
    odds = {1: 0.9, 2: 0.1}
    games = list(tile_games.play_games(Adviser(fake.search, {"depth": 2}, reckons_evil=False), settings(game), odds))
    assert len(games) == 2
    assert len(fake.asked) == sum(result.moves for result in games)
    for position, options, limits in fake.asked:
        assert position.startswith("b ")
        assert (options, limits) == ({}, {"depth": 2})


def test_evil_environment_chooses_cells_but_not_tiles():
    fake, judge = FakeClient(), Judge()
    games = list(
        tile_games.play_games(
            Adviser(fake.search, {"seconds": 0.01}, reckons_evil=True), settings(evil=True, games=9), HARD
        )
    )
    for result in games:
        judge.replay(result.actions)
    drops = [options["tile"] for position, options, _ in fake.asked if position.startswith("a ")]
    assert len(drops) == sum(result.moves for result in games)
    assert 0.6 < drops.count("1") / len(drops) < 0.9
    assert all(options["environment"] == "evil" for _, options, _ in fake.asked)
    assert not judge.unfinished


@pytest.mark.parametrize(
    ("asked", "played", "reckoned"),
    [
        ([], False, "chance"),
        (["--evil"], True, "evil"),
        (["--evil", "--reckon", "chance"], True, "chance"),
        (["--reckon", "evil"], False, "evil"),
    ],
)
def test_a_player_reckons_with_what_plays_unless_told_otherwise(asked, played, reckoned, monkeypatch):
    seen = []
    monkeypatch.setattr(tiles, "in_bulk", lambda settings, **_: seen.append(settings) or (yield from ()))
    assert invoke("play", "2048", *asked).exit_code == 0
    assert [(settings.evil, settings.reckon) for settings in seen] == [(played, reckoned)]


def test_slides_reckon_with_chance_while_an_evil_environment_drops():
    fake = FakeClient()
    adviser = Adviser(fake.search, {"depth": 2}, reckons_evil=False)
    list(tile_games.play_games(adviser, settings(evil=True, games=1), HARD))
    slides = [options for position, options, _ in fake.asked if position.startswith("b ")]
    drops = [options for position, options, _ in fake.asked if position.startswith("a ")]
    assert set(map(len, slides)) == {0}
    assert {options["environment"] for options in drops} == {"evil"}


def test_same_seed_same_games():
    def actions(seed):
        adviser = Adviser(FakeClient().search, {"depth": 1}, reckons_evil=False)
        return [list(result.actions) for result in tile_games.play_games(adviser, settings(seed=seed), HARD)]

    assert actions(1) == actions(1) != actions(2)


def test_odds_come_from_the_daemon(monkeypatch):
    asked = []

    class Daemon(FakeClient):
        def __init__(self, target, game, variant, retry_seconds):
            super().__init__(game)
            asked.append((target, game, variant))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def inspect(self):
            moves = [SimpleNamespace(move=f"{i}@{cell}", probability=HARD[i] / 16) for i in HARD for cell in range(16)]
            return SimpleNamespace(legal_moves=moves)

    monkeypatch.setattr(client, "EngineClient", Daemon)
    done = invoke("play", "2584", "--variant", "hard", "--connect", "there", "--games", 2, "--depth", 2)
    assert done.exit_code == 0
    assert done.stdout.startswith("2       avg = ")
    assert set(asked) == {("there", "2584", "hard")}


def test_daemon_that_answers_nonsense():
    adviser = Adviser(lambda *_, **__: SimpleNamespace(move="sideways"), {"depth": 1}, reckons_evil=False)
    with pytest.raises(errors.DaemonFault, match="the daemon answers 'sideways' at 'b "):
        list(tile_games.play_games(adviser, settings(), HARD))


class PlaysOn:
    """A client whose daemon plays on as it is told: each game is a list of replies, or an error among them."""

    def __init__(self, *games):
        self.games, self.seeds = list(games), []

    def play(self):
        return contextlib.nullcontext(self)

    def play_on(self, moves, seed):
        assert moves == tile_games.MOST_SLIDES
        self.seeds.append(seed)
        for reply in self.games.pop(0):
            if isinstance(reply, Exception):
                raise reply
            yield SimpleNamespace(moves=reply.split())


def test_a_daemon_plays_on_by_itself_at_depth_1():
    fake = PlaysOn(["1@0 1@1 left", "1@3"], ["1@0 1@1"])
    first, second = tile_games.played_on(fake, settings("2584", games=2))
    assert (first.points, first.moves, list(first.actions)) == (2, 1, [16, 17, 3, 19])
    assert list(second.actions) == [16, 17]
    assert fake.seeds[0] != fake.seeds[1]


def test_a_game_that_breaks_off_is_played_again_from_its_seed():
    fake = PlaysOn(["1@0 1@1 left", errors.Unavailable("gone")], ["1@0 1@1"], ["1@2 1@3"])
    assert [list(result.actions) for result in tile_games.played_on(fake, settings(games=2))] == [[16, 17], [18, 19]]
    assert fake.seeds[0] == fake.seeds[1] != fake.seeds[2]


@pytest.mark.parametrize("moves", ["1@0 1@0", "1@0 1@1 up up", "left", "1@16", "x@1", "1@", "sideways", "9@1"])
def test_a_daemon_that_plays_nonsense_on(moves):
    with pytest.raises(errors.DaemonFault, match="the daemon plays"):
        list(tile_games.played_on(PlaysOn([moves]), settings(games=1)))


def test_nobody_there(nowhere):
    done = invoke("play", "2584", "--connect", nowhere)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {nowhere} is unavailable")


# The real thing, with small networks


@pytest.mark.parametrize("options", [[], ["--evil"]], ids=["chance", "evil"])
def test_games_through_a_daemon(tmp_path, daemon_2584, options):
    path, words = tmp_path / "games.rec", ["--variant", "hard", "--games", 1, "--connect", daemon_2584]
    done = invoke("play", "2584", *words, "--save", path, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    assert invoke("play", "2584", "--read", path).exit_code == 0


@pytest.mark.parametrize("options", [[], ["--evil"], ["--depth", 2, "--until", 64]], ids=["chance", "evil", "until"])
def test_games_in_bulk(small_network, options):
    network = ["--model", small_network("2048")]
    done = invoke("play", "2048", "--games", 4, "--seed", 7, "--threads", 2, *network, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("4       avg = ")


@pytest.mark.parametrize(("variant", "tiles"), [("classic", "2-tiles"), ("hard", "3-tiles")])
def test_saved_games_in_bulk_pass_the_judge(tmp_path, small_network, variant, tiles):
    path = tmp_path / "games.rec"
    options = ["--variant", variant, "--games", 4, "--model", small_network("2584", variant), "--save", path]
    assert invoke("play", "2584", *options).exit_code == 0
    done = invoke("play", "2584", "--read", path)
    assert done.exit_code == 0
    assert tiles in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("game", ["2048", "2584"])
def test_games_in_bulk_by_the_shipped_network(game):
    done = invoke("play", game, "--games", 4, "--seed", 7)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("4       avg = ")
