"""The learning curve of Gomoku: losses and ratings over steps."""

from typing import Any


def draw(figure: Any, lines: list[dict[str, Any]], ratings: list[dict[str, Any]]) -> None:
    """Draws the lines of a log, and ratings, on a figure of matplotlib."""
    steps = [line["steps"] for line in lines]
    policy, value, elo = figure.subplots(3, 1, sharex=True)
    policy.plot(steps, [line["policy_loss"] for line in lines])
    policy.set_ylabel("policy: cross-entropy")
    value.plot(steps, [line["value_loss"] for line in lines])
    value.set_ylabel("value: mean squared error")
    elo.plot([rating["steps"] for rating in ratings], [rating["elo"] for rating in ratings], marker="o")
    elo.set_ylabel("Elo against the first")
    elo.set_xlabel("steps")
