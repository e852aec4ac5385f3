"""Training runs: resumed as if never interrupted, saved when told to stop, refused where another run lives."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import numpy as np
import pytest
from click.testing import CliRunner
from numba import njit

from plyd.clients.cli import main
from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.tiles.ntuple.network import network_of, room_for, shape_of
from plyd.engines.tiles.train import trainer
from plyd.engines.tiles.train.learn import Desk, game_of, play_befores, train
from plyd.engines.tiles.train.trainer import BATCH, BLOCK, LOG, MANIFEST, Plan, Trainer
from plyd.models.errors import BadWeights
from plyd.models.ntuple.checkpoint import NAME as CHECKPOINT
from plyd.models.ntuple.checkpoint import read_checkpoint
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles.slow_tiles import GAMES, SlowNetwork, cells_of, legal_slides
from tests.engines.tiles.small_players import NETWORK, method_of
from tests.patience import SOON

GAME = GAMES["2048"]
PLAN = Plan("2048", "classic", NETWORK, 15)


def trainer_in(folder, threads=1, **changed):
    """A trainer as the command line makes one, ready to train."""
    trainer = Trainer(GAMES[changed.get("game", "2048")], replace(PLAN, **changed), folder, threads)
    trainer.resume()
    trainer.begin("plyd train 2048")
    return trainer


def run(trainer, games):
    """The log's lines of a run that goes on until so many games in all, then saves."""
    lines = [line for line in trainer.blocks(games) if line]
    trainer.save()
    return lines


@pytest.fixture
def small_blocks(monkeypatch):
    """A line of the log for each 50 games."""
    monkeypatch.setattr(trainer, "BLOCK", 50)


# --- Resuming ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tc", "td"])
@pytest.mark.parametrize("parts", [(150,), (10, 20, 100), (60, 150)])
def test_a_run_in_parts_learns_what_a_run_in_one_does(tmp_path, small_blocks, method, parts):
    settings = {"method": method, "rate": 0.5, "optimism": 320.0}
    whole = trainer_in(tmp_path / "whole", **settings)
    run(whole, 200)
    for games in (*parts, 200):
        part = trainer_in(tmp_path / "parts", **settings)
        run(part, games)
        assert part.progress.games == games
    assert part.weights.tobytes() == whole.weights.tobytes()
    assert part.sums.tobytes() == whole.sums.tobytes()
    assert part.seeds.tolist() == whole.seeds.tolist()
    assert replace_seconds(part.progress) == replace_seconds(whole.progress)
    one, other = (
        [json.loads(line) | {"seconds": 0, "pace": 0} for line in (tmp_path / name / LOG).read_text().splitlines()]
        for name in ("whole", "parts")
    )
    assert one == other
    assert [line["games"] for line in one] == [50, 100, 150, 200]


def replace_seconds(progress):
    return asdict(progress) | {"seconds": 0}


def test_a_run_that_has_all_its_games_plays_no_more(tmp_path):
    run(trainer_in(tmp_path), 20)
    again = trainer_in(tmp_path)
    before = again.weights.copy()
    assert run(again, 20) == []
    assert again.progress.games == 20
    assert (again.weights == before).all()


def test_a_checkpoint_holds_only_weights_that_were_learned(tmp_path):
    trainer = trainer_in(tmp_path, optimism=32.0)
    run(trainer, 20)
    found = read_checkpoint(tmp_path)
    assert found.fresh_weight == 1.0
    assert 100 < len(found.places) < trainer.weights.size / 10
    assert (found.whole() == trainer.weights).all()
    assert (trainer.weights == 1).sum() >= trainer.weights.size - len(found.places)


def test_optimism_is_what_every_board_is_worth_at_first_and_stays_so_for_what_was_not_seen(tmp_path):
    trainer = trainer_in(tmp_path, optimism=3200.0)
    assert set(trainer.weights.tolist()) == {100.0}
    run(trainer, 20)
    again = trainer_in(tmp_path, optimism=0.0)
    assert again.fresh_weight == 100
    assert again.weights.tobytes() == trainer.weights.tobytes()


def test_the_method_may_change_from_one_time_to_the_next(tmp_path):
    run(trainer_in(tmp_path, method="td", rate=0.1), 20)
    again = trainer_in(tmp_path, method="tc")
    assert not again.sums.any()
    run(again, 40)
    assert again.sums.any()
    run(trainer_in(tmp_path, method="td", rate=0.1), 60)
    assert read_checkpoint(tmp_path).progress["games"] == 60


@pytest.mark.parametrize("threads", [(1, 2), (2, 1)])
def test_the_number_of_threads_may_change_from_one_time_to_the_next(tmp_path, threads):
    for games, count in zip((40, 80), threads, strict=True):
        run(trainer_in(tmp_path, threads=count), games)
    assert read_checkpoint(tmp_path).progress["games"] == 80


