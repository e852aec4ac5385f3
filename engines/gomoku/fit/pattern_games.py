"""`python -m plyd.engines.gomoku.fit.pattern_games OUT`: games of NegaScout against itself, for `fitting`."""

import random
import time
from math import tanh
from pathlib import Path

import click
import numpy as np

from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.rules import Outcome
from plyd.engines.gomoku.board.board import Board, O, X, place_of, set_up
from plyd.engines.gomoku.board.board import empty_board as blank_board
from plyd.engines.gomoku.board.evaluation import SCALE, Weights, load
from plyd.engines.gomoku.board.network import Frames, PatternNetwork, frames_for, shipped_network, weights_with
from plyd.engines.gomoku.board.network import load as load_network
from plyd.engines.gomoku.board.vcf import vcf_for
from plyd.engines.gomoku.fit.records import PatternGame, continued
from plyd.engines.gomoku.negascout.kernel import search_slice
from plyd.engines.gomoku.negascout.table import table_for
from plyd.engines.gomoku.negascout.techniques import plain, shipped
from plyd.engines.gomoku.negascout.workspace import (
    BEST_MOVE,
    DECIDED,
    MOST_PLIES,
    SURE,
    VALUE,
    NegaScoutLimit,
    NegaScoutParams,
    begin_search,
    workspace_for,
)
from plyd.engines.gomoku.rules import EMPTY, RULES, GomokuRules, Position, empty_board, move_at, other, point_of

ANY_MARGIN = 0.5  # of a probability to win from 1/2
OPENING_PLIES = 8  # of an opening: nobody can have five in a row, or make a foul
TRIES, GLANCE_NODES = 1000, 500  # to find an even opening


class Sparring:
    """A NegaScout player with a fixed number of nodes per move, on one thread."""

    def __init__(
        self,
        rules: GomokuRules,
        nodes: int,
        weights: Weights | None = None,
        params: NegaScoutParams | None = None,
        network: PatternNetwork | None = None,
    ) -> None:
        self.rules, self.nodes, self.weights, self.network = rules, nodes, weights, network
        self.params = params or plain(64, 200, width=24)
        if network:
            self.weights, self.params = weights_with(network), self.params._replace(network=1)
        self._boards: dict[int, tuple[Board, Frames]] = {}
        self._table, self._space, self._vcf = table_for(1 << 16), workspace_for(), vcf_for(1 << 13)

    def forget(self) -> None:
        """Forget earlier games, so that the next one does not depend on them."""
        for array in (self._table, *self._vcf):
            array.fill(0)

    def choose(self, position: Position, nodes: int | None = None) -> tuple[str, int]:
        """The move to play, and its value; with another number of nodes, if it is told."""
        size = position.size
        if size not in self._boards:
            board = blank_board(size, self.rules.rule, weights=self.weights)
            self._boards[size] = board, frames_for(self.network, MOST_PLIES + 2)
        board, frames = self._boards[size]
        set_up(board, position)
        self._space.history.fill(0)
        self._space.killers.fill(0)
        self._space.state.fill(0)
        colour = X if position.mover == "x" else O
        limit = NegaScoutLimit(np.int64(nodes or self.nodes), np.int64(NEVER), Stop().flag)
        best, value = 0, 0
        for depth in range(1, 60):
            begin_search(self._space, depth, -SURE, SURE)
            why = search_slice(board, self._vcf, self._space, self._table, self.params, frames, colour, limit)
            if why and best:
                break

            best = int(self._space.frame[BEST_MOVE]) or int(self._space.moves[0])
            value = int(self._space.state[VALUE])
            if abs(value) > DECIDED:
                break
        return move_at(*place_of(best), size), value


