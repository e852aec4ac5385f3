"""2048 and 2584 as Gymnasium environments.

    observation   tile indices, 4 x 4 (2048: 1 is 2, 2 is 4, ...; 2584: 1 is 1, 2 is 2, 3 is 3, 4 is 5, ...), 0 is empty
    action        0 up, 1 right, 2 down, 3 left
    reward        the points of the slide
    info          "action_mask": which slides are legal, as int8. A slide that is not legal changes nothing.

A game ends (terminated) when no slide is legal. `TileVectorEnv` steps thousands of boards in one kernel.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from plyd.engines.core.rules import grid
from plyd.engines.gym.kernel import look_at_boards, reset_boards, step_boards
from plyd.engines.tiles.games import tile_game

SIDE, SLIDES = 4, 4
Cells = NDArray[np.uint8]
Info = dict[str, Any]


class Boards:
    """Many boards of one game, and what can be seen of them."""

    def __init__(self, game: str, variant: str, count: int) -> None:
        self.game = tile_game(game, variant)
        self.rules = self.game.variants[variant]
        self._spawns, self._rows = self.game.spawns(variant), self.game.rows()
        self._words = np.zeros((count, self.game.words), np.uint64)
        self._seeds = np.zeros((count, 1), np.uint64)
        self.points = np.zeros(count)
        self.cells: Cells = np.zeros((count, SIDE * SIDE), np.uint8)
        self.legal = np.zeros((count, SLIDES), np.int8)

    def seed(self, numbers: NDArray[np.uint64]) -> None:
        """Set the state of each board's random numbers."""
        self._seeds[:, 0] = numbers

    def reset(self, which: NDArray[np.bool_]) -> None:
        """Begin new games on some boards."""
        reset_boards(which, self._words, self._seeds, self.game.empty, self._spawns)
        self._look()

    def step(self, which: NDArray[np.bool_], actions: NDArray[np.int64]) -> None:
        """Slide some boards; `points` has what they gained."""
        game = self.game
        step_boards(which, actions, self._words, self._seeds, game.empty, self._rows, self._spawns, self.points)
        self._look()

    def picture(self, i: int) -> str:
        """A board as text."""
        return grid(self.rules.board(self.rules.parse("b " + " ".join(map(str, self.cells[i].tolist())))))

    def _look(self) -> None:
        look_at_boards(self._words, self.game.empty, self._rows, self.cells, self.legal)


def observations(boards: Boards) -> spaces.Space[Cells]:
    """The space of what one board looks like."""
    space: Any = spaces.Box(0, boards.rules.max_index, (SIDE, SIDE), np.uint8)
    return space  # type: ignore[no-any-return]


class TileEnv(gymnasium.Env[Cells, np.int64]):
    """One board: `gymnasium.make("plyd/2048-v0")`."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  the base class has it so

    def __init__(self, game: str = "2048", variant: str = "classic", render_mode: str | None = None) -> None:
        self._boards = Boards(game, variant, 1)
        self.observation_space = observations(self._boards)
        self.action_space = spaces.Discrete(SLIDES)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Cells, Info]:
        """Begin a new game; the same seed gives the same game."""
        super().reset(seed=seed, options=options)
        self._boards.seed(self.np_random.integers(2**63, size=1, dtype=np.uint64))
        self._boards.reset(np.ones(1, np.bool_))
        return self._seen()

    def step(self, action: np.int64) -> tuple[Cells, float, bool, bool, Info]:
        """Slide; a tile drops if the board changed."""
        self._boards.step(np.ones(1, np.bool_), np.array([action], np.int64))
        cells, info = self._seen()
        return cells, float(self._boards.points[0]), not info["action_mask"].any(), False, info

    def render(self) -> str | None:
        """The board as text, with render_mode "ansi"."""
        return self._boards.picture(0) if self.render_mode == "ansi" else None

    def _seen(self) -> tuple[Cells, Info]:
        return self._boards.cells[0].reshape(SIDE, SIDE).copy(), {"action_mask": self._boards.legal[0].copy()}


class TileVectorEnv(VectorEnv[Cells, NDArray[np.int64], Any]):
    """Many boards: `gymnasium.make_vec("plyd/2048-v0", num_envs=1024, vectorization_mode="vector_entry_point")`.

    A board whose game ended begins a new one at the next step, whose action is ignored (AutoresetMode.NEXT_STEP).
    """

    metadata = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": ["ansi"],
        "render_fps": 4,
    }

    def __init__(
        self, num_envs: int = 1, game: str = "2048", variant: str = "classic", render_mode: str | None = None
    ) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._boards = Boards(game, variant, num_envs)
        self.single_observation_space = observations(self._boards)
        self.single_action_space = spaces.Discrete(SLIDES)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_over: NDArray[np.bool_] = np.zeros(num_envs, np.bool_)

    def reset(self, *, seed: int | list[int | None] | None = None, options: Info | None = None) -> tuple[Cells, Info]:
        """Begin a new game on every board. One seed is for all of them; a list has one for each."""
        if isinstance(seed, list):
            generators = [np.random.default_rng(one) for one in seed]
            self._boards.seed(np.array([one.integers(2**63, dtype=np.uint64) for one in generators], np.uint64))
        else:
            super().reset(seed=seed, options=options)
            self._boards.seed(self.np_random.integers(2**63, size=self.num_envs, dtype=np.uint64))
        self._boards.reset(np.ones(self.num_envs, np.bool_))
        self._is_over[:] = False
        return self._seen()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Cells, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Slide every board; those whose game was over begin a new one instead."""
        ended = self._is_over
        self._boards.step(~ended, np.ascontiguousarray(actions, np.int64))
        points = self._boards.points.copy()
        if ended.any():
            self._boards.reset(ended)
        self._is_over = np.asarray(~self._boards.legal.any(axis=1))
        cells, info = self._seen()
        return cells, points, self._is_over.copy(), np.zeros(self.num_envs, np.bool_), info

    def render(self) -> tuple[str, ...] | None:
        """Every board as text, with render_mode "ansi"."""
        return tuple(map(self._boards.picture, range(self.num_envs))) if self.render_mode == "ansi" else None

    def _seen(self) -> tuple[Cells, Info]:
        info = {"action_mask": self._boards.legal.copy(), "_action_mask": np.ones(self.num_envs, np.bool_)}
        return self._boards.cells.reshape(-1, SIDE, SIDE).copy(), info
