"""What the blocking and the asyncio client share: building requests, timeouts and retries. Does no I/O."""

import time
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypedDict

import grpc

from plyd.clients.library.errors import InvalidRequest, PlydError, Unavailable, from_command, from_rpc_error
from plyd.clients.library.state import Position
from plyd.v1 import engine_pb2, position_pb2, rules_pb2, search_pb2

AnyPosition = str | Position | position_pb2.Position  # a start in the game's notation, or what a state has
OptionValue = str | int | float | bool
Options = Mapping[str, OptionValue]  # of an engine, by name

WINNERS: dict[int, int] = {
    position_pb2.OUTCOME_PLAYER_ONE_WINS: position_pb2.SIDE_PLAYER_ONE,
    position_pb2.OUTCOME_PLAYER_TWO_WINS: position_pb2.SIDE_PLAYER_TWO,
}  # the side that an outcome is a win for

ANSWER_SECONDS = 10.0  # default timeout of an answer, added to a search's own time
MOST_SECONDS = 4_000_000  # largest time limit, about 46 days
RETRY_SECONDS = 5.0  # default time that a call waits for an unreachable daemon


@dataclass(frozen=True, slots=True)
class RpcCall:
    """One call: the stub's method, the message, and the timeout in seconds."""

    method: str
    request: Any
    timeout: float | None


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings of a client, and the requests built from them."""

    target: str
    game: str = ""
    variant: str = ""
    timeout: float = ANSWER_SECONDS
    retry_seconds: float = RETRY_SECONDS
    metadata: tuple[tuple[str, str], ...] = ()  # sent with every call
    history: bool = True  # False: states start from the board as it is now

    def position(self, position: AnyPosition, moves: Sequence[str]) -> position_pb2.Position:
        """A position message, from text or from a position and further moves."""
        if isinstance(moves, str):
            raise TypeError(f"moves is the text {moves!r}; give a list of moves")
        check_moves(moves)
        if isinstance(position, str):
            return position_pb2.Position(game=self.game, variant=self.variant, start=position, moves=moves)
        whole = position_pb2.Position()
        whole.CopyFrom(position.message if isinstance(position, Position) else position)
        whole.moves.extend(moves)
        return whole

    def seconds(self, timeout: float | None) -> float:
        """The given timeout, or the client's default."""
        return self.timeout if timeout is None else timeout

    def search(
        self, method: str, position: position_pb2.Position, args: "SearchArgs", timeout: float | None
    ) -> RpcCall:
        """A Search or Analyze call."""
        request: Any = engine_pb2.SearchRequest if method == "Search" else engine_pb2.AnalyzeRequest
        limits, lines, seconds = limits_of(args, SearchArgs.__optional_keys__), args.get("lines"), args.get("seconds")
        options = option_texts(args.get("options"))
        message = request(position=position, limits=limits, options=options, max_lines=lines)
        if timeout is None and seconds is not None:
            timeout = seconds + self.timeout
        return RpcCall(method, message, timeout)

    def describe(self, timeout: float | None) -> RpcCall:
        """A Describe call."""
        return RpcCall("Describe", engine_pb2.DescribeRequest(game=self.game), self.seconds(timeout))

    def new_game(self, start: str, seed: int | None, timeout: float | None) -> RpcCall:
        """A NewGame call."""
        request = rules_pb2.NewGameRequest(
            game=self.game, variant=self.variant, start=start, seed=seed, without_history=not self.history
        )
        return RpcCall("NewGame", request, self.seconds(timeout))

    def inspect(self, position: position_pb2.Position, timeout: float | None) -> RpcCall:
        """An Inspect call."""
        request = rules_pb2.InspectRequest(position=position, without_history=not self.history)
        return RpcCall("Inspect", request, self.seconds(timeout))

    def apply(
        self,
        position: position_pb2.Position,
        moves: Sequence[str],
        with_chance: bool,
        seed: int | None,
        timeout: float | None,
    ) -> RpcCall:
        """An Apply call."""
        check_moves(moves)
        request = rules_pb2.ApplyRequest(
            position=position, moves=moves, with_chance=with_chance, seed=seed, without_history=not self.history
        )
        return RpcCall("Apply", request, self.seconds(timeout))

    def new_game_command(
        self, position: position_pb2.Position, options: Mapping[str, str]
    ) -> engine_pb2.NewGameCommand:
        """The first command of a game."""
        return engine_pb2.NewGameCommand(position=position, options=options, without_history=not self.history)

    def batch(self, lines: bytes, *, as_text: bool, with_moves: bool) -> engine_pb2.EvaluateRequest:
        """One message of an Evaluate stream."""
        form = engine_pb2.ANSWER_FORM_TEXT if as_text else engine_pb2.ANSWER_FORM_NUMBERS
        return engine_pb2.EvaluateRequest(
            game=self.game, variant=self.variant, lines=lines, form=form, with_moves=with_moves
        )

    def retry(self) -> "Retry":
        """A retry policy for one call."""
        return Retry(self.retry_seconds)

    def explain(self, error: grpc.RpcError) -> PlydError:
        """The exception for a gRPC error."""
        return from_rpc_error(error, self.target)


class LimitArgs(TypedDict, total=False):
    """Limits of a search, and the number of lines to report. Default of each: the daemon's."""

    seconds: float | None  # for this move
    remaining_seconds: float | None  # on the clock
    increment_seconds: float  # after each move
    moves_to_go: int | None  # until the next time control
    nodes: int | None
    depth: int | None  # in plies
    lines: int | None


