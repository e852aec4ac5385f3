"""TDL2048's weight file: byte for byte, both ways, and the same value for every board."""

import struct

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.models import cli
from plyd.models.errors import BadWeights
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.patterns import patterns_of
from plyd.models.ntuple.tdl2048 import SMALLEST, read_tdl2048, write_tdl2048
from tests.engines.tiles.slow_tiles import IMAGES, SlowNetwork

FORMS = {2: "<f2", 4: "<f4", 8: "<f8"}


def field_bytes(numbers, size=4, count=None):
    head = struct.pack("<HQ", size, len(numbers) if count is None else count)
    return head + np.asarray(numbers, FORMS.get(size, "<f4")).tobytes()


def table_bytes(name, *fields, digits=None, code=4):
    """One table as TDL2048 writes it; a name that is no number of hexadecimal digits is written as text."""
    try:
        number = struct.pack("<IHH", int(name, 16), len(name) if digits is None else digits, 0)
    except ValueError:
        number = name.ljust(8).encode()
    return struct.pack("<B", code) + number + b"".join(fields) + struct.pack("<H", 0)


def file_bytes(*tables, code=0, count=None):
    return struct.pack("<BI", code, len(tables) if count is None else count) + b"".join(tables)


def their_value(path, cells):
    """TDL2048's value of a board, from the file's bytes."""
    data, at, total = path.read_bytes(), 5, 0.0
    for _ in range(struct.unpack_from("<I", data, 1)[0]):
        number, digits, _ = struct.unpack_from("<IHH", data, at + 1)
        listed = [int(digit, 16) for digit in f"{number:0{digits}x}"]
        at += 9
        fields = []
        while size := struct.unpack_from("<H", data, at)[0]:
            (count,) = struct.unpack_from("<Q", data, at + 2)
            fields.append(np.frombuffer(data, FORMS[size], count, at + 10))
            at += 10 + size * count
        at += 2
        for image in IMAGES:
            place = sum(cells[image[cell]] << (4 * i) for i, cell in enumerate(listed))
            total += float(fields[0][place])
    assert at == len(data)
    return total


def our_value(checkpoint, cells):
    return SlowNetwork(patterns_of(checkpoint.network), 16, checkpoint.whole()).value(cells)


def random_checkpoint(network, with_sums=True, **changed):
    rng = np.random.default_rng(1)
    size = sum(16 ** len(pattern) for pattern in patterns_of(network))
    places = np.sort(rng.choice(size, min(size, 5000), replace=False)).astype(np.uint32)
    weights = rng.normal(0, 10, places.size).astype(np.float32)
    sums = np.abs(rng.normal(0, 100, (places.size, 2)) + 200).astype(np.float32)
    facts = {"game": "2048", "variant": "classic", "network": network, "base": 16, "fresh_weight": 0.0} | changed
    none = np.zeros((0, 2), np.float32)
    return Checkpoint(**facts, places=places, weights=weights, sums=sums if with_sums else none)


