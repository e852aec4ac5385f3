"""The store: what it keeps and answers, across restarts, two writers, a killed process, and damage."""

import contextlib
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.core.rules import Side
from plyd.engines.core.search import (
    ExpectedPoints,
    Line,
    Proven,
    Report,
    Result,
    Score,
    StopReason,
    Unknown,
    Unreachable,
    WinProbability,
)
from plyd.servers.search.known.question import Question
from plyd.servers.search.known.report_text import BadReport, read_report_text, write_report_text
from plyd.servers.search.known.reports import is_enough
from plyd.servers.search.known.store import PUT, ReportStore, entries, entry_of
from plyd.servers.search.known.store_database import APPLICATION_ID, VERSION, StoreFault, connect
from plyd.servers.settings import BadSetting
from tests.patience import SOON, until
from tests.servers.daemons import OpenDaemon, analyze_request, search_request
from tests.servers.fakes import FakeEngine
from tests.servers.rpc.test_play import Table

GUESS = Score(Side.PLAYER_TWO, WinProbability(0.25))
LINES = (Line(("1", "2"), GUESS, visits=7, depth=2, probability=0.5, prior=0.125), Line(("2",), GUESS))
REPORT = Report(GUESS, "1", LINES, nodes=99, depth=3, seconds=1.0, stop_reason=StopReason.TIME)
TIMED = {"options": {"reports": "3", "seconds_per_report": "0.001"}, "limits": {"move_time_ms": 100_000}}


def question(position="7 one", **fields):
    return Question("sticks", "normal", position, (("reports", 3), ("score", "proven")), 1, **fields)


def fill(address, *reports, at=None, rows=1000):
    """Put reports into a store and close it."""
    store = ReportStore(address, rows)
    for number, report in enumerate(reports):
        store.put(at or question(f"{number} one"), report)
    store.close(SOON)


def stored(address):
    with contextlib.closing(connect(address)) as database:
        return list(entries(database))


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "reports.db")


@pytest.mark.parametrize(
    "report",
    [
        REPORT,
        replace(REPORT, move=None, lines=(), stop_reason=StopReason.FINISHED),
        replace(REPORT, score=Score(Side.PLAYER_ONE, Proven(Result.LOSS, 3))),
        replace(REPORT, score=Score(Side.PLAYER_ONE, Proven(Result.DRAW))),
        replace(REPORT, score=Score(Side.PLAYER_ONE, ExpectedPoints(1425.817561), exact=True)),
        replace(REPORT, score=Score(Side.PLAYER_ONE, Unreachable())),
        replace(REPORT, score=Score(Side.PLAYER_ONE, Unknown())),
    ],
)
def test_report_is_what_its_text_says(report):
    assert read_report_text(write_report_text(report)) == report


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"lines":[],"score":{"for":"nobody"}}', "[" * 5000])
def test_text_that_is_no_report_is_refused(text):
    with pytest.raises(BadReport):
        read_report_text(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [("nodes", 2**64), ("nodes", -1), ("depth", 2**32), ("seconds", math.inf), ("seconds", math.nan), ("seconds", -1)],
)
def test_number_that_no_message_holds_is_refused(name, value):
    told = json.loads(write_report_text(REPORT)) | {name: value}
    with pytest.raises(BadReport):
        read_report_text(json.dumps(told))


@pytest.mark.parametrize(
    ("seconds", "reason", "allowed", "answers"),
    [
        (1.0, StopReason.TIME, 1.0, True),
        (0.95, StopReason.TIME, 1.0, True),  # a search never has all of its time
        (0.8, StopReason.TIME, 1.0, False),
        (5.0, StopReason.STOPPED, 1.0, True),
        (5.0, StopReason.TIME, None, False),
        (0.0, StopReason.FINISHED, 1.0, True),
        (0.0, StopReason.FINISHED, None, False),
    ],
)
def test_report_answers_who_allows_no_more_time_than_it_took(seconds, reason, allowed, answers):
    assert is_enough(replace(REPORT, seconds=seconds, stop_reason=reason), allowed) == answers


