"""A table that is redrawn on a terminal while games are played, and the same as plain text."""

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 200  # columns of a table in plain text
LIVE_SECONDS = 0.5  # between two updates on a terminal


def plain_text(table: "RenderableType") -> str:
    """A table in plain text."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


@contextlib.contextmanager
def live_table(
    table: "Callable[[], RenderableType]", print_progress: Callable[[str], None]
) -> Iterator[Callable[[str], None]]:
    """A function to call after each game, with a note about that game or an empty text.

    On a terminal it redraws the table; elsewhere it is `print_progress`.
    """
    if not sys.stderr.isatty():
        yield print_progress
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    with Live(table(), console=console, auto_refresh=False, transient=True) as screen:
        drawn = 0.0

        def update(note: str) -> None:
            nonlocal drawn
            if note:
                console.print(Text(note))
            if time.monotonic() - drawn >= LIVE_SECONDS:
                screen.update(table(), refresh=True)
                drawn = time.monotonic()

        yield update
