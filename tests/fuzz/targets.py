"""Every parser under fire, by name: what has to hold for any bytes, and some bytes to begin from."""

import functools
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Check = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Target:
    """`make` gives the check, and imports what it checks, so that a fuzzer can watch it."""

    make: Callable[[], Check]
    seeds: tuple[bytes, ...]
    longest: int = 300
    words: tuple[str, ...] = ()
    """That a fuzzer may put in."""
    share: int = 20
    """Of all inputs, in proportion to the others': less where each takes long."""


@functools.cache
def folder() -> Path:
    """A folder of this process's own, in memory if there is such a place."""
    memory = Path("/dev/shm")
    kept = tempfile.TemporaryDirectory(prefix="plyd-fuzz-", dir=memory if memory.is_dir() else None)
    _kept.append(kept)
    return Path(kept.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def rules_of(module: str, name: str, variant: str = "") -> Callable[[], Check]:
    """Makes the check of a rulebook."""

    def make() -> Check:
        from importlib import import_module

        from tests.fuzz.notation import check_rules

        found = getattr(import_module(f"plyd.engines.{module}"), name)
        return functools.partial(check_rules, found[variant] if variant else found)

    return make


def check_of(module: str, name: str, *arguments: object) -> Callable[[], Check]:
    """Makes a check that is a function of one of this folder's modules."""

    def make() -> Check:
        from importlib import import_module

        return functools.partial(getattr(import_module(f"tests.fuzz.{module}"), name), *arguments)

    return make


def file_of(kind: str) -> Callable[[], Check]:
    """Makes the check of a kind of file of weights."""

    def make() -> Check:
        from tests.fuzz.weights import Folder

        return getattr(Folder(folder()), kind)

    return make


def options() -> Check:
    """The check of every engine's options."""
    from plyd.engines.gomoku.engine import OPTIONS
    from plyd.engines.tiles.search.searcher import OPTIONS as TILES
    from tests.fuzz.notation import check_options

    every = {option.name: option for option in (*OPTIONS, *TILES)}
    return functools.partial(check_options, tuple(every.values()))


def tile_lines() -> Check:
    """The check that the kernel reads the same lines as the rulebook, 2x3 and 4x4."""
    import numpy as np

    from plyd.engines.core.errors import BadPosition
    from plyd.engines.tiles.batch.answers import answer_lines
    from plyd.engines.tiles_2048.rules import CLASSIC
    from plyd.engines.tiles_2584_2x3.rules import RULES as SMALL

    def look_up(letters: object, cells: object) -> object:
        return np.where(letters == 0, np.nan, 1.0), np.full(len(letters), -1)  # type: ignore[arg-type]

    def check(data: bytes) -> None:
        for rules in (SMALL, CLASSIC):
            answers = answer_lines(data, rules, look_up, as_text=len(data) % 2 == 0, with_moves=False)  # type: ignore[arg-type]
            told = {(error.line, error.answer) for error in answers.errors}
            expected, count = set(), 0
            for number, line in enumerate(data.split(b"\n")):
                if not line.strip(b" \t\r\v\f"):
                    continue
                try:
                    rules.parse(line.decode("utf-8", "backslashreplace"))
                except BadPosition:
                    expected.add((number, count))
                count += 1
            assert told == expected
            given = answers.text.count(b"\n") if len(data) % 2 == 0 else len(answers.values)
            assert given == count

    return check


def manager() -> Check:
    """The check of a Gomocup bridge."""
    from tests.fuzz.words import Manager

    return Manager().check


def openings() -> Check:
    """The check of files of openings."""
    from tests.fuzz.words import check_openings

    return functools.partial(check_openings, folder())


SLIDES = ("up", "right", "down", "left", "1@", "2@", "b ", "a ")
GOMOKU = (b"15x15|h8 i9", b"...../..x../..o../.#.../..... x|a1 b2", b"20x20", b"xxxxx/oooo./...../...../..... o")
RECORD = struct.pack("<QQ4hQQ", 1, 4, 16, 33, 0, 18, 1, 2)
TOURNAMENT = b"""game="gomoku"
schedule="gauntlet"
games=4
start=["15x15"]
adjudication={resign_score=0.1,proven=true}
[[player]]
nodes=5
[[player]]
name="b"
clock="9+1"
options={seed=3}
"""
REFEREED = (
    b'{"game":0,"play":"a","evil":"b","winner":"evil","verdict":"rules","points":9,"largest":4,"actions":[16,17,0],'
    b'"seconds":{"play":0.1,"evil":0},"start_ms":1,"end_ms":2}'
)
PLAYED = (
    b'{"game":1,"start":"7x6","opening":["4"],"moves":["4"],"winner":"first","reason":"rules",'
    b'"first":{"ms":[1.5],"nodes":[2],"scores":[null]},"second":{"ms":[],"nodes":[],"scores":[]},'
    b'"moved_first":"second"}'
)
REQUEST = (
    b'{"id":1,"do":"search_slice","position":{"game":"gomoku","start":"15x15","moves":["h8"]},'
    b'"seconds":1.5,"nodes":9,"depth":2,"lines":3,"options":{"c":"1"}}'
)
WANTED = (
    b'{"record":{"game":"gomoku","moves":["h8"],"players":["a","b"],"result":"1-0","start":"","variant":""},'
    b'"format":"sgf"}'
)
COMMANDS = (
    "START 15",
    "BEGIN",
    "TURN ",
    "PLAY ",
    "BOARD\n",
    "DONE\n",
    "TAKEBACK ",
    "INFO ",
    "timeout_turn ",
    "RESTART",
)
COMMANDS += (
    "max_depth ",
    "max_node ",
    "thread_num ",
    "max_memory ",
    "rule ",
    "SWAP2BOARD\n",
    "YXBOARD\n",
    "STOP",
    "RECTSTART ",
)
KEYS = (
    '"kind":',
    '"arrays":',
    '"name":',
    '"dtype":"uint8"',
    '"shape":[',
    '"base":',
    '"weights":',
    '"kept":',
    '"float64"',
)


QUERY = (
    b'{"id":"a","game":"connect4","start":"7x6","moves":["4","4"],"analyzeTurns":[0,2],"moveTimeMs":9,"nodes":5,'
    b'"depth":2,"options":{"c":1.5,"seed":"3","fast":true},"lines":2,"priority":-1,"reportEvery":0.5}'
)
ACTION = b'{"id":"t","action":"terminate","terminateId":"a","turns":[1,2]}'
STORED = (
    b'{"move":"4","score":{"for":"player_one","proven":"win","plies":3},"lines":[{"moves":["4"],"score":'
    b'{"for":"player_two","probability":0.5},"visits":2,"depth":1,"prior":0.5}],"nodes":9,"depth":3,"seconds":0.5,'
    b'"stop_reason":"time"}'
)


TARGETS = {
    "2584-2x3": Target(rules_of("tiles_2584_2x3.rules", "RULES"), (b"b 2 2 0 0 0 0|left 1@5",), words=SLIDES),
    "2584 classic": Target(rules_of("tiles_2584.rules", "CLASSIC"), (b"a" + b" 0" * 16 + b"|1@3 2@4",), words=SLIDES),
    "2584 hard": Target(rules_of("tiles_2584.rules", "HARD"), (b"b 31 31" + b" 1" * 14 + b"|up",), words=SLIDES),
    "2048": Target(rules_of("tiles_2048.rules", "CLASSIC"), (b"b 15 15" + b" 0" * 14 + b"|left",), words=SLIDES),
    "connect4": Target(
        rules_of("connect4.rules", "RULES"),
        (b"7x6|4 4 4", b"7x6 #4,1|1", b"..../..../..o./.xx.|4", b"16x16", b"xoxo/oxox/xoxo/oxo#"),
    ),
    "gomoku freestyle": Target(rules_of("gomoku.rules", "RULES", "freestyle"), GOMOKU, 450, share=10),
    "gomoku standard": Target(rules_of("gomoku.rules", "RULES", "standard"), GOMOKU, 450, share=10),
    "options": Target(options, (b"c=1.5", b"threads=4", b"engine=mcts", b"memory=1e3"), 40),
    "tile lines": Target(
        tile_lines, (b"b 2 2 0 0 0 0\r\na 5 1 6 0 12 0\n\nb 0", b"a" + b" 1" * 16 + b"\n"), 200, share=3
    ),
    "analyze lines": Target(check_of("words", "check_analyze_line"), (QUERY, ACTION), 400),
    "stored reports": Target(check_of("words", "check_stored_report"), (STORED,), 400),
    "addresses": Target(
        check_of("notation", "check_address"),
        (b"127.0.0.1:0", b"[::1]:25841", b"unix:/tmp/x", b"localhost:80", b"[fe80::1%1]:5"),
        130,
    ),
    "contenders": Target(
        check_of("notation", "check_contender"),
        (b"nodes=1000 seed=3 at=127.0.0.1:1 name='a b'", b"clock=60+0.5 depth=3", b"time=0.1"),
        120,
    ),
    "gomocup words": Target(check_of("words", "check_gomocup_words"), (b"7,8\n1,2,1\n3,4,2\n5,6,3",), 200, share=10),
    "gomocup bridge": Target(
        manager,
        (
            b"START 15\nBEGIN\nTURN 1,2\nTAKEBACK 1,2",
            b"START 20\nINFO rule 1\nBOARD\n1,1,1\n2,2,2\nDONE\nSTOP",
            b"RECTSTART 8,8\nINFO max_depth 3\nINFO time_left 0\nSWAP2BOARD\nDONE",
            b"START 5\nINFO thread_num 2\nINFO max_memory 1000000000\nPLAY 0,0\nABOUT\nRESTART\nBEGIN",
        ),
        words=COMMANDS,
        share=1,
    ),
    "arena": Target(
        check_of("words", "check_arena"),
        (
            b"match 1 open plyd:plyd\nmatch 1 evil take turn\nmatch 1 evil take turn, drop 3\nmatch 1 play take turn",
            b"match a open plyd:x\nmatch a evil move 12\nmatch a evil move 0x33\nmatch a play take turn\nmatch a close",
        ),
        400,
        ("match ", " open ", "plyd:", " evil take turn", " play take turn", ", drop ", " move ", " close "),
        share=10,
    ),
    "ugi lines": Target(
        check_of("programs", "check_ugi_lines"),
        (b"startpos moves 4 4\nfen 7x6 #4,1 moves 3", b"p1time 5 p2inc 3 nodes 7\nname a b value c", b"mate -3 pv 1 2"),
        words=("startpos ", "fen ", "moves ", "movetime ", "depth ", "name ", "value ", "score ", "points ", "cp "),
    ),
    "program lines": Target(
        check_of("programs", "check_program_lines"),
        (b"7,7\nMESSAGE x\n99,1", b"info depth 3 score cp 20 pv 4 4\nbestmove 4", b"match 1 play move 3", b"5 0\n-1 2"),
        words=("bestmove ", "info ", "score mate ", "pv ", "match 1 play move ", "MESSAGE ", "DEBUG ", "OK"),
        share=4,
    ),
    "solve lines": Target(check_of("words", "check_solve_lines"), (b"b 2 2 0 0 0 0\na 1", b"L"), 100),
    "sgf": Target(
        check_of("words", "check_game_file", "a.sgf"),
        (
            b"(;GM[4]FF[4]SZ[15]PB[a]PW[b]RE[B+R]RU[1];B[hh];W[hg])",
            b"(;GM[4]SZ[5:5]AB[aa][bb:cc]AW[dd]PL[W];W[ee](;B[ed])(;B[de]))",
            b"(;SZ[20]C[a\\]b\\\\];B[h8])",
        ),
        words=("AB[", "AW[", "AE[", "PL[", "SZ[", "RU[standard]", ":", "\\]", "(;"),
        share=8,
    ),
    "psq": Target(
        check_of("words", "check_game_file", "a.psq"),
        (b"Piskvorky 15x15, 11:11, 0\r\n8,8,0\r\n9,9,100\r\none\r\ntwo\r\n-1\r\nFreestyle", b"Piskvorky 5x5,,1\n1,1\n"),
        share=8,
    ),
    "game text": Target(
        check_of("words", "check_game_file", "a.txt"),
        (
            b"game: connect4\nstart: 7x6 #4,1\nresult: 1-0\n\n1. 4 4 2. 3\n",
            b"game: 2584\nvariant: hard\nfirst: me\n\n1@2 3@4 left\n",
            b"game: gomoku\n# so\n1. h8 i9 2... j10",
        ),
        words=("game: ", "2048", "2584-2x3", "result: 0-1", "start: ", "first: ", "second: "),
        share=8,
    ),
    "game file": Target(check_of("words", "check_game_file", "game"), (b"(;SZ[5])", b"Piskvorky 5x5,,0", b"game:2048")),
    "record file": Target(check_of("words", "check_game_file", "a.rec"), (RECORD, RECORD[:30])),
    "course record": Target(check_of("words", "check_course_record"), (RECORD, struct.pack("<Q", 0))),
    "page": Target(
        check_of("words", "check_page"),
        (REQUEST, WANTED, b'{"id":2,"do":"apply","chance":true,"moves":["1@2"]}', b"[" * 300),
        400,
        ('"position":', '"options":', '"record":', '"players":', "1e999", "NaN", "-Infinity", "\\ud800"),
        share=10,
    ),
    "http messages": Target(
        check_of("words", "check_http_message"),
        (
            b'{"position": {"start": "7x6", "moves": ["4"]}, "limits": {"nodes": "5"}, "options": {"a": "b"}}',
            b'{"id": "1", "newGame": {"position": {"game": "connect4"}}}',
            b"\0\0\0\0\x02{}",
            b"\n\x05\x1a\x037x6",
        ),
        300,
        ('"position":', '"newGame":', '"maxLines":', '"lines":', "1e999", "NaN", "\\ud800"),
        share=5,
    ),
    "saved match": Target(
        check_of("words", "check_saved_match"), (PLAYED, b"[" * 500), 600, ('"game":', "1e99", "NaN"), share=10
    ),
    "tournament": Target(
        check_of("words", "check_tournament"),
        (TOURNAMENT, b'game="x"\nplayer=[{},{name="b"}]\nrounds=3', b"a=" + b"[" * 300),
        400,
        ("[[player]]", "schedule=", '"swiss"', "options.", "clock=", "inf", "nan"),
        share=10,
    ),
    "refereed match": Target(
        check_of("words", "check_refereed_match"), (REFEREED, b"[" * 500), 400, ('"game":', "1e99", "NaN"), share=10
    ),
    "openings": Target(openings, (b"7x6 | 4 4 3\n\n7x6 #4,1", b"| 1"), 120, share=4),
    "weights raw": Target(file_of("raw"), (b"PLYDNET1\x02\0\0\0{}" + b"\0" * 32,), share=10),
    "weights signed": Target(
        file_of("file"),
        (b'{"a":1,"arrays":[{"name":"x","dtype":"uint8","shape":[2,2]}]}\n' + b"abcd" + b"\0" * 60,),
        words=KEYS,
        share=6,
    ),
    "networks": Target(file_of("network"), (), 1200, KEYS, share=3),
    "checkpoints": Target(file_of("checkpoint"), (), 1200, KEYS, share=3),
    "onnx models": Target(
        file_of("onnx_model"),
        (b'\x08\x07:\x12\n\x10\n\x06planes\x12\x01y"\x04Relu', b"\x3a\x08\x2a\x06\x08\x01\x10\x01\x42\x01w"),
        share=8,
    ),
    "lab files": Target(file_of("lab"), (), 400, ("-tuple pattern ",), share=8),
    "TDL2048 files": Target(file_of("tdl2048"), (), 400, share=8),
    "pattern weights": Target(file_of("patterns"), (b'{"kind":"patterns","arrays":[]}\n',), 200, KEYS, share=8),
    "pattern networks": Target(
        file_of("pattern_network"), (b'{"kind":"pattern-network","arrays":[]}\n',), 200, KEYS, share=8
    ),
    "cached kernels": Target(file_of("kernel"), (b"\x80\x05K\x01." + b"\0" * 32,), 100, share=4),
    "gomoku games": Target(
        file_of("games"),
        (b'{"size": 15, "variant": "freestyle", "opening": 5, "moves": "h8 i9", "result": 1}\n', b"[" * 300 + b"\n"),
        share=8,
    ),
}
"""In the order in which they run."""


def seeds_of(name: str) -> tuple[bytes, ...]:
    """Bytes to begin from."""
    from tests.fuzz import weights

    made = {
        "networks": lambda: weights.tiny_network(folder()),
        "checkpoints": lambda: weights.tiny_checkpoint(folder()),
        "lab files": weights.tiny_lab,
        "TDL2048 files": weights.tiny_tdl2048,
    }
    return (*TARGETS[name].seeds, *([made[name]()] if name in made else []))
