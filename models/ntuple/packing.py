"""n-tuple networks packed for play: the learned weights only, each as a whole number of steps.

    used      a bit for each weight, compressed: whether it was learned and kept; each stage begins with a new byte
    low       of those, in order, the low byte of the number of steps (as 0, -1, 1, -2, 2, ... count up), compressed
    high      and the high byte

A weight of a later stage that is not kept is that of the stage before.

It is read piece by piece, so that reading takes no more memory than the network itself. That is bounded too: by
MOST_WEIGHTS, and for what is learned or filled by the size of the file, since a few bytes could describe gigabytes.

All weights have the same step. Steps that grow with the weight would save bytes and cost strength: a value is a sum of
weights, and the rounding errors of its largest weights decide when two moves are compared.
"""

import contextlib
import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights
from plyd.models.files import Arrays, number_in, read_file, text_in, whole_in, write_file
from plyd.models.ntuple.checkpoint import Checkpoint, stage_facts, stages_in
from plyd.models.ntuple.patterns import MOST_INDICES, patterns_of

MOST_STEPS = 32767
MOST_WEIGHTS = 1 << 31  # of a network for play: 4 GiB
PIECE_WEIGHTS = 1 << 20  # read at a time
PAGE_WEIGHTS = 2048  # in a page of memory; the system provides those that are written to
PAGE_BYTES = 4096
LARGE_PAGE_BYTES = 2 * PIECE_WEIGHTS
DENSE_PAGES = 358  # of the 512 small pages in a large one: if so many are in use, a large one is worth its memory
SMALL_BYTES = 512 << 20  # that any network may use
MOST_EXPANSION = 512  # bytes used for each byte of the file; networks that were trained for a minute have 200
KIND = "network"
ARRAYS = ("used", "low", "high")
COMPRESSED_BYTES = 1 << 16  # decompressed at a time


@dataclass(frozen=True, slots=True)
class PackedNetwork:
    """A network for play: its game, and its weights in steps."""

    game: str
    variant: str
    network: str
    """Its patterns, as `patterns_of` reads them."""
    base: int
    counts: NDArray[np.int16]
    step: float
    fresh_weight: float
    sha256: str
    manifest: dict[str, Any]
    stages: list[list[int]]
    """Indices of the tiles with which each stage after the first begins. The weights of a stage follow those of the
    one before.
    """
    are_downgraded: bool
    """Whether boards of later stages are looked at downgraded."""


def pack(path: Path, checkpoint: Checkpoint, step: float, keep: float, manifest: dict[str, Any]) -> str:
    """Writes a checkpoint's weights for play, rounded to steps; the file's SHA-256.

    Of weights learned with temporal coherence it keeps, in each stage, the share with the largest sums of errors, which
    are those that were updated most.
    """
    if checkpoint.size > MOST_WEIGHTS:
        raise BadWeights(f"{checkpoint.size} weights are too many for play; at most {MOST_WEIGHTS} are allowed")
    used, kept = [], []
    for stage in range(1 + len(checkpoint.stages)):
        mine = np.flatnonzero(checkpoint.stage_of_places == stage)
        mine = mine[_most_updated(checkpoint.sums[mine, 1] if checkpoint.sums.size else None, mine.size, keep)]
        used.append(_bits(checkpoint.places[mine] - np.uint32(stage * checkpoint.stage_size), checkpoint.stage_size))
        kept.append(_folded(checkpoint.weights[mine], step))
    folded = np.concatenate(kept)
    header = {
        "kind": KIND,
        "game": checkpoint.game,
        "variant": checkpoint.variant,
        "network": checkpoint.network,
        "base": checkpoint.base,
        "weights": checkpoint.size,
        "kept": len(folded),
        "step": step,
        "fresh_weight": max(-MOST_STEPS * step, min(MOST_STEPS * step, checkpoint.fresh_weight)),
        "manifest": manifest,
    }
    header |= stage_facts(checkpoint)
    arrays = {
        "used": _deflated(np.concatenate(used)),
        "low": _deflated((folded & 0xFF).astype(np.uint8)),
        "high": _deflated((folded >> 8).astype(np.uint8)),
    }
    return write_file(path, header, arrays)


