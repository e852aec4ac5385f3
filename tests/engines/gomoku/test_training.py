"""Gomoku's training: games and how they are remembered, a short run from end to end, resuming, what is told."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.gomoku.mcts.nodes import MOST_MOVES
from plyd.engines.gomoku.train.replay import ReplayBuffer, TrainingGame, as_line, game_of, read_games
from plyd.engines.gomoku.train.self_play import SelfPlayParams, chance_moves, match, self_play
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from plyd.engines.gomoku.mcts.inference import load_network  # noqa: E402
from plyd.engines.gomoku.train.export import largest_difference, onnx_bytes  # noqa: E402
from plyd.engines.gomoku.train.trainer import CHECKPOINT, GomokuPlan, GomokuTrainer, elo_difference  # noqa: E402
from tests.patience import LONG, SOON, until  # noqa: E402

LINE = '{"size": 7, "variant": "freestyle", "moves": "d4 c3 d5 c4 d6", "result": 1, "opening": 2}'
QUICK = SelfPlayParams(walks=12, quick_walks=6, full_share=0.5, hot_plies=4, opening_plies=3, sizes=(5,))
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
    rate_walks=6,
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
        game, walks = self_play(toy, QUICK, seed)
        assert walks > 0
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
def test_a_line_that_is_no_game_is_told(changes, message):
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


def test_the_memory_forgets_the_oldest_games():
    memory = ReplayBuffer(10)
    for result in (1, -1, 0, 1):
        memory.add([TrainingGame(7, np.arange(4, dtype=np.int16), result)])
    assert [game.result for game in memory.games] == [0, 1]
    assert memory.positions == 8


def test_the_memory_survives_a_checkpoint(games):
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
    found = [chance_moves(9, rng, 5) for _ in range(20)]
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


def test_a_run_learns_from_others_then_plays_rates_and_publishes(tmp_path, games):
    trainer = GomokuTrainer(SMALL, tmp_path / "run", 1)
    trainer.bootstrap([games])
    trainer.begin("plyd train gomoku", "abc")
    lines = []
    for line in trainer.generations():
        lines += [line] if line else []
        if trainer.progress.steps >= 20 and len(trainer.progress.ratings) > 1:
            trainer.stop()
    trainer.save()
    assert [line["phase"] for line in lines[:2]] == ["others", "self-play"]
    assert trainer.progress.games > 1
    assert trainer.memory.positions <= 300
    assert trainer.progress.ratings[0]["elo"] == 0
    assert trainer.progress.ratings[1]["against"] == trainer.progress.ratings[0]["steps"]
    newest = sorted((tmp_path / "run" / "nets").glob("*.plyd"))[-1]
    _, model = load_network(newest)
    assert model.name.startswith("gomoku-run-")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["network"] == "1x4"
    assert manifest["bootstrap"]["games"] == 6
    assert manifest["commands"][0]["command"] == "plyd train gomoku"
    from plyd.engines.gomoku.train.curve import draw

    assert draw(tmp_path / "run").stat().st_size > 1000


def test_a_run_may_begin_with_a_network_for_play(tmp_path):
    first = GomokuTrainer(SMALL, tmp_path / "first", 1)
    first.ship(tmp_path / "ours.plyd")
    second = GomokuTrainer(replace(SMALL, seed=2), tmp_path / "second", 1)
    assert not same(first.network, second.network)
    second.import_network(tmp_path / "ours.plyd")
    sha256 = second.facts()["adopted"]
    assert sha256 == load_network(tmp_path / "ours.plyd")[1].sha256
    assert largest_difference(second.average, onnx_bytes(first.average)) < 1e-4
    second.save()
    third = GomokuTrainer(SMALL, tmp_path / "second", 1)
    assert third.resume()
    assert third.progress.adopted == sha256


def test_a_resumed_run_is_where_it_was(tmp_path, games):
    trainer = GomokuTrainer(SMALL, tmp_path, 1)
    trainer.bootstrap([games])
    for _ in range(5):
        trainer._step(trainer.teachers)
    trainer.memory.add(read_games(games)[0])
    trainer.progress.bootstrapped = 5
    trainer.save()
    again = GomokuTrainer(SMALL, tmp_path, 1)
    again.bootstrap([games])
    assert not same(again.network, trainer.network)
    assert again.resume()
    assert same(again.network, trainer.network)
    assert same(again.average, trainer.average)
    assert again.progress == trainer.progress
    assert again.memory.positions == trainer.memory.positions
    for each in (trainer, again):  # the same step from the same place: weights, momentum and chance are all there
        each._step(each.teachers)
    assert same(again.network, trainer.network)


def test_checkpoints_that_cannot_be_used_are_told(tmp_path):
    path = tmp_path / CHECKPOINT
    trainer = GomokuTrainer(SMALL, tmp_path, 1)
    trainer.save()
    with pytest.raises(BadWeights, match="a network of 1x4, not 1x8"):
        GomokuTrainer(GomokuPlan(blocks=1, channels=8), tmp_path, 1).resume()
    header, arrays, _ = read_file(path)
    write_file(path, header, {name: array for name, array in arrays.items() if name != "weights/stem.weight"})
    with pytest.raises(BadWeights, match="not what a checkpoint should be"):
        trainer.resume()
    write_file(path, {"kind": "network"}, {})
    with pytest.raises(BadWeights, match="is a network, not a gomoku checkpoint"):
        trainer.resume()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadWeights, match="corrupt or cut short"):
        trainer.resume()


def test_two_runs_do_not_share_a_folder(tmp_path):
    first = GomokuTrainer(SMALL, tmp_path, 1)
    first.begin("plyd train gomoku", "abc")
    (tmp_path / "log.jsonl").write_text('{"steps": 5}\n')
    with pytest.raises(BadWeights, match="another process is training"):
        GomokuTrainer(SMALL, tmp_path, 1).begin("plyd train gomoku", "abc")
    assert (tmp_path / "log.jsonl").read_text() == '{"steps": 5}\n'
    del first
    GomokuTrainer(SMALL, tmp_path, 1).begin("plyd train gomoku", "abc")


def command(folder, games, *more):
    words = "--blocks 1 --channels 4 --batch 16 --bootstrap-steps 4 --generation 2 --walks 8 --quick-walks 4 --sizes 5"
    words += " --rate-games 2 --processes 1 --save-every 0 --reuse 20"
    start = [sys.executable, "-m", "plyd.engines.train", "gomoku"]
    return [*start, *words.split(), "--bootstrap", str(games), "--out", str(folder), *more]


def test_a_run_goes_on_after_a_kill_and_its_players_end_with_it(tmp_path, games):
    folder = tmp_path / "run"
    log = folder / "log.jsonl"
    process = subprocess.Popen(command(folder, games), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: log.exists() and "self-play" in log.read_text() and (folder / CHECKPOINT).exists())
    players = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    assert players
    process.kill()
    process.wait()
    until(lambda: not any(os.path.exists(f"/proc/{player}") for player in players))
    done = read_file(folder / CHECKPOINT)[0]["progress"]["steps"]
    with log.open("a") as file:
        file.write('{"steps": 9')  # as a kill in the midst of writing leaves it
    last = command(folder, games, "--steps", str(done + 4), "--ship", str(tmp_path / "mine.plyd"))
    again = subprocess.run(last, capture_output=True, text=True, timeout=LONG, check=True)
    assert f"goes on from step {done}" in again.stderr
    steps = [json.loads(line)["steps"] for line in log.read_text().splitlines()]
    assert steps == sorted(set(steps))
    assert read_file(folder / CHECKPOINT)[0]["progress"]["steps"] >= done + 4
    assert len(json.loads((folder / "manifest.json").read_text())["commands"]) == 2
    shipped = json.loads((tmp_path / "mine.json").read_text())
    assert shipped["sha256"] == load_network(tmp_path / "mine.plyd")[1].sha256
    assert len(shipped["trained"]["commands"]) == 2


def test_ctrl_c_saves(tmp_path, games):
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*command(folder, games), "--save-every", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline()  # a generation
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SOON)
    assert process.returncode == 0
    assert "saved after" in errors
    assert (folder / CHECKPOINT).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "4"], "sizes are 5 to 20"),
        (["--sizes", ""], "sizes are 5 to 20"),
        (["--bootstrap", "nowhere.jsonl"], "does not exist"),
        (["--blocks", "0"], "not in the range"),
    ],
)
def test_options_that_make_no_sense_are_told(arguments, message):
    found = CliRunner().invoke(main, ["train", "gomoku", *arguments])
    assert found.exit_code == 2
    assert message in found.output


def test_no_board_has_more_points_than_a_node_can_have_children():
    assert MOST_MOVES == 20 * 20
