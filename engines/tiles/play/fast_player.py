"""Plays a tile game on at depth 1, compiled: for a daemon that is asked to make many moves."""

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import Stop
from plyd.engines.tiles.ntuple.network import scratch_for
from plyd.engines.tiles.ntuple.player import Player
from plyd.engines.tiles.play.kernel import play_on
from plyd.engines.tiles.rulebook import SLIDES, Position

ACTION_BITS = 4  # an action is a slide from 0 to 3, or a drop: its index above the bits of its cell
DROPS = tuple(f"{action >> ACTION_BITS}@{action & 15}" for action in range(1 << ACTION_BITS, 1 << 10))
TEXTS = (*SLIDES, *[""] * ((1 << ACTION_BITS) - len(SLIDES)), *DROPS)  # by action


class FastTilePlayer:
    """The network's slides and chance's drops; chance goes on where it was at the call before."""

    def __init__(self, player: Player, downgrade_from: int, seed: int) -> None:
        self._player = player
        self._downgrade_from = downgrade_from
        self._scratch = scratch_for(player.model.shape)
        self._seed = np.array([seed], np.uint64)

    def play(self, position: Position, most: int, stop: Stop) -> tuple[int, list[str]]:
        """The number of slides, at most so many, and all moves: each slide is followed by a drop."""
        actions: NDArray[np.int16] = np.empty(2 * most, np.int16)
        board = self._player.game.board(position.cells)
        length = play_on(self._player.model, self._downgrade_from, stop.flag, self._scratch, board, self._seed, actions)
        return length // 2, [TEXTS[action] for action in actions[:length].tolist()]
