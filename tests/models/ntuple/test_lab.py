"""The 2048 lab's weight file: byte for byte, both ways, and the same value for every board."""

import struct

import numpy as np
import pytest

from plyd.models.errors import BadWeights
from plyd.models.ntuple.checkpoint import Checkpoint
from plyd.models.ntuple.images import known_form
from plyd.models.ntuple.lab import LAB_PATTERNS, read_lab, write_lab
from plyd.models.ntuple.patterns import NETWORKS, patterns_of
from tests.engines.tiles.slow_tiles import IMAGES, SlowNetwork


def pattern_bytes(cells, table, name=None, size=None):
    """One pattern as the lab writes it."""
    name = f"{len(cells)}-tuple pattern {cells}".encode() if name is None else name
    size = len(table) if size is None else size
    return struct.pack("<i", len(name)) + name + struct.pack("<Q", size) + np.asarray(table, "<f4").tobytes()


def file_bytes(*patterns):
    return struct.pack("<Q", len(patterns)) + b"".join(patterns)


def lab_patterns(path):
    """Cells and table of each pattern of a lab file, read by its definition."""
    data, at, found = path.read_bytes(), 8, []
    for _ in range(struct.unpack_from("<Q", data)[0]):
        (length,) = struct.unpack_from("<i", data, at)
        name = data[at + 4 : at + 4 + length].decode()
        (size,) = struct.unpack_from("<Q", data, at + 4 + length)
        at += 12 + length
        found.append((name, np.frombuffer(data, "<f4", size, at)))
        at += 4 * size
    assert at == len(data)
    return found


def lab_value(path, cells):
    """The lab's value of a board: for each of its eight images, index |= tile << 4 i for the i-th cell of the name."""
    total = 0.0
    for name, table in lab_patterns(path):
        listed = [int(digit, 16) for digit in name.rsplit(" ", 1)[1]]
        for image in IMAGES:
            index = 0
            for i, cell in enumerate(listed):
                index |= cells[image[cell]] << (4 * i)
            total += float(table[index])
    return total


def our_value(checkpoint, cells):
    return SlowNetwork(patterns_of(checkpoint.network), 16, checkpoint.whole()).value(cells)


def random_table(cells, seed):
    return np.random.default_rng(seed).normal(0, 10, 16 ** len(cells)).astype(np.float32)


def random_checkpoint(network, seed=1, fresh_weight=0.0, **changed):
    size = sum(16 ** len(pattern) for pattern in patterns_of(network))
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(size, min(size, 5000), replace=False)).astype(np.uint32)
    weights = rng.normal(0, 10, places.size).astype(np.float32)
    facts = {"game": "2048", "variant": "classic", "network": network, "base": 16} | changed
    return Checkpoint(
        **facts, fresh_weight=fresh_weight, places=places, weights=weights, sums=np.zeros((0, 2), np.float32)
    )


