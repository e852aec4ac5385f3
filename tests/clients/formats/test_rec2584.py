"""Record files: what is written is read, what no game can have written is refused, and what a judge says of it."""

import contextlib
import struct
from collections import Counter
from random import Random

import pytest

from plyd.clients.formats.rec2584 import BadRecord, RecordWriter, read_records
from plyd.clients.formats.rec2584_judge import Judge, chi_square_statistic, critical_value
from plyd.clients.formats.tile_replay import FACES, SLIDES, FinishedGame, IllegalAction, Replay
from plyd.clients.play.statistics import Blocks, busy_milliseconds, statistics
from plyd.engines.tiles_2048.rules import CLASSIC
from plyd.engines.tiles_2584.rules import HARD

OPENING = [0x10, 0x11]  # 1 1 . . in the first row


def random_game(seed, game="2584", odds=((1, 3), (0.75, 0.25)), favoured=None):
    """The opcodes of a game that chance plays to its end."""
    random, replay = Random(seed), Replay(game)
    while not replay.is_over():
        if replay.drops_next:
            cell = favoured if favoured in replay.empty() else random.choice(replay.empty())
            replay.play(random.choices(*odds)[0] << 4 | cell)
        else:
            replay.play(random.choice(replay.slides()))
    return replay


def packed(*records, count=None):
    """A file's bytes."""
    data = struct.pack("<Q", len(records) if count is None else count)
    for actions in records:
        data += struct.pack(f"<Q{len(actions)}hQQ", len(actions), *actions, 1000, 2000)
    return data


@pytest.fixture
def written(tmp_path):
    """Write bytes to a file."""

    def write(data):
        path = tmp_path / "games.rec"
        path.write_bytes(data)
        return path

    return write


# The board


@pytest.mark.parametrize(("game", "rules"), [("2584", HARD), ("2048", CLASSIC)])
def test_slides_are_those_of_the_rulebook(game, rules):
    for seed in range(4):
        odds = (list(rules.spawns), list(rules.spawns.values()))
        finished, replay, position, points = random_game(seed, game, odds), Replay(game), rules.start(), 0
        for action in finished.actions:
            legal = {SLIDES.index(move.text) for move in rules.legal_moves(position)} if position.before else set()
            assert legal == (set() if replay.drops_next else set(replay.slides()))
            move = f"{action >> 4}@{action & 15}" if replay.drops_next else SLIDES[action]
            position, gained = (step := rules.play(position, move)).position, step.points
            points += gained
            replay.play(action)
            assert (replay.text, replay.points) == (rules.text(position), points)
        assert replay.is_over()
        assert not rules.legal_moves(position)


def test_faces_are_those_of_the_rulebook():
    assert list(FACES["2584"]) == [HARD.tile(i) for i in range(HARD.max_index + 1)]
    assert list(FACES["2048"]) == [CLASSIC.tile(i) for i in range(CLASSIC.max_index + 1)]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([3], "opcode 3; expected a drop"),
        ([0x10, 0x10], "a drop on cell 0, which is not empty"),
        ([0x10, 0x40], "opcode 64; expected a drop"),
        ([*OPENING, 0], "a slide up, which changes nothing"),
        ([*OPENING, 4], "opcode 4; expected a slide 0 to 3"),
        ([*OPENING, -1], "opcode -1; expected a slide 0 to 3"),
        ([*OPENING, 0x12], "opcode 18; expected a slide 0 to 3"),
        ([*OPENING, 3, 3], "opcode 3; expected a drop"),
    ],
)
def test_illegal_actions(actions, message):
    replay = Replay()
    for action in actions[:-1]:
        replay.play(action)
    before = replay.text
    with pytest.raises(IllegalAction, match=message):
        replay.play(actions[-1])
    assert (replay.text, replay.actions) == (before, actions[:-1])


# The file


def test_bytes_are_those_of_the_course(tmp_path):
    path = tmp_path / "games.rec"
    with RecordWriter(path) as writer:
        writer.add(FinishedGame(2, 1, 2, start_ms=0x0102, end_ms=0x0304, actions=[0x10, 0x3F, 3]))
    assert path.read_bytes().hex(" ") == (
        "01 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 10 00 3f 00 03 00 "
        "02 01 00 00 00 00 00 00 04 03 00 00 00 00 00 00"
    )


def test_what_is_written_is_read(tmp_path):
    path, games = tmp_path / "games.rec", [random_game(seed).finished(seed + 1, seed + 2) for seed in range(5)]
    with RecordWriter(path) as writer:
        for game in games:
            writer.add(game)
    judge = Judge()
    read = [judge.replay(*record) for record in read_records(path)]
    assert read == games
    assert not judge.unfinished


def test_interrupted_writer_leaves_whole_records(tmp_path):
    path = tmp_path / "games.rec"
    with contextlib.suppress(KeyboardInterrupt), RecordWriter(path) as writer:
        writer.add(FinishedGame(0, 0, 1, 1, 2, OPENING))
        writer._file.write(b"half a rec")
        raise KeyboardInterrupt
    [(actions, start_ms, end_ms)] = read_records(path)
    assert (list(actions), start_ms, end_ms) == (OPENING, 1, 2)


