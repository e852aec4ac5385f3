"""The engines by game: those of this package, one line each, and those of installed plug-ins."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import BadModel, BadPlugin, UnknownGame, quoted
from plyd.engines.plugins import Plugins, find_plugins

ENGINES = {  # of this package; `games` has the plug-ins too
    "2584-2x3": "plyd.engines.tiles_2584_2x3.engine:Fibonacci2x3",
    "2584": "plyd.engines.tiles_2584.engine:Fibonacci4x4",
    "2048": "plyd.engines.tiles_2048.engine:Game2048",
    "connect4": "plyd.engines.connect4.engine:Connect4",
    "gomoku": "plyd.engines.gomoku.engine:Gomoku",
}


def games() -> dict[str, str]:
    """The place (module:class) of every game: those of this package first, then plug-ins by name."""
    return {**ENGINES, **plugins().places}


def plugins() -> Plugins:
    """The games of other packages that are installed now."""
    return find_plugins(taken=ENGINES)


def load(game: str, models: Sequence[Path] = ()) -> Engine:
    """The engine of a game, not yet warmed up; model files for this game replace the networks that it ships with."""
    check([game])
    files = files_for(game, models)
    if game not in ENGINES:
        return load_plugin(game, files)
    kind = class_at(ENGINES[game])
    engine: Engine = kind(files) if files else kind()
    return engine


def load_plugin(game: str, files: dict[str, Path]) -> Engine:
    """The engine of a plug-in; raises BadPlugin, with the name of its package, for whatever is wrong with it."""
    found = plugins()
    whose = f"game {quoted(game)} of {found.packages[game]}"
    try:
        kind = class_at(found.places[game])
        made: object = kind(files) if files else kind()
        fault = ""
        if not isinstance(made, Engine):
            fault = f"{found.places[game]} is not an Engine of plyd.engines.core.engine"
        elif made.card.game != game:
            fault = f"its card says {quoted(made.card.game)}; both names must agree"
    except (Exception, SystemExit) as error:  # somebody else's code may raise anything, or want to end the process
        raise BadPlugin(f"{whose} cannot be loaded: {type(error).__name__}: {error}") from error
    if fault or not isinstance(made, Engine):
        raise BadPlugin(f"{whose} cannot be loaded: {fault}")
    return made


def class_at(place: str) -> Any:
    """The class at module:class."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def check(names: Sequence[str]) -> None:
    """Raise UnknownGame if a game does not exist."""
    known = games()
    for game in names:
        if game not in known:
            reasons = [problem for problem in plugins().problems if problem.startswith(f"game {game!r} ")]
            raise UnknownGame("; ".join([f"unknown game {quoted(game)}; games are {', '.join(known)}", *reasons]))


def files_for(game: str, models: Sequence[Path]) -> dict[str, Path]:
    """The model files that are for a game, by variant."""
    from plyd.models.errors import BadWeights
    from plyd.models.files import read_file

    files, known = {}, list(games())
    for path in models:
        try:
            header, _, _ = read_file(path)
        except BadWeights as error:
            raise BadModel(str(error)) from error
        if header.get("game") not in known:  # the header may hold any JSON, even an unhashable value
            raise BadModel(f"{path} is for the game {header.get('game')!r}; games are {', '.join(known)}")
        if header["game"] == game:
            files[str(header.get("variant"))] = path
    return files


def faults_of_weights() -> dict[str, str]:
    """What is wrong with each network that ships, by its name; an empty text: nothing."""
    from plyd.models.shipped import shipped

    return {network.path.stem: "" if network.is_sound else network.verdict for network in shipped()}
