"""A question: what a search is asked, without what decides only how long it may take.

Positions that are turns or mirror images of each other are one question where the game's rulebook knows its symmetries:
the image whose text comes first stands for all, and what is known is kept as a report on that one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from plyd.engines.core.options import MEMORY, THREADS, OptionValue
from plyd.engines.core.search import Limits, Report
from plyd.engines.core.symmetry import HasImages, Image
from plyd.servers.search.game_record import GameRecord

RESOURCES = (MEMORY, THREADS)  # options that decide how soon a result is found, but not which


@dataclass(frozen=True, slots=True)
class Question:
    """What a search is asked. The model is the SHA-256 of the weights, or of the outside program, that answers.

    `position` stands for all images of the position that is asked about; `images` has them by their texts.
    """

    game: str
    variant: str
    position: str
    options: tuple[tuple[str, OptionValue], ...]
    max_lines: int
    model: str = ""
    images: Mapping[str, Image] = field(default_factory=dict, compare=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all images, that which stands for them first."""
        return (self.position, *(text for text in self.images if text != self.position))

    @property
    def key(self) -> "Question":
        """The same question without the images, which take memory."""
        return replace(self, images={}) if self.images else self

    def kept(self, report: Report) -> Report:
        """A report on the position that is asked about, as one on that which stands for it."""
        return _turned(report, self.images[self.position].there) if self.images else report

    def asked(self, report: Report, text: str | None = None) -> Report:
        """A report on an image, by default on that which stands for all, as one on the position that is asked about."""
        return _turned(report, self.images[text or self.position].back) if self.images else report


def question_of(record: GameRecord, options: Mapping[str, OptionValue], limits: Limits) -> Question | None:
    """The question that a search of the game's current position is asked; None if it has to be searched each time."""
    if is_counted(limits):
        return None
    model = record.engine.card.models.get(record.variant)
    rules, position = record.rules, record.position
    images: dict[str, Image] = {}
    if isinstance(rules, HasImages):
        for image in rules.images(position):
            images.setdefault(
                rules.text(image.position), image
            )  # of equal ones the first: it may be the position itself
    return Question(
        record.engine.card.game,
        record.variant,
        min(images, default="") or rules.text(position),
        tuple((name, value) for name, value in options.items() if name not in RESOURCES),
        limits.max_lines,
        model.sha256 if model else record.engine.card.program_sha256,
        images,
    )


def is_counted(limits: Limits) -> bool:
    """Whether nodes or depth limit a search, so that its caller may expect the same report each time."""
    return limits.max_nodes is not None or limits.max_depth is not None


def _turned(report: Report, turn: Callable[[str], str]) -> Report:
    """A report with all its moves turned; raises BadMove if one of them is none."""
    lines = tuple(replace(line, moves=tuple(map(turn, line.moves))) for line in report.lines)
    return replace(report, move=None if report.move is None else turn(report.move), lines=lines)
