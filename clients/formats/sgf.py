"""SGF, the Smart Game Format: a game's tree of nodes, read and written, whatever the game."""

import contextlib
import re
from collections.abc import Mapping, Sequence

from plyd.clients.formats.game_record import quoted
from plyd.clients.library.errors import InvalidRequest

VALUE = r"\[[^\]\\]*(?:\\.[^\]\\]*)*\]"
TOKEN = re.compile(rf"\s*(?:(?P<mark>[();])|(?P<name>[A-Za-z]+)(?P<values>(?:\s*{VALUE})+))", re.DOTALL)
ESCAPE = re.compile(r"\\(\r\n|\n\r|.)", re.DOTALL)
MOST_TOKENS = 50_000  # of a game; one line on the largest board takes some hundreds
MOST_NESTED = 200  # variations within variations
EXPECTED = "expected a game such as (;GM[4]SZ[15];B[hh];W[hg])"

Node = dict[str, list[str]]
"""Properties by name, each with its values."""


def read_tree(text: str, number: int = 1) -> tuple[list[Node], list[int]]:
    """The nodes of a game, each before those that follow it, and for each the number of its parent; -1 first.

    Where a game branches, its main line comes first. Of a file with several games, `number` says which.
    """
    at = 0
    for before in range(number):
        if before and "(" not in text[at:]:
            raise InvalidRequest(f"no game {number}; the file holds {before}")
        nodes, parents, at = _read_game(text, at)
    return nodes, parents


def count_games(text: str) -> int:
    """The number of games in a text, up to the first that cannot be read."""
    count = at = 0
    with contextlib.suppress(InvalidRequest):
        while True:
            *_, at = _read_game(text, at)
            count += 1
    return count


def _read_game(text: str, at: int) -> tuple[list[Node], list[int], int]:
    """The nodes of the next game, their parents, and where the game ends."""
    at = text.find("(", at)
    if at < 0:
        raise InvalidRequest(f"{quoted(text)} holds no game; {EXPECTED}")
    nodes: list[Node] = []
    parents: list[int] = []
    branches: list[int] = []  # for each open parenthesis, the node before it
    last, tokens = -1, 0
    while token := TOKEN.match(text, at):
        at, tokens = token.end(), tokens + 1
        if tokens > MOST_TOKENS:
            raise InvalidRequest(f"more than {MOST_TOKENS} nodes and properties in the game")
        if token["mark"] == "(":
            branches.append(last)
            if len(branches) > MOST_NESTED:
                raise InvalidRequest(f"more than {MOST_NESTED} variations within each other")
        elif token["mark"] == ")":
            last = branches.pop()
            if not nodes:
                break
            if last < 0:
                return nodes, parents, at
        elif token["mark"] == ";":
            parents.append(last)
            nodes.append({})
            last = len(nodes) - 1
        elif nodes:
            name = re.sub("[a-z]", "", token["name"])  # in old files, GaMe is GM
            values = map(_plain, re.findall(VALUE, token["values"], re.DOTALL))
            nodes[last].setdefault(name, []).extend(values)
    where = f"at character {at + 1}, {quoted(text[at:])}" if text[at:].strip() else "at its end"
    raise InvalidRequest(f"cannot read the game {where}; {EXPECTED}")


def write_tree(nodes: Sequence[Mapping[str, Sequence[str]]], parents: Sequence[int]) -> str:
    """A game of nodes that are in the order of read_tree, each variation on a line of its own."""
    children: list[list[int]] = [[] for _ in nodes]
    for number, parent in enumerate(parents[1:], 1):
        children[parent].append(number)
    parts, waiting = ["("], [0]
    while waiting:
        number = waiting.pop()
        if number < 0:
            parts.append(")")
            continue
        node, branches = nodes[number], children[number]
        opens = number > 0 and len(children[parents[number]]) > 1
        parts.append("\n(" * opens + ";" + "".join(name + "".join(map(_bracketed, node[name])) for name in node))
        parts.append("\n" * (number == 0))
        for branch in reversed(branches):
            waiting += [-1, branch] if len(branches) > 1 else [branch]
    return "".join([*parts, ")\n"])


def _plain(value: str) -> str:
    """The text of a value in brackets, without escapes and escaped line breaks."""
    return ESCAPE.sub(lambda found: "" if found[1].strip("\r\n") == "" else found[1], value[1:-1])


def _bracketed(value: str) -> str:
    return "[" + re.sub(r"([\]\\:])", r"\\\1", value) + "]"
