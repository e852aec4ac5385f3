"""Where compiled kernels are kept: `njit` for every kernel of this package, with a cache that follows imports.

numba's own cache checks only the file that a kernel is in, so it misses an edit to a function that the kernel calls
from another file. Here the cache key covers the kernel's file and every plyd file that it imports, directly or
indirectly: an edit recompiles the kernels that can see it, and no others.

    ~/.cache/plyd/kernels/gomoku.board.vcf-0f6b1c2a9d3e4f50/     one folder per source file and state of its imports

NUMBA_CACHE_DIR sets another root.

The cache is optional: whatever is wrong with it, kernels are compiled in memory and a line of the log says why. What is
cached is run, so it is read only from folders and files that nobody but this user and root can write. Each file ends
with its SHA-256; one that does not agree is removed and built again.

The log names each kernel that is compiled. Python collects no garbage meanwhile: it would take an eighth of the time.
"""

import contextlib
import functools
import gc
import hashlib
import logging
import os
import pickle
import re
import shutil
import stat
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, dispatcher, event

log = logging.getLogger("plyd.kernels")

PACKAGE = Path(__file__).parents[2]  # the folder that is installed as plyd, or its source checkout
UNUSED_DAYS = 14  # after this many days without use, a folder is removed
IMPORT = re.compile(rb"^[ \t]*from plyd\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(rb"\w+")
USES_US = b"from plyd.engines.core.kernel_cache import njit"  # sources outside of this package: plug-ins, tests

DIGEST_BYTES = 32  # of the SHA-256 at the end of each file
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

njit = functools.partial(numba.njit, no_cfunc_wrapper=True)  # no kernel is called by address from C


class Damaged(Exception):
    """A cache file that is not as it was written."""


class ImportAwareLocator(caching._CacheLocator):
    """Tells numba where to cache a kernel of this package."""

    def __init__(self, kernel: Any, source: Path) -> None:
        self._py_file = str(source)  # numba's warnings read this name
        self._line = kernel.__code__.co_firstlineno
        self._digest = digest_of(source)
        self._folder = folder_of(source, self._digest)

    def get_cache_path(self) -> str:
        """The folder of the kernel's cache files; empty if they cannot be cached."""
        return str(self._folder or "")

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


class CheckedFiles(caching.IndexDataCacheFile):
    """The cache files of one kernel: an index of its signatures, and a file for each of them."""

    def _load_index(self) -> dict[Any, str]:
        """The data file of each signature; empty if there is no index or a damaged one."""
        try:
            stamp, overloads = self._read(self._index_path)
        except FileNotFoundError:
            return {}
        except Exception as error:  # a pickle that is not ours may raise anything
            self.remove(error)
            return {}
        return dict(overloads) if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def remove(self, error: Exception) -> None:
        """Remove the files of this kernel, so that they are built again, and say so."""
        log.warning("the cached kernel %s is unusable and is compiled again: %r", self._index_path, error)
        index = Path(self._index_path)
        with contextlib.suppress(OSError):
            for path in (index, *index.parent.glob(f"{index.stem}.*.nbc")):
                path.unlink(missing_ok=True)

    def _read(self, path: str) -> Any:
        with open(path, "rb") as file:
            if doubt := distrust(os.fstat(file.fileno())):
                raise Damaged(f"{path} {doubt}")
            data = file.read()
        body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            raise Damaged(f"the SHA-256 of {path} does not agree")
        return pickle.loads(body)  # noqa: S301  only this user and root can have written it

    def _write(self, path: str, content: Any) -> None:
        """Write a file under another name and rename it, so that a reader finds the old one or the new one."""
        body = self._dump(content)
        unfinished = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
                file.write(body + hashlib.sha256(body).digest())
            os.replace(unfinished, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise


class HealingCache(caching.FunctionCache):
    """numba's cache of a kernel, which never fails: without usable files the kernel is compiled in memory."""

    _cache_file: Any

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        self._is_ours = isinstance(self._impl.locator, ImportAwareLocator)
        if self._is_ours:
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, stamp)
            if not self._cache_path:
                self.disable()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The kernel compiled for a signature, None if it is not cached."""
        try:
            return super().load_overload(signature, target_context)
        except Exception as error:  # the content of a file that is not numba's may raise anything
            if not self._is_ours:
                raise
            self._cache_file.remove(error)
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Cache a compiled kernel if that is possible."""
        try:
            super().save_overload(signature, data)
        except OSError as error:
            if not self._is_ours:
                raise
            complain(f"cannot write to {Path(self._cache_path).parent}: {error.strerror}", "mend it")


class CompileListener(event.Listener):  # type: ignore[misc,unused-ignore]
    """Logs what is compiled, and turns garbage collection off meanwhile. numba compiles in one thread at a time."""

    def __init__(self) -> None:
        self._depth = 0  # a kernel is compiled within the one that calls it
        self._collects_garbage = False

    def on_start(self, compiling: Any) -> None:
        """A kernel is not in the cache and is compiled."""
        if self._depth == 0:
            kernel = compiling.data["dispatcher"].py_func
            log.info("compiling %s.%s", kernel.__module__.removeprefix("plyd.engines."), kernel.__name__)
            self._collects_garbage = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, compiling: Any) -> None:  # noqa: ARG002
        """The kernel is ready, or could not be compiled."""
        self._depth -= 1
        if self._depth == 0 and self._collects_garbage:
            gc.enable()


