"""The report of a match: its figures as one object, and a table made from it."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.match.elo import strength
from plyd.clients.match.live import live_table, plain_text
from plyd.clients.match.results import DRAW, SIDES, MatchTally, PlayedGame, SearchStats
from plyd.clients.match.side import MatchSide

if TYPE_CHECKING:
    from rich.console import RenderableType

PROGRESS_LINES = 10  # per match, if stderr is not a terminal
MAX_GAMES_PER_LINE = 100


class MatchReport:
    """Shows a match: a table that is updated as games end on a terminal, progress lines elsewhere."""

    def __init__(self, game: str, sides: Sequence[MatchSide], games: int, tally: MatchTally) -> None:
        self.tally = tally
        self.games = games
        self._sides = sides
        self._title = f"{game}: {sides[0].name} against {sides[1].name}"

    def summary(self) -> dict[str, Any]:
        """All figures of the match."""
        return summary(self.tally, self._sides)

    def text(self) -> str:
        """The report in plain text."""
        return plain_text(self._table())

    def live(self) -> AbstractContextManager[Callable[[str], None]]:
        """A function to call after each game, with a note about that game or an empty text."""
        return live_table(self._table, self._print_progress)

    def _print_progress(self, note: str) -> None:
        if note:
            click.echo(note, err=True)
        if self.tally.finished % max(1, min(self.games // PROGRESS_LINES, MAX_GAMES_PER_LINE)) == 0:
            click.echo(progress_line(self.summary(), self.games), err=True)

    def _table(self) -> "RenderableType":
        return report_table(self._title, self.summary(), self.games)


def summary(tally: MatchTally, sides: Sequence[MatchSide]) -> dict[str, Any]:
    """All figures of a match; a figure that is unknown or infinite is None."""
    games, pairs = tally.games(), tally.pairs()
    strong = strength(pairs)
    figures = {"elo": strong.elo, "elo_low": strong.low, "elo_high": strong.high} if strong else {}
    found: dict[str, Any] = {
        "games": len(games),
        **won_drawn_lost(games),
        "score": sum(game.points for game in games) / 2 / len(games) if games else None,
        **{name: finite(figures.get(name)) for name in ("elo", "elo_low", "elo_high")},
        "los": strong.superiority if strong else None,
        "pairs": pairs,
        "moved_first": won_drawn_lost([game for game in games if game.game % 2 == 0]),
        "moved_second": won_drawn_lost([game for game in games if game.game % 2]),
        "mean_plies": mean([len(game.opening) + len(game.moves) for game in games]),
    }
    for name, side in zip(SIDES, sides, strict=True):
        found[name] = side.as_json() | {"plays_with": str(side)} | side_figures(games, name, side)
    if test := tally.test:
        found["sprt"] = {"elo0": test.elo0, "elo1": test.elo1, "lower": test.lower, "upper": test.upper}
        found["sprt"] |= {"llr": tally.ratio, "accepted": tally.accepted or None}
    return found


def won_drawn_lost(games: Sequence[PlayedGame]) -> dict[str, int]:
    """Numbers of games that the first side won, drew and lost."""
    winners = [game.winner for game in games]
    return {"wins": winners.count("first"), "draws": winners.count(DRAW), "losses": winners.count("second")}


def side_figures(games: Sequence[PlayedGame], name: str, side: MatchSide) -> dict[str, Any]:
    """Moves, times measured by this client, speed and forfeits of a side."""
    forfeits = sum(game.is_forfeit and game.winner != name for game in games)
    return search_figures([getattr(game, name) for game in games], side) | {"forfeits": forfeits}


def search_figures(stats: Sequence[SearchStats], side: MatchSide) -> dict[str, Any]:
    """Moves, times measured by this client, and speed of a side's searches."""
    ms = [value for each in stats for value in each.ms]
    nodes = sum(sum(each.nodes) for each in stats)
    limit = side.limits.seconds
    return {
        "moves": len(ms),
        "mean_ms": mean(ms),
        "worst_overshoot_ms": max(0.0, max(ms) - limit * 1000) if ms and limit is not None else None,
        "nodes_per_second": nodes * 1000 / sum(ms) if sum(ms) else None,
    }


