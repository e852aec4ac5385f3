"""The standings of a tournament: its figures as one object, and tables made from it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plyd.clients.match.report import search_figures
from plyd.clients.match.results import SIDES, PlayedGame, SearchStats
from plyd.clients.tournament.ratings import Ratings, Score, rate
from plyd.clients.tournament.settings import TournamentSettings

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("#", "player", "Elo", "±", "LOS", "points", "games", "score", "+", "=", "-", "forfeits", "ms a move")
LEFT = ("#", "player", "plays with")


def standings(
    settings: TournamentSettings, played: Mapping[int, PlayedGame], byes: Sequence[float], games: int
) -> dict[str, Any]:
    """All figures of a tournament, players in the order of the table; a figure that is unknown is None."""
    numbers = {player.name: number for number, player in enumerate(settings.players)}
    scores = pair_scores(played.values(), numbers)
    ratings = rate(scores, len(numbers))
    rows = [player_figures(settings, number, played.values(), scores, byes[number]) for number in range(len(numbers))]
    for number, row in enumerate(rows):
        row |= {
            "elo": ratings.elo[number] if ratings else None,
            "elo_error": ratings.error(number) if ratings else None,
        }
    order = sorted(range(len(rows)), key=lambda number: sort_key(rows[number], is_swiss=settings.schedule == "swiss"))
    return {
        "game": settings.game,
        "variant": settings.variant,
        "schedule": settings.schedule,
        "games": len(played),
        "games_planned": games,
        "draw_weight": ratings.draw if ratings else None,
        "is_bounded": ratings.is_bounded if ratings else None,
        "players": [rows[number] for number in order],
        "cross_table": [[cell(scores, a, b) for b in order] for a in order],
        "superiority": los_table(ratings, order),
    }


def los_table(ratings: Ratings | None, order: Sequence[int]) -> list[list[float | None]] | None:
    """The likelihood that the player of a row is stronger than that of a column."""
    if not ratings:
        return None
    return [[ratings.superiority(a, b) if a != b else None for b in order] for a in order]


def pair_scores(games: Iterable[PlayedGame], numbers: Mapping[str, int]) -> dict[tuple[int, int], Score]:
    """The score of each pair of players that met."""
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for played in games:
        first, second = (numbers[name] for name in played.players)
        points = played.points if first < second else 2 - played.points
        counts[min(first, second), max(first, second)][2 - points] += 1
    return {pair: Score(*found) for pair, found in counts.items()}


def cell(scores: Mapping[tuple[int, int], Score], a: int, b: int) -> dict[str, float] | None:
    """What one player scored against another, or None if they have not met."""
    if (score := scores.get((min(a, b), max(a, b)))) is None:
        return None
    wins, losses = (score.wins, score.losses) if a < b else (score.losses, score.wins)
    return {"wins": wins, "draws": score.draws, "losses": losses, "points": wins + score.draws / 2}


def player_figures(
    settings: TournamentSettings,
    number: int,
    games: Iterable[PlayedGame],
    scores: Mapping[tuple[int, int], Score],
    byes: float,
) -> dict[str, Any]:
    """The figures of one player."""
    side = settings.players[number]
    cells = [found for other in range(len(settings.players)) if (found := cell(scores, number, other))]
    wins, draws, losses = (int(sum(each[key] for each in cells)) for key in ("wins", "draws", "losses"))
    stats: list[SearchStats] = []
    forfeits = 0
    for played in games:
        if side.name in played.players:
            seat = SIDES[played.players.index(side.name)]
            stats.append(getattr(played, seat))
            forfeits += played.is_forfeit and played.winner != seat
    count = wins + draws + losses
    return {
        **side.as_json(),
        "plays_with": str(side),
        "games": count,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "points": wins + draws / 2 + byes,
        "bye_points": byes,
        "score": (wins + draws / 2) / count if count else None,
        "forfeits": forfeits,
        **search_figures(stats, side),
    }


def sort_key(row: Mapping[str, Any], *, is_swiss: bool) -> tuple[float, ...]:
    """Orders the table: by Elo, before that in a Swiss tournament by points, after that by score."""
    elo, score = -(row["elo"] or 0.0), -(row["score"] or 0.0)
    return (-row["points"], elo) if is_swiss else (elo, score)


def title_of(found: Mapping[str, Any]) -> str:
    """The first line of a report."""
    variant = f" ({found['variant']})" if found["variant"] else ""
    return (
        f"{found['game']}{variant}: {found['schedule']} of {len(found['players'])} players, "
        f"{found['games']} of {found['games_planned']} games"
    )


def standings_table(found: Mapping[str, Any]) -> "RenderableType":
    """The standings and the cross table."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="")
    for header in (*COLUMNS, "plays with"):
        table.add_column(header, justify="left" if header in LEFT else "right", no_wrap=True)
    for rank, row in enumerate(found["players"], 1):
        table.add_row(*map(Text, standings_row(found, rank, row)))
    cross = Table(box=None, pad_edge=False, header_style="")
    for header in ("#", "player", *map(str, range(1, len(found["players"]) + 1))):
        cross.add_column(header, justify="left" if header == "player" else "right", no_wrap=True)
    for rank, (row, cells) in enumerate(zip(found["players"], found["cross_table"], strict=True), 1):
        texts = ["x" if at == rank else cross_text(score) for at, score in enumerate(cells, 1)]
        cross.add_row(*map(Text, (str(rank), row["name"], *texts)))
    parts: list[RenderableType] = [Text(title_of(found)), "", table, "", cross]
    return Group(*parts, *([""] if notes(found) else []), *map(Text, notes(found)))


def standings_row(found: Mapping[str, Any], rank: int, row: Mapping[str, Any]) -> list[str]:
    """The texts of a player's row; LOS is that over the next player of the table."""
    los = found["superiority"]
    is_last = rank == len(found["players"])
    return [
        str(rank),
        row["name"],
        f"{row['elo']:+.1f}" if row["elo"] is not None else "-",
        f"{row['elo_error']:.1f}" if row["elo_error"] is not None else "-",
        f"{los[rank - 1][rank]:.1%}" if los and not is_last else "-",
        f"{row['points']:g}",
        str(row["games"]),
        f"{row['score']:.1%}" if row["score"] is not None else "-",
        *(str(row[key]) for key in ("wins", "draws", "losses", "forfeits")),
        f"{row['mean_ms']:.1f}" if row["moves"] else "-",
        row["plays_with"],
    ]


def cross_text(score: Mapping[str, float] | None) -> str:
    """A cell of the cross table: points and games won, drawn, lost."""
    if score is None:
        return ""
    return f"{score['points']:g} (+{score['wins']:g} ={score['draws']:g} -{score['losses']:g})"


def notes(found: Mapping[str, Any]) -> list[str]:
    """What a reader must know of the figures."""
    lines = []
    if found["is_bounded"]:
        lines.append(
            "Elo: some player won or lost too many games for a finite estimate; half a win was added to each side of "
            "each pair."
        )
    if found["games"] and found["draw_weight"] is None:
        lines.append("Elo: not yet; the games do not compare all players.")
    if any(row["bye_points"] for row in found["players"]):
        lines.append("Points include those of byes; Elo does not.")
    return lines


def progress_line(found: Mapping[str, Any]) -> str:
    """The standings so far on one line."""
    leaders = ", ".join(f"{row['name']} {row['points']:g}" for row in found["players"][:4])
    return f"{found['games']}/{found['games_planned']} games  {leaders}"
