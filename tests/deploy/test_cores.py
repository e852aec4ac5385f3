"""A daemon in a container has as many search slots as it was given cores, not as many as the machine has."""

import pytest

from plyd.engines.core import cores


@pytest.mark.parametrize(
    ("group", "limit", "granted"),
    [
        ("/", "200000 100000", 2),
        ("/plyd.slice/plyd@2584.service", "150000 100000", 2),
        ("/", "50000 100000", 1),
        ("/", "max 100000", None),
        ("/", "", None),
    ],
)
def test_what_the_group_is_granted_is_read(tmp_path, group, limit, granted):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"0::{group}\n")
    folder = tmp_path / "sys/fs/cgroup" / group[1:]
    folder.mkdir(parents=True)
    (folder / "cpu.max").write_text(f"{limit}\n")
    assert cores.granted_cores(tmp_path) == granted


def test_a_system_without_such_groups_grants_everything(tmp_path):
    assert cores.granted_cores(tmp_path) is None


@pytest.mark.parametrize(("granted", "usable"), [(None, 8), (3, 3), (64, 8)])
def test_nobody_uses_more_than_was_granted_or_than_there_is(monkeypatch, granted, usable):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(cores, "granted_cores", lambda: granted)
    assert cores.usable_cores() == usable


@pytest.mark.parametrize(("limit", "usable"), [("max", 64), (str(8 << 20), 8), (str(1 << 50), 64), ("", 64)])
def test_memory_is_what_the_group_is_granted(tmp_path, monkeypatch, limit, usable):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(cores.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 64 << 8}.get)
    assert cores.usable_megabytes(tmp_path) == usable
