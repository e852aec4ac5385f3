"""The store in PostgreSQL, where it is installed: a server of this test's own, on a Unix socket."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from plyd.engines.core.search import StopReason
from plyd.servers.search.known.store import ReportStore
from plyd.servers.search.known.store_database import StoreFault, connect, shown
from plyd.servers.settings import BadSetting
from tests.patience import SOON, until
from tests.servers.search.test_store import REPORT, TIMED, StoreDaemon, fill, plyd, question, stored


def programs():
    """The folder of PostgreSQL's programs, None if it is not installed."""
    found = shutil.which("initdb") or max(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)
    return Path(found).resolve().parent if found else None


class Server:
    """A server with its data in a folder; it refuses to run as root."""

    def __init__(self, folder):
        self._folder = folder
        self._user = "postgres" if os.getuid() == 0 else None
        if self._user:
            os.chown(folder, pwd.getpwnam(self._user).pw_uid, -1)
        self._run("initdb", "-D", f"{folder}/data", "-U", "plyd", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.address = f"postgresql://plyd@/postgres?host={folder}"
        self.start()

    def start(self):
        options = f"-c fsync=off -c listen_addresses='' -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-w", "-l", f"{self._folder}/log", "-o", options, "start")

    def stop(self):
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-w", "-m", "immediate", "stop")

    def _run(self, program, *arguments):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [str(programs() / program), *arguments]
        subprocess.run(command, check=True, user=self._user, cwd=self._folder, timeout=SOON, **quiet)


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg")
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    folder = tempfile.mkdtemp(prefix="plyd-pg-", dir="/tmp")
    server = Server(folder)
    yield server
    with contextlib.suppress(subprocess.CalledProcessError):
        server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def address(server):
    """The address of an empty store."""
    yield server.address
    with contextlib.closing(connect(server.address)) as database:
        database.change("DROP TABLE plyd_reports", [()])


def test_deeper_report_replaces_a_shallower_one(address):
    for seconds, reason in ((1.0, "TIME"), (3.0, "TIME"), (2.0, "TIME"), (0.5, "FINISHED"), (9.0, "TIME")):
        fill(address, replace(REPORT, seconds=seconds, stop_reason=StopReason[reason]), at=question())
    assert [(entry.finished, entry.seconds) for entry in stored(address)] == [(1, 0.5)]


def test_daemons_at_one_server_share_what_they_find(house, address):
    with StoreDaemon(house, address) as one, StoreDaemon(house, address) as other:
        assert not one.search(**TIMED).known
        until(lambda: stored(address))
        until(lambda: other.search(**TIMED).known)  # a first look that takes too long is a miss


def test_two_writers_lose_nothing_and_a_full_store_forgets_the_oldest(address):
    writers = [threading.Thread(target=fill, args=(address, *[REPORT] * 300)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(stored(address)) == 300
    fill(address, REPORT, at=question("new"), rows=100)
    assert len(stored(address)) == 95
    assert "new" in {entry.position for entry in stored(address)}


def test_server_that_is_away_costs_no_answer_and_no_report(server, address, monkeypatch):
    monkeypatch.setattr("plyd.servers.search.known.store.RETRY_SECONDS", 0.01)
    store = ReportStore(address, 1000)
    store.put(question("1 one"), REPORT)
    until(lambda: store.find(question("1 one")))
    server.stop()
    try:
        assert store.find(question("1 one")) is None
        store.put(question("2 one"), REPORT)
    finally:
        server.start()
    until(lambda: store.find(question("2 one")) == REPORT)
    store.close(SOON)


def test_store_is_shown_and_merged_by_its_address(address, tmp_path):
    file = tmp_path / "reports.db"
    fill(address, *[REPORT] * 3)
    assert plyd("merge", file, address) == (0, f"{shown(address)}: 3 of 3 reports are new or deeper\n")
    assert plyd("merge", address, file) == (0, f"{file}: 0 of 3 reports are new or deeper\n")
    assert "3 reports in" in plyd("show", address)[1]


def test_address_that_does_not_answer_is_refused_without_the_password():
    pytest.importorskip("psycopg")
    with pytest.raises(BadSetting, match=r"cannot use store postgresql://127\.0\.0\.1:1/x: ") as refused:
        ReportStore("postgresql://me:secret@127.0.0.1:1/x", 10)
    assert "secret" not in str(refused.value)
    with pytest.raises(StoreFault):
        connect("postgresql://me:secret@127.0.0.1:1/x")