def test_proven_report_answers_everybody():
    proven = replace(REPORT, score=Score(Side.PLAYER_ONE, Proven(Result.WIN)), stop_reason=StopReason.FINISHED)
    assert is_enough(proven, None)


def test_deeper_report_replaces_a_shallower_one_and_never_the_other_way(file):
    for seconds in (1.0, 3.0, 2.0):
        fill(file, replace(REPORT, seconds=seconds), at=question())
    assert [entry.seconds for entry in stored(file)] == [3.0]
    fill(file, replace(REPORT, seconds=0.1, stop_reason=StopReason.FINISHED), at=question())
    fill(file, replace(REPORT, seconds=9.0), at=question())
    assert [(entry.finished, entry.seconds) for entry in stored(file)] == [(1, 0.1)]


def test_other_weights_are_another_question(file):
    fill(file, REPORT, at=question(model="a" * 64))
    store = ReportStore(file, 10)
    assert store.find(question(model="a" * 64)) == REPORT
    assert store.find(question(model="b" * 64)) is None
    store.close()


def test_full_store_forgets_the_oldest(file):
    fill(file, *[REPORT] * 10, rows=10)
    fill(file, REPORT, at=question("new"), rows=10)
    assert {entry.position for entry in stored(file)} == {"new", *(f"{number} one" for number in range(1, 10))}


def test_two_writers_lose_nothing(file):
    def write(first):
        store = ReportStore(file, 10_000)
        for number in range(first, 400, 2):
            store.put(question(f"{number} one"), REPORT)
        store.close(SOON)

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(stored(file)) == 400


