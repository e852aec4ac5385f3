"""What the course's judges check in a record file of 2584: legal moves, the shares of tiles, uniformly chosen cells."""

from collections import Counter
from collections.abc import Sequence
from operator import not_

from plyd.clients.formats.rec2584 import BadRecord
from plyd.clients.formats.tile_replay import SIZE, FinishedGame, IllegalAction, Replay

RARE_SHARES = {2: ("90/10", 10.0), 3: ("75/25", 25.0)}  # by the rarer index: the variant's odds, its share in percent


class Judge:
    """Replays records and counts what the course's judges check."""

    def __init__(self) -> None:
        self.records = 0
        self.unfinished: list[int] = []  # numbers of the records that end before the game does
        self._tiles: Counter[int] = Counter()
        self._cells = [0] * SIZE
        self._choices: Counter[tuple[bool, ...]] = Counter()  # sets of empty cells, and the number of drops at each

    def replay(self, actions: Sequence[int], start_ms: int = 0, end_ms: int = 0) -> FinishedGame:
        """The game of a record; BadRecord if it breaks the rules."""
        self.records += 1
        game = Replay()
        for at, action in enumerate(actions, 1):
            try:
                if game.drops_next:
                    choice = tuple(map(not_, game.cells))
                    game.play(action)
                    self._count(action, choice)
                else:
                    game.play(action)
            except IllegalAction as error:
                raise BadRecord(f"record {self.records}, action {at}: {error}") from None
        if not game.is_over():
            self.unfinished.append(self.records)
        return game.finished(start_ms, end_ms)

    def _count(self, drop: int, choice: tuple[bool, ...]) -> None:
        index, cell = drop >> 4, drop & 15
        self._tiles[index] += 1
        self._cells[cell] += 1
        self._choices[choice] += 1
        if index > 1 and 5 - index in self._tiles:  # 2 and 3 are the rarer tiles of different variants
            raise IllegalAction(f"drops a {index}-tile, but {5 - index}-tiles were dropped before")

    def summary(self) -> str:
        """What the judges check, one line each."""
        drops, ends = sum(self._tiles.values()), len(self.unfinished)
        lines = [f"moves   all legal; {self.records} games, {drops} drops"]
        if drops:
            shares = {index: 100 * count / drops for index, count in sorted(self._tiles.items())}
            rare = 100 - shares.get(1, 0.0)
            away = [f"{abs(rare - share):.2f} points from {name}" for name, share in RARE_SHARES.values()]
            tiles = ", ".join(f"{share:.2f}% {index}-tiles" for index, share in shares.items())
            lines.append(f"tiles   {tiles}: {', '.join(away)}; judges allow about 0.5")
            chi_square, degrees = chi_square_statistic(self._cells, self._choices)
            lines.append(
                f"cells   chi-square {chi_square:.1f} at {degrees} degrees of freedom; chance alone stays below "
                f"{critical_value(degrees):.1f} in 999 of 1000 files"
            )
        could = f"{ends} of {self.records} games could go on, the first is record {self.unfinished[0]}" if ends else ""
        return "\n".join([*lines, f"ends    {could or 'all terminal'}"])


def chi_square_statistic(hits: Sequence[int], choices: Counter[tuple[bool, ...]]) -> tuple[float, int]:
    """Chi-square of the drops on each cell against a uniform choice of an empty cell, and its degrees of freedom.

    The empty cells differ from drop to drop, so the counts are not multinomial: the statistic is d' V^-1 d, with d the
    counts minus their expectation and V their covariance, summed over drops.
    """
    surplus = [float(hit) for hit in hits]
    covariance = [[0.0] * SIZE for _ in range(SIZE)]
    for choice, drops in choices.items():
        empty = [cell for cell, is_empty in enumerate(choice) if is_empty]
        share = drops / len(empty)
        for i in empty:
            surplus[i] -= share
            covariance[i][i] += share
            for j in empty:
                covariance[i][j] -= share / len(empty)
    chi_square, degrees = 0.0, 0
    for k, row in enumerate(covariance):  # Gaussian elimination; linearly dependent cells leave no pivot
        if row[k] > 1e-9 * sum(hits):
            chi_square += surplus[k] ** 2 / row[k]
            degrees += 1
            for i in range(k + 1, SIZE):
                factor = covariance[i][k] / row[k]
                surplus[i] -= factor * surplus[k]
                covariance[i] = [a - factor * b for a, b in zip(covariance[i], row, strict=True)]
    return chi_square, degrees


def critical_value(degrees: int) -> float:
    """The value that a chi-square exceeds with probability 0.001 (Wilson and Hilferty)."""
    spread = 2 / (9 * max(degrees, 1))
    return float(degrees * (1 - spread + 3.0902 * spread**0.5) ** 3)