def boards(count=20):
    return [tuple(cells) for cells in np.random.default_rng(2).integers(0, 16, (count, 16)).tolist()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.bin"


# --- Byte for byte ----------------------------------------------------------------------------------------------------

ONE_CELL = np.zeros(16, np.float32)
ONE_CELL[[1, 15]] = 2.5, -1.0
#  one pattern | 17 bytes of name | "1-tuple pattern 5" | 16 weights, of which the second and the last are not 0
GOLDEN = (
    b"\x01\0\0\0\0\0\0\0"
    b"\x11\0\0\0"
    b"1-tuple pattern 5"
    b"\x10\0\0\0\0\0\0\0" + bytes(4) + b"\0\0\x20\x40" + bytes(4 * 13) + b"\0\0\x80\xbf"
)


def test_a_file_written_by_hand_is_read(path):
    path.write_bytes(GOLDEN)
    found = read_lab(path)
    assert (found.game, found.variant, found.network, found.base) == ("2048", "classic", "5", 16)
    assert found.fresh_weight == 0.0
    assert (found.places.tolist(), found.weights.tolist()) == ([1, 15], [2.5, -1.0])
    assert found.sums.shape == (0, 2)


def test_a_network_is_written_as_by_hand(path):
    checkpoint = Checkpoint(
        "2048",
        "classic",
        "5",
        16,
        0.0,
        np.array([1, 15], np.uint32),
        np.array([2.5, -1.0], np.float32),
        np.zeros((0, 2), np.float32),
    )
    write_lab(path, checkpoint)
    assert path.read_bytes() == GOLDEN


def test_the_tile_on_the_first_cell_of_a_name_is_in_the_lowest_bits(path):
    # "01": tile 3 on cell 0 and tile 2 on cell 1 is place 3 + 2 * 16; "10": 2 + 3 * 16
    for cells, place in (("01", 3 + 2 * 16), ("10", 2 + 3 * 16)):
        table = np.zeros(256)
        table[place] = 7.0
        path.write_bytes(file_bytes(pattern_bytes(cells, table)))
        found = read_lab(path)
        assert (found.network, found.places.tolist()) == ("01", [3 + 2 * 16])


# --- Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", ["0123", "3210", "1032", "fb73", "a5f0", "4185"])
def test_cells_in_any_order_give_every_board_the_labs_value(path, cells):
    path.write_bytes(
        file_bytes(pattern_bytes("56", random_table("56", 3)), pattern_bytes(cells, random_table(cells, 4)))
    )
    checkpoint = read_lab(path)
    assert checkpoint.network.split()[1] == "".join(sorted(cells))
    for board in boards():
        assert our_value(checkpoint, board) == pytest.approx(lab_value(path, board), abs=1e-3)


@pytest.mark.parametrize(
    "network", ["0123 15", "cdef 6789", "14569", "37bf", "7654"[::-1], "26aef", "048c 159d", "0 5 12 af"]
)
def test_a_network_written_for_the_lab_gives_every_board_the_same_value(path, network):
    checkpoint = random_checkpoint(network, fresh_weight=3.0)
    write_lab(path, checkpoint)
    for board in boards():
        assert lab_value(path, board) == pytest.approx(our_value(checkpoint, board), abs=1e-2)


@pytest.mark.parametrize(
    ("network", "names"),
    [
        ("0123", ["0123"]),
        ("cdef", ["0123"]),  # the first row, upside down
        ("37bf", ["0123"]),  # and turned
        ("89ab", ["4567"]),
        ("159d", ["4567"]),
        ("69abe", ["14569"]),  # turned by half
        ("0145", ["0145"]),  # the lab does not know it
    ],
)
def test_a_pattern_that_the_lab_knows_by_another_image_gets_the_labs_name(path, network, names):
    checkpoint = random_checkpoint(network)
    write_lab(path, checkpoint)
    assert [name for name, _ in lab_patterns(path)] == [f"{len(name)}-tuple pattern {name}" for name in names]
    for board in boards():
        assert lab_value(path, board) == pytest.approx(our_value(checkpoint, board), abs=1e-2)


def test_the_network_that_is_the_labs_turned_by_half_goes_by_the_labs_names():
    names = ["".join(f"{cell:x}" for cell in known_form(pattern, LAB_PATTERNS)) for pattern in patterns_of("4x6")]
    assert sorted(names) == sorted(NETWORKS["lab"].split())


# --- Round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", ["0123 15", "4567 0123 14569", "5"])
def test_a_network_goes_to_the_lab_and_back_as_it_was(path, network):
    checkpoint = random_checkpoint(network)
    write_lab(path, checkpoint)
    found = read_lab(path)
    assert found.network == checkpoint.network
    assert (found.whole() == checkpoint.whole()).all()


def test_a_lab_file_comes_back_byte_for_byte(tmp_path, path):
    path.write_bytes(
        file_bytes(*(pattern_bytes(cells, random_table(cells, i)) for i, cells in enumerate(["0123", "4567"])))
    )
    write_lab(tmp_path / "again.bin", read_lab(path))
    assert (tmp_path / "again.bin").read_bytes() == path.read_bytes()


# --- What is refused --------------------------------------------------------------------------------------------------

GOOD = np.zeros(256, np.float32)
MANY = 2**63


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "ends within the number of patterns"),
        (b"\x01\0\0\0", "ends within the number of patterns"),
        (struct.pack("<Q", 0), "0 patterns"),
        (struct.pack("<Q", 65), "65 patterns"),
        (struct.pack("<Q", MANY), f"{MANY} patterns"),
        (struct.pack("<Q", 1), "ends within the length of name 1"),
        (struct.pack("<Qi", 1, 0), "a name of 0 bytes"),
        (struct.pack("<Qi", 1, -1), "a name of -1 bytes"),
        (struct.pack("<Qi", 1, 2**31 - 1), "1 to 256"),
        (struct.pack("<Qi", 1, 17) + b"1-tuple", "ends within name 1"),
        (file_bytes(pattern_bytes("01", GOOD))[:37], "ends within the size of"),
        (file_bytes(pattern_bytes("01", GOOD))[:-1], "ends within the weights of"),
        (file_bytes(pattern_bytes("01", GOOD)) + b"\0", "goes on for 1 bytes"),
        (file_bytes(pattern_bytes("01", GOOD), pattern_bytes("12", GOOD))[:-1024], "ends within"),
        (file_bytes(pattern_bytes("01", GOOD, size=255)), "255 weights"),
        (file_bytes(pattern_bytes("01", GOOD, size=2**62)), "256 are expected"),
        (file_bytes(pattern_bytes("01", np.full(256, np.nan))), "not numbers"),
        (file_bytes(pattern_bytes("01", np.full(256, np.inf))), "not numbers"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"2-tuple pattern 00")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"3-tuple pattern 01")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"2-tuple pattern 0g")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"2-tuple pattern 0A")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"2-tuple pattern 01 ")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"2-tuple pattern ")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"7-tuple pattern 0123456")), "named"),
        (file_bytes(pattern_bytes("01", GOOD, name=b"\xff\0\x1b[2J")), "named"),
        (b"PLYDNET1" + bytes(100), "patterns; 1 to 64 are allowed"),
    ],
)
def test_a_file_that_is_not_the_labs_is_refused(path, data, part):
    path.write_bytes(data)
    with pytest.raises(BadWeights) as error:
        read_lab(path)
    assert str(path) in str(error.value)
    assert part in str(error.value)
    assert str(error.value).isprintable()


def test_a_file_that_is_not_there_is_refused(path):
    with pytest.raises(BadWeights, match="No such file"):
        read_lab(path)


def test_a_network_with_other_than_16_indices_a_cell_has_no_lab_file(path):
    checkpoint = Checkpoint(
        "2584",
        "classic",
        "01",
        22,
        0.0,
        np.zeros(0, np.uint32),
        np.zeros(0, np.float32),
        np.zeros((0, 2), np.float32),
    )
    with pytest.raises(BadWeights, match=r"this network .* 22"):
        write_lab(path, checkpoint)
    assert not path.exists()


def test_a_network_of_2584_has_no_lab_file_whatever_its_cap(path):
    with pytest.raises(BadWeights):
        write_lab(path, random_checkpoint("01", game="2584"))
