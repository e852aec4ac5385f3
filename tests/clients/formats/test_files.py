"""Games as files: what is written is read again, files of other programs are read, and broken ones are refused."""

import contextlib
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plyd.clients.formats import files
from plyd.clients.formats.files import MOST_BYTES, MOST_MOVES, GameRecord, count_games, formats_of, read
from plyd.clients.formats.game_record import GameTree
from plyd.clients.library.errors import InvalidRequest
from plyd.engines import registry
from plyd.engines.connect4.rules import Connect4Rules
from plyd.engines.gomoku.rules import FREESTYLE
from plyd.servers.rpc.messages import engine_message
from plyd.v1.engine_pb2 import EngineInfo

EMPTY_4X4 = "a 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
NAMES = ("Åsa ]\\[ O'Neill", "plyd 0.1; second")
SLIDES = st.sampled_from(["up", "right", "down", "left"])


def drops(indices, cells):
    return st.builds("{}@{}".format, st.sampled_from(indices), st.integers(0, cells - 1))


MOVES = {
    "2048": SLIDES | drops([1, 2], 16),
    "2584": SLIDES | drops([1, 2], 16),
    "2584-2x3": SLIDES | drops([1, 2], 6),
    "connect4": st.integers(1, 16).map(str),
    "gomoku": st.builds("{}{}".format, st.sampled_from("abcdefghijklmno"), st.integers(1, 15)),
}
CARDS = {game: engine_message(registry.load(game)) for game in registry.ENGINES}
PAIRS = [(game, form) for game, card in CARDS.items() for form in formats_of(card)]
KEPT = {  # by format, what it cannot hold, and what it says instead
    "psq": {"variant": "", "result": ""},
    "record": {"result": "", "players": ("", ""), "start": EMPTY_4X4},
}


def write(record, form):
    return files.write(record, form, CARDS.get(record.game, EngineInfo()))


def test_formats_are_those_of_the_card_that_are_known_here_and_always_text():
    assert formats_of(CARDS["gomoku"]) == ("sgf", "psq", "text")
    assert formats_of(EngineInfo(game="gomoku", file_formats=["pgn", "sgf"])) == ("sgf", "text")
    assert formats_of(EngineInfo(game="go", file_formats=["sgf"])) == ("text",)
    assert formats_of(EngineInfo()) == ("text",)


@pytest.mark.parametrize("moves", [("pass", "d3", "12"), ("7", "8"), ("1@2", "7", "left"), ("e2e4", "O-O", "9"), ()])
def test_text_holds_the_moves_of_any_game(moves):
    record = GameRecord("chess960", start="a b", moves=moves, result="1-0")
    name, _, data = write(record, "text")
    assert (name, read(name, data)) == ("chess960.txt", record)


@pytest.mark.parametrize(("game", "form"), PAIRS)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read(game, form, data):
    is_for_two = game in ("connect4", "gomoku")
    record = GameRecord(
        game,
        variant="standard" if game == "gomoku" else "classic",
        start={"connect4": "7x6 #4,1", "gomoku": "15x15", "2584": EMPTY_4X4}.get(game, ""),
        moves=tuple(data.draw(st.lists(MOVES[game], max_size=60))),
        result=data.draw(st.sampled_from(["", "1-0", "0-1", "1/2-1/2"])) if is_for_two else "",
        players=data.draw(st.sampled_from([("", ""), NAMES])),
    )
    name, media_type, written = write(record, form)
    assert name.startswith(game)
    assert "/" in media_type
    assert read(name, written) == replace(record, **KEPT.get(form, {}))


# Files written out by hand


def test_sgf():
    record = GameRecord("gomoku", "standard", "15x15", ("h8", "h9", "a15", "o1"), "1-0", ("A", "B]"))
    assert write(record, "sgf") == (
        "gomoku.sgf",
        "application/x-go-sgf",
        b"(;FF[4]GM[4]CA[UTF-8]AP[plyd]SZ[15]PB[A]PW[B\\]]RU[standard]RE[B+]\n;B[hh];W[hg];B[aa];W[oo])\n",
    )


