"""Players with small networks, made in no time: of random weights, or taught by a few hundred games."""

import functools

import numpy as np

from plyd.engines.core.engine import Model
from plyd.engines.tiles.ntuple.network import Steps, scratch_for, shape_of
from plyd.engines.tiles.ntuple.player import Player
from plyd.engines.tiles.search.expectimax import TileModel
from plyd.engines.tiles.train.learn import Desk, Method, train
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles.slow_tiles import GAMES, IMAGES

NETWORK = "0123 4567 0145 1256"
VARIANTS = [("2048", "classic"), ("2584", "classic"), ("2584", "hard")]
BASES = {"2048": 16, "2584": 12}  # of random networks; what is above 11 in 2584 counts as 11
NO_MODEL = Model("small", "0" * 64)


@functools.cache
def random_player(name, variant, seed=1, mean=0.0, spread=200.0):
    """A player with weights of this mean and spread, in steps of a quarter of a point."""
    game = GAMES[name]
    shape = shape_of(patterns_of(NETWORK), game.bits, BASES[name])
    weights = np.random.default_rng(seed).normal(mean, spread, int(shape.offsets[-1]))
    counts = np.clip(np.rint(weights * 4), -32767, 32767).astype(np.int16)
    model = TileModel(Steps(counts=counts, step=np.float32(0.25)), shape, game.rows(), game.spawns(variant))
    return Player(game, variant, model, NO_MODEL)


@functools.cache
def trained_player(name, variant, games):
    """A player that learned from so many games of its own."""
    game = GAMES[name]
    shape = shape_of(patterns_of(NETWORK), game.bits, 16 if name == "2048" else 19)
    weights = np.zeros(int(shape.offsets[-1]), np.float32)
    path, points = np.zeros((1 << 14, game.words), np.uint64), np.zeros(1 << 14, np.float32)
    train(
        games,
        game.empty,
        game.rows(),
        game.spawns(variant),
        weights,
        np.zeros(2 * weights.size, np.float32),
        shape,
        method_of(coherent=True),
        desk_of(path, points, 5, shape),
        np.zeros((games, 3), np.int64),
    )
    counts = np.clip(np.rint(weights * 4), -32767, 32767).astype(np.int16)
    model = TileModel(Steps(counts=counts, step=np.float32(0.25)), shape, game.rows(), game.spawns(variant))
    return Player(game, variant, model, NO_MODEL)


def desk_of(path, points, seed, shape, boards=64):
    """A desk with an empty pool of so many boards for each later stage."""
    later = shape.stages.least.size
    pool = np.zeros((later, boards, path.shape[1]), np.uint64)
    entries, late = np.zeros(later, np.int64), np.zeros((later, 2), np.int64)
    return Desk(path, points, np.array([seed], np.uint64), scratch_for(shape), pool, entries, late)


def method_of(
    rate=1.0,
    trace=0.5,
    coherent=False,
    every=0,
    restart_moves=0,
    goal=0,
    goal_points=0,
    bonus=0.0,
    stage_rate=None,
    pool_games=0,
):
    """A method as kernels take it."""
    return Method(
        np.float32(rate),
        np.float32(rate if stage_rate is None else stage_rate),
        np.float32(trace),
        coherent,
        np.int64(every),
        np.int64(restart_moves),
        np.int64(goal),
        np.int64(goal_points),
        np.float32(bonus),
        False,
        np.int64(pool_games),
    )


SLOW_VALUES = {}


def slow_value(player):
    """What the player's network says of a board's cells, by the definition; each board is worked out once."""
    if id(player) not in SLOW_VALUES:  # players are never forgotten, so neither are their ids
        SLOW_VALUES[id(player)] = functools.cache(_value_by_definition(player))
    return SLOW_VALUES[id(player)]


def _value_by_definition(player):
    """The same sum as SlowNetwork.value; numpy adds, as plain searches ask for many thousands."""
    patterns, base = patterns_of(NETWORK), int(player.model.shape.base)
    weights = player.model.weights.counts * float(player.model.weights.step)
    under = np.array([[image[cell] for cell in pattern] for pattern in patterns for image in IMAGES])
    offsets = np.array([base**4 * p for p in range(len(patterns)) for _ in IMAGES])
    powers = base ** np.arange(4)
    return lambda cells: float(weights[offsets + np.minimum(cells, base - 1)[under] @ powers].sum())
