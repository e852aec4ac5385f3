"""Networks packed for play: as they were within half a step, and refused when anything in the file is not so."""

import errno
import hashlib
import json
import tracemalloc
import zlib

import numpy as np
import pytest

from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file
from plyd.models.ntuple import packing
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.packing import MOST_STEPS, pack, unpack, unpacked

NETWORK = "01 15"
SIZE = 2 * 16**2


def checkpoint_of(places=40, fresh_weight=0.0, with_sums=True, spread=300.0, base=16, network=NETWORK):
    """A checkpoint with so many weights learned."""
    rng = np.random.default_rng(places)
    size = sum(base ** len(word) for word in network.split())
    at = np.sort(rng.choice(size, places, replace=False)).astype(np.uint32)
    weights = rng.normal(0, spread, places).astype(np.float32)
    seen = rng.permutation(places).astype(np.float32) + 1
    sums = np.stack([-seen / 2, seen], axis=1) if with_sums else np.zeros((0, 2), np.float32)
    return Checkpoint("2048", "classic", network, base, fresh_weight, at, weights, sums)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "network.plyd"


def weights_of(packed):
    return packed.counts * packed.step


# --- Round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.25, 1.0, 4.0, 64.0])
@pytest.mark.parametrize("places", [0, 1, 40, SIZE])
def test_every_weight_comes_back_within_half_a_step(path, places, step):
    checkpoint = checkpoint_of(places)
    pack(path, checkpoint, step, 1.0, {})
    packed = unpack(path)
    assert packed.counts.dtype == np.int16
    assert np.abs(weights_of(packed) - checkpoint.whole()).max() <= step / 2 * 1.0001


def test_what_a_network_is_for_comes_back_with_its_checksum_and_its_manifest(path):
    sha256 = pack(path, checkpoint_of(), 2.0, 1.0, {"trained": {"games": 7}})
    packed = unpack(path)
    assert (packed.game, packed.variant, packed.network, packed.base) == ("2048", "classic", NETWORK, 16)
    assert (packed.step, packed.manifest) == (2.0, {"trained": {"games": 7}})
    assert packed.sha256 == sha256 == path.read_bytes()[-32:].hex()


def test_the_same_checkpoint_packs_to_the_same_bytes(tmp_path):
    one, other = (pack(tmp_path / name, checkpoint_of(), 2.0, 0.5, {}) for name in "ab")
    assert one == other


def test_the_largest_steps_are_32767_either_way(path):
    checkpoint = checkpoint_of(4)
    checkpoint.weights[:] = 32767, -32767, 1e6, -1e30
    pack(path, checkpoint, 1.0, 1.0, {})
    assert unpack(path).counts[checkpoint.places].tolist() == [MOST_STEPS, -MOST_STEPS, MOST_STEPS, -MOST_STEPS]


def test_small_and_large_steps_of_both_signs_come_back(path):
    checkpoint = checkpoint_of(9)
    checkpoint.weights[:] = 0, 1, -1, 127, -128, 128, -129, 32766, -32766
    pack(path, checkpoint, 1.0, 1.0, {})
    assert unpack(path).counts[checkpoint.places].tolist() == checkpoint.weights.tolist()


@pytest.mark.parametrize("fresh_weight", [100.0, -7.0])
def test_a_weight_that_was_never_learned_is_as_it_was_at_first(path, fresh_weight):
    checkpoint = checkpoint_of(40, fresh_weight)
    pack(path, checkpoint, 0.5, 1.0, {})
    others = np.delete(weights_of(unpack(path)), checkpoint.places)
    assert set(others.tolist()) == {fresh_weight}
    assert np.abs(weights_of(unpack(path)) - checkpoint.whole()).max() <= 0.25


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_only_the_weights_that_saw_most_are_kept(path, keep):
    checkpoint = checkpoint_of(100, fresh_weight=5.0)
    checkpoint.weights[:] = 1000 + np.arange(100)
    pack(path, checkpoint, 1.0, keep, {})
    is_kept = unpack(path).counts[checkpoint.places] != 5
    assert abs(is_kept.sum() - 100 * keep) <= 1
    seen = checkpoint.sums[:, 1]
    assert seen[is_kept].min() > seen[~is_kept].max()


def test_weights_learned_without_temporal_coherence_are_all_kept(path):
    checkpoint = checkpoint_of(40, with_sums=False)
    pack(path, checkpoint, 1.0, 0.3, {})
    assert (np.abs(weights_of(unpack(path)) - checkpoint.whole()) <= 0.5).all()


