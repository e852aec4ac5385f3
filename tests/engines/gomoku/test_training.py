"""Gomoku's training: games and the replay buffer, a short run from end to end, resuming, errors."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.core.training_run import LOG, TrainingError, TrainingRun
from plyd.engines.gomoku.mcts.nodes import MOST_MOVES
from plyd.engines.gomoku.train.replay import (
    ReplayBuffer,
    TrainingGame,
    as_line,
    game_of,
    games_as_arrays,
    games_of_arrays,
    read_games,
)
from plyd.engines.gomoku.train.self_play import SelfPlayParams, match, random_moves, self_play
from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, MANIFEST, read_file, write_file

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from plyd.engines.gomoku.mcts.inference import load_network  # noqa: E402
from plyd.engines.gomoku.train.export import largest_difference, onnx_bytes  # noqa: E402
from plyd.engines.gomoku.train.trainer import GomokuPlan, GomokuTrainer, elo_difference  # noqa: E402
from tests.patience import until  # noqa: E402

LINE = '{"size": 7, "variant": "freestyle", "moves": "d4 c3 d5 c4 d6", "result": 1, "opening": 2}'
QUICK = SelfPlayParams(simulations=12, quick_simulations=6, full_share=0.5, hot_plies=4, opening_plies=3, sizes=(5,))
SMALL = GomokuPlan(
    blocks=1,
    channels=4,
    batch=16,
    memory=300,
    reuse=8.0,
    bootstrap_steps=6,
    generation=4,
    rate_every=1,
    rate_games=2,
    rate_simulations=6,
    style=QUICK,
)


def toy(planes):
    return np.zeros((len(planes), planes.shape[2] ** 2), np.float32), np.zeros(len(planes), np.float32)


@pytest.fixture
def games(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text("".join(as_line(self_play(toy, QUICK, seed)[0]) + "\n" for seed in range(6)))
    return path


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


# --- Games ------------------------------------------------------------------------------------------------------------


def test_a_game_without_visits_is_learned_as_it_was_played():
    game = game_of(LINE)
    assert game.plies() == [2, 3, 4]
    assert [cells.tolist() for cells, _ in game.policies.values()] == [[2 * 7 + 3], [3 * 7 + 2], [1 * 7 + 3]]


def test_a_game_of_self_play_survives_its_line():
    for seed in range(5):
        game, simulations = self_play(toy, QUICK, seed)
        assert simulations > 0
        again = game_of(as_line(game))
        assert (again.size, again.result, again.opening) == (game.size, game.result, game.opening)
        assert again.moves.tolist() == game.moves.tolist()
        for ply, (cells, shares) in game.policies.items():
            assert again.policies[ply][0].tolist() == cells.tolist()
            assert again.policies[ply][1] == pytest.approx(shares, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 4}, "size is 4"),
        ({"size": "7"}, "size is '7'"),
        ({"result": 2}, "result is 2"),
        ({"opening": 9}, "opening is 9"),
        ({"moves": "d4 d4"}, "twice"),
        ({"moves": "d4 z9"}, "unknown move"),
        ({"moves": 7}, "not a game"),
        ({"visits": {"2": {}}}, "visits"),
        ({"visits": {"99": {"a1": 1}}}, "not played"),
    ],
)
def test_a_line_that_is_no_game_is_refused(changes, message):
    with pytest.raises(BadWeights, match=message):
        game_of(json.dumps(json.loads(LINE) | changes))


def test_a_file_is_read_as_it_grows_and_half_a_line_later(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text(LINE + "\n" + LINE[:20])
    games, place = read_games(path)
    assert len(games) == 1
    path.write_text(LINE + "\n" + LINE + "\n")
    games, end = read_games(path, place)
    assert (len(games), end) == (1, path.stat().st_size)
    path.write_text("{}\n")
    with pytest.raises(BadWeights, match=r"games\.jsonl"):
        read_games(path)


def test_the_replay_buffer_forgets_the_oldest_games():
    memory = ReplayBuffer(10)
    for result in (1, -1, 0, 1):
        memory.add([TrainingGame(7, np.arange(4, dtype=np.int16), result)])
    assert [game.result for game in memory.games] == [0, 1]
    assert memory.positions == 8


def test_the_replay_buffer_survives_a_checkpoint(games):
    memory = ReplayBuffer(1000)
    memory.add(read_games(games)[0])
    again = ReplayBuffer(1000)
    again.restore(memory.arrays())
    assert again.positions == memory.positions
    one, other = (m.sample(32, np.random.default_rng(2)) for m in (memory, again))
    assert (one.planes == other.planes).all()
    assert one.policy == pytest.approx(other.policy, abs=1e-3)
    assert (one.result == other.result).all()


def test_results_are_for_who_is_to_move():
    memory = ReplayBuffer(1000)
    memory.add([TrainingGame(7, np.arange(6, dtype=np.int16), 1)])
    batch = memory.sample(50, np.random.default_rng(1))
    first_to_move = batch.planes[:, 3, 0, 0] == 1
    assert (batch.result == np.where(first_to_move, 1, -1)).all()
    assert not batch.weight.any()  # no search was recorded


# --- Self-play --------------------------------------------------------------------------------------------------------


def test_openings_are_legal_and_vary():
    rng = np.random.default_rng(1)
    found = [random_moves(9, rng, 5) for _ in range(20)]
    assert all(len(set(moves)) == 5 and set(moves) <= set(range(81)) for moves in found)
    assert len({tuple(moves) for moves in found}) > 15


def test_the_same_seed_plays_the_same_game():
    assert as_line(self_play(toy, QUICK, 5)[0]) == as_line(self_play(toy, QUICK, 5)[0])


def test_a_network_against_itself_scores_even_over_a_pair_of_games():
    for seed in range(3):
        assert sum(match((toy, toy), 7, 12, seed)) == 0


def test_a_network_that_knows_more_wins():
    def seer(planes):  # likes its own threats first, then the opponent's
        logits, values = toy(planes)
        for plane, weight in ((4, 9), (10, 8), (5, 7), (11, 6), (6, 3), (7, 4), (12, 2), (13, 2), (8, 1)):
            logits += weight * planes[:, plane].reshape(len(planes), -1)
        return logits, values

    results = [result for seed in range(3) for result in match((seer, toy), 9, 16, seed)]
    assert sum(results) >= 3


def test_ratings_follow_elo():
    assert elo_difference(0.5, 20) == 0
    assert elo_difference(0.75, 10_000) == pytest.approx(190.8, abs=0.5)
    assert elo_difference(1.0, 20) == pytest.approx(-elo_difference(0.0, 20))
    assert elo_difference(1.0, 20) < 700


# --- Runs -------------------------------------------------------------------------------------------------------------


def network_of(trainer):
    return trainer.learner.network


def test_a_run_learns_from_others_then_plays_rates_and_publishes(tmp_path, games):
    folder = tmp_path / "run"
    trainer = GomokuTrainer(SMALL, folder, 1)
    trainer.bootstrap([games])
    lines = []
    with TrainingRun(folder, trainer) as run:
        run.begin("plyd train gomoku")
        for line in run.blocks():
            lines += [line] if line else []
            if trainer.progress.steps >= 20 and len(trainer.progress.ratings) > 1:
                run.stop.set()
        run.save()
        run.plot()
    assert [line["phase"] for line in lines[:2]] == ["others", "self-play"]
    assert [json.loads(line) for line in (folder / LOG).read_text().splitlines()] == lines
    assert trainer.progress.games > 1
    assert trainer.memory.positions <= 300
    assert trainer.progress.ratings[0]["elo"] == 0
    assert trainer.progress.ratings[1]["against"] == trainer.progress.ratings[0]["steps"]
    newest = sorted((folder / "nets").glob("*.plyd"))[-1]
    _, model = load_network(newest)
    assert model.name.startswith("gomoku-run-")
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["game"], manifest["network"]) == ("gomoku", "1x4")
    assert manifest["bootstrap"]["games"] == 6
    assert manifest["commands"][0]["command"] == "plyd train gomoku"
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_network_is_kept_until_it_is_rated_however_many_are_published_meanwhile(tmp_path):
    trainer = GomokuTrainer(SMALL, tmp_path, 1)
    (tmp_path / "nets").mkdir()
    trainer._rated = trainer._publish()
    for trainer.progress.steps in range(SMALL.generation, 10 * SMALL.generation, SMALL.generation):
        trainer._begin_rating(trainer._publish())
    _, networks = trainer._job(trainer._publish())
    assert [path.stem for path in networks] == ["000004", "000000"]
    assert all(path.exists() for path in networks)
    assert len(list((tmp_path / "nets").iterdir())) < 10, "others are deleted"


def test_a_player_that_dies_is_replaced(tmp_path, capsys):
    trainer = GomokuTrainer(replace(SMALL, rate_every=1000), tmp_path, 1)
    stop, killed_at = threading.Event(), None
    for _ in trainer.train(stop):
        if killed_at is None and trainer.progress.games:
            for child in subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True).stdout.split():
                if b"plyd.cluster.processes" in Path(f"/proc/{int(child)}/cmdline").read_bytes():
                    os.kill(int(child), signal.SIGKILL)
                    killed_at = trainer.progress.games
        if killed_at is not None and trainer.progress.games > killed_at + 5:
            stop.set()
    assert "a worker ended: the process ended with status -9" in capsys.readouterr().err


def test_the_index_of_positions_follows_games_that_come_and_go():
    memory, rng = ReplayBuffer(40), np.random.default_rng(1)
    for number in range(60):
        size = 5 + number % 3
        memory.add([TrainingGame(size, np.arange(3 + number % 5, dtype=np.int16), 1)])
        found = {kind: [places[i] for i in range(len(places))] for kind, places in memory._places.items()}
        for kind, places in found.items():
            games = [game for game in memory.games if (game.size, game.rule) == kind]
            assert [(id(game), ply) for game, ply in places] == [(id(g), ply) for g in games for ply in g.plies()]
        assert sum(map(len, found.values())) == memory.positions <= 40
        memory.sample(8, rng)


def test_games_survive_as_arrays():
    played = [self_play(toy, QUICK, seed)[0] for seed in range(4)]
    for game, again in zip(played, games_of_arrays(games_as_arrays(played)), strict=True):
        assert (again.size, again.result, again.opening, again.rule) == (
            game.size,
            game.result,
            game.opening,
            game.rule,
        )
        assert again.moves.tolist() == game.moves.tolist()
        assert list(again.policies) == list(game.policies)
        for ply, (cells, shares) in game.policies.items():
            assert again.policies[ply][0].tolist() == cells.tolist()
            assert again.policies[ply][1] == pytest.approx(shares, abs=1e-3)


def test_a_run_may_begin_with_a_network_for_play(tmp_path):
    first = GomokuTrainer(SMALL, tmp_path / "first", 1)
    first.ship(tmp_path / "ours.plyd", [])
    second = GomokuTrainer(replace(SMALL, seed=2), tmp_path / "second", 1)
    assert not same(network_of(first), network_of(second))
    second.import_network(tmp_path / "ours.plyd")
    sha256 = second.facts()["started_from"]
    assert sha256 == load_network(tmp_path / "ours.plyd")[1].sha256
    assert largest_difference(second.learner.average, onnx_bytes(first.learner.average)) < 1e-4
    second.save(tmp_path / CHECKPOINT)
    third = GomokuTrainer(SMALL, tmp_path / "second", 1)
    third.load(tmp_path / CHECKPOINT)
    assert third.progress.started_from == sha256


def test_a_resumed_run_is_where_it_was(tmp_path, games):
    trainer = GomokuTrainer(SMALL, tmp_path, 1)
    trainer.bootstrap([games])
    for _ in range(5):
        trainer._step(trainer.teachers)
    trainer.memory.add(read_games(games)[0])
    trainer.progress.bootstrapped = 5
    trainer.save(tmp_path / CHECKPOINT)
    again = GomokuTrainer(SMALL, tmp_path, 1)
    again.bootstrap([games])
    assert not same(network_of(again), network_of(trainer))
    again.load(tmp_path / CHECKPOINT)
    assert same(network_of(again), network_of(trainer))
    assert same(again.learner.average, trainer.learner.average)
    assert again.progress == trainer.progress
    assert again.memory.positions == trainer.memory.positions
    for each in (trainer, again):  # the same step from the same place: weights, momentum and random numbers
        each._step(each.teachers)
    assert same(network_of(again), network_of(trainer))


def test_a_checkpoint_with_old_names_is_resumed(tmp_path):
    path, trainer = tmp_path / CHECKPOINT, GomokuTrainer(SMALL, tmp_path, 1)
    trainer.progress.simulations, trainer.progress.started_from = 7, "abc"
    trainer.save(path)
    header, arrays, _ = read_file(path)
    old = header["progress"]
    old["walks"], old["adopted"] = old.pop("simulations"), old.pop("started_from")
    write_file(path, header, arrays)
    again = GomokuTrainer(SMALL, tmp_path, 1)
    again.load(path)
    assert again.progress == trainer.progress


def test_checkpoints_that_cannot_be_used_are_refused(tmp_path):
    path = tmp_path / CHECKPOINT
    trainer = GomokuTrainer(SMALL, tmp_path, 1)
    trainer.save(path)
    with pytest.raises(BadWeights, match="a network of 1x4, not 1x8"):
        GomokuTrainer(GomokuPlan(blocks=1, channels=8), tmp_path, 1).load(path)
    header, arrays, _ = read_file(path)
    write_file(path, header, {name: array for name, array in arrays.items() if name != "weights/stem.weight"})
    with pytest.raises(BadWeights, match="not what a checkpoint should be"):
        trainer.load(path)
    write_file(path, {"kind": "network"}, {})
    with pytest.raises(BadWeights, match="is a network, not a gomoku checkpoint"):
        trainer.load(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadWeights, match="corrupt or cut short"):
        trainer.load(path)


def test_two_runs_do_not_share_a_folder(tmp_path):
    trainer = GomokuTrainer(SMALL, tmp_path, 1)
    with TrainingRun(tmp_path, trainer):
        (tmp_path / LOG).write_text('{"steps": 5}\n')
        with pytest.raises(TrainingError, match="another process is training"), TrainingRun(tmp_path, trainer):
            pass
        assert (tmp_path / LOG).read_text() == '{"steps": 5}\n'
    with TrainingRun(tmp_path, trainer) as run:
        assert not run.resume()
    assert (tmp_path / LOG).read_text() == ""


WORDS = "--blocks 1 --channels 4 --batch 16 --bootstrap-steps 4 --generation 2 --walks 8 --quick-walks 4 --sizes 5"
WORDS += " --rate-games 2 --processes 1 --reuse 20"


@pytest.mark.slow
def test_a_killed_run_is_resumed_and_its_workers_end_with_it(tmp_path, games):
    folder = tmp_path / "run"
    log = folder / LOG
    command = [sys.executable, "-m", "plyd.engines.train", "gomoku", *WORDS.split(), "--save-every", "0"]
    command += ["--bootstrap", str(games), "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: log.exists() and "self-play" in log.read_text() and (folder / CHECKPOINT).exists())
    workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    assert workers
    process.kill()
    process.wait()
    until(lambda: not any(os.path.exists(f"/proc/{worker}") for worker in workers))
    done = read_file(folder / CHECKPOINT)[0]["progress"]["steps"]
    with log.open("a") as file:
        file.write('{"steps": 9')  # as a kill in the midst of writing leaves it

    words = [*WORDS.split(), "--bootstrap", str(games), "--out", str(folder)]
    words += ["--steps", str(done + 4), "--ship", str(tmp_path / "mine.plyd")]
    again = CliRunner().invoke(main, ["train", "gomoku", *words])
    assert again.exit_code == 0, again.output
    assert f"resumes at step {done}" in again.stderr
    assert f"saved after {done + 4} steps (+4)" in again.stderr
    steps = [json.loads(line)["steps"] for line in log.read_text().splitlines()]
    assert steps == sorted(set(steps))
    assert read_file(folder / CHECKPOINT)[0]["progress"]["steps"] == done + 4
    assert len(json.loads((folder / MANIFEST).read_text())["commands"]) == 2
    shipped = json.loads((tmp_path / "mine.json").read_text())
    assert shipped["sha256"] == load_network(tmp_path / "mine.plyd")[1].sha256
    assert len(shipped["trained"]["commands"]) == 2


def test_a_stopped_run_saves(tmp_path, games, monkeypatch):
    monkeypatch.setattr(GomokuTrainer, "text_of", lambda self, line: signal.raise_signal(signal.SIGINT) or "stopped")
    words = [*WORDS.split(), "--save-every", "100", "--bootstrap", str(games), "--out", str(tmp_path)]
    result = CliRunner().invoke(main, ["train", "gomoku", *words])
    assert result.exit_code == 0, result.output
    assert "saved after 2 steps (+2)" in result.stderr
    assert (tmp_path / CHECKPOINT).exists()


def test_a_folder_with_a_start_network_begins_with_it(tmp_path):
    first = GomokuTrainer(SMALL, tmp_path / "first", 1)
    first.ship(tmp_path / "run" / "start.plyd", [])
    words = [*WORDS.split(), "--steps", "1", "--minutes", "0.0001", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(main, ["train", "gomoku", *words])
    assert result.exit_code == 0, result.output
    progress = read_file(tmp_path / "run" / CHECKPOINT)[0]["progress"]
    assert progress["started_from"] == load_network(tmp_path / "run" / "start.plyd")[1].sha256


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "4"], "sizes are 5 to 20"),
        (["--sizes", ""], "sizes are 5 to 20"),
        (["--device", "cuda"], "torch finds no GPU; allowed here is cpu"),
        (["--bootstrap", "nowhere.jsonl"], "does not exist"),
        (["--blocks", "0"], "not in the range"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, message):
    found = CliRunner().invoke(main, ["train", "gomoku", *arguments])
    assert found.exit_code == 2
    assert message in found.output


def test_no_board_has_more_points_than_a_node_can_have_children():
    assert MOST_MOVES == 20 * 20
