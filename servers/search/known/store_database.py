"""The database behind a store: an SQLite file, or PostgreSQL by its address. Both understand the same statements."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

from plyd.servers.settings import BadSetting

SCHEMES = ("postgresql://", "postgres://")
APPLICATION_ID = 0x706C7964  # "plyd", in the head of an SQLite file
VERSION = 1
BUSY_SECONDS = 10.0  # to wait for another process that writes
CONNECT_SECONDS = 3
STATEMENT_MS = 10_000
ADVISORY_LOCK = APPLICATION_ID
Row = Sequence[Any]

TABLE = """
CREATE TABLE IF NOT EXISTS plyd_reports (
    game TEXT NOT NULL, variant TEXT NOT NULL, position TEXT NOT NULL, options TEXT NOT NULL, lines INTEGER NOT NULL,
    model TEXT NOT NULL, finished INTEGER NOT NULL, seconds DOUBLE PRECISION NOT NULL, stored DOUBLE PRECISION NOT NULL,
    report TEXT NOT NULL, PRIMARY KEY (game, variant, position, options, lines, model))
"""
COLUMNS_CHECK = """
SELECT game, variant, position, options, lines, model, finished, seconds, stored, report FROM plyd_reports LIMIT 0
"""
INDEX = "CREATE INDEX IF NOT EXISTS plyd_reports_stored ON plyd_reports (stored)"


class StoreFault(Exception):
    """The database does not do what it is asked: it is away, locked, full or damaged."""


class Database(Protocol):
    """One connection; for one thread at a time."""

    def query(self, statement: str, values: Row = ()) -> list[Row]:
        """The rows of a statement that reads; raises StoreFault."""

    def change(self, statement: str, rows: Iterable[Row]) -> int:
        """Run a statement that writes, once for each row, all or none; the number of rows changed."""

    def close(self) -> None:
        """End the connection."""


def is_postgres(address: str) -> bool:
    """Whether an address is one of PostgreSQL, not a file."""
    return address.startswith(SCHEMES)


def shown(address: str) -> str:
    """An address without its password, for messages."""
    if not is_postgres(address):
        return address
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def connect(address: str) -> Database:
    """A connection to a store that exists; raises StoreFault."""
    return PostgresDatabase(address) if is_postgres(address) else SqliteDatabase(address)


def prepare(address: str) -> None:
    """Make the store at an address if it is new, and check it if not; raises BadSetting with what to do."""
    if is_postgres(address):
        _prepare_postgres(address)
    else:
        _prepare_sqlite(address)


class SqliteDatabase:
    """A connection to an SQLite file in WAL mode: processes that read and write it do not disturb each other."""

    def __init__(self, path: str) -> None:
        with _sqlite_faults(path):
            self._path = path
            self._connection = sqlite3.connect(
                os.path.abspath(path), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            _use_wal(self._connection)
            self._connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing committed

    def query(self, statement: str, values: Row = ()) -> list[Row]:
        """The rows of a statement that reads."""
        with _sqlite_faults(self._path):
            return self._connection.execute(statement, values).fetchall()

    def change(self, statement: str, rows: Iterable[Row]) -> int:
        """Run a statement that writes, once for each row."""
        with _sqlite_faults(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                changed = self._connection.executemany(statement, rows).rowcount
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise
            return changed

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


class PostgresDatabase:
    """A connection to PostgreSQL."""

    def __init__(self, address: str) -> None:
        psycopg = _psycopg(address)
        self._error = psycopg.Error
        with self._faults():
            self._connection = psycopg.connect(
                address,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                options=f"-c statement_timeout={STATEMENT_MS}",
                application_name="plyd",
            )

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise StoreFault(str(error).strip().replace("\n", " ")) from None

    def query(self, statement: str, values: Row = ()) -> list[Row]:
        """The rows of a statement that reads."""
        with self._faults():
            return list(self._connection.execute(statement.replace("?", "%s"), values).fetchall())

    def change(self, statement: str, rows: Iterable[Row]) -> int:
        """Run a statement that writes, once for each row."""
        with self._faults(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), list(rows))
            return int(cursor.rowcount)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _psycopg(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise BadSetting(f"store {shown(address)} needs psycopg; install it with pip install 'plyd[store]'") from None
    return psycopg


def _use_wal(connection: sqlite3.Connection) -> None:
    """Set WAL mode; SQLite does not wait by itself while another process changes the mode of a new file."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def _sqlite_faults(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreFault(f"{path}: {error}") from None


def _prepare_sqlite(path: str) -> None:
    advice = "move it away, and a new one is made; sqlite3's .recover may save what can still be read"
    try:
        if os.path.isdir(path):
            raise BadSetting(f'store is "{path}", a folder; allowed is a file, or postgresql://...')
        connection = sqlite3.connect(os.path.abspath(path), timeout=BUSY_SECONDS, isolation_level=None)
        with closing(connection):
            connection.execute("BEGIN IMMEDIATE")  # one process makes it, others wait
            [(tables,)] = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            [(made_by,)] = connection.execute("PRAGMA application_id").fetchall()
            [(version,)] = connection.execute("PRAGMA user_version").fetchall()
            if tables and made_by != APPLICATION_ID:
                raise BadSetting(f'store "{path}" is a database of another program; name another file')
            if tables and version != VERSION:
                raise BadSetting(f'store "{path}" has version {version}; this plyd reads {VERSION}; name another file')
            for statement in (
                TABLE,
                INDEX,
                f"PRAGMA application_id = {APPLICATION_ID}",
                f"PRAGMA user_version = {VERSION}",
            ):
                connection.execute(statement)
            connection.execute(COLUMNS_CHECK)
            connection.execute("COMMIT")
            [(verdict, *_), *_] = connection.execute("PRAGMA quick_check(1)").fetchall()
            if verdict != "ok":
                raise BadSetting(f'store "{path}" is damaged ({verdict.splitlines()[-1]}); {advice}')
    except sqlite3.OperationalError as error:
        raise BadSetting(f'cannot use store "{path}": {error}') from None
    except sqlite3.DatabaseError as error:
        raise BadSetting(f'store "{path}" is damaged, or no store ({error}); {advice}') from None


def _prepare_postgres(address: str) -> None:
    psycopg = _psycopg(address)
    try:
        with psycopg.connect(address, connect_timeout=CONNECT_SECONDS) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))  # one makes it, others wait
            connection.execute(TABLE)
            connection.execute(INDEX)
    except psycopg.Error as error:
        text = str(error).strip().replace("\n", " ")
        raise BadSetting(f"cannot use store {shown(address)}: {text}") from None
