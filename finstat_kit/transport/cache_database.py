"""The database of a cache file: its tables, their rows, and the checksum of each."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from finstat_kit.errors import CacheError, UsageError
from finstat_kit.protocol.wire import INVENTED, ZONE, Reply
from finstat_kit.transport.base import Stopped

Result = TypeVar("Result")
_KIND: Final = 0x66736B63  # application_id: a file of this package
_FORMAT: Final = 2  # user_version
_TABLES: Final = """
    CREATE TABLE about (id INTEGER PRIMARY KEY CHECK (id = 1), text TEXT, sum BLOB);
    CREATE TABLE replies (
        path TEXT, query TEXT, status INTEGER, fetched REAL, day TEXT, since TEXT, checked REAL,
        body BLOB, sum BLOB, PRIMARY KEY (path, query));
"""
LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_LOOK_UP: Final = 0.1  # seconds between checks for Ctrl-C while another process has the lock
FIELDS: Final = "status, fetched, day, since, checked, body, sum"


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
        self._opened: tuple[int, ...] | None = None  # identity of the open file

    def transact(
        self,
        kind: Literal["DEFERRED", "IMMEDIATE"],
        work: Callable[[sqlite3.Connection], Result],
        waits: float,
        stop: threading.Event | None = None,
    ) -> Result:
        """Do *work* in one transaction with a connection to the file that is there now.

        Args:
            kind: Kind of transaction: to read, or to write.
            work: Is done again where another process's commit prevented it.
            waits: Seconds to wait for another process's commit.
            stop: Ends the wait when it is set.

        Raises:
            UsageError: It is another program's file.
            CacheError: Another version of this package wrote it.
            Stopped: *stop* was set while another process had the lock.
        """
        end = time.monotonic() + waits
        while True:
            try:
                return self._once(kind, work, min(waits, _LOOK_UP))
            except sqlite3.OperationalError as error:
                # SQLite's own wait would end no sooner for Ctrl-C, which gets through here.
                if error.sqlite_errorcode not in LOCKED or time.monotonic() >= end:
                    raise
            if stop is not None and stop.is_set():
                raise Stopped

    def close(self) -> None:
        """Close the connection, if one is open."""
        # Forgotten first: a Ctrl-C in between leaves no closed connection to be used again.
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _once(
        self,
        kind: Literal["DEFERRED", "IMMEDIATE"],
        work: Callable[[sqlite3.Connection], Result],
        waits: float,
    ) -> Result:
        # SQLite reuses pages it has read while the file's commit counter is unchanged, which may
        # also be true of another file copied over this one.
        if self._connection is not None and self._opened != self._identity():
            self.close()
        if self._connection is None:
            self._opened = self._identity()
            self._connection = self._open(waits)
        connection = self._connection
        if connection.in_transaction:  # a Ctrl-C met the end of the former one
            connection.rollback()
        connection.execute(f"PRAGMA busy_timeout = {waits * 1000:.0f}")
        with connection:  # a Ctrl-C at any point within rolls back
            connection.execute(f"BEGIN {kind}")
            return work(connection)

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
    """Create the tables of a new file; refuse a file of another kind or format."""

    def number(name: str) -> int:
        return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

    def is_new() -> bool:
        return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    # The journal is enough after a kill. A power cut may damage the file: then its checksums and
    # SQLite's own checks fail, and it is recorded again.
    connection.execute("PRAGMA synchronous = OFF")
    if is_new():
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if is_new():  # another process may have been first
                for statement in _TABLES.split(";")[:-1]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_KIND}")
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
    if number("application_id") != _KIND:
        raise UsageError(f"{str(path)!r} is not a cache file", cure="give another")
    if number("user_version") != _FORMAT:
        raise CacheError(
            f"the file {path} was written by another version of finstat_kit; "
            "update finstat_kit, or give another file"
        )


@dataclass(frozen=True)
class About:
    """The register of a file, and the settings of its recording.

    Attributes:
        register: The base URL.
        invented: Name of the invented data according to the replies; "" for none, None if not
            known yet.
        page_size: Ids per request of a list.
        today: The register's day when the newest reply was kept.
    """

    register: str
    invented: str | None
    page_size: int
    today: str = ""

    @property
    def name(self) -> str:
        """The identity of the register: the one in its replies, or its URL."""
        return self.invented or self.register


@dataclass(frozen=True)
class CacheState:
    """The content of a cache file.

    Attributes:
        file: The file.
        replies: Number of replies.
        bytes: Size of the file.
        first_day: The register's day when the oldest reply was fetched; None without replies.
        last_day: The register's day when the newest one was fetched.
    """

    file: Path
    replies: int = 0
    bytes: int = 0
    first_day: date | None = None
    last_day: date | None = None

    def __str__(self) -> str:
        days = f", {self.first_day} to {self.last_day}" if self.first_day else ""
        return f"{self.file}: {self.replies:,} replies, {self.bytes:,} bytes{days}"


class Kept(NamedTuple):
    """A cached reply, as its row has it.

    Attributes:
        status: 200 or 404, or of a refusal that `fk.doctor` provoked.
        fetched: Seconds since 1970.
        day: The register's day when it was fetched.
        since: The register's day when it was last known to be unchanged, by the register's own
            clock and never too late; "" if its replies are without a date.
        checked: The same moment in seconds since 1970, by our clock.
        body: Compressed.
    """

    status: int
    fetched: float
    day: str
    since: str
    checked: float
    body: bytes

    def sum(self, register: str, path: str, query: str) -> bytes:
        """Return the SHA-256 of the row, its key included, and of its register."""
        return sha256(repr((register, path, query, *self)).encode()).digest()

    def reply(self, register: About) -> Reply:
        """Return the reply as it was received, with the mark of invented data."""
        headers = {INVENTED: register.invented} if register.invented else {}
        return Reply(self.status, headers, zlib.decompress(self.body))


def read_about(connection: sqlite3.Connection, path: Path) -> About | None:
    """Return the register and the settings of a file, None before they are written.

    Raises:
        CacheError: They were altered.
    """
    row = connection.execute("SELECT text, sum FROM about").fetchone()
    if row is None:
        return None
    text, digest = row
    if not isinstance(text, str) or sha256(text.encode()).digest() != digest:
        raise CacheError(f"the file {path} was altered; remove it and record it again")
    return About(**json.loads(text))


def write_about(connection: sqlite3.Connection, about: About) -> None:
    """Write the register and the settings of a file."""
    text = json.dumps(asdict(about))
    connection.execute(
        "INSERT OR REPLACE INTO about VALUES (1, ?, ?)", (text, sha256(text.encode()).digest())
    )


def key_of(target: str) -> tuple[str, str]:
    """Return path and sorted parameters of a request's target.

    >>> key_of("/api/sidla?b=2&a=1")
    ('/api/sidla', 'a=1&b=2')
    """
    path, _, query = target.partition("?")
    return path, urlencode(sorted(parse_qsl(query, keep_blank_values=True)))


def day_of(reply: Reply) -> date | None:
    """Return the day of a reply by its server's clock, which may differ from ours."""
    try:
        sent: datetime = parsedate_to_datetime(reply.headers.get("Date", ""))
        return sent.astimezone(ZONE).date()
    except (ValueError, TypeError, OverflowError):
        return None