def test_a_run_that_stopped_within_a_block_was_never_logged_and_is_resumed_after_it_was_killed(tmp_path, small_blocks):
    run(trainer_in(tmp_path), 20)
    lost = trainer_in(tmp_path)
    assert [line["games"] for line in lost.blocks(60) if line] == [50]  # and killed, before it saves
    again = trainer_in(tmp_path)
    assert again.progress.games == 20
    run(again, 60)
    assert [json.loads(line)["games"] for line in (tmp_path / LOG).read_text().splitlines()] == [50]


def test_a_run_killed_before_its_first_checkpoint_begins_its_log_again(tmp_path, small_blocks):
    assert [line["games"] for line in trainer_in(tmp_path).blocks(100) if line] == [50, 100]  # and killed
    run(trainer_in(tmp_path), 50)
    assert [json.loads(line)["games"] for line in (tmp_path / LOG).read_text().splitlines()] == [50]


def test_a_run_killed_while_it_wrote_its_log_is_resumed(tmp_path, small_blocks):
    run(trainer_in(tmp_path), 50)
    with (tmp_path / LOG).open("a") as log:
        log.write('{"games": 100, "mov')
    run(trainer_in(tmp_path), 100)
    assert [json.loads(line)["games"] for line in (tmp_path / LOG).read_text().splitlines()] == [50, 100]


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
    run(trainer_in(tmp_path), 10)
    with pytest.raises(BadWeights, match=f"has the {what} .*, not .*; choose another folder"):
        Trainer(GAMES[changed.get("game", "2048")], replace(PLAN, **changed), tmp_path, 1).resume()


@pytest.mark.parametrize(("changed", "what"), [({"variant": "hard"}, "variant"), ({"cap": 11}, "base")])
def test_a_folder_with_another_variant_or_cap_of_2584_is_refused(tmp_path, changed, what):
    plan = Plan("2584", "classic", "01", 12)
    Trainer(GAMES["2584"], plan, tmp_path, 1).save()
    assert Trainer(GAMES["2584"], plan, tmp_path, 1).resume()
    with pytest.raises(BadWeights, match=f"has the {what} .*, not .*; choose another folder"):
        Trainer(GAMES["2584"], replace(plan, **changed), tmp_path, 1).resume()


