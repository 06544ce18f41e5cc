"""The cache file: a cache, and a recording that can be replayed offline."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode

from finstat_kit import arguments
from finstat_kit.errors import CacheError, RegisterError, UsageError
from finstat_kit.protocol.wire import INVENTED, Reply, day_of
from finstat_kit.transport.base import Stopped

Result = TypeVar("Result")
_KIND: Final = 0x66736B63  # application_id: a file of this package
_FORMAT: Final = 3  # user_version
# `about`, `facts` and `body` are packed with what they belong to, under the checksum of zlib.
_TABLES: Final = f"""
    PRAGMA application_id = {_KIND};
    PRAGMA user_version = {_FORMAT};
    CREATE TABLE about (id INTEGER PRIMARY KEY CHECK (id = 1), about BLOB);
    CREATE TABLE replies (
        target TEXT PRIMARY KEY, day TEXT, fetched REAL, facts BLOB, body BLOB);
"""
_PRAGMAS: Final = "SELECT * FROM pragma_schema_version, pragma_application_id, pragma_user_version"
_WAIT: Final = 0.4  # seconds for another process; its commits take milliseconds, and Ctrl-C waits
_LAST: Final = 1e11  # seconds since 1970: the year 5138


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

    def is_of(self, other: About) -> bool:
        """Return whether both may be of the same register."""
        known = {self.invented, other.invented} - {None}
        return self.register == other.register and len(known) < 2


@dataclass(frozen=True)
class CacheState:
    """The content of a cache file.

    Attributes:
        file: The file.
        replies: Number of replies.
        bytes: Size of the file.
        first_day: The register's day when the oldest reply was fetched; None without replies.
        last_day: The register's day when the newest one was fetched.
        fetched: When the oldest and the newest one were fetched, in seconds since 1970.
    """

    file: Path
    replies: int = 0
    bytes: int = 0
    first_day: date | None = None
    last_day: date | None = None
    fetched: tuple[float, float] = field(default=(0.0, 0.0), repr=False)


class Facts(NamedTuple):
    """What is known of a cached reply.

    Attributes:
        status: 200 or 404.
        fetched: Seconds since 1970.
        day: The register's day when it was fetched.
        since: The register's day when it was last known to be unchanged, by the register's own
            clock and never too late; "" if its replies are without a date.
        checked: The same moment in seconds since 1970, by our clock.
    """

    status: int
    fetched: float
    day: str
    since: str
    checked: float


class CacheFile:
    """Replies by path and sorted parameters, the newest of each.

    Several threads and processes may share a file; SQLite's journal restores its last commit after
    a process is killed. It is open only during a read or a write, each of which checks its
    register: another file may take its place at any time.

    Args:
        path: The file; created when the first reply is kept.
        register: The register of the replies; None for a file that is only read.
        today: Returns the register's day; needed only for keeping replies.
        wall: Returns seconds since 1970; likewise.

    Attributes:
        path: As given.
        about: The register of the replies, and the settings of the recording.

    Raises:
        CacheError: The file cannot be read, or is empty and only read.
        UsageError: It is of another register, or in no folder.
    """

    def __init__(
        self,
        path: Path,
        register: About | None,
        today: Callable[[], date] = lambda: date.min,
        wall: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.path = path
        self._file = path.absolute()
        self._today, self._wall = today, wall
        self._lock = threading.Lock()  # threads wait here, not for SQLite, which polls
        self._day = ""  # the register's day of the newest reply
        if not self._file.parent.is_dir():
            fault = f": there is no folder {str(path.parent)!r}"
            raise UsageError(fault, argument="cache", value=str(path), cure="create it")
        there = arguments.exists(self._file)
        look = partial(self._about_in, ours=register)
        found = self._transacted("BEGIN", look) if there else None
        if (about := register or found) is None:
            raise CacheError(f"the file {path} holds no replies; record it first")
        if found is not None and about.invented is None:
            about = replace(about, invented=found.invented)
        self.about = about

    @property
    def state(self) -> CacheState:
        """The content of the file.

        Raises:
            CacheError: The file cannot be read.
        """
        query = "SELECT count(*), min(day), max(day), min(fetched), max(fetched) FROM replies"

        def read(file: sqlite3.Connection) -> CacheState:
            count, *days, first, last = file.execute(query).fetchone()
            size = self._file.stat().st_size
            if not count:
                return CacheState(self.path, 0, size)
            if not 0 <= first <= last < _LAST:
                raise ValueError(f"replies fetched at {first} to {last} s")
            first_day, last_day = map(date.fromisoformat, days)
            return CacheState(self.path, count, size, first_day, last_day, (first, last))

        return self._read(read) or CacheState(self.path)

    def find(self, target: str) -> tuple[Facts, Reply] | None:
        """Return the newest cached reply to a request, None if there is none.

        Raises:
            CacheError: The reply is damaged.
            UsageError: The file is of another register now.
        """
        key = key_of(target)

        def read(file: sqlite3.Connection) -> tuple[Facts, Reply] | None:
            query = "SELECT facts, body FROM replies WHERE target = ?"
            if (found := file.execute(query, (key,)).fetchone()) is None:
                return None
            facts, body = Facts(*json.loads(self._unpacked(key, found[0]))), found[1]
            headers = {INVENTED: self.about.invented} if self.about.invented else {}
            return facts, Reply(facts.status, headers, self._unpacked(key, body))

        return self._read(read)

    def keep(self, target: str, reply: Reply, stop: threading.Event | None = None) -> None:
        """Keep a reply, replacing an older one to the same request.

        Raises:
            CacheError: It cannot be written.
            UsageError: The reply is of another register than the file.
            Stopped: *stop* was set before it was this thread's turn.
        """
        self.note(reply)
        key, now, day = key_of(target), self._wall(), self._today().isoformat()
        facts = Facts(reply.status, now, day, self._day, now)
        row = key, day, now, self._packed(key, facts), self._packed(key, reply.body)
        statement = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)"
        self._write(lambda file: file.execute(statement, row), stop)

    def note(self, reply: Reply) -> None:
        """Note which register sent a reply, and on which day by its clock."""
        day = day_of(reply.headers.get("Date", ""))
        self._day = "" if day is None else min(day, self._today()).isoformat()
        self.about = replace(self.about, invented=reply.headers.get(INVENTED, ""))

    def facts(self, path: str, ids: Sequence[int]) -> dict[int, Facts]:
        """Return what is known of every cached reply to ``path?id=…`` for some ids."""
        return self._read(lambda file: dict(self._found(file, path, ids))) or {}

    def confirm(self, path: str, ids: Sequence[int], now: float) -> None:
        """Record that the newest reply shows the replies of these ids to be unchanged."""

        def write(file: sqlite3.Connection) -> None:
            for id_, facts in self._found(file, path, ids):
                key, since = f"{path}?id={id_}", self._day or facts.since
                packed = self._packed(key, facts._replace(since=since, checked=now))
                file.execute("UPDATE replies SET facts = ? WHERE target = ?", (packed, key))

        self._write(write)

    def _found(
        self, file: sqlite3.Connection, path: str, ids: Sequence[int]
    ) -> Iterator[tuple[int, Facts]]:
        query = """
            SELECT target, facts FROM replies
            WHERE target IN (SELECT ? || value FROM json_each(?))"""
        for key, facts in file.execute(query, (f"{path}?id=", json.dumps([*ids]))).fetchall():
            yield int(key.rpartition("=")[2]), Facts(*json.loads(self._unpacked(key, facts)))

    def _packed(self, key: str, content: Facts | bytes) -> bytes:
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        return zlib.compress(f"{self.about.register} {key}\n".encode() + text, 6)

    def _unpacked(self, key: str, packed: bytes) -> bytes:
        head, _, content = zlib.decompress(packed).partition(b"\n")
        if head != f"{self.about.register} {key}".encode():
            raise ValueError(f"the reply to {key} is another's")
        return content

    def _about_in(self, file: sqlite3.Connection, ours: About | None) -> About | None:
        """Return the register that a file names, None before it names one.

        Raises:
            UsageError: It is of another register.
            CacheError: It is of another program or version.
        """
        tables, kind, number = file.execute(_PRAGMAS).fetchone()
        if not tables:
            return None
        if (kind, number) != (_KIND, _FORMAT):
            raise CacheError(
                f"the file {self.path} is no cache file of this version of finstat_kit",
                cure="update finstat_kit, or give another file",
            )
        ((packed,),) = file.execute("SELECT about FROM about")
        written = About(**json.loads(zlib.decompress(packed)))
        if ours is None or written.is_of(ours):
            return written
        raise UsageError(
            f": the file is of {written.invented or written.register}, "
            f"not of {ours.invented or ours.register}",
            argument="cache",
            value=str(self.path),
            cure="give another file, or open this one again",
        )

    def _read(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Read from the file; None if there is nothing in it yet."""

        def read(file: sqlite3.Connection) -> Result | None:
            return None if self._about_in(file, self.about) is None else work(file)

        return self._transacted("BEGIN", read) if arguments.exists(self._file) else None

    def _write(
        self, work: Callable[[sqlite3.Connection], object], stop: threading.Event | None = None
    ) -> None:
        """Write to the file, which is created where it is missing."""

        def write(file: sqlite3.Connection) -> None:
            if (written := self._about_in(file, self.about)) is None:
                for statement in _TABLES.split(";")[:-1]:
                    file.execute(statement)
            about = replace(self.about, today=self._today().isoformat())
            if written != about:
                packed = zlib.compress(json.dumps(asdict(about)).encode())
                file.execute("INSERT OR REPLACE INTO about VALUES (1, ?)", (packed,))
            work(file)

        self._transacted("BEGIN IMMEDIATE", write, stop)

    def _transacted(
        self,
        begin: str,
        work: Callable[[sqlite3.Connection], Result],
        stop: threading.Event | None = None,
    ) -> Result:
        try:
            with self._lock:
                if stop is not None and stop.is_set():
                    raise Stopped
                opened = sqlite3.connect(self._file, timeout=_WAIT, isolation_level=None)
                with closing(opened) as file:  # without a commit it is rolled back
                    # The journal is enough after a kill. A power cut may damage the file: then
                    # its checksums fail, and it is recorded again.
                    file.execute("PRAGMA synchronous = OFF")
                    file.execute(begin)
                    result = work(file)
                    file.execute("COMMIT")
                    return result
        except RegisterError:
            raise
        except (sqlite3.Error, zlib.error, ValueError, TypeError, OSError) as error:
            raise CacheError(
                f"the cache file {self.path} cannot be used: {error}",
                cure="if it is damaged, remove it and record it again; if the disk is full or "
                "another process holds the file, run the same line again after that",
            ) from error


def key_of(target: str) -> str:
    """Return the target of a request with sorted parameters.

    >>> key_of("/api/sidla?b=2&a=1")
    '/api/sidla?a=1&b=2'
    """
    path, _, query = target.partition("?")
    sorted_query = urlencode(sorted(parse_qsl(query, keep_blank_values=True)))
    return f"{path}?{sorted_query}" if query else path
