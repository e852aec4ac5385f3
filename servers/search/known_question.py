"""A question: what a search is asked, without what decides only how long it may take."""

from collections.abc import Mapping
from typing import NamedTuple

from plyd.engines.core.options import MEMORY, THREADS, OptionValue
from plyd.engines.core.search import Limits
from plyd.servers.search.game_record import GameRecord

RESOURCES = (MEMORY, THREADS)  # options that decide how soon a result is found, but not which


class Question(NamedTuple):
    """What a search is asked. The model is the SHA-256 of the weights, or of the outside program, that answers."""

    game: str
    variant: str
    position: str
    options: tuple[tuple[str, OptionValue], ...]
    max_lines: int
    model: str = ""


def question_of(record: GameRecord, options: Mapping[str, OptionValue], limits: Limits) -> Question | None:
    """The question that a search of the game's current position is asked; None if it has to be searched each time."""
    if is_counted(limits):
        return None
    model = record.engine.card.models.get(record.variant)
    return Question(
        record.engine.card.game,
        record.variant,
        record.rules.text(record.position),
        tuple((name, value) for name, value in options.items() if name not in RESOURCES),
        limits.max_lines,
        model.sha256 if model else record.engine.card.program_sha256,
    )


def is_counted(limits: Limits) -> bool:
    """Whether nodes or depth limit a search, so that its caller may expect the same report each time."""
    return limits.max_nodes is not None or limits.max_depth is not None
