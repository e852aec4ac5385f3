"""The engines by game. To add a game, add one line here."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import BadModel, UnknownGame, quoted

ENGINES = {
    "2584-2x3": "plyd.engines.tiles_2584_2x3.engine:Fibonacci2x3",
    "2584": "plyd.engines.tiles_2584.engine:Fibonacci4x4",
    "2048": "plyd.engines.tiles_2048.engine:Game2048",
    "connect4": "plyd.engines.connect4.engine:Connect4",
    "gomoku": "plyd.engines.gomoku.engine:Gomoku",
}


def load(game: str, models: Sequence[Path] = ()) -> Engine:
    """The engine of a game, not yet warmed up; model files for this game replace the networks that it ships with."""
    check([game])
    module, _, name = ENGINES[game].partition(":")
    kind: Any = getattr(import_module(module), name)
    files = files_for(game, models)
    engine: Engine = kind(files) if files else kind()
    return engine


def check(games: Sequence[str]) -> None:
    """Raise UnknownGame if a game does not exist."""
    for game in games:
        if game not in ENGINES:
            raise UnknownGame(f"unknown game {quoted(game)}; games are {', '.join(ENGINES)}")


def files_for(game: str, models: Sequence[Path]) -> dict[str, Path]:
    """The model files that are for a game, by variant."""
    from plyd.models.errors import BadWeights
    from plyd.models.files import read_file

    files = {}
    for path in models:
        try:
            header, _, _ = read_file(path)
        except BadWeights as error:
            raise BadModel(str(error)) from error
        if header.get("game") not in list(ENGINES):  # the header may hold any JSON, even an unhashable value
            raise BadModel(f"{path} is for the game {header.get('game')!r}; games are {', '.join(ENGINES)}")
        if header["game"] == game:
            files[str(header.get("variant"))] = path
    return files


def faults_of_weights() -> dict[str, str]:
    """What is wrong with each network that ships, by its name; an empty text: nothing."""
    from plyd.models.shipped import shipped

    return {network.path.stem: "" if network.is_sound else network.verdict for network in shipped()}
