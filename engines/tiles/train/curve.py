"""The learning curve of a tile game: points, and the share of games that reached the largest tiles, over moves."""

from typing import Any

TILES = 6  # the largest tiles are drawn


def draw(figure: Any, lines: list[dict[str, Any]]) -> None:
    """Draws the lines of a log on a figure of matplotlib."""
    moves = [line["moves"] / 1e6 for line in lines]
    points, shares = figure.subplots(2, 1, sharex=True)
    points.plot(moves, [line["average"] for line in lines], label="average")
    points.plot(moves, [line["maximum"] for line in lines], label="maximum", linewidth=0.6)
    points.set_ylabel("points per game")
    points.legend()
    tiles = sorted({int(tile) for line in lines for tile in line["reached"]})[-TILES:]
    for tile in tiles:
        # A line lists the tiles between the smallest and the largest best tile: every game reached those below.
        reached = [
            line["reached"].get(str(tile), 1.0 if tile < min(map(int, line["reached"])) else 0.0) for line in lines
        ]
        shares.plot(moves, [100 * share for share in reached], label=str(tile))
    shares.set_ylabel("% of games that reached the tile")
    shares.set_xlabel("million moves")
    shares.set_ylim(0, 100)
    shares.legend()
