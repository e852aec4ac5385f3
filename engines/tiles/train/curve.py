"""The learning curve of a training run, drawn."""

import json
from pathlib import Path

from plyd.engines.tiles.train.trainer import LOG
from plyd.models.errors import BadWeights


def draw(folder: Path) -> Path:
    """Draws average points and the share of games that reached the largest tiles, over moves; the picture's path."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BadWeights("drawing needs matplotlib: pip install 'plyd[plot]'") from None

    log = folder / LOG
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if not lines:
        raise BadWeights(f"{folder} has no block of 1000 games to draw yet")
    moves = [line["moves"] / 1e6 for line in lines]
    figure = Figure(figsize=(9, 7), layout="constrained")
    points, shares = figure.subplots(2, 1, sharex=True)
    points.plot(moves, [line["average"] for line in lines], label="average")
    points.plot(moves, [line["maximum"] for line in lines], label="maximum", linewidth=0.6)
    points.set_ylabel("points a game")
    points.set_title(f"{folder.name}: {lines[-1]['games']} games")
    points.legend()
    tiles = sorted({int(tile) for line in lines for tile in line["reached"]})[-6:]
    for tile in tiles:
        # a block lists the tiles between its least and its largest best tile: every game reached what comes before
        reached = [
            line["reached"].get(str(tile), 1.0 if tile < min(map(int, line["reached"])) else 0.0) for line in lines
        ]
        shares.plot(moves, [100 * share for share in reached], label=str(tile))
    shares.set_ylabel("% of games that reached it")
    shares.set_xlabel("million moves")
    shares.set_ylim(0, 100)
    shares.legend()
    path = folder / "curve.png"
    figure.savefig(path, dpi=110)
    return path
