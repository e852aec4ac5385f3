"""Programs by UGI, by the arena's protocol and by the course's C interface."""

import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from plyd.engines.connect4.engine import Connect4
from plyd.engines.connect4.rules import RULES as CONNECT4
from plyd.engines.core.errors import BadPosition, NotSupported, ProgramFailed
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, StopReason, Unknown, WinProbability
from plyd.engines.programs.engine import protocols_of, usual_protocol
from plyd.engines.tiles_2584.engine import CARD as CARD_2584
from plyd.engines.tiles_2584.rules import GAME as GAME_2584
from tests.engines.programs.conftest import HERE, PYTHON
from tests.patience import SOON
from tests.servers.fakes import FakeEngine

WELL = Limits(max_seconds=SOON)


def search(engine, start, *moves, variant="", limits=WELL, stop=None, searcher=None):
    """The last report of a search after moves from a start."""
    variant = variant or next(iter(engine.variants))
    rules = engine.variants[variant]
    searcher = searcher or engine.searcher(variant, {})
    position = rules.parse(start)
    for move in moves:
        position = rules.play(position, move).position
    searcher.follow(start, moves)
    *_, last = searcher.search(position, limits, stop or Stop())
    return last


# --- UGI --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def sticks(program_engine):
    """Makes an engine of sticks whose moves come from ugi_sticks.py."""
    words = (*PYTHON, HERE / "ugi_sticks.py")
    return lambda how="well", **limits: program_engine(FakeEngine(), "ugi", *words, how, **limits)


def test_a_ugi_program_hears_the_game_from_its_start(sticks):
    engine = sticks("crash", options=(("Hash", "16"),))
    with pytest.raises(ProgramFailed) as failure:
        search(engine, "7 one", "2", limits=Limits(max_nodes=5))
    told = "setoption name Hash value 16 | uginewgame | position startpos moves 2 | go nodes 5"
    assert f'its stderr ends with "{told}"' in str(failure.value)
    with pytest.raises(ProgramFailed, match=r"uginewgame \| position fen 9 two \| go movetime [0-9]+"):
        search(engine, "9 two")
    with pytest.raises(ProgramFailed, match=r"go infinite"):
        search(engine, "9 two", limits=Limits())
    with pytest.raises(ProgramFailed, match=r"go depth 3"):
        search(engine, "9 two", limits=Limits(max_depth=3))


def test_a_game_that_goes_on_is_not_a_new_one(sticks):
    engine = sticks("tired")
    searcher = engine.searcher("normal", {})
    assert search(engine, "7 one", searcher=searcher).move == "1"
    with pytest.raises(ProgramFailed) as failure:
        search(engine, "7 one", "1", "2", searcher=searcher)
    told = r"uginewgame | position startpos | go movetime ... | position startpos moves 1 2 | go movetime ..."
    assert re.sub(r"movetime \d+", "movetime ...", str(failure.value)).endswith(f'"{told}"')


@pytest.mark.parametrize(
    ("how", "move", "value", "line"),
    [
        ("leads", "2", WinProbability(10 / 11), ("2", "2")),
        ("boasts", "1", WinProbability(1.0), ("1", "2")),
        ("rambles", "1", Unknown(), ("1",)),
        ("well", "1", Unknown(), ("1",)),
    ],
)
def test_what_a_ugi_program_says_of_its_move_is_reported_but_proves_nothing(sticks, how, move, value, line):
    last = search(sticks(how), "7 one")
    assert (last.move, last.lines[0].moves, last.score.exact) == (move, line, False)
    if isinstance(value, WinProbability):
        value = pytest.approx(value.probability)
        assert last.score.value.probability == value
    else:
        assert last.score.value == value


def test_a_depth_beyond_all_bounds_is_cut(sticks):
    last = search(sticks("dreams"), "7 one")
    assert (last.depth, last.lines[0].depth, last.nodes) == (2**31 - 1, 2**31 - 1, 10**15)


@pytest.mark.parametrize(
    ("how", "message"),
    [("illegal", 'tester plays 9: illegal move "9" at "7 one"'), ("none", "has no move, but the game is not over")],
)
def test_a_ugi_program_without_a_legal_move_fails(sticks, how, message):
    with pytest.raises(ProgramFailed, match=message):
        search(sticks(how), "7 one")


def test_a_ugi_search_ends_when_it_is_stopped_or_its_time_is_over(sticks):
    engine, stop = sticks("waits"), Stop()
    stop.set()
    last = search(engine, "7 one", limits=Limits(), stop=stop)
    assert (last.move, last.stop_reason) == ("1", StopReason.STOPPED)
    last = search(engine, "7 one", limits=Limits(max_seconds=0.01))
    assert (last.move, last.stop_reason) == ("1", StopReason.TIME)


def test_only_a_program_with_the_option_plays_other_variants(sticks):
    with pytest.raises(NotSupported, match="tester has no option variant, so it does not play greedy"):
        search(sticks(), "7 one", variant="greedy")
    assert search(sticks("varied"), "7 one", variant="greedy").move == "1"


