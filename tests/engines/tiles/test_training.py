"""Training of tile games: a resumed run equals an uninterrupted one, stops save, other folders are refused."""

import functools
import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.training_run import LOCK, LOG, TrainingRun, revision
from plyd.engines.tiles.ntuple.network import network_of, shape_of
from plyd.engines.tiles.train import trainer
from plyd.engines.tiles.train.learn import game_of, play_befores, train
from plyd.engines.tiles.train.trainer import BATCH, TilePlan, TileTrainer
from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, MANIFEST
from plyd.models.ntuple.checkpoint import read_checkpoint
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles.slow_tiles import GAMES, SlowNetwork, cells_of, legal_slides
from tests.engines.tiles.small_players import NETWORK, desk_of, method_of
from tests.patience import SOON

GAME = GAMES["2048"]
PLAN = TilePlan("2048", "classic", NETWORK, 15)


def train_in(folder, games, threads=1, is_killed=False, **changed):
    """A trainer after a command that trained up to so many games; killed: it ended before it saved."""
    trainer = TileTrainer(GAMES[changed.get("game", "2048")], replace(PLAN, **changed), threads)
    with TrainingRun(folder, trainer) as run:
        run.resume()
        run.begin("plyd train 2048")
        for _ in run.blocks(games):
            pass
        if not is_killed:
            run.save()
    return trainer


def lines_of(folder):
    """The lines of a run's log."""
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


@pytest.fixture
def small_blocks(monkeypatch):
    """A line of the log for each 50 games."""
    monkeypatch.setattr(trainer, "BLOCK", 50)


# --- Resuming ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tc", "td"])
@pytest.mark.parametrize("parts", [(150,), (10, 20, 100), (60, 150)])
def test_a_run_in_parts_learns_what_a_run_in_one_does(tmp_path, small_blocks, method, parts):
    settings = {"method": method, "rate": 0.5, "optimism": 320.0}
    whole = train_in(tmp_path / "whole", 200, **settings)
    for games in (*parts, 200):
        part = train_in(tmp_path / "parts", games, **settings)
        assert part.progress.games == games
    assert part.weights.tobytes() == whole.weights.tobytes()
    assert part.sums.tobytes() == whole.sums.tobytes()
    assert part.seeds.tolist() == whole.seeds.tolist()
    assert replace_seconds(part.progress) == replace_seconds(whole.progress)
    one, other = (
        [line | {"seconds": 0, "pace": 0} for line in lines_of(tmp_path / name)] for name in ("whole", "parts")
    )
    assert one == other
    assert [line["games"] for line in one] == [50, 100, 150, 200]


def replace_seconds(progress):
    return asdict(progress) | {"seconds": 0}


def test_a_run_that_has_all_its_games_plays_no_more(tmp_path):
    before = train_in(tmp_path, 20)
    again = train_in(tmp_path, 20)
    assert again.progress.games == 20
    assert (again.weights == before.weights).all()


def test_a_checkpoint_holds_only_weights_that_were_learned(tmp_path):
    trainer = train_in(tmp_path, 20, optimism=32.0)
    found = read_checkpoint(tmp_path)
    assert found.fresh_weight == 1.0
    assert 100 < len(found.places) < trainer.weights.size / 10
    assert (found.whole() == trainer.weights).all()
    assert (trainer.weights == 1).sum() >= trainer.weights.size - len(found.places)


def test_optimism_is_the_first_value_of_every_board_and_stays_so_for_what_was_not_seen(tmp_path):
    assert set(TileTrainer(GAME, replace(PLAN, optimism=3200.0), 1).weights.tolist()) == {100.0}
    trainer = train_in(tmp_path, 20, optimism=3200.0)
    again = train_in(tmp_path, 20, optimism=0.0)
    assert again.fresh_weight == 100
    assert again.weights.tobytes() == trainer.weights.tobytes()


