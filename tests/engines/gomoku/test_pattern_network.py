"""The pattern network: its value against a slow count, its file, its gradients and its training."""

import random
import threading

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.engines.core.errors import BadModel
from plyd.engines.gomoku.board.board import NOBODY, WALL, O, X, count_anew, empty_board, point_at
from plyd.engines.gomoku.board.network import SHAPES, blank, frames_for, load, save, shipped_network
from plyd.engines.gomoku.board.patterns import COMBINATION_MASK, COMBINATIONS
from plyd.engines.gomoku.fit.gradients import Parameters, add_gradients, values
from plyd.engines.gomoku.fit.network_fit import (
    NETWORK,
    FitPlan,
    NetworkTrainer,
    cross_entropy,
    first_numbers,
    main,
    numbers_of,
    quantised,
)
from plyd.engines.gomoku.fit.pattern_games import Sparring, play_game
from plyd.engines.gomoku.fit.records import PatternGame
from plyd.engines.gomoku.fit.samples import OPEN_POINT, is_held_out, positions_of
from plyd.engines.gomoku.negascout.techniques import shipped
from plyd.engines.gomoku.rules import FREESTYLE, RULES, Rule, point_of
from plyd.models.errors import BadWeights
from plyd.models.files import write_file
from tests.engines.gomoku.kernels import (
    network_value_on,
    put_stone,
    random_network,
    slow_network_value,
    take_stone,
)
from tests.engines.gomoku.searches import searcher

# --- The kernel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", list(RULES))
@pytest.mark.parametrize(("size", "walls", "steps"), [(5, 0, 60), (9, 5, 60), (15, 0, 90), (16, 9, 60), (20, 20, 60)])
def test_a_value_made_of_any_frame_before_is_the_one_counted_anew(variant, size, walls, steps):
    chance, network = random.Random(size), random_network(size)
    board, frames = empty_board(size, Rule(variant)), frames_for(network, 6)
    places = [point_at(row, column) for row in range(size) for column in range(size)]
    for point in chance.sample(places, walls):
        board.stone[point] = WALL
    count_anew(board)
    played, seen = [], set()
    for _ in range(steps):
        free = [point for point in places if board.stone[point] == NOBODY]
        if free and (not played or chance.random() < 0.7):
            played.append(chance.choice(free))
            put_stone(board, played[-1], chance.choice((X, O)))
        else:
            take_stone(board, played.pop())
        colour = chance.choice((X, O))
        found = network_value_on(board, frames, chance.randrange(6), colour)  # any ply: most frames are old ones
        assert found == slow_network_value(network, board, colour)
        seen.add(found)
    assert len(seen) > steps // 4


def test_a_frame_is_made_of_its_parent_and_a_null_move_changes_only_the_side():
    network, board = random_network(1), empty_board(15, Rule.FREESTYLE)
    frames = frames_for(network, 4)
    put_stone(board, point_at(7, 7), X)
    for ply, colour in enumerate((O, X, O)):
        assert network_value_on(board, frames, ply, colour) == slow_network_value(network, board, colour)
    rows = frames.sums.reshape(4, -1)
    assert (rows[0] == rows[1]).all()
    assert (rows[1] == rows[2]).all()
    assert not rows[3].any(), "a frame that was not asked"


def float_value(p, board, colour):
    """The value of a board by parameters that are no integers."""
    free = np.flatnonzero(board.stone == NOBODY)
    mine, theirs = (board.combo[2 * free + side - 1] & COMBINATION_MASK for side in (colour, 3 - colour))
    pairs = np.stack([mine, theirs], axis=1).astype(np.uint16)
    return values(p, pairs, np.array([0, len(pairs)]), np.array([0]))[0]


def random_parameters(seed):
    """Parameters about as large as trained ones, and zero where the trainer has zeros."""
    drawn = np.random.default_rng(seed)
    shapes = {"value": ((COMBINATIONS + 1, 2), 0.1), "own": ((COMBINATIONS + 1, 16), 0.2)}
    shapes |= {"other": ((COMBINATIONS + 1, 16), 0.2), "w1": ((32, 32), 0.3), "b1": ((32,), 0.3)}
    shapes |= {"w2": ((32,), 0.3), "b2": ((1,), 0.1)}
    p = Parameters(*(drawn.normal(scale=scale, size=shape).astype(np.float32) for shape, scale in shapes.values()))
    for table in p[:3]:
        table[OPEN_POINT] = table[COMBINATIONS] = 0
    return p


