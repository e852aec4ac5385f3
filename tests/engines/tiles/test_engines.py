"""Engines of tile games: the weights that ship, weights from files, and batches of positions."""

import json
import subprocess
import sys

import numpy as np
import pytest

from plyd.engines import registry
from plyd.engines.core.engine import Model
from plyd.engines.core.errors import BadModel
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits
from plyd.engines.tiles.ntuple import player as player_module
from plyd.engines.tiles.ntuple.player import load_player, shipped, shipped_model
from plyd.engines.tiles.rulebook import Position
from plyd.engines.tiles_2048.engine import Game2048
from plyd.engines.tiles_2584.engine import Fibonacci4x4
from plyd.models.files import read_file
from plyd.models.ntuple.checkpoint import Checkpoint, write_checkpoint
from plyd.models.ntuple.packing import pack
from plyd.models.ntuple.patterns import patterns_of
from tests.engines.tiles.slow_tiles import GAMES, SlowNetwork, played_boards, random_boards
from tests.engines.tiles.small_players import BASES, NETWORK, VARIANTS
from tests.patience import SOON

KINDS = {"2048": Game2048, "2584": Fibonacci4x4}
STEP = 0.25


def checkpoint_of(name, variant, mean=50.0, base=None, network=NETWORK):
    """A checkpoint of random weights."""
    base = base or BASES[name]
    size = sum(base ** len(pattern) for pattern in patterns_of(network))
    weights = np.random.default_rng(len(variant)).normal(mean, 200, size).astype(np.float32)
    places, none = np.arange(size, dtype=np.uint32), np.zeros((0, 2), np.float32)
    return Checkpoint(name, variant, network, base, 0.0, places, weights, none)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A packed network for each game and variant."""
    folder = tmp_path_factory.mktemp("networks")
    for name, variant in VARIANTS:
        pack(folder / f"{name}-{variant}.plyd", checkpoint_of(name, variant), STEP, 1.0, {})
    return {(name, variant): folder / f"{name}-{variant}.plyd" for name, variant in VARIANTS}


@pytest.fixture(scope="module")
def engines(files):
    """Engines that play by these networks."""
    return {
        name: kind({variant: files[game, variant] for game, variant in files if game == name})
        for name, kind in KINDS.items()
    }


# --- The weights that ship --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_weights_that_ship_are_those_of_their_manifest(name, variant):
    path = shipped(name, variant)
    header, _, sha256 = read_file(path)
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert manifest["sha256"] == sha256 == path.read_bytes()[-32:].hex()
    assert shipped_model(name, variant) == Model(f"{name}-{variant}", sha256)
    assert (header["kind"], header["game"], header["variant"]) == ("network", name, variant)
    assert header["base"] == 16 if name == "2048" else 17 <= header["base"] <= 32
    assert header["weights"] == sum(header["base"] ** len(pattern) for pattern in patterns_of(header["network"]))
    assert {"network", "games", "seconds"} <= set(manifest["trained"])


@pytest.mark.parametrize("name", KINDS)
def test_the_card_tells_what_plays_each_variant(name):
    models = KINDS[name]().card.models
    assert models == {variant: shipped_model(name, variant) for variant in GAMES[name].variants}


@pytest.fixture
def shelf(tmp_path, files, monkeypatch):
    """A folder with a small network in place of the one that ships for 2048, and its manifest."""
    path = tmp_path / "2048-classic.plyd"
    path.write_bytes(files["2048", "classic"].read_bytes())
    path.with_suffix(".json").write_text(json.dumps({"sha256": path.read_bytes()[-32:].hex()}))
    monkeypatch.setattr(player_module, "shipped", lambda game, variant: tmp_path / f"{game}-{variant}.plyd")
    return path


def test_weights_that_ship_are_loaded_if_they_are_as_their_manifest_says(shelf):
    assert load_player(GAMES["2048"], "classic").info == Model("2048-classic", shelf.read_bytes()[-32:].hex())


def test_weights_that_ship_are_refused_if_they_are_others_than_their_manifest_says(shelf):
    pack(shelf, checkpoint_of("2048", "classic", mean=0.0), STEP, 1.0, {})
    with pytest.raises(BadModel, match="not the file that its manifest describes"):
        load_player(GAMES["2048"], "classic")


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", "3"])
def test_a_manifest_that_does_not_tell_a_checksum_is_refused(shelf, text):
    if text is None:
        shelf.with_suffix(".json").unlink()
    else:
        shelf.with_suffix(".json").write_text(text)
    with pytest.raises(BadModel, match=r"2048-classic\.json does not say"):
        shipped_model("2048", "classic")


# --- Weights from a file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_player_from_a_file_plays_by_its_weights(files, name, variant):
    path = files[name, variant]
    player = load_player(GAMES[name], variant, path)
    assert (player.game, player.variant) == (GAMES[name], variant)
    assert player.info == Model(path.stem, path.read_bytes()[-32:].hex())


def harmed(data, harm):
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    return {
        "flipped": bytes(flipped),
        "cut": data[:-100],
        "empty": b"",
        "text": b"weights\n" * 99,
        "half": data[: 1 << 12],
    }[harm]


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "text", "half"])
def test_a_file_that_was_harmed_is_refused_in_one_line(tmp_path, files, harm):
    path = tmp_path / "mine.plyd"
    path.write_bytes(harmed(files["2048", "classic"].read_bytes(), harm))
    for load in (
        lambda: load_player(GAMES["2048"], "classic", path),
        lambda: Game2048({"classic": path}),
        lambda: registry.load("2048", [path]),
    ):
        with pytest.raises(BadModel) as error:
            load()
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("harm", ["flipped", "cut"])
def test_a_copy_of_what_ships_that_was_harmed_is_refused(tmp_path, harm):
    path = tmp_path / "mine.plyd"
    path.write_bytes(harmed(shipped("2048", "classic").read_bytes(), harm))
    with pytest.raises(BadModel, match="SHA-256"):
        load_player(GAMES["2048"], "classic", path)


def test_a_file_for_another_game_or_variant_is_refused(files):
    for (name, variant), path in files.items():
        for other, another in files:
            if (name, variant) != (other, another):
                with pytest.raises(BadModel, match=f"is for {name} {variant}, not {other} {another}"):
                    load_player(GAMES[other], another, path)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.plyd", tmp_path):
        with pytest.raises(BadModel, match="cannot read"):
            load_player(GAMES["2048"], "classic", path)


def test_a_checkpoint_is_refused_with_advice(tmp_path):
    write_checkpoint(tmp_path / "checkpoint.plyd", checkpoint_of("2048", "classic"))
    with pytest.raises(BadModel, match="plyd models pack"):
        load_player(GAMES["2048"], "classic", tmp_path / "checkpoint.plyd")


@pytest.mark.parametrize("base", [12, 15, 17])
def test_a_network_of_2048_has_16_indices_a_cell(tmp_path, base):
    path = tmp_path / "mine.plyd"
    pack(path, checkpoint_of("2048", "classic", base=base), STEP, 1.0, {})
    with pytest.raises(BadModel):
        load_player(GAMES["2048"], "classic", path)


def test_the_registry_gives_each_game_the_files_that_are_for_it(files):
    models = list(files.values())
    for name, variants in (("2048", ["classic"]), ("2584", ["classic", "hard"])):
        engine = registry.load(name, models)
        assert {v: m.sha256 for v, m in engine.card.models.items()} == {
            variant: files[name, variant].read_bytes()[-32:].hex() for variant in variants
        }
    mixed = registry.load("2584", [files["2584", "hard"]]).card.models
    assert mixed["classic"] == shipped_model("2584", "classic")
    assert mixed["hard"].name == "2584-hard"


def test_a_file_for_a_variant_that_is_not_there_is_refused(tmp_path):
    pack(tmp_path / "mine.plyd", checkpoint_of("2048", "easy"), STEP, 1.0, {})
    with pytest.raises(BadModel, match="easy"):
        registry.load("2048", [tmp_path / "mine.plyd"])


def test_many_games_with_a_harmed_file_are_refused_in_one_line(tmp_path):
    (tmp_path / "mine.plyd").write_bytes(b"PLYDNET1" + bytes(100))
    command = [
        sys.executable,
        "-m",
        "plyd.engines.tiles.play.many_games",
        "2048",
        "--games",
        "1",
        "--model",
        str(tmp_path / "mine.plyd"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert (found.returncode, found.stdout) == (1, "")
    assert len(found.stderr.splitlines()) == 1
    assert "mine.plyd" in found.stderr


# --- Searches at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_slide_at_depth_1_is_found_at_once_in_no_memory(engines, name, variant):
    engine, options, limits = engines[name], read_options(engines[name].card.options, {}), Limits(max_depth=1)
    small, usual = engine.searcher(variant, options, 0), engine.searcher(variant, options)
    for cells in boards_of(name):
        position = Position(before=True, cells=cells)
        assert engine.answers_at_once(position, limits, options)
        [report] = small.search(position, limits, Stop())
        [same] = usual.search(position, limits, Stop())
        assert (report.move, report.score, report.lines) == (same.move, same.score, same.lines)
    assert small.touched_megabytes() == 0


def test_deeper_searches_and_those_of_drops_take_their_time(engines):
    engine = engines["2048"]
    options, cells = read_options(engine.card.options, {}), (1,) + (0,) * 15
    before, after = Position(before=True, cells=cells), Position(before=False, cells=cells)
    assert not engine.answers_at_once(before, Limits(max_depth=2), options)
    assert not engine.answers_at_once(before, Limits(max_nodes=1), options)
    assert not engine.answers_at_once(after, Limits(max_depth=1), options)


# --- Batches of positions ---------------------------------------------------------------------------------------------


def lines_of(letter, boards):
    return "".join(f"{letter} {' '.join(map(str, cells))}\n" for cells in boards).encode()


def boards_of(name):
    return played_boards(GAMES[name], 60, seed=5) + random_boards(GAMES[name], 60, seed=6)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_line_before_a_slide_gets_the_value_and_the_move_of_a_search_of_depth_1(engines, name, variant):
    engine = engines[name]
    options = {"downgrade": "false"} if name == "2048" else {}  # a batch gets the values of the boards themselves
    searcher = engine.searcher(variant, read_options(engine.card.options, options))
    answers = engine.evaluate(variant, lines_of("b", boards_of(name)), as_text=False, with_moves=True)
    for cells, value, move in zip(boards_of(name), answers.values, answers.moves, strict=True):
        last = list(searcher.search(Position(before=True, cells=cells), Limits(max_depth=1), Stop()))[-1]
        assert value == pytest.approx(max(0.0, last.score.value.points), rel=1e-6, abs=1e-3)
        assert move == (last.move or "")


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_line_after_a_slide_gets_what_the_weights_in_full_say_within_half_a_step_each(engines, name, variant):
    slow = SlowNetwork(patterns_of(NETWORK), BASES[name], checkpoint_of(name, variant).whole())
    answers = engines[name].evaluate(variant, lines_of("a", boards_of(name)), as_text=False, with_moves=True)
    within = slow.features * STEP / 2 + 0.1
    for cells, value, move in zip(boards_of(name), answers.values, answers.moves, strict=True):
        assert value == pytest.approx(max(0.0, slow.value(cells)), abs=within)
        assert move == ""


@pytest.mark.parametrize("letter", "ba")
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_no_answer_is_below_zero(tmp_path, name, variant, letter):
    pack(tmp_path / "low.plyd", checkpoint_of(name, variant, mean=-900.0), STEP, 1.0, {})
    engine = registry.load(name, [tmp_path / "low.plyd"])
    values = engine.evaluate(variant, lines_of(letter, boards_of(name)), as_text=False, with_moves=False).values
    assert len(values) == 120
    assert (values >= 0).all()
    assert (values == 0).mean() > 0.5


def test_lines_that_cannot_be_read_are_told_and_the_others_answered(engines):
    good = "b 1 0 0 0 0 2 0 0 0 0 0 0 0 0 0 0"
    batch = "\n".join([good, "c" + good[1:], "", "b 1 2 3", good.replace("2", "16"), good.replace("2", "x"), good])
    answers = engines["2048"].evaluate("classic", batch.encode(), as_text=False, with_moves=True)
    assert np.isnan(answers.values).tolist() == [False, True, True, True, True, False]
    assert answers.values[0] == answers.values[-1]
    assert [(bad.line, bad.answer) for bad in answers.errors] == [(1, 1), (3, 2), (4, 3), (5, 4)]
    for bad, part in zip(
        answers.errors, ['letter "c"', "3 numbers", '"16" is out of range', '"x" is not a number'], strict=True
    ):
        assert part in bad.message


def test_answers_as_text_are_the_answers_as_numbers(engines):
    batch = lines_of("b", boards_of("2584")) + lines_of("a", boards_of("2584")) + b"b nonsense\n"
    numbers = engines["2584"].evaluate("hard", batch, as_text=False, with_moves=True)
    text = engines["2584"].evaluate("hard", batch, as_text=True, with_moves=True).text.decode().splitlines()
    assert len(text) == len(numbers.values) == 241
    assert text[-1] == "= -1"
    for line, value, move in zip(text[:-1], numbers.values, numbers.moves, strict=False):
        equals, number, *word = line.split(" ")
        assert (equals, float(number), word) == ("=", pytest.approx(value, rel=1e-9), [move] if move else [])


def test_variants_of_a_game_answer_by_their_own_weights(engines):
    batch = lines_of("b", boards_of("2584"))
    classic, hard = (engines["2584"].evaluate(v, batch, as_text=False, with_moves=False) for v in ("classic", "hard"))
    assert (classic.values != hard.values).any()
    assert classic.moves == hard.moves == ()
