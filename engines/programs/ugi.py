"""A program of any game by the Universal Game Interface."""

import time

from plyd.engines.core.errors import BadMove, NotSupported
from plyd.engines.core.search import ExpectedPoints, Limits, Line, Report, Score, Unknown, WinProbability
from plyd.engines.programs.conversation import Conversation, Heard, PlayedGame
from plyd.engines.programs.process import Program
from plyd.protocols.ugi import GoCommand, Info, PositionCommand, read_bestmove, read_info

VARIANT = "variant"  # name of the option that tells a program which rules to play by
MAX_PV = 16  # moves of a line of play
REPORT_SECONDS = 0.1  # between reports
LARGEST_CENTIPAWNS = 4000
LARGEST_DEPTH = 2**31 - 1  # fits in a message, whatever a program claims


class UgiProgram(Conversation):
    """A program that answers `ugi`, `isready`, `position`, `go` and `stop`."""

    farewell = "quit"

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._options: set[str] = set()  # names that the program lists
        self._variant = ""  # that it was told last
        self._info = Info()  # the latest with a line of play
        self._report_due = 0.0

    def greet(self) -> None:
        """Wait for `ugiok` and `readyok`."""
        self.process.send("ugi")
        self.wait_for("ugiok", self._is_ugiok)
        self.process.send(*(f"setoption name {name} value {value}" for name, value in self.program.options), "isready")
        self.wait_for("readyok", lambda line: line == "readyok")

    def begin(self, game: PlayedGame, limits: Limits, seconds: float | None) -> None:
        """`position` with all moves from the start, and `go`; before another game `uginewgame`."""
        self._tell_variant(game)
        if not game.continues(self.game):
            self.process.send("uginewgame", "isready")
            self.wait_for("readyok", lambda line: line == "readyok")
        start = "" if game.start == game.rules.text(game.rules.start()) else game.start
        self._info, self._report_due = Info(), time.monotonic() + REPORT_SECONDS
        self.process.send(str(PositionCommand(start, game.moves)), str(go_command(limits, seconds)))

    def hear(self, game: PlayedGame, line: str) -> Heard:
        """The move of `bestmove`, a report of `info`; nothing of other lines."""
        word, _, rest = line.partition(" ")
        if word == "bestmove":
            move = read_bestmove(rest)
            if move is None:
                raise self.process.failure("has no move, but the game is not over")
            return move
        if word == "info" and (info := read_info(rest)).pv:
            self._info = info
            if time.monotonic() >= self._report_due:
                self._report_due = time.monotonic() + REPORT_SECONDS
                return self._report(game)
        return None

    def conclusion(self, game: PlayedGame, move: str) -> Report:
        """The latest `info` if it is about this move, else just the move."""
        report = self._report(game) if self._info.pv[:1] == (move,) else None
        return report or super().conclusion(game, move)

    def has_time_limit(self, limits: Limits) -> bool:
        """A search without a time limit has none: `stop` ends it."""
        return limits.max_seconds is not None

    def stop(self) -> None:
        """Ask for `bestmove` now."""
        self.process.send("stop")

    def _is_ugiok(self, line: str) -> bool:
        words = line.split()
        if words[:2] == ["option", "name"] and "type" in words:
            self._options.add(" ".join(words[2 : words.index("type")]))
        return line == "ugiok"

    def _tell_variant(self, game: PlayedGame) -> None:
        if VARIANT in self._options and game.variant != self._variant:
            self.process.send(f"setoption name {VARIANT} value {game.variant}")
            self._variant = game.variant
        elif VARIANT not in self._options and not game.is_default_variant:
            raise NotSupported(f"{self.program.name} has no option {VARIANT}, so it does not play {game.variant}")

    def _report(self, game: PlayedGame) -> Report | None:
        """The report of the latest `info` line, if its line of play can be played."""
        info = self._info
        line = playable(game, info.pv)
        if not line:
            return None
        score, depth = score_of(game, info), min(info.depth, LARGEST_DEPTH)
        return Report(score, line[0], (Line(line, score, depth=depth or None),), info.nodes, depth)


def go_command(limits: Limits, seconds: float | None) -> GoCommand:
    """The `go` command for a search; nodes or depth come before time, which `stop` ends."""
    if limits.max_nodes is not None:
        return GoCommand(nodes=limits.max_nodes)
    if limits.max_depth is not None:
        return GoCommand(depth=limits.max_depth)
    return GoCommand(infinite=True) if seconds is None else GoCommand(movetime=max(1, int(seconds * 1000)))


def playable(game: PlayedGame, moves: tuple[str, ...]) -> tuple[str, ...]:
    """The moves of a line of play up to the first that cannot be played."""
    position, good = game.position, []
    for move in moves[:MAX_PV]:
        try:
            position = game.rules.play(position, move).position
        except BadMove:
            break
        good.append(move)
    return tuple(good)


def score_of(game: PlayedGame, info: Info) -> Score:
    """The score of an `info` line. A win that a program claims is a probability of 1, not a proof."""
    if info.points is not None:
        return Score(game.side, ExpectedPoints(info.points))
    if info.mate is not None:
        return Score(game.side, WinProbability(1.0 if info.mate > 0 else 0.0))
    if info.centipawns is not None:
        centipawns = max(-LARGEST_CENTIPAWNS, min(info.centipawns, LARGEST_CENTIPAWNS))
        return Score(game.side, WinProbability(1 / (1 + 10 ** (-centipawns / 400))))
    return Score(game.side, Unknown())
