"""A trained player of a tile game: its network, loaded for kernels."""

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from plyd.engines.core.engine import Model
from plyd.engines.core.errors import BadModel
from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE
from plyd.engines.tiles.ntuple.network import Steps, shape_of
from plyd.engines.tiles.ntuple.stages import stages_of
from plyd.engines.tiles.search.expectimax import TileModel
from plyd.models.errors import BadWeights
from plyd.models.ntuple.packing import unpack
from plyd.models.ntuple.patterns import patterns_of

MOST_REDUCED_CHANCE = 0.1  # in 2584 hard the rare tile has 0.25: too much to look at it less


@dataclass(frozen=True, slots=True)
class Player:
    """A network for one variant of a game."""

    game: TileGame
    variant: str
    model: TileModel
    info: Model

    @property
    def is_rare_reduced(self) -> bool:
        """Whether the rare tile is rare enough to be searched less deep."""
        return bool(self.model.spawns.rare_chance <= MOST_REDUCED_CHANCE)

    @property
    def downgrade_from(self) -> int:
        """The sum of tiles from which a search should downgrade a board; never if the network does so itself."""
        return NEVER_DOWNGRADE if self.model.shape.stages.are_downgraded else self.game.downgrade_from


def shipped(game: str, variant: str) -> Path:
    """The file of the weights that ship for a variant."""
    return Path(str(resources.files("plyd.models"))) / "weights" / f"{game}-{variant}.plyd"


def shipped_model(game: str, variant: str) -> Model:
    """Name and SHA-256 of the weights that ship for a variant, from their manifest."""
    path = shipped(game, variant)
    try:
        return Model(path.stem, str(json.loads(path.with_suffix(".json").read_text())["sha256"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadModel(f"{path.with_suffix('.json')} does not say what {path.name} should be: {error!r}") from None


def load_player(game: TileGame, variant: str, path: Path | None = None) -> Player:
    """The player with the weights of a file. Default: those that ship, which must match their manifest."""
    source = path or shipped(game.name, variant)
    try:
        network = unpack(source)
    except BadWeights as error:
        raise BadModel(str(error)) from error
    if (network.game, network.variant) != (game.name, variant):
        raise BadModel(f"{source} is for {network.game} {network.variant}, not {game.name} {variant}")
    if path is None and network.sha256 != shipped_model(game.name, variant).sha256:
        raise BadModel(f"{source} is not the file that its manifest describes: its SHA-256 is {network.sha256}")
    if not (network.base == 16 if game.bits == 4 else 2 <= network.base <= 32):
        raise BadModel(
            f"{source} has {network.base} indices a cell; {game.name} has {'16' if game.bits == 4 else '2 to 32'}"
        )
    if any(index > game.rules.max_index for indices in network.stages for index in indices):
        raise BadModel(f"{source} has stages from {network.stages}; {game.name} has indices to {game.rules.max_index}")
    if network.are_downgraded and not game.downgrade_from:
        raise BadModel(f"{source} has stages of downgraded boards, which {game.name} does not have")
    stages = stages_of(
        network.stages, game.rules.tile, game.rules.max_index, are_downgraded=bool(network.are_downgraded)
    )
    shape = shape_of(patterns_of(network.network), game.bits, network.base, stages)
    weights = Steps(network.counts, np.float32(network.step))
    model = TileModel(weights, shape, game.rows(), game.spawns(variant))
    return Player(game, variant, model, Model(source.stem, network.sha256))
