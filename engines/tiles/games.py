"""The tile games that n-tuple networks play, by name."""

from importlib import import_module
from typing import TYPE_CHECKING

from plyd.engines.core.errors import BadPosition, UnknownGame, quoted

if TYPE_CHECKING:
    from plyd.engines.tiles.game import TileGame

GAMES = {"2048": "plyd.engines.tiles_2048.rules:GAME", "2584": "plyd.engines.tiles_2584.rules:GAME"}


def tile_game(game: str, variant: str) -> "TileGame":
    """The game of this name; raises if networks do not play it, or if it lacks the variant."""
    if game not in GAMES:
        raise UnknownGame(f"no network plays {quoted(game)}; games are {', '.join(GAMES)}")
    module, _, name = GAMES[game].partition(":")
    found: TileGame = getattr(import_module(module), name)
    if variant not in found.variants:
        raise BadPosition(f"{game} has no variant {quoted(variant)}; variants are {', '.join(found.variants)}")
    return found
