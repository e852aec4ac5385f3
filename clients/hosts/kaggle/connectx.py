"""Kaggle's ConnectX, played by plyd: give the path of this file to a Kaggle environment.

    from kaggle_environments import make
    from plyd.clients.hosts.kaggle import connectx
    make("connectx").run([connectx.__file__, "negamax"])

The daemon that PLYD_CONNECT4 names (HOST:PORT or unix:PATH) is asked, or else the one that `plyd up` runs; if nobody
answers there, a private daemon is started at the first move and kept as long as this process.

A game is one Play stream, so that the engine keeps what it learned. Kaggle runs this file as a script without a name
and takes the last callable in it: `agent`.
"""

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from threading import Timer
from typing import Any

from plyd.clients.library.client import EngineClient, Game
from plyd.clients.library.embedded import PrivateDaemon
from plyd.clients.library.errors import DaemonFault, InvalidRequest, PlydError, TimedOut, Unavailable

GAME = "connect4"
ADDRESS = "127.0.0.1:25843"  # where `plyd up` puts it
CELLS = ".xo"  # of an empty cell, of mark 1, of mark 2
IN_A_ROW, SMALLEST, LARGEST = 4, 4, 16
FIRST_SECONDS = 2.0  # for a daemon to say that it is there
AGAIN_SECONDS = 1.0  # for one that was there to come back
MARGIN, LEAST_MARGIN_SECONDS = 0.15, 0.3  # of a move's time, for everything but thinking
LEAST_SECONDS = 0.05  # to think, however late it is


def check(configuration: Any) -> None:
    """Raise ValueError for a game that the engine does not play."""
    if configuration.inarow != IN_A_ROW:
        raise ValueError(f"inarow is {configuration.inarow}; plyd plays {IN_A_ROW} in a row only")
    for name in ("rows", "columns"):
        if not SMALLEST <= (size := getattr(configuration, name)) <= LARGEST:
            raise ValueError(f"{name} is {size}; allowed is {SMALLEST} to {LARGEST}")


def thinking_seconds(configuration: Any, spent_seconds: float) -> float:
    """How long the engine may think about a move of which so much has been spent."""
    whole: float = configuration.actTimeout
    return max(LEAST_SECONDS, whole - max(MARGIN * whole, LEAST_MARGIN_SECONDS) - spent_seconds)


def position_text(board: Sequence[int], columns: int) -> str:
    """The board as the engine reads it: its rows from the top."""
    cells = "".join(CELLS[cell] for cell in board)
    return "/".join(cells[i : i + columns] for i in range(0, len(cells), columns))


def moves_between(before: Sequence[int], after: Sequence[int], mark: int, columns: int) -> list[str] | None:
    """Our move and the opponent's that lead from one board to the next; None if no two such moves do."""
    if len(before) != len(after):
        return None
    new = [cell for cell in range(len(after)) if before[cell] != after[cell]]
    if [before[cell] for cell in new] != [0, 0]:
        return None
    ours, theirs = sorted(new, key=lambda cell: after[cell] != mark)
    if (after[ours], after[theirs]) != (mark, 3 - mark) or (ours % columns == theirs % columns and ours < theirs):
        return None
    return [str(cell % columns + 1) for cell in (ours, theirs)]


def nearest_to_centre(board: Sequence[int], columns: int) -> int:
    """The column with room that is nearest to the middle."""
    return min((c for c in range(columns) if not board[c]), key=lambda column: abs(2 * column + 1 - columns))


class Table:
    """The daemon, and the game that is played with it."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._client: EngineClient | None = None
        self._game: Game | None = None
        self._board: Sequence[int] = ()
        atexit.register(self._stack.close)

    def client(self) -> EngineClient:
        """A client of the daemon, which is looked for, or started, the first time."""
        if self._client is None:
            target = os.environ.get("PLYD_CONNECT4") or ADDRESS
            try:
                with EngineClient(target, GAME, timeout=FIRST_SECONDS, retry_seconds=0) as client:
                    client.describe()
            except (Unavailable, TimedOut) as error:
                print(f"{error}; starting a private daemon", file=sys.stderr)
                target = self._stack.enter_context(PrivateDaemon(GAME)).target
            self._client = self._stack.enter_context(EngineClient(target, GAME, retry_seconds=AGAIN_SECONDS))
        return self._client

    def follow(self, board: Sequence[int], mark: int, columns: int) -> Game:
        """The game with this board reached: the one that goes on, if two moves lead here, or else a new one."""
        moves = moves_between(self._board, board, mark, columns) if self._game else None
        if self._game and moves:
            with contextlib.suppress(InvalidRequest, Unavailable):
                self._game.moves(*moves)
                self._board = list(board)
                return self._game
        self.hang_up()
        self._game = None
        self._game = self.client().play(position_text(board, columns))
        self._board = list(board)
        return self._game

    def hang_up(self) -> None:
        """End the game, if one goes on; any thread may call this, and whoever waits for a reply gets Cancelled."""
        if self._game:
            self._game.close()

    def leave(self) -> None:
        """End the game, and look for a daemon again before the next."""
        self.hang_up()
        self._game = self._client = None


TABLE = Table()


def best_column(observation: Any, configuration: Any, began: float) -> int:
    """The engine's move; PlydError if there is none in time."""
    patience = Timer(configuration.actTimeout + observation.remainingOverageTime / 2, TABLE.hang_up)
    patience.daemon = True
    patience.start()
    try:
        game = TABLE.follow(observation.board, observation.mark, configuration.columns)
        move = game.best(seconds=thinking_seconds(configuration, time.monotonic() - began)).move
    finally:
        patience.cancel()
    if not move:
        raise DaemonFault(f"no move at {position_text(observation.board, configuration.columns)!r}")
    return int(move) - 1


def agent(observation: Any, configuration: Any) -> int:
    """The column to play, counted from 0."""
    began = time.monotonic()
    check(configuration)
    client = TABLE.client()  # what is wrong from the start is an error
    try:
        return best_column(observation, configuration, began)
    except PlydError as error:  # what goes wrong later costs strength, not the game
        print(f"{client.settings.target}: {error}; playing without the engine", file=sys.stderr)
        TABLE.leave()
        return nearest_to_centre(observation.board, configuration.columns)