def test_sgf_of_a_start_with_stones():
    start = "...../.xx../..o../...../..... o"
    data = write(GameRecord("gomoku", start=start, moves=("a1", "e5")), "sgf")[2]
    assert data == b"(;FF[4]GM[4]CA[UTF-8]AP[plyd]SZ[5]AB[bb][cb]AW[cc]PL[W]\n;W[ae];B[ea])\n"
    assert read("x.sgf", data) == GameRecord("gomoku", "", start.removesuffix(" o"), ("a1", "e5"))


def test_sgf_with_variations_comments_and_marks():
    moves, parents = ("h8", "h9", "a15", "b14", "i7"), (0, 1, 2, 2, 1)
    tree = GameTree(
        moves, parents, ("a start", "", "so: [x]", "", "", "or"), ("", "", "mistake", "blunder", "inaccuracy")
    )
    record = GameRecord("gomoku", "", "15x15", ("h8", "i7"), tree=tree)
    data = write(record, "sgf")[2]
    assert data == (
        b"(;FF[4]GM[4]CA[UTF-8]AP[plyd]SZ[15]C[a start]\n;B[hh]\n(;W[hg]BM[1]C[so\\: [x\\]]\n(;B[aa]BM[2])\n"
        b"(;B[bb]DO[]))\n(;W[ii]C[or]))\n"
    )
    again = read("x.sgf", data)
    assert (again.moves, again.tree) == (("h8", "h9", "a15"), GameTree(moves, parents, tree.comments))
    assert read("x.txt", write(record, "text")[2]).moves == ("h8", "i7")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(;)", GameRecord("gomoku", start="15x15")),
        ("(;GM[4]SZ[9];B[aa])", GameRecord("gomoku", start="9x9", moves=("a9",))),
        ("junk before (;SZ[19:19];B[ss]) and after", GameRecord("gomoku", start="19x19", moves=("s1",))),
        ("( ;\r\nGM [4]\n ;B [hh]\n\t; W[ii] )", GameRecord("gomoku", start="15x15", moves=("h8", "i7"))),
        (
            "(;C[a \\] ; \\\\ (b)];B[hh](;W[hg](;B[aa])(;B[bb]))(;W[ii])) (;B[cc])",
            GameRecord(
                "gomoku",
                start="15x15",
                moves=("h8", "h9", "a15"),
                tree=GameTree(("h8", "h9", "a15", "b14", "i7"), (0, 1, 2, 2, 1), ("a ] ; \\ (b)", *[""] * 5)),
            ),
        ),
        ("((;B[hh])(;W[hg]))", GameRecord("gomoku", start="15x15", moves=("h8",))),
        (
            "(;SZ[5];N[no move](;B[aa];C[then];W[bb])(;C[or];B[cc]))",
            GameRecord(
                "gomoku",
                start="5x5",
                moves=("a5", "b4"),
                tree=GameTree(("a5", "b4", "c3"), (0, 1, 0), ("or", "then", "", "")),
            ),
        ),
        ("(;GaMe[4]SiZe[15];Black[hh])", GameRecord("gomoku", start="15x15", moves=("h8",))),
        ("(;B[h8];W[H9])", GameRecord("gomoku", start="15x15", moves=("h8", "h9"))),
        ("(;SZ[5];W[cc])", GameRecord("gomoku", start="...../...../...../...../..... o", moves=("c3",))),
        (
            "(;SZ[5]AB[aa:ba]AW[ab][bb];B[cc])",
            GameRecord("gomoku", start="xx.../oo.../...../...../.....", moves=("c3",)),
        ),
        ("(;SZ[5]AB[aa:ea]AE[ba:da];AW[cc]PL[B])", GameRecord("gomoku", start="x...x/...../..o../...../..... x")),
        ("(;SZ[5]AB[aa:ba]PL[W])", GameRecord("gomoku", start="xx.../...../...../...../..... o")),
        ("(;RU[Freestyle gomoku]RE[W+Resign])", GameRecord("gomoku", "freestyle", "15x15", result="0-1")),
        ("(;RU[1]RE[B+1])", GameRecord("gomoku", "standard", "15x15", result="1-0")),
        ("(;RU[caro]RE[Draw])", GameRecord("gomoku", "", "15x15", result="1/2-1/2")),
        ("(;RU[Renju])", GameRecord("gomoku", "renju", "15x15")),
        ("(;RU[4])", GameRecord("gomoku", "renju", "15x15")),
        ("(;RE[?]PB[a\\\nb]PW[ c\nd ])", GameRecord("gomoku", "", "15x15", players=("ab", "c d"))),
        (
            "(;B[hh];C[he \t thinks\n]N[x];W[hg]C[so do\nI])",
            GameRecord(
                "gomoku", "", "15x15", ("h8", "h9"), tree=GameTree(("h8", "h9"), (0, 1), ("", "he thinks", "so do\nI"))
            ),
        ),
    ],
)
def test_sgf_of_other_programs(text, expected):
    assert read("game.SGF", text.encode()) == expected
    assert read("upload", text.encode()) == expected if text.startswith("(") else True