def test_killed_process_loses_only_what_was_not_written_yet(file):
    code = f"""
import time
from tests.servers.search.test_store import REPORT, ReportStore, question
store = ReportStore({file!r}, 1000)
store.put(question("1 one"), REPORT)
while store.find(question("1 one")) is None:
    time.sleep(0.01)
print("written", flush=True)
while True:
    store.put(question("2 one"), REPORT)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"written\n"
    process.send_signal(signal.SIGKILL)
    process.wait(SOON)
    store = ReportStore(file, 1000)
    assert store.find(question("1 one")) == REPORT
    store.put(question("3 one"), REPORT)
    store.close(SOON)
    assert "3 one" in {entry.position for entry in stored(file)}


def test_damaged_file_is_refused_with_what_to_do(file):
    fill(file, *[REPORT] * 200)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(file, "r+b") as data:
        data.seek(4096 * 2)
        data.write(b"\xff" * 4096 * 4)
    with pytest.raises(BadSetting, match=r"is damaged.*move it away, and a new one is made"):
        ReportStore(file, 10)


def test_file_of_another_kind_is_refused_and_left_as_it_is(tmp_path):
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("shopping list\n" * 100)
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    with pytest.raises(BadSetting, match="is damaged, or no store"):
        ReportStore(str(text), 10)
    with pytest.raises(BadSetting, match="is a database of another program; name another file"):
        ReportStore(str(other), 10)
    with pytest.raises(BadSetting, match="a folder; allowed is a file"):
        ReportStore(str(tmp_path), 10)
    with pytest.raises(BadSetting, match="cannot use store"):
        ReportStore("/no/where/reports.db", 10)
    assert text.read_text() == "shopping list\n" * 100


def test_table_of_another_form_is_refused(file):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE plyd_reports (stored, x)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    with pytest.raises(BadSetting, match=r"cannot use store .*: no such column: game"):
        ReportStore(file, 10)


def test_store_is_a_file_whatever_its_name_means_to_sqlite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(":memory:", REPORT)
    assert len(stored(":memory:")) == 1
    assert (tmp_path / ":memory:").is_file()


def test_full_disk_is_called_by_its_name(file):
    fill(file, REPORT)
    with contextlib.closing(connect(file)) as database:
        database.query("PRAGMA max_page_count = 1")  # no page more than there are
        rows = [entry_of(question(f"{number} one"), REPORT) for number in range(1000)]
        with pytest.raises(StoreFault, match="database or disk is full"):
            database.change(PUT, rows)
        assert len(list(entries(database))) == 1


class StoreDaemon(OpenDaemon):
    """A daemon of the fake game with a store."""

    def __init__(self, house, file):
        super().__init__(house, FakeEngine(), store=ReportStore(file, 1000))

    def search(self, *arguments, **fields):
        return self.caller.engine.Search(search_request(*arguments, **fields), timeout=SOON).report

    def analyze(self, *arguments, **fields):
        call = self.caller.engine.Analyze(analyze_request(*arguments, **fields), timeout=SOON)
        return [told.report for told in call]


def test_restarted_daemon_answers_from_the_store_and_says_so(house, file):
    with StoreDaemon(house, file) as daemon:
        first = daemon.search(**TIMED)
        assert not first.known
    with StoreDaemon(house, file) as daemon:
        again = daemon.search(**TIMED)
        [report] = daemon.analyze(**TIMED)
        assert daemon.engine.asked == []
        assert again == report
        assert again.known
        first.known, first.waited_us = True, 0
        assert again == first


def test_two_daemons_share_a_store(house, file):
    with StoreDaemon(house, file) as one, StoreDaemon(house, file) as other:
        one.search(**TIMED)
        until(lambda: stored(file))
        assert other.search(**TIMED).known
        assert other.engine.asked == []


def test_search_with_a_limit_on_nodes_is_neither_stored_nor_answered(house, file):
    counted = {"options": TIMED["options"], "limits": {"nodes": 2}}
    with StoreDaemon(house, file) as daemon:
        assert not daemon.search(**counted).known
        assert not daemon.search(**counted).known
    assert stored(file) == []


def test_game_is_searched_although_the_store_knows_a_deep_report(house, file):
    with StoreDaemon(house, file) as daemon:
        assert not daemon.search(**TIMED).known
        assert daemon.search(**TIMED).known
        table = Table(daemon.caller)
        table.ask(new_game={"options": TIMED["options"]})
        assert not table.ask(go={"limits": TIMED["limits"]}).report.known
        table.end()


def test_daemon_without_a_store_keeps_no_guess(house):
    with OpenDaemon(house, FakeEngine()) as daemon:
        for _ in range(2):
            assert not daemon.caller.engine.Search(search_request(**TIMED), timeout=SOON).report.known


def plyd(*arguments):
    done = CliRunner().invoke(main, ["store", *map(str, arguments)], prog_name="plyd")
    return done.exit_code, done.output


def test_store_is_shown_pruned_exported_and_merged(file, tmp_path):
    fill(file, *[REPORT] * 5)
    other, lines = tmp_path / "other.db", tmp_path / "lines.jsonl"
    fill(str(other), replace(REPORT, seconds=9.0), at=question("0 one"))
    status, text = plyd("show", file)
    assert status == 0
    assert text.splitlines()[1].split()[:5] == ["sticks", "normal", "5", "0", "5"]
    assert text.splitlines()[2].startswith(f"5 reports in {file}, ")
    lines.write_text(plyd("export", file)[1])
    assert [json.loads(line)["position"] for line in lines.read_text().splitlines()] == [f"{n} one" for n in range(5)]
    assert plyd("merge", other, lines) == (0, f"{lines}: 4 of 5 reports are new or deeper\n")
    assert plyd("merge", file, other) == (0, f"{other}: 1 of 5 reports are new or deeper\n")
    assert [entry._replace(stored=0.0) for entry in stored(file)] == [
        e._replace(stored=0.0) for e in stored(str(other))
    ]
    assert plyd("prune", file, "--rows", 4) == (0, "1 reports forgotten\n")
    assert plyd("prune", file, "--game", "go") == (0, "0 reports forgotten\n")
    assert plyd("prune", file, "--older-than", 0) == (0, "4 reports forgotten\n")


def exported(file):
    return json.loads(plyd("export", file)[1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lines": 10**30}, f"lines is {10**30}; allowed is 1 to"),
        ({"lines": True}, "lines is True; allowed is 1 to"),
        ({"game": "\ud800"}, r"game is '\ud800'; allowed is a text"),
        ({"position": 7}, "position is 7; allowed is a text"),
        ({"finished": "1"}, "finished is '1'; allowed is 0 to 1"),
        ({"seconds": float("nan")}, "seconds is nan; allowed is 0 to"),
        ({"stored": float("inf")}, "stored is inf; allowed is 0 to"),
        ({"stored": -1e300}, "stored is -1e+300; allowed is 0 to"),
    ],
)
def test_an_exported_line_that_was_changed_to_what_no_store_holds_is_refused(file, tmp_path, wrong, message):
    fill(file, REPORT)
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(exported(file) | wrong) + "\n")
    status, text = plyd("merge", tmp_path / "new.db", bad)
    assert status == 1
    assert f"{bad}, line 1: {message}" in text


def test_empty_lines_between_exported_ones_are_none(file, tmp_path):
    fill(file, REPORT)
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n" + plyd("export", file)[1] + "\r\n\n")
    assert plyd("merge", tmp_path / "new.db", lines)[1] == f"{lines}: 1 of 1 reports are new or deeper\n"


def test_a_row_that_is_no_report_is_left_out_of_an_export_and_of_a_merge(file, tmp_path):
    fill(file, *[REPORT] * 3)
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE plyd_reports SET report = 'rubbish' WHERE position = '0 one'")
        database.execute("UPDATE plyd_reports SET options = '[' WHERE position = '1 one'")
    done = CliRunner().invoke(main, ["store", "export", file], prog_name="plyd")
    assert done.exit_code == 0
    assert [json.loads(line)["position"] for line in done.stdout.splitlines()] == ["2 one"]
    assert done.stderr == f"2 rows of {file} are no reports, and are left out\n"
    assert plyd("merge", tmp_path / "new.db", file)[1] == (
        f"2 rows of {file} are no reports, and are left out\n{file}: 1 of 1 reports are new or deeper\n"
    )


def test_export_to_a_full_disk_is_an_error_in_one_line(file):
    fill(file, REPORT)
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "plyd.clients", "store", "export", file]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SOON)
    assert (done.returncode, done.stderr) == (1, "Error: [Errno 28] No space left on device\n")


def test_size_includes_what_waits_beside_the_file(file):
    fill(file, REPORT)
    with contextlib.closing(connect(file)) as daemon:  # the last one to leave moves it into the file
        daemon.query("SELECT count(*) FROM plyd_reports")
        fill(file, *[REPORT] * 5)
        shown = plyd("show", file)[1]
        waiting = os.path.getsize(f"{file}-wal")
        assert waiting
        assert shown.endswith(f", {os.path.getsize(file) + waiting:,} bytes\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "/no/where"], 'there is no store "/no/where"'),
        (["prune", "{file}"], "nothing to prune; give --older-than, --game or --rows"),
        (["merge", "{file}", "/no/where"], "cannot read /no/where: No such file or directory"),
        (["merge", "{file}", "{bad}"], "bad.jsonl, line 1: expected an object with game, variant"),
        (["show", "{bad}"], "is damaged, or no store"),
    ],
)
def test_wrong_use_of_a_store(file, tmp_path, arguments, message):
    fill(file, REPORT)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n" * 50)
    status, text = plyd(*(word.format(file=file, bad=bad) for word in arguments))
    assert status in (1, 2)
    assert message in text


def test_serve_refuses_a_bad_store_in_one_line(tmp_path):
    bad = tmp_path / "bad.db"
    bad.write_text("x" * 5000)
    done = CliRunner().invoke(main, ["serve", "2584-2x3", "--listen", "127.0.0.1:0", "--store", str(bad)])
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith(f'Error: store "{bad}" is damaged, or no store')
