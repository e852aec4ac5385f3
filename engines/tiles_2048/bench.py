"""Speed of 2048 without a daemon."""

from collections.abc import Iterator

from plyd.engines.core.figures import Figure
from plyd.engines.tiles.bench import playing_pace, training_pace
from plyd.engines.tiles.ntuple.player import load_player
from plyd.engines.tiles.train.trainer import TilePlan
from plyd.engines.tiles_2048.rules import GAME

SEARCH_OPTIONS: dict[str, str] = {}


def figures() -> Iterator[Figure]:
    """Training and play."""
    td = TilePlan("2048", "classic", "4x6", 15, "td", rate=0.1, trace=0.0)
    one, two = training_pace(GAME, td, 1), training_pace(GAME, td, 2)
    yield Figure("2048", "TD training, 4x6, one thread", one / 1e6, "M moves/s", at_least=1.0)
    yield Figure("2048", "TD training, 4x6, two threads", two / one, "times one", at_least=1.8)
    tc = training_pace(GAME, TilePlan("2048", "classic", "8x6", 15, "tc"), 2)
    yield Figure("2048", "TC training, 8x6, two threads", tc / 1e6, "M moves/s", at_least=1.0)
    lab = training_pace(GAME, TilePlan("2048", "classic", "4x6", 15, "lab", rate=0.1, trace=0.0), 1)
    yield Figure("2048", "the lab's before-state training, one thread", lab / 1e3, "k moves/s", at_least=200)
    player = load_player(GAME, "classic")
    for depth, reach in ((1, None), (2, 36.0), (3, 1.3)):
        yield Figure(
            "2048", f"play, {depth}-ply, one thread", playing_pace(player, depth) / 1e3, "k moves/s", at_least=reach
        )
