"""The Universal Game Interface (UGI): UCI for any game. Commands and answers, from and to text.

    to the engine                                      from the engine
    ugi                                                id name ..., id author ..., option name ..., ugiok
    isready                                            readyok
    setoption name NAME value VALUE
    uginewgame
    position startpos|fen TEXT [moves MOVE...]
    go [p1time MS p2time MS p1inc MS p2inc MS] [movetime MS] [depth N] [nodes N] [infinite]
                                                       info ..., bestmove MOVE
    stop
    query gameover|p1turn|result                       response ...
    quit

The grammar is that of github.com/kz04px/cutegames. Positions and moves are written in the game's own notation. As in
UCI, words that are not known are skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

NO_MOVE = "0000"  # in place of a move: there is none
LARGEST = 10**15  # larger numbers of a line are cut to this
RESPONSES = {True: "true", False: "false"}


class BadLine(ValueError):
    """A line that does not follow the grammar; the text says why."""


@dataclass(frozen=True, slots=True)
class PositionCommand:
    """`position`: a start in the game's notation, "" for the usual one, and the moves from there."""

    start: str = ""
    moves: tuple[str, ...] = ()

    def __str__(self) -> str:
        moves = f" moves {' '.join(self.moves)}" if self.moves else ""
        return (f"position fen {self.start}" if self.start else "position startpos") + moves


@dataclass(frozen=True, slots=True)
class GoCommand:
    """`go`: the limits of a search; None: no limit."""

    p1time: int | None = None  # milliseconds, like the next four
    p2time: int | None = None
    p1inc: int | None = None
    p2inc: int | None = None
    movetime: int | None = None
    depth: int | None = None
    nodes: int | None = None
    infinite: bool = False

    def __str__(self) -> str:
        limits = ((name, getattr(self, name)) for name in NUMBERS_OF_GO)
        words = [f"{name} {number}" for name, number in limits if number is not None]
        return " ".join(["go", *words, *(["infinite"] if self.infinite or not words else [])])


NUMBERS_OF_GO = tuple(each.name for each in fields(GoCommand) if each.name != "infinite")


@dataclass(frozen=True, slots=True)
class Info:
    """`info`: what a search knows so far. Scores are those of the side to move."""

    depth: int = 0
    nodes: int = 0
    time: int = 0  # milliseconds
    centipawns: int | None = None  # `score cp`: 400 for a 10 to 1 favourite
    mate: int | None = None  # `score mate`: moves to a certain win, negative to a certain loss
    points: float | None = None  # `score points`, ours: points still to be gained in a one-player game
    pv: tuple[str, ...] = ()

    def __str__(self) -> str:
        score: tuple[str, ...] = ()
        if self.mate is not None:
            score = ("score", "mate", str(self.mate))
        elif self.centipawns is not None:
            score = ("score", "cp", str(self.centipawns))
        elif self.points is not None:
            score = ("score", "points", f"{self.points:.1f}")
        numbers = ("depth", str(self.depth), *score, "time", str(self.time), "nodes", str(self.nodes))
        return " ".join(["info", *numbers, *(["pv", *self.pv] if self.pv else [])])


def read_position(rest: str) -> PositionCommand:
    """The `position` command with these arguments."""
    words = rest.split()
    moves: list[str] = []
    if "moves" in words:
        at = words.index("moves")
        words, moves = words[:at], words[at + 1 :]
    if words[:1] == ["startpos"] and len(words) == 1:
        return PositionCommand("", tuple(moves))
    if words[:1] == ["fen"] and len(words) > 1:
        return PositionCommand(" ".join(words[1:]), tuple(moves))
    raise BadLine("position needs startpos, or fen and a position; then, optionally, moves and the moves from there")


def read_go(rest: str) -> GoCommand:
    """The `go` command with these arguments; without a limit it is infinite."""
    words = rest.split()
    limits = {name: number_after(words, name) for name in NUMBERS_OF_GO if name in words}
    for name, number in limits.items():
        if number is None or number < 0:
            raise BadLine(f"{name} needs a whole number, such as go {name} 100")
    return GoCommand(**limits, infinite="infinite" in words or not limits)


def read_info(rest: str) -> Info:
    """The `info` line with these arguments. Nothing in it is an error: what cannot be read is left out."""
    words = rest.split()
    if words[:1] == ["string"]:
        return Info()
    pv: list[str] = []
    if "pv" in words:
        at = words.index("pv")
        words, pv = words[:at], words[at + 1 :]
    counts = {name: max(0, number_after(words, name) or 0) for name in ("depth", "nodes", "time")}
    return Info(
        **counts,
        centipawns=number_after(words, "cp"),
        mate=number_after(words, "mate"),
        points=_points_after(words),
        pv=tuple(pv),
    )


def read_bestmove(rest: str) -> str | None:
    """The move of a `bestmove` line with these arguments, or None if it says that there is none."""
    move = rest.split()[0] if rest.split() else NO_MOVE
    return None if move in (NO_MOVE, "(none)", "none") else move


def read_setoption(rest: str) -> tuple[str, str]:
    """Name and value of a `setoption` command with these arguments; the value may contain spaces."""
    words = rest.split()
    if words[:1] != ["name"] or "value" not in words[2:]:
        raise BadLine("setoption needs a name and a value, such as setoption name threads value 2")
    at = words.index("value", 2)
    return " ".join(words[1:at]), " ".join(words[at + 1 :])


def number_after(words: Sequence[str], name: str) -> int | None:
    """The whole number that follows a word, or None."""
    try:
        text = words[list(words).index(name) + 1]
    except (ValueError, IndexError):
        return None
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        return None
    number = LARGEST if len(text) > 16 else min(abs(int(text)), LARGEST)
    return -number if text.startswith("-") else number


def _points_after(words: Sequence[str]) -> float | None:
    if "points" not in words[:-1]:
        return None
    text = words[list(words).index("points") + 1]
    is_number = len(text) <= 20 and text.isascii() and text.replace(".", "", 1).isdigit()
    return float(text) if is_number else None
