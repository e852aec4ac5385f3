"""The command `plyd store`: look at a store of reports, prune it, export it, merge others into it."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click

from plyd.servers.rpc.limits import MAX_LINES
from plyd.servers.search.known.report_text import MOST_SECONDS, read_report_text
from plyd.servers.search.known.store import COLUMNS, PUT, Entry, entries, prune_rows
from plyd.servers.search.known.store_database import Database, StoreFault, connect, is_postgres, prepare, shown
from plyd.servers.settings import BadSetting

BATCH = 1000
DAY = 86_400
MOST_STORED = 1e11  # seconds since 1970
STORE = click.argument("address", metavar="STORE")


@click.group(short_help="Show, prune, export or merge a store of reports.")
def store() -> None:
    """Manage a store of what searches found: the FILE, or the postgresql:// address, of `plyd serve --store`.

    Daemons may go on using it meanwhile.
    """


@store.command()
@STORE
def show(address: str) -> None:
    """Show how many reports STORE has: for each game and variant, finished searches, seconds of search, and ages.

    \b
    plyd store show reports.db
    """
    statement = """
        SELECT game, variant, count(*), sum(finished), sum(seconds), min(stored), max(stored)
        FROM plyd_reports GROUP BY game, variant ORDER BY game, variant
    """
    with opened(address) as database:
        rows = database.query(statement)
    now = time.time()
    table = [("game", "variant", "reports", "finished", "seconds", "oldest", "newest")]
    for game, variant, count, finished, seconds, oldest, newest in rows:
        numbers = f"{count:,}", f"{finished:,}", f"{seconds:,.0f}", age(now - oldest), age(now - newest)
        table.append((game, variant, *numbers))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = [
            f"{cell:<{w}}" if at < 2 else f"{cell:>{w}}" for at, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
    size = "" if is_postgres(address) else f", {bytes_of(address):,} bytes"
    click.echo(f"{sum(row[2] for row in rows):,} reports in {shown(address)}{size}")


@store.command()
@STORE
@click.option("--older-than", type=click.FloatRange(0), metavar="DAYS", help="Forget reports older than this.")
@click.option("--game", help="Forget the reports of this game.")
@click.option("--rows", type=click.IntRange(0), help="Forget the oldest reports, until at most so many are left.")
def prune(address: str, older_than: float | None, game: str | None, rows: int | None) -> None:
    """Forget reports of STORE. With --older-than and --game, those that both apply to.

    \b
    plyd store prune reports.db --older-than 90
    plyd store prune reports.db --game gomoku
    """
    if older_than is None and game is None and rows is None:
        raise click.UsageError("nothing to prune; give --older-than, --game or --rows")
    with opened(address) as database:
        forgotten = 0
        if older_than is not None or game is not None:
            statement = "DELETE FROM plyd_reports WHERE stored < ? AND (game = ? OR ? = '')"
            before = time.time() - (older_than or 0.0) * DAY
            forgotten += database.change(statement, [(before, game or "", game or "")])
        if rows is not None:
            forgotten += prune_rows(database, rows)
    click.echo(f"{forgotten:,} reports forgotten")


@store.command()
@STORE
def export(address: str) -> None:
    """Print every report of STORE as a line of JSON, which `merge` reads again.

    \b
    plyd store export reports.db > reports.jsonl
    """
    with opened(address) as database:
        for entry in whole_entries(database, address):
            told: dict[str, Any] = entry._asdict()
            told |= {"options": json.loads(entry.options), "report": json.loads(entry.report)}
            sys.stdout.write(json.dumps(told, separators=(",", ":")) + "\n")


@store.command()
@STORE
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
def merge(address: str, sources: tuple[str, ...]) -> None:
    """Add the reports of SOURCE... to STORE, which is made if it is new. The deeper report of each question is kept.

    A SOURCE is another store, or the output of `export`.

    \b
    plyd store merge all.db monday.db tuesday.jsonl
    """
    refusing(prepare, address)
    with opened(address) as database:
        for source in sources:
            read = changed = 0
            for batch in batches(entries_of(source)):
                read += len(batch)
                changed += database.change(PUT, batch)
            click.echo(f"{shown(source)}: {changed:,} of {read:,} reports are new or deeper")


def bytes_of(file: str) -> int:
    """Size of a file, with what daemons have written beside it and not yet moved into it."""
    return sum(os.path.getsize(each) for each in (file, f"{file}-wal") if os.path.exists(each))


@contextlib.contextmanager
def opened(address: str) -> Iterator[Database]:
    """A connection to a store that exists; faults end the command with one line."""
    if not is_postgres(address) and not os.path.exists(address):
        raise click.ClickException(f'there is no store "{address}"')
    refusing(prepare, address)
    try:
        with contextlib.closing(connect(address)) as database:
            yield database
    except StoreFault as fault:
        raise click.ClickException(str(fault)) from None
    except BrokenPipeError:
        os._exit(0)


def refusing(check: Any, address: str) -> None:
    """Run a check; a bad setting ends the command with one line."""
    try:
        check(address)
    except BadSetting as error:
        raise click.ClickException(str(error)) from None


def entries_of(source: str) -> Iterator[Entry]:
    """The rows of another store, or of an exported file."""
    if is_postgres(source) or is_database(source):
        with opened(source) as database:
            yield from whole_entries(database, source)
        return
    with open(source, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if line.strip():
                    yield parse_entry(line)
            except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                raise click.ClickException(f"{source}, line {number}: {error!s:.100}") from None


def whole_entries(database: Database, address: str) -> Iterator[Entry]:
    """The rows that hold a report; those that a person or a fault has changed to something else are counted."""
    others = 0
    for entry in entries(database):
        try:
            read_report_text(entry.report)
            json.loads(entry.options)
        except ValueError:
            others += 1
        else:
            yield entry
    if others:
        click.echo(f"{others:,} rows of {shown(address)} are no reports, and are left out", err=True)


def is_database(path: str) -> bool:
    """Whether a file is one of SQLite."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from None


