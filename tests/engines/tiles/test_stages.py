"""Networks by stage: the stage of a board, weights that begin as copies, games from the pool, runs that resume."""

import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.core.errors import BadModel
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE
from plyd.engines.tiles.ntuple.network import Steps, scratch_for, shape_of
from plyd.engines.tiles.ntuple.player import load_player
from plyd.engines.tiles.ntuple.stages import stages_of
from plyd.engines.tiles.play.many_games import GameSettings, results
from plyd.engines.tiles.train import trainer as trainer_module
from plyd.engines.tiles.train.trainer import TilePlan, TileTrainer
from plyd.engines.tiles_2048.engine import Game2048
from plyd.engines.tiles_2048.rules import DOWNGRADE_FROM
from plyd.models import shipped
from plyd.models.errors import BadWeights
from plyd.models.files import CHECKPOINT, MANIFEST, read_file, write_file
from plyd.models.ntuple.checkpoint import read_checkpoint, write_checkpoint
from plyd.models.ntuple.packing import pack, unpack, unpacked
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles.slow_tiles import GAMES, cells_of, played_boards, random_boards, words_of
from tests.engines.tiles.small_players import NETWORK, desk_of, method_of, random_player
from tests.engines.tiles.test_downgrade import by_hand as halved_by_hand
from tests.engines.tiles.test_learn import learn_path
from tests.engines.tiles.test_network import look
from tests.engines.tiles.test_training import PLAN, lines_of, train_in

GAME = GAMES["2048"]
EARLY = ((6,), (6, 5), (7,))  # stages from 64, from 64 and 32, from 128: reached in any game
LATE = ((14,), (14, 13))


def staged_shape(game, stages, network=NETWORK, base=16):
    rules = game.rules
    return shape_of(patterns_of(network), game.bits, base, stages_of(stages, rules.tile, rules.max_index))


def values_and_stages(game, boards, weights, shape):
    """The value of each board, and the stage whose weights it has."""
    values, features = np.zeros(len(boards), np.float32), 8 * len(shape.lifts)
    places, slots = np.zeros((len(boards), features), np.uint32), np.zeros(4, np.float32)
    look(words_of(game, boards), game.empty, weights, shape, scratch_for(shape), values, places, slots)
    stages = places // int(shape.offsets[-1])
    assert (stages == stages[:, :1]).all(), "all weights of a board are of one stage"
    return values, stages[:, 0].tolist()


# --- The stage of a board ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tiles", "stage"),
    [
        ((), 0),
        ((8192, 4096, 2048), 0),
        ((8192, 8192), 0),  # their sum is that of a 16384, but there is none
        ((16384,), 1),
        ((16384, 4096, 4096), 1),
        ((16384, 8192), 2),
        ((8192, 8192, 8192), 2),
        ((16384, 16384), 2),
        ((32768,), 2),
    ],
)
def test_a_stage_begins_with_its_tiles_or_what_they_merge_to(tiles, stage):
    shape = staged_shape(GAME, LATE)
    for shift in range(16 - len(tiles)):
        cells = [0] * shift + [tile.bit_length() - 1 for tile in tiles] + [1] * (16 - shift - len(tiles))
        _, (found,) = values_and_stages(GAME, [cells], np.zeros(shape.weights, np.float32), shape)
        assert found == stage, cells


def slow_stage(game, cells, stages):
    """The last stage of which the tiles, from the smallest of its own on, have the sum."""
    tile = game.rules.tile
    return max(
        (
            number
            for number, indices in enumerate(stages, 1)
            if sum(tile(i) for i in cells if i >= min(indices)) >= sum(map(tile, indices))
        ),
        default=0,
    )


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("2048", EARLY),
        ("2048", ((1,), (15,))),
        ("2048", ((3, 2), (14,), (15, 14))),
        ("2584", ((12,), (17, 16), (31,))),
        ("2584", ((1,), (20,))),
    ],
)
def test_the_stage_is_that_of_the_definition(name, stages):
    game = GAMES[name]
    shape = staged_shape(game, stages, base=16 if name == "2048" else 5)
    boards = played_boards(game, 100, seed=1) + random_boards(game, 300, seed=2)
    _, found = values_and_stages(game, boards, np.zeros(shape.weights, np.float32), shape)
    assert found == [slow_stage(game, cells, stages) for cells in boards]
    assert len(set(found)) >= 2


