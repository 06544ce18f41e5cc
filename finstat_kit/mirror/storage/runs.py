"""Runs of a mirror: each is one JSON file that lists all files that count, and what they held when.

Writing it is the one atomic commit for all logs. The newest and the one before are kept;
``writer.json`` names the newest, so that its loss is noticed. What a sync has appended and no run
lists yet stands in ``open.json``, which no reader looks at.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from finstat_kit.errors import MirrorError, UsageError, warn
from finstat_kit.mirror.storage.files import (
    DATA,
    File,
    Stamp,
    UnreadableError,
    deleted,
    failures_named,
    is_refusal,
    note_of,
    stamp,
    unreadable,
    write_whole,
)
from finstat_kit.protocol.wire import BEGINNING

FORMAT: Final = 8
_RUNS: Final = "runs"
_OPEN: Final = "open.json"
_WRITER: Final = "writer.json"
_NAME: Final = re.compile(r"(\d{8})\.json")
_BEFORE, _BETWEEN, _AFTER = b'{"sha256": "', b'", "content":\n', b"\n}\n"
_FORMER: Final = "_delta_log"  # a folder in each table of a former format


class About(msgspec.Struct, frozen=True):
    """What a mirror is of, which never changes.

    Attributes:
        register: The base URL.
        invented: Name of the invented data by the register's replies; None for none.
        first: The first day of change in the copy.
        extract: Number of units of an extract; None for a mirror that syncs.
    """

    register: str
    invented: str | None
    first: date
    extract: int | None = None

    @property
    def name(self) -> str:
        """The identity of the register: the one in its replies, or its URL."""
        return self.register if self.invented is None else self.invented

    @property
    def since(self) -> date | None:
        """The first day of change of a partial copy, None for a whole one."""
        return first_day_of_part(self.first)


def first_day_of_part(first: date | None) -> date | None:
    """Return the first day of change of a partial copy, None for a whole one."""
    return first if first and first > BEGINNING else None


class Point(msgspec.Struct, frozen=True):
    """A row of the history: what counted after a run.

    Attributes:
        run: Its number.
        day: The register's day on which it was written.
        started: The register's day when its sync began.
        since: First day of the changes that it listed.
        contents: The collections whose records are kept.
        only: Number of the units whose contents alone are kept; None for all.
        reached: Up to which version each log counts.
        base: The last versions before the last full sync, which named every id anew.
        walk: Number of the run in which the lists of its sync were done.
        gap: The first day that earlier runs, which are lost, may have changed; None for none.
    """

    run: int
    day: date
    started: date
    since: date
    contents: tuple[str, ...]
    only: int | None
    reached: dict[str, int]
    base: dict[str, int]
    walk: int
    gap: date | None = None


class Loss(msgspec.Struct, frozen=True):
    """A file that was lost, and dropped.

    Attributes:
        log: Its log.
        name: Its name; empty where runs are lost too, and only its versions are known.
        first: The least version that was in it.
        last: The greatest.
        rows: Their number, 0 where it is not known.
        run: Number of the run that made it good, as far as that is possible; None until then.
    """

    log: str
    name: str
    first: int
    last: int
    rows: int = 0
    run: int | None = None


class Run(msgspec.Struct, frozen=True):
    """A run.

    Attributes:
        format: Of the folder.
        number: Of the run.
        about: What the mirror is of.
        history: What counted after this run and earlier ones, by ascending number.
        files: Of each log, by ascending version.
        retired: When files were replaced by a merge, in seconds since 1970.
        only: The units whose contents alone are kept, in the order in which they were given.
        lost: Files that were lost and dropped.
    """

    format: int
    number: int
    about: About
    history: tuple[Point, ...]
    files: dict[str, tuple[File, ...]]
    retired: dict[str, float] = {}
    only: tuple[int, ...] = ()
    lost: tuple[Loss, ...] = ()

    @property
    def last(self) -> Point:
        """What counts now."""
        return self.history[-1]

    @property
    def names(self) -> frozenset[str]:
        """The names of its files."""
        return frozenset(file.name for files in self.files.values() for file in files)

    def by(self, day: date | None) -> Point:
        """Return what counted on a day, None is now.

        Raises:
            UsageError: No run was written by then, a later one may change that day, or what
                counted on it is lost.
        """
        if day is None:
            return self.last
        if day > self.last.day:
            raise UsageError(
                f": the last sync of this mirror was completed on {self.last.day}, and a later one "
                "would change that day",
                argument="as_of",
                value=str(day),
                cure=f"give {str(self.last.day)!r}, or sync first",
            )
        # Days need not ascend: the clock of a sync may have stood ahead.
        at = max(
            (place for place, point in enumerate(self.history, 1) if point.day <= day), default=0
        )
        if not at:
            first = self.history[0]
            known = "" if first.walk == 1 else ", as far as it is known"
            raise UsageError(
                f": the first sync of this mirror was completed on {first.day}{known}",
                argument="as_of",
                value=str(day),
                cure="give that day or a later one",
            )
        point, later = self.history[at - 1], self.history[at:]
        gap = later[0].gap if later else None
        if self.loss("units", point) or (gap is not None and day >= gap):
            whole = [each.day for each in later if not self.loss("units", each)]
            raise UsageError(
                ": files of the mirror that this day needs were lost",
                argument="as_of",
                value=str(day),
                cure=f"give {str(whole[0])!r} or a later day",
            )
        return point

    def loss(self, log: str, point: Point) -> Loss | None:
        """Return a loss of a log that a point of the history needs, None without any."""
        for loss in self.lost:
            is_before = loss.run is None or point.run < loss.run
            if loss.log == log and is_before and loss.first <= point.reached.get(log, 0):
                return loss
        return None


class Walk(msgspec.Struct, frozen=True):
    """The lists that a sync walks, until all are done.

    Attributes:
        since: First day of the changes that are listed.
        started: The register's day when it began.
        full: Whether all ids are named anew.
        base: The last version of each log before it.
    """

    since: date
    started: date
    full: bool
    base: dict[str, int]


class Open(msgspec.Struct, frozen=True):
    """What a sync has appended, and no run lists yet.

    Attributes:
        format: Of the folder.
        after: Number of the run of the last point when it began, 0 without any.
        about: What the mirror is of.
        contents: The collections whose records are kept.
        only: The units whose contents alone are kept, None for all.
        walk: The lists under way; None once they are done, and records come.
        files: Of each log.
        lost: Files of the run that are lost.
    """

    format: int
    after: int
    about: About
    contents: tuple[str, ...]
    only: tuple[int, ...] | None
    walk: Walk | None
    files: dict[str, tuple[File, ...]]
    lost: tuple[Loss, ...] = ()


class Origin(msgspec.Struct, frozen=True):
    """What each data file says of itself in its metadata, should the runs be lost.

    Attributes:
        format: Of the folder.
        log: Its log.
        about: What the mirror is of.
        contents: The collections whose records are kept.
        only: The units whose contents alone are kept, None for all.
        last: The last point of the history when it was written.
        walk: The lists that were under way then, or were walked last.
        replaces: Names of the files that it was merged from.
    """

    format: int
    log: str
    about: About
    contents: tuple[str, ...]
    only: tuple[int, ...] | None = None
    last: Point | None = None
    walk: Walk | None = None
    replaces: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text in the metadata."""
        return msgspec.json.encode(self).decode()