PSQ = "Piskvorky 15x15, 11:11, 0\n8,8,0\n9,7,1234\n1,15,3\nRAPFI.zip\npbrain-plyd\n-1\n0,Freestyle15_1\n"


def test_psq():
    record = GameRecord("gomoku", "freestyle", "15x15", ("h8", "i9", "a1"), players=("RAPFI.zip", "pbrain-plyd"))
    name, media_type, data = write(record, "psq")
    assert (name, media_type) == ("gomoku.psq", "text/plain; charset=utf-8")
    assert data == b"Piskvorky 15x15, 11:11, 0\r\n8,8,0\r\n9,7,0\r\n1,15,0\r\nRAPFI.zip\r\npbrain-plyd\r\n-1\r\n"
    for text in (PSQ, PSQ.replace("\n", "\r\n"), "\ufeff" + PSQ, PSQ.replace(",", " , ")):
        assert read("a.psq", text.encode()) == record
        assert read("a", text.encode()) == record


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Piskvorky 20x20, 0:0, 0\n", GameRecord("gomoku", start="20x20")),
        ("Piskvorky 15x15, 11:11, 0\n8,8\n-1", GameRecord("gomoku", start="15x15", moves=("h8",))),
        ("Piskvorky 15x15, 11:11, 1\n8,8,0\nA\nB\n0\n", GameRecord("gomoku", "", "15x15", ("h8",), "", ("B", "A"))),
        (
            "Piskvorky 15x15, 11:11, 0\nA\nB\n-1\n0,Standard",
            GameRecord("gomoku", "standard", "15x15", players=("A", "B")),
        ),
    ],
)
def test_psq_of_other_programs(text, expected):
    assert read("a.psq", text.encode()) == expected


def packed(*records):
    parts = [struct.pack(f"<Q{len(actions)}hQQ", len(actions), *actions, 5, 9) for actions in records]
    return struct.pack("<Q", len(records)) + b"".join(parts)


def test_record_file():
    record = GameRecord("2584", "hard", EMPTY_4X4, ("1@4", "3@15", "up", "1@0", "left"))
    name, media_type, data = write(record, "record")
    assert (name, media_type) == ("2584.rec", "application/octet-stream")
    assert data == struct.pack("<QQ5hQQ", 1, 5, 0x14, 0x3F, 0, 0x10, 3, 0, 0)
    assert read(name, data) == record


def test_record_file_with_several_games():
    data = packed([0x10, 0x11, 1], [0x10, 0x21, 2], [0x10, 0x31])
    games = [read("a.rec", data, number) for number in (1, 2, 3)]
    assert read("a.rec", data) == games[0]
    assert [game.variant for game in games] == ["classic", "classic", "hard"]
    assert [game.moves for game in games] == [("1@0", "1@1", "right"), ("1@0", "2@1", "down"), ("1@0", "3@1")]


