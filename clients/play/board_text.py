"""Boards, scores and reports of two-player games as text. Independent of the game: it reads State and Report only."""

import re

import click

from plyd.clients.library.requests import Report, State
from plyd.v1 import position_pb2, search_pb2

STONES: dict[int, str] = {position_pb2.SIDE_PLAYER_ONE: "x", position_pb2.SIDE_PLAYER_TWO: "o"}
COLOURS = {"x": "red", "o": "yellow"}
MAX_PV_MOVES = 12
TWO_PARTS = re.compile(r"([A-Za-z]+|\d+(?=\D))\W?(\d+)")  # a move with column and row: h8, or 8,8


def other(side: int) -> int:
    """The opponent."""
    return next(stone for stone in STONES if stone != side)


class Labels:
    """Names of columns and rows, taken from the moves to their cells."""

    def __init__(self) -> None:
        self.columns: dict[int, str] = {}
        self.rows: dict[int, str] = {}

    def learn(self, state: State) -> None:
        """Take the names from the legal moves of a state; a move without a row names its column."""
        for legal in state.legal_moves:
            if legal.HasField("cell"):
                row, column = divmod(legal.cell, state.board.columns)
                parts = TWO_PARTS.fullmatch(legal.move)
                self.columns[column] = parts[1] if parts else legal.move
                if parts:
                    self.rows[row] = parts[2]


def draw(state: State, labels: Labels, last: int | None) -> str:
    """The board with its labels above and on the left, and the last move in parentheses.

    1  2  3  4
    .  .  .  .
    .  .  x  .
    #  x (o) .
    """
    board = state.board
    width = max(map(len, (*board.cells, *labels.columns.values(), ".")))
    margin = max(map(len, labels.rows.values()), default=0)
    head = "".join(f" {labels.columns.get(column, ''):>{width}} " for column in range(board.columns))
    lines = [" " * margin + click.style(head.rstrip(), dim=True)]
    for row in range(board.rows):
        cells = range(row * board.columns, (row + 1) * board.columns)
        drawn = "".join(_cell(board.cells[cell], width, is_last=cell == last) for cell in cells)
        name = click.style(f"{labels.rows.get(row, ''):>{margin}}", dim=True) if margin else ""
        lines.append(name + drawn.rstrip())
    return "\n".join(lines)


def _cell(label: str, width: int, *, is_last: bool) -> str:
    text = f"{label or '.':>{width}}"
    if label in COLOURS:
        text = click.style(text, fg=COLOURS[label], bold=True, reverse=is_last or None)
    else:
        text = click.style(text, dim=True)
    return f"({text})" if is_last else f" {text} "


def score_text(score: search_pb2.Score) -> str:
    """A score as text: "61.5% for x", "o wins in 7 plies", "a draw"."""
    value = score.WhichOneof("value")
    if value == "proven":
        result, side = score.proven.result, score.point_of_view
        count = score.proven.plies
        plies = f" in {count} {'ply' if count == 1 else 'plies'}" if score.proven.HasField("plies") else ""
        if result == search_pb2.RESULT_DRAW:
            return f"a draw{plies}"
        return f"{STONES[side if result == search_pb2.RESULT_WIN else other(side)]} wins{plies}"
    if value == "win_probability":
        return f"{score.win_probability:.1%} for {STONES[score.point_of_view]}"
    return f"{score.expected_points:,.1f} points" if value == "expected_points" else "no score"


def report_text(report: Report) -> str:
    """Score, nodes, nodes per second and principal variation of a report."""
    words = [score_text(report.score), f"{report.nodes:,} nodes"]
    if report.elapsed_us:
        words.append(f"{report.nodes * 1_000_000 // report.elapsed_us:,}/s")
    if report.lines:
        moves = report.lines[0].moves
        words.append(f"line {' '.join(moves[:MAX_PV_MOVES])}{' ...' if len(moves) > MAX_PV_MOVES else ''}")
    return ", ".join(words)