def parse_entry(line: bytes) -> Entry:
    """A row from a line of an export; raises ValueError for any other line."""
    told = json.loads(line)
    names = [name.strip() for name in COLUMNS.split(",")]
    if not isinstance(told, dict) or told.keys() != set(names):
        raise ValueError(f"expected an object with {COLUMNS}")
    report = json.dumps(told["report"], separators=(",", ":"))
    read_report_text(report)  # raises BadReport
    if not isinstance(told["options"], dict):
        raise ValueError(f"options {told['options']!r:.40} is not an object")
    options = json.dumps(dict(sorted(told["options"].items())), separators=(",", ":"))
    return Entry(
        text_of(told, "game"),
        text_of(told, "variant"),
        text_of(told, "position"),
        options,
        int(number_of(told, "lines", 1, MAX_LINES)),
        text_of(told, "model"),
        int(number_of(told, "finished", 0, 1)),
        number_of(told, "seconds", 0, MOST_SECONDS),
        number_of(told, "stored", 0, MOST_STORED),
        report,
    )


def text_of(told: dict[str, Any], name: str) -> str:
    """A text of an exported row that a database holds."""
    text = told[name]
    if not isinstance(text, str) or "\0" in text or text.encode(errors="ignore").decode() != text:
        raise ValueError(f"{name} is {text!r:.60}; allowed is a text of whole characters, without null")
    return text


def number_of(told: dict[str, Any], name: str, least: int, most: float) -> float:
    """A number of an exported row that a database holds."""
    number = told[name]
    if type(number) not in (int, float) or not least <= number <= most:
        raise ValueError(f"{name} is {number!r:.60}; allowed is {least} to {most:g}")
    return float(number)


def batches(rows: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Rows in lists of up to BATCH."""
    batch: list[Entry] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def age(seconds: float) -> str:
    """A time span for people."""
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
