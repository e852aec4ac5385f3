"""The base of the tile games' engines: a player for each variant, loaded when it is first asked for."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.engine import Answers, Capability, Card, Engine
from plyd.engines.core.errors import BadModel
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import OptionValue, granted_megabytes, read_options
from plyd.engines.core.search import FastPlayer, Limits, Searcher
from plyd.engines.tiles.batch.answers import answer_lines
from plyd.engines.tiles.batch.values import values_of
from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.look import TILE_LOOK, TILE_SIDES
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE
from plyd.engines.tiles.ntuple.network import scratch_for
from plyd.engines.tiles.ntuple.player import Player, load_player, shipped_model
from plyd.engines.tiles.play.fast_player import FastTilePlayer
from plyd.engines.tiles.rulebook import Position
from plyd.engines.tiles.search.searcher import DOWNGRADE, OPTIONS, TileSearcher

BATCHES = "batches"  # the part that evaluates batches of positions
FAST = "fast "  # begins the name of the part that makes many moves of a variant at once
ONE_TILE = " ".join(["1"] + ["0"] * 15)


def tile_card(
    game: TileGame,
    title: str,
    summary: str,
    tiles: str,
    examples: tuple[str, str],
    formats: tuple[str, ...] = ("text",),
) -> Card:
    """The card of a tile game on 4x4; `tiles` explains the indices."""
    return Card(
        game=game.name,
        title=title,
        summary=summary,
        position_notation="b (before: the player slides next) or a (after: a tile drops next), then "
        f"the index of each cell, row by row: 0 empty, {tiles}; at most {game.rules.max_index}.",
        position_examples=examples,
        move_notation="A slide: up, right, down or left. A drop: INDEX@CELL, cells 0 1 2 3 in the top row.",
        move_examples=("left", "1@4"),
        node_meaning="a position with the player to move whose slides were evaluated or searched",
        min_rows=4,
        max_rows=4,
        min_columns=4,
        max_columns=4,
        options=(*OPTIONS, DOWNGRADE) if game.downgrade_from else OPTIONS,
        capabilities=frozenset({Capability.EVALUATE, Capability.ENVIRONMENT}),
        board_look=TILE_LOOK,
        sides=TILE_SIDES,
        file_formats=formats,
    )


class TileEngine(Engine):
    """A game with a player for each variant: the one that ships, or one from a model file."""

    def __init__(self, game: TileGame, card: Card, files: Mapping[str, Path] | None = None) -> None:
        self.game = game
        self.variants = game.variants
        self._default = next(iter(game.variants))
        self.parts = (*game.variants, BATCHES, *(FAST + name for name in game.variants))
        self._files = files or {}
        self._players: dict[str, Player] = {}
        for name in self._files:
            if name not in game.variants:
                raise BadModel(
                    f"{self._files[name]} is for the variant {name!r}; {game.name} has {', '.join(game.variants)}"
                )
        models = {name: shipped_model(game.name, name) for name in game.variants if name not in self._files}
        models |= {name: self.player(name).info for name in self._files}
        self.card = replace(card, models={name: models[name] for name in game.variants})

    def player(self, variant: str) -> Player:
        """The player of a variant, loaded on first use."""
        if variant not in self._players:
            self._players[variant] = load_player(self.game, variant, self._files.get(variant))
        return self._players[variant]

    def warm_up(self) -> None:
        """Prepare every part."""
        with ThreadPoolExecutor() as pool:  # mostly reading and decompressing, in parallel
            list(pool.map(self.player, self.variants))
        for part in self.parts:
            self.prepare(part)

    def prepare(self, part: str) -> None:
        """Load the player of a variant and run each kernel of its search once; or other kernels."""
        if part == BATCHES:
            for letter in "ba":
                for as_text in (True, False):
                    self.evaluate(self._default, f"{letter} {ONE_TILE}\n".encode(), as_text=as_text, with_moves=True)
            return
        if part.startswith(FAST):
            variant = part.removeprefix(FAST)
            position = self.variants[variant].parse(f"b {ONE_TILE}")
            FastTilePlayer(self.player(variant), NEVER_DOWNGRADE, 1).play(position, 1, Stop())
            return
        searcher = self.searcher(part, read_options(self.card.options, {}))
        for letter in "ba":
            position = self.variants[part].parse(f"{letter} {ONE_TILE}")
            list(searcher.search(position, Limits(max_depth=2), Stop()))

    def search_parts(self, variant: str, options: Mapping[str, OptionValue]) -> tuple[str, ...]:  # noqa: ARG002
        """Only the variant: each has a network of its own."""
        return (variant,)

    def evaluate_parts(self, variant: str) -> tuple[str, ...]:
        """The variant and the kernels of batches."""
        return (variant, BATCHES)

    def searcher(self, variant: str, options: Mapping[str, OptionValue], megabytes: int | None = None) -> Searcher:
        """A new searcher with its own table."""
        return TileSearcher(self.player(variant), options, granted_megabytes(options, megabytes))

    def fast_player(
        self, variant: str, options: Mapping[str, OptionValue], limits: Limits, seed: int
    ) -> FastPlayer | None:
        """The network's moves at depth 1."""
        if limits.max_depth != 1:
            return None
        player = self.player(variant)
        return FastTilePlayer(player, player.downgrade_from if options.get(DOWNGRADE.name) else NEVER_DOWNGRADE, seed)

    def fast_parts(self, variant: str) -> tuple[str, ...]:
        """The variant and the kernel of many moves."""
        return (variant, FAST + variant)

    def answers_at_once(self, position: Position, limits: Limits, options: Mapping[str, OptionValue]) -> bool:  # noqa: ARG002
        """True for the player's move at depth 1: the network's values of four boards."""
        return limits.max_depth == 1 and position.before

    def evaluate(self, variant: str, lines: bytes, *, as_text: bool, with_moves: bool) -> Answers:
        """Network values of many positions, searched one slide deep."""
        player = self.player(variant)

        def look_up(
            letters: NDArray[np.uint8], cells: NDArray[np.uint8]
        ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
            values, moves = np.empty(letters.size), np.empty(letters.size, np.int64)
            model, scratch = player.model, scratch_for(player.model.shape)
            values_of(model, self.game.empty, scratch, letters, cells, values, moves)
            if not with_moves:
                moves.fill(-1)
            return values, moves

        return answer_lines(lines, self.game.variants[variant], look_up, as_text=as_text, with_moves=with_moves)