def test_empty_file_of_no_records(written):
    assert list(read_records(written(packed()))) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes; a record file has at least 8"),
        (b"1234567", "7 bytes; a record file has at least 8"),
        (packed(count=1), "says 1 records, but 0 bytes hold at most 0"),
        (packed(OPENING, count=1 << 60), "says 1152921504606846976 records, but 28 bytes hold at most 1"),
        (packed(OPENING * 6, count=2), "record 2 of 2: the file is cut off"),
        (packed(OPENING, OPENING)[:-1], "record 2 of 2: says 2 actions, but only 19 bytes follow"),
        (packed() + struct.pack("<Q", 1 << 62) + bytes(16), "24 bytes after the last of 0 records"),
        (struct.pack("<QQ", 1, 1 << 62) + bytes(16), "record 1 of 1: says 4611686018427387904 actions, but only 16 b"),
        (packed(OPENING) + b"x", "1 bytes after the last of 1 records"),
    ],
)
def test_files_that_are_broken(written, data, message):
    with pytest.raises(BadRecord, match=message):
        list(read_records(written(data)))


# The judge


def test_judge_names_record_and_action():
    judge = Judge()
    judge.replay(random_game(1).actions)
    with pytest.raises(BadRecord, match=r"^record 2, action 3: a slide up, which changes nothing$"):
        judge.replay([*OPENING, 0])


def test_judge_refuses_tiles_of_two_variants():
    judge = Judge()
    judge.replay([0x10, 0x21, 3, 0x1F])
    with pytest.raises(BadRecord, match="record 2, action 2: drops a 3-tile, but 2-tiles were dropped before"):
        judge.replay([0x10, 0x31])


@pytest.mark.parametrize("actions", [[], OPENING[:1], OPENING, [*OPENING, 3], random_game(2).actions[:-1]])
def test_games_that_could_go_on(actions):
    judge = Judge()
    judge.replay(random_game(3).actions)
    judge.replay(actions)
    assert judge.summary().endswith("ends    1 of 2 games could go on, the first is record 2")


def test_summary_of_a_fair_file():
    judge = Judge()
    for seed in range(40):
        judge.replay(random_game(seed).actions)
    moves, tiles, cells, ends = judge.summary().splitlines()
    assert moves.startswith("moves   all legal; 40 games, ")
    share, far, near = (float(tiles.split()[i].rstrip("%")) for i in (1, 5, 9))
    assert abs(share - 75) < 3
    assert near == pytest.approx(abs(share - 75), abs=0.02)
    assert far == pytest.approx(abs(share - 90), abs=0.02)
    assert float(cells.split()[2]) < 45
    assert "at 15 degrees of freedom" in cells
    assert ends == "ends    all terminal"


def test_summary_of_no_games():
    assert Judge().summary() == "moves   all legal; 0 games, 0 drops\nends    all terminal"


def test_favoured_cell_shows():
    judge = Judge()
    for seed in range(10):
        judge.replay(random_game(seed, favoured=5).actions)
    assert float(judge.summary().splitlines()[2].split()[2]) > 1000


def test_chi_square_of_a_fair_choice_has_its_mean_at_its_degrees_of_freedom():
    random, figures = Random(7), []
    for _ in range(60):
        hits, choices = [0] * 16, Counter()
        for _ in range(300):
            empty = random.sample(range(16), random.randint(1, 6))
            choices[tuple(cell in empty for cell in range(16))] += 1
            hits[random.choice(empty)] += 1
        figure, degrees = chi_square_statistic(hits, choices)
        assert degrees == 15
        figures.append(figure)
    assert sum(figures) / len(figures) == pytest.approx(15, abs=3)  # more than four times its standard error
    assert max(figures) < 1.5 * critical_value(15)


def test_cells_that_never_were_empty_have_no_degree_of_freedom():
    choice = tuple(cell in (3, 8) for cell in range(16))
    assert chi_square_statistic([0, 0, 0, 60, 0, 0, 0, 0, 40, *[0] * 7], Counter({choice: 100})) == (
        pytest.approx(4),
        1,
    )
    assert critical_value(15) == pytest.approx(37.7, abs=0.3)


# Statistics


def test_statistics_of_a_block():
    block = [
        FinishedGame(1000, 100, 16, 1000, 1500),
        FinishedGame(2001, 200, 17),
        FinishedGame(3000, 300, 19, 1200, 2000),
    ]
    assert statistics("2584", block, 2003) == (
        "2003    avg = 2000, max = 3000, 600 moves/s\n"
        "        1597    100%    (33.33%)\n"
        "        2584    66.67%  (33.33%)\n"
        "        4181    33.33%  (0%)\n"
        "        6765    33.33%  (33.33%)\n"
    )


def test_statistics_always_tell_of_the_tile_that_names_the_game():
    text = statistics("2048", [FinishedGame(50_000, 2000, 12)] * 4, 4)
    assert text == "4       avg = 50000, max = 50000\n        2048    100%    (0%)\n        4096    100%    (100%)\n"


def test_time_is_counted_once_where_games_overlap():
    times = [(1000, 2000), (1500, 1600), (1900, 2500), (5000, 5100), (0, 0), (9, 8)]
    assert busy_milliseconds([FinishedGame(0, 0, 1, *pair) for pair in times]) == 1600


def test_blocks_fill_and_the_rest_is_told():
    blocks = Blocks("2584", 2)
    texts = [blocks.add(FinishedGame(points, 1, 3)) for points in (10, 20, 30, 40, 50)]
    assert [text.split("\n")[0] for text in (*texts, blocks.rest(), blocks.rest())] == [
        "",
        "2       avg = 15, max = 20",
        "",
        "4       avg = 35, max = 40",
        "",
        "5       avg = 50, max = 50",
        "",
    ]
