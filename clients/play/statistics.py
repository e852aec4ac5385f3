"""Statistics on finished games of a tile game, in blocks of text, as the course's lab prints them."""

from collections import Counter
from collections.abc import Sequence

from plyd.clients.formats.tile_replay import FACES, FinishedGame

GOALS = {"2048": 11, "2584": 17}  # index of the tile that names the game


class Blocks:
    """Collects games into blocks, and gives the text of each block when it is full."""

    def __init__(self, game: str, size: int) -> None:
        self._game = game
        self._size = size
        self._block: list[FinishedGame] = []
        self.games = 0

    def add(self, game: FinishedGame) -> str:
        """The text of the block if this game completes it, otherwise an empty string."""
        self.games += 1
        self._block.append(FinishedGame(game.points, game.moves, game.largest, game.start_ms, game.end_ms))
        return self.rest() if len(self._block) == self._size else ""

    def rest(self) -> str:
        """The text of the incomplete block, or an empty string; a new block begins."""
        block, self._block = self._block, []
        return statistics(self._game, block, self.games) if block else ""


def statistics(game: str, block: Sequence[FinishedGame], games: int) -> str:
    """One block: games so far, points, speed; then for each tile the share that reached it (and ended with it).

    1000    avg = 251234, max = 600122, 812345 moves/s
            1597    100%    (0.4%)
            2584    99.6%   (99.6%)
    """
    points = [played.points for played in block]
    head = f"{games:<7} avg = {sum(points) // len(points)}, max = {max(points)}"
    if milliseconds := busy_milliseconds(block):
        head += f", {sum(played.moves for played in block) * 1000 // milliseconds} moves/s"
    ended = Counter(played.largest for played in block)
    first, last = min(ended), max(ended)
    if last >= GOALS[game]:
        first = min(first, GOALS[game])  # always show the share that reached it
    lines, reached = [head], len(block)
    for index in range(first, last + 1):
        reached_it, ended_there = (f"{100 * count / len(block):.4g}%" for count in (reached, ended[index]))
        lines.append(f"        {FACES[game][index]:<7} {reached_it:<7} ({ended_there})")
        reached -= ended[index]
    return "\n".join(lines) + "\n"


def busy_milliseconds(block: Sequence[FinishedGame]) -> int:
    """Milliseconds in which at least one of the games was being played; 0 if their times are unknown."""
    busy, until = 0, 0
    for start, end in sorted((played.start_ms, played.end_ms) for played in block):
        if 0 < start <= end:
            busy += max(0, end - max(start, until))
            until = max(until, end)
    return busy
