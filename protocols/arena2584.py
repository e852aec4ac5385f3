"""The line protocol of the 2584 arena: a referee opens matches, announces moves and asks players for theirs.

A match has two roles: "play" slides, "evil" drops tiles. A move is a hexadecimal opcode: a slide is 0 up, 1 right, 2
down, 3 left; a drop is 16 * index + cell.
"""

import re

SLIDES = ("up", "right", "down", "left")  # by opcode
NO_MOVE = "ffffffff"  # the answer of the course's own programs when there is no move
COMMANDS = {  # of a referee
    "open": re.compile(r"match (\S+) open ([^\s:]+):([^\s:]+)"),
    "take": re.compile(r"match (\S+) (play|evil) take turn(?: ?, ?drop (\d{1,3}))?"),
    "move": re.compile(r"match (\S+) (play|evil) move ((?:0x)?[0-9a-fA-F]{1,8})"),
    "close": re.compile(r"match (\S+) close (\S+)"),
}
ANSWERS = {  # of a player
    "ready": re.compile(r"match (\S+) (play|evil) ready"),
    "move": COMMANDS["move"],
}
DROP = re.compile(r"([0-9]{1,2})@([0-9]{1,2})", re.ASCII)


def opcode_of(move: str) -> int:
    """The opcode of a move in our notation, `left` or `1@4`; raises ValueError if it is none."""
    if found := DROP.fullmatch(move):
        return int(found[1]) << 4 | int(found[2])
    return SLIDES.index(move)


def slide_of(opcode: str) -> str | None:
    """The slide of a hexadecimal opcode in our notation, or None if it is no slide."""
    number = int(opcode, 16)
    return SLIDES[number] if number < len(SLIDES) else None