def mean(values: Sequence[float]) -> float | None:
    """The average, or None of an empty list."""
    return sum(values) / len(values) if values else None


def finite(value: float | None) -> float | None:
    """The value, or None if JSON cannot represent it."""
    return value if value is not None and math.isfinite(value) else None


def progress_line(found: dict[str, Any], games: int) -> str:
    """The result so far on one line."""
    text = f"{found['games']}/{games} games  {counts(found)}  Elo {elo(found)}"
    return f"{text}  LLR {found['sprt']['llr']:.2f}" if "sprt" in found else text


def report_table(title: str, found: dict[str, Any], games: int) -> "RenderableType":
    """A match as two tables: the result, and the figures of each side."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    score = Table(box=None, show_header=False, pad_edge=False)
    score.add_row("games", f"{found['games']} of {games}")
    for name, value in result_rows(found):
        score.add_row(Text(name), Text(value))
    sides = Table(box=None, pad_edge=False, header_style="")
    for header in ("", "plays with", "moves", "ms a move", "worst over", "nodes/s", "forfeits"):
        sides.add_column(header, justify="left" if header in ("", "plays with") else "right", no_wrap=True)
    for side in SIDES:
        sides.add_row(*map(Text, side_row(found[side])))
    return Group(Text(title), "", score, "", sides)


def result_rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of the result: name and value."""
    if not found["games"]:
        return
    yield found["first"]["name"], f"{counts(found)}  {found['score']:.1%}"
    yield "  moving first", counts(found["moved_first"])
    yield "  moving second", counts(found["moved_second"])
    if any(found["pairs"]):
        yield "Elo", f"{elo(found)}  LOS {found['los']:.1%}"
        points = zip(("0", "1/2", "1", "3/2", "2"), found["pairs"], strict=True)
        yield "pairs", ", ".join(f"{count} with {name}" for name, count in points if count) + " points"
    yield "length", f"{found['mean_plies']:.1f} plies"
    if sprt := found.get("sprt"):
        yield "SPRT", f"LLR {sprt['llr']:.2f} between {sprt['lower']:.2f} and {sprt['upper']:.2f}; {verdict(sprt)}"


def verdict(sprt: dict[str, Any]) -> str:
    """The decision of a sequential test."""
    if not sprt["accepted"]:
        return f"not decided between {sprt['elo0']:g} and {sprt['elo1']:g} Elo"
    elo = sprt["elo1"] if sprt["accepted"] == "H1" else sprt["elo0"]
    return f"{sprt['accepted']} is accepted: {elo:+g} Elo"


def side_row(side: dict[str, Any]) -> list[str]:
    """The row of a side: name, settings, moves, times, speed and forfeits."""
    over = side["worst_overshoot_ms"]
    return [
        side["name"],
        side["plays_with"],
        str(side["moves"]),
        f"{side['mean_ms']:.1f}" if side["moves"] else "-",
        f"{over:.1f}" if over is not None else "-",
        f"{side['nodes_per_second']:,.0f}" if side["nodes_per_second"] else "-",
        str(side["forfeits"]),
    ]


def counts(found: dict[str, int]) -> str:
    """Games won, drawn and lost: "+5 =1 -4"."""
    return f"+{found['wins']} ={found['draws']} -{found['losses']}"


def elo(found: dict[str, Any]) -> str:
    """The Elo difference with its confidence interval; `inf` where it is not bounded."""
    if (strong := strength(found["pairs"])) is None:
        return "-"
    return f"{strong.elo:+.1f} [{strong.low:+.1f} to {strong.high:+.1f}]"
