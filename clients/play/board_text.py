"""Boards and reports of two-player games as text. Independent of the game: its card says how it looks."""

from collections.abc import Mapping

import click

from plyd.clients.library.report import PLAYERS, Report, line_text, score_text
from plyd.clients.library.state import State
from plyd.v1 import engine_pb2

COLOURS = dict(zip(PLAYERS, ("red", "yellow"), strict=True))  # those of the card may be black on black
UNNAMED = dict(zip(PLAYERS, ("x", "o"), strict=True))  # stones, if the card does not name them


class Look:
    """How a game looks in a terminal: the stones of the sides, and the names of columns and rows."""

    def __init__(self, card: engine_pb2.EngineInfo) -> None:
        self.stones: dict[int, str] = UNNAMED | {side.side: side.stone for side in card.sides if side.stone}
        self.colours = {self.stones[side]: COLOURS[side] for side in PLAYERS}
        self._columns, self._rows = list(card.board_look.column_labels), list(card.board_look.row_labels)
        self._rows_from_bottom = card.board_look.rows_from_bottom
        if card.board_look.kind == engine_pb2.BOARD_KIND_DROPPED:
            self._rows = []  # a move is a column

    def column_labels(self, columns: int) -> list[str]:
        """The names of a board's columns, "" for those that have none."""
        return (self._columns + [""] * columns)[:columns]

    def row_labels(self, rows: int) -> list[str]:
        """The names of a board's rows from the top, "" for those that have none."""
        labels = (self._rows + [""] * rows)[:rows]
        return labels[::-1] if self._rows_from_bottom else labels


def draw(state: State, look: Look) -> str:
    """The board with its labels above and on the left, and the last move in parentheses.

    1  2  3  4
    .  .  .  .
    .  .  x  .
    #  x (o) .
    """
    board = state.board
    columns, rows = look.column_labels(board.columns), look.row_labels(board.rows)
    width, margin = max(map(len, (*board.cells, *columns, "."))), max(map(len, rows), default=0)
    head = "".join(f" {name:>{width}} " for name in columns)
    lines = [" " * margin + click.style(head.rstrip(), dim=True)] if any(columns) else []
    for row, name in enumerate(rows):
        cells = range(row * board.columns, (row + 1) * board.columns)
        drawn = "".join(
            _cell(board.cells[cell], width, look.colours, is_last=cell in state.last_cells) for cell in cells
        )
        lines.append((click.style(f"{name:>{margin}}", dim=True) if margin else "") + drawn.rstrip())
    return "\n".join(lines)


def _cell(label: str, width: int, colours: Mapping[str, str], *, is_last: bool) -> str:
    text = f"{label or '.':>{width}}"
    if label in colours:
        text = click.style(text, fg=colours[label], bold=True, reverse=is_last or None)
    else:
        text = click.style(text, dim=True)
    return f"({text})" if is_last else f" {text} "


def report_text(report: Report, stones: Mapping[int, str]) -> str:
    """Score, nodes, nodes per second and principal variation of a report."""
    words = [score_text(report.score, stones), f"{report.nodes:,} nodes"]
    if report.elapsed_us:
        words.append(f"{report.nodes * 1_000_000 // report.elapsed_us:,}/s")
    if report.lines:
        words.append(f"line {line_text(report.lines[0].moves)}")
    return ", ".join(words)
