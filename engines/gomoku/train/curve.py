"""The losses and ratings of a training run, drawn."""

import json
from pathlib import Path

from plyd.models.errors import BadWeights


def draw(folder: Path) -> Path:
    """Draws losses and ratings over steps; the picture's path."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BadWeights("drawing needs matplotlib: pip install 'plyd[plot]'") from None

    log = folder / "log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if not lines:
        raise BadWeights(f"{folder} has no generation to draw yet")
    manifest = folder / "manifest.json"
    ratings = json.loads(manifest.read_text()).get("ratings", []) if manifest.exists() else []
    steps = [line["steps"] for line in lines]
    figure = Figure(figsize=(9, 9), layout="constrained")
    policy, value, elo = figure.subplots(3, 1, sharex=True)
    policy.plot(steps, [line["policy_loss"] for line in lines])
    policy.set_ylabel("policy: cross-entropy")
    policy.set_title(f"{folder.name}: {lines[-1]['games']} games of self-play")
    value.plot(steps, [line["value_loss"] for line in lines])
    value.set_ylabel("value: mean squared error")
    elo.plot([rating["steps"] for rating in ratings], [rating["elo"] for rating in ratings], marker="o")
    elo.set_ylabel("Elo against the first")
    elo.set_xlabel("steps")
    path = folder / "curve.png"
    figure.savefig(path, dpi=110)
    return path
