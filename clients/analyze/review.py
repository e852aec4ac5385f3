"""A game with what each move lost: a table, and a plot.

Two players: the value of a position is the win probability of the side that moves (a proven result counts 1, 1/2 or
0), before the move and after it, each from a search of its own. One player: expected points, before the move and if
this slide is made, both from the search before it. The loss is the one less the other; it is never below
0, and 0 for the move that the engine would make.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from plyd.clients.analyze.answer import Answer, value_of
from plyd.clients.analyze.query import Query

COLUMNS = ("ply", "side", "move", "before", "after", "best", "loss")
SLIDES = 4  # moves of a tile game: with so many lines, each has its value
SIDES = {"player_one": "one", "player_two": "two"}


def is_chance(move: str) -> bool:
    """Whether a move is the environment's."""
    return "@" in move


def is_for_one(query: Query) -> bool:
    """Whether the game has one player, who moves by slides."""
    return any(is_chance(move) for move in query.moves)


def review_query(query: Query, name: str) -> Query:
    """The query that searches what a review needs: every turn, or every turn of the only player."""
    last = len(query.moves)
    if is_for_one(query):
        turns = tuple(turn for turn, move in enumerate(query.moves) if not is_chance(move))
        return replace(query, id=name, turns=turns or (last,), lines=max(query.lines, SLIDES))
    return replace(query, id=name, turns=tuple(range(last + 1)))


def review_rows(query: Query, answers: Mapping[int, Answer]) -> list[list[Any]]:
    """The head and a row for each move of a player; None is a value that is not known."""
    rows: list[list[Any]] = [list(COLUMNS)]
    one = is_for_one(query)
    for turn, move in enumerate(query.moves):
        if is_chance(move):
            continue
        answer = answers.get(turn, {})
        side = answer.get("score", {}).get("pointOfView")
        before = value_of(answer.get("score", {}))
        after = _after_slide(answer, move) if one else _after_move(answers.get(turn + 1, {}), side)
        loss = _loss(before, after, is_best=move == answer.get("move"))
        rows.append([turn + 1, SIDES.get(side or ""), move, before, after, answer.get("move"), loss])
    return rows


def _loss(before: float | None, after: float | None, *, is_best: bool) -> float | None:
    if before is None or after is None:
        return None
    return 0.0 if is_best else max(0.0, before - after)


def _after_slide(answer: Answer, move: str) -> float | None:
    """The value if the player makes a slide, by the line that begins with it."""
    for line in answer.get("lines", ()):
        if line["moves"][0] == move:
            return value_of(line["score"])
    return None


def _after_move(answer: Answer, side: str | None) -> float | None:
    """The value of a position for a side, whoever moves there."""
    value = value_of(answer.get("score", {}))
    if value is None or side is None or answer["score"]["pointOfView"] == side:
        return value
    return 1 - value


def review_table(title: str, rows: Sequence[Sequence[Any]]) -> str:
    """The rows as aligned text, with the sums of what each side lost."""
    head, *moves = rows
    is_points = any(value is not None and not 0 <= value <= 1 for row in moves for value in row[3:5])
    texts = [list(map(str, head)), *(_texts(row, is_points) for row in moves)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = ["  ".join(map(_aligned, line, widths, COLUMNS)).rstrip() for line in texts]
    lost = {side: [row[6] for row in moves if row[1] == side and row[6] is not None] for side in SIDES.values()}
    sums = [
        f"{side}: lost {_number(sum(losses) / len(losses), is_points)} a move, in {len(losses)} moves"
        for side, losses in lost.items()
        if losses
    ]
    return "\n".join([*([title] if title else []), *lines, "", *sums, ""])


def _texts(row: Sequence[Any], is_points: bool) -> list[str]:
    ply, side, move, before, after, best, loss = row
    before, after, loss = (_number(value, is_points) for value in (before, after, loss))
    return [str(ply), side or "-", move, before, after, best or "-", loss]


def _aligned(text: str, width: int, column: str) -> str:
    return text.ljust(width) if column in ("side", "move", "best") else text.rjust(width)


def _number(value: float | None, is_points: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if is_points else f"{value:.1%}"


def save_plot(path: Path, query: Query, rows: Sequence[Sequence[Any]]) -> None:
    """Draw the values by ply: the first player's win probability, or the player's points; and the losses below."""
    from matplotlib.figure import Figure

    one, moves = is_for_one(query), [row for row in rows[1:] if row[3] is not None]
    figure = Figure(figsize=(10, 6), layout="constrained")
    value, loss = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    plies = [row[0] for row in moves]
    value.plot(plies, [row[3] if one or row[1] == "one" else 1 - row[3] for row in moves], marker=".")
    value.set_ylabel("expected points" if one else "win probability of player one")
    if not one:
        value.set_ylim(0, 1)
        value.axhline(0.5, linewidth=0.5, color="gray")
    for side, colour in (("one", "tab:blue"), ("two", "tab:orange")):
        ours = [row for row in moves if row[1] == side and row[6] is not None]
        if ours:
            loss.bar([row[0] for row in ours], [row[6] for row in ours], color=colour, label=f"player {side}")
    loss.set_ylabel("loss")
    loss.set_xlabel("ply")
    loss.legend()
    value.set_title(f"{Path(query.id).name} ({query.game})")
    figure.savefig(path)