def boards(count=10):
    return [tuple(cells) for cells in np.random.default_rng(2).integers(0, 16, (count, 16)).tolist()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.w"


ONE_CELL = np.zeros(16, np.float32)
ONE_CELL[[1, 15]] = 2.5, -1.0
#  file 0, one table | table 4 | name 5 of one digit | 16 numbers of 4 bytes | no more fields
GOLDEN = (
    b"\0\x01\0\0\0"
    b"\x04"
    b"\x05\0\0\0\x01\0\0\0"
    b"\x04\0\x10\0\0\0\0\0\0\0" + bytes(4) + b"\0\0\x20\x40" + bytes(4 * 13) + b"\0\0\x80\xbf"
    b"\0\0"
)


def test_a_file_written_by_hand_is_read_and_written(path):
    path.write_bytes(GOLDEN)
    found = read_tdl2048(path)
    assert (found.game, found.variant, found.network, found.base) == ("2048", "classic", "5", 16)
    assert (found.places.tolist(), found.weights.tolist()) == ([1, 15], [2.5, -1.0])
    assert found.sums.shape == (0, 2)
    write_tdl2048(path, found)
    assert path.read_bytes() == GOLDEN


def test_sums_of_temporal_coherence_are_shares_of_an_error_there_and_whole_errors_here(path):
    errors, sizes = np.full(16, SMALLEST), np.full(16, SMALLEST)
    errors[1], sizes[1], sizes[15] = -0.5, 1.5, 2.0
    path.write_bytes(file_bytes(table_bytes("5", field_bytes(ONE_CELL), field_bytes([*errors, *sizes]))))
    found = read_tdl2048(path)
    assert found.sums.tolist() == [[-4.0, 12.0], [0.0, 16.0]]  # 8 features: one pattern on eight images
    before = path.read_bytes()
    write_tdl2048(path, found)
    assert path.read_bytes() == before


@pytest.mark.parametrize("network", ["0123 15", "cdef 6789", "26aef", "0 5 12 af"])
@pytest.mark.parametrize("with_sums", [False, True])
def test_a_network_goes_there_and_back_with_the_same_value_for_every_board(path, network, with_sums):
    checkpoint = random_checkpoint(network, with_sums)
    write_tdl2048(path, checkpoint)
    found = read_tdl2048(path)
    for board in boards():
        assert their_value(path, board) == pytest.approx(our_value(checkpoint, board), abs=1e-2)
        assert our_value(found, board) == pytest.approx(our_value(checkpoint, board), abs=1e-2)
    assert found.sums.sum() == pytest.approx(checkpoint.sums.sum(), rel=1e-4)


@pytest.mark.parametrize("cells", ["0123", "3210", "a5f0", "4185"])
def test_cells_in_any_order_give_every_board_the_same_value(path, cells):
    table = np.random.default_rng(3).normal(0, 10, 16**4)
    path.write_bytes(file_bytes(table_bytes(cells, field_bytes(table))))
    for board in boards():
        assert our_value(read_tdl2048(path), board) == pytest.approx(their_value(path, board), abs=1e-3)


@pytest.mark.parametrize("size", FORMS)
def test_numbers_of_two_four_and_eight_bytes_are_read(path, size):
    path.write_bytes(file_bytes(table_bytes("5", field_bytes(ONE_CELL, size))))
    assert read_tdl2048(path).weights.tolist() == [2.5, -1.0]


def test_an_old_name_without_its_digits_gets_zeros_by_its_weights(path):
    path.write_bytes(file_bytes(table_bytes("0123", field_bytes(np.ones(16**4)), digits=0)))
    assert read_tdl2048(path).network == "0123"


def test_fields_that_nobody_knows_are_skipped(path):
    path.write_bytes(file_bytes(table_bytes("5", field_bytes(ONE_CELL), field_bytes([1, 2, 3]))))
    assert read_tdl2048(path).weights.tolist() == [2.5, -1.0]


GOOD = field_bytes(ONE_CELL)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "ends within the first byte"),
        (b"\x01" + GOLDEN[1:], "begins with 1"),
        (file_bytes(count=0), "0 tables"),
        (file_bytes(count=65), "65 tables"),
        (file_bytes(table_bytes("5", GOOD, code=3)), "format 3"),
        (file_bytes(table_bytes("5", field_bytes(ONE_CELL, size=3))), "numbers of 3 bytes"),
        (file_bytes(table_bytes("num", GOOD)), "named 'num'"),
        (file_bytes(table_bytes("55", field_bytes(np.ones(256)))), "named '55'"),
        (file_bytes(table_bytes("0123456", GOOD)), "named '0123456'"),
        (file_bytes(table_bytes("56", GOOD)), "256 are expected"),
        (file_bytes(table_bytes("5", field_bytes([], count=2**60))), "16 are expected"),
        (file_bytes(table_bytes("5", GOOD, field_bytes([], count=2**60))), "ends within the table of 5"),
        (file_bytes(table_bytes("5", field_bytes(np.full(16, np.nan)))), "not numbers"),
        (file_bytes(table_bytes("5", field_bytes(np.full(16, 1e300), size=8))), "not numbers"),
        (GOLDEN[:-3], "ends within"),
        (GOLDEN + b"\0", "goes on for 1 bytes"),
    ],
)
def test_a_file_that_is_not_tdl2048s_is_refused(path, data, part):
    path.write_bytes(data)
    with pytest.raises(BadWeights) as error:
        read_tdl2048(path)
    assert str(path) in str(error.value)
    assert part in str(error.value)


def test_a_network_of_2584_has_no_such_file(path):
    with pytest.raises(BadWeights, match=r"this network is for 2584"):
        write_tdl2048(path, random_checkpoint("01", game="2584"))


def test_the_commands_take_files_of_both_frameworks(tmp_path):
    write_checkpoint(tmp_path / "run" / "checkpoint.plyd", random_checkpoint("0123 14569", with_sums=False))
    for name in ("mine.w", "mine.bin"):
        for command in (["export", "run", name], ["import", name, f"from-{name}"]):
            words = [word if i == 0 else str(tmp_path / word) for i, word in enumerate(command)]
            done = CliRunner().invoke(cli.models, words)
            assert done.exit_code == 0, done.output
            assert command[0] == "export" or "--rate 0.1" in done.output
    one, two = (read_checkpoint(tmp_path / f"from-{name}") for name in ("mine.w", "mine.bin"))
    assert one.network == two.network
    assert (one.whole() == two.whole()).all()
    assert (tmp_path / "mine.w").read_bytes()[0] == 0 != (tmp_path / "mine.bin").read_bytes()[0]