def test_a_game_never_returns_to_an_earlier_stage():
    stages = ((3,), (3, 2), (4,), (4, 3), (5,), (5, 4, 3), (6,))
    shape = staged_shape(GAME, stages)
    boards = played_boards(GAME, 1500, seed=5)
    _, found = values_and_stages(GAME, boards, np.zeros(shape.weights, np.float32), shape)
    games = [at for at, cells in enumerate(boards) if sum(map(bool, cells)) == 2 and sum(cells) <= 4] + [len(boards)]
    assert len(games) > 5
    assert all(found[begin:end] == sorted(found[begin:end]) for begin, end in pairwise(games))
    assert set(found) == set(range(8))


# --- Equal stages -----------------------------------------------------------------------------------------------------


def test_a_network_whose_stages_are_equal_values_boards_as_the_plain_one():
    plain, staged = staged_shape(GAME, ()), staged_shape(GAME, EARLY)
    weights = np.random.default_rng(1).normal(0, 100, plain.weights).astype(np.float32)
    boards = played_boards(GAME, 100, seed=1) + random_boards(GAME, 300, seed=2)
    expected, _ = values_and_stages(GAME, boards, weights, plain)
    found, _ = values_and_stages(GAME, boards, np.tile(weights, 4), staged)
    assert found.tolist() == expected.tolist()
    promoted = np.concatenate([weights, np.full(3 * weights.size, np.nan, np.float32)])
    found, _ = values_and_stages(GAME, boards, promoted, staged)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("depth", [1, 3])
def test_a_player_whose_stages_are_equal_plays_the_games_of_the_plain_one(depth):
    plain = random_player("2048", "classic")
    counts, step = plain.model.weights
    model = plain.model._replace(weights=Steps(np.tile(counts, 4), step), shape=staged_shape(GAME, EARLY))
    games = []
    for player in (plain, replace(plain, model=model)):
        settings = GameSettings(player, depth, None, False, False, 7, True)
        games.append(sorted(game["actions"] for game in results(settings, 4 if depth == 1 else 1, 1)))
    assert games[0] == games[1]


def test_a_stage_that_no_game_reaches_changes_nothing(tmp_path):
    plain, staged = train_in(tmp_path / "plain", 60), train_in(tmp_path / "staged", 60, stages=LATE, pool=3)
    size = plain.weights.size
    assert staged.weights[:size].tobytes() == plain.weights.tobytes()
    assert np.isnan(staged.weights[size:]).all()
    assert staged.progress.moves == plain.progress.moves
    assert not staged.entries.any()


# --- Stages of downgraded boards --------------------------------------------------------------------------------------


def downgraded_shape(stages):
    rules = GAME.rules
    return shape_of(patterns_of(NETWORK), 4, 16, stages_of(stages, rules.tile, rules.max_index, are_downgraded=True))


def test_a_later_stage_may_look_at_boards_downgraded():
    plain, staged = staged_shape(GAME, ()), downgraded_shape(LATE)
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 100, staged.weights).astype(np.float32)
    boards = random_boards(GAME, 300, seed=2)
    found, stages = values_and_stages(GAME, boards, weights, staged)
    assert set(stages) == {0, 1, 2}
    size, differs = plain.weights, 0
    for cells, worth, stage in zip(boards, found.tolist(), stages, strict=True):
        assert stage == slow_stage(GAME, cells, LATE), "by the tiles that it has"
        looked_at = halved_by_hand(cells) if stage else cells
        (expected,), _ = values_and_stages(GAME, [looked_at], weights[stage * size : (stage + 1) * size], plain)
        assert worth == expected
        differs += looked_at != cells
    assert differs > 100