class _Formatted(msgspec.Struct):
    format: int


class Writer(msgspec.Struct, frozen=True):
    """Who writes, or wrote last.

    Attributes:
        run: Number of the newest run.
        point: Number of the run of its last point.
        day: The day of that.
        process: Number of the process.
        machine: Its machine.
    """

    run: int = 0
    point: int = 0
    day: date | None = None
    process: int | None = None
    machine: str | None = None


_Content = TypeVar("_Content", Run, Open)


class Runs:
    """The runs in a folder.

    Args:
        path: The folder of the mirror.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[int, Stamp | None, Run] | None = None

    def newest(self) -> Run | None:
        """Return the newest run that can be read, None without any.

        Raises:
            MirrorError: The runs are lost or damaged, or of another format.
        """
        while True:
            noted = self.writer().run  # before the runs are listed: it is written after them
            numbers = self._numbers()
            newest = max([noted, *numbers], default=0)
            if not newest:
                self._see_format()
                return None
            key = newest, stamp(self._file(newest))
            if self._read is not None and self._read[:2] == key:
                return self._read[2]
            run, faults = self._first_readable(sorted({newest, *numbers}, reverse=True))
            if run is None and (numbers != self._numbers()):
                continue  # written meanwhile
            if run is None:
                raise MirrorError(
                    f"the runs of the mirror at {self.path} are lost: {faults[0]}; the next "
                    "sync() restores the newest one from the data files"
                )
            if faults:
                warn(
                    f"{faults[0]}: the mirror at {self.path} is read as of run {run.number}, the "
                    "one before; the next sync() goes on from it"
                )
            self._read = (*key, run)
            return run

    @property
    def last_read(self) -> Run | None:
        """The run that was read last; nothing is read."""
        return None if self._read is None else self._read[2]

    def exist(self) -> bool:
        """Return whether there is a mirror, or a remnant of one."""
        return (
            bool(self._numbers())
            or self.writer().run > 0
            or stamp(self.path / _OPEN) is not None
            or bool(self._former())
            or next(iter((self.path / DATA).glob("*.parquet")), None) is not None
        )

    def origins(self) -> list[tuple[Path, Origin]]:
        """Return the data files with what each says of itself, the one written last first.

        Raises:
            UnreadableError: One is of another format.
        """
        files = list((self.path / DATA).glob("*.parquet"))
        origins = []
        for file in sorted(files, key=lambda file: stamp(file) or (0, 0, 0), reverse=True):
            text = note_of(file)
            with contextlib.suppress(msgspec.MsgspecError):
                if text is not None and _see_format(file, text.encode()):
                    origins.append((file, msgspec.json.decode(text, type=Origin)))
        return origins

    def writer(self) -> Writer:
        """Return who writes, or wrote last, as far as it is known."""
        with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
            return msgspec.json.decode((self.path / _WRITER).read_bytes(), type=Writer)
        return Writer()

    def note_writer(self, run: Run | None = None) -> None:
        """Write down that this process writes, and which run is the newest."""
        noted = self.writer()
        if run is not None:
            noted = Writer(run.number, run.last.run, run.last.day)
        mine = replace(noted, process=os.getpid(), machine=socket.gethostname())
        write_whole(self.path / _WRITER, msgspec.json.encode(mine) + b"\n")

    def commit(self, run: Run, after: int) -> None:
        """Write a run: from now on it is the newest.

        Args:
            run: The run.
            after: The number of the newest run that it was made from, 0 for none.

        Raises:
            MirrorError: Another process has written a run, or the disk cannot be written.
        """
        with failures_named(self.path):
            newest = self.newest_number()
            if newest != run.number - 1:
                raise MirrorError(
                    f"another process has written run {newest} of the mirror at {self.path} "
                    "meanwhile, and its lock was not seen by this one; sync again, from one "
                    "machine at a time"
                )
            write_whole(self._file(run.number), _sealed(run))
            self.note_writer(run)
            for number in self._numbers():
                if number not in (run.number, after):
                    with contextlib.suppress(OSError):
                        deleted(self._file(number))

    def newest_number(self) -> int:
        """Return the number of the newest run, whether it can be read or not; 0 without any."""
        return max([self.writer().run, *self._numbers()])

    def kept_names(self) -> frozenset[str]:
        """Return the names of files that a kept run or ``open.json`` lists."""
        names: set[str] = set()
        for number in sorted(self._numbers()):
            with contextlib.suppress(MirrorError, FileNotFoundError):
                run = _opened(self._file(number), Run)
                names = (names - run.retired.keys()) | run.names
        with contextlib.suppress(MirrorError):
            pending = self.open()
            listed = pending.files if pending else {}
            names |= {file.name for files in listed.values() for file in files}
        return frozenset(names)

    def open(self) -> Open | None:
        """Return what a sync has appended, and no run lists; None for nothing.

        Raises:
            MirrorError: It is damaged.
            UnreadableError: It is of another format, or the system does not read it.
        """
        try:
            return _opened(self.path / _OPEN, Open)
        except FileNotFoundError:
            return None

    def note(self, pending: Open | None) -> None:
        """Write down what a sync has appended, None for nothing.

        Raises:
            MirrorError: The disk cannot be written.
        """
        with failures_named(self.path):
            if pending is None:
                deleted(self.path / _OPEN)
            else:
                write_whole(self.path / _OPEN, _sealed(pending))

    def _first_readable(self, numbers: list[int]) -> tuple[Run | None, list[str]]:
        faults: list[str] = []
        for number in numbers:
            try:
                return _opened(self._file(number), Run), faults
            except FileNotFoundError:
                faults.append(f"{self._file(number)} is lost")
            except UnreadableError:
                raise
            except MirrorError as error:
                faults.append(str(error))
        return None, faults

    def _see_format(self) -> None:
        """See that the folder holds no mirror of a former format.

        Raises:
            UnreadableError: It does.
        """
        if table := self._former():
            raise UnreadableError(
                f"{table} is a table of a former format of mirrors, and this version of "
                "finstat_kit does not read it: sync into another folder"
            )

    def _former(self) -> Path | None:
        return next((table.parent for table in self.path.glob(f"*/{_FORMER}")), None)

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self.path / _RUNS)  # noqa: PTH208  # a tenth of the time
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unreadable(self.path / _RUNS, error) from error
        return [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]

    def _file(self, number: int) -> Path:
        return self.path / _RUNS / f"{number:08}.json"


def _sealed(content: Run | Open) -> bytes:
    """Return the text of a file, with its own SHA-256."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=1)
    return _BEFORE + sha256(text).hexdigest().encode() + _BETWEEN + text + _AFTER


