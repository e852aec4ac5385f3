"""Gomoku games as SGF, which most programs read, and as PSQ, the format of Piskvork and Gomocup."""

import re
from collections.abc import Iterator

from plyd.clients.formats.game_record import GameRecord, GameTree, comment_of, name_of, quoted
from plyd.clients.formats.sgf import Node, read_tree, write_tree
from plyd.clients.library.errors import InvalidRequest

LETTERS = "abcdefghijklmnopqrst"  # columns, so boards go to 20
SMALLEST, LARGEST, USUAL = 5, len(LETTERS), 15
RESULTS = {"1-0": "B+", "0-1": "W+", "1/2-1/2": "0"}  # in a GameRecord, and in SGF
COLOURS = {"B": "x", "W": "o"}  # in SGF, and in our notation
SET_UP = {"AB": "x", "AW": "o", "AE": "."}
RULES = {"0": "freestyle", "1": "standard", "4": "renju"}  # Gomocup's numbers, which some programs write
MARKS = {"inaccuracy": {"DO": [""]}, "mistake": {"BM": ["1"]}, "blunder": {"BM": ["2"]}}  # of a move, in SGF
MOST_SET = 10  # set-ups of each point that a file may contain
POINT = re.compile(r"[a-t](?:[1-9]|1[0-9]|20)", re.ASCII)
PSQ_HEAD = re.compile(r"\s*Piskvorky\s+(\d{1,4})x(\d{1,4})\s*,[^,]*,\s*(\d{1,4})\s*")
PSQ_MOVE = re.compile(r"\s*(\d{1,4})\s*,\s*(\d{1,4})\s*(?:,\s*-?\d+\s*)?")


def write_sgf(record: GameRecord) -> bytes:
    """A game as SGF; stones of its start are set up."""
    rows, mover = _board(record.start)
    size = len(rows)
    if any("#" in row for row in rows):
        raise InvalidRequest(f"SGF has no blocked points, as in {quoted(record.start)}; allowed are . x o")
    root: Node = {"FF": ["4"], "GM": ["4"], "CA": ["UTF-8"], "AP": ["plyd"], "SZ": [str(size)]}
    texts = {"PB": record.players[0], "PW": record.players[1], "RU": record.variant}
    texts["RE"] = RESULTS.get(record.result, "")
    root |= {key: [value] for key, value in texts.items() if value}
    for key, stone in (("AB", "x"), ("AW", "o")):
        points = [LETTERS[x] + LETTERS[y] for y in range(size) for x in range(size) if rows[y][x] == stone]
        root |= {key: points} if points else {}
    if "AB" in root or "AW" in root or mover == "o":
        root["PL"] = ["B" if mover == "x" else "W"]
    tree = record.tree or GameTree(record.moves, tuple(range(len(record.moves))))
    return write_tree(*_sgf_nodes(root, tree, mover, size)).encode()


def _sgf_nodes(root: Node, tree: GameTree, mover: str, size: int) -> tuple[list[Node], list[int]]:
    """The nodes of a game, and their parents: moves, comments and marks."""
    nodes, plies = [root], [0]
    for move, parent in zip(tree.moves, tree.parents, strict=True):
        x, y = _place(move, size)
        nodes.append({"BW"[(plies[parent] + (mover == "o")) % 2]: [LETTERS[x] + LETTERS[y]]})
        plies.append(plies[parent] + 1)
    for node, mark in zip(nodes, tree.marks, strict=False):
        node |= MARKS.get(mark, {})
    for node, comment in zip(nodes, tree.comments, strict=False):
        node |= {"C": [comment]} if comment else {}
    return nodes, [-1, *tree.parents]


def read_sgf(text: str, number: int = 1) -> GameRecord:
    """An SGF game with its variations and comments; of several, the one with that number."""
    nodes, parents = read_tree(text, number)
    root = {key: values[0].strip() for key, values in nodes[0].items()}
    if root.get("GM", "4") != "4":
        raise InvalidRequest(f"GM[{root['GM'][:9]}] is another game; allowed is GM[4], Gomoku")
    size = _sgf_size(root.get("SZ", str(USUAL)))
    main = _main_line(parents)
    first = next((at for at, number in enumerate(main) if COLOURS.keys() & nodes[number].keys()), len(main))
    rows, mover = _set_up([nodes[number] for number in main[: first + 1]], size)
    tree, mover = _played(nodes, parents, size, main[: first + 1], mover)
    players = name_of(root.get("PB", "")), name_of(root.get("PW", ""))
    rule = root.get("RU", "")
    variant, result = RULES.get(rule) or _variant_in(rule), _result_in(root.get("RE", ""))
    start = _start_of(rows, mover)
    moves = tuple(tree.moves[number - 1] for number in _main_line([-1, *tree.parents])[1:])
    is_plain = len(moves) == len(tree.moves) and not any(tree.comments)
    return GameRecord("gomoku", variant, start, moves, result, players, None if is_plain else tree)


