"""A board as an SVG picture, for notebooks. The game's card says how it looks: no game is known here by name.

Whatever a daemon says is escaped, or checked, before it becomes part of the picture.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape

from plyd.v1 import engine_pb2, position_pb2

CELL = 40  # width of a cell, in the picture's own units
PAD, LABELS, CAPTION = 6, 20, 24  # around the board, for labels, and below it
ZOOM, MAX_WIDTH = 1.3, 480  # pixels of a unit, and of the whole picture at most
STAR_SIZE = 9  # rows from which on a board of points has stars
BLOCKED = "#"
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]")  # what XML does not allow, and line ends
STONES = {position_pb2.SIDE_PLAYER_ONE: "#1b1b1d", position_pb2.SIDE_PLAYER_TWO: "#fdfcf8"}  # unless the card says
TILES = ("#f3ecdf", "#f0e2c6", "#f5cf9c", "#f4b272", "#f0935a", "#e8724d", "#d95650", "#c23f62", "#9f3577", "#723a86")
TILES_FROM, DARK_TILES = 1.0, 5  # the step of the first colour, and the first colour that has light text
PAPER, INK, SOFT, WARM, GOOD = "#fdfbf7", "#23211d", "#6f6a60", "#c8642b", "#1f6f6b"


class Svg(str):
    """A picture as text, which notebooks show."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<Svg of {len(self):,} characters>"


def board_svg(
    state: position_pb2.State,
    card: engine_pb2.EngineInfo | None,
    marks: Mapping[str, str],
    best: str,
    caption: str,
) -> "Svg":
    """The board of a state, drawn as a card says; a plain grid without one.

    `marks` are short texts to write where moves go, `best` is the best of these moves, `caption` goes below the board.
    """
    board = Drawing(state, card)
    kinds: dict[int, Callable[[Drawing], Iterable[str]]] = {
        engine_pb2.BOARD_KIND_TILES: tiles,
        engine_pb2.BOARD_KIND_POINTS: points,
        engine_pb2.BOARD_KIND_CELLS: cells,
        engine_pb2.BOARD_KIND_DROPPED: dropped,
    }
    height = board.height + (CAPTION if caption else 0)
    parts = [rect(0, 0, board.width, height, PAPER, 4)]  # whatever the notebook's own colours are
    parts += [*kinds.get(board.kind, grid)(board), *board.labels(), *board.highlights(), *board.advice(marks, best)]
    if caption:
        parts.append(
            text(board.width / 2, board.height + CAPTION / 2, caption, min(14, 1.7 * board.width / len(caption)), INK)
        )
    title = escaped(f"{card.title if card and card.title else state.position.game} board: {state.text}")
    pixels = min(MAX_WIDTH, round(board.width * ZOOM))
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {board.width} {height}" width="{pixels}"'
        f' height="{pixels * height / board.width:.0f}" role="img" font-family="system-ui, sans-serif">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a board: its index, the middle of it in the picture, and its label."""

    index: int
    x: float
    y: float
    label: str