def random_opening(size: int, plies: int, rng: random.Random) -> tuple[Position, list[str]]:
    """A position after at most OPENING_PLIES random moves near the middle, and these moves."""
    position = empty_board(size)
    moves: list[str] = []
    while len(moves) < plies:
        rows = position.rows
        middle = range(max(0, size // 2 - 1 - len(moves) // 3), min(size, size // 2 + 2 + len(moves) // 3))
        row, column = rng.choice([(row, column) for row in middle for column in middle if rows[row][column] == EMPTY])
        played = rows[row][:column] + position.mover + rows[row][column + 1 :]
        position = Position((*rows[:row], played, *rows[row + 1 :]), other(position.mover))
        moves.append(move_at(row, column, size))
    return position, moves


def near_moves(rules: GomokuRules, position: Position) -> list[str]:
    """The legal moves at most two steps from a stone; all legal moves if there are none."""
    size, rows = position.size, position.rows
    legal = [move.text for move in rules.legal_moves(position)]
    stones = [(row, column) for row in range(size) for column in range(size) if rows[row][column] in "xo"]
    near = {(row + down, column + right) for row, column in stones for down in range(-2, 3) for right in range(-2, 3)}
    return [move for move in legal if point_of(move, size) in near] or legal


def even_opening(
    player: Sparring, size: int, plies: int, rng: random.Random, margin: float
) -> tuple[Position, list[str]]:
    """The first of some random openings where the probability to win is within `margin` of 1/2, by a short search."""
    for _ in range(TRIES):
        position, moves = random_opening(size, plies, rng)
        if margin >= ANY_MARGIN or tanh(abs(player.choose(position, GLANCE_NODES)[1]) / (2 * SCALE)) / 2 <= margin:
            break
    return position, moves


def play_game(
    player: Sparring, size: int, plies: int, rng: random.Random, slip: float = 0.0, margin: float = ANY_MARGIN
) -> PatternGame:
    """One game from a random opening. It ends as soon as its result is proven.

    With the probability `slip`, a move is one of the random points near stones instead of the player's choice.
    """
    rules = player.rules
    player.forget()
    position, moves = even_opening(player, size, plies, rng, margin)
    scores: list[int | None] = [None] * len(moves)
    result = 0
    while rules.outcome(position) is Outcome.ONGOING:
        if rng.random() < slip:
            move, value = rng.choice(near_moves(rules, position)), None
        else:
            move, value = player.choose(position)
        moves.append(move)
        scores.append(value)
        if value is not None and abs(value) > DECIDED:
            result = (1 if value > 0 else -1) * (1 if position.mover == "x" else -1)
            break
        position = rules.play(position, move).position
        result = {Outcome.PLAYER_ONE_WINS: 1, Outcome.PLAYER_TWO_WINS: -1}.get(rules.outcome(position), 0)
    return PatternGame(size, rules.rule, plies, tuple(moves), result, tuple(scores))


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--games", type=click.IntRange(1), default=1000, show_default=True, help="Number of games.")
@click.option("--nodes", type=click.IntRange(1), default=4000, show_default=True, help="Nodes per move.")
@click.option("--size", type=click.IntRange(5, 20), default=15, show_default=True, help="Board size.")
@click.option("--variant", type=click.Choice(list(RULES)), default="freestyle", show_default=True, help="Rules.")
@click.option(
    "--weights", type=click.Path(path_type=Path), help="Weights that fitting.py wrote.  [default: those that ship]"
)
@click.option(
    "--network",
    type=click.Path(path_type=Path),
    help="A network that network_fit.py wrote.  [default: the one that ships for the rules; none with --weights]",
)
@click.option(
    "--slip",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Probability of a random move near stones in place of the search's.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, ANY_MARGIN),
    default=ANY_MARGIN,
    show_default=True,
    help="Largest difference of an opening's probability to win from 1/2, by a short search.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Random seed.")
def main(
    out: Path,
    games: int,
    nodes: int,
    size: int,
    variant: str,
    weights: Path | None,
    network: Path | None,
    slip: float,
    margin: float,
    seed: int,
) -> None:
    """Play games of NegaScout against itself until the file OUT has --games of them; a file is continued."""
    rules, known = RULES[variant], len(continued(out))
    used = load_network(network) if network else None if weights else shipped_network(rules.rule)
    player = Sparring(rules, nodes, load(weights) if weights else None, shipped(), used)
    began = time.monotonic()
    with out.open("a", buffering=1, encoding="utf-8") as file:
        for number in range(known, games):
            rng = random.Random(f"{seed} {number}")
            record = play_game(player, size, rng.randint(2, OPENING_PLIES), rng, slip, margin)
            file.write(record.text() + "\n")
            played = number + 1 - known
            if played % 50 == 0:
                click.echo(f"{number + 1} games, {(time.monotonic() - began) / played:.2f} s per game")


if __name__ == "__main__":
    main()
