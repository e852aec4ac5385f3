"""What has to hold for any bytes that are said to be weights: a network, a checkpoint, a lab's file.

Nothing of a file of ours is believed before its checksum agrees, so most of these sign what they are given: a header in
JSON, a line break, and the bytes of the arrays.
"""

import contextlib
import hashlib
import json
import warnings
from pathlib import Path

import numpy as np


def signed(data: bytes) -> bytes:
    """A file with a header and arrays, and the right checksum."""
    from plyd.models.files import ALIGNMENT, MAGIC

    header, _, rest = data.partition(b"\n")
    header += b" " * (-(len(MAGIC) + 4 + len(header)) % ALIGNMENT)
    body = MAGIC + len(header).to_bytes(4, "little") + header + rest
    return body + hashlib.sha256(body).digest()


def unsigned(path: Path) -> bytes:
    """What `signed` would make the file of."""
    data = path.read_bytes()[:-32]
    size = int.from_bytes(data[8:12], "little")
    return data[12 : 12 + size].rstrip() + b"\n" + data[12 + size :]


class Folder:
    """Files of weights, one at a time, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "weights.plyd"
        self.copy = folder / "copy.plyd"

    def raw(self, data: bytes) -> None:
        """Bytes as they are: all but a file of ours is refused."""
        from plyd.models.errors import BadWeights
        from plyd.models.files import read_file, write_file

        self.path.write_bytes(data)
        try:
            header, arrays, sha256 = read_file(self.path)
        except BadWeights as error:
            assert str(self.path) in str(error)
            return
        write_file(self.copy, header, arrays)
        again, same, _ = read_file(self.copy)
        assert (again, same.keys(), len(sha256)) == (header, arrays.keys(), 64)
        assert all(same[name].tobytes() == arrays[name].tobytes() for name in arrays)

    def file(self, data: bytes) -> None:
        """Any header and arrays, rightly signed."""
        self.raw(signed(data))

    def network(self, data: bytes) -> None:
        """A packed network is read, or refused before it takes much memory; so is its game looked up."""
        from plyd.engines.core.errors import BadModel
        from plyd.engines.registry import files_for
        from plyd.models.errors import BadWeights
        from plyd.models.ntuple.packing import pack, unpack, unpacked

        self.path.write_bytes(signed(data))
        try:
            network = unpack(self.path)
        except BadWeights as error:
            assert str(self.path) in str(error)
            network = None
        try:
            files_for("2048", [self.path])
        except BadModel as error:
            assert str(self.path) in str(error)
        if network is None:
            return
        assert isinstance(network.game, str)
        assert isinstance(network.variant, str)
        assert network.counts.dtype == np.int16
        checkpoint = unpacked(network)
        assert checkpoint.size == len(network.counts)
        pack(self.copy, checkpoint, network.step, 1.0, {})
        assert unpack(self.copy).counts.tolist() == network.counts.tolist()

    def checkpoint(self, data: bytes) -> None:
        """A checkpoint is read whole, or refused before it takes much memory."""
        from plyd.models.errors import BadWeights
        from plyd.models.ntuple.checkpoint import read_checkpoint, write_checkpoint

        self.path.write_bytes(signed(data))
        try:
            checkpoint = read_checkpoint(self.path)
        except BadWeights as error:
            assert str(self.path) in str(error)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert checkpoint.size > 1 << 20 or checkpoint.whole().shape == (checkpoint.size,)
        write_checkpoint(self.copy, checkpoint)
        again = read_checkpoint(self.copy)
        assert again.places.tolist() == checkpoint.places.tolist()

    def onnx_model(self, data: bytes) -> None:
        """An ONNX model is within its bounds, or refused."""
        from plyd.models.errors import BadWeights
        from plyd.models.onnx import check_model

        with contextlib.suppress(BadWeights):
            check_model(data)

    def lab(self, data: bytes) -> None:
        """A lab's file is read, and is then the same when it is written and read once more; or refused."""
        from plyd.models.errors import BadWeights
        from plyd.models.ntuple.lab import read_lab, write_lab

        self.path.write_bytes(data)
        try:
            checkpoint = read_lab(self.path)
        except BadWeights as error:
            assert str(self.path) in str(error)
            return
        write_lab(self.copy, checkpoint)
        assert (read_lab(self.copy).whole() == checkpoint.whole()).all()

    def tdl2048(self, data: bytes) -> None:
        """TDL2048's file is read, and is then the same when it is written and read once more; or refused."""
        from plyd.models.errors import BadWeights
        from plyd.models.ntuple.tdl2048 import read_tdl2048, write_tdl2048

        self.path.write_bytes(data)
        try:
            checkpoint = read_tdl2048(self.path)
        except BadWeights as error:
            assert str(self.path) in str(error)
            return
        write_tdl2048(self.copy, checkpoint)
        assert (read_tdl2048(self.copy).whole() == checkpoint.whole()).all()

    def patterns(self, data: bytes) -> None:
        """Gomoku's pattern weights are what the kernels index, or are refused."""
        from plyd.engines.core.errors import BadModel
        from plyd.engines.gomoku.board.evaluation import load

        self.path.write_bytes(signed(data))
        try:
            weights = load.__wrapped__(self.path)
        except BadModel as error:
            assert str(self.path) in str(error)
            return
        assert weights.value.shape == weights.ordering.shape

    def pattern_network(self, data: bytes) -> None:
        """Gomoku's pattern network is what the kernels index, or is refused."""
        from plyd.engines.core.errors import BadModel
        from plyd.engines.gomoku.board.network import SHAPES, load

        self.path.write_bytes(signed(data))
        try:
            network = load.__wrapped__(self.path)
        except BadModel as error:
            assert str(self.path) in str(error)
            return
        assert [array.shape for array in network] == [shape for _, shape in SHAPES.values()]

    def onnx(self, data: bytes) -> None:
        """A network that ONNX Runtime cannot use is refused in one line."""
        from plyd.engines.core.errors import BadModel
        from plyd.engines.gomoku.mcts.inference import load_network

        self.path.write_bytes(signed(data))
        try:
            load_network(self.path)
        except BadModel as error:
            assert str(self.path) in str(error)

    def kernel(self, data: bytes) -> None:
        """The index of a cached kernel that numba did not write is removed, whatever it holds."""
        from plyd.engines.core.kernel_cache import CheckedFiles

        index = self.path.with_name("kernel.nbi")
        index.write_bytes(data)
        assert CheckedFiles(str(index.parent), "kernel", "stamp")._load_index() == {}
        assert not index.exists()

    def games(self, data: bytes) -> None:
        """A file of Gomoku games is read or refused."""
        from plyd.engines.core.errors import BadPosition
        from plyd.engines.gomoku.fit.records import read_records

        self.path.write_bytes(data)
        try:
            for record in read_records(self.path):
                assert json.loads(record.text())["size"] == record.size
        except BadPosition as error:
            assert str(self.path) in str(error)


