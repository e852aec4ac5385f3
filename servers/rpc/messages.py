"""Messages of the schema, made from the engines' plain values."""

from collections.abc import Sequence
from typing import Any

from plyd.engines.core.engine import Answers, Capability, Engine, Model
from plyd.engines.core.look import BoardKind, BoardLook, SideLook, StartForm
from plyd.engines.core.options import Option
from plyd.engines.core.rules import Move, MoveKind, Outcome, Side
from plyd.engines.core.search import (
    ExpectedPoints,
    Line,
    Proven,
    Report,
    Result,
    Score,
    StopReason,
    Unreachable,
    WinProbability,
)
from plyd.servers.search.game_record import GameRecord
from plyd.v1 import engine_pb2, position_pb2, search_pb2

SIDES = {side: position_pb2.Side.Value(f"SIDE_{side.name}") for side in Side}
OUTCOMES = {outcome: position_pb2.Outcome.Value(f"OUTCOME_{outcome.name}") for outcome in Outcome}
RESULTS = {result: search_pb2.Result.Value(f"RESULT_{result.name}") for result in Result}
STOP_REASONS = {reason: search_pb2.StopReason.Value(f"STOP_REASON_{reason.name}") for reason in StopReason}
CAPABILITIES = {c: engine_pb2.Capability.Value(f"CAPABILITY_{c.name}") for c in Capability}
MOVE_KINDS = {kind: position_pb2.MoveKind.Value(f"MOVE_KIND_{kind.name}") for kind in MoveKind}
ONE_CELL, CELL = MoveKind.CELL, MOVE_KINDS[MoveKind.CELL]
BOARD_KINDS = {kind: engine_pb2.BoardKind.Value(f"BOARD_KIND_{kind.name}") for kind in BoardKind}
OPTION_TYPES = {
    bool: engine_pb2.OPTION_TYPE_BOOLEAN,
    int: engine_pb2.OPTION_TYPE_INTEGER,
    float: engine_pb2.OPTION_TYPE_NUMBER,
    str: engine_pb2.OPTION_TYPE_CHOICE,
}


def report_message(
    report: Report, waited_seconds: float, memory_lost: bool = False, is_known: bool = False
) -> search_pb2.Report:
    """The message of a report."""
    message = search_pb2.Report()
    write_report(message, report, waited_seconds, memory_lost, is_known)
    return message


def write_report(
    message: search_pb2.Report,
    report: Report,
    waited_seconds: float,
    memory_lost: bool = False,
    is_known: bool = False,
) -> None:
    """Fill in the message of a report. Messages within messages are written in place: copying them takes longer."""
    message.final = report.final
    if report.move is not None:
        message.move = report.move
    _write_score(message.score, report.score)
    for line in report.lines:
        _write_line(message.lines.add(), line)
    message.nodes = report.nodes
    message.kept_nodes = report.kept_nodes
    message.depth = report.depth
    message.elapsed_us = round(report.seconds * 1e6)
    message.waited_us = round(waited_seconds * 1e6)
    if report.stop_reason:
        message.stop_reason = STOP_REASONS[report.stop_reason]
    message.memory_lost = memory_lost
    message.known = is_known


def _write_score(message: search_pb2.Score, score: Score) -> None:
    message.point_of_view = SIDES[score.point_of_view]
    message.exact = score.exact
    match score.value:
        case ExpectedPoints(points):
            message.expected_points = points
        case WinProbability(probability):
            message.win_probability = probability
        case Proven(result, plies):
            message.proven.result = RESULTS[result]
            if plies is not None:
                message.proven.plies = plies
        case Unreachable():
            message.unreachable.SetInParent()


def _write_line(message: search_pb2.Line, line: Line) -> None:
    message.moves.extend(line.moves)
    _write_score(message.score, line.score)
    if line.visits is not None:
        message.visits = line.visits
    if line.depth is not None:
        message.depth = line.depth
    if line.probability is not None:
        message.probability = line.probability
    if line.prior is not None:
        message.prior = line.prior


