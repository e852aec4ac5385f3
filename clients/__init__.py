"""Clients of the daemons: `from plyd.clients import EngineClient, AsyncEngineClient`. They never import the engines.

cli         the program `plyd`, which imports a command when it is used
library/    the client library, on which all the others are built
commands/   solve, health, top, bench, bridges
play/       `plyd play`: a person or statistics in the terminal; match/: engines against engines
gomocup/    the bridge to Gomoku managers and GUIs; ugi/: to managers of any game; hosts/: to other hosts
web/        the page and its server
formats/    games as files
stress/     load tests that check every answer
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plyd.clients.library.aio import AsyncEngineClient, AsyncGame
    from plyd.clients.library.client import EngineClient, Game
    from plyd.clients.library.errors import PlydError
    from plyd.clients.library.report import Line, Report, Score
    from plyd.clients.library.state import LegalMove, PlayedOn, Position, State

__all__ = [
    "AsyncEngineClient",
    "AsyncGame",
    "EngineClient",
    "Game",
    "LegalMove",
    "Line",
    "PlayedOn",
    "PlydError",
    "Position",
    "Report",
    "Score",
    "State",
]

_HOMES = {
    "AsyncEngineClient": "aio",
    "AsyncGame": "aio",
    "EngineClient": "client",
    "Game": "client",
    "LegalMove": "state",
    "PlayedOn": "state",
    "Line": "report",
    "PlydError": "errors",
    "Position": "state",
    "Report": "report",
    "Score": "report",
    "State": "state",
}  # modules of the library


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that `plyd --help` does not import gRPC."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"plyd.clients.library.{_HOMES[name]}"), name)
