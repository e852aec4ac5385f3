"""n-tuple networks packed for play: the learned weights only, each as a whole number of steps.

    used      a bit for each weight, compressed: whether it was learned and kept
    low       of those, in order, the low byte of the number of steps (as 0, -1, 1, -2, 2, ... count up), compressed
    high      and the high byte

All weights have the same step. Steps that grow with the weight would save bytes and cost strength: a value is a sum of
weights, and the rounding errors of its largest weights decide when two moves are compared.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights
from plyd.models.files import number_in, read_file, text_in, whole_in, write_file
from plyd.models.ntuple.checkpoint import Checkpoint
from plyd.models.ntuple.patterns import MOST_INDICES, MOST_WEIGHTS, patterns_of

MOST_STEPS = 32767
KIND = "network"


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


def pack(path: Path, checkpoint: Checkpoint, step: float, keep: float, manifest: dict[str, Any]) -> str:
    """Writes a checkpoint's weights for play, rounded to steps; the file's SHA-256.

    Of weights learned with temporal coherence it keeps the share with the largest sums of errors, which are those that
    were updated most.
    """
    seen = checkpoint.sums[:, 1]
    is_kept = seen >= np.quantile(seen, 1 - keep) if seen.size else np.ones(len(checkpoint.places), np.bool_)
    folded = _folded(checkpoint.weights[is_kept], step)
    used = np.zeros(checkpoint.size, np.bool_)
    used[checkpoint.places[is_kept]] = True
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
    arrays = {
        "used": _deflated(np.packbits(used, bitorder="little")),
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
        if size != sum(base ** len(pattern) for pattern in patterns_of(network)):
            raise BadWeights(f"{path} has {size} weights, which its patterns do not")
        kept = whole_in(header, "kept", size)  # checked before anything is decompressed, as its limit
        places = _places(_inflated(arrays["used"], (size + 7) // 8))
        if len(places) != kept:
            raise BadWeights(f"{path} says that it keeps {kept} weights; it keeps {len(places)}")
        step = number_in(header, "step", 1e6)
        if not (0 < step < 1e6):
            raise BadWeights(f"{path} has steps of {step}")
        folded = _inflated(arrays["low"], kept).astype(np.uint16)
        folded |= _inflated(arrays["high"], kept).astype(np.uint16) << 8
        fresh = round(number_in(header, "fresh_weight", MOST_STEPS * step + step) / step)
        if abs(fresh) > MOST_STEPS:
            raise BadWeights(f"{path} has a fresh weight of {fresh} steps; at most {MOST_STEPS} are allowed")
        counts = np.full(size, fresh, np.int16) if fresh else np.zeros(size, np.int16)
        counts[places] = (folded >> 1).view(np.int16) ^ -(folded & 1).view(np.int16)
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
        )
    except BadWeights as error:
        raise BadWeights(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, zlib.error) as error:
        raise BadWeights(f"{path} is not what a packed network should be: {error!r}") from None


def unpacked(network: PackedNetwork) -> Checkpoint:
    """A packed network as a checkpoint to train further, without the sums of temporal coherence."""
    places = np.flatnonzero(network.counts != round(network.fresh_weight / network.step)).astype(np.uint32)
    weights = network.counts[places] * np.float32(network.step)
    none = np.zeros((0, 2), np.float32)
    return Checkpoint(
        network.game, network.variant, network.network, network.base, network.fresh_weight, places, weights, none
    )


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


def _deflated(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(data.data, 9), np.uint8)


def _inflated(data: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The decompressed data, which must be `size` bytes. Never decompresses more than that."""
    inflater = zlib.decompressobj()
    out = inflater.decompress(data.tobytes(), size + 1)  # one more, since 0 would mean no limit
    if len(out) != size:
        raise ValueError(f"expected {size} bytes of data")
    return np.frombuffer(out, np.uint8)
