"""All errors of a request, as one tree:

    EngineError
    ├── BadInput            what the caller sent cannot be used
    │   ├── BadPosition     a position's text, or a variant
    │   ├── BadMove         a move's text, or a move that is not legal
    │   ├── BadOption       an option's name or value
    │   ├── BadLimit        a limit out of its range
    │   ├── BadBatch        a batch too large, or of an unknown form
    │   └── BadCommand      a command that makes no sense now
    ├── BadMessage          bytes that do not parse as a message of the schema, so no field can be named
    ├── UnknownGame         a game that is not served here
    ├── NotSupported        something this engine cannot do
    ├── BadModel            weights that cannot be used
    ├── BadPlugin           a game of another package that cannot be loaded
    ├── ProgramFailed       an outside program crashed, was too late, or gave a move that is none
    ├── NotAllowed          a caller that could not be authenticated
    ├── Overloaded          no search slot in time, or a client's quota is used up
    └── ShuttingDown        the daemon is shutting down

A message quotes the value and says what was allowed.
"""


class EngineError(Exception):
    """Any error of a request."""

    field = ""  # the offending field within its message, "" if there is none


class BadInput(EngineError):
    """What the caller sent cannot be used."""


class BadPosition(BadInput):
    """A position's text cannot be read, or its variant does not exist."""

    field = "start"


class BadMove(BadInput):
    """A move cannot be read, or is not legal where it was made."""

    field = "moves"


class BadOption(BadInput):
    """An option does not exist, or its value is not allowed."""

    field = "options"


class BadLimit(BadInput):
    """A limit is out of its range."""

    field = "limits"


class BadBatch(BadInput):
    """A batch of positions is too large, or its form is unknown."""

    field = "lines"


class BadCommand(BadInput):
    """A command is not allowed at this point."""

    field = "command"


class BadMessage(EngineError):
    """Bytes that do not parse as a message of the schema."""


class UnknownGame(EngineError):
    """The game is not served here."""

    field = "game"


class NotSupported(EngineError):
    """This engine cannot do that."""


class BadModel(EngineError):
    """A file of weights is missing, corrupt, or for another game or variant."""


class BadPlugin(EngineError):
    """A game of another package cannot be loaded."""


class ProgramFailed(EngineError):
    """An outside program crashed, did not answer in time, or answered with something that is not a legal move."""


class NotAllowed(EngineError):
    """The caller could not be authenticated."""


class Overloaded(EngineError):
    """No search slot came free in time, too many requests are waiting, or a client's quota is used up.

    `reason` is a short label for metrics.
    """

    def __init__(self, message: str, retry_seconds: float, reason: str = "other") -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds
        self.reason = reason


class ShuttingDown(EngineError):
    """The daemon is shutting down."""


def quoted(text: str, longest: int = 60) -> str:
    """The text in double quotes, shortened if long, with control characters escaped."""
    shown = text if len(text) <= longest else text[:longest] + "..."
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown) + '"'
