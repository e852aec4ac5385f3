"""Files of arrays: a header in JSON, the arrays' own bytes, and a SHA-256 over all of it at the end.

    8 bytes      "PLYDNET1"
    4 bytes      length of the header, little-endian
    header       JSON: facts of the writer's choice, and "arrays": name, dtype and shape of each, in order
    arrays       one after the other, little-endian, in C order, each from the next multiple of 64 bytes on
    32 bytes     SHA-256 of everything before it

A file holds nothing that is executed, and nothing of it is used before the checksum agrees. It is written under another
name and then renamed, so a reader finds either the old file or the new one.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights

MAGIC = b"PLYDNET1"
CHECKPOINT, MANIFEST = "checkpoint.plyd", "manifest.json"  # of a training run's folder
DTYPES = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"}
MOST_HEADER = 1 << 20  # bytes
ALIGNMENT = 64  # bytes; the header is padded with spaces so that arrays begin at a multiple of it
Arrays = dict[str, NDArray[Any]]


def write_file(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Writes the file, completely or not at all; its SHA-256, which is also at its end."""
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise BadWeights(f"array {name} has the type {array.dtype}, which files cannot hold")
    listed = [{"name": name, "dtype": array.dtype.name, "shape": array.shape} for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": listed}).encode()
    text += b" " * (-(len(MAGIC) + 4 + len(text)) % ALIGNMENT)
    digest = hashlib.sha256()
    if len(text) > MOST_HEADER:
        raise BadWeights(f"a header of {len(text)} bytes is too long; at most {MOST_HEADER} are allowed")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.new")  # a fixed name, so that the rest of a crash is overwritten
    try:
        with unfinished.open("wb") as file:
            pieces: list[Any] = [MAGIC, len(text).to_bytes(4, "little"), text]
            for array in arrays.values():
                data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
                pieces += [data, b"\0" * (-data.size % ALIGNMENT)]
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a full disk has no path
        raise
    return digest.hexdigest()


def read_file(path: Path) -> tuple[dict[str, Any], Arrays, str]:
    """The header, the arrays, and the SHA-256, which was checked."""
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise BadWeights(f"cannot read {path}: {error.strerror or error}") from None
    view = memoryview(data.data)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise BadWeights(f"{path} is not a file of weights: it does not begin with {MAGIC.decode()}")
    body, end = view[:-32], bytes(view[-32:])
    digest = hashlib.sha256(body)
    if len(view) < len(MAGIC) + 4 + 32 or digest.digest() != end:
        raise BadWeights(f"{path} is corrupt or cut short: its SHA-256 does not agree")
    size = int.from_bytes(body[8:12], "little")
    if size > MOST_HEADER:
        raise BadWeights(f"{path} has a header of {size} bytes; at most {MOST_HEADER} are allowed")
    try:
        header = json.loads(bytes(body[12 : 12 + size]))
        arrays, at = {}, 12 + size
        for listed in header.pop("arrays"):
            name, dtype, shape = listed["name"], listed["dtype"], listed["shape"]
            if name in arrays or dtype not in DTYPES or not all(type(n) is int and n >= 0 for n in shape):
                raise ValueError(f"array {name}")
            length = math.prod(shape) * np.dtype(dtype).itemsize
            arrays[name] = data[at : at + length].view(dtype).reshape(shape)
            at += length + -length % ALIGNMENT
        if at != len(body):
            raise ValueError("its arrays do not fill it")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadWeights(f"{path} has a header that makes no sense: {type(error).__name__} {error}") from None
    return header, arrays, digest.hexdigest()


def kind_of(path: Path) -> str:
    """The kind that a file's header claims, to choose who reads it: nothing is checked yet. Empty for other files."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return ""
            header = json.loads(file.read(min(int.from_bytes(file.read(4), "little"), MOST_HEADER)))
    except OSError as error:
        raise BadWeights(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        header = None
    return str(header.get("kind")) if isinstance(header, dict) else "damaged file"


def manifest_of(run: Path) -> dict[str, Any]:
    """The manifest of a training run's folder; empty if there is none."""
    path = run / MANIFEST
    try:
        found = json.loads(path.read_text()) if path.exists() else {}
    except ValueError as error:
        raise BadWeights(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadWeights(f"{path} is not a manifest: it is no JSON object")
    return found


def write_manifest(file: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest of a network beside its file."""
    file.with_suffix(".json").write_text(json.dumps(manifest, indent=2) + "\n")


def whole_in(header: Mapping[str, Any], name: str, most: int) -> int:
    """A whole number of a header, from 0 to a maximum; ValueError for anything else."""
    value = header[name]
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{name} is {value!r:.60}; allowed is a whole number from 0 to {most}")
    return value


def number_in(header: Mapping[str, Any], name: str, most: float) -> float:
    """A number of a header, with a maximum size; ValueError for anything else."""
    value = header[name]
    if type(value) not in (int, float) or not -most <= value <= most:
        raise ValueError(f"{name} is {value!r:.60}; allowed is a number from {-most:g} to {most:g}")
    return float(value)


def text_in(header: Mapping[str, Any], name: str) -> str:
    """A text of a header; ValueError for anything else."""
    value = header[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r:.60}; allowed is a text")
    return value
