"""Files of arrays: read back as written, refused when anything is wrong with them, never left half written."""

import hashlib
import json
import os

import numpy as np
import pytest

from plyd.models.errors import BadWeights
from plyd.models.files import DTYPES, MAGIC, read_file, write_file

HEADER = {"kind": "test", "plan": {"game": "2584", "cap": 21}, "notes": ["é", None, 1.5]}
ARRAYS = {"weights": np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4), "seeds": np.array([2**64 - 1], np.uint64)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.plyd"


@pytest.fixture
def whole(path):
    """The bytes of a good file."""
    write_file(path, HEADER, ARRAYS)
    return path.read_bytes()


def write_raw(path, header, arrays=b""):
    """Writes a file with this header, right or wrong, and the checksum that fits."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = MAGIC + len(text).to_bytes(4, "little") + text + arrays
    path.write_bytes(body + hashlib.sha256(body).digest())


def assert_same(read, written):
    assert list(read) == list(written), "the same names in the same order"
    for name, array in written.items():
        assert read[name].dtype == array.dtype
        assert read[name].shape == array.shape
        assert read[name].tobytes() == array.tobytes()


# --- Round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_an_array_of_each_type_is_read_as_it_was_written(path, dtype):
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    array = np.array([[limits.min, limits.max, 0], [1, 2, 3]], dtype)
    write_file(path, {}, {"a": array})
    assert_same(read_file(path)[1], {"a": array})


def test_numbers_that_are_not_numbers_keep_every_bit(path):
    array = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])
    write_file(path, {}, {"a": array})
    assert_same(read_file(path)[1], {"a": array})


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (2, 3, 4), (1, 1, 1, 1, 1)])
def test_an_array_of_any_shape_is_read_as_it_was_written(path, shape):
    arrays = {
        "before": np.array([1, 2, 3], np.uint8),
        "a": np.full(shape, 7, np.int64),
        "after": np.array([4], np.uint8),
    }
    write_file(path, {}, arrays)
    assert_same(read_file(path)[1], arrays)


def test_an_array_that_is_not_contiguous_is_written_row_by_row(path):
    grid = np.arange(24, dtype=np.int16).reshape(4, 6)
    write_file(path, {}, {"turned": grid.T, "some": grid[::2, 1::2]})
    _, arrays, _ = read_file(path)
    assert arrays["turned"].tolist() == grid.T.tolist()
    assert arrays["some"].tolist() == grid[::2, 1::2].tolist()


def test_a_file_may_have_no_arrays(path):
    write_file(path, HEADER, {})
    assert read_file(path)[:2] == (HEADER, {})


def test_the_header_is_read_as_it_was_written_and_does_not_list_the_arrays(path, whole):
    header, arrays, _ = read_file(path)
    assert header == HEADER
    assert_same(arrays, ARRAYS)


def test_writer_and_reader_tell_the_checksum_that_stands_at_the_end(path):
    written = write_file(path, HEADER, ARRAYS)
    data = path.read_bytes()
    assert written == read_file(path)[2] == data[-32:].hex() == hashlib.sha256(data[:-32]).hexdigest()


def test_a_file_begins_with_its_name_and_the_length_of_its_header(whole):
    assert whole[:8] == b"PLYDNET1"
    size = int.from_bytes(whole[8:12], "little")
    header = json.loads(whole[12 : 12 + size])
    assert header["arrays"][0] == {"name": "weights", "dtype": "float32", "shape": [3, 4]}
    assert whole[12 : 12 + size].rstrip(b" ").endswith(b"}"), "padded with spaces"


def test_arrays_begin_at_multiples_of_64_bytes_with_zeros_between_them(whole):
    # header up to a multiple of 64 | 48 bytes of weights, 16 zeros | 8 bytes of seeds, 56 zeros | checksum
    begin = 12 + int.from_bytes(whole[8:12], "little")
    assert begin % 64 == 0
    assert whole[begin : begin + 48] == ARRAYS["weights"].tobytes()
    assert whole[begin + 48 : begin + 64] == bytes(16)
    assert whole[begin + 64 : begin + 72] == b"\xff" * 8
    assert whole[begin + 72 : begin + 128] == bytes(56)
    assert len(whole) == begin + 128 + 32


@pytest.mark.parametrize("length", [63, 64, 65])
def test_an_array_that_fills_its_64_bytes_is_followed_by_the_next_at_once(path, length):
    arrays = {"a": np.arange(length, dtype=np.uint8), "b": np.array([7.5])}
    write_file(path, {}, arrays)
    data = path.read_bytes()
    begin = 12 + int.from_bytes(data[8:12], "little")
    assert len(data) == begin + (64 if length <= 64 else 128) + 64 + 32
    assert_same(read_file(path)[1], arrays)


def test_arrays_read_may_be_written_to(path, whole):
    _, arrays, _ = read_file(path)
    arrays["weights"] += 1
    assert arrays["weights"][0, 0] == -1


def test_a_big_endian_array_is_written_little_endian(path):
    write_file(path, {}, {"a": np.array([1.0, 2.0], ">f4")})
    assert read_file(path)[1]["a"].tolist() == [1.0, 2.0]


# --- What is refused --------------------------------------------------------------------------------------------------


def refusal(path):
    with pytest.raises(BadWeights) as error:
        read_file(path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_a_file_that_is_not_there_is_refused(path):
    assert "No such file" in refusal(path)


def test_a_folder_is_refused(tmp_path):
    assert "cannot read" in refusal(tmp_path)


@pytest.mark.parametrize("data", [b"", b"PLYD", b"PLYDNET2" + bytes(100), b"\x93NUMPY\x01\0" + bytes(100), bytes(200)])
def test_a_file_that_begins_otherwise_is_refused(path, data):
    path.write_bytes(data)
    assert "does not begin with PLYDNET1" in refusal(path)


def test_a_file_cut_anywhere_is_refused(path, whole):
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


def test_a_file_with_any_byte_changed_is_refused(path, whole):
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        refusal(path)


@pytest.mark.parametrize("more", [b"\0", b"\n", bytes(32)])
def test_a_file_with_bytes_behind_its_end_is_refused(path, whole, more):
    path.write_bytes(whole + more)
    assert "SHA-256" in refusal(path)


def one_array(**changed):
    """A header that lists two floats, but for what is changed."""
    return {"arrays": [{"name": "a", "dtype": "float32", "shape": [2], **changed}]}


def test_the_header_that_the_next_tests_change_is_good(path):
    write_raw(path, one_array(), bytes(64))
    assert read_file(path)[1]["a"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("header", "length"), [({"arrays": []}, 64), (one_array(shape=[17]), 64), (one_array(), 128)])
def test_arrays_that_do_not_fill_the_file_are_refused(path, header, length):
    write_raw(path, header, bytes(length))
    refusal(path)


def test_an_array_without_the_zeros_that_should_follow_it_is_refused(path):
    write_raw(path, one_array(), bytes(8))
    assert "do not fill it" in refusal(path)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"nonsense",
        3,
        None,
        "arrays",
        [],
        {},
        {"arrays": None},
        {"arrays": 1},
        {"arrays": "a"},
        {"arrays": [3]},
        {"arrays": [[]]},
        {"arrays": [{}]},
        {"arrays": {"a": 1}},
        one_array(shape=None),
        one_array(shape=2),
        one_array(shape=[17]),
        one_array(shape=[64]),
        one_array(shape=[-1]),
        one_array(shape=[-1, -2]),
        one_array(shape=[None]),
        one_array(shape=[2**70]),
        one_array(shape=[0, 2**70]),
        one_array(shape=["x"]),
        one_array(dtype=["float32"]),
        one_array(dtype=None),
        one_array(name=["a"]),
        one_array(shape=[2.0]),
        one_array(shape=[True, 2]),
        one_array(shape=[float("inf")]),
        {"arrays": [one_array(shape=[1])["arrays"][0], one_array(shape=[1])["arrays"][0]]},
        b"[" * 200_000,
    ],
    ids=lambda header: str(header)[:60],
)
@pytest.mark.parametrize("length", [8, 64])
def test_a_header_that_makes_no_sense_is_refused_though_the_checksum_is_right(path, header, length):
    write_raw(path, header, bytes(length))
    refusal(path)


def test_a_header_longer_than_the_file_is_refused(path):
    body = MAGIC + (2**32 - 1).to_bytes(4, "little") + json.dumps(one_array()).encode() + bytes(8)
    path.write_bytes(body + hashlib.sha256(body).digest())
    assert "has a header of 4294967295 bytes; at most 1048576 are allowed" in refusal(path)


@pytest.mark.parametrize("dtype", ["object", "O", "str64", "complex128", "void64", "datetime64[s]", ">f4", "bool"])
def test_an_array_of_anything_but_plain_numbers_is_refused(path, dtype):
    write_raw(path, one_array(dtype=dtype), bytes(64))
    assert "array a" in refusal(path)


@pytest.mark.parametrize("array", [np.array([{}]), np.array(["ab"]), np.array([1j]), np.array([True])], ids=repr)
def test_an_array_that_could_not_be_read_is_not_written(path, whole, array):
    with pytest.raises(BadWeights, match="array odd has the type"):
        write_file(path, {}, {"a": np.zeros(3), "odd": array})
    assert path.read_bytes() == whole
    assert list(path.parent.iterdir()) == [path]


# --- Written whole or not at all --------------------------------------------------------------------------------------


def test_a_file_is_written_into_folders_that_are_made_for_it(tmp_path):
    path = tmp_path / "runs" / "new" / "weights.plyd"
    write_file(path, HEADER, ARRAYS)
    assert_same(read_file(path)[1], ARRAYS)


def test_a_new_file_takes_the_place_of_the_old_one_and_nothing_else_is_left(path, whole):
    write_file(path, {"kind": "new"}, {})
    assert read_file(path)[0] == {"kind": "new"}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()], ids=["disk full", "interrupted"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(path, whole, monkeypatch, step, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_file(path, {"kind": "new"}, {"a": np.arange(1000)})
    monkeypatch.undo()
    assert path.read_bytes() == whole
    assert list(path.parent.iterdir()) == [path]


def test_a_header_that_is_no_json_leaves_the_old_file_and_nothing_else(path, whole):
    with pytest.raises(TypeError):
        write_file(path, {"rate": np.float32(1)}, ARRAYS)
    assert path.read_bytes() == whole
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_who_opened_the_old_file_reads_it_to_the_end(path, whole):
    with path.open("rb") as reader:
        begin = reader.read(20)
        write_file(path, {"kind": "new"}, {})
        assert begin + reader.read() == whole