def test_the_method_may_change_when_a_run_is_resumed(tmp_path):
    train_in(tmp_path, 20, method="td", rate=0.1)
    assert not train_in(tmp_path, 20, method="tc").sums.any()
    assert train_in(tmp_path, 40, method="tc").sums.any()
    train_in(tmp_path, 60, method="td", rate=0.1)
    assert read_checkpoint(tmp_path).progress["games"] == 60


@pytest.mark.parametrize("threads", [(1, 2), (2, 1)])
def test_the_number_of_threads_may_change_when_a_run_is_resumed(tmp_path, threads):
    for games, count in zip((40, 80), threads, strict=True):
        train_in(tmp_path, games, threads=count)
    assert read_checkpoint(tmp_path).progress["games"] == 80


def test_what_a_killed_run_logged_after_its_checkpoint_is_trained_and_logged_again(tmp_path, small_blocks):
    train_in(tmp_path, 20)
    train_in(tmp_path, 60, is_killed=True)
    assert [line["games"] for line in lines_of(tmp_path)] == [50]
    assert train_in(tmp_path, 20).progress.games == 20
    assert lines_of(tmp_path) == []
    train_in(tmp_path, 60)
    assert [line["games"] for line in lines_of(tmp_path)] == [50]


def test_a_run_killed_before_its_first_checkpoint_begins_its_log_again(tmp_path, small_blocks):
    train_in(tmp_path, 100, is_killed=True)
    train_in(tmp_path, 50)
    assert [line["games"] for line in lines_of(tmp_path)] == [50]


def test_a_run_killed_while_it_wrote_its_log_is_resumed(tmp_path, small_blocks):
    train_in(tmp_path, 50)
    with (tmp_path / LOG).open("a") as log:
        log.write('{"games": 100, "mov')
    train_in(tmp_path, 100)
    assert [line["games"] for line in lines_of(tmp_path)] == [50, 100]


def test_a_folder_of_the_first_release_is_resumed(tmp_path, small_blocks):
    """A folder as revision e8750f5 wrote it: without a lock, and with these fields and no others."""
    train_in(tmp_path, 50)
    (tmp_path / LOCK).unlink()
    kept = {"game", "variant", "network", "base", "threads", "games", "moves", "seconds", "last_block", "commands"}
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert set(manifest) == kept
    assert set(manifest["commands"][0]) == {"command", "revision", "plan", "from_games", "began"}
    assert set(read_checkpoint(tmp_path).progress) == {"games", "moves", "seconds", "block", "late"}
    assert train_in(tmp_path, 100).progress.games == 100


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"network": "0123 4567"}, "network"),
        ({"network": "4567 0123 0145 1256"}, "network"),
        ({"game": "2584"}, "game"),
    ],
)
def test_a_folder_with_another_run_is_refused(tmp_path, changed, what):
    train_in(tmp_path, 10)
    with pytest.raises(BadWeights, match=f"has the {what} .*, not .*; choose another folder"):
        train_in(tmp_path, 10, **changed)


@pytest.mark.parametrize(("changed", "what"), [({"variant": "hard"}, "variant"), ({"cap": 11}, "base")])
def test_a_folder_with_another_variant_or_cap_of_2584_is_refused(tmp_path, changed, what):
    plan, path = TilePlan("2584", "classic", "01", 12), tmp_path / CHECKPOINT
    TileTrainer(GAMES["2584"], plan, 1).save(path)
    TileTrainer(GAMES["2584"], plan, 1).load(path)
    with pytest.raises(BadWeights, match=f"has the {what} .*, not .*; choose another folder"):
        TileTrainer(GAMES["2584"], replace(plan, **changed), 1).load(path)


@pytest.fixture
def invoke(monkeypatch):
    """`plyd train` in this process: exit code, output and errors."""
    monkeypatch.setattr(sys, "argv", ["plyd", "train", "2048"])
    return lambda *words: CliRunner().invoke(main, ["train", *map(str, words)])