def unpack(path: Path) -> PackedNetwork:
    """The network of a file, checked."""
    header, arrays, sha256 = read_file(path)
    if header.get("kind") != KIND:
        raise BadWeights(f"{path} is a {header.get('kind')}, not a network; pack it first: plyd models pack")
    try:
        size, base = whole_in(header, "weights", MOST_WEIGHTS), whole_in(header, "base", MOST_INDICES)
        game, variant, network = (text_in(header, name) for name in ("game", "variant", "network"))
        stages, are_downgraded = stages_in(header)
        stage_size = sum(base ** len(pattern) for pattern in patterns_of(network))
        if size != stage_size * (1 + len(stages)):
            raise BadWeights(f"{path} has {size} weights, which its patterns do not")
        kept = whole_in(header, "kept", size)
        step = number_in(header, "step", 1e6)
        if not (0 < step < 1e6):
            raise BadWeights(f"{path} has steps of {step}")
        fresh = round(number_in(header, "fresh_weight", MOST_STEPS * step + step) / step)
        if abs(fresh) > MOST_STEPS:
            raise BadWeights(f"{path} has a fresh weight of {fresh} steps; at most {MOST_STEPS} are allowed")
        counts = _counts(arrays, stage_size, size, kept, fresh)
        return PackedNetwork(
            game,
            variant,
            network,
            base,
            counts,
            step,
            fresh * step,
            sha256,
            header.get("manifest", {}),
            stages,
            are_downgraded,
        )
    except BadWeights as error:
        raise BadWeights(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    except MemoryError:
        raise BadWeights(f"{path}: there is no memory for {2 * size >> 20} MiB of weights") from None
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, zlib.error) as error:
        raise BadWeights(f"{path} is not what a packed network should be: {error!r}") from None


def unpacked(network: PackedNetwork) -> Checkpoint:
    """A packed network as a checkpoint to train further, without the sums of temporal coherence."""
    fresh, size = round(network.fresh_weight / network.step), len(network.counts) // (1 + len(network.stages))
    learned = []
    for piece in _pieces(network.counts.size, size):
        before = network.counts[piece.start - size : piece.stop - size] if piece.start >= size else fresh
        learned.append(piece.start + np.flatnonzero(network.counts[piece.start : piece.stop] != before))
    places = np.concatenate(learned).astype(np.uint32)
    weights = network.counts[places] * np.float32(network.step)
    none = np.zeros((0, 2), np.float32)
    return Checkpoint(
        network.game,
        network.variant,
        network.network,
        network.base,
        network.fresh_weight,
        places,
        weights,
        none,
        stages=network.stages,
        are_downgraded=network.are_downgraded,
    )


def _pieces(size: int, stage_size: int) -> Iterator[range]:
    """The places of all weights, some at a time; no piece belongs to two stages."""
    for first in range(0, size, stage_size):
        for at in range(first, first + stage_size, PIECE_WEIGHTS):
            yield range(at, min(at + PIECE_WEIGHTS, first + stage_size))


def _most_updated(seen: NDArray[np.float32] | None, count: int, keep: float) -> NDArray[np.bool_]:
    """Which weights belong to the share that was updated most; all of them if that is not known."""
    if seen is None or not count:
        return np.ones(count, np.bool_)
    is_kept: NDArray[np.bool_] = seen >= np.quantile(seen, 1 - keep)
    return is_kept


def _bits(places: NDArray[np.uint32], size: int) -> NDArray[np.uint8]:
    """Bits, of which those at some places are set."""
    bits = np.zeros((size + 7) // 8, np.uint8)
    np.bitwise_or.at(bits, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))
    return bits


def _folded(weights: NDArray[np.float32], step: float) -> NDArray[np.int64]:
    """Weights in steps, zigzag encoded: 0 -1 1 -2 2 ... as 0 1 2 3 4 ..."""
    counts = np.clip(np.rint(weights / np.float32(step)), -MOST_STEPS, MOST_STEPS).astype(np.int64)
    folded: NDArray[np.int64] = (counts * 2) ^ (counts >> 63)
    return folded