class Drawing:
    """The measures of a picture, and what all kinds of board have in common."""

    def __init__(self, state: position_pb2.State, card: engine_pb2.EngineInfo | None) -> None:
        self.state = state
        look = card.board_look if card else engine_pb2.BoardLook()
        self.kind: int = look.kind
        self.columns = max(1, min(state.board.columns, len(state.board.cells)))
        self.rows = -(-len(state.board.cells) // self.columns)  # what there is to draw, whatever the daemon says
        self._column_names = list(look.column_labels[: self.columns])
        names = list(look.row_labels[: self.rows])
        self._row_names = [""] * (self.rows - len(names)) + names[::-1] if look.rows_from_bottom else names
        self.left = LABELS if self._row_names else PAD
        self.top = LABELS if self._column_names else PAD
        self.width = self.left + self.columns * CELL + PAD
        self.height = self.top + self.rows * CELL + PAD
        self.stones = {side.stone: _colour(side) for side in (card.sides if card else ()) if side.stone}
        self.cells = [self._cell(index, label) for index, label in enumerate(state.board.cells)]

    def _cell(self, index: int, label: str) -> Cell:
        row, column = divmod(index, self.columns)
        return Cell(index, self.left + (column + 0.5) * CELL, self.top + (row + 0.5) * CELL, label)

    def background(self, colour: str, radius: float = 0, grow: float = 0) -> str:
        """A rectangle behind all cells."""
        width, height = self.columns * CELL + 2 * grow, self.rows * CELL + 2 * grow
        return rect(self.left - grow, self.top - grow, width, height, colour, radius)

    def labels(self) -> Iterable[str]:
        """Names of columns above the board, and of rows on its left."""
        for column, name in enumerate(self._column_names):
            yield text(self.left + (column + 0.5) * CELL, self.top / 2, name, 11, SOFT)
        for row, name in enumerate(self._row_names):
            yield text(self.left / 2, self.top + (row + 0.5) * CELL, name, 11, SOFT)

    def stone(self, cell: Cell, radius: float) -> str:
        """What stands in a cell: a stone of a side, or else its label."""
        if cell.label in self.stones:
            return circle(cell.x, cell.y, radius, self.stones[cell.label], INK, 0.6)
        return text(cell.x, cell.y, cell.label, fitting(cell.label), INK) if cell.label else ""

    def highlights(self) -> Iterable[str]:
        """A dot or a frame on the last move, and rings around what has won."""
        last, won = set(self.state.last_cells), set(self.state.board.winning_cells)
        for cell in self.cells:
            if cell.index in won:
                yield circle(cell.x, cell.y, CELL * 0.4, "none", "#ffffff", 5)
                yield circle(cell.x, cell.y, CELL * 0.4, "none", GOOD, 2.5)
            if cell.index in last and cell.label not in self.stones:
                yield rect(cell.x - 18, cell.y - 18, 36, 36, "none", 5, WARM)
            elif cell.index in last:
                yield circle(cell.x, cell.y, CELL * 0.11, WARM, "#ffffff", 1)

    def advice(self, marks: Mapping[str, str], best: str) -> Iterable[str]:
        """Short texts on the cells that moves go to, the best one in another colour."""
        for move in self.state.legal_moves:
            if move.move not in marks or not (move.HasField("cell") or move.cells):
                continue
            index = move.cells[-1] if move.cells else move.cell
            if index < len(self.cells):
                cell, label = self.cells[index], marks[move.move]
                yield circle(cell.x, cell.y, CELL * 0.44, GOOD if move.move == best else "#4a6d7c", "#ffffff", 1)
                yield text(cell.x, cell.y, label, fitting(label, 14), "#ffffff")


def tiles(board: Drawing) -> Iterable[str]:
    """Numbered tiles in a frame; the larger the number, the darker."""
    yield board.background("#d9d0c1", 6, PAD / 2)
    for cell in board.cells:
        colour, ink = "#e6dfd2", INK
        if cell.label:
            number = int(cell.label) if cell.label.isascii() and cell.label.isdigit() and len(cell.label) < 19 else 0
            step = min(max(round(math.log2(number + 1) * 0.75 - TILES_FROM), 0), len(TILES) - 1)
            colour, ink = TILES[step], "#fffaf0" if step >= DARK_TILES else INK
        yield rect(cell.x - 18, cell.y - 18, 36, 36, colour, 5)
        if cell.label:
            yield text(cell.x, cell.y, cell.label, fitting(cell.label), ink, bold=True)


def points(board: Drawing) -> Iterable[str]:
    """Stones where lines cross, on wood."""
    yield board.background("#e3b96f")
    right, bottom = board.left + (board.columns - 0.5) * CELL, board.top + (board.rows - 0.5) * CELL
    for column in range(board.columns):
        x = board.left + (column + 0.5) * CELL
        yield line(x, board.top + CELL / 2, x, bottom)
    for row in range(board.rows):
        y = board.top + (row + 0.5) * CELL
        yield line(board.left + CELL / 2, y, right, y)
    for cell in board.cells:
        if not cell.label and is_star(board, cell.index):
            yield circle(cell.x, cell.y, 3.5, "#7d5a26")
        yield blocked(cell, "#7d5a26") if cell.label == BLOCKED else board.stone(cell, CELL * 0.45)


def cells(board: Drawing) -> Iterable[str]:
    """Stones in the cells of a green board."""
    for cell in board.cells:
        yield rect(cell.x - CELL / 2, cell.y - CELL / 2, CELL, CELL, "#2c7a51", 0, "#1d5639")
        yield blocked(cell, "#1d5639") if cell.label == BLOCKED else board.stone(cell, CELL * 0.4)


def dropped(board: Drawing) -> Iterable[str]:
    """An upright board with holes, which stones fill from below."""
    yield board.background("#2b5fa8", 6, PAD / 2)
    for cell in board.cells:
        if cell.label == BLOCKED:
            yield blocked(cell, "#1f4a87")
        else:
            yield circle(cell.x, cell.y, CELL * 0.42, "#f5f2ec")
            yield board.stone(cell, CELL * 0.42)


def grid(board: Drawing) -> Iterable[str]:
    """A plain grid, in which each cell shows its label."""
    for cell in board.cells:
        yield rect(cell.x - CELL / 2, cell.y - CELL / 2, CELL, CELL, "#fffdf9", 0, "#b9b1a2")
        yield blocked(cell, "#b9b1a2") if cell.label == BLOCKED else board.stone(cell, CELL * 0.4)


def is_star(board: Drawing, index: int) -> bool:
    """Whether a point of a square board is one of its five stars."""
    if board.rows < STAR_SIZE or board.rows != board.columns:
        return False
    near, middle = (3 if board.rows >= 13 else 2), (board.rows - 1) / 2
    places = divmod(index, board.columns)
    is_mark = all(place in (near, middle, board.rows - 1 - near) for place in places)
    return is_mark and (places[0] == middle) == (places[1] == middle)


def blocked(cell: Cell, colour: str) -> str:
    """A cell that no stone may enter."""
    return rect(cell.x - CELL * 0.4, cell.y - CELL * 0.4, CELL * 0.8, CELL * 0.8, colour, 4)


def rect(x: float, y: float, width: float, height: float, fill: str, radius: float = 0, stroke: str = "") -> str:
    """A rectangle."""
    edge = f' stroke="{stroke}" stroke-width="{2 if fill == "none" else 1}"' if stroke else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" fill="{fill}"{edge}/>'


def circle(x: float, y: float, radius: float, fill: str, stroke: str = "none", width: float = 0) -> str:
    """A circle."""
    edge = f' stroke="{stroke}" stroke-width="{width:g}"' if width else ""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"{edge}/>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    """A line of a board of points."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="#7d5a26"/>'


def text(x: float, y: float, words: str, size: float, fill: str, *, bold: bool = False) -> str:
    """A text around a point."""
    weight = ' font-weight="700"' if bold else ""
    place = f'x="{x:g}" y="{y:g}" text-anchor="middle" dominant-baseline="central"'
    return f'<text {place} font-size="{size:g}" fill="{fill}"{weight}>{escaped(words)}</text>'


def escaped(words: str) -> str:
    """Words of a daemon as text of the picture."""
    return escape(CONTROL.sub(" ", words))


def fitting(label: str, largest: float = 18) -> float:
    """The size of letters with which a label fits in a cell."""
    return max(4.0, min(largest, 50 / max(1, len(label))))


def _colour(side: engine_pb2.SideLook) -> str:
    return side.colour if COLOUR.fullmatch(side.colour) else STONES.get(side.side, SOFT)
