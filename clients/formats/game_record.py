"""A game as read from a file of any format, and the quoting of its texts in error messages."""

from dataclasses import dataclass

LONGEST_NAME = 100  # characters of a player's name
LONGEST_COMMENT = 4000  # characters of a comment
LONGEST_QUOTE = 40  # characters of a text in an error message


@dataclass(frozen=True)
class GameTree:
    """The moves of a game with its variations, each move before those that follow it, the main line first.

    Move i is node i + 1 and follows node `parents[i]`; node 0 is the start. Comments and marks are by node; a mark is
    inaccuracy, mistake or blunder, or "".
    """

    moves: tuple[str, ...]
    parents: tuple[int, ...]
    comments: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class GameRecord:
    """A game: where it began, its moves, how it ended. Texts are in the game's notation; "" is the default."""

    game: str
    variant: str = ""
    start: str = ""
    moves: tuple[str, ...] = ()
    result: str = ""  # of a two-player game 1-0, 0-1 or 1/2-1/2, and "" if it is not finished
    players: tuple[str, str] = ("", "")
    tree: GameTree | None = None  # if the game has variations or comments; then `moves` are one of its lines


def name_of(text: str) -> str:
    """A player's name on one line."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:LONGEST_NAME].strip()


def comment_of(text: str) -> str:
    """A comment as plain lines."""
    lines = ("".join(c for c in " ".join(line.split()) if c.isprintable()) for line in text.splitlines())
    return "\n".join(lines)[:LONGEST_COMMENT].strip()


def quoted(text: str) -> str:
    """A text in quotes, shortened if it is long."""
    return repr(text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}...")
