"""Games of two players as PettingZoo environments (AEC): `env("connect4")`, `env("gomoku", start="9x9")`.

agents        "player_0" moves first
observation   {"observation": planes (rows, columns, 3) as int8: own stones, the other's, blocked cells;
               "action_mask": which actions are legal, as int8}
action        a column where stones are dropped into columns, else a cell, row by row from the top; with
              `passes=True` one more, the last, is to pass
reward        1 for the winner and -1 for the loser at the end of the game, else 0
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from plyd.engines import registry
from plyd.engines.core.look import BoardKind
from plyd.engines.core.rules import Move, MoveKind, Outcome, Side

AGENTS = {Side.PLAYER_ONE: "player_0", Side.PLAYER_TWO: "player_1"}
WINNERS = {Outcome.PLAYER_ONE_WINS: "player_0", Outcome.PLAYER_TWO_WINS: "player_1"}
PLANES = 3


def env(
    game: str, variant: str = "", start: str = "", *, passes: bool = False, render_mode: str | None = None
) -> AECEnv[str, Any, Any]:
    """The environment in PettingZoo's usual wrappers: an illegal action loses the game."""
    raw = TwoPlayerEnv(game, variant, start, passes=passes, render_mode=render_mode)
    ordered: AECEnv[str, Any, Any] = wrappers.OrderEnforcingWrapper(
        wrappers.TerminateIllegalWrapper(raw, illegal_reward=-1)
    )
    return ordered


class TwoPlayerEnv(AECEnv[str, Any, Any]):  # type: ignore[misc] # pettingzoo has no types
    """One game of two players, by the rulebook of the game."""

    metadata = {"name": "plyd_v0", "render_modes": ["ansi"], "is_parallelizable": False}  # noqa: RUF012

    def __init__(
        self, game: str, variant: str = "", start: str = "", *, passes: bool = False, render_mode: str | None = None
    ) -> None:
        super().__init__()
        engine = registry.load(game)
        self._rules = engine.variants[variant or next(iter(engine.variants))]
        self._stones = {look.stone: AGENTS[look.side] for look in engine.card.sides if look.side in AGENTS}
        self._is_dropped = engine.card.board_look.kind is BoardKind.DROPPED
        if len(self._stones) < len(AGENTS) or "" in self._stones:
            raise ValueError(f"{game} is not a game of two players with stones; such are connect4 and gomoku")
        self._first = self._rules.parse(start) if start else self._rules.start()
        board = self._rules.board(self._first)
        self._rows, self._columns = board.rows, board.columns
        cells = self._columns if self._is_dropped else self._rows * self._columns
        self._pass = cells if passes else None
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS.values())
        self.agents: list[str] = []
        planes = spaces.Box(0, 1, (self._rows, self._columns, PLANES), np.int8)
        mask = spaces.Box(0, 1, (cells + passes,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": planes, "action_mask": mask}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(cells + passes) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        """What an agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """What an agent may do."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin a new game; nothing in it is random."""
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._go_to(self._first)

    def step(self, action: Any) -> None:
        """Play the action of the agent whose turn it is."""
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action not in self._legal:
            raise ValueError(f"action {action} is not legal; legal are {sorted(self._legal)}")
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._clear_rewards()
        self._go_to(self._rules.play(self._position, self._legal[action].text).position)
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, Any]:
        """The board as an agent sees it, and its legal actions; none if it is not its turn."""
        board = self._rules.board(self._position)
        owners = np.array([self._stones.get(label, label) for label in board.cells]).reshape(self._rows, self._columns)
        others = (owners != "") & ~np.isin(owners, self.possible_agents)
        rival = self.possible_agents[1 - self.possible_agents.index(agent)]
        planes = np.stack([owners == agent, owners == rival, others], axis=-1).astype(np.int8)
        mask = np.zeros(self.action_spaces[agent].n, np.int8)
        if agent == self.agent_selection and not self.terminations[agent]:
            mask[list(self._legal)] = 1
        return {"observation": planes, "action_mask": mask}

    def render(self) -> str | None:
        """The board as text, with render_mode "ansi"."""
        return self._rules.picture(self._position) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """There is nothing to close."""

    def _go_to(self, position: Any) -> None:
        self._position = position
        self._legal = {self._action_of(move): move for move in self._rules.legal_moves(position)}
        if mover := self._rules.to_move(position):
            self.agent_selection = AGENTS[mover]
            return
        if winner := WINNERS.get(self._rules.outcome(position)):
            self.rewards = {agent: 1.0 if agent == winner else -1.0 for agent in self.agents}
        self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[1 - self.agents.index(self.agent_selection)]

    def _action_of(self, move: Move) -> int:
        if move.cell is not None and move.kind is MoveKind.CELL:
            return move.cell % self._columns if self._is_dropped else move.cell
        if move.kind is MoveKind.PASS and self._pass is not None:
            return self._pass
        raise ValueError(f"the move {move.text!r} is no cell; for a game with passes make it with passes=True")