def _main_line(parents: list[int]) -> list[int]:
    """The numbers of the nodes of the main line: from each node its first child."""
    first: dict[int, int] = {}
    for number, parent in enumerate(parents):
        first.setdefault(parent, number)
    line = [0]
    while (following := first.get(line[-1])) is not None:
        line.append(following)
    return line


def _sgf_size(text: str) -> int:
    columns, _, rows = text.partition(":")
    if not re.fullmatch(r"\d{1,4}", columns) or not re.fullmatch(r"\d{0,4}", rows):
        raise InvalidRequest(f"SZ[{text[:9]}] is no size; expected a number from {SMALLEST} to {LARGEST}")
    return _size(columns, rows or columns)


def _set_up(nodes: list[Node], size: int) -> tuple[list[str], str]:
    """The rows that nodes set up, and who is to move: from PL, or from the number of stones."""
    cells, put, mover = [["."] * size for _ in range(size)], 0, ""
    for node in nodes:
        for key, stone in SET_UP.items():
            for x, y in _points(node.get(key, []), size):
                cells[y][x], put = stone, put + 1
                if put > MOST_SET * size * size:
                    raise InvalidRequest(f"stones are set on every point of the board more than {MOST_SET} times")
        if "PL" in node:
            mover = COLOURS.get(node["PL"][0].strip()[:1].upper(), "")
    rows = ["".join(row) for row in cells]
    return rows, mover or _board("/".join(rows))[1]


def _played(nodes: list[Node], parents: list[int], size: int, set_up: list[int], mover: str) -> tuple[GameTree, str]:
    """The moves that nodes make, and who makes the first one. Stones are set in the nodes `set_up` alone."""
    moves: list[str] = []
    before: list[int] = []
    comments = [""]
    stones, plies = [""], [0]  # by node of the tree: the stone of its move, and the number of moves
    numbers: list[int] = []  # by node of the file: the node of the tree where it ends
    for number, node in enumerate(nodes):
        last = numbers[parents[number]] if number else 0
        if number not in set_up and (key := next((key for key in SET_UP if key in node), "")):
            raise InvalidRequest(f"{key} after move {plies[last]}; stones may be set before the first move only")
        for colour in [key for key in node if key in COLOURS]:
            if stones[last] == COLOURS[colour]:
                raise InvalidRequest(
                    f"move {plies[last] + 1} is {colour}[...], as is the one before; players take turns"
                )
            [(x, y)] = _points([node[colour][0].partition(":")[0]], size)
            if not moves:
                mover = COLOURS[colour]
            elif last == 0 and mover != COLOURS[colour]:
                raise InvalidRequest(
                    f"{colour}[...] begins a variation; the first move of the others is the opponent's"
                )
            moves.append(f"{LETTERS[x]}{size - y}")
            before.append(last)
            stones.append(COLOURS[colour])
            plies.append(plies[last] + 1)
            comments.append("")
            last = len(moves)
        if "C" in node:
            comments[last] = comment_of(f"{comments[last]}\n{node['C'][0]}")
        numbers.append(last)
    return GameTree(tuple(moves), tuple(before), tuple(comments)), mover


def write_psq(record: GameRecord) -> bytes:
    """A game as PSQ: its moves and players, neither rules nor result."""
    rows, mover = _board(record.start)
    size = len(rows)
    if _start_of(rows, mover) != f"{size}x{size}":
        raise InvalidRequest(
            f"PSQ games begin on an empty board, not at {quoted(record.start)}; SGF and text can hold it"
        )
    places = [_place(move, size) for move in record.moves]
    lines = [f"Piskvorky {size}x{size}, 11:11, 0", *(f"{x + 1},{y + 1},0" for x, y in places)]
    names = [_psq_name(name, at) for at, name in enumerate(record.players, 1)] if any(record.players) else []
    return "\r\n".join([*lines, *names, "-1", ""]).encode()


def _psq_name(name: str, number: int) -> str:
    """A player's name; in brackets if a reader would take it for a move or for the final number."""
    is_name = name and not PSQ_MOVE.fullmatch(name) and not name.lstrip("-").isdecimal()
    return name if is_name else f"({name})" if name else f"player {number}"