@pytest.mark.parametrize("seed", range(3))
def test_integers_say_what_floats_say_within_a_bound(seed):
    chance, p = random.Random(seed), random_parameters(seed)
    network = quantised(p)
    assert np.abs(network.value.reshape(-1, 2)[:, 1] - 256 * p.value[:, 0]).max() <= 0.5  # to move
    assert np.abs(network.value.reshape(-1, 2)[:, 0] + 256 * p.value[:, 1]).max() <= 0.5
    p.value[:] = 0
    board, frames = empty_board(15, Rule.FREESTYLE), frames_for(network, 1)
    found = []
    for colour in (X, O) * 15:
        free = [point_at(r, c) for r in range(4, 11) for c in range(4, 11) if board.stone[point_at(r, c)] == NOBODY]
        put_stone(board, chance.choice(free), colour)
        found.append((network_value_on(board, frames, 0, 3 - colour), 256 * float_value(p, board, 3 - colour)))
    whole, exact = np.array(found).T
    assert np.ptp(exact) > 256, "the positions differ by much more than the bound"
    assert np.abs(whole - exact).max() < 12  # 0.05 units of the logistic function


# --- The file ---------------------------------------------------------------------------------------------------------


def test_a_network_is_read_as_written_and_refused_if_damaged(tmp_path):
    path, network = tmp_path / "network.plyd", random_network(3)
    save(network, path, {"note": "a test"})
    for one, other in zip(load(path), network, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.plyd").write_bytes(damaged)
    with pytest.raises(BadModel, match="SHA-256"):
        load(tmp_path / "damaged.plyd")
    with pytest.raises(BadModel, match="cannot read"):
        load(tmp_path / "absent.plyd")


@pytest.mark.parametrize("name", list(SHAPES))
def test_arrays_of_another_shape_or_type_than_the_kernels_index_are_refused(tmp_path, name):
    arrays, header = blank()._asdict(), {"kind": "pattern-network", "game": "gomoku"}
    for i, wrong in enumerate((arrays[name][:-1], arrays[name].astype(np.float32), None)):
        path = tmp_path / f"{i}.plyd"
        write_file(path, header, {key: a for key, a in (arrays | {name: wrong}).items() if a is not None})
        with pytest.raises(BadModel, match="not a pattern-network for gomoku"):
            load(path)


def test_a_network_whose_stones_are_worth_something_is_refused(tmp_path):
    network = blank()
    network.points[-1, 3] = 1
    save(network, tmp_path / "network.plyd", {})
    with pytest.raises(BadModel, match="not a pattern-network"):
        load(tmp_path / "network.plyd")


@pytest.mark.parametrize("variant", list(RULES))
def test_every_rule_ships_with_a_network_of_its_own(variant):
    network = shipped_network(Rule(variant))
    assert searcher(RULES[variant]).network is network
    others = [shipped_network(rule) for rule in Rule if rule != variant]
    assert all((network.points != other.points).any() for other in others)


@pytest.mark.parametrize("variant", list(RULES))
@pytest.mark.parametrize("size", [15, 20])
def test_what_ships_is_counted_from_move_to_move_as_it_is_counted_anew(variant, size):
    network, rules, chance = shipped_network(Rule(variant)), RULES[variant], random.Random(size)
    board, frames = empty_board(size, Rule(variant)), frames_for(network, 2)
    record = play_game(Sparring(rules, 20, params=shipped()), size, 8, chance, slip=0.9)
    for ply, move in enumerate(record.moves):
        put_stone(board, point_at(*point_of(move, size)), X if ply % 2 == 0 else O)
        for colour in (X, O):
            assert network_value_on(board, frames, ply % 2, colour) == slow_network_value(network, board, colour)


# --- Positions --------------------------------------------------------------------------------------------------------


def test_targets_mix_score_and_result_and_a_result_before_a_random_move_does_not_count():
    moves = ("h8", "h9", "i9", "a1", "i8", "a15", "i10", "j7")
    scores = (None, 256, None, 0, 512, None, -256, 256)
    record = PatternGame(15, Rule.FREESTYLE, 1, moves, 1, scores)
    found = positions_of([record], 0.75)
    by_score = [1 / (1 + np.exp(-score)) for score in (1, 0, 2, -1, 1)]
    expected = [*by_score[:3], 0.75 * by_score[3] + 0.25, 0.75 * by_score[4]]
    assert found.targets == pytest.approx(expected)
    assert (found.is_held == is_held_out(record)).all()
    assert len(found.starts) == 6
    without = PatternGame(15, Rule.FREESTYLE, 6, moves, -1)
    assert positions_of([without], 0.75).targets.tolist() == [0, 1], "only the result is known"


def test_positions_that_a_glance_decides_are_left_out():
    moves = ("h8", "a1", "h9", "a3", "h10", "a5", "h11", "a7", "h12")  # x can make an open four, then five
    record = PatternGame(15, Rule.FREESTYLE, 0, moves, 1, (0,) * 9)
    assert len(positions_of([record], 0.5).targets) == 6  # o, who has to stop the open four, is asked once more


def test_points_of_a_position_are_all_that_are_empty_but_for_open_ones():
    record = PatternGame(15, Rule.FREESTYLE, 1, ("h8", "h9"), 1, (None, 3))
    found, board = positions_of([record], 1.0), empty_board(15, Rule.FREESTYLE)
    put_stone(board, point_at(7, 7), X)
    free = np.flatnonzero(board.stone == NOBODY)
    pairs = [(int(board.combo[2 * p + 1]) & 4095, int(board.combo[2 * p]) & 4095) for p in free]
    assert [tuple(pair) for pair in found.pairs.tolist()] == [p for p in pairs if p != (OPEN_POINT, OPEN_POINT)]
    assert len(found.pairs) < len(pairs)


# --- Training ---------------------------------------------------------------------------------------------------------


def few_games(count=40):
    player = Sparring(FREESTYLE, 40, params=shipped())
    return [play_game(player, 9, 4, random.Random(seed), slip=0.1) for seed in range(count)]


def test_gradients_are_the_differences_of_the_loss():
    positions = positions_of(few_games(4), 0.7)
    which = np.arange(min(6, len(positions.targets)))
    p, rng = random_parameters(2), np.random.default_rng(3)
    gradient = Parameters(*(np.zeros_like(array) for array in p))
    loss = add_gradients(p, gradient, positions.pairs, positions.starts, positions.targets, which)
    found = values(p, positions.pairs, positions.starts, which)
    assert loss == pytest.approx(len(which) * cross_entropy(found, positions.targets[which]), rel=1e-5)
    for name in Parameters._fields:
        way = rng.normal(size=getattr(p, name).shape).astype(np.float32)
        way[np.abs(getattr(gradient, name)) == 0] = 0
        losses = []
        for sign in (1, -1):
            moved = p._replace(**{name: getattr(p, name) + np.float32(sign * 3e-4) * way})
            at = values(moved, positions.pairs, positions.starts, which).astype(np.float64)
            losses.append(len(which) * cross_entropy(at, positions.targets[which]))
        slope = float((getattr(gradient, name).astype(np.float64) * way).sum())
        assert (losses[0] - losses[1]) / 6e-4 == pytest.approx(slope, rel=0.05, abs=0.02), name


def trained(trainer, steps):
    return [line for line in trainer.train(threading.Event(), steps) if line]


def test_training_lowers_the_loss_and_resumes_as_if_it_had_not_been_interrupted(tmp_path):
    records = few_games()
    positions, plan = positions_of(records, 0.7), FitPlan(steps=60, batch=64)
    whole = NetworkTrainer(positions, plan, len(records))
    before = whole.held_out()
    [line] = trained(whole, 60)
    assert line["held_out"] == whole.held_out() < before - 0.01
    first = NetworkTrainer(positions, plan, len(records))
    trained(first, 25)
    first.save(tmp_path / "checkpoint.plyd")
    second = NetworkTrainer(positions, plan, len(records))
    second.load(tmp_path / "checkpoint.plyd")
    assert second.count == 25
    trained(second, 60)
    for name, array in whole.learned.items():
        assert np.array_equal(array, second.learned[name]), name
    assert not np.array_equal(whole.learned["w1"], first_numbers(1)["w1"])


@pytest.mark.parametrize("rule", [Rule.FREESTYLE])
def test_learning_may_begin_with_a_network_and_changes_none_of_its_numbers_before_the_first_step(rule):
    records, network = few_games(), shipped_network(rule)
    positions = positions_of(records, 0.7)
    trainer = NetworkTrainer(positions, FitPlan(steps=4, batch=64), len(records), network)
    for name, array in trainer.network()._asdict().items():
        assert np.array_equal(array, getattr(network, name)), name
    assert np.abs(numbers_of(network)["own_by_class"]).max() > 0.1, "classes have their share"


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    records = few_games()
    trainer = NetworkTrainer(positions_of(records, 0.7), FitPlan(), len(records))
    save(blank(), tmp_path / "network.plyd", {})
    with pytest.raises(BadWeights, match="it is a pattern-network"):
        trainer.load(tmp_path / "network.plyd")


def test_the_command_trains_resumes_and_writes_a_network_that_plays(tmp_path):
    games, out = tmp_path / "games.jsonl", tmp_path / "run"
    games.write_text("".join(record.text() + "\n" for record in few_games()))
    for _ in range(2):  # the second finds all done
        done = CliRunner().invoke(main, [str(games), "--steps", "40", "--out", str(out), "--ship", str(out / "s.plyd")])
        assert done.exit_code == 0, done.output
    network = load(out / NETWORK)
    assert np.array_equal(load(out / "s.plyd").points, network.points)
    assert (out / "s.json").exists()
    move, _ = Sparring(FREESTYLE, 200, params=shipped(), network=network).choose(FREESTYLE.parse("9x9"))
    assert move == "e5"
    again = ["--steps", "1", "--rate", "1e-9", "--from", str(out / NETWORK), "--out", str(tmp_path / "again")]
    assert CliRunner().invoke(main, [str(games), *again]).exit_code == 0
    assert np.array_equal(load(tmp_path / "again" / NETWORK).points, network.points)
    games.write_text("")
    refused = CliRunner().invoke(main, [str(games), "--out", str(tmp_path / "other")])
    assert refused.exit_code == 1
    assert "too few" in refused.output
