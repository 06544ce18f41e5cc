"""Runs of a mirror: each is one JSON file, a commit of all that counts after it."""

from __future__ import annotations

from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from finstat_kit.errors import UsageError
from finstat_kit.mirror.storage.files import (
    DamagedError,
    File,
    UnreadableError,
    is_refusal,
    unreadable,
)

FORMAT: Final = 10
_BEFORE, _BETWEEN, _AFTER = b'{"sha256": "', b'", "content":\n', b"\n}\n"


class Settings(msgspec.Struct, frozen=True):
    """What a mirror is of.

    Attributes:
        register: The base URL.
        invented: Name of the invented data by the register's replies; None for none.
        contents: The collections whose records are kept, beside units.
        units: The units that it was given, ascending; None for all.
        icos: The IČO that it was given, with the units that have them: none where none was found.
    """

    register: str
    invented: str | None
    contents: tuple[str, ...] = ()
    units: tuple[int, ...] | None = None
    icos: dict[str, tuple[int, ...]] = {}

    @property
    def name(self) -> str:
        """The identity of the register: the one in its replies, or its URL."""
        return self.register if self.invented is None else self.invented


class Point(msgspec.Struct, frozen=True):
    """A state that readers may see: up to which version each log counts.

    Attributes:
        id: Random.
        run: Number of the run that added it.
        started: The register's day when its lists were begun.
        day: The register's day of the last reply before it.
        contents: The collections whose records are kept, beside units.
        upto: The last version of each log.
        whole: The collections of which all that was named was answered, if only as unreadable.
    """

    id: str
    run: int
    started: date
    day: date
    contents: tuple[str, ...]
    upto: dict[str, int]
    whole: tuple[str, ...] = ()


class Loss(msgspec.Struct, frozen=True):
    """A file that was lost, and is no longer listed.

    Attributes:
        log: Its log.
        file: What was said of it.
        point: Id of the newest point then; "" for none.
    """

    log: str
    file: File
    point: str


class LostRun(msgspec.Struct, frozen=True):
    """A run with a point that could not be read: days that are not known any longer.

    Attributes:
        run: Its number.
        first: The day of the point before it.
        last: The day before the point after it; None until there is one.
    """

    run: int
    first: date
    last: date | None = None


class Walk(msgspec.Struct, frozen=True):
    """A list that is walked.

    Attributes:
        since: First day of the changes that it is of.
        after: The last id that was named.
        is_done: Whether it was walked to its end.
    """

    since: date
    after: int = 0
    is_done: bool = False


class UnderWay(msgspec.Struct, frozen=True):
    """What a sync does until its next point.

    Attributes:
        began: The day of the first reply after the newest point.
        lists: By collection.
    """

    began: date
    lists: dict[str, Walk]


class Pulled(msgspec.Struct, frozen=True):
    """Where a mirror was pulled from.

    Attributes:
        url: Of the published mirror.
        number: Of the run there.
        sha256: Of that run's file.
        day: Of its newest point.
        run: Number of the run here that has its points.
    """

    url: str
    number: int
    sha256: str
    day: date
    run: int