def test_such_a_stage_begins_with_what_is_known_of_smaller_tiles():
    plain, staged = staged_shape(GAME, ()), downgraded_shape(LATE[1:])
    weights = np.full(staged.weights, np.nan, np.float32)
    weights[: plain.weights] = np.random.default_rng(1).normal(0, 100, plain.weights)
    first = weights[: plain.weights].copy()
    boards = [cells for cells in random_boards(GAME, 300, seed=2) if slow_stage(GAME, cells, LATE[1:])]
    found, _ = values_and_stages(GAME, boards, weights, staged)
    expected, _ = values_and_stages(GAME, [halved_by_hand(cells) for cells in boards], first, plain)
    assert found.tolist() == expected.tolist()


def test_a_player_with_such_stages_does_not_downgrade_again(run_of_downgraded):
    player = load_player(GAME, "classic", run_of_downgraded)
    assert player.downgrade_from == NEVER_DOWNGRADE
    assert random_player("2048", "classic").downgrade_from == DOWNGRADE_FROM
    network = unpack(run_of_downgraded)
    assert network.are_downgraded
    assert unpacked(network).are_downgraded


@pytest.fixture
def run_of_downgraded(tmp_path):
    """A packed network with a stage of downgraded boards."""
    train_in(tmp_path / "run", 30, stages=((7,),), pool=1, downgrade=True)
    with pytest.raises(BadWeights, match="has stages that are downgraded; choose another folder"):
        train_in(tmp_path / "run", 30, stages=((7,),), pool=1)
    pack(tmp_path / "down.plyd", read_checkpoint(tmp_path / "run"), 0.25, 1.0, {})
    return tmp_path / "down.plyd"


def test_boards_of_2584_are_not_downgraded(tmp_path):
    plan = TilePlan("2584", "classic", "01", 12, stages=((8,),))
    TileTrainer(GAMES["2584"], plan, 1).save(tmp_path / CHECKPOINT)
    checkpoint = read_checkpoint(tmp_path)
    checkpoint.are_downgraded = True
    pack(tmp_path / "down.plyd", checkpoint, 0.25, 1.0, {})
    with pytest.raises(BadModel, match="which 2584 does not have"):
        load_player(GAMES["2584"], "classic", tmp_path / "down.plyd")