def test_a_size_that_is_no_multiple_of_eight_comes_back(path):
    checkpoint = checkpoint_of(20, base=5, network="01 2")  # 25 + 5 weights
    pack(path, checkpoint, 1.0, 1.0, {})
    assert unpack(path).counts.size == 30
    assert np.abs(weights_of(unpack(path)) - checkpoint.whole()).max() <= 0.5


# --- What is refused --------------------------------------------------------------------------------------------------


def refusal(path):
    with pytest.raises(BadWeights) as error:
        unpack(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture
def whole(path):
    """The bytes of a good file."""
    pack(path, checkpoint_of(), 1.0, 1.0, {})
    return path.read_bytes()


def test_a_file_cut_anywhere_is_refused(path, whole):
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        refusal(path)


def test_a_file_with_any_byte_changed_is_refused(path, whole):
    for at in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        refusal(path)


def test_a_checkpoint_is_refused_with_advice(path):
    write_checkpoint(path, checkpoint_of())
    assert "is a checkpoint, not a network; pack it first" in refusal(path)


def test_a_network_is_refused_as_a_checkpoint(path, whole):
    with pytest.raises(BadWeights, match="is a network, not a checkpoint"):
        read_checkpoint(path)


def rewritten(path, **changed):
    """Writes the file again, its checksum right, with some of the header or some arrays changed; None takes it away."""
    header, arrays, _ = read_file(path)
    for name, value in changed.items():
        where = arrays if name in arrays else header
        if value is None:
            del where[name]
        else:
            where[name] = value
    write_file(path, header, arrays)


def deflated(data):
    return np.frombuffer(zlib.compress(data), np.uint8)


LIES = [
    {"kind": "something"},
    {"kind": None},
    {"used": None},
    {"low": None},
    {"high": None},
    {"used": deflated(bytes(SIZE // 8 - 1))},
    {"used": deflated(bytes(SIZE // 8 + 1))},
    {"used": deflated(b"\xff" * (SIZE // 8))},
    {"used": deflated(bytes(SIZE // 8))},
    {"low": deflated(bytes(39))},
    {"low": deflated(bytes(41))},
    {"high": deflated(bytes(39))},
    {"high": deflated(bytes(41))},
    {"low": np.zeros(10, np.uint8)},
    {"low": np.zeros(0, np.uint8)},
    {"high": deflated(bytes(40))[:-6]},
    {"kept": None},
    {"kept": 39},
    {"kept": 41},
    {"kept": -1},
    {"kept": "many"},
    {"weights": SIZE + 1},
    {"weights": 0},
    {"weights": "all"},
    {"network": "01"},
    {"network": "01 15 2"},
    {"base": 15},
    {"base": 17},
    {"base": None},
    {"step": 0},
    {"step": -1.0},
    {"step": 1e9},
    {"step": float("nan")},
    {"step": "small"},
    {"fresh_weight": None},
    {"fresh_weight": float("nan")},
    {"game": None},
]


@pytest.mark.parametrize(
    "changed", LIES, ids=lambda changed: " ".join(f"{k}={str(v)[:20]}" for k, v in changed.items())
)
def test_a_file_that_lies_is_refused_though_its_checksum_is_right(path, whole, changed):
    rewritten(path, **changed)
    refusal(path)


@pytest.mark.parametrize("changed", [{"kept": 10**30}, {"network": 3}, {"network": "nonsense"}], ids=str)
def test_a_file_that_lies_otherwise_is_refused_too(path, whole, changed):
    rewritten(path, **changed)
    refusal(path)


@pytest.mark.parametrize("fresh_weight", [float("inf"), 1e6, -1e6])
def test_a_fresh_weight_of_more_steps_than_there_are_is_refused(path, whole, fresh_weight):
    rewritten(path, fresh_weight=fresh_weight)
    refusal(path)


def test_much_optimism_is_packed_in_small_steps_as_the_most_that_there_is(path):
    pack(path, checkpoint_of(10, fresh_weight=12_500.0), 0.25, 1.0, {})
    unpack(path)


def test_a_bit_behind_the_last_weight_is_refused(path):
    pack(path, checkpoint_of(20, base=5, network="01 2"), 1.0, 1.0, {})
    bits = bytearray(4)
    bits[0], bits[1], bits[3] = 255, 255, 0b1111_0000  # 20 bits, two of them for weights 30 and 31 of 30
    rewritten(path, used=deflated(bytes(bits)))
    refusal(path)


def bomb(megabytes):
    return deflated(bytes(megabytes << 20))


def peak_of(call):
    """The most memory, in bytes, that a call took."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["used", "low", "high"])
def test_data_that_inflates_to_more_than_it_should_is_refused_before_it_takes_memory(path, whole, name):
    rewritten(path, **{name: bomb(64)})
    assert peak_of(lambda: refusal(path)) < 4 << 20


def test_data_that_should_be_nothing_is_refused_before_it_takes_memory(path):
    pack(path, checkpoint_of(0), 1.0, 1.0, {})
    rewritten(path, low=bomb(64))
    assert peak_of(lambda: refusal(path)) < 4 << 20


def test_a_header_alone_is_refused(path):
    text = json.dumps({"kind": "network", "arrays": []}).encode()
    text += b" " * (-(12 + len(text)) % 64)
    body = b"PLYDNET1" + len(text).to_bytes(4, "little") + text
    path.write_bytes(body + hashlib.sha256(body).digest())
    assert "not what a packed network should be" in refusal(path)


def test_a_packed_network_is_a_checkpoint_again(path):
    before = checkpoint_of(40, fresh_weight=3.0)
    pack(path, before, 0.5, 1.0, {})
    again = unpacked(unpack(path))
    assert (again.game, again.variant, again.network, again.base) == (
        before.game,
        before.variant,
        before.network,
        before.base,
    )
    assert np.abs(again.whole() - before.whole()).max() <= 0.25
    assert again.fresh_weight == 3.0


def dense(path, network="01234 12345 23456 34567", **changed):
    """A small file of a large network, every weight of which is kept."""
    pack(path, checkpoint_of(0, network="0"), 1.0, 1.0, {})
    size = sum(16 ** len(word) for word in network.split())
    same = {"network": network, "weights": size, "kept": size, "used": deflated(b"\xff" * (size // 8))}
    rewritten(path, **same, low=deflated(bytes(size)), high=deflated(bytes(size)), **changed)
    return size


def test_a_network_is_read_in_little_more_memory_than_it_has(path):
    size = dense(path)
    assert path.stat().st_size < 40_000
    assert peak_of(lambda: unpack(path)) < 2 * size + (64 << 20)


@pytest.mark.parametrize(
    "header",
    [
        {"network": "012345 123456 234567", "base": 32, "weights": 3 << 30},
        {"network": "012345", "base": 33, "weights": 33**6},
        {"network": "0 " * 65, "weights": 65 * 16},
    ],
    ids=str,
)
def test_a_header_may_ask_only_for_a_network_within_bounds(path, whole, header):
    rewritten(path, **header)
    assert "allowed" in refusal(path)
    assert peak_of(lambda: refusal(path)) < 1 << 20


def test_a_small_file_may_use_little_memory_and_is_refused_while_it_is_read(path, monkeypatch):
    dense(path)
    monkeypatch.setattr(packing, "SMALL_BYTES", 5 << 20)
    pieces = []
    pages = packing._pages
    monkeypatch.setattr(packing, "_pages", lambda bits: pieces.append(bits) or pages(bits))
    monkeypatch.setattr(packing, "MOST_EXPANSION", 1)
    assert "it uses 6 MiB or more; allowed for a file of its size are 5" in refusal(path)
    assert len(pieces) == 3  # each is of 2 MiB


def test_memory_that_a_fresh_weight_fills_counts_before_anything_is_read(path, monkeypatch):
    dense(path, fresh_weight=3.0)
    monkeypatch.setattr(packing, "SMALL_BYTES", 5 << 20)
    monkeypatch.setattr(packing, "MOST_EXPANSION", 1)
    assert "it uses 8 MiB or more" in refusal(path)
    assert peak_of(lambda: refusal(path)) < 1 << 20


def test_a_large_network_of_which_little_was_learned_uses_little(path, monkeypatch):
    monkeypatch.setattr(packing, "SMALL_BYTES", 1 << 20)
    pack(path, checkpoint_of(30, network="012345"), 1.0, 1.0, {})
    assert np.count_nonzero(unpack(path).counts) == 30


def test_without_memory_a_network_is_refused(path, whole, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(packing.mmap, "mmap", fail)
    assert "there is no memory for 0 MiB of weights" in refusal(path)
