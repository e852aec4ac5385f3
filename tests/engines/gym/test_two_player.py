"""Games of two players as PettingZoo environments: PettingZoo's own checkers, and whole games by the rulebook."""

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test

from plyd.engines import registry
from plyd.engines.core.rules import Outcome
from plyd.engines.gym.two_player import TwoPlayerEnv, env

STARTS = [
    ("connect4", "", "5x4"),
    ("connect4", "", "6x5 #3,2"),
    ("gomoku", "freestyle", "6x6"),
    ("gomoku", "renju", "6x6"),
]


@pytest.mark.parametrize(("game", "variant", "start"), STARTS)
@pytest.mark.filterwarnings("ignore:Observation")  # a dictionary, as in PettingZoo's own board games
def test_pettingzoos_checkers_have_nothing_to_say(game, variant, start):
    api_test(env(game, variant, start), num_cycles=30)
    seed_test(lambda: env(game, variant, start), num_cycles=30)


@pytest.mark.parametrize(("game", "variant", "start"), STARTS)
def test_whole_games_are_the_rulebooks(game, variant, start):
    rules = registry.load(game).variants[variant or "classic"]
    for seed in range(3):
        raw, random, position = TwoPlayerEnv(game, variant, start), np.random.default_rng(seed), rules.parse(start)
        raw.reset()
        while rules.to_move(position):
            seen, _, ended, _, _ = raw.last()
            mask, legal = seen["action_mask"], rules.legal_moves(position)
            assert (int(mask.sum()), ended) == (len(legal), False)
            action = int(random.choice(np.flatnonzero(mask)))
            columns = rules.board(position).columns
            [move] = [move for move in legal if action == (move.cell % columns if game == "connect4" else move.cell)]
            raw.step(action)
            position = rules.play(position, move.text).position
            stones = rules.board(position).cells
            own = raw.observe("player_0")["observation"]
            assert own[..., 0].reshape(-1).tolist() == [label == "x" for label in stones]
            assert own[..., 1].reshape(-1).tolist() == [label == "o" for label in stones]
            assert own[..., 2].sum() == sum(label not in ("", "x", "o") for label in stones)
        rewards = {Outcome.PLAYER_ONE_WINS: (1, -1), Outcome.PLAYER_TWO_WINS: (-1, 1), Outcome.DRAW: (0, 0)}
        assert tuple(raw.rewards.values()) == rewards[rules.outcome(position)]
        assert all(raw.terminations.values())


def test_the_rival_sees_the_stones_the_other_way_round():
    raw = TwoPlayerEnv("connect4")
    raw.reset()
    raw.step(3)
    one, two = raw.observe("player_0"), raw.observe("player_1")
    assert (one["observation"][..., :2] == two["observation"][..., 1::-1]).all()
    assert (one["action_mask"].sum(), two["action_mask"].sum()) == (0, 7)


def test_an_illegal_action_loses_in_the_usual_wrappers():
    game = env("connect4", start="4x4")
    game.reset()
    for _ in range(4):
        game.step(0)
    game.step(0)
    assert game.terminations == {"player_0": True, "player_1": True}
    assert game.rewards["player_0"] == -1


def test_a_game_without_stones_is_refused():
    with pytest.raises(ValueError, match="2048 is not a game of two players"):
        TwoPlayerEnv("2048")


def test_a_position_that_is_over_is_a_game_that_is_over():
    raw = TwoPlayerEnv("connect4", start="..../o.../o.../oxxx")
    raw.reset()
    assert not any(raw.terminations.values())
    over = TwoPlayerEnv("gomoku", start="xxxxx/oooo./...../...../.....", render_mode="ansi")
    over.reset()
    assert all(over.terminations.values())
    assert over.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert over.render().count("x") == 5
