"""Positions and states as a client returns them."""

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass

from plyd.clients.library.board_svg import Svg, board_svg
from plyd.clients.library.report import Report
from plyd.clients.library.view import View, Views, plural, shortened
from plyd.v1 import engine_pb2, position_pb2, search_pb2

CardOf = Callable[[str], engine_pb2.EngineInfo | None]  # how a game looks, if that is known


class Position(View[position_pb2.Position]):
    """A position: a start in the game's notation, and the moves from there. Send it back as it is."""

    __slots__ = ()

    @property
    def game(self) -> str:
        """The game: "gomoku"."""
        return self.message.game

    @property
    def variant(self) -> str:
        """The rule set within the game: "classic"."""
        return self.message.variant

    @property
    def start(self) -> str:
        """The start in the game's notation; "" for the game's ordinary start."""
        return self.message.start

    @property
    def moves(self) -> MutableSequence[str]:
        """The moves from the start, oldest first."""
        return self.message.moves

    @property
    def points(self) -> float:
        """Points gained before the start."""
        return self.message.points

    @property
    def plies(self) -> int:
        """Plies played before the start."""
        return self.message.plies

    def __str__(self) -> str:
        names = "/".join(name for name in (self.game, self.variant) if name)
        texts = [shortened(self.start)] if self.start else []
        if self.moves:
            texts.append(f"{plural(len(self.moves), 'move')}, last {self.moves[-1]}")
        return " ".join([names, *texts])


class LegalMove(View[position_pb2.LegalMove]):
    """A move that the side to move may make."""

    __slots__ = ()

    @property
    def move(self) -> str:
        """The move in the game's notation."""
        return self.message.move

    @property
    def cell(self) -> int:
        """Index into `board.cells` where the move puts a stone or tile; 0 and not `HasField("cell")` if it has none."""
        return self.message.cell

    @property
    def probability(self) -> float:
        """Probability that chance makes this move; 0 for a player's move."""
        return self.message.probability

    @property
    def cells(self) -> Sequence[int]:
        """Indices into `board.cells` that point at a move of several cells, in order; else empty."""
        return self.message.cells

    @property
    def kind(self) -> position_pb2.MoveKind.ValueType:
        """How a person makes the move: MOVE_KIND_CELL, MOVE_KIND_SLIDE, ..."""
        return self.message.kind

    def __str__(self) -> str:
        return f"{self.move} ({self.probability:.3g})" if self.HasField("probability") else self.move


class State(View[position_pb2.State]):
    """Everything that the rules say about a position. In a notebook it shows its board; `str` gives it as text."""

    __slots__ = ("_card_of",)

    def __init__(self, message: position_pb2.State, card_of: CardOf | None = None) -> None:
        super().__init__(message)
        self._card_of = card_of

    @property
    def position(self) -> Position:
        """The position, to search it or to go on from it."""
        return Position(self.message.position)

    @property
    def text(self) -> str:
        """The position as one text, without moves."""
        return self.message.text

    @property
    def to_move(self) -> position_pb2.Side.ValueType:
        """Who moves next: SIDE_PLAYER_ONE, ...; SIDE_UNSPECIFIED when the game is over."""
        return self.message.to_move

    @property
    def outcome(self) -> position_pb2.Outcome.ValueType:
        """How the game stands: OUTCOME_ONGOING, OUTCOME_DRAW, ..."""
        return self.message.outcome

    @property
    def legal_moves(self) -> Sequence[LegalMove]:
        """Every move that the side to move may make. Empty when the game is over."""
        return Views(LegalMove, self.message.legal_moves)

    @property
    def points(self) -> float:
        """Points that the player has; 0 in games without points."""
        return self.message.points

    @property
    def board(self) -> position_pb2.Board:
        """The board: rows, columns, and the label of each cell."""
        return self.message.board

    @property
    def picture(self) -> str:
        """The board as plain text, several lines."""
        return self.message.picture

    @property
    def plies(self) -> int:
        """Plies played so far."""
        return self.message.plies

    @property
    def chance_moves(self) -> Sequence[str]:
        """The moves that chance made in answer, for a client with `history=False`; else empty."""
        return self.message.chance_moves

    @property
    def last_cells(self) -> Sequence[int]:
        """Indices into `board.cells` of the last move."""
        return self.message.last_cells

    def svg(self, report: "Report | search_pb2.Report | None" = None) -> Svg:
        """The board as SVG, a text that notebooks show as a picture; with the moves of a report marked on it.

        It looks as the game's card says, which the daemon is asked for when a first board is drawn. If the daemon does
        not answer, the board is a plain grid of labels.
        """
        card = self._card_of(self.message.position.game) if self._card_of else None
        found = Report(report) if isinstance(report, search_pb2.Report) else report
        marks = {line.moves[0]: line.score.short() for line in reversed(found.lines) if line.moves} if found else {}
        caption = f"{found.move}: {found.score}" if found and found.move else str(found.score) if found else ""
        return board_svg(self.message, card, marks, found.move if found else "", caption)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.picture

    def __repr__(self) -> str:
        outcome = position_pb2.Outcome.Name(self.outcome).removeprefix("OUTCOME_").replace("_", " ").lower()
        to_move = position_pb2.Side.Name(self.to_move).removeprefix("SIDE_").replace("_", " ").lower()
        words = [f"{self.position.game} {shortened(self.text)}", f"after {plural(self.plies, 'ply', 'plies')}"]
        if self.points:
            words.append(f"{self.points:g} points")
        words.append(f"{to_move} to move" if self.outcome == position_pb2.OUTCOME_ONGOING else outcome)
        return f"<State {', '.join(words)}>"


@dataclass(frozen=True, slots=True)
class PlayedOn:
    """What an engine has played by itself since the last time: `moves`, those of chance included, and the state after
    them; `count` is the number of moves so far, those of chance not counted. The last one is `final`.
    """

    moves: tuple[str, ...]
    state: State
    count: int
    final: bool


def played_on(response: engine_pb2.PlayResponse, card_of: CardOf) -> PlayedOn:
    """What a reply says that the engine has played."""
    message = response.played_on
    return PlayedOn(tuple(message.moves), State(message.state, card_of), message.count, message.final)
