"""Training on a cluster, without the cluster: what nodes play and what the learner makes of it."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from plyd.engines.core.training_run import TrainingError
from plyd.engines.tiles.games import tile_game
from plyd.engines.tiles.train.cluster import ClusterTileTrainer, PathWorker
from plyd.engines.tiles.train.trainer import TilePlan, TileTrainer

PLAN = TilePlan("2048", "classic", "0123 0145", 15, restart=60, optimism=20.0)


def trainer(plan=PLAN):
    return ClusterTileTrainer(tile_game(plan.game, plan.variant), plan, None, 1)


@pytest.fixture(scope="module")
def worker():
    return PathWorker({"plan": asdict(PLAN), "depth": 1}, 2)


def test_playing_and_learning_apart_is_playing_and_learning(worker):
    apart = trainer(replace(PLAN, restart=0))
    worker._plan = replace(PLAN, restart=0)
    apart._take(worker.work((7, 1, 1), apart.weights), 1.0)
    together = TileTrainer(apart.game, apart.plan, 1)
    together.seeds[0, 0] = np.random.SeedSequence([PLAN.seed, 7]).generate_state(1, np.uint64)[0]
    list(together.train(NeverStop(), 1))
    assert apart.progress.block == together.progress.block
    assert (apart.weights == together.weights).all()
    assert (apart.sums == together.sums).all()
    assert (apart.weights != apart.fresh_weight).any()


class NeverStop:
    def is_set(self):
        return False


def test_games_depend_on_their_numbers_and_weights_only(worker):
    weights = trainer().weights
    worker._plan = PLAN
    both, first, second = (worker.work(job, weights) for job in ((3, 2, 1), (3, 1, 1), (4, 1, 1)))
    assert both["path"].tolist() == first["path"].tolist() + second["path"].tolist()
    assert both["results"].tolist() == first["results"].tolist() + second["results"].tolist()


def test_long_games_are_played_again_from_the_middle_and_counted_once(worker):
    apart = trainer()
    worker._plan = PLAN
    answer = worker.work((0, 5, 1), apart.weights)
    assert answer["is_whole"].sum() == 5
    assert len(answer["results"]) > 5
    assert answer["results"][:, 1].sum() == len(answer["path"]) == len(answer["points"])
    apart._take(answer, 1.0)
    assert apart.progress.games == len(apart.progress.block) == 5


def test_new_weights_are_used_and_old_ones_are_not_fetched_again(worker):
    worker._plan = PLAN
    weights = trainer().weights
    old = worker.work((0, 1, 1), weights)
    assert worker.work((0, 1, 1), weights * -1)["path"].tolist() == old["path"].tolist()  # the same version
    random = np.random.default_rng(1).normal(0, 1000, weights.size).astype(np.float32)
    assert worker.work((0, 1, 2), random)["path"].tolist() != old["path"].tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"method": "lab"}, "lab learns while it plays"), ({"every": 5}, "--every"), ({"evil": True}, "--evil")],
)
def test_what_needs_a_player_that_learns_is_refused(changes, message):
    with pytest.raises(TrainingError, match=message):
        trainer(replace(PLAN, **changes))