def tiny_network(folder: Path) -> bytes:
    """A packed network of 16 weights."""
    from plyd.models.ntuple.packing import pack

    pack(folder / "tiny.plyd", _checkpoint(), 0.5, 1.0, {"trained": {"games": 3}})
    return unsigned(folder / "tiny.plyd")


def tiny_checkpoint(folder: Path) -> bytes:
    """A checkpoint of the same."""
    from plyd.models.ntuple.checkpoint import write_checkpoint

    write_checkpoint(folder / "tiny.plyd", _checkpoint())
    return unsigned(folder / "tiny.plyd")


def tiny_lab() -> bytes:
    """A lab's file of two patterns."""
    table = np.arange(16, dtype="<f4").tobytes()
    parts = [(len(name).to_bytes(4, "little") + name) for name in (b"1-tuple pattern 3", b"1-tuple pattern 0")]
    size = (16).to_bytes(8, "little")
    return (2).to_bytes(8, "little") + b"".join(part + size + table for part in parts)


def tiny_tdl2048() -> bytes:
    """TDL2048's file of one pattern, with sums."""
    weights, sums = np.arange(16, dtype="<f4").tobytes(), np.ones(32, "<f4").tobytes()
    fields = [(4).to_bytes(2, "little") + (len(field) // 4).to_bytes(8, "little") + field for field in (weights, sums)]
    return b"\0\x01\0\0\0" + b"\x04\x03\0\0\0\x01\0\0\0" + b"".join(fields) + b"\0\0"


def _checkpoint():
    from plyd.models.ntuple.checkpoint import Checkpoint

    places, weights = np.array([1, 5, 9], np.uint32), np.array([2.0, -3.5, 400.0], np.float32)
    return Checkpoint("2048", "classic", "3", 16, 1.0, places, weights, np.ones((3, 2), np.float32))
