"""Small networks for tile games, so that an engine loads at once, and a daemon that plays by one."""

import numpy as np
import pytest

from plyd.models.ntuple.checkpoint import Checkpoint
from plyd.models.ntuple.packing import pack
from plyd.models.ntuple.patterns import patterns_of
from tests.clients.conftest import Daemon

NETWORK = "0123 4567 0145 1256"
BASES = {"2048": 16, "2584": 12}
STEP = 0.25


@pytest.fixture(scope="session")
def small_network(tmp_path_factory):
    """A function of a game and its variant that gives the file of a packed network with random weights."""
    folder = tmp_path_factory.mktemp("networks")

    def make(game, variant="classic"):
        path, base = folder / f"{game}-{variant}.plyd", BASES[game]
        if not path.exists():
            size = sum(base ** len(pattern) for pattern in patterns_of(NETWORK))
            weights = np.random.default_rng(1).normal(50, 200, size).astype(np.float32)
            places, none = np.arange(size, dtype=np.uint32), np.zeros((0, 2), np.float32)
            pack(path, Checkpoint(game, variant, NETWORK, base, 0.0, places, weights, none), STEP, 1.0, {})
        return path

    return make


@pytest.fixture(scope="session")
def daemon_2584(small_network):
    """The address of a daemon that plays both variants of 2584 by small networks."""
    networks = [word for variant in ("classic", "hard") for word in ("--model", str(small_network("2584", variant)))]
    daemon = Daemon(*networks, game="2584")
    yield daemon.address
    daemon.close()