class Run(msgspec.Struct, frozen=True):
    """A run.

    Attributes:
        format: Of the folder.
        number: Of the run.
        settings: What the mirror is of.
        files: Of each log, by ascending version.
        points: In their order; none is ever dropped.
        lost: Files that were lost.
        lost_runs: Runs that were lost.
        under_way: What a sync was at; None where nothing is.
        pulled: What was pulled last; None for nothing.
    """

    format: int
    number: int
    settings: Settings
    files: dict[str, tuple[File, ...]] = {}
    points: tuple[Point, ...] = ()
    lost: tuple[Loss, ...] = ()
    lost_runs: tuple[LostRun, ...] = ()
    under_way: UnderWay | None = None
    pulled: Pulled | None = None

    @property
    def newest(self) -> Point:
        """The newest point, of which there is one."""
        return self.points[-1]

    @property
    def is_pulled(self) -> bool:
        """Whether its newest point was pulled: those of syncs here have greater numbers."""
        return bool(self.pulled and self.points and self.newest.run <= self.pulled.number)

    @property
    def shown(self) -> int:
        """The number of the first run here that has its newest point."""
        return self.pulled.run if self.pulled and self.is_pulled else self.newest.run

    @property
    def cure(self) -> str:
        """What brings back what is lost."""
        if self.is_pulled:
            return "pull(full=True) fetches it again"
        return "the next sync() requests it again"

    @property
    def names(self) -> frozenset[str]:
        """The names of its files."""
        return frozenset(file.name for files in self.files.values() for file in files)

    def upto(self, log: str) -> int:
        """Return the last version of a log that the newest point counts."""
        return self.points[-1].upto.get(log, 0) if self.points else 0

    def on(self, day: date | None) -> Point:
        """Return the last point, in their order, whose day is not later; None is the newest.

        Raises:
            UsageError: There is none, a later one may change that day, or it is lost.
        """
        if day is None:
            return self.newest
        if day > self.newest.day:
            raise _no_such(
                day, f"the last sync of this mirror was completed on {self.newest.day}, and a "
                "later one would change that day", f"give {str(self.newest.day)!r}, or sync first",
            )  # fmt: skip
        for lost in self.lost_runs:
            if lost.first <= day <= (lost.last or day):
                last = f" to {lost.last}" if lost.last else " on"
                raise _no_such(
                    day, f"the run that says what counted from {lost.first}{last} was lost",
                    f"give a day before {str(lost.first)!r}, or a later one",
                )  # fmt: skip
        points = [point for point in self.points if point.day <= day]
        if not points:
            first = min(point.day for point in self.points)
            raise _no_such(
                day, f"the first sync of this mirror was completed on {first}",
                "give that day or a later one",
            )  # fmt: skip
        return points[-1]

    def after(self, loss: Loss) -> Point | None:
        """Return the point after a loss, which misses nothing any longer; None before it."""
        ids = [point.id for point in self.points]
        later = self.points[ids.index(loss.point) + 1 :] if loss.point else self.points
        return later[0] if later else None

    def loss(self, log: str, point: Point) -> Loss | None:
        """Return a loss of rows of a log that a point counted, None without any."""
        before = self.points[: self.points.index(point)]
        for loss in self.lost:
            counted = loss.log == log and loss.file.first <= point.upto.get(log, 0)
            if counted and loss.point not in {"", *(each.id for each in before)}:
                return loss
        return None


def _no_such(day: date, fault: str, cure: str) -> UsageError:
    return UsageError(f": {fault}", argument="as_of", value=str(day), cure=cure)


def sealed(run: Run) -> bytes:
    """Return the text of a run, with its own SHA-256."""
    text = msgspec.json.format(msgspec.json.encode(run), indent=1)
    return _BEFORE + sha256(text).hexdigest().encode() + _BETWEEN + text + _AFTER


def opened(path: Path) -> Run:
    """Return what the file of a run says.

    Raises:
        DamagedError: It is lost, or damaged.
        UnreadableError: It is of another format, or the system does not read it.
    """
    try:
        whole = path.read_bytes()
    except OSError as error:
        if is_refusal(error):
            raise unreadable(path, error) from error
        raise DamagedError(f"{path} is lost") from error
    return unsealed(path, whole)


def unsealed(path: Path | str, whole: bytes) -> Run:
    """Return what the text of a run says; see `opened`."""
    start = len(_BEFORE) + 64 + len(_BETWEEN)
    text = whole[start : -len(_AFTER)]
    if whole != _BEFORE + sha256(text).hexdigest().encode() + _BETWEEN + text + _AFTER:
        raise DamagedError(f"{path} is not as it was written")
    number = msgspec.json.decode(text, type=_Formatted).format
    if number != FORMAT:
        upgrade = "pip install --upgrade finstat-kit, or " if number > FORMAT else ""
        raise UnreadableError(
            f"{path} is of format {number}, and this version of finstat_kit reads {FORMAT} alone: "
            f"{upgrade}sync into another folder"
        )
    return msgspec.json.decode(text, type=Run)


class _Formatted(msgspec.Struct):
    format: int
