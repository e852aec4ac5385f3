"""An agent for Kaggle's ConnectX: give the path of this file to a Kaggle environment.

    from kaggle_environments import make
    from plyd.clients.hosts.kaggle import connectx
    make("connectx").run([connectx.__file__, "negamax"])

It uses the daemon at PLYD_CONNECT4 (HOST:PORT, unix:PATH or tls:HOST:PORT). Default: the daemon of `plyd up`. If none
answers, a private daemon is started at the first move and runs as long as this process.

A game is one Play stream, so that the engine's tree is kept from move to move. Kaggle executes this file as a script
and uses the last callable in it: `agent`.
"""

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from threading import Timer
from typing import Any

from plyd.clients.library.channel import UP_ADDRESSES
from plyd.clients.library.client import EngineClient, Game
from plyd.clients.library.connect.embedded import EmbeddedDaemon
from plyd.clients.library.errors import DaemonFault, InvalidRequest, PlydError, TimedOut, Unavailable

GAME = "connect4"
CELLS = ".xo"  # an empty cell, mark 1, mark 2
IN_A_ROW, SMALLEST, LARGEST = 4, 4, 16
FIRST_SECONDS = 2.0  # to reach a daemon for the first time
AGAIN_SECONDS = 1.0  # to wait for a daemon that was lost
MARGIN, LEAST_MARGIN_SECONDS = 0.15, 0.3  # share of a move's time that is not given to the search
LEAST_SECONDS = 0.05  # least time of a search


def check(configuration: Any) -> None:
    """Raise ValueError for a game that the engine does not play."""
    if configuration.inarow != IN_A_ROW:
        raise ValueError(f"inarow is {configuration.inarow}; plyd plays {IN_A_ROW} in a row only")
    for name in ("rows", "columns"):
        if not SMALLEST <= (size := getattr(configuration, name)) <= LARGEST:
            raise ValueError(f"{name} is {size}; allowed is {SMALLEST} to {LARGEST}")


def thinking_seconds(configuration: Any, spent_seconds: float) -> float:
    """The time limit of a search, when part of the move's time is already spent."""
    whole: float = configuration.actTimeout
    return max(LEAST_SECONDS, whole - max(MARGIN * whole, LEAST_MARGIN_SECONDS) - spent_seconds)


def position_text(board: Sequence[int], columns: int) -> str:
    """The board in the engine's notation: its rows from the top."""
    cells = "".join(CELLS[cell] for cell in board)
    return "/".join(cells[i : i + columns] for i in range(0, len(cells), columns))


def moves_between(before: Sequence[int], after: Sequence[int], mark: int, columns: int) -> list[str] | None:
    """Our move and the opponent's that lead from one board to the next; None if there are no such moves."""
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
    """The column nearest to the centre that is not full."""
    return min((c for c in range(columns) if not board[c]), key=lambda column: abs(2 * column + 1 - columns))


class KaggleSession:
    """The daemon, and the game played with it."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._client: EngineClient | None = None
        self._game: Game | None = None
        self._board: Sequence[int] = ()
        atexit.register(self._stack.close)

    def client(self) -> EngineClient:
        """A client of the daemon, which the first call finds or starts."""
        if self._client is None:
            target = os.environ.get("PLYD_CONNECT4") or UP_ADDRESSES[GAME]
            try:
                with EngineClient(target, GAME, timeout=FIRST_SECONDS, retry_seconds=0) as client:
                    client.describe()
            except (Unavailable, TimedOut) as error:
                print(f"{error}; starting a private daemon", file=sys.stderr)
                target = self._stack.enter_context(EmbeddedDaemon(GAME)).target
            self._client = self._stack.enter_context(EngineClient(target, GAME, retry_seconds=AGAIN_SECONDS))
        return self._client

    def follow(self, board: Sequence[int], mark: int, columns: int) -> Game:
        """The game at this board: the current one if two moves lead here, otherwise a new one."""
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
        """End the current game. Any thread may call this; a thread that waits for a reply gets Cancelled."""
        if self._game:
            self._game.close()

    def leave(self) -> None:
        """End the game, and find the daemon again before the next."""
        self.hang_up()
        self._game = self._client = None


SESSION = KaggleSession()


def best_column(observation: Any, configuration: Any, began: float) -> int:
    """The engine's move; PlydError if there is none in time."""
    watchdog = Timer(configuration.actTimeout + observation.remainingOverageTime / 2, SESSION.hang_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        game = SESSION.follow(observation.board, observation.mark, configuration.columns)
        move = game.best(seconds=thinking_seconds(configuration, time.monotonic() - began)).move
    finally:
        watchdog.cancel()
    if not move:
        raise DaemonFault(f"no move at {position_text(observation.board, configuration.columns)!r}")
    return int(move) - 1


def agent(observation: Any, configuration: Any) -> int:
    """The column to play, counted from 0."""
    began = time.monotonic()
    check(configuration)
    client = SESSION.client()  # an error at the start is fatal
    try:
        return best_column(observation, configuration, began)
    except PlydError as error:  # a later one costs strength, not the game
        print(f"{client.settings.target}: {error}; playing without the engine", file=sys.stderr)
        SESSION.leave()
        return nearest_to_centre(observation.board, configuration.columns)