@pytest.mark.parametrize("words", [["2584", "--stage", "2584"], ["2048"]], ids=str)
def test_downgrading_is_for_stages_of_2048(tmp_path, words):
    result = invoke("train", *words, "--downgrade", "--network", "01", "--games", 1, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "--downgrade is for 2048, with --stage" in result.stderr


# --- Promotion, by hand -----------------------------------------------------------------------------------------------

# One pattern, a corner and its neighbour; a 6 (tile 64) begins stage 1, and a 7 stage 2. Under this board are eight
# different pairs. With a 7 on a cell in the middle, which no pair has, it belongs to stage 2.
#  6  1  2  5
#  3  .  .  4
#  .  .  .  .
#  1  2  3  4
BOARD = (6, 1, 2, 5, 3, 0, 0, 4, 0, 0, 0, 0, 1, 2, 3, 4)
PAIRS = [(6, 1), (5, 2), (6, 3), (5, 4), (1, 2), (4, 3), (1, 0), (4, 0)]


def place_of(pair, stage):
    return stage * 256 + pair[0] + 16 * pair[1]


def test_the_first_use_of_a_weight_copies_it_from_the_stage_before():
    shape = staged_shape(GAME, ((6,), (7,)), "01")
    weights = np.full(3 * 256, np.nan, np.float32)
    weights[:256] = np.arange(256)
    first = [float(weights[place_of(pair, 0)]) for pair in PAIRS]

    # Step 1. In stage 1: eight copies, and nothing else.
    (worth,), (stage,) = values_and_stages(GAME, [BOARD], weights, shape)
    assert (worth, stage) == (sum(first), 1)
    used = {place for place in range(256, 768) if not np.isnan(weights[place])}
    assert used == {place_of(pair, 1) for pair in PAIRS}
    assert [float(weights[place_of(pair, 1)]) for pair in PAIRS] == first

    # Step 2. What stage 1 has learned meanwhile is what stage 2 begins with; what it never used comes from stage 0.
    for pair in PAIRS[:4]:
        weights[place_of(pair, 1)] += 1000
    other = (*BOARD[:5], 7, *BOARD[6:12], 9, *BOARD[13:])  # 9 in the corner: pairs 9 2 and 9 0 are new
    (worth,), (stage,) = values_and_stages(GAME, [other], weights, shape)
    pairs = [*PAIRS[:4], (9, 2), (4, 3), (9, 0), (4, 0)]
    fresh = [place_of(pair, 0) for pair in pairs]
    assert (worth, stage) == (sum(fresh) + 4000, 2)
    promoted = [float(weights[place_of(pair, 2)]) for pair in pairs]
    assert promoted == [at + 1000 for at in fresh[:4]] + fresh[4:]
    assert np.isnan(weights[place_of((9, 2), 1)]), "the stage between is left alone"


@pytest.mark.parametrize("coherent", [False, True])
def test_a_later_stage_learns_at_its_own_rate_and_leaves_the_first_alone(coherent):
    # All weights are 10, so the board is worth 80. The target is 160: with the rate 0.5 of later stages, each of its
    # eight weights moves by 0.5 (160 - 80) / 8 = 5. The rate 0.25 of the first stage would move them by 2.5.
    shape = staged_shape(GAME, ((6,), (7,)), "01")
    weights, sums = np.full(768, np.nan, np.float32), np.zeros(1536, np.float32)
    weights[:256] = 10
    desk = desk_of(words_of(GAME, [BOARD]), np.zeros(1, np.float32), 1, shape)
    method = method_of(0.25, 0.0, coherent=coherent, stage_rate=0.5)
    rows, spawns = GAME.rows(), GAME.spawns("classic")
    learn_path(GAME.empty, 0, 1, np.float32(160), rows, spawns, weights, sums, shape, method, desk)
    assert set(weights[:256].tolist()) == {10.0}
    assert {at: float(weights[at]) for at in range(256, 768) if not np.isnan(weights[at])} == {
        place_of(pair, 1): 15.0 for pair in PAIRS
    }
    touched = np.flatnonzero(sums.reshape(-1, 2)[:, 1])
    assert set(touched.tolist()) == ({place_of(pair, 1) for pair in PAIRS} if coherent else set())

    early = tuple(5 if index == 6 else index for index in BOARD)
    desk.path[:] = words_of(GAME, [early])
    learn_path(GAME.empty, 0, 1, np.float32(160), rows, spawns, weights, sums, shape, method, desk)
    assert weights[place_of((5, 1), 0)] == 12.5


# --- The pool ---------------------------------------------------------------------------------------------------------


def pool_boards(trainer, stage):
    """The cells of the boards in the pool of a later stage, of a run with one thread."""
    count = int(min(trainer.entries[0, stage - 1], trainer.pool.shape[2]))
    return [cells_of(trainer.game, words) for words in trainer.pool[0, stage - 1, :count]]


def test_the_pool_has_the_boards_with_which_games_entered_a_stage(tmp_path):
    trainer = train_in(tmp_path, 60, stages=EARLY, pool=2)
    for stage in (1, 2, 3):
        boards = pool_boards(trainer, stage)
        assert len(boards) >= 50, "nearly every game makes a 128"
        assert all(slow_stage(GAME, cells, EARLY) >= stage for cells in boards)
        assert all(0 in cells for cells in boards)
    largest = {max(cells) for cells in pool_boards(trainer, 1)}
    assert 6 in largest
    assert largest <= {5, 6}, "a first 64, or three 32s"
    assert [games for games, _ in trainer.progress.late] == pytest.approx([120, 120, 120], abs=8)


def test_games_from_the_pool_count_as_moves_but_not_as_games(tmp_path):
    plain, pooled = (train_in(tmp_path / str(pool), 50, stages=((6,),), rate=0.0, pool=pool) for pool in (0, 3))
    assert plain.progress.games == pooled.progress.games == 50
    assert plain.progress.late == [[0, 0]]
    (games, points), moves = pooled.progress.late[0], pooled.progress.moves
    assert moves > 1.5 * plain.progress.moves
    assert 130 <= games <= 150
    assert points > 0


def test_a_full_pool_forgets_its_oldest_boards(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer_module, "POOL_BOARDS", 8)
    trainer = train_in(tmp_path, 60, stages=((6,),))
    assert trainer.entries[0, 0] > 50
    assert len(set(pool_boards(trainer, 1))) == 8


# --- Runs -------------------------------------------------------------------------------------------------------------

STAGED = {"stages": EARLY, "pool": 2, "rate": 0.5, "stage_rate": 0.1}


def same_state(one, other):
    names = ("weights", "sums", "seeds", "pool", "entries")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(trainer_module, "BLOCK", 50)


@pytest.mark.parametrize("method", ["tc", "td"])
def test_a_staged_run_in_parts_learns_what_a_run_in_one_does(tmp_path, small_blocks, method):
    whole = train_in(tmp_path / "whole", 100, method=method, **STAGED)
    for games in (10, 60, 100):
        part = train_in(tmp_path / "parts", games, method=method, **STAGED)
    assert same_state(part, whole)
    assert part.progress.moves == whole.progress.moves
    one, other = ([line["late"] for line in lines_of(tmp_path / name)] for name in ("whole", "parts"))
    assert one == other
    assert [list(line) for line in one] == [["64", "64+32", "128"]] * 2


def test_a_run_of_many_short_rounds_is_the_same(tmp_path, monkeypatch, small_blocks):
    whole = train_in(tmp_path / "whole", 60, **STAGED)
    monkeypatch.setattr(trainer_module, "ROUND_SECONDS", 0.0)
    short = TileTrainer(GAME, replace(PLAN, **STAGED), 1)
    lines = list(short.train(threading.Event(), 60))
    assert [line and line["games"] for line in lines] == [None] * 4 + [50, None], "a round plays ten games at least"
    assert same_state(short, whole)


def test_a_staged_run_that_was_killed_goes_on_from_its_checkpoint(tmp_path, small_blocks):
    whole = train_in(tmp_path / "whole", 60, **STAGED)
    train_in(tmp_path / "killed", 20, **STAGED)
    train_in(tmp_path / "killed", 60, is_killed=True, **STAGED)
    assert same_state(train_in(tmp_path / "killed", 60, **STAGED), whole)


def test_two_threads_have_a_pool_each_and_their_number_may_change(tmp_path):
    for games, threads in ((40, 2), (60, 1), (80, 3)):
        trainer = train_in(tmp_path, games, threads=threads, **STAGED)
    assert trainer.entries.shape == (3, 3)
    assert trainer.entries[0].min() >= 10, "twenty games at least, of which nearly all make a 128"


def test_stages_may_be_added_to_a_run(tmp_path):
    plain = train_in(tmp_path, 40)
    one = train_in(tmp_path, 40, stages=EARLY[:1])
    assert one.weights[: plain.weights.size].tobytes() == plain.weights.tobytes()
    assert np.isnan(one.weights[plain.weights.size :]).all()
    before = train_in(tmp_path, 60, stages=EARLY[:1])
    after = train_in(tmp_path, 60, stages=EARLY)
    assert after.weights[: before.weights.size].tobytes() == before.weights.tobytes()
    assert after.pool[:, :1].tobytes() == before.pool.tobytes()
    assert after.entries.tolist() == [[int(before.entries[0, 0]), 0, 0]]


@pytest.mark.parametrize("stages", [(), ((5,),), ((7,), (6,))], ids=str)
def test_the_stages_of_a_run_may_not_change(tmp_path, stages):
    train_in(tmp_path, 10, stages=((6,),))
    with pytest.raises(BadWeights, match=r"has stages from the indices \[\[6\]\], not .*; choose another folder"):
        train_in(tmp_path, 10, stages=stages)


@pytest.mark.parametrize(
    "arrays",
    [
        {"entries": np.full((1, 3), -1)},
        {"entries": np.ones((1, 2), np.int64)},
        {"entries": np.ones((1, 3), np.int32)},
        {"pool": np.ones((1, 3, 7, 1), np.uint64)},
        {"pool": np.ones((1, 3, 1024, 2), np.uint64)},
        {"pool": np.full((1, 3, 1024, 1), 0x1111_1111_1111_1111, np.uint64), "entries": np.ones((1, 3), np.int64)},
    ],
    ids=["negative", "too few", "type", "boards", "words", "full board"],
)
def test_a_pool_that_no_game_left_is_refused(tmp_path, arrays):
    train_in(tmp_path, 10, stages=EARLY)
    header, held, _ = read_file(tmp_path / CHECKPOINT)
    write_file(tmp_path / CHECKPOINT, header, held | arrays)
    with pytest.raises(BadWeights, match="pool"):
        train_in(tmp_path, 10, stages=EARLY)


def test_a_board_of_2584_beyond_its_cells_is_refused(tmp_path):
    plan = TilePlan("2584", "classic", "01", 12, stages=((8,),))
    TileTrainer(GAMES["2584"], plan, 1).save(tmp_path / CHECKPOINT)
    TileTrainer(GAMES["2584"], plan, 1).load(tmp_path / CHECKPOINT)
    header, held, _ = read_file(tmp_path / CHECKPOINT)
    held["pool"][0, 0, 3] = 1 << 40
    write_file(tmp_path / CHECKPOINT, header, held)
    with pytest.raises(BadWeights, match="pool"):
        TileTrainer(GAMES["2584"], plan, 1).load(tmp_path / CHECKPOINT)


# --- The command ------------------------------------------------------------------------------------------------------


def invoke(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_command_takes_stages_as_tiles(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr("sys.argv", ["plyd"])
    words = ["--network", NETWORK, "--threads", 1, "--stage", 64, "--stage", "32+64", "--pool", 1, "--out", tmp_path]
    result = invoke("train", "2048", *words, "--games", 50)
    assert result.exit_code == 0, result.output
    found = read_checkpoint(tmp_path)
    assert found.stages == [[6], [6, 5]]
    assert (found.plan["pool"], found.plan["stage_rate"]) == (1, 0.2)
    assert '"stages": [\n    "64",\n    "64+32"\n  ]' in (tmp_path / MANIFEST).read_text()
    assert "\tfrom 64+32\t" in result.stdout


@pytest.mark.parametrize("text", ["16384+8193", "", "0", "16384,8192", "x" * 5000])
def test_a_stage_of_other_tiles_is_a_wrong_use(tmp_path, text):
    result = invoke("train", "2048", "--network", "01", "--games", 1, "--stage", text, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "write tiles as in 16384+8192" in " ".join(result.stderr.split())
    assert len(result.stderr) < 600


# --- Files and players ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a staged run."""
    folder = tmp_path_factory.mktemp("staged")
    train_in(folder, 60, **STAGED)
    return folder


def test_a_packed_network_has_the_weights_of_every_stage(run, tmp_path):
    checkpoint = read_checkpoint(run)
    assert set(checkpoint.stage_of_places.tolist()) == {0, 1, 2, 3}
    pack(tmp_path / "staged.plyd", checkpoint, 0.25, 1.0, {})
    packed = unpack(tmp_path / "staged.plyd")
    assert packed.stages == [list(indices) for indices in EARLY]
    assert np.abs(packed.counts * packed.step - checkpoint.whole()).max() <= 0.126


def test_a_packed_network_imported_again_is_the_same(run, tmp_path):
    pack(tmp_path / "one.plyd", read_checkpoint(run), 0.25, 1.0, {})
    again = unpacked(unpack(tmp_path / "one.plyd"))
    write_checkpoint(tmp_path / CHECKPOINT, again)
    pack(tmp_path / "two.plyd", read_checkpoint(tmp_path), 0.25, 1.0, {})
    assert (unpack(tmp_path / "one.plyd").counts == unpack(tmp_path / "two.plyd").counts).all()
    trainer = TileTrainer(GAME, TilePlan("2048", "classic", NETWORK, 15, stages=EARLY), 1)
    trainer.load(tmp_path / CHECKPOINT)
    boards = random_boards(GAME, 100, seed=1)
    size = int(trainer.shape.offsets[-1])
    assert np.isnan(trainer.weights[size:]).any()
    values, _ = values_and_stages(GAME, boards, trainer.weights, trainer.shape)
    whole, _ = values_and_stages(GAME, boards, again.whole(), trainer.shape)
    assert values.tolist() == whole.tolist()


def test_what_is_not_kept_of_a_later_stage_is_that_of_the_stage_before(run, tmp_path):
    checkpoint = read_checkpoint(run)
    pack(tmp_path / "few.plyd", checkpoint, 0.25, 0.3, {})
    counts, size = unpack(tmp_path / "few.plyd").counts, checkpoint.stage_size
    for stage in range(4):
        before = counts[(stage - 1) * size : stage * size] if stage else np.zeros(size, np.int16)
        mine = checkpoint.places[checkpoint.stage_of_places == stage]
        differs = (counts[mine] != before[mine - stage * size]).mean()
        assert 0.2 < differs <= 0.31, "three tenths of each stage are kept"
        others = np.delete(np.arange(size), mine - stage * size)
        assert (counts[stage * size + others] == before[others]).all()


@pytest.mark.parametrize("fresh_weight", [0.0, 25.0])
def test_stages_of_any_size_are_packed(tmp_path, fresh_weight):
    # 1 + 5^2 weights a stage: bits of a stage do not fill its bytes
    plan = TilePlan("2584", "classic", "0 15", 4, optimism=16 * fresh_weight, stages=((3,), (5,), (6,)))
    trainer = TileTrainer(GAMES["2584"], plan, 1)
    assert trainer.weights.size == 4 * 30
    rng = np.random.default_rng(1)
    is_learned = rng.random(120) < 0.4
    trainer.weights[is_learned] = rng.integers(-9, 9, is_learned.sum())
    trainer.save(tmp_path / CHECKPOINT)
    checkpoint = read_checkpoint(tmp_path)
    pack(tmp_path / "small.plyd", checkpoint, 1.0, 1.0, {})
    counts = unpack(tmp_path / "small.plyd").counts
    assert counts.tolist() == checkpoint.whole().tolist()
    for stage, place in ((s, p) for s in range(1, 4) for p in range(30)):
        at = 30 * stage + place
        assert counts[at] == trainer.weights[at] if is_learned[at] else counts[at] == counts[at - 30]


@pytest.mark.parametrize("stages", ["16", [14], [[]], [[0]], [[32]], [[1.5]], [[True]], [[1]] * 16, {}], ids=str)
def test_stages_of_another_kind_are_refused(run, tmp_path, stages):
    (tmp_path / CHECKPOINT).write_bytes((run / CHECKPOINT).read_bytes())
    pack(tmp_path / "staged.plyd", read_checkpoint(run), 0.25, 1.0, {})
    for path, read in ((tmp_path / CHECKPOINT, read_checkpoint), (tmp_path / "staged.plyd", unpack)):
        header, arrays, _ = read_file(path)
        write_file(path, header | {"stages": stages}, arrays)
        with pytest.raises(BadWeights, match=path.name):
            read(path)


def test_a_stage_beyond_the_games_tiles_is_no_model_for_it(run, tmp_path):
    pack(tmp_path / "staged.plyd", read_checkpoint(run), 0.25, 1.0, {})
    header, arrays, _ = read_file(tmp_path / "staged.plyd")
    write_file(tmp_path / "staged.plyd", header | {"stages": [[6], [6, 5], [16]]}, arrays)
    with pytest.raises(BadModel, match="2048 has indices to 15"):
        load_player(GAME, "classic", tmp_path / "staged.plyd")


@pytest.mark.parametrize("name", ["2048", "2584"])
def test_an_import_tells_how_its_stages_are_trained_further(tmp_path, name):
    plan = TilePlan(name, "classic", "01", 15, stages=((8,), (8, 3, 1)), downgrade=name == "2048")
    TileTrainer(GAMES[name], plan, 1).save(tmp_path / "run" / CHECKPOINT)
    assert invoke("models", "pack", tmp_path / "run", tmp_path / "one.plyd").exit_code == 0
    result = invoke("models", "import", tmp_path / "one.plyd", tmp_path / "again")
    command = result.stderr.splitlines()[-1]
    if name == "2048":
        assert "--stage 256 --stage 256+8+2 --downgrade --rate 0.1" in command
    else:
        assert "--cap 15 --stage 34 --stage 34+3+1 --rate 0.1" in command
    assert [GAMES[name].rules.tile(index) for index in (8, 3, 1)] == ([256, 8, 2] if name == "2048" else [34, 3, 1])


def test_the_stages_of_a_network_are_listed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path)
    assert invoke("models", "pack", run, tmp_path / "staged.plyd").exit_code == 0
    result = invoke("models")
    assert result.exit_code == 0, result.output
    assert "from 64+32" in " ".join(result.stdout.split())


@pytest.mark.parametrize("name", ["weights.bin", "weights.w"])
def test_a_staged_network_is_not_written_for_programs_without_stages(run, tmp_path, name):
    result = invoke("models", "export", run, tmp_path / name)
    assert result.exit_code == 1
    assert "has one stage; this network has 4" in result.stderr


def test_an_engine_searches_and_evaluates_by_stage(run, tmp_path):
    path = tmp_path / "staged.plyd"
    pack(path, read_checkpoint(run), 0.25, 1.0, {})
    engine, player = Game2048({"classic": path}), load_player(GAME, "classic", path)
    counts, shape, step = unpack(path).counts, player.model.shape, np.float32(0.25)
    boards = [*played_boards(GAME, 400, seed=3)[::5], (7, 3, 2, 1, 2, 1, *[0] * 10)]
    expected, stages = values_and_stages(GAME, boards, counts * step, shape)
    assert set(stages) == {0, 1, 2, 3}
    lines = "".join(f"a {' '.join(map(str, cells))}\n" for cells in boards).encode()
    found = engine.evaluate("classic", lines, as_text=False, with_moves=False).values
    assert found.tolist() == np.maximum(expected, 0).tolist()

    searcher = engine.searcher("classic", read_options(engine.card.options, {"downgrade": "false"}))
    for cells in boards[::9]:
        position = GAME.rules.parse(f"b {' '.join(map(str, cells))}")
        if not GAME.rules.legal_moves(position):
            continue
        *_, report = searcher.search(position, Limits(max_depth=1), Stop())
        afters = {text: GAME.rules.slide(cells, text) for text in ("up", "right", "down", "left")}
        values, _ = values_and_stages(GAME, [after for after, _ in afters.values()], counts * step, shape)
        worth = {
            text: points + float(each)
            for (text, (after, points)), each in zip(afters.items(), values, strict=True)
            if after != cells
        }
        assert report.score.value.points == pytest.approx(max(worth.values()))
