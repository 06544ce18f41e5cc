"""The connection to a file of kept replies: opened when needed, not shared with a forked child."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from finstat_kit.errors import CacheError, UsageError

BUSY: Final = 5.0  # seconds to wait for another process's commit
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
        creates: Whether it is made where there is none.

    Attributes:
        path: The file, absolute: where it was meant, wherever the process goes.
    """

    def __init__(self, path: Path, *, creates: bool) -> None:
        self.path = path.absolute()
        self._given = path
        self._mode = "rwc" if creates else "rw"
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection | None] = []
        self._opened: tuple[int, int] | None = None  # device and number of the file that is open

    def connection(self) -> sqlite3.Connection:
        """Return the connection to the file that is there now.

        Raises:
            UsageError: It is another program's file.
            CacheError: A later version of this package wrote it.
        """
        if self._connection is not None and self._opened != self._there():
            self.close()  # another file took its place, or it was removed
        if self._connection is None:
            connection = sqlite3.connect(
                f"file:{quote(str(self.path))}?mode={self._mode}",
                uri=True,
                timeout=BUSY,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                _prepare(connection, self._given)
            except BaseException:
                connection.close()
                raise
            self._connection, self._opened = connection, self._there()
        return self._connection

    def waits(self, seconds: float) -> None:
        """Set how long the open connection waits for another process's commit."""
        if self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")

    def close(self) -> None:
        """Close the connection, if one is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def leave_to_parent(self) -> None:
        """Leave the connection to the process this one was forked from, without closing it."""
        self._inherited.append(self._connection)
        self._connection = None

    def _there(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file; refuse a file of another kind or of a later format."""

    def number(name: str) -> int:
        return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

    def is_new() -> bool:
        return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    connection.execute("PRAGMA synchronous = NORMAL")
    if is_new():
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            if is_new():  # another process may have been first
                for statement in _TABLES.split(";")[:-1]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_KIND}")
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
    if number("application_id") != _KIND:
        raise UsageError(f"{str(path)!r} is no file of kept replies; give another")
    if number("user_version") > _FORMAT:
        raise CacheError(
            f"the file {path} was written by a later version of finstat_kit; "
            "update finstat_kit, or give another file"
        )
