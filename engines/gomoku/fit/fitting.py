"""`python -m plyd.engines.gomoku.fit.fitting GAMES... --out FILE`: fits the weights of combinations to games.

There are two fits, both of sums over points. For the evaluation, the result of a game is a logistic function of the
weights of all empty points' combinations, of the side to move and of the other side. For the ordering of moves, the
move played is a softmax over the points near stones. The weight of a combination is the sum of the weights of its four
classes and a term of its own, which is regularised: a combination that hardly ever occurs gets the weight of its
classes.
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
from plyd.engines.gomoku.board.vcf import WIN, Vcf, finds_vcf, vcf_for, vcf_view
from plyd.engines.gomoku.fit.records import PatternGame, read_records
from plyd.engines.gomoku.rules import point_of

MOST_POINTS = 400
MOST_NEAR = 160  # including the move that was played
VCF_NODES = 64
STEPS, BATCH, RATE = 2000, 512, 0.03
OWN_DECAY, OWN_MOVE_DECAY = 1e-3, 5e-5  # L2 of a combination's own term


class Samples(NamedTuple):
    """Samples to learn from. Positions: how often the side to move, and the other, has each combination, and whether
    the side to move won. Moves: the combinations of each point near stones, padded with COMBINATIONS, and the index of
    the point that was played.
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
def _has_vcf(board: Board, vcf: Vcf, me: int) -> bool:
    """Whether there is a VCF, which a search finds at its leaves."""
    return finds_vcf(view(board), vcf_view(vcf), me, VCF_NODES) == WIN


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


def select_leaves(records: list[PatternGame]) -> tuple[Samples, Samples]:
    """Quiet positions with the result of the game, and positions with the move that was played."""
    quiet: list[Any] = []
    moves: list[Any] = []
    nothing = Weights(*(np.zeros(2 * (COMBINATIONS + 1), np.int32) for _ in Weights._fields))
    points, vcf = np.zeros(MOST_POINTS, np.int32), vcf_for()
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
                if record.result and not _has_vcf(board, vcf, me):
                    mine, theirs = (np.zeros(COMBINATIONS + 1, np.uint8) for _ in range(2))
                    _all_points(board, me, mine, theirs)
                    quiet.append((mine, theirs, float(record.result == (1 if me == 1 else -1))))
            _put(board, point, me)
    return _stacked(quiet), _stacked(moves)


def _stacked(samples: list[Any]) -> Samples:
    mine, theirs, result = zip(*samples, strict=True)
    return Samples(np.stack(mine), np.stack(theirs), np.array(result, np.float32))


class Fit:
    """Weights of combinations for two roles, 0 the other side and 1 the side to move, and how they are learned."""

    def __init__(self, own_decay: float, seed: int = 1) -> None:
        import torch

        torch.manual_seed(seed)
        self.torch = torch
        self.own_decay = own_decay
        self.by_class = torch.zeros(CLASSES, 2, requires_grad=True)
        self.own = torch.zeros(COMBINATIONS, 2, requires_grad=True)
        counts = torch.zeros(COMBINATIONS, CLASSES)
        for index, four in enumerate(combinations()):
            for found in four:
                counts[index, found] += 1
        self.counts = counts

    def weights(self) -> Any:
        """Weights by combination and role, with one more row of zeros."""
        torch = self.torch
        weights = self.counts @ self.by_class + self.own
        weights = weights - weights[:1]  # four dead lines have weight 0
        return torch.cat([weights, torch.zeros(1, 2)])

    def learn(self, samples: Samples, loss_of: Any, steps: int = STEPS) -> tuple[float, float]:
        """Fits to 90% of the samples; the final loss on those, and on the other 10%."""
        torch = self.torch
        held = np.arange(len(samples.result)) // 500 % 10 == 0  # mostly whole games: samples of a game are neighbours
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
            (loss + self.own_decay * (self.own**2).sum()).backward()
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
    """Cross-entropy between the evaluation and the result."""
    value = mine.float() @ weights[:, 1] - theirs.float() @ weights[:, 0]
    return torch.nn.functional.binary_cross_entropy_with_logits(value, result)


def move_loss(torch: Any, weights: Any, mine: Any, theirs: Any, place: Any) -> Any:
    """Cross-entropy between the ordering and the move that was played."""
    scores = weights[:, 1][mine.int()] + weights[:, 0][theirs.int()]
    scores = scores.masked_fill(mine == COMBINATIONS, -1e9)
    return torch.nn.functional.cross_entropy(scores, place.long())


@click.command()
@click.argument("games", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Maximum number of games per file; the last ones are taken.",
)
def main(games: tuple[Path, ...], out: Path, most: int) -> None:
    """Fit the weights of combinations to GAMES, files with one game per line, and write them to a file."""
    records = [record for path in games for record in list(read_records(path))[-most:]]
    quiet, moves = select_leaves(records)
    click.echo(f"{len(records)} games, {len(quiet.result)} quiet positions, {len(moves.result)} moves")
    value, ordering = Fit(OWN_DECAY), Fit(OWN_MOVE_DECAY)
    click.echo("results: loss {:.4f}, held out {:.4f}".format(*value.learn(quiet, result_loss)))
    click.echo("moves:   loss {:.4f}, held out {:.4f}".format(*ordering.learn(moves, move_loss)))
    save(
        Weights(
            (value.weights().detach().numpy() * SCALE).round().astype(np.int32).reshape(-1),
            (ordering.weights().detach().numpy() * MOVE_SCALE).round().astype(np.int32).reshape(-1),
        ),
        out,
        {"games": len(records), "positions": len(quiet.result), "moves": len(moves.result)},
    )


if __name__ == "__main__":
    main()
