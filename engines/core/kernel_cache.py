"""Where compiled kernels are kept: `njit` for every kernel of this package, with a cache that follows imports.

numba's own cache checks only the file that a kernel is in, so it misses an edit to a function that the kernel calls
from another file. Here the cache key covers the kernel's file and every plyd file that it imports, directly or
indirectly: an edit recompiles the kernels that can see it, and no others.

    ~/.cache/plyd/kernels/gomoku.board.vcf-0f6b1c2a9d3e4f50/     one folder per source file and state of its imports

NUMBA_CACHE_DIR sets another root. If no root is writable, every process compiles its kernels again.
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

PACKAGE = Path(__file__).parents[2]  # the folder that is installed as plyd, or its source checkout
UNUSED_DAYS = 14  # after this many days without use, a folder is removed
IMPORT = re.compile(rb"^[ \t]*from plyd\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(rb"\w+")
USES_US = b"from plyd.engines.core.kernel_cache import njit"  # sources outside of this package: plug-ins, tests

njit = numba.njit


class ImportAwareLocator(caching._CacheLocator):
    """Tells numba where to cache a kernel of this package."""

    def __init__(self, kernel: Any, source: Path) -> None:
        self._py_file = str(source)  # numba's warnings read this name
        self._line = kernel.__code__.co_firstlineno
        self._digest = digest_of(source)
        self._folder = folder_of(source, self._digest)

    def get_cache_path(self) -> str:
        """The folder of the kernel's cache files."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """The stamp that must match for a cached kernel to be used."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Distinguishes kernels of the same name in one file."""
        return str(self._line)

    @classmethod
    def from_function(cls, kernel: Any, file: str) -> "ImportAwareLocator | None":
        """A locator for a kernel of this package; None for other functions, so that numba tries its own locators."""
        source = Path(file)
        is_ours = source.is_relative_to(PACKAGE) or (source.is_file() and USES_US in contents(source))
        return cls(kernel, source) if is_ours else None


caching.CacheImpl._locator_classes.insert(0, ImportAwareLocator)


def digest_of(source: Path) -> str:
    """Sixteen hexadecimal digits over Python's version, a source file and every plyd file that it imports."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(reachable(source)):
        digest.update(module_of(path).encode() + b"\0" + contents(path) + b"\0")
    return digest.hexdigest()[:16]


def reachable(source: Path) -> set[Path]:
    """A source file and every plyd file that it imports, directly or indirectly."""
    found, open_ends = {source}, [source]
    while open_ends:
        for path in imported_by(open_ends.pop()):
            if path not in found:
                found.add(path)
                open_ends.append(path)
    return found


def module_of(source: Path) -> str:
    """A name for a source file that does not depend on where the package is installed."""
    is_ours = source.is_relative_to(PACKAGE)
    parts = source.relative_to(PACKAGE).parts[1:] if is_ours else source.parts[-2:]
    return ".".join(parts).removesuffix(".py")


@functools.cache
def imported_by(source: Path) -> tuple[Path, ...]:
    """The plyd files that a source file imports directly."""
    return tuple(_imports(contents(source)))


def _imports(text: bytes) -> Iterator[Path]:
    for module, names in IMPORT.findall(text):
        place = PACKAGE.joinpath(*module.decode().split("."))
        if place.with_suffix(".py").is_file():
            yield place.with_suffix(".py")
            continue
        for name in NAME.findall(names):  # `from plyd.engines.gomoku import renju` also imports a file
            path = place / f"{name.decode()}.py"
            if path.is_file():
                yield path


@functools.cache
def contents(source: Path) -> bytes:
    """The bytes of a source file when this process first read it."""
    return source.read_bytes()


@functools.cache
def folder_of(source: Path, digest: str) -> Path:
    """The folder for the kernels of a source file: created if missing, else its time of last use is updated."""
    folder = root() / f"{module_of(source)}-{digest}"
    try:
        folder.mkdir(exist_ok=True)
        os.utime(folder)
    except OSError:  # owned by another user, or read-only: use the folder without updating it
        if not folder.is_dir():
            return _temporary_root()
    return folder


@functools.cache
def root() -> Path:
    """The folder of all cached kernels. Removes folders that have not been used for UNUSED_DAYS."""
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
    """Remove folders not used for UNUSED_DAYS; only those whose names this module could have written."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    for old in folder.iterdir():
        if re.fullmatch(r"([\w.]+-)?[0-9a-f]{16}", old.name) and old.stat().st_mtime < oldest:
            shutil.rmtree(old, ignore_errors=True)
