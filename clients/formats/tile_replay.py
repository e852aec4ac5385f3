"""The rules of 2048 and 2584 on 4x4, and a game replayed by its opcodes.

An opcode is a slide (0 up, 1 right, 2 down, 3 left) or a drop, (index << 4) | cell. A game runs drop, drop, slide,
drop, ..., slide, drop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from plyd.protocols.arena2584 import SLIDES

SIZE = 16  # cells
LINES = (  # by opcode: the cells of each line, from the edge that tiles slide to
    tuple(slice(i, None, 4) for i in range(4)),
    tuple(slice(4 * i + 3, 4 * i - 1 if i else None, -1) for i in range(4)),
    tuple(slice(12 + i, None, -4) for i in range(4)),
    tuple(slice(4 * i, 4 * i + 4) for i in range(4)),
)
FIBONACCI = [0, 1, 2]
while len(FIBONACCI) < 32:
    FIBONACCI.append(FIBONACCI[-1] + FIBONACCI[-2])
FACES = {"2048": (0, *(1 << i for i in range(1, 16))), "2584": tuple(FIBONACCI)}  # face value of each index
DROPPED = (1, 2, 3)  # indices that some variant drops


class IllegalAction(ValueError):
    """An action that breaks the rules."""


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A finished game: points, number of slides, index of the largest tile, its time, and its opcodes if known."""

    points: int
    moves: int
    largest: int
    start_ms: int = 0
    end_ms: int = 0
    actions: Sequence[int] = ()


@cache
def slide_line(game: str, line: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """A line slid to its front, and the points gained: neighbours merge in pairs from the front, each tile once."""
    moved: list[int] = []
    points, held = 0, 0  # held: the last tile, if it may still merge
    for index in filter(None, line):
        if game == "2584":
            merged = max(held, index) + 1 if abs(held - index) == 1 or held == index == 1 else 0
        else:
            merged = index + 1 if held == index else 0
        if held and 0 < merged < len(FACES[game]):
            points += FACES[game][merged]
            moved[-1], held = merged, 0
        else:
            moved.append(index)
            held = index
    return (*moved, *[0] * (len(line) - len(moved))), points


class Replay:
    """A game replayed by its opcodes, from the empty board."""

    def __init__(self, game: str = "2584") -> None:
        self.game = game
        self.cells = [0] * SIZE
        self.actions: list[int] = []
        self.points = 0

    @property
    def drops_next(self) -> bool:
        """Whether a drop comes next: the first two actions are drops, then every other one."""
        return not self.actions or len(self.actions) % 2 == 1

    @property
    def text(self) -> str:
        """The position in the daemon's notation."""
        return " ".join(["a" if self.drops_next else "b", *map(str, self.cells)])

    def empty(self) -> list[int]:
        """The empty cells."""
        return [cell for cell, index in enumerate(self.cells) if index == 0]

    def play(self, action: int) -> None:
        """Make a drop or a slide; IllegalAction if the rules do not allow it."""
        if 0 <= action < len(SLIDES) and not self.drops_next:
            self._slide(action)
        elif action >> 4 in DROPPED and self.drops_next:
            if self.cells[action & 15]:
                raise IllegalAction(f"a drop on cell {action & 15}, which is not empty")
            self.cells[action & 15] = action >> 4
        else:
            raise IllegalAction(f"opcode {action}; expected {'a drop' if self.drops_next else 'a slide 0 to 3'}")
        self.actions.append(action)

    def _slide(self, action: int) -> None:
        cells, before = self.cells, self.cells.copy()
        for line in LINES[action]:
            cells[line], gained = slide_line(self.game, tuple(cells[line]))
            self.points += gained
        if cells == before:
            raise IllegalAction(f"a slide {SLIDES[action]}, which changes nothing")

    def slides(self) -> list[int]:
        """The slides that change something."""
        cells, game = self.cells, self.game
        lines = [[tuple(cells[line]) for line in LINES[action]] for action in range(len(SLIDES))]
        return [action for action, held in enumerate(lines) if any(slide_line(game, row)[0] != row for row in held)]

    def is_over(self) -> bool:
        """Whether the player is to move, and cannot."""
        return not self.drops_next and not self.slides()

    def finished(self, start_ms: int, end_ms: int) -> FinishedGame:
        """The game so far, as a finished one."""
        moves = max(0, len(self.actions) - 1) // 2
        return FinishedGame(self.points, moves, max(self.cells), start_ms, end_ms, self.actions)