def _places(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Indices of the bits that are set, in order. Most bytes are 0, so only the others are unpacked."""
    full = np.flatnonzero(bits)
    which, bit = np.nonzero(np.unpackbits(bits[full], bitorder="little").reshape(-1, 8))
    places: NDArray[np.int64] = full[which] * 8 + bit
    return places


def _counts(arrays: Arrays, stage_size: int, size: int, kept: int, fresh: int) -> NDArray[np.int16]:
    """The weights of a network in steps; raises BadWeights or ValueError if the arrays hold another network."""
    allowed = max(SMALL_BYTES, MOST_EXPANSION * sum(arrays[name].nbytes for name in ARRAYS))
    in_use = 2 * size if fresh else 0  # bytes
    used, low, high = (_Inflated(arrays[name]) for name in ARRAYS)
    _check_use(in_use, allowed)
    counts, space = _weights_in_memory(size)
    if fresh:
        counts.fill(fresh)
    found = 0
    for piece in _pieces(size, stage_size):
        here = counts[piece.start : piece.stop]
        bits = used.read((len(piece) + 7) // 8)
        places = _places(bits)
        found += len(places)
        if found > kept:
            raise BadWeights(f"its header says that it keeps {kept} weights; it keeps {found} or more")
        pages, inherited = _pages(bits), np.zeros(0, np.int64)
        if piece.start >= stage_size:  # a copy of the stage before, without touching pages of zeros
            before = counts[piece.start - stage_size : piece.stop - stage_size]
            inherited = np.flatnonzero(before != fresh)
            pages += len(np.unique(inherited // PAGE_WEIGHTS))
        in_use += 0 if fresh else PAGE_BYTES * pages
        _check_use(in_use, allowed)
        if pages >= DENSE_PAGES and piece.start % PIECE_WEIGHTS == 0:
            _use_large_page(space, piece.start)
        if len(inherited):
            here[inherited] = before[inherited]
        folded = low.read(len(places)).astype(np.uint16) | high.read(len(places)).astype(np.uint16) << 8
        here[places] = (folded >> 1).view(np.int16) ^ -(folded & 1).view(np.int16)
    if found != kept:
        raise BadWeights(f"its header says that it keeps {kept} weights; it keeps {found}")
    for each in (used, low, high):
        each.close()
    return counts


def _weights_in_memory(size: int) -> tuple[NDArray[np.int16], mmap.mmap]:
    """Zeros, and the memory they are in, from a multiple of a large page on. Small pages, until told otherwise.

    Most weights were never learned: with large pages only, the networks of 2584 would take half as much memory again.
    """
    try:
        space = mmap.mmap(-1, 2 * size + LARGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError):
        raise MemoryError from None
    _advise(space, "MADV_NOHUGEPAGE", 0, len(space))
    return np.frombuffer(space, np.int16, size, _first_large_page(space)), space


def _first_large_page(space: mmap.mmap) -> int:
    """Where the first large page of some memory begins."""
    return -np.frombuffer(space, np.uint8).ctypes.data % LARGE_PAGE_BYTES


def _use_large_page(space: mmap.mmap, at: int) -> None:
    """Let the weights from a multiple of PIECE_WEIGHTS on be in a large page: lookups there are quicker."""
    _advise(space, "MADV_HUGEPAGE", _first_large_page(space) + 2 * at, LARGE_PAGE_BYTES)


def _advise(space: mmap.mmap, name: str, start: int, length: int) -> None:
    with contextlib.suppress(AttributeError, OSError):  # other systems have no such advice
        space.madvise(getattr(mmap, name), start, length)


def _pages(bits: NDArray[np.uint8]) -> int:
    """The number of memory pages with a weight whose bit is set."""
    return int(np.count_nonzero(np.maximum.reduceat(bits, np.arange(0, len(bits), PAGE_WEIGHTS // 8))))


def _check_use(in_use: int, allowed: int) -> None:
    """Raise BadWeights if a network uses more memory than a file of its size may ask for."""
    if in_use > allowed:
        raise BadWeights(
            f"it uses {in_use >> 20} MiB or more; allowed for a file of its size are {allowed >> 20}: train for longer "
            "or train a smaller network"
        )


def _deflated(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(data.data, 9), np.uint8)


class _Inflated:
    """A compressed array, decompressed as far as it is read."""

    def __init__(self, data: NDArray[Any]) -> None:
        self._rest = memoryview(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data)
        self._inflater = zlib.decompressobj()

    def read(self, size: int) -> NDArray[np.uint8]:
        """The next `size` bytes; ValueError if there are not as many."""
        found = bytearray()
        while len(found) < size:
            piece = self._inflate(size - len(found))
            if not piece and (self._inflater.eof or not self._rest):
                raise ValueError(f"expected {size - len(found)} bytes more of data")
            found += piece
        return np.frombuffer(found, np.uint8)

    def close(self) -> None:
        """Raise ValueError unless all of it was read."""
        if self._inflate(1) or not self._inflater.eof or self._rest:
            raise ValueError("more data than expected")

    def _inflate(self, most: int) -> bytes:
        taken: bytes | memoryview = self._inflater.unconsumed_tail
        if not taken:
            taken, self._rest = self._rest[:COMPRESSED_BYTES], self._rest[COMPRESSED_BYTES:]
        return self._inflater.decompress(taken, most)
