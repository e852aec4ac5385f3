"""Checks of what outside programs and their managers write."""

import functools

from plyd.engines.connect4.rules import RULES as CONNECT4
from plyd.engines.core.errors import ProgramFailed
from plyd.engines.core.search import Report
from plyd.engines.gomoku.rules import FREESTYLE
from plyd.engines.programs.arena2584 import ArenaProgram
from plyd.engines.programs.conversation import PlayedGame
from plyd.engines.programs.course import CourseLibrary
from plyd.engines.programs.gomocup import GomocupProgram
from plyd.engines.programs.process import Program
from plyd.engines.programs.ugi import UgiProgram
from plyd.engines.tiles_2584.rules import GAME as GAME_2584
from plyd.protocols import ugi


def check_ugi_lines(data: bytes) -> None:
    """What is read of a manager's line is written and read again the same; the only error is BadLine."""
    for line in data.decode("utf-8", "replace").split("\n"):
        ugi.read_info(line)
        ugi.read_bestmove(line)
        for read, word in ((ugi.read_position, "position "), (ugi.read_go, "go "), (ugi.read_setoption, "")):
            try:
                command = read(line)
            except ugi.BadLine as error:
                assert "\n" not in str(error)
                continue
            if word:
                assert read(str(command).removeprefix(word)) == command


class SilentProcess:
    """A process of which only the errors matter."""

    def failure(self, what):
        return ProgramFailed(what)


def made(kind):
    """A conversation without a program."""
    conversation = object.__new__(kind)
    conversation.program, conversation.process = Program(("x",), "x"), SilentProcess()
    if kind is UgiProgram:
        conversation._info, conversation._report_due = ugi.Info(), 0.0
    if kind is ArenaProgram:
        conversation._number = 1
    return conversation


@functools.cache
def conversations():
    """Each protocol, and a game in which it is spoken."""
    hard = GAME_2584.variants["hard"]
    games = [
        (GomocupProgram, FREESTYLE, "15x15"),
        (UgiProgram, CONNECT4, "7x6"),
        (CourseLibrary, CONNECT4, "7x6 #4,1"),
        (ArenaProgram, hard, "b 1 1" + " 0" * 14),
    ]
    return [(made(kind), PlayedGame("", rules, start, (), rules.parse(start))) for kind, rules, start in games]


def check_program_lines(data: bytes) -> None:
    """A program's line is a move, a report or nothing, or an error in one line."""
    for text in data.decode("utf-8", "replace").split("\n"):
        line = text.strip()
        for conversation, game in conversations():
            if line:
                try:
                    heard = conversation.hear(game, line)
                except ProgramFailed as error:
                    assert "\n" not in str(error)
                    continue
                assert heard is None or isinstance(heard, str | Report)
