"""What is known of a position serves its turns and mirror images, with the moves turned; old rows are found too."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace

import pytest

from plyd.engines import registry
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits, Line, Report, Score, StopReason, WinProbability
from plyd.servers.search.game_record import GameRecord
from plyd.servers.search.known import reports as known_reports
from plyd.servers.search.known.question import question_of
from plyd.servers.search.known.reports import ENTRY_BYTES, KnownReports
from plyd.servers.search.known.store import PUT, ReportStore, entry_of
from plyd.servers.search.known.store_database import connect, prepare
from tests.patience import SOON

GAMES = {  # a start, moves that have no symmetry, how many images there are
    ("gomoku", "freestyle"): ("15x15", ["h8", "i9", "k4", "c12"], 8),
    ("gomoku", "renju"): ("15x15", ["h8", "i9", "k4", "c12"], 8),
    ("gomoku", "standard"): ("5x5", ["a2", "c1"], 8),
    ("connect4", ""): ("7x6", ["1", "2"], 2),
    ("connect4", "classic"): ("9x7 #2,3", ["5", "1"], 2),
    ("2048", "classic"): ("b 1 2 3 4 5 6 7 8 1 2 3 4 0 0 0 1", ["left", "1@14"], 8),
    ("2584", "hard"): ("a 1 2 0 0 5 6 7 8 1 2 3 4 0 0 0 1", [], 8),
    ("2584-2x3", "classic"): ("b 5 1 6 0 12 0", [], 4),
}
WHILE = Limits(max_seconds=1.0)


@pytest.fixture(params=GAMES, ids=lambda game: " ".join(game).strip())
def record(request):
    """A position without a symmetry of its own."""
    (game, variant), (start, moves, count) = request.param, GAMES[request.param]
    record = GameRecord(registry.load(game), variant, start, moves)
    assert len({record.rules.text(image.position) for image in record.rules.images(record.position)}) == count
    return record


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A look into the store may take as long as it does."""
    monkeypatch.setattr(known_reports, "LOOKUP_SECONDS", SOON)


@pytest.fixture
def file(tmp_path):
    prepare(str(tmp_path / "reports.db"))
    return str(tmp_path / "reports.db")


def question(record, position=None):
    """What a search of a position is asked; by default of the current one."""
    if position is not None:
        record = GameRecord(record.engine, record.variant, record.rules.text(position))
    return question_of(record, read_options(record.engine.card.options, {}), WHILE)


def report_on(record, position, seconds=1.0, best=0):
    """A report with lines of legal moves."""
    score = Score(Side.PLAYER_ONE, WinProbability(0.625))
    lines = []
    for move in record.rules.legal_moves(position)[:3]:
        after = record.rules.legal_moves(record.rules.play(position, move.text).position)
        lines.append(Line((move.text, *[each.text for each in after[:1]]), score, visits=7, prior=0.25))
    lines = [lines[best], *lines[:best], *lines[best + 1 :]]
    return Report(score, lines[0].moves[0], tuple(lines), 90, 3, seconds, StopReason.TIME)


def turned(report, turn):
    lines = tuple(replace(line, moves=tuple(map(turn, line.moves))) for line in report.lines)
    return replace(report, move=turn(report.move), lines=lines)


def assert_legal(record, position, report):
    """Fail unless every line of a report can be played."""
    for line in report.lines:
        reached = position
        for move in line.moves:
            reached = record.rules.play(reached, move).position


def test_images_are_one_question(record):
    asked = [question(record, image.position) for image in record.rules.images(record.position)]
    assert set(asked) == {question(record)}
    assert len(set(map(hash, asked))) == 1
    assert {each.position for each in asked} == {min(asked[0].images)}


def test_a_report_in_memory_answers_every_image(record):
    known, report = KnownReports(), report_on(record, record.position)
    proven = replace(report, score=replace(report.score, exact=True), stop_reason=StopReason.FINISHED)
    known.put(question(record), proven)
    for image in record.rules.images(record.position):
        found = known.get(question(record, image.position))
        assert found == turned(proven, image.there)
        assert_legal(record, image.position, found)


def test_the_store_answers_every_image_across_a_restart(record, file):
    report = report_on(record, record.position)
    with closing(KnownReports(store=ReportStore(file, 100))) as known:
        known.put(question(record), report)
    with closing(connect(file)) as database:
        [[count]] = database.query("SELECT count(*) FROM plyd_reports")
        assert count == 1
    with closing(ReportStore(file, 100)) as store:
        for image in record.rules.images(record.position):
            known = KnownReports(store=store)
            found = asyncio.run(known.find(question(record, image.position), 1.0))
            assert found == turned(report, image.there)
            assert_legal(record, image.position, found)
            assert known.get(question(record, image.position), 1.0) == found, "and is in memory now"


def test_rows_of_before_there_were_images_are_found_and_the_deepest_counts(record, file):
    images = record.rules.images(record.position)
    with closing(connect(file)) as database:
        for number, image in enumerate(images):
            old = replace(question(record), position=record.rules.text(image.position), images={})
            deepest = number == 1
            report = report_on(record, image.position, 5.0 if deepest else 1.0, best=0 if deepest else -1)
            database.change(PUT, [entry_of(old, report)])
    expected = turned(report_on(record, images[1].position, 5.0), images[1].back)
    with closing(KnownReports(store=ReportStore(file, 100))) as known:
        assert asyncio.run(known.find(question(record), 5.0)) == expected


def test_a_row_whose_moves_are_none_answers_nothing(record, file):
    entry = entry_of(question(record).key, report_on(record, record.position))
    told = json.loads(entry.report)
    for fault in ({"move": "z1"}, {"move": ""}, {"lines": [{**told["lines"][0], "moves": ["99@99"]}]}):
        with closing(connect(file)) as database:
            database.change("DELETE FROM plyd_reports WHERE 0 = ?", [(0,)])
            database.change(PUT, [entry._replace(report=json.dumps(told | fault))])
        with closing(KnownReports(store=ReportStore(file, 100))) as known:
            assert asyncio.run(known.find(question(record), 1.0)) is None


def test_a_report_with_a_line_that_is_none_is_not_kept(file):
    record = GameRecord(registry.load("gomoku"), "", "15x15", ["h8", "i9", "k4", "c12"])
    report = report_on(record, record.position)
    strange = replace(report, lines=(Line(("h7", "pass"), report.score),))
    with closing(KnownReports(store=ReportStore(file, 100))) as known:
        known.put(question(record), strange)
        assert len(known.table) == 0
        known.put(question(record), report)
        assert len(known.table) == 1


def test_images_take_no_memory_in_the_table(record):
    known, report = KnownReports(), report_on(record, record.position)
    known.put(
        question(record),
        replace(report, lines=(), score=replace(report.score, exact=True), stop_reason=StopReason.FINISHED),
    )
    [kept] = known.table._entries
    assert not kept.images
    assert known.table.bytes == ENTRY_BYTES + len(kept.position)


def test_a_position_with_symmetries_of_its_own_keeps_its_moves(file):
    record = GameRecord(registry.load("gomoku"), "", "15x15", ["h8"])
    report = report_on(record, record.position)
    with closing(KnownReports(store=ReportStore(file, 100))) as known:
        known.put(question(record), report)
        assert asyncio.run(known.find(question(record), 1.0)) == report