def test_the_protocol_of_a_program_is_its_games_own():
    assert [protocols_of(game) for game in ("gomoku", "2048")] == [("gomocup", "ugi"), ("ugi",)]
    assert [usual_protocol("connect4", (name,)) for name in ("a.so", "engine")] == ["course", "ugi"]
    assert usual_protocol("2584", ("x",)) == "arena2584"


# --- The arena --------------------------------------------------------------------------------------------------------

EMPTY = GAME_2584.variants["hard"].text(GAME_2584.variants["hard"].start())


@pytest.fixture
def arena(program_engine, tmp_path):
    """Makes an engine of 2584 whose moves are these opcodes; and the file of what the player hears."""
    game, log = SimpleNamespace(card=CARD_2584, variants=GAME_2584.variants), tmp_path / "log"
    words = (*PYTHON, HERE / "arena_player.py", log)
    return lambda *opcodes: (program_engine(game, "arena2584", *words, *opcodes), log)


def test_an_arena_player_follows_a_match(arena):
    engine, log = arena("2", "1", "3")
    searcher = engine.searcher("hard", {})
    moves = ["1@5", "3@10"]
    assert search(engine, EMPTY, *moves, variant="hard", searcher=searcher).move == "down"
    moves += ["down", "1@0"]
    assert search(engine, EMPTY, *moves, variant="hard", searcher=searcher).move == "right"
    assert search(engine, EMPTY, *moves[:2], variant="hard", searcher=searcher).move == "left"  # taken back
    assert log.read_text().splitlines() == [
        "match 1 open tester:plyd-chance",
        "match 1 evil move 15",
        "match 1 evil move 3a",
        "match 1 play take turn",
        "match 1 play move 2",
        "match 1 evil move 10",
        "match 1 play take turn",
        "match 1 close tester",
        "match 2 open tester:plyd-chance",
        "match 2 evil move 15",
        "match 2 evil move 3a",
        "match 2 play take turn",
    ]


@pytest.mark.parametrize(
    ("opcode", "message"),
    [
        ("4", 'plays the opcode "4"; slides are 0 to 3'),
        ("0", 'plays up: illegal move "up"'),
        ("ffffffff", "has no move, but the game is not over"),
        ("up", 'answers "match 1 play move up"; expected "match 1 play move OPCODE"'),
    ],
)
def test_an_arena_player_that_plays_no_slide_fails(arena, opcode, message):
    engine, _ = arena(opcode)
    with pytest.raises(ProgramFailed, match=message):
        search(engine, EMPTY, "1@0", "1@1", variant="hard")


def test_an_arena_player_starts_from_the_empty_board_and_drops_nothing(arena):
    engine, _ = arena()
    with pytest.raises(BadPosition, match='follows a game from the empty board, by its moves; the game starts at "b 1'):
        search(engine, "b 1" + " 0" * 15, variant="hard")
    report = search(engine, EMPTY, "1@0", variant="hard")
    assert (report.move, report.score.point_of_view) == (None, Side.PLAYER_ONE)


# --- The course -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler, cc")
    path = tmp_path_factory.mktemp("course") / "strategy.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, HERE / "strategy.c"], check=True)
    return path


@pytest.fixture
def course(program_engine, library):
    return program_engine(Connect4(), "course", library)


def test_a_library_plays_a_whole_game_in_one_process(course):
    start, moves = "7x9 #1,2", []
    searcher = course.searcher("classic", {})
    while CONNECT4.to_move(position_after(start, moves)) is not None:
        moves.append(search(course, start, *moves, searcher=searcher).move)
    assert len(moves) > 10
    assert moves[:9] == ["1"] * 8 + ["2"]  # eight stones fit into a column of nine with a forbidden cell


def position_after(start, moves):
    position = CONNECT4.parse(start)
    for move in moves:
        position = CONNECT4.play(position, move).position
    return position


def test_a_library_hears_of_another_game_in_another_process(course):
    searcher = course.searcher("classic", {})
    for moves in ((), ("1", "2"), (), ("1", "2")):  # the third move of one process would end it
        assert search(course, "7x8", *moves, searcher=searcher).move == "1"


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("7x4", r"tester was ended by SIGABRT; .*its stderr ends with \"move 1, last -1 -1, forbidden -1 -1\""),
        ("7x5", r"tester plays row 0, column 0; a stone comes to rest at 4,0 4,1"),
        ("7x6", r'tester answers "NULL"; expected a row and a column'),
    ],
)
def test_a_library_that_crashes_or_plays_no_move_fails(course, start, message):
    with pytest.raises(ProgramFailed, match=message):
        search(course, start)


def test_a_file_that_is_no_player_is_noticed_at_the_start(program_engine, tmp_path):
    (tmp_path / "no.so").write_text("nothing")
    course = program_engine(Connect4(), "course", tmp_path / "no.so")
    with pytest.raises(ProgramFailed, match=r"ended with status 1; it said nothing; .*cannot use .*no.so as a player"):
        course.warm_up()
