"""Games as files, in the formats that each game's card names: SGF, PSQ, the course's record; text for all.

Whether a game exists, and whether its moves are legal, the daemon decides.
"""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from plyd.clients.formats import sgf
from plyd.clients.formats.game_record import GameRecord, name_of, quoted
from plyd.clients.formats.gomoku import read_psq, read_sgf, write_psq, write_sgf
from plyd.clients.formats.rec2584 import BadRecord, pack_records, read_records_from
from plyd.clients.formats.tile_replay import DROPPED, FinishedGame
from plyd.clients.library.errors import InvalidRequest
from plyd.protocols.arena2584 import SLIDES
from plyd.v1.engine_pb2 import EngineInfo

__all__ = ["GameRecord", "formats_of", "read", "write"]

MOST_BYTES = 1 << 20  # of a file
MOST_MOVES = 200_000
MOVES_A_LINE = 10
EMPTY_4X4 = "a" + " 0" * 16
DROP = re.compile(r"([1-9][0-9]?)@(0|[1-9][0-9]?)", re.ASCII)
MOVE = re.compile(r"[^\s.,:#]{1,64}")  # so that text and links can hold it
FILES = {  # by format: the ending of a file's name, and its media type
    "sgf": ("sgf", "application/x-go-sgf"),
    "psq": ("psq", "text/plain; charset=utf-8"),
    "record": ("rec", "application/octet-stream"),
    "text": ("txt", "text/plain; charset=utf-8"),
}
ONLY_FOR = {"sgf": "gomoku", "psq": "gomoku", "record": "2584"}  # games whose notation a format's writer knows
NUMBER = re.compile(r"(?<![0-9])[0-9]{1,6}\.{1,3}")  # of a move, "12." or "12..."


def formats_of(card: EngineInfo) -> tuple[str, ...]:
    """The formats in which a game can be written, the usual one first: those of its card that are known here."""
    known = tuple(form for form in card.file_formats if form in FILES and ONLY_FOR.get(form, card.game) == card.game)
    return known if "text" in known else (*known, "text")


def write(record: GameRecord, form: str, card: EngineInfo) -> tuple[str, str, bytes]:
    """A game as a file: its name, its media type, and its bytes."""
    if form not in formats_of(card):
        raise InvalidRequest(f"no format {quoted(form)} for {record.game}; it has {', '.join(formats_of(card))}")
    _check(record)
    ending, media_type = FILES[form]
    data = WRITERS[form](replace(record, players=(name_of(record.players[0]), name_of(record.players[1]))))
    _check_size(data)
    return f"{re.sub(r'[^a-zA-Z0-9-]', '_', record.game)}.{ending}", media_type, data


def read(file_name: str, data: bytes, number: int = 1) -> GameRecord:
    """The game in a file; of an SGF or record file with several games, the one with that number."""
    _check_size(data)
    form = _form_of(file_name, data)
    if form == "record":
        record = _read_record(data, number)
    elif form == "sgf":
        record = read_sgf(_decoded(data), number)
    elif number > 1:
        raise InvalidRequest(f"no game {number}; the file holds 1")
    else:
        record = {"psq": read_psq, "text": _read_text}[form](_decoded(data))
    _check(record)
    return record


def count_games(file_name: str, data: bytes) -> int:
    """The number of games in a file that can be read."""
    form = _form_of(file_name, data)
    if form == "record":
        return len(list(read_records_from(io.BytesIO(data), len(data))))
    return sgf.count_games(_decoded(data)) if form == "sgf" else 1


def _form_of(file_name: str, data: bytes) -> str:
    """The format of a file, by the ending of its name or by its first characters."""
    ending = file_name.lower().rpartition(".")[2]
    for form, (usual, _) in FILES.items():
        if ending == usual:
            return form
    opening = data[:1000].decode("latin-1").lstrip("\ufeffï»¿ \t\r\n")
    if opening.startswith("("):
        return "sgf"
    if opening.startswith("Piskvorky"):
        return "psq"
    if re.search(r"^\s*game\s*:", opening, re.MULTILINE):
        return "text"
    endings = ", ".join(f".{ending}" for ending, _ in FILES.values())
    raise InvalidRequest(f"cannot tell what {quoted(file_name)} is; files are {endings}")


def _check(record: GameRecord) -> None:
    """Raise InvalidRequest for an invalid game."""
    if len(record.moves) > MOST_MOVES:
        raise InvalidRequest(f"{len(record.moves)} moves; at most {MOST_MOVES} are allowed")
    if record.tree and len(record.tree.moves) > MOST_MOVES:
        raise InvalidRequest(f"{len(record.tree.moves)} moves with all variations; at most {MOST_MOVES} are allowed")
    for at, move in enumerate(record.moves if not record.tree else (*record.moves, *record.tree.moves), 1):
        if not MOVE.fullmatch(move) or not move.isprintable():
            raise InvalidRequest(
                f"move {at} is {quoted(move)}; a move is a word of at most 64 characters, none of .,:#"
            )
    for text in (record.game, record.variant, record.start, record.result):
        if not text.isprintable():
            raise InvalidRequest(f"{quoted(text)} is not one line of plain text")


