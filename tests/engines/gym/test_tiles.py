"""The tile games as Gymnasium environments: Gymnasium's own checkers, and every step against the rulebook."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from plyd.engines.gym import ENVIRONMENTS
from plyd.engines.gym.tiles import TileEnv, TileVectorEnv
from plyd.engines.tiles.rulebook import SLIDES

GAMES = [tuple(settings.values()) for settings in ENVIRONMENTS.values()]


def position_of(env, cells):
    """The rulebook's position of a board before a slide."""
    rules = env._boards.rules
    return rules, rules.parse("b " + " ".join(map(str, cells.reshape(-1).tolist())))


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.filterwarnings("error")
def test_gymnasium_finds_each_environment_and_its_checker_has_nothing_to_say(name):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize(("game", "variant"), GAMES)
def test_a_whole_game_is_played_by_the_rules(game, variant):
    env = TileEnv(game, variant)
    cells, info = env.reset(seed=3)
    is_over, random = False, np.random.default_rng(1)
    assert np.count_nonzero(cells) == 2
    while not is_over:
        rules, position = position_of(env, cells)
        legal = {move.text for move in rules.legal_moves(position)}
        assert [SLIDES[i] in legal for i in range(4)] == info["action_mask"].astype(bool).tolist()
        action = int(random.choice(np.flatnonzero(info["action_mask"])))
        after = rules.play(position, SLIDES[action])
        cells, reward, is_over, is_cut, info = env.step(np.int64(action))
        assert (reward, is_cut) == (after.points, False)
        changed = np.flatnonzero(cells.reshape(-1) != np.array(after.position.cells))
        drops = {move.text for move in rules.legal_moves(after.position)}
        assert [f"{cells.reshape(-1)[cell]}@{cell}" in drops for cell in changed] == [True], "one tile drops"
    rules, position = position_of(env, cells)
    assert not rules.legal_moves(position)


def test_a_slide_that_is_not_legal_changes_nothing():
    env, tried = TileEnv(), 0
    for seed in range(20):
        cells, info = env.reset(seed=seed)
        for action in np.flatnonzero(info["action_mask"] == 0):
            after, reward, is_over, _, same = env.step(action)
            tried += 1
            assert (after == cells).all()
            assert (reward, is_over) == (0.0, False)
            assert (same["action_mask"] == info["action_mask"]).all()
    assert tried


def test_the_same_seed_gives_the_same_game_and_another_seed_another():
    def played(seed):
        env = TileEnv()
        cells, _ = env.reset(seed=seed)
        return [cells.tolist(), *(env.step(np.int64(i % 4))[0].tolist() for i in range(50))]

    assert played(1) == played(1) != played(2)


def test_a_board_is_drawn_as_text():
    env = TileEnv(render_mode="ansi")
    env.reset(seed=1)
    assert len(env.render().splitlines()) == 4
    assert TileVectorEnv(2).render() is None


@pytest.mark.parametrize(("game", "variant"), GAMES)
def test_many_boards_step_as_one_board_does(game, variant):
    many, seeds, random = TileVectorEnv(5, game, variant), [11, 12, 13, 14, 15], np.random.default_rng(2)
    ones = [TileEnv(game, variant) for _ in seeds]
    cells, _ = many.reset(seed=seeds)
    for env, seed, board in zip(ones, seeds, cells, strict=True):
        assert (env.reset(seed=seed)[0] == board).all()
    is_over = np.zeros(5, bool)
    for _ in range(60):
        actions = random.integers(4, size=5)
        cells, points, ended, _, info = many.step(actions)
        for i in np.flatnonzero(~is_over):
            alone = ones[i].step(actions[i])
            assert (alone[0] == cells[i]).all()
            assert alone[1:3] == (points[i], ended[i])
            assert (alone[4]["action_mask"] == info["action_mask"][i]).all()
        is_over |= ended


def test_a_board_whose_game_ended_begins_a_new_one_at_the_next_step():
    many, random = TileVectorEnv(64), np.random.default_rng(3)
    _, info = many.reset(seed=1)
    ended, seen = np.zeros(64, bool), 0
    for _ in range(400):
        actions = (info["action_mask"] * random.random((64, 4))).argmax(axis=1)
        before = ended
        cells, points, ended, _, info = many.step(actions)
        assert (np.count_nonzero(cells[before].reshape(-1, 16), axis=1) == 2).all()
        assert (points[before] == 0).all()
        assert (ended == ~info["action_mask"].any(axis=1)).all()
        seen += before.sum()
    assert seen > 10


def test_gymnasium_makes_many_boards_by_name():
    many = gymnasium.make_vec("plyd/2048-v0", num_envs=3, vectorization_mode="vector_entry_point")
    cells, _ = many.reset(seed=1)
    assert many.observation_space.contains(cells)
    assert cells.shape == (3, 4, 4)
