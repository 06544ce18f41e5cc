"""The file of kept replies: a cache, and a recording that can be replayed offline."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final

from finstat_kit.errors import CacheError, UsageError, warn
from finstat_kit.protocol.wire import INVENTED, Reply
from finstat_kit.transport import forks
from finstat_kit.transport.cache_database import BUSY, Database
from finstat_kit.transport.cache_format import (
    FIELDS,
    About,
    Age,
    CacheState,
    Kept,
    Row,
    day_of,
    key_of,
    read_about,
    write_about,
)

_AT_ONCE: Final = 500  # keys per statement
_SOON: Final = 0.3  # seconds between two commits within a block that gathers replies


class CacheFile:
    """Replies by method, path and sorted parameters, the newest of each; the method is GET alone.

    Several threads and processes may share a file; SQLite's journal restores its last commit after
    a process is killed. No other code opens it: closing a second handle would release the locks of
    the first.

    Args:
        path: The file; created when the first reply is kept.
        register: The register of the file; None for a file that is only read.
        today: Returns the register's day; needed only for keeping replies.
        wall: Returns seconds since 1970; likewise.
    """

    def __init__(
        self,
        path: Path,
        register: About | None,
        today: Callable[[], date] = lambda: date.min,
        wall: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.path = path
        self._database = Database(path, creates=register is not None)
        self._register = register
        self._agreed = register is None  # whether the kept replies are of this register
        self._today, self._wall = today, wall
        self._lock = threading.RLock()
        self._warned = False
        self._mark = ""  # name of the invented data in the kept replies
        self._since = date.min  # the server's day of the newest reply
        self._pending: dict[tuple[str, str], tuple[Row, bytes]] = {}  # for the next commit
        self._gathering = 0  # open blocks that commit replies in batches
        self._committed = -math.inf  # time of the last commit, on the process's clock
        self._state = CacheState(path)
        forks.renew_in_child(self)
        if not self._database.path.parent.is_dir():
            raise UsageError(
                f"cache={str(path)!r}: there is no folder {str(path.parent)!r}; create it"
            )
        if not self._database.path.exists():
            return
        try:
            self._agreed = self._fits(read_about(self._database.connection(), self.path))
        except sqlite3.OperationalError as error:  # locked: replies can be requested instead
            if register is None:
                raise self._unreadable(error) from error
            self._warn(error)
        except sqlite3.DatabaseError as error:
            raise self._unreadable(error) from error

    def _after_fork(self) -> None:
        """Create a new lock and connection; the parent's is neither used nor closed."""
        self._lock = threading.RLock()
        self._database.leave_to_parent()
        self._pending = {}  # the parent commits its own
        self._gathering = 0

    def close(self) -> None:
        """Close the file; it opens again when it is needed."""
        with self._lock:
            self._commit()
            self._database.close()

    @property
    def undecided(self) -> bool:
        """Whether only a reply can show that the file is of the same register."""
        return not self._agreed and self._database.path.exists()

    def about(self) -> About:
        """Return the register and the settings of the file.

        Raises:
            CacheError: The file cannot be read, or is empty.
        """
        with self._lock, self._reading():
            written = read_about(self._database.connection(), self.path)
        if written is None:
            raise CacheError(f"the file {self.path} holds no replies; record it first")
        return written

    @property
    def state(self) -> CacheState:
        """The content of the file; the last known one while another process is writing."""
        with contextlib.suppress(sqlite3.Error, OSError), self._lock:
            self._commit()
            if not self._database.path.exists():
                return self._state
            connection = self._database.connection()
            self._database.waits(0)
            try:
                count, first, last = connection.execute(
                    "SELECT count(*), min(day), max(day) FROM replies"
                ).fetchone()
            finally:
                self._database.waits(BUSY)
            days = (date.fromisoformat(day) for day in (first, last)) if count else (None, None)
            self._state = CacheState(self.path, count, self._database.path.stat().st_size, *days)
        return self._state

    def fetched(self) -> tuple[float, float]:
        """Return when the oldest and the newest reply were fetched, in seconds since 1970.

        Raises:
            CacheError: The file cannot be read.
        """
        with self._lock, self._reading():
            query = "SELECT min(fetched), max(fetched) FROM replies"
            first, last = self._database.connection().execute(query).fetchone()
        return first or 0.0, last or 0.0

    def find(self, target: str) -> Kept | None:
        """Return the newest kept reply to a request, None if there is none.

        Raises:
            CacheError: The reply was altered.
        """
        path, query = key_of(target)
        with self._lock, self._reading():
            if (path, query) in self._pending:
                self._commit()
            if not self._agreed or not self._database.path.exists():
                return None
            row = (
                self._database.connection()
                .execute(
                    f"SELECT {FIELDS}, body FROM replies WHERE path = ? AND query = ?",
                    (path, query),
                )
                .fetchone()
            )
            mark = self._mark
        if row is None:
            return None
        *fields, seal, body = row
        found = Row(*fields)
        whole = isinstance(body, bytes) and sha256(body).digest() == found.sum
        if found.seal(path, query) != seal or not whole:
            raise CacheError(
                f"the reply to {target} in {self.path} is not as it was written; "
                "remove the file and record it again"
            )
        reply = Reply(found.status, {INVENTED: mark} if mark else {}, zlib.decompress(body))
        return Kept(reply, found.fetched, date.fromisoformat(found.day))

    def usable(self, target: str) -> Kept | None:
        """As `find`, but None also for a damaged or locked reply, which can be requested."""
        try:
            return self.find(target)
        except CacheError as error:
            self._warn(error)
            return None

    def keep(self, target: str, reply: Reply) -> None:
        """Keep a good reply, or a 404, replacing an older one.

        Raises:
            UsageError: The reply is of another register than the file.
        """
        path, query = key_of(target)
        body = zlib.compress(reply.body if reply.status == 200 else b"", 6)
        day, now = self._today(), float(self._wall())
        since = min(day, day_of(reply, day))
        seen = sha256(body).digest()
        row = Row(reply.status, now, day.isoformat(), since.isoformat(), now, seen)
        with self._lock:
            self._pending[path, query] = row, body
            if not self._is_agreed(reply):
                self._commit(reply.headers.get(INVENTED, ""))
            elif not self._gathering or time.monotonic() > self._committed + _SOON:
                self._commit()

    @contextlib.contextmanager
    def gathering(self) -> Iterator[None]:
        """Commit the replies of a block in batches, all of them by its end.

        Each commit waits for the disk, longer than a fast register takes to reply.
        """
        with self._lock:
            self._gathering += 1
        try:
            yield
        finally:
            with self._lock:
                self._gathering -= 1
                self._commit()

    def _commit(self, mark: str | None = None) -> None:
        """Write the pending replies; a new *mark* is compared with the file's."""
        with self._lock:
            pending, self._pending = self._pending, {}
            if not pending:
                return
            self._write(
                self._mark if mark is None else mark,
                f"INSERT OR REPLACE INTO replies (path, query, body, {FIELDS})"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*key, body, *row, row.seal(*key)) for key, (row, body) in pending.items()],
            )
            self._committed = time.monotonic()

    def ages(self, path: str, ids: Sequence[int]) -> dict[int, Age]:
        """Return the age of every kept reply to ``path?id=…`` for some ids."""
        return {
            id_: Age(date.fromisoformat(row.since), row.checked)
            for id_, row in self._rows(path, ids)
        }

    def confirm(self, path: str, ids: Iterable[int], now: float) -> None:
        """Record that the newest reply shows the replies of these ids to be unchanged."""
        changed = [
            (f"id={id_}", row._replace(since=self._since.isoformat(), checked=float(now)))
            for id_, row in self._rows(path, list(ids))
        ]
        with self._lock:
            self._write(
                self._mark,
                "UPDATE replies SET since = ?, checked = ?, seal = ? WHERE path = ? AND query = ?"
                " AND sum = ?",
                [
                    (row.since, row.checked, row.seal(path, query), path, query, row.sum)
                    for query, row in changed
                ],
            )

    def missing(self, path: str, ids: Sequence[int]) -> int:
        """Return how many ids have no kept reply."""
        return len(ids) - len(self._rows(path, ids))

    def _rows(self, path: str, ids: Sequence[int]) -> list[tuple[int, Row]]:
        found: list[tuple[int, Row]] = []
        try:
            with self._lock, self._reading():
                self._commit()
                if not self._agreed or not self._database.path.exists():
                    return []
                connection = self._database.connection()
                for start in range(0, len(ids), _AT_ONCE):
                    keys = [f"id={id_}" for id_ in ids[start : start + _AT_ONCE]]
                    rows = connection.execute(
                        f"SELECT query, {FIELDS} FROM replies WHERE path = ? AND query IN "
                        f"({', '.join('?' * len(keys))})",
                        (path, *keys),
                    )
                    for query, *fields, seal in rows:
                        row = Row(*fields)
                        if row.seal(path, query) == seal:
                            found.append((int(query.removeprefix("id=")), row))
        except CacheError as error:
            self._warn(error)
        return found

    def agree(self, reply: Reply) -> None:
        """Compare the register of a reply with that of the file.

        Raises:
            UsageError: They differ.
        """
        with self._lock:
            if not self._is_agreed(reply):
                self._write(reply.headers.get(INVENTED, ""))

    def _is_agreed(self, reply: Reply) -> bool:
        """Record the server's day; return whether the reply is known to be of the register."""
        day = self._today()
        self._since = min(day, day_of(reply, day))
        return self._agreed and self._mark == reply.headers.get(INVENTED, "")

    def _agree(self, connection: sqlite3.Connection, mark: str) -> None:
        """Write the register of a new file, unless the file is of another register."""
        assert self._register is not None
        register = replace(self._register, invented=mark, today=self._today().isoformat())
        written = read_about(connection, self.path)
        if written is not None and written.name != register.name:
            raise self._another(written, register)
        if written != register:
            write_about(connection, register)
        self._agreed, self._mark = True, mark

    def _fits(self, written: About | None) -> bool:
        """Return whether a file is of this register; False while only a reply can show it.

        Raises:
            UsageError: The file is of another register.
        """
        register = self._register
        if written is None:
            return False
        self._mark = written.invented or ""
        if register is None:
            return True
        if register.invented is None and written.register != register.register:
            # An invented register may be served at another URL.
            if not written.invented:
                raise self._another(written, register)
            return False
        if register.invented is not None and written.name != register.name:
            raise self._another(written, register)
        return True

    def _another(self, written: About, register: About) -> UsageError:
        return UsageError(
            f"cache={str(self.path)!r}: the file is of {written.name}, not of {register.name}; "
            "give another file"
        )

    def _write(
        self, mark: str, statement: str = "", rows: Sequence[tuple[object, ...]] = ()
    ) -> None:
        """Commit rows to a file of the same register; warn once of a full or locked disk."""
        try:
            connection = self._database.connection()
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                self._agree(connection, mark)
                if rows:
                    connection.executemany(statement, rows)
        except (sqlite3.Error, CacheError) as error:
            self._warn(error)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zlib.error) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> CacheError:
        return CacheError(
            f"the file of kept replies {self.path} cannot be read: {error}; if it is damaged, "
            "remove it and record it again"
        )

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            with contextlib.suppress(sqlite3.Error):  # wait only once
                self._database.waits(0.1)
            warn(
                f"cache={str(self.path)!r}: {error}; replies are requested, and those that cannot "
                "be written are not kept"
            )
