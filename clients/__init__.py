"""Clients: the library, the command line, the bridges. Knows the stubs and gRPC; never the engines.

from plyd.clients import EngineClient, AsyncEngineClient
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plyd.clients.library.aio import AsyncEngineClient, AsyncGame
    from plyd.clients.library.client import EngineClient, Game
    from plyd.clients.library.errors import PlydError

__all__ = ["AsyncEngineClient", "AsyncGame", "EngineClient", "Game", "PlydError"]

_HOMES = {
    "AsyncEngineClient": "plyd.clients.library.aio",
    "AsyncGame": "plyd.clients.library.aio",
    "EngineClient": "plyd.clients.library.client",
    "Game": "plyd.clients.library.client",
    "PlydError": "plyd.clients.library.errors",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `plyd --help` does not wait for gRPC."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
