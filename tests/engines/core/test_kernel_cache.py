"""The cache of compiled kernels: what it is keyed by, where it is, and what is removed from it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plyd.engines.core import kernel_cache
from plyd.engines.core.kernel_cache import UNUSED_DAYS, digest_of, prune, reachable
from tests.patience import SOON

GAMES = ("connect4", "gomoku", "tiles_2048", "tiles_2584_2x3")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of four files, in place of plyd: a <- b <- c, and d alone."""
    monkeypatch.setattr(kernel_cache, "PACKAGE", tmp_path)
    folder = tmp_path / "engines" / "game"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("ONE = 1\n")
    (folder / "b.py").write_text("from plyd.engines.game.a import (\n    ONE,\n)\n")
    (folder / "c.py").write_text("def late():\n    from plyd.engines.game import b\n")
    (folder / "d.py").write_text("import math\n")
    yield folder
    forget()


def forget():
    for function in (kernel_cache.contents, kernel_cache.imported_by, kernel_cache.folder_of, kernel_cache.root):
        function.cache_clear()


def digests(folder):
    forget()  # a process reads each source once
    return {name: digest_of(folder / f"{name}.py") for name in "abcd"}


def test_a_file_reaches_what_it_imports_directly_and_through_others(package):
    assert {path.stem for path in reachable(package / "c.py")} == {"a", "b", "c"}
    assert {path.stem for path in reachable(package / "d.py")} == {"d"}


@pytest.mark.parametrize(("edited", "changed"), [("a", "abc"), ("b", "bc"), ("c", "c"), ("d", "d")])
def test_an_edit_changes_the_key_of_the_files_that_can_see_it_and_no_other(package, edited, changed):
    before = digests(package)
    source = package / f"{edited}.py"
    source.write_text(source.read_text() + "# edited\n")
    after = digests(package)
    assert {name for name in "abcd" if before[name] != after[name]} == set(changed)


def test_the_key_does_not_depend_on_where_the_package_is_installed(package, tmp_path, monkeypatch):
    before = digests(package)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "engines").rename(elsewhere / "engines")
    monkeypatch.setattr(kernel_cache, "PACKAGE", elsewhere)
    assert digests(elsewhere / "engines" / "game") == before


@pytest.mark.parametrize("game", GAMES)
def test_no_kernel_of_a_game_depends_on_another_game(game):
    others = {f"engines/{name}/" for name in GAMES if name != game}
    engines = kernel_cache.PACKAGE / "engines"
    for source in [*(engines / game).rglob("*.py"), *(engines / "tiles").rglob("*.py")]:
        for path in reachable(source):
            name = path.relative_to(kernel_cache.PACKAGE).as_posix()
            assert not name.startswith(tuple(others)), f"{source.name} reaches {name}"


def test_a_real_kernel_reaches_the_files_that_its_functions_stand_in():
    kernel = kernel_cache.PACKAGE / "engines" / "tiles" / "search" / "expectimax.py"
    names = {path.relative_to(kernel_cache.PACKAGE / "engines").as_posix() for path in reachable(kernel)}
    assert {"tiles/bitboard.py", "tiles/ntuple/moves.py", "tiles/ntuple/network.py", "core/intrinsics.py"} <= names


COMPILE = """
from plyd.engines.core import kernel_cache
from plyd.engines.core.intrinsics import Stop
from plyd.engines.tiles_2584_2x3 import kernel
print(kernel_cache.root())
print(kernel.expectimax._cache.cache_path)
"""


def place_in_a_new_process(tmp_path, **extra):
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), **extra}
    command = [sys.executable, "-c", COMPILE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=SOON)
    return [Path(line) for line in done.stdout.splitlines()]


def test_kernels_are_kept_in_the_users_cache_in_a_folder_named_by_file_and_key(tmp_path):
    root, folder = place_in_a_new_process(tmp_path)
    assert root == folder.parent == tmp_path / "plyd" / "kernels"
    assert folder.name.startswith("tiles_2584_2x3.kernel-")


def test_a_root_chosen_by_the_user_is_used(tmp_path):
    chosen = tmp_path / "chosen"
    assert place_in_a_new_process(tmp_path, NUMBA_CACHE_DIR=str(chosen))[0] == chosen


def test_what_nobody_used_for_weeks_is_removed_and_nothing_else(tmp_path):
    now = time.time()
    for name, days in {
        "gomoku.mcts.tree-0123456789abcdef": UNUSED_DAYS + 1,
        "0123456789abcdef": UNUSED_DAYS + 1,  # as an earlier version named it
        "gomoku.mcts.tree-fedcba9876543210": UNUSED_DAYS - 1,
        "somebody's folder": 1000,
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbi").touch()
        os.utime(tmp_path / name, (now - days * 86_400,) * 2)
    prune(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"gomoku.mcts.tree-fedcba9876543210", "somebody's folder"}