def test_text_of_a_game_for_two():
    moves = tuple("444433525611")
    record = GameRecord("connect4", start="7x6", moves=moves, result="1-0", players=("you", "plyd"))
    assert write(record, "text")[2].decode() == (
        "game: connect4\nstart: 7x6\nresult: 1-0\nfirst: you\nsecond: plyd\n\n"
        "1. 4 4 2. 4 4 3. 3 3 4. 5 2 5. 5 6\n6. 1 1\n"
    )


def test_text_of_a_tile_game():
    record = GameRecord("2584", "hard", moves=("1@0", "3@5", *["left", "1@15"] * 5))
    assert write(record, "text") == (
        "2584.txt",
        "text/plain; charset=utf-8",
        b"game: 2584\nvariant: hard\n\n1@0 3@5 left 1@15 left 1@15 left 1@15 left 1@15\nleft 1@15\n",
    )


@pytest.mark.parametrize(
    "text",
    [
        "game: gomoku\nstart:15x15\nh8 i9 a1",
        "\ufeff\r\n  Game :  gomoku  \r\nSTART: 15x15\r\ndate: today\r\n\r\n1. h8\r\n   i9\r\n2.a1\r\n",
        "# mine\nstart: 15x15\ngame: gomoku\n1. h8 i9\n# a comment: really\n2... a1",
        "game: gomoku\nstart: 15x15\n1 h8\n2 i9\n3 a1",
    ],
)
def test_text_is_read_tolerantly(text):
    assert read("a.txt", text.encode()) == GameRecord("gomoku", start="15x15", moves=("h8", "i9", "a1"))


def test_starts_that_are_written_are_those_of_the_daemon():
    for text in (
        "15x15",
        "...../..x../...../...../.....",
        "...../...../...../...../..... o",
        "xx.../...../...../...../..... x",
    ):
        data = write(GameRecord("gomoku", start=text), "sgf")[2]
        assert read("a.sgf", data).start == FREESTYLE.text(FREESTYLE.parse(text)) == text
    assert read("a.txt", write(GameRecord("connect4", start="9x9 #5,3"), "text")[2]).start == "9x9 #5,3"
    assert Connect4Rules().text(Connect4Rules().parse("9x9 #5,3")) == "9x9 #5,3"


def test_a_file_may_hold_several_sgf_games():
    data = b"(;PB[Ann];B[aa](;W[bb])(;W[cc]))\n\n (;PB[Bo];B[hh]C[(;])x"
    assert [read("a.sgf", data, number).players[0] for number in (1, 2)] == ["Ann", "Bo"]
    assert count_games("a.sgf", data) == 2
    assert count_games("a.sgf", data + b" (;B[") == 2


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.sgf", b"(;B[hh])", "no game 2; the file holds 1"),
        ("a.sgf", b"(;B[hh]) (;", "cannot read the game at its end"),
        ("a.psq", b"Piskvorky 15x15, 11:11, 0\n", "no game 2; the file holds 1"),
        ("a.txt", b"game: gomoku", "no game 2; the file holds 1"),
        ("a.rec", bytes(8), "no game 2; the file holds 0"),
    ],
)
def test_a_game_that_a_file_does_not_hold_is_refused(name, data, message):
    with pytest.raises(InvalidRequest, match=message):
        read(name, data, 2)


