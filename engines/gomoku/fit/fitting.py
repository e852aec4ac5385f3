"""What combinations are worth, and which of them players choose, learned from games: `python -m
plyd.engines.gomoku.fit.fitting GAMES... --out FILE`.

Two fits, both of sums over points. The result of a game is a logistic function of what the combinations of all empty
points are worth, to the mover and to who waits; the move is a softmax over the points near stones. A combination's
weight is the sum of its four classes' weights and something of its own, which has to earn its keep: so a combination
that hardly ever occurs is worth what its classes say.
"""

from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    MARGIN,
    NOBODY,
    SIZE,
    STRIDE,
    Board,
    count_of,
    empty_board,
    list_near,
    play,
    point_at,
    view,
)
from plyd.engines.gomoku.board.evaluation import MOVE_SCALE, SCALE, Weights, save
from plyd.engines.gomoku.board.patterns import (
    CLASSES,
    COMBINATION_MASK,
    COMBINATIONS,
    MAKES_FIVE,
    WINS_NEXT,
    combinations,
)
from plyd.engines.gomoku.board.threats import WIN, Chase, chase_for, chase_view, finds_fours
from plyd.engines.gomoku.fit.records import Record, read_records
from plyd.engines.gomoku.rules import point_of

MOST_POINTS = 400
MOST_NEAR = 160  # of which the move made is one
CHASE_NODES = 64
STEPS, BATCH, RATE = 600, 256, 0.03
OWN_COST, OWN_MOVE_COST = 3e-3, 1e-4  # of a combination's own weight, squared


class Samples(NamedTuple):
    """What to learn from. Of positions: how often the mover, and who waits, has each combination, and whether the mover
    won. Of moves: the combinations of each point near stones, COMBINATIONS filling up, and the place of the one chosen.
    """

    mine: NDArray[Any]
    theirs: NDArray[Any]
    result: NDArray[np.float32]


@njit
def _is_quiet(board: Board, me: int) -> bool:
    v = view(board)
    you = 3 - me
    return count_of(v, me, MAKES_FIVE) + count_of(v, you, MAKES_FIVE) + count_of(v, me, WINS_NEXT) == 0


@njit
def _has_chase(board: Board, chase: Chase, me: int) -> bool:
    """Whether fours alone win, as a search would find at its last ply."""
    return finds_fours(view(board), chase_view(chase), me, CHASE_NODES) == WIN


@njit
def _all_points(board: Board, me: int, mine: NDArray[np.uint8], theirs: NDArray[np.uint8]) -> None:
    v = view(board)
    size = np.int64(v.state[SIZE])
    for row in range(MARGIN, MARGIN + size):
        for point in range(row * STRIDE + MARGIN, row * STRIDE + MARGIN + size):
            if v.stone[point] == NOBODY:
                mine[v.combo[point * 2 + me - 1] & COMBINATION_MASK] += 1
                theirs[v.combo[point * 2 + 2 - me] & COMBINATION_MASK] += 1


@njit
def _near_points(
    board: Board, me: int, points: NDArray[np.int32], mine: NDArray[np.int16], theirs: NDArray[np.int16]
) -> int:
    v = view(board)
    count = list_near(v, points, 0)
    for i in range(count):
        mine[i] = v.combo[points[i] * 2 + me - 1] & COMBINATION_MASK
        theirs[i] = v.combo[points[i] * 2 + 2 - me] & COMBINATION_MASK
    return count


@njit
def _put(board: Board, point: int, colour: int) -> None:
    play(view(board), point, colour)


def gather(records: list[Record]) -> tuple[Samples, Samples]:
    """Quiet positions with the game's result, and positions with the move that was made."""
    quiet: list[Any] = []
    moves: list[Any] = []
    nothing = Weights(*(np.zeros(2 * (COMBINATIONS + 1), np.int32) for _ in Weights._fields))
    points, chase = np.zeros(MOST_POINTS, np.int32), chase_for()
    for record in records:
        board = empty_board(record.size, record.variant, weights=nothing)
        for ply, text in enumerate(record.moves):
            me = 1 + ply % 2
            point = point_at(*point_of(text, record.size))
            if ply >= record.opening and _is_quiet(board, me):
                mine, theirs = (np.full(MOST_POINTS, COMBINATIONS, np.int16) for _ in range(2))
                count = _near_points(board, me, points, mine, theirs)
                place = np.flatnonzero(points[:count] == point)
                if place.size and count <= MOST_NEAR:
                    moves.append((mine[:MOST_NEAR], theirs[:MOST_NEAR], place[0]))
                if record.result and not _has_chase(board, chase, me):
                    mine, theirs = (np.zeros(COMBINATIONS + 1, np.uint8) for _ in range(2))
                    _all_points(board, me, mine, theirs)
                    quiet.append((mine, theirs, float(record.result == (1 if me == 1 else -1))))
            _put(board, point, me)
    return _stacked(quiet), _stacked(moves)


