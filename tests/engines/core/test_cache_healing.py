"""The kernel cache when it is damaged, full, read-only or open to other users: kernels are there all the same."""

import errno
import hashlib
import importlib.util
import itertools
import os
import pickle
import stat
from pathlib import Path

import pytest

from plyd.engines.core import kernel_cache

SOURCE = """
from plyd.engines.core.kernel_cache import njit

@njit(cache=True)
def double(x):
    return 2 * x
"""
numbers = itertools.count()


def signed(body):
    return body + hashlib.sha256(body).digest()


DAMAGE = {
    "empty": lambda _: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "garbage": lambda data: bytes(len(data)),
    "one bit": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "another pickle": lambda _: signed(pickle.dumps(("not", "a", "kernel"))),
    "no pickle": lambda _: signed(b"hello"),
    "a class that is not there": lambda _: signed(b"cnowhere\nNobody\n."),
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The root of a cache of its own."""
    root = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(root))
    (tmp_path / "source.py").write_text(SOURCE)
    forget()
    yield root
    forget()


def forget():
    for function in (kernel_cache.contents, kernel_cache.folder_of, kernel_cache.root, kernel_cache.complain):
        function.cache_clear()


def start(cache):
    """Runs the kernel as a new process would; whether it came from the cache."""
    forget()
    source = cache.parent / "source.py"
    spec = importlib.util.spec_from_file_location(f"kernel_source_{next(numbers)}", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.double(21) == 42
    return sum(module.double.stats.cache_hits.values()) == 1


def file_of(cache, suffix):
    [path] = cache.glob(f"*/*.{suffix}")
    return path


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "plyd.kernels"]


def test_a_sound_cache_is_used_without_a_word(cache, caplog):
    assert [start(cache), start(cache)] == [False, True]
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [("nbi", "empty"), ("nbi", "cut short"), ("nbi", "another pickle"), *(("nbc", damage) for damage in DAMAGE)],
)
def test_a_damaged_file_is_built_again_and_one_line_says_so(cache, caplog, suffix, damage):
    start(cache)
    path = file_of(cache, suffix)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert [start(cache), start(cache)] == [False, True]
    [line] = warnings(caplog)
    assert str(file_of(cache, "nbi")) in line
    assert "compiled again" in line


def test_a_data_file_that_is_gone_is_built_again(cache, caplog):
    start(cache)
    file_of(cache, "nbc").unlink()
    assert [start(cache), start(cache)] == [False, True]
    assert warnings(caplog) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_without_room_to_write_kernels_are_compiled_in_memory(cache, caplog, monkeypatch, code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(kernel_cache.os, "replace", fail)  # of the finished file
    assert not start(cache)
    [line] = warnings(caplog)
    assert os.strerror(code) in line
    assert list(cache.glob("*/*")) == []


def test_a_folder_that_cannot_be_made_is_done_without(cache, caplog):
    cache.write_text("a file")
    assert not start(cache)
    [line] = warnings(caplog)
    assert str(cache.parent) in line


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def give_away(path, monkeypatch):
    """Has a path belong to another user than this process's."""
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(kernel_cache.os, "geteuid", lambda: 12345)


@pytest.mark.parametrize(
    ("what", "how"),
    [("root", "owner"), ("root", "everybody"), ("folder", "owner"), ("folder", "group"), ("file", "owner")],
)
def test_nothing_is_run_that_another_user_can_have_written(cache, caplog, monkeypatch, tmp_path, what, how):
    start(cache)
    for path in (file_of(cache, "nbi"), file_of(cache, "nbc")):
        path.write_bytes(signed(pickle.dumps(Hostile(tmp_path / "owned"))))
    index = file_of(cache, "nbi")
    path = {"root": cache, "folder": index.parent, "file": index}[what]
    if how == "owner":
        give_away(path, monkeypatch)
    else:
        path.chmod(path.stat().st_mode | (stat.S_IWGRP if how == "group" else stat.S_IWOTH))
    assert not start(cache)
    assert not (tmp_path / "owned").exists()
    [line] = warnings(caplog)
    assert str(path) in line
    assert ("belongs to user" if how == "owner" else "can be written by other users") in line


def test_whatever_the_umask_the_cache_that_is_made_is_trusted(cache, caplog):
    mask = os.umask(0)
    try:
        assert [start(cache), start(cache)] == [False, True]
    finally:
        os.umask(mask)
    assert warnings(caplog) == []


@pytest.mark.parametrize("mode", [0o750, 0o2755])
def test_a_folder_that_only_its_owner_writes_is_used(cache, caplog, mode):
    cache.mkdir()
    cache.chmod(mode)
    assert [start(cache), start(cache)] == [False, True]
    assert warnings(caplog) == []


def test_what_root_made_is_trusted_by_everybody(monkeypatch):
    monkeypatch.setattr(kernel_cache.os, "geteuid", lambda: 12345)
    roots = os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    assert kernel_cache.distrust(roots) == ""