# What is refused


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.sgf", b"", "'' holds no game; expected a game such as"),
        ("a.sgf", b"hello", "'hello' holds no game"),
        ("a.sgf", b"()", "cannot read the game at its end"),
        ("a.sgf", b"(;B[hh]", "cannot read the game at its end"),
        ("a.sgf", b"(;B[hh", r"cannot read the game at character 3, 'B\[hh'"),
        ("a.sgf", b"(;B[hh\\]", "cannot read the game at character 3"),
        ("a.sgf", b"(;B[hh]!)", "cannot read the game at character 8, '!\\)'"),
        ("a.sgf", b"(;GM[1]SZ[19])", r"GM\[1\] is another game; allowed is GM\[4\], Gomoku"),
        ("a.sgf", b"(;SZ[x])", r"SZ\[x\] is no size; expected a number from 5 to 20"),
        ("a.sgf", b"(;SZ[21])", "a board of 21x21; boards are square, from 5 to 20"),
        ("a.sgf", b"(;SZ[15:10])", "a board of 15x10; boards are square"),
        ("a.sgf", b"(;SZ[99999999999])", r"SZ\[999999999\] is no size"),
        ("a.sgf", b"(;SZ[9];B[jj])", "'jj' is no point; points are aa to ii"),
        ("a.sgf", b"(;B[])", "'' is no point"),
        ("a.sgf", b"(;AB[aa:])", "'aa:' is no point"),
        ("a.sgf", b"(;SZ[9];B[k3])", "move 'k3' is off a board of 9x9"),
        ("a.sgf", b"(;B[hh];B[hg])", r"move 2 is B\[...\], as is the one before"),
        ("a.sgf", b"(;B[hh];AW[aa])", "AW after move 1; stones may be set before the first move only"),
        ("a.sgf", b"(;" + b"AB[aa:oo]" * 11 + b")", "stones are set on every point of the board more than 10 times"),
        ("a.sgf", b"(;" + b"B[aa];W[bb];" * 50_000 + b")", "more than 50000 nodes and properties in the game"),
        ("a.sgf", b"(" * MOST_BYTES, "more than 200 variations within each other"),
        ("a.sgf", b"(;B[hh](;W[aa])(;AW[cc]))", "AW after move 1; stones may be set before the first move only"),
        (
            "a.sgf",
            b"(;(;B[aa])(;W[bb]))",
            r"W\[...\] begins a variation; the first move of the others is",
        ),
        ("a.psq", b"Piskvorky 5x5, 1:1, 0\n" + b"1,1,0\n" * 26, "more than 25 moves, which is all that a board of 5x5"),
        ("a.psq", b"", "cannot read the first line ''; expected"),
        ("a.psq", b"Piskvorky 15, 0\n", "cannot read the first line 'Piskvorky 15, 0'"),
        ("a.psq", b"Piskvorky 30x30, 1:1, 0\n", "a board of 30x30"),
        ("a.psq", b"Piskvorky 15x15, 1:1, 0\n8,8,0\n16,1,0\n", "move 2 is '16,1,0'; points go from 1,1 to 15,15"),
        ("a.psq", b"Piskvorky 15x15, 1:1, 0\n0,8,0\n", "move 1 is '0,8,0'"),
        ("a.rec", b"abc", "not a record file: 3 bytes; a record file has at least 8"),
        ("a.rec", packed([0x10])[:-1], "not a record file: "),
        ("a.rec", packed([0x10]) + b"x", "not a record file: 1 bytes after the last of 1 records"),
        ("a.rec", packed(), "no game 1; the file holds 0"),
        ("a.rec", packed([0x10, 7]), "action 2 is 7; expected a slide 0 to 3, or a drop"),
        ("a.rec", packed([-1]), "action 1 is -1"),
        ("a.rec", packed([0x40]), "action 1 is 64"),
        ("a.rec", packed([0x21, 0x31]), "the game drops both 2-tiles and 3-tiles"),
        ("a.txt", b"", "the file does not say which game it is; expected a line such as game: gomoku"),
        ("a.txt", b"game: gomoku\nh8,h9", "move 1 is 'h8,h9'; a move is a word of at most 64 characters, none of .,:#"),
        ("a.txt", b"game: gomoku\n" + b"h" * 65, "move 1 is 'hhh"),
        ("a.txt", b"game: gomoku\nstart: \x00", r"'\\x00' is not one line of plain text"),
        ("a.txt", b"game: gomoku\n" + b"\xff" * 99, "move 1 is 'ÿÿÿ"),
        ("a.txt", b"game: \x01\nh8", r"'\\x01' is not one line of plain text"),
        ("a.exe", b"MZ", "cannot tell what 'a.exe' is; files are .sgf, .psq, .rec, .txt"),
        ("", b"", "cannot tell what '' is"),
        ("a.txt", b" " * (MOST_BYTES + 1), "a file of 1048577 bytes; at most 1048576 are allowed"),
        ("a.txt", b"game: 2048\n" + b"up " * (MOST_MOVES + 1), "200001 moves; at most 200000 are allowed"),
        ("a.rec", packed([0] * (MOST_MOVES + 1)), "200001 moves"),
    ],
)
def test_files_that_are_refused(name, data, message):
    with pytest.raises(InvalidRequest, match=message):
        read(name, data)


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_number_of_a_record_that_is_not_there(number):
    with pytest.raises(InvalidRequest, match=f"no game {number}; the file holds 2"):
        read("a.rec", packed([0x10], [0x10]), number)


