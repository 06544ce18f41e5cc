"""The connection to a cache file: opened when needed, not shared with a forked child."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from finstat_kit.errors import CacheError, UsageError

_KIND: Final = 0x66736B63  # application_id: a file of this package
_FORMAT: Final = 1  # user_version
_TABLES: Final = """
    CREATE TABLE about (id INTEGER PRIMARY KEY CHECK (id = 1), text TEXT, seal BLOB);
    CREATE TABLE replies (
        path TEXT, query TEXT, status INTEGER, fetched REAL, day TEXT, since TEXT, checked REAL,
        body BLOB, sum BLOB, seal BLOB, PRIMARY KEY (path, query));
"""


class Database:
    """One connection at a time to an SQLite file; its caller holds a lock.

    Args:
        path: The file.
        creates: Whether a missing file is created.

    Attributes:
        path: The file, absolute, so that a change of directory does not matter.
        creates: As given.
    """

    def __init__(self, path: Path, *, creates: bool) -> None:
        self.path = path.absolute()
        self.creates = creates
        self._given = path
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection | None] = []
        self._opened: tuple[int, ...] | None = None  # identity of the open file

    @contextmanager
    def transaction(
        self, kind: Literal["DEFERRED", "IMMEDIATE"], waits: float
    ) -> Iterator[sqlite3.Connection]:
        """Yield a connection to the file that is there now, for one transaction.

        Args:
            kind: Kind of transaction: to read, or to write.
            waits: Seconds to wait for another process's commit.

        Raises:
            UsageError: It is another program's file.
            CacheError: A later version of this package wrote it.
        """
        # SQLite reuses pages it has read while the file's commit counter is unchanged, which may
        # also be true of another file copied over this one.
        if self._connection is not None and self._opened != self._identity():
            self.close()
        if self._connection is None:
            self._opened = self._identity()
            self._connection = self._open(waits)
        self._connection.execute(f"PRAGMA busy_timeout = {waits * 1000:.0f}")
        self._connection.execute(f"BEGIN {kind}")
        with self._connection:
            yield self._connection

    def close(self) -> None:
        """Close the connection, if one is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def leave_to_parent(self) -> None:
        """Leave the connection to the process this one was forked from, without closing it."""
        self._inherited.append(self._connection)
        self._connection = None

    def _open(self, waits: float) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self.path))}?mode={'rwc' if self.creates else 'rw'}",
            uri=True,
            timeout=waits,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare(connection, self._given)
        except BaseException:
            connection.close()
            raise
        return connection

    def _identity(self) -> tuple[int, ...] | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file; refuse a file of another kind or of a later format."""

    def number(name: str) -> int:
        return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

    def is_new() -> bool:
        return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    # The journal is enough after a kill. A power cut may damage the file: then its checksums and
    # SQLite's own checks fail, and it is recorded again.
    connection.execute("PRAGMA synchronous = OFF")
    if is_new():
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            if is_new():  # another process may have been first
                for statement in _TABLES.split(";")[:-1]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_KIND}")
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
    if number("application_id") != _KIND:
        raise UsageError(f"{str(path)!r} is not a cache file", cure="give another")
    if number("user_version") > _FORMAT:
        raise CacheError(
            f"the file {path} was written by a later version of finstat_kit; "
            "update finstat_kit, or give another file"
        )