def _check_size(data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise InvalidRequest(f"a file of {len(data)} bytes; at most {MOST_BYTES} are allowed")


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # old Windows programs; only names are affected


# Plain text


def _write_text(record: GameRecord) -> bytes:
    first, second = record.players
    head = {"game": record.game, "variant": record.variant, "start": record.start, "result": record.result}
    head |= {"first": first, "second": second}
    lines = [f"{key}: {value}" for key, value in head.items() if value]
    words: list[str] = list(record.moves)
    if not all(word in SLIDES or DROP.fullmatch(word) for word in words):  # tiles have thousands, and no turns
        words = [move if at % 2 else f"{at // 2 + 1}. {move}" for at, move in enumerate(words)]
    rows = [" ".join(words[at : at + MOVES_A_LINE]) for at in range(0, len(words), MOVES_A_LINE)]
    return "\n".join([*lines, "", *rows, ""]).encode()


def _read_text(text: str) -> GameRecord:
    head: dict[str, str] = {}
    words: list[str] = []
    has_numbers = False  # "12." before a move; then a number without a dot is a move
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip().isalpha():
            head.setdefault(key.strip().lower(), value.strip())
        elif not line.lstrip().startswith("#"):
            has_numbers = has_numbers or bool(NUMBER.search(line))
            words += NUMBER.sub(" ", line).split()
    game = head.get("game", "")
    if not game:
        raise InvalidRequest("the file does not say which game it is; expected a line such as game: gomoku")
    if not has_numbers and not all(map(str.isdecimal, words)):
        words = [word for word in words if not word.isdecimal()]  # numbers of moves, without a dot
    start, variant, result = (head.get(key, "") for key in ("start", "variant", "result"))
    return GameRecord(
        game, variant, start, tuple(words), result, (name_of(head.get("first", "")), name_of(head.get("second", "")))
    )


# 2584: the course's record file


def _write_record(record: GameRecord) -> bytes:
    if record.start.split() not in ([], EMPTY_4X4.split()):
        raise InvalidRequest(f"record files begin at the empty board, not at {quoted(record.start)}; text can hold it")
    actions = [_opcode(move) for move in record.moves]
    _dropped(actions)
    return pack_records([FinishedGame(0, 0, 0, actions=actions)])


def _opcode(move: str) -> int:
    if move in SLIDES:
        return SLIDES.index(move)
    found = DROP.fullmatch(move)
    if not found:
        raise InvalidRequest(f"a move {quoted(move)}; moves are {', '.join(SLIDES)}, or INDEX@CELL such as 1@4")
    index, cell = int(found[1]), int(found[2])
    if index not in DROPPED or cell > 15:
        raise InvalidRequest(f"a drop {quoted(move)}; indices are {', '.join(map(str, DROPPED))}, cells 0 to 15")
    return index << 4 | cell


def _read_record(data: bytes, number: int) -> GameRecord:
    try:
        records = list(read_records_from(io.BytesIO(data), len(data)))
    except BadRecord as error:
        raise InvalidRequest(f"not a record file: {error}") from None
    if not 1 <= number <= len(records):
        raise InvalidRequest(f"no game {number}; the file holds {len(records)}")
    actions = records[number - 1][0]
    moves = []
    for at, action in enumerate(actions, 1):
        if 0 <= action < len(SLIDES):
            moves.append(SLIDES[action])
        elif action >> 4 in DROPPED:
            moves.append(f"{action >> 4}@{action & 15}")
        else:
            raise InvalidRequest(f"action {at} is {action}; expected a slide 0 to 3, or a drop 16 * index + cell")
    return GameRecord("2584", "hard" if 3 in _dropped(actions) else "classic", EMPTY_4X4, tuple(moves))


def _dropped(actions: Sequence[int]) -> set[int]:
    """The indices of the tiles that a game drops, which determine its variant."""
    dropped = {action >> 4 for action in actions}
    if {2, 3} <= dropped:
        raise InvalidRequest("the game drops both 2-tiles and 3-tiles; classic drops 1 and 2, hard 1 and 3")
    return dropped


WRITERS: dict[str, Callable[[GameRecord], bytes]] = {
    "sgf": write_sgf,
    "psq": write_psq,
    "record": _write_record,
    "text": _write_text,
}
