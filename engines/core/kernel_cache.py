"""Where compiled kernels are kept: `njit` for every kernel of this package, with a cache that follows imports.

numba's own cache looks only at the file that a kernel stands in, so an edit to a function that it calls from another
file would go unseen. Here the key of a kernel is its file and every file of ours that this one imports, directly or
not: an edit recompiles what can see it, and nothing else.

    ~/.cache/plyd/kernels/gomoku.board.vcf-0f6b1c2a9d3e4f50/     one folder a source file and state of its imports

NUMBA_CACHE_DIR names another root. With no root to write to, kernels are compiled anew in every process.
"""

import atexit
import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

PACKAGE = Path(__file__).parents[2]  # the folder that is installed as plyd, or stands for it
UNUSED_DAYS = 14  # after which a folder is removed
IMPORT = re.compile(rb"^[ \t]*from plyd\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(rb"\w+")

njit = numba.njit


class ImportAwareLocator(caching._CacheLocator):
    """Tells numba where to keep a kernel of ours."""

    def __init__(self, kernel: Any, source: Path) -> None:
        self._py_file = str(source)  # the name that numba's warnings use
        self._line = kernel.__code__.co_firstlineno
        self._digest = digest_of(source)
        self._folder = folder_of(source, self._digest)

    def get_cache_path(self) -> str:
        """The folder of the kernel's files."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """What has to be equal for a compiled kernel to be used."""
        return self._digest

    def get_disambiguator(self) -> str:
        """What tells two kernels of one name in one file apart."""
        return str(self._line)

    @classmethod
    def from_function(cls, kernel: Any, file: str) -> "ImportAwareLocator | None":
        """A locator for a kernel of this package, None for any other: numba then asks its own locators."""
        source = Path(file)
        return cls(kernel, source) if source.is_relative_to(PACKAGE) else None


caching.CacheImpl._locator_classes.insert(0, ImportAwareLocator)


def digest_of(source: Path) -> str:
    """Sixteen hexadecimal digits over Python's version, a source file and all of ours that it imports."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(reachable(source)):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + contents(path) + b"\0")
    return digest.hexdigest()[:16]


def reachable(source: Path) -> set[Path]:
    """A source file and every file of ours that it imports, directly or through others."""
    found, open_ends = {source}, [source]
    while open_ends:
        for path in imported_by(open_ends.pop()):
            if path not in found:
                found.add(path)
                open_ends.append(path)
    return found


@functools.cache
def imported_by(source: Path) -> tuple[Path, ...]:
    """The files of ours that a source file imports by itself."""
    return tuple(_imports(contents(source)))


def _imports(text: bytes) -> Iterator[Path]:
    for module, names in IMPORT.findall(text):
        place = PACKAGE.joinpath(*module.decode().split("."))
        if place.with_suffix(".py").is_file():
            yield place.with_suffix(".py")
            continue
        for name in NAME.findall(names):  # `from plyd.engines.gomoku import renju` imports a file, too
            path = place / f"{name.decode()}.py"
            if path.is_file():
                yield path


@functools.cache
def contents(source: Path) -> bytes:
    """The bytes of a source file, as they were when this process first asked."""
    return source.read_bytes()


@functools.cache
def folder_of(source: Path, digest: str) -> Path:
    """The folder for the kernels of a source file: made if it is not there, marked as used if it is."""
    module = ".".join(source.relative_to(PACKAGE).with_suffix("").parts[1:])  # without the room
    folder = root() / f"{module}-{digest}"
    try:
        folder.mkdir(exist_ok=True)
        os.utime(folder)
    except OSError:  # somebody else's folder, or the disk is read-only: use what is there
        if not folder.is_dir():
            return _temporary_root()
    return folder


@functools.cache
def root() -> Path:
    """The folder of all kernels. What nobody has used for long is removed from it."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        found = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(home) / "plyd" / "kernels")
        found.mkdir(parents=True, exist_ok=True)
        if os.access(found, os.W_OK):
            prune(found)
            return found
    except (OSError, RuntimeError):
        pass
    return _temporary_root()


@functools.cache
def _temporary_root() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="plyd-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def prune(folder: Path) -> None:
    """Remove what has not been used for UNUSED_DAYS; only folders that are named as this module names them."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    for old in folder.iterdir():
        if re.fullmatch(r"([\w.]+-)?[0-9a-f]{16}", old.name) and old.stat().st_mtime < oldest:
            shutil.rmtree(old, ignore_errors=True)