def state_message(record: GameRecord, chance_moves: Sequence[str] = ()) -> position_pb2.State:
    """Everything that the rules say about a game's current position, and the moves that chance has just made."""
    rules, position = record.rules, record.position
    to_move = rules.to_move(position)
    board = rules.board(position)
    text = rules.text(position)
    names = {"game": record.engine.card.game, "variant": record.variant}
    if record.has_history:
        start, moves, points, plies = record.start, record.moves, record.start_points, record.start_plies
        chance_moves = ()  # they are in the history
    else:
        start, moves, points, plies = text, [], record.points, record.plies
    return position_pb2.State(
        position=position_pb2.Position(**names, start=start, moves=moves, points=points, plies=plies),
        text=text,
        to_move=SIDES[to_move] if to_move else position_pb2.SIDE_UNSPECIFIED,
        outcome=OUTCOMES[rules.outcome(position)],
        legal_moves=map(move_message, rules.legal_moves(position)),
        points=record.points,
        board=position_pb2.Board(
            rows=board.rows, columns=board.columns, cells=board.cells, winning_cells=board.winning_cells
        ),
        picture=rules.picture(position),
        plies=record.plies,
        chance_moves=chance_moves,
        last_cells=record.last_cells,
    )


def move_message(move: Move) -> position_pb2.LegalMove:
    """A legal move. A board may have hundreds, nearly all of them stones: those take the short way."""
    if move.kind is ONE_CELL:
        return position_pb2.LegalMove(move=move.text, cell=move.cell, probability=move.probability, kind=CELL)
    return position_pb2.LegalMove(
        move=move.text, cell=move.cell, probability=move.probability, cells=move.cells, kind=MOVE_KINDS[move.kind]
    )


def engine_message(engine: Engine) -> engine_pb2.EngineInfo:
    """The description of an engine."""
    card = engine.card
    return engine_pb2.EngineInfo(
        game=card.game,
        title=card.title,
        summary=card.summary,
        variants=[
            engine_pb2.Variant(name=name, summary=rules.summary, model=model_message(card.models.get(name)))
            for name, rules in engine.variants.items()
        ],
        position_notation=card.position_notation,
        position_examples=card.position_examples,
        move_notation=card.move_notation,
        move_examples=card.move_examples,
        node_meaning=card.node_meaning,
        board_limits=engine_pb2.BoardLimits(
            min_rows=card.min_rows, max_rows=card.max_rows, min_columns=card.min_columns, max_columns=card.max_columns
        ),
        options=map(option_message, card.options),
        capabilities=sorted(CAPABILITIES[c] for c in card.capabilities),
        model=model_message(card.models.get(next(iter(engine.variants)))),
        board_look=board_look_message(card.board_look),
        sides=map(side_message, card.sides),
        start_form=start_form_message(card.start_form),
        file_formats=card.file_formats,
        program=card.program,
    )


def board_look_message(look: BoardLook) -> engine_pb2.BoardLook:
    """How a board is drawn."""
    return engine_pb2.BoardLook(
        kind=BOARD_KINDS[look.kind],
        column_labels=look.column_labels,
        row_labels=look.row_labels,
        rows_from_bottom=look.rows_from_bottom,
        empty_is_open=look.empty_is_open,
    )


def side_message(look: SideLook) -> engine_pb2.SideLook:
    """One side and how it looks."""
    return engine_pb2.SideLook(side=SIDES[look.side], name=look.name, stone=look.stone, colour=look.colour)


def start_form_message(form: StartForm | None) -> engine_pb2.StartForm | None:
    """How a start is written, None if there is one size only."""
    if form is None:
        return None
    return engine_pb2.StartForm(
        template=form.template,
        square=form.square,
        rows=form.rows,
        columns=form.columns,
        step=form.step,
        blocked_cell=form.blocked_cell,
    )


def model_message(model: Model | None) -> engine_pb2.Model | None:
    """The message of learned weights, None if there are none."""
    return engine_pb2.Model(name=model.name, sha256=model.sha256) if model else None


def option_message(option: Option) -> engine_pb2.Option:
    """The description of an engine's option."""
    default: Any = option.default
    return engine_pb2.Option(
        name=option.name,
        summary=option.summary,
        type=OPTION_TYPES[type(default)],
        default_value=str(default).lower() if isinstance(default, bool) else str(default),
        minimum=option.minimum,
        maximum=option.maximum,
        choices=option.choices,
    )


def answers_message(answers: Answers) -> engine_pb2.EvaluateResponse:
    """The answers to a batch."""
    message = engine_pb2.EvaluateResponse(values=answers.values.tolist(), moves=answers.moves, text=answers.text)
    for error in answers.errors:  # one by one: there may be 262,144, and other threads want to run meanwhile
        message.errors.add(line=error.line, answer=error.answer, message=error.message)
    return message