event.register("numba:compile", CompileListener())
caching.CacheImpl._locator_classes.insert(0, ImportAwareLocator)
vars(dispatcher)["FunctionCache"] = HealingCache  # numba has no other way to choose the cache of a kernel


def digest_of(source: Path) -> str:
    """Sixteen hexadecimal digits over the versions of Python and numba, a file and every plyd file that it imports."""
    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
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
def folder_of(source: Path, digest: str) -> Path | None:
    """The folder for the kernels of a source file, None if there is none to trust. Updates its time of last use."""
    parent = root()
    return parent and trusted_folder(parent / f"{module_of(source)}-{digest}")


@functools.cache
def root() -> Path | None:
    """The folder of all cached kernels, None if there is none to trust. Removes folders not used for UNUSED_DAYS."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        complain(f"no home folder: {error}", "set HOME")
        return None
    found = trusted_folder(Path(os.environ.get("NUMBA_CACHE_DIR") or Path(home) / "plyd" / "kernels"))
    if found and os.access(found, os.W_OK):
        prune(found)
    return found


def trusted_folder(folder: Path) -> Path | None:
    """The folder, created if missing; None, and a line in the log, if that fails or others can write to it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755, exist_ok=True)  # whatever the umask, the group may not write
        doubt = distrust(folder.stat())
    except OSError as error:
        complain(f"cannot make a folder in {folder.parent}: {error.strerror}", "mend it")
        return None
    if doubt:
        complain(f"{folder} {doubt}", f"chown {os.geteuid()} and chmod go-w it")
        return None
    with contextlib.suppress(OSError):  # a read-only folder is used without updating it
        os.utime(folder)
    return folder


def distrust(facts: os.stat_result) -> str:
    """Why a folder or file may hold what another user wrote; empty if only this user or root can write to it."""
    if facts.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {facts.st_uid}; allowed are {os.geteuid()} (this user) and 0 (root)"
    if facts.st_mode & OTHERS_WRITE:
        return f"can be written by other users (mode {stat.S_IMODE(facts.st_mode):04o}); allowed is up to 0755"
    return ""


@functools.cache
def complain(what: str, remedy: str) -> None:
    """Log, once, why kernels are not cached."""
    log.warning("no kernel cache, so each start compiles: %s; %s, or set NUMBA_CACHE_DIR", what, remedy)


def prune(folder: Path) -> None:
    """Remove folders not used for UNUSED_DAYS; only those whose names this module could have written."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    for old in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may be removing it
            if re.fullmatch(r"([\w.]+-)?[0-9a-f]{16}", old.name) and old.stat().st_mtime < oldest:
                shutil.rmtree(old, ignore_errors=True)
