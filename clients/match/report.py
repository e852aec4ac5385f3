"""A match as people and programs see it: an object of figures, and a board drawn from it."""

import contextlib
import io
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from plyd.clients.match.elo import strength
from plyd.clients.match.results import BY_RULES, DRAW, SIDES, Played, Tally
from plyd.clients.match.side import Contender

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 200  # of the board as plain text
LIVE_SECONDS = 0.5  # between two boards on a terminal
LINES = 10  # of progress in a match where there is no terminal
MOST_GAMES_A_LINE = 100


class Scoreboard:
    """What is shown of a match: on a terminal a board that changes as games end, elsewhere a line now and then."""

    def __init__(self, game: str, contenders: Sequence[Contender], games: int, tally: Tally) -> None:
        self.tally = tally
        self.games = games
        self._contenders = contenders
        self._title = f"{game}: {contenders[0].name} against {contenders[1].name}"

    def summary(self) -> dict[str, Any]:
        """Everything that is known of the match."""
        return summary(self.tally, self._contenders)

    def text(self) -> str:
        """The board in plain text."""
        from rich.console import Console

        console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
        with console.capture() as capture:
            console.print(self._board())
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    @contextlib.contextmanager
    def live(self) -> Iterator[Callable[[str], None]]:
        """A function to call after each game, with a text if there is something special to tell."""
        if not sys.stderr.isatty():
            yield self._tell
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(stderr=True)
        with Live(self._board(), console=console, auto_refresh=False, transient=True) as screen:
            drawn = 0.0

            def update(special: str) -> None:
                nonlocal drawn
                if special:
                    console.print(Text(special))
                if time.monotonic() - drawn >= LIVE_SECONDS:
                    screen.update(self._board(), refresh=True)
                    drawn = time.monotonic()

            yield update

    def _tell(self, special: str) -> None:
        if special:
            click.echo(special, err=True)
        if self.tally.finished % max(1, min(self.games // LINES, MOST_GAMES_A_LINE)) == 0:
            click.echo(line(self.summary(), self.games), err=True)

    def _board(self) -> "RenderableType":
        return board(self._title, self.summary(), self.games)


def summary(tally: Tally, contenders: Sequence[Contender]) -> dict[str, Any]:
    """Everything that is known of a match; a figure that is not known, or without end, is None."""
    games, pairs = tally.games(), tally.pairs()
    strong = strength(pairs)
    figures = {"elo": strong.elo, "elo_low": strong.low, "elo_high": strong.high} if strong else {}
    told: dict[str, Any] = {
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
    for side, contender in zip(SIDES, contenders, strict=True):
        told[side] = contender.as_json() | {"plays_with": str(contender)} | spent(games, side, contender)
    if test := tally.test:
        told["sprt"] = {"elo0": test.elo0, "elo1": test.elo1, "lower": test.lower, "upper": test.upper}
        told["sprt"] |= {"llr": tally.ratio, "accepted": tally.accepted or None}
    return told


def won_drawn_lost(games: Sequence[Played]) -> dict[str, int]:
    """How many games the first side won, drew and lost."""
    winners = [game.winner for game in games]
    return {"wins": winners.count("first"), "draws": winners.count(DRAW), "losses": winners.count("second")}


def spent(games: Sequence[Played], side: str, contender: Contender) -> dict[str, Any]:
    """What a side spent on its moves, as seen from here, and how many games it forfeited."""
    ms = [value for game in games for value in getattr(game, side).ms]
    nodes = sum(sum(getattr(game, side).nodes) for game in games)
    limit = contender.limits.seconds
    return {
        "moves": len(ms),
        "mean_ms": mean(ms),
        "worst_overshoot_ms": max(0.0, max(ms) - limit * 1000) if ms and limit is not None else None,
        "nodes_per_second": nodes * 1000 / sum(ms) if sum(ms) else None,
        "forfeits": sum(game.reason != BY_RULES and game.winner != side for game in games),
    }


def mean(values: Sequence[float]) -> float | None:
    """The average, if there is one."""
    return sum(values) / len(values) if values else None


def finite(value: float | None) -> float | None:
    """A number that JSON knows."""
    return value if value is not None and math.isfinite(value) else None


def line(told: dict[str, Any], games: int) -> str:
    """Where a match stands, on one line."""
    text = f"{told['games']}/{games} games  {counts(told)}  Elo {elo(told)}"
    return f"{text}  LLR {told['sprt']['llr']:.2f}" if "sprt" in told else text


def board(title: str, told: dict[str, Any], games: int) -> "RenderableType":
    """A match as two small tables: how it stands, and what each side spent."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    score = Table(box=None, show_header=False, pad_edge=False)
    score.add_row("games", f"{told['games']} of {games}")
    for name, value in rows(told):
        score.add_row(Text(name), Text(value))
    sides = Table(box=None, pad_edge=False, header_style="")
    for header in ("", "plays with", "moves", "ms a move", "worst over", "nodes/s", "forfeits"):
        sides.add_column(header, justify="left" if header in ("", "plays with") else "right", no_wrap=True)
    for side in SIDES:
        sides.add_row(*map(Text, side_row(told[side])))
    return Group(Text(title), "", score, "", sides)


def rows(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The figures of a match by name."""
    if not told["games"]:
        return
    yield told["first"]["name"], f"{counts(told)}  {told['score']:.1%}"
    yield "  moving first", counts(told["moved_first"])
    yield "  moving second", counts(told["moved_second"])
    if any(told["pairs"]):
        yield "Elo", f"{elo(told)}  LOS {told['los']:.1%}"
        points = zip(("0", "1/2", "1", "3/2", "2"), told["pairs"], strict=True)
        yield "pairs", ", ".join(f"{count} with {name}" for name, count in points if count) + " points"
    yield "length", f"{told['mean_plies']:.1f} plies"
    if sprt := told.get("sprt"):
        yield "SPRT", f"LLR {sprt['llr']:.2f} between {sprt['lower']:.2f} and {sprt['upper']:.2f}; {verdict(sprt)}"


def verdict(sprt: dict[str, Any]) -> str:
    """What a sequential test says."""
    if not sprt["accepted"]:
        return f"not decided between {sprt['elo0']:g} and {sprt['elo1']:g} Elo"
    elo = sprt["elo1"] if sprt["accepted"] == "H1" else sprt["elo0"]
    return f"{sprt['accepted']} is accepted: {elo:+g} Elo"


def side_row(side: dict[str, Any]) -> list[str]:
    """What a side spent."""
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


def counts(told: dict[str, int]) -> str:
    """Games won, drawn and lost: "+5 =1 -4"."""
    return f"+{told['wins']} ={told['draws']} -{told['losses']}"


def elo(told: dict[str, Any]) -> str:
    """A difference of strength with its error bars; what has no end is `inf`."""
    if (strong := strength(told["pairs"])) is None:
        return "-"
    return f"{strong.elo:+.1f} [{strong.low:+.1f} to {strong.high:+.1f}]"