def _stacked(samples: list[Any]) -> Samples:
    mine, theirs, result = zip(*samples, strict=True)
    return Samples(np.stack(mine), np.stack(theirs), np.array(result, np.float32))


class Fit:
    """Weights of combinations for two roles, 0 who waits and 1 the mover, and how they are learned."""

    def __init__(self, own_cost: float, seed: int = 1) -> None:
        import torch

        torch.manual_seed(seed)
        self.torch = torch
        self.own_cost = own_cost
        self.by_class = torch.zeros(CLASSES, 2, requires_grad=True)
        self.own = torch.zeros(COMBINATIONS, 2, requires_grad=True)
        counts = torch.zeros(COMBINATIONS, CLASSES)
        for index, four in enumerate(combinations()):
            for found in four:
                counts[index, found] += 1
        self.counts = counts

    def weights(self) -> Any:
        """By combination and role; one more row, of nothing."""
        torch = self.torch
        weights = self.counts @ self.by_class + self.own
        weights = weights - weights[:1]  # four dead lines are worth nothing
        return torch.cat([weights, torch.zeros(1, 2)])

    def learn(self, samples: Samples, loss_of: Any, steps: int = STEPS) -> tuple[float, float]:
        """Fit to nine of ten samples; the loss of those at the end, and of the tenth."""
        torch = self.torch
        held = np.arange(len(samples.result)) // 500 % 10 == 0  # whole games, nearly: they follow one another
        train, test = (self._tensors(samples, where) for where in (~held, held))
        optimiser = torch.optim.Adam([self.by_class, self.own], RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        generator = torch.Generator().manual_seed(1)
        recent = 0.0
        for step in range(steps):
            batch = torch.randint(len(train[2]), (BATCH,), generator=generator)
            loss = loss_of(torch, self.weights(), *(part[batch] for part in train))
            recent = 0.99 * recent + 0.01 * loss.item() if step else loss.item()
            optimiser.zero_grad()
            (loss + self.own_cost * (self.own**2).sum()).backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            tested = float(loss_of(torch, self.weights(), *test))
        return recent, tested

    def _tensors(self, samples: Samples, where: NDArray[np.bool_]) -> tuple[Any, ...]:
        torch = self.torch
        return (
            torch.from_numpy(samples.mine[where]),
            torch.from_numpy(samples.theirs[where]),
            torch.from_numpy(samples.result[where]),
        )


def result_loss(torch: Any, weights: Any, mine: Any, theirs: Any, result: Any) -> Any:
    """How badly the sums of worth tell who won."""
    worth = mine.float() @ weights[:, 1] - theirs.float() @ weights[:, 0]
    return torch.nn.functional.binary_cross_entropy_with_logits(worth, result)


def move_loss(torch: Any, weights: Any, mine: Any, theirs: Any, place: Any) -> Any:
    """How badly the weights tell which move was made."""
    scores = weights[:, 1][mine.int()] + weights[:, 0][theirs.int()]
    scores = scores.masked_fill(mine == COMBINATIONS, -1e9)
    return torch.nn.functional.cross_entropy(scores, place.long())


@click.command()
@click.argument("games", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option(
    "--most", type=click.IntRange(1), default=100_000, show_default=True, help="Games of each file, the last."
)
def main(games: tuple[Path, ...], out: Path, most: int) -> None:
    """Fit the weights of combinations to GAMES and write them to a file."""
    records = [record for path in games for record in list(read_records(path))[-most:]]
    quiet, moves = gather(records)
    click.echo(f"{len(records)} games, {len(quiet.result)} quiet positions, {len(moves.result)} moves")
    worth, ordering = Fit(OWN_COST), Fit(OWN_MOVE_COST)
    click.echo("results: loss {:.4f}, of others {:.4f}".format(*worth.learn(quiet, result_loss)))
    click.echo("moves:   loss {:.4f}, of others {:.4f}".format(*ordering.learn(moves, move_loss)))
    save(
        Weights(
            (worth.weights().detach().numpy() * SCALE).round().astype(np.int32).reshape(-1),
            (ordering.weights().detach().numpy() * MOVE_SCALE).round().astype(np.int32).reshape(-1),
        ),
        out,
        {"games": len(records), "positions": len(quiet.result), "moves": len(moves.result)},
    )


if __name__ == "__main__":
    main()