@pytest.mark.parametrize(
    ("record", "form", "message"),
    [
        (GameRecord("gomoku"), "pgn", "no format 'pgn' for gomoku; it has sgf, psq, text"),
        (GameRecord("2048"), "record", "no format 'record' for 2048; it has text"),
        (GameRecord("gomoku", moves=("h8\n",)), "text", r"move 1 is 'h8\\n'"),
        (GameRecord("gomoku", variant="a\nb"), "text", "is not one line of plain text"),
        (GameRecord("gomoku", start="9x9", moves=("k1",)), "sgf", "move 'k1' is off a board of 9x9"),
        (GameRecord("gomoku", start="9x9", moves=("a10",)), "psq", "move 'a10' is off a board of 9x9"),
        (GameRecord("gomoku", moves=("pass",)), "sgf", "move 'pass' is no point; points are such as h8"),
        (GameRecord("gomoku", moves=("h\uff18",)), "psq", "is no point"),
        (
            GameRecord("2584", moves=("Down",)),
            "record",
            "a move 'Down'; moves are up, right, down, left, or INDEX@CELL",
        ),
        (GameRecord("gomoku", start="9x8"), "sgf", "cannot read the start '9x8'"),
        (GameRecord("gomoku", start="...../....."), "sgf", "cannot read the start"),
        (GameRecord("gomoku", start="#..../...../...../...../....."), "sgf", "SGF has no blocked points"),
        (GameRecord("gomoku", start="x..../...../...../...../....."), "psq", "PSQ games begin on an empty board"),
        (GameRecord("2584", start=EMPTY_4X4[:-1] + "1"), "record", "record files begin at the empty board"),
        (GameRecord("2584", moves=("4@0",)), "record", "a drop '4@0'; indices are 1, 2, 3, cells 0 to 15"),
        (GameRecord("2584", moves=("1@16",)), "record", "a drop '1@16'"),
        (GameRecord("2048", moves=("right",) * MOST_MOVES), "text", "a file of 1200012 bytes"),
    ],
)
def test_games_that_cannot_be_written(record, form, message):
    with pytest.raises(InvalidRequest, match=message):
        write(record, form)


@given(st.sampled_from(["a.sgf", "a.psq", "a.rec", "a.txt", "a"]), st.binary(max_size=200) | st.text().map(str.encode))
def test_no_file_breaks_anything(name, data):
    with contextlib.suppress(InvalidRequest):
        assert read(name, data).game


@pytest.mark.parametrize("name", ["9,9,100", "1,1", "7", "-1"])
def test_a_psq_player_named_like_a_move_is_not_played(name):
    _, _, data = write(GameRecord("gomoku", start="15x15", moves=("h8",), players=(name, "b")), "psq")
    again = read("a.psq", data)
    assert (again.moves, again.players) == (("h8",), (f"({name})", "b"))


def test_a_game_that_no_record_file_can_hold_is_not_written_to_one():
    with pytest.raises(InvalidRequest, match="drops both 2-tiles and 3-tiles"):
        write(GameRecord("2584", moves=("2@2", "3@4")), "record")


@pytest.mark.parametrize("move", ["3@04", "03@4", "0@4"])
def test_a_drop_is_written_in_one_way_only(move):
    """Found by `make fuzz`: a record file has numbers, so "3@04" came back as "3@4"."""
    with pytest.raises(InvalidRequest, match=move):
        write(GameRecord("2584", moves=("1@2", move, "left")), "record")