class SearchArgs(LimitArgs, total=False):
    """Keyword arguments of a search."""

    options: Options | None


def limits_of(args: LimitArgs, known: Set[str]) -> search_pb2.Limits:
    """The limits as a message; TypeError for an unknown argument."""
    if unknown := args.keys() - known:
        raise TypeError(f"unknown argument {min(unknown)!r}; known are {', '.join(sorted(known))}")
    limits = search_pb2.Limits(nodes=args.get("nodes"), depth=args.get("depth"))
    seconds, remaining = args.get("seconds"), args.get("remaining_seconds")
    if seconds is not None:
        limits.move_time_ms = milliseconds("seconds", seconds)
    if remaining is not None:
        limits.clock.remaining_ms = milliseconds("remaining_seconds", remaining)
        limits.clock.increment_ms = milliseconds("increment_seconds", args.get("increment_seconds", 0.0))
        if (to_go := args.get("moves_to_go")) is not None:
            limits.clock.moves_to_go = to_go
    elif "increment_seconds" in args or "moves_to_go" in args:
        raise TypeError("increment_seconds and moves_to_go belong to a clock; give remaining_seconds too")
    return limits


def option_texts(options: Options | None) -> dict[str, str]:
    """Options as the texts that the schema has for them."""
    return {name: option_text(name, value) for name, value in (options or {}).items()}


def option_text(name: str, value: object) -> str:
    """The text of an option's value; TypeError if it is no text, number or boolean."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case Integral():  # numpy's numbers too
            return str(int(value))
        case Real():
            return repr(float(value))
    raise TypeError(f"option {name} is {value!r:.60}; allowed is a text, a number or a boolean")


def check_moves(moves: Sequence[str]) -> None:
    """Raise TypeError if a move is not a text, as when a list is passed where moves are separate arguments."""
    for move in moves:
        if not isinstance(move, str):
            raise TypeError(
                f"move {move!r} is not a text; moves are texts such as 'left' or legal_moves[0].move, passed one by one"
            )


def milliseconds(name: str, seconds: float) -> int:
    """Seconds as whole milliseconds, within what the schema can hold."""
    if not 0 <= seconds < MOST_SECONDS:
        raise InvalidRequest(f"{name} is {seconds}; allowed is 0 to {MOST_SECONDS}")
    return round(seconds * 1000)


class Retry:
    """Decides after each failed attempt whether to try again, and when."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end: float | None = None  # set by the first failure
        self._delay = 0.05
        self.failures = 0  # of daemons that were tried in turn, where there are several

    def delay_after(self, error: PlydError) -> float:
        """Seconds to wait before the next attempt; raises the error if there is none."""
        now = time.monotonic()
        if self._end is None:
            self._end = now + self._seconds
        if not isinstance(error, Unavailable) or now >= self._end:
            raise error from None
        delay = min(self._delay, self._end - now)
        self._delay = min(self._delay * 2, 1.0)
        return delay


def check_reply(response: engine_pb2.PlayResponse, target: str) -> engine_pb2.PlayResponse:
    """A reply in a game; raises the exception if the reply is an error."""
    if response.WhichOneof("reply") == "error":
        raise from_command(response.error, target)
    return response


def check_not_superseded(command_id: int, last_read_id: int) -> None:
    """Raise if a reply to a later command was read already, so that this command's replies were skipped."""
    if last_read_id > command_id:
        raise PlydError("a later command superseded this search")


def moves_command(
    moves: Sequence[str], with_chance: bool, seed: int | None, go: engine_pb2.GoCommand | None = None
) -> engine_pb2.MovesCommand:
    """The command to play moves and, if asked to, to let chance answer them and to search."""
    check_moves(moves)
    return engine_pb2.MovesCommand(moves=moves, with_chance=with_chance, seed=seed, go=go)


def go_command(
    args: LimitArgs,
    ponder: bool,
    moves: Sequence[str] = (),
    with_chance: bool = False,
    seed: int | None = None,
    use_store: bool = False,
) -> dict[str, Any]:
    """The command to search, after moves if there are any, as a field of PlayRequest."""
    limits = limits_of(args, LimitArgs.__optional_keys__)
    go = engine_pb2.GoCommand(limits=limits, max_lines=args.get("lines"), ponder=ponder, use_store=use_store)
    return {"moves": moves_command(moves, with_chance, seed, go)} if moves or with_chance else {"go": go}


def play_on_command(
    moves: int | None, seed: int | None, interval_seconds: float | None, args: LimitArgs
) -> engine_pb2.PlayOnCommand:
    """The command to let the engine play on."""
    limits = limits_of(args, LimitArgs.__optional_keys__ - {"lines"})
    interval_ms = None if interval_seconds is None else milliseconds("interval_seconds", interval_seconds)
    return engine_pb2.PlayOnCommand(moves=moves, limits=limits, seed=seed, interval_ms=interval_ms)


def join_lines(positions: Iterable[str]) -> bytes:
    """Positions as the lines of one batch. Each must be one line, so that values match positions."""
    lines = list(positions)
    for number, line in enumerate(lines):
        if not line.strip() or "\n" in line:
            raise InvalidRequest(f"position {number} is {line!r}; a position is one line that is not empty")
    return "\n".join(lines).encode()
