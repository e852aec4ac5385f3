"""SGF, the Smart Game Format: the nodes of a game's main line, read and written, whatever the game."""

import re
from collections.abc import Mapping, Sequence

from plyd.clients.formats.game_record import quoted
from plyd.clients.library.errors import InvalidRequest

VALUE = r"\[[^\]\\]*(?:\\.[^\]\\]*)*\]"
TOKEN = re.compile(rf"\s*(?:(?P<mark>[();])|(?P<name>[A-Za-z]+)(?P<values>(?:\s*{VALUE})+))", re.DOTALL)
ESCAPE = re.compile(r"\\(\r\n|\n\r|.)", re.DOTALL)
MOST_TOKENS = 50_000  # of a main line; the largest board takes some hundreds
EXPECTED = "expected a game such as (;GM[4]SZ[15];B[hh];W[hg])"

Node = dict[str, list[str]]
"""Properties by name, each with its values."""


def read_nodes(text: str) -> list[Node]:
    """The nodes of the first game's main line: where variations branch, the first is followed."""
    at = text.find("(")
    if at < 0:
        raise InvalidRequest(f"{quoted(text)} holds no game; {EXPECTED}")
    nodes: list[Node] = []
    tokens = 0
    while token := TOKEN.match(text, at):
        at, tokens = token.end(), tokens + 1
        if tokens > MOST_TOKENS:
            raise InvalidRequest(f"more than {MOST_TOKENS} nodes and properties in the main line")
        if token["mark"] == ")":  # of the innermost first variation
            if nodes:
                return nodes
            break
        if token["mark"] == ";":
            nodes.append({})
        elif token["name"] and nodes:
            name = re.sub("[a-z]", "", token["name"])  # in old files, GaMe is GM
            nodes[-1].setdefault(name, []).extend(map(_plain, re.findall(VALUE, token["values"], re.DOTALL)))
    where = f"at character {at + 1}, {quoted(text[at:])}" if text[at:].strip() else "at its end"
    raise InvalidRequest(f"cannot read the game {where}; {EXPECTED}")


def write_nodes(nodes: Sequence[Mapping[str, Sequence[str]]]) -> str:
    """A game without variations, a node with several properties on a line of its own."""
    texts = [";" + "".join(name + "".join(map(_bracketed, node[name])) for name in node) for node in nodes]
    return f"({texts[0]}\n{''.join(texts[1:])})\n"


def _plain(value: str) -> str:
    """The text of a value in brackets, without escapes and escaped line breaks."""
    return ESCAPE.sub(lambda found: "" if found[1].strip("\r\n") == "" else found[1], value[1:-1])


def _bracketed(value: str) -> str:
    return "[" + re.sub(r"([\]\\:])", r"\\\1", value) + "]"
