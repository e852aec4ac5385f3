"""Checkpoints and packed networks whose headers and arrays are not of their kinds are refused, whoever signed them."""

import zlib

import numpy as np
import pytest

from plyd.engines import registry
from plyd.engines.core.errors import BadModel, BadPosition
from plyd.engines.gomoku.board.evaluation import SHAPE, load
from plyd.engines.gomoku.fit.records import read_records
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.packing import pack, unpack


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.plyd"


def checkpoint():
    places, weights = np.array([1, 5, 9], np.uint32), np.array([2.0, -3.5, 400.0], np.float32)
    return Checkpoint("2048", "classic", "3", 16, 1.0, places, weights, np.ones((3, 2), np.float32))


def change(path, header=(), **arrays):
    """Write a file anew with some of its header and arrays changed, and the right checksum."""
    was, held, _ = read_file(path)
    write_file(path, {**was, **dict(header)}, {**held, **arrays})


HEADERS = [{"base": 10**9}, {"base": 16.0}, {"base": -1}, {"network": 7}, {"network": "zz"}, {"game": ["2048"]}]
HEADERS += [{"fresh_weight": 1e39}, {"fresh_weight": "1"}, {"fresh_weight": float("nan")}]


@pytest.mark.parametrize("header", [*HEADERS, {"plan": []}, {"progress": None}], ids=str)
def test_a_checkpoint_with_a_fact_of_another_kind_is_refused(path, header):
    write_checkpoint(path, checkpoint())
    change(path, header)
    with pytest.raises(BadWeights, match=r"weights\.plyd"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"places": np.array([1, -5, 9])},  # would count from the end
        {"places": np.array([1.0, 5.0, 9.0])},
        {"places": np.array([[1], [5], [9]], np.uint32)},
        {"weights": np.array([1, 2, 3], np.int8)},
        {"seeds": np.zeros((2, 1), np.float32)},
    ],
    ids=str,
)
def test_a_checkpoint_with_an_array_of_another_type_is_refused(path, arrays):
    write_checkpoint(path, checkpoint())
    change(path, **arrays)
    with pytest.raises(BadWeights, match="arrays"):
        read_checkpoint(path)


@pytest.mark.parametrize("header", [*HEADERS, {"kept": 2}, {"kept": -2}, {"weights": "16"}, {"step": None}], ids=str)
def test_a_network_with_a_fact_of_another_kind_is_refused(path, header):
    pack(path, checkpoint(), 0.5, 1.0, {})
    change(path, header)
    with pytest.raises(BadWeights, match=r"weights\.plyd"):
        unpack(path)


def test_one_weight_does_not_stand_for_all_that_are_used(path):
    pack(path, checkpoint(), 0.5, 1.0, {})
    one = np.frombuffer(zlib.compress(b"\x04"), np.uint8)
    change(path, {"kept": 1}, low=one, high=one)
    with pytest.raises(BadWeights, match="says that it keeps 1 weights; it keeps 3 or more"):
        unpack(path)


def test_data_of_less_than_nothing_is_refused_before_it_is_inflated(path, monkeypatch):
    pack(path, checkpoint(), 0.5, 1.0, {})
    change(path, {"kept": -1})  # and one more than that is 0, which zlib takes for any number
    monkeypatch.setattr("plyd.models.ntuple.packing._Inflated", lambda data: pytest.fail("inflated"))
    with pytest.raises(BadWeights, match="kept is -1"):
        unpack(path)


@pytest.mark.parametrize("game", [["2048"], {}, None, 7])
def test_a_model_for_no_game_at_all_is_told_so(path, game):
    write_file(path, {"kind": "network", "game": game}, {})
    with pytest.raises(BadModel, match="is for the game"):
        registry.files_for("2048", [path])


@pytest.mark.parametrize(
    "worth",
    [np.zeros((2, SHAPE[0] // 2), np.int16), np.zeros(SHAPE, np.float32), np.zeros(SHAPE[0] + 1, np.int16)],
    ids=str,
)
def test_patterns_of_another_shape_or_type_than_the_kernels_index_are_refused(path, worth):
    write_file(path, {"kind": "patterns", "game": "gomoku"}, {"worth": worth, "ordering": np.zeros(SHAPE, np.int16)})
    with pytest.raises(BadModel, match="not patterns for gomoku"):
        load(path)


@pytest.mark.parametrize("line", [b"\xff\xfe", b"[" * 100_000, b'{"size": 1e999}', b'{"size": 15, "moves": 3}'])
def test_a_line_that_is_no_gomoku_game_is_told_with_its_number(path, line):
    path.write_bytes(line + b"\n")
    with pytest.raises(BadPosition, match=r"line 1 of .* is not a game"):
        list(read_records(path))