def _opened(path: Path, kind: type[_Content]) -> _Content:
    """Return what a file says.

    Raises:
        FileNotFoundError: It does not exist.
        UnreadableError: It is of another format, or the system does not read it.
        MirrorError: It is damaged.
    """
    try:
        whole = path.read_bytes()
    except OSError as error:
        if not is_refusal(error):
            raise FileNotFoundError(str(path)) from error
        raise unreadable(path, error) from error
    start = len(_BEFORE) + 64 + len(_BETWEEN)
    text = whole[start : -len(_AFTER)]
    if whole != _BEFORE + sha256(text).hexdigest().encode() + _BETWEEN + text + _AFTER:
        raise MirrorError(f"{path} is not as it was written")
    _see_format(path, text)
    return msgspec.json.decode(text, type=kind)


def _see_format(path: Path, text: bytes) -> bool:
    """See that a text is of this format.

    Raises:
        UnreadableError: It is of another.
    """
    number = msgspec.json.decode(text, type=_Formatted).format
    if number != FORMAT:
        newer = "pip install --upgrade finstat-kit, or " if number > FORMAT else ""
        raise UnreadableError(
            f"{path} is of format {number}, and this version of finstat_kit reads {FORMAT} alone: "
            f"{newer}sync into another folder"
        )
    return True