def read_psq(text: str) -> GameRecord:
    """The game of a PSQ file."""
    lines = [line for line in text.splitlines() if line.strip()]
    head = PSQ_HEAD.fullmatch(lines[0]) if lines else None
    if not head:
        line = quoted(lines[0] if lines else "")
        raise InvalidRequest(f'cannot read the first line {line}; expected "Piskvorky 15x15, 11:11, 0"')
    size = _size(head[1], head[2])
    moves, at = [], 1
    while at <= min(size * size, len(lines) - 1) and (found := PSQ_MOVE.fullmatch(lines[at])):
        x, y = int(found[1]), int(found[2])
        if not (1 <= x <= size and 1 <= y <= size):
            raise InvalidRequest(f"move {at} is {quoted(lines[at])}; points go from 1,1 to {size},{size}")
        moves.append(f"{LETTERS[x - 1]}{size - y + 1}")
        at += 1
    rest = [line.strip() for line in lines[at : at + 10]]
    if rest and PSQ_MOVE.fullmatch(rest[0]):
        raise InvalidRequest(f"more than {size * size} moves, which is all that a board of {size}x{size} has room for")
    names = [name_of(name) for name in rest[:2]] if len(rest) > 1 and not rest[0].lstrip("-").isdecimal() else ["", ""]
    first, second = names[::-1] if int(head[3]) == 1 else names  # 1: the second player began
    variant = next(filter(None, map(_variant_in, rest[2:])), "")
    return GameRecord("gomoku", variant, f"{size}x{size}", tuple(moves), "", (first, second))


def _points(values: list[str], size: int) -> Iterator[tuple[int, int]]:
    """Columns and rows of SGF points: hh, a rectangle aa:cc, or, in some programs, h8."""
    letters = LETTERS[:size]
    for value in values:
        if re.fullmatch(r"[A-Ta-t]([1-9]|1[0-9]|20)", value.strip()):
            yield _place(value.strip().lower(), size)
            continue
        first, colon, last = value.strip().partition(":")
        corners = [first, last if colon else first]
        if not all(len(corner) == 2 and set(corner) <= set(letters) for corner in corners):
            raise InvalidRequest(f"{quoted(value)} is no point; points are aa to {letters[-1] * 2}")
        (left, top), (right, bottom) = (map(letters.index, corner) for corner in corners)
        yield from ((x, y) for y in range(top, bottom + 1) for x in range(left, right + 1))


def _board(start: str) -> tuple[list[str], str]:
    """The rows of a start, the top one first, and who is to move."""
    size = re.fullmatch(r"\s*(\d{1,2})x\1\s*", start or f"{USUAL}x{USUAL}")
    board, _, mover = (start if not size else "").strip().partition(" ")
    rows = ["." * int(size[1])] * int(size[1]) if size else board.split("/")
    is_square = all(len(row) == len(rows) and set(row) <= set(".xo#") for row in rows)
    if not is_square or not SMALLEST <= len(rows) <= LARGEST or mover not in ("", "x", "o"):
        raise InvalidRequest(f'cannot read the start {quoted(start)}; expected "15x15", or the rows of a square board')
    lead = board.count("x") - board.count("o")
    return rows, mover or ("o" if lead == 1 else "x")


def _start_of(rows: list[str], mover: str) -> str:
    """The text of a start: a size if the board is empty; the side to move if the stones do not determine it."""
    board = "/".join(rows)
    lead = board.count("x") - board.count("o")
    if mover == "x" and not board.strip("./"):
        return f"{len(rows)}x{len(rows)}"
    return board if {0: "x", 1: "o"}.get(lead) == mover else f"{board} {mover}"


def _size(columns: str, rows: str) -> int:
    if int(columns) != int(rows) or not SMALLEST <= int(rows) <= LARGEST:
        raise InvalidRequest(f"a board of {columns}x{rows}; boards are square, from {SMALLEST} to {LARGEST}")
    return int(rows)


def _place(move: str, size: int) -> tuple[int, int]:
    """Column from the left and row from the top of a move, both from 0."""
    if not POINT.fullmatch(move):
        raise InvalidRequest(f"move {quoted(move)} is no point; points are such as h8")
    column, row = LETTERS.index(move[0]), size - int(move[1:])
    if column >= size or row < 0:
        raise InvalidRequest(f"move {quoted(move)} is off a board of {size}x{size}")
    return column, row


def _variant_in(text: str) -> str:
    """The variant named in a text, or ""."""
    return next((name for name in RULES.values() if name in text.lower()), "")


def _result_in(text: str) -> str:
    """The result of SGF's RE property, or ""."""
    words = {"0": "1/2-1/2", "draw": "1/2-1/2"} | {result: result for result in RESULTS}
    winners = {"b+": "1-0", "w+": "0-1"}  # followed by points, R or T
    text = text.lower()
    return winners.get(text[:2]) or words.get(text, "")