def assert_one_line(result, *parts):
    assert result.exit_code == 1, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    for part in parts:
        assert part in lines[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a checkpoint after 20 games."""
    folder = tmp_path_factory.mktemp("saved")
    train_in(folder, 20)
    return (folder / CHECKPOINT).read_bytes()


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "text"])
def test_a_checkpoint_that_was_harmed_is_refused_in_one_line(tmp_path, invoke, saved, harm):
    flipped = bytearray(saved)
    flipped[len(saved) // 2] ^= 16
    data = {"flipped": flipped, "cut": saved[: len(saved) // 2], "empty": b"", "text": b"weights\n" * 100}[harm]
    (tmp_path / CHECKPOINT).write_bytes(data)
    result = invoke("2048", "--network", NETWORK, "--games", 30, "--threads", 1, "--out", tmp_path)
    assert_one_line(result, str(tmp_path / CHECKPOINT))
    assert (tmp_path / CHECKPOINT).read_bytes() == data, "and left as it is"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["2048", "--network", "4567", "--out", "{folder}"], "choose another folder"),
        (["2584", "--network", "01", "--out", "{folder}"], "choose another folder"),
        (["2048", "--variant", "hard"], 'no variant "hard"'),
        (["2048", "--network", "nonsense"], 'unknown network "nonsense"'),
        (["2048", "--network", "0011"], "unknown network"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_trained_is_told_in_one_line(tmp_path, invoke, saved, words, part):
    (tmp_path / CHECKPOINT).write_bytes(saved)
    result = invoke(*(word.format(folder=tmp_path) for word in words), "--games", 10)
    assert_one_line(result, part.format(folder=tmp_path))


def test_a_file_where_the_folder_should_be_is_told_in_one_line(tmp_path, invoke):
    (tmp_path / "taken").write_text("")
    result = invoke("2048", "--network", "01", "--games", 10, "--out", tmp_path / "taken")
    assert result.exit_code == 1
    assert [line for line in result.stderr.splitlines() if "Error" in line] == [
        f"Error: File exists: {tmp_path / 'taken'}"
    ]


# --- What a run writes ------------------------------------------------------------------------------------------------


def test_a_line_of_the_log_has_the_statistics_of_its_block(tmp_path, small_blocks):
    trainer = train_in(tmp_path, 100)
    first, last = lines_of(tmp_path)
    assert first["games"] == 50
    assert list(last) == ["games", "moves", "seconds", "pace", "average", "maximum", "reached"]
    assert last["games"] == 100
    assert last["moves"] == trainer.progress.moves
    assert last["pace"] == pytest.approx(last["moves"] / trainer.progress.seconds, rel=0.2)
    results = [[10, 5, 3], [20, 6, 4], [60, 9, 4], [30, 8, 6]]
    line = trainer.summary(results)
    assert (line["average"], line["maximum"]) == (30.0, 60)
    assert line["reached"] == {"8": 1.0, "16": 0.75, "32": 0.25, "64": 0.25}


def test_the_manifest_tells_how_the_network_was_made(tmp_path, small_blocks):
    train_in(tmp_path, 50, seed=7)
    train_in(tmp_path, 70, seed=7, rate=0.5)
    manifest, progress = json.loads((tmp_path / MANIFEST).read_text()), read_checkpoint(tmp_path).progress
    assert (manifest["game"], manifest["variant"], manifest["network"]) == ("2048", "classic", NETWORK)
    assert (manifest["base"], manifest["threads"]) == (16, 1)
    assert (manifest["games"], manifest["moves"]) == (70, progress["moves"])
    assert manifest["seconds"] == round(progress["seconds"])
    assert manifest["last_block"]["games"] == 50
    first, second = manifest["commands"]
    assert (first["command"], first["from_games"], second["from_games"]) == ("plyd train 2048", 0, 50)
    assert (first["plan"]["seed"], first["plan"]["rate"], second["plan"]["rate"]) == (7, 1.0, 0.5)
    assert first["revision"] == revision() != ""
    assert time.strptime(first["began"], "%Y-%m-%dT%H:%M:%SZ")


def test_two_threads_lose_no_games(tmp_path, small_blocks):
    trainer = train_in(tmp_path, 213, threads=2)  # neither blocks nor batches come out even
    assert trainer.progress.games == 213
    assert [line["games"] for line in lines_of(tmp_path)] == [50, 100, 150, 200]
    assert len(trainer.progress.block) == 13
    assert 0 < 213 % BATCH < BATCH


def test_another_seed_plays_other_games(tmp_path):
    weights = []
    for seed in (1, 1, 2):
        weights.append(train_in(tmp_path / str(len(weights)), 10, seed=seed).weights.tobytes())
    assert weights[0] == weights[1] != weights[2]


def test_the_command_prints_the_labs_block_and_draws_the_curve(tmp_path, invoke, small_blocks):
    pytest.importorskip("matplotlib")
    words = ["2048", "--network", NETWORK, "--games", 100, "--threads", 1, "--out", tmp_path, "--plot"]
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    heads = [line.split("\t") for line in result.stdout.splitlines() if line[0] != "\t"]
    assert [head[0] for head in heads] == ["50", "100"]
    assert all("avg = " in head[1] and "max = " in head[1] and "moves/s" in head[1] for head in heads)
    rows = [line.split("\t")[1:] for line in result.stdout.splitlines() if line[0] == "\t"]
    assert all(len(row) == 3 and row[0].isdigit() and row[1].endswith("%") for row in rows)
    assert f"{tmp_path}: starts, 262,144 weights, tc" in result.stderr
    assert "saved after 100 games (+100)" in result.stderr
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_a_plot_is_refused_before_anything_is_trained(tmp_path, invoke, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke("2048", "--network", NETWORK, "--games", 10, "--out", tmp_path / "run", "--plot")
    assert_one_line(result, "--plot needs matplotlib")
    assert not (tmp_path / "run").exists()


def test_a_folder_in_use_is_refused(tmp_path, invoke):
    with TrainingRun(tmp_path, TileTrainer(GAME, PLAN, 1)):
        result = invoke("2048", "--network", NETWORK, "--games", 10, "--threads", 1, "--out", tmp_path)
    assert_one_line(result, f"another process is training in {tmp_path}")
    assert not (tmp_path / MANIFEST).exists()


def test_a_run_stops_after_its_minutes(tmp_path, invoke):
    result = invoke("2048", "--network", "01 15", "--minutes", 0.001, "--threads", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "saved after" in result.stderr


def test_a_curve_without_a_block_cannot_be_drawn_which_is_reported_after_the_run_was_saved(tmp_path, invoke):
    pytest.importorskip("matplotlib")
    result = invoke("2048", "--network", NETWORK, "--games", 10, "--threads", 1, "--out", tmp_path, "--plot")
    assert result.exit_code == 1
    assert read_checkpoint(tmp_path).progress["games"] == 10
    assert isinstance(result.exception, SystemExit)


# --- Killed and stopped -----------------------------------------------------------------------------------------------


def start(folder, *words):
    """`plyd train` as a process of its own, with blocks of 50 games and a network so small that they take a moment."""
    code = "from plyd.engines.tiles.train import trainer; trainer.BLOCK = 50\n"
    code += "from plyd.engines.train import train; train()"
    command = [sys.executable, "-c", code, "2048", "--network", "01 15", "--threads", "1"]
    command += ["--out", str(folder), "--save-every", "0", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_blocks(process, count):
    """Reads until so many blocks were printed."""
    while count:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        count -= "avg = " in line


def test_a_killed_run_is_resumed_from_its_last_checkpoint_and_sigterm_saves(tmp_path):
    process = start(tmp_path)
    wait_for_blocks(process, 3)  # the first two were saved by now
    process.kill()
    process.wait(SOON)
    at = read_checkpoint(tmp_path).progress["games"]
    assert at >= 100
    assert at % 50 == 0

    process = start(tmp_path)
    wait_for_blocks(process, 2)
    process.terminate()
    _, errors = process.communicate(timeout=SOON)
    assert process.returncode == 0, errors
    assert f"resumes at game {at}" in errors
    found, manifest = read_checkpoint(tmp_path), json.loads((tmp_path / MANIFEST).read_text())
    games = found.progress["games"]
    assert games == manifest["games"] >= at + 100
    assert f"saved after {games} games (+{games - at})" in errors
    assert len(found.progress["block"]) == games % 50
    assert [line["games"] for line in lines_of(tmp_path)] == list(range(50, games + 1, 50))


def test_ctrl_c_saves_and_exits_with_0(tmp_path, invoke, monkeypatch):
    """Also where the parent ignores SIGINT: the run sets a handler of its own, and restores the old one."""
    train_blocks = TileTrainer.train

    def interrupted(self, stop, max_count):
        for line in train_blocks(self, stop, max_count):
            signal.raise_signal(signal.SIGINT)
            yield line

    monkeypatch.setattr(TileTrainer, "train", interrupted)
    monkeypatch.setattr(trainer, "BLOCK", 50)
    before = signal.getsignal(signal.SIGINT)
    result = invoke("2048", "--network", "01 15", "--threads", 1, "--out", tmp_path)
    assert signal.getsignal(signal.SIGINT) == before
    assert result.exit_code == 0, result.output
    assert read_checkpoint(tmp_path).progress["games"] == 50
    assert "saved after 50 games (+50)" in result.stderr


# --- Methods ----------------------------------------------------------------------------------------------------------


@functools.cache
def points_without_learning():
    """Average points of play by zero weights: of slides that gain as much, the first."""
    return results_of(train, games=100, method=method_of(0.0))[0][:, 0].mean()


def results_of(kernel, games, method, weights=None, most_moves=1 << 14, seed=9, sums=None):
    """Results of games of a kernel, and the desk they were played at."""
    shape = shape_of(patterns_of(NETWORK), GAME.bits, 16)
    weights = np.zeros(int(shape.offsets[-1]), np.float32) if weights is None else weights
    sums = np.zeros(2 * weights.size, np.float32) if sums is None else sums
    path, points = np.zeros((most_moves, 1), np.uint64), np.zeros(most_moves, np.float32)
    desk, results = desk_of(path, points, seed, shape), np.zeros((games, 3), np.int64)
    kernel(games, GAME.empty, GAME.rows(), GAME.spawns("classic"), weights, sums, shape, method, desk, results)
    return results, desk


@pytest.mark.parametrize(("method", "rate", "trace"), [("td", 0.1, 0.5), ("tc", 1.0, 0.5), ("lab", 0.1, 0.0)])
def test_every_method_learns_to_make_more_points(tmp_path, method, rate, trace):
    trainer = train_in(tmp_path, 200, method=method, rate=rate, trace=trace)
    learned = np.mean([points for points, _, _ in trainer.progress.block[-80:]])
    assert learned > 1.5 * points_without_learning()


def test_a_goal_ends_games_at_its_tile(tmp_path):
    trainer = train_in(tmp_path, 60, goal=6)
    _, moves, largest = np.array(trainer.progress.block).T
    assert largest.max() == 6
    assert (largest == 6).mean() > 0.8, "a 64 comes early even in bad games"
    assert moves.max() < 200


def test_a_game_that_is_won_teaches_its_bonus():
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 5, 4 * 16**4).astype(np.float32)
    slow, method = (
        SlowNetwork(patterns_of(NETWORK), 16, weights),
        method_of(0.1, 0.5, goal=5, goal_points=32, bonus=900),
    )
    ((score, moves, largest),), desk = results_of(train, 1, method, weights)
    path, points = [cells_of(GAME, words) for words in desk.path[:moves]], desk.points[:moves].tolist()
    assert (largest, max(path[-1]), score) == (5, 5, sum(points))
    slow.learn(path, points, 900.0, method)
    assert np.allclose(weights, slow.weights, rtol=1e-4, atol=1e-2)


# --- The lab's way ----------------------------------------------------------------------------------------------------

#  3  4  5  6     Up and down merge the two 6s (tile 64) of the last column, for 128 points, and leave one empty cell
#  7  8  9 10     in a corner, where nothing merges with what may drop: the game is over.
#  3  4  5  6
#  7  8  9  6
LAST_SLIDE = (3, 4, 5, 6, 7, 8, 9, 10, 3, 4, 5, 6, 7, 8, 9, 6)


@njit(cache=True)
def play_lab(start, rows, spawns, weights, sums, shape, method, desk):
    net, game = network_of(weights, shape, desk.scratch), game_of(desk, rows, spawns)
    return play_befores(start, net, pointer_to(sums), method, game)


def test_the_labs_way_teaches_the_last_before_state_the_points_of_its_slide_alone():
    # One pattern of two cells: 8 features, and the target 128 of a board worth 0. Each of the eight weights under the
    # board moves by 0.5 * 128 / 8 = 8.
    shape = shape_of([(0, 1)], GAME.bits, 16)
    weights, sums = np.zeros(256, np.float32), np.zeros(0, np.float32)
    desk = desk_of(np.zeros((10, 1), np.uint64), np.zeros(10, np.float32), 1, shape)
    tables = GAME.rows(), GAME.spawns("classic"), weights, sums, shape, method_of(0.5, 0.0), desk
    moves, score, largest = play_lab(GAME.board(LAST_SLIDE), *tables)
    assert (moves, score, largest) == (1, 128, 10)
    assert cells_of(GAME, desk.path[0]) == LAST_SLIDE
    # corner and neighbour, each way: 3 4, 6 5, 3 7, 6 10, 7 8, 6 9, 7 3, 6 6
    expected = {(3, 4), (6, 5), (3, 7), (6, 10), (7, 8), (6, 9), (7, 3), (6, 6)}
    assert {(place % 16, place // 16) for place in np.flatnonzero(weights).tolist()} == expected
    assert set(weights[weights != 0].tolist()) == {8.0}


def test_a_game_in_the_labs_way_takes_the_slide_with_the_best_mean_over_drops_and_learns_by_the_formula():
    weights = np.random.default_rng(1).normal(0, 10, 4 * 16**4).astype(np.float32)
    slow, method = SlowNetwork(patterns_of(NETWORK), 16, weights), method_of(0.25, 0.0)
    ((score, moves, _),), desk = results_of(
        train, 1, method._replace(on_befores=True), weights, seed=4, sums=np.zeros(0, np.float32)
    )
    path, points = [cells_of(GAME, words) for words in desk.path[:moves]], desk.points[:moves].tolist()
    assert score == sum(points)
    spawns = GAME.variants["classic"].spawns

    def drops(after):
        free = [cell for cell in range(16) if after[cell] == 0]
        return {
            (*after[:cell], index, *after[cell + 1 :]): chance / len(free)
            for cell in free
            for index, chance in spawns.items()
        }

    for t in range(0, moves - 1, 9):
        slides = legal_slides(GAME, path[t]).values()
        values = [gained + sum(p * slow.value(b) for b, p in drops(after).items()) for after, gained in slides]
        chosen = [
            worth
            for worth, (after, gained) in zip(values, slides, strict=True)
            if path[t + 1] in drops(after) and gained == points[t]
        ]
        assert max(chosen) >= max(values) - 0.01

    now = 0.0
    for cells, gained in zip(path[::-1], points[::-1], strict=True):
        now = slow.update(cells, gained + now, method)
    assert np.allclose(weights, slow.weights, rtol=1e-3, atol=0.05)
