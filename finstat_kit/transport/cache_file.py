"""The cache file: a cache, and a recording that can be replayed offline."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from finstat_kit import arguments
from finstat_kit.errors import CacheError, RegisterError, UsageError, warn
from finstat_kit.protocol.wire import INVENTED, Reply
from finstat_kit.transport.cache_database import (
    FIELDS,
    LOCKED,
    About,
    CacheState,
    Database,
    Kept,
    day_of,
    key_of,
    read_about,
    write_about,
)

_BUSY: Final = 5.0  # seconds to wait for another process's commit
_LAST: Final = 1e11  # seconds since 1970: the year 5138
_AT_ONCE: Final = 500  # keys per statement
Result = TypeVar("Result")


class _Locked(CacheError):
    """Another process is writing to the file."""


class CacheFile:
    """Replies by method, path and sorted parameters, the newest of each; the method is GET alone.

    Several threads and processes may share a file; SQLite's journal restores its last commit after
    a process is killed. The file may be replaced at any time: every read and every write checks
    its register. No other code opens it: closing a second handle would release the locks of the
    first.

    Args:
        path: The file; created when the first reply is kept.
        register: The register of the replies; None for a file that is only read, whose register
            remains the one that it names now.
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
        self._database = Database(path, creates=register is not None)
        self._today, self._wall = today, wall
        self._lock = threading.RLock()
        self._waits = _BUSY
        self._warned = False
        self._day: date | None = None  # the register's day of the newest reply
        self._state = CacheState(path)
        weakref.finalize(self, self._database.close)  # a register may be dropped without its close
        _open_files.add(self)
        if not self._database.path.parent.is_dir():
            raise UsageError(
                f": there is no folder {str(path.parent)!r}",
                argument="cache",
                value=str(path),
                cure="create it",
            )
        if register is None:
            register = self._transact("DEFERRED", lambda file: read_about(file, path))
            if register is None:
                raise CacheError(f"the file {path} holds no replies; record it first")
        self.about = register
        try:
            self._read(lambda file: None)
        except _Locked as error:  # replies can be requested instead
            self._warn(error)

    def _before_fork(self) -> None:
        """Close the connection, and keep other threads from opening one until `_after_fork`.

        A child must neither use nor close a connection of its parent: SQLite would undo what the
        parent is writing.
        """
        self._lock.acquire()
        self._database.close()

    def _after_fork(self) -> None:
        """Let threads open a connection again, in the parent and in the child."""
        self._lock.release()

    def close(self) -> None:
        """Close the file; it opens again when it is needed."""
        with self._lock:
            self._database.close()

    @property
    def undecided(self) -> bool:
        """Whether only a reply can show that the file is of the same register."""
        try:
            is_ours = self._read(lambda file: True)
            return not is_ours and self._database.path.exists()
        except CacheError as error:
            self._warn(error)
            return False

    @property
    def state(self) -> CacheState:
        """The content of the file; the last known one while another process is writing.

        Raises:
            CacheError: The file cannot be read.
        """

        def read(file: sqlite3.Connection) -> CacheState:
            count, first, last = file.execute(
                "SELECT count(*), min(day), max(day) FROM replies"
            ).fetchone()
            days = (date.fromisoformat(day) for day in (first, last)) if count else (None, None)
            return CacheState(self.path, count, self._database.path.stat().st_size, *days)

        with contextlib.suppress(_Locked):
            if arguments.exists(self._database.path):
                self._state = self._transact("DEFERRED", read, waits=0) or self._state
        return self._state

    def fetched(self) -> tuple[float, float]:
        """Return when the oldest and the newest reply were fetched, in seconds since 1970.

        Raises:
            CacheError: The file cannot be read.
        """

        def read(file: sqlite3.Connection) -> tuple[float, float]:
            query = "SELECT min(fetched), max(fetched) FROM replies"
            first, last = (float(time or 0) for time in file.execute(query).fetchone())
            if not 0 <= first <= last < _LAST:
                raise ValueError(f"replies fetched at {first:g} to {last:g} s")
            return first, last

        return self._read(read) or (0.0, 0.0)

    def find(self, target: str, stop: threading.Event | None = None) -> Kept | None:
        """Return the newest cached reply to a request, None if there is none.

        Raises:
            CacheError: The reply was altered.
            UsageError: The file is of another register now.
        """
        path, query = key_of(target)

        def read(file: sqlite3.Connection) -> Kept | None:
            statement = f"SELECT {FIELDS} FROM replies WHERE path = ? AND query = ?"
            found = file.execute(statement, (path, query)).fetchone()
            if found is None:
                return None
            *fields, digest = found
            kept = Kept(*fields)
            if kept.sum(self.about.name, path, query) != digest:
                raise CacheError(
                    f"the reply to {target} in {self.path} was altered; remove the "
                    "file and record it again"
                )
            return kept

        return self._read(read, stop)

    def usable(self, target: str, stop: threading.Event | None = None) -> Kept | None:
        """As `find`, but None also for a damaged or locked reply, which can be requested."""
        try:
            return self.find(target, stop)
        except CacheError as error:
            self._warn(error)
            return None

    def keep(self, target: str, reply: Reply, stop: threading.Event | None = None) -> None:
        """Keep a reply, replacing an older one to the same request.

        Raises:
            UsageError: The reply is of another register than the file.
            Stopped: *stop* was set while another process was writing.
        """
        key = key_of(target)
        body = zlib.compress(reply.body, 6)
        now = float(self._wall())
        with self._lock:
            self.note(reply)
            kept = Kept(reply.status, now, self._today().isoformat(), _text(self._day), now, body)
            self._write(
                f"INSERT OR REPLACE INTO replies (path, query, {FIELDS})"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*key, *kept, kept.sum(self.about.name, *key))],
                stop,
            )

    def note(self, reply: Reply) -> None:
        """Note which register sent a reply, and on which day by its clock."""
        day = day_of(reply)
        with self._lock:
            self._day = None if day is None else min(day, self._today())
            self.about = replace(self.about, invented=reply.headers.get(INVENTED, ""))

    def ages(
        self, path: str, ids: Sequence[int], stop: threading.Event | None = None
    ) -> dict[int, Kept]:
        """Return every cached reply to ``path?id=…`` for some ids, without its body."""
        return {id_: kept._replace(body=b"") for id_, kept, _ in self._rows(path, ids, stop)}

    def confirm(
        self, path: str, ids: Iterable[int], now: float, stop: threading.Event | None = None
    ) -> None:
        """Record that the newest reply shows the replies of these ids to be unchanged."""
        with self._lock:
            since = _text(self._day)
            changed = []
            for id_, kept, digest in self._rows(path, list(ids), stop):
                confirmed = kept._replace(since=since or kept.since, checked=float(now))
                key = path, f"id={id_}"
                changed.append((confirmed.since, confirmed.checked,
                                confirmed.sum(self.about.name, *key), *key, digest))  # fmt: skip
            self._write(
                "UPDATE replies SET since = ?, checked = ?, sum = ? WHERE path = ? AND query = ?"
                " AND sum = ?",
                changed,
                stop,
            )

    def _rows(
        self, path: str, ids: Sequence[int], stop: threading.Event | None
    ) -> Iterator[tuple[int, Kept, bytes]]:
        """Yield each of some ids whose reply is cached and whole, with that and its checksum."""
        for start in range(0, len(ids), _AT_ONCE):
            keys = {f"id={id_}": id_ for id_ in ids[start : start + _AT_ONCE]}
            statement = (
                f"SELECT query, {FIELDS} FROM replies WHERE path = ? AND query IN "
                f"({', '.join('?' * len(keys))})"
            )
            try:
                # All at once: an open cursor would hold the file as long as a traceback has it.
                rows = self._read(partial(_all, statement, (path, *keys)), stop)
            except CacheError as error:
                self._warn(error)
                return
            for query, *fields, digest in rows or ():
                kept = Kept(*fields)
                if query in keys and kept.sum(self.about.name, path, query) == digest:
                    yield keys[query], kept, digest

    def _is_ours(self, written: About | None) -> bool:
        """Return whether a file is of this register; False while only a reply can show it.

        Raises:
            UsageError: It is of another register.
        """
        ours = self.about
        if written is None:
            return False
        if written.name == ours.name:
            return True
        if ours.invented is None and written.invented:
            # An invented register may be served at another URL.
            if written.register != ours.register:
                return False
            self.about = replace(ours, invented=written.invented)
            return True
        if not self._database.creates:
            raise CacheError(
                f"the file {self.path} was replaced: it is now of {written.name}, no longer of "
                f"{ours.name}",
                cure=f"open it again: fk.use('cache:{self.path}')",
            )
        raise UsageError(
            f": the file is of {written.name}, not of {ours.name}",
            argument="cache",
            value=str(self.path),
            cure="give another file",
        )

    def _read(
        self, work: Callable[[sqlite3.Connection], Result], stop: threading.Event | None = None
    ) -> Result | None:
        """Read from the file; None unless it is known to be of this register."""

        def read(file: sqlite3.Connection) -> Result | None:
            return work(file) if self._is_ours(read_about(file, self.path)) else None

        return self._transact("DEFERRED", read, stop)

    def _write(
        self, statement: str, rows: Sequence[tuple[object, ...]], stop: threading.Event | None
    ) -> None:
        """Commit rows to a file of this register; warn once of a full or locked disk."""

        def write(file: sqlite3.Connection) -> None:
            written = read_about(file, self.path)
            self._is_ours(written)
            register = replace(self.about, today=self._today().isoformat())
            if written != register:
                write_about(file, register)
            file.executemany(statement, rows)

        try:
            self._transact("IMMEDIATE", write, stop)
        except CacheError as error:
            self._warn(error)

    # No context managers written as generators: a Ctrl-C may leave one suspended, with its lock and
    # its transaction.
    def _transact(
        self,
        kind: Literal["DEFERRED", "IMMEDIATE"],
        work: Callable[[sqlite3.Connection], Result],
        stop: threading.Event | None = None,
        waits: float | None = None,
    ) -> Result | None:
        """Do *work* in one transaction; None if there is no file to be read yet.

        Raises:
            CacheError: The file is damaged or locked; the text has the cure.
        """
        try:
            with self._lock:
                creates = self._database.creates
                if kind == "DEFERRED" and creates and not self._database.path.exists():
                    return None
                waits = self._waits if waits is None else waits
                return self._database.transact(kind, work, waits, stop)
        except RegisterError:
            raise
        except (sqlite3.Error, zlib.error, ValueError, TypeError, OSError) as error:
            failure = _Locked if getattr(error, "sqlite_errorcode", 0) in LOCKED else CacheError
            raise failure(
                f"the cache file {self.path} cannot be read: {error}; if it is damaged, "
                "remove it and record it again"
            ) from error

    def _warn(self, error: CacheError) -> None:
        """Warn once of a file that cannot be used; the work goes on without it."""
        if not self._warned:
            self._warned = True
            self._waits = 0.1
            warn(
                f"the cache {str(self.path)!r} cannot be used: {error}; replies are requested, and "
                "those that cannot be written are not kept"
            )


def _all(statement: str, values: Sequence[str], file: sqlite3.Connection) -> list[Any]:
    return file.execute(statement, values).fetchall()


def _text(day: date | None) -> str:
    return "" if day is None else day.isoformat()


_open_files: Final[weakref.WeakSet[CacheFile]] = weakref.WeakSet()
_forking: Final = threading.Lock()  # one thread at a time
_held_files: Final[list[CacheFile]] = []


def _before_fork() -> None:
    _forking.acquire()
    for file in list(_open_files):
        file._before_fork()
        _held_files.append(file)


def _after_fork() -> None:
    while _held_files:
        _held_files.pop()._after_fork()
    _forking.release()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
