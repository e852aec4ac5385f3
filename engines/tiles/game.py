"""A 4x4 tile game for kernels: its tables, its boards, its environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from plyd.engines.tiles.bitboard import Rows, Word, fill_rows
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE
from plyd.engines.tiles.ntuple.moves import Spawns
from plyd.engines.tiles.rulebook import TileRules


@dataclass(frozen=True, eq=False)
class TileGame:
    """A game: the bits per cell of its boards, and its rulebooks by variant, the default one first."""

    name: str
    bits: int
    variants: Mapping[str, TileRules]
    downgrade_from: int = NEVER_DOWNGRADE
    """Sum of tiles from which a board is downgraded before it is searched."""

    @property
    def words(self) -> int:
        """Machine words per board."""
        return 1 if self.bits == 4 else 2

    @property
    def rules(self) -> TileRules:
        """The default variant's rulebook; slides are the same in all variants."""
        return next(iter(self.variants.values()))

    @property
    def empty(self) -> Any:
        """The empty board."""
        return self.board((0,) * 16)

    def board(self, cells: Sequence[int]) -> Any:
        """The board with these cells."""
        per_word = 16 // self.words
        words = [
            Word(sum(int(index) << (self.bits * i) for i, index in enumerate(cells[at : at + per_word])))
            for at in range(0, 16, per_word)
        ]
        return words[0] if self.words == 1 else tuple(words)

    def cells(self, board: Any) -> tuple[int, ...]:
        """The cells of a board."""
        per_word, mask = 16 // self.words, (1 << self.bits) - 1
        words = [board] if self.words == 1 else board
        return tuple(int(word) >> (self.bits * i) & mask for word in words for i in range(per_word))

    @cache  # noqa: B019
    def rows(self) -> Rows:
        """Slides of every row."""
        indices = range(self.rules.max_index + 1)
        merged = np.array([[self.rules.merge(i, j) or 0 if i and j else 0 for j in indices] for i in indices], np.uint8)
        tiles = np.array([self.rules.tile(i) for i in indices], np.uint32)
        rows = Rows(np.zeros((2, 1 << (4 * self.bits)), np.uint64))
        fill_rows(self.bits, merged, tiles, rows)
        return rows

    def spawns(self, variant: str) -> Spawns:
        """The tiles that the environment of a variant drops."""
        (common, _), (rare, chance) = self.variants[variant].spawns.items()
        return Spawns(Word(common), Word(rare), np.float64(chance))
