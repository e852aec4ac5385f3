"""Speed of 2584 without a daemon."""

from collections.abc import Iterator

from plyd.engines.core.figures import Figure
from plyd.engines.tiles.bench import playing_pace, training_pace
from plyd.engines.tiles.ntuple.player import load_player
from plyd.engines.tiles.train.trainer import TilePlan
from plyd.engines.tiles_2584.rules import GAME

SEARCH_OPTIONS: dict[str, str] = {}


def figures() -> Iterator[Figure]:
    """Training and play."""
    td = training_pace(GAME, TilePlan("2584", "classic", "4x6", 21, "td", rate=0.1, trace=0.0), 1)
    yield Figure("2584", "TD training, 4x6, one thread", td / 1e6, "M moves/s", at_least=1.0)
    player = load_player(GAME, "hard")
    for depth in (1, 2, 3):
        yield Figure("2584", f"play, hard, {depth}-ply, one thread", playing_pace(player, depth) / 1e3, "k moves/s")