@pytest.fixture
def invoke(monkeypatch):
    """`plyd train` in this process: exit code, output and errors; signals are put back as they were."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(sys, "argv", ["plyd", "train", "2048"])
    yield lambda *words: CliRunner().invoke(main, ["train", *map(str, words)])
    for number, handler in handlers.items():
        signal.signal(number, handler)


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
    run(trainer_in(folder), 20)
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
    trainer = trainer_in(tmp_path)
    blocks = []
    for line in trainer.blocks(100):
        if line:
            blocks.append(line)
        elif len(trainer.progress.block) == 50:
            results = np.array(trainer.progress.block)
    trainer.save()
    assert [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()] == blocks
    last = blocks[-1]
    assert list(last) == ["games", "moves", "seconds", "pace", "average", "maximum", "reached"]
    assert last["games"] == 100
    assert last["moves"] == trainer.progress.moves
    assert last["pace"] == pytest.approx(last["moves"] / trainer.progress.seconds, rel=0.2)
    points, _, largest = results.T
    assert (last["average"], last["maximum"]) == (points.mean(), points.max())
    assert last["reached"] == {
        str(2**index): (largest >= index).mean() for index in range(largest.min(), largest.max() + 1)
    }
    assert next(iter(last["reached"].values())) == 1.0


def test_the_manifest_tells_how_the_network_came_to_be(tmp_path, small_blocks):
    run(trainer_in(tmp_path, seed=7), 50)
    run(trainer_in(tmp_path, seed=7, rate=0.5), 70)
    manifest, progress = json.loads((tmp_path / MANIFEST).read_text()), read_checkpoint(tmp_path).progress
    assert (manifest["game"], manifest["variant"], manifest["network"]) == ("2048", "classic", NETWORK)
    assert (manifest["base"], manifest["threads"]) == (16, 1)
    assert (manifest["games"], manifest["moves"]) == (70, progress["moves"])
    assert manifest["seconds"] == round(progress["seconds"])
    assert manifest["last_block"]["games"] == 50
    first, second = manifest["commands"]
    assert (first["command"], first["from_games"], second["from_games"]) == ("plyd train 2048", 0, 50)
    assert (first["plan"]["seed"], first["plan"]["rate"], second["plan"]["rate"]) == (7, 1.0, 0.5)
    assert first["revision"] == trainer.revision() != ""
    assert time.strptime(first["began"], "%Y-%m-%dT%H:%M:%SZ")


def test_two_threads_lose_no_games(tmp_path, small_blocks):
    trainer = trainer_in(tmp_path, threads=2)
    lines = run(trainer, 213)  # neither blocks nor batches come out even
    assert trainer.progress.games == 213
    assert [line["games"] for line in lines] == [50, 100, 150, 200]
    assert len(trainer.progress.block) == 13
    assert 0 < 213 % BATCH < BATCH


def test_another_seed_plays_other_games(tmp_path):
    weights = []
    for seed in (1, 1, 2):
        trainer = trainer_in(tmp_path / str(len(weights)), seed=seed)
        run(trainer, 10)
        weights.append(trainer.weights.tobytes())
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
    assert "begins" in result.stderr
    assert "saved after 100 games (+100)" in result.stderr
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_of_no_block_cannot_be_drawn_and_that_is_told_after_the_run_was_saved(tmp_path, invoke):
    pytest.importorskip("matplotlib")
    result = invoke("2048", "--network", NETWORK, "--games", 10, "--threads", 1, "--out", tmp_path, "--plot")
    assert result.exit_code == 1
    assert read_checkpoint(tmp_path).progress["games"] == 10
    assert isinstance(result.exception, SystemExit)


# --- Killed and told to stop ------------------------------------------------------------------------------------------


def start(folder, *words):
    """`plyd train` as a process of its own, with a network so small that a block takes a moment."""
    command = [sys.executable, "-m", "plyd.engines.train", "2048", "--network", "01 15", "--threads", "1"]
    command += ["--out", str(folder), "--save-every", "0", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_blocks(process, count):
    """Reads until so many blocks were printed."""
    while count:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        count -= "avg = " in line


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path):
    process = start(tmp_path)
    wait_for_blocks(process, 3)  # the first two were saved by now
    process.kill()
    process.wait(SOON)
    at = read_checkpoint(tmp_path).progress["games"]
    assert at >= 2 * BLOCK
    assert at % BLOCK == 0

    process = start(tmp_path, "--games", str(at + 1500))
    _, told = process.communicate(timeout=SOON)
    assert process.returncode == 0, told
    assert f"goes on from game {at}" in told
    assert "(+1500)" in told
    found, manifest = read_checkpoint(tmp_path), json.loads((tmp_path / MANIFEST).read_text())
    assert found.progress["games"] == manifest["games"] == at + 1500
    assert len(found.progress["block"]) == 500
    logged = [json.loads(line)["games"] for line in (tmp_path / LOG).read_text().splitlines()]
    assert logged == list(range(BLOCK, at + 1500, BLOCK))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_run_told_to_stop_saves_and_exits_with_0(tmp_path, number):
    process = start(tmp_path)
    wait_for_blocks(process, 1)
    os.kill(process.pid, number)
    _, told = process.communicate(timeout=SOON)
    assert process.returncode == 0, told
    games = read_checkpoint(tmp_path).progress["games"]
    assert games >= BLOCK
    assert f"saved after {games} games (+{games})" in told
    assert json.loads((tmp_path / MANIFEST).read_text())["games"] == games


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
    desk, results = Desk(path, points, np.array([seed], np.uint64), room_for(shape)), np.zeros((games, 3), np.int64)
    kernel(games, GAME.empty, GAME.rows(), GAME.spawns("classic"), weights, sums, shape, method, desk, results)
    return results, desk


@pytest.mark.parametrize(("method", "rate", "trace"), [("td", 0.1, 0.5), ("tc", 1.0, 0.5), ("lab", 0.1, 0.0)])
def test_every_method_learns_to_make_more_points(tmp_path, method, rate, trace):
    trainer = trainer_in(tmp_path, method=method, rate=rate, trace=trace)
    run(trainer, 200)
    learned = np.mean([points for points, _, _ in trainer.progress.block[-80:]])
    assert learned > 1.5 * points_without_learning()


def test_a_goal_ends_games_at_its_tile(tmp_path):
    trainer = trainer_in(tmp_path, goal=6)
    run(trainer, 60)
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


@njit
def play_lab(start, rows, spawns, weights, sums, shape, method, desk):
    net, game = network_of(weights, shape, desk.room), game_of(desk, rows, spawns)
    return play_befores(start, net, pointer_to(sums), method, game)


def test_the_labs_way_teaches_the_last_before_state_the_points_of_its_slide_alone():
    # One pattern of two cells: 8 features, and the target 128 of a board worth 0. Each of the eight weights under the
    # board moves by 0.5 * 128 / 8 = 8.
    shape = shape_of([(0, 1)], GAME.bits, 16)
    weights, sums = np.zeros(256, np.float32), np.zeros(0, np.float32)
    desk = Desk(np.zeros((10, 1), np.uint64), np.zeros(10, np.float32), np.array([1], np.uint64), room_for(shape))
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
        worths = [gained + sum(p * slow.value(b) for b, p in drops(after).items()) for after, gained in slides]
        chosen = [
            worth
            for worth, (after, gained) in zip(worths, slides, strict=True)
            if path[t + 1] in drops(after) and gained == points[t]
        ]
        assert max(chosen) >= max(worths) - 0.01

    now = 0.0
    for cells, gained in zip(path[::-1], points[::-1], strict=True):
        now = slow.update(cells, gained + now, method)
    assert np.allclose(weights, slow.weights, rtol=1e-3, atol=0.05)
