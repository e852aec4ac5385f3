"""Every engine there is, by game. A new game is one line here."""

from importlib import import_module

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import UnknownGame, quoted

ENGINES = {
    "2584-2x3": "plyd.engines.fibonacci_2x3.engine:Fibonacci2x3",
}


def load(game: str) -> Engine:
    """The engine of a game, not yet warmed up."""
    if game not in ENGINES:
        raise UnknownGame(f"unknown game {quoted(game)}; games are {', '.join(ENGINES)}")
    module, _, name = ENGINES[game].partition(":")
    engine: Engine = getattr(import_module(module), name)()
    return engine
