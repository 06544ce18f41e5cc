"""What a sync writes: each append, each point and each merge is one run."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl
from msgspec.structs import replace

from finstat_kit.mirror.storage.files import File, legible, merged_groups
from finstat_kit.mirror.storage.folder import Folder
from finstat_kit.mirror.storage.logs import LOGS
from finstat_kit.mirror.storage.rows import FILLED, LENGTHS, LISTED, rows_of
from finstat_kit.mirror.storage.runs import (
    FORMAT,
    Loss,
    LostRun,
    Point,
    Run,
    Settings,
    UnderWay,
    Walk,
)
from finstat_kit.mirror.storage.standing import KEYS, Pieces, Standing, standing

_TURNS: Final = 30  # syncs in which each file is compared with its name
_PIECE: Final = 2_000_000  # rows that are looked at together


class Batch(NamedTuple):
    """Rows that are appended to a log, of one version.

    Attributes:
        log: Its name.
        rows: In its columns.
        names: Whether they name ids, rather than answer them.
        since: Of names, the first day of the changes that their list is of.
    """

    log: str
    rows: pl.DataFrame
    names: bool = False
    since: date | None = None


class Writer:
    """The writer of a folder, which the caller holds for writing.

    Args:
        folder: The folder.
        settings: What the mirror is of, from now on.
        today: Returns the register's day of its last reply.

    Attributes:
        run: What was written last, and what the next run has beside it.
        again: Ids by collection that a list has named, and that are held: what has not changed
            needs no row. The next run names them, if there is one before they are answered.
    """

    def __init__(self, folder: Folder, settings: Settings, today: Callable[[], date]) -> None:
        self._folder, self._today = folder, today
        self._former, lost = folder.mended()
        self._number = folder.latest()
        self.run = replace(self._former or Run(FORMAT, 0, settings), settings=settings)
        if lost is not None and self.run.points:
            lost_run = LostRun(lost, self.run.newest.day)
            self.run = replace(self.run, lost_runs=(*self.run.lost_runs, lost_run))
        self.again: dict[str, pl.Series] = {}
        self._stands: dict[str, tuple[tuple[object, ...], Standing]] = {}
        if self._former is None:
            self._commit(self.run)  # before any file: what is there without a run is lost

    @property
    def today(self) -> date:
        """The register's day of its last reply."""
        return self._today()

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return self._folder.path

    @property
    def walks(self) -> dict[str, Walk]:
        """The lists that are under way."""
        return self.run.under_way.lists if self.run.under_way else {}

    def drop_lost(self, *, whole: bool) -> list[tuple[str, File]]:
        """Leave files out that are lost or damaged; return them with their logs.

        Args:
            whole: Whether the bytes of all are compared with their names; else those of some, of
                others in the next syncs.

        Raises:
            UnreadableError: The system does not read one: it is not known to be lost.
        """
        turn, lost = len(self.run.points) % _TURNS, list[tuple[str, File]]()
        for log, listed in self.run.files.items():
            for file in listed:
                is_due = whole or int(file.name, 16) % _TURNS == turn
                if file.fault(self.path, whole=is_due):
                    lost.append((log, file))
        if lost:
            names = {file.name for _, file in lost}
            point = self.run.newest.id if self.run.points else ""
            files = {
                log: tuple(file for file in listed if file.name not in names)
                for log, listed in self.run.files.items()
            }
            losses = (Loss(log, file, point) for log, file in lost)
            self.run = replace(self.run, files=files, lost=(*self.run.lost, *losses))
            for log, file in lost:
                if file.names and log in self.walks:  # that list begins again
                    self._walk(log, Walk(self.walks[log].since))
        return lost

    def open_losses(self, log: str, *, names: bool) -> list[File]:
        """Return the files of a log that were lost, and that no point has made good."""
        return [
            loss.file for loss in self.run.lost
            if (loss.log, loss.file.names) == (log, names) and self.run.after(loss) is None
        ]  # fmt: skip

    def begin(self, first: Mapping[str, date]) -> bool:
        """Go on with lists that were cut off, or begin others; return whether it goes on.

        Args:
            first: Of each list, the first day of the changes that it is of, where it begins.
        """
        if self.run.under_way is not None:
            return True
        walks = {name: Walk(day) for name, day in first.items()}
        self.run = replace(self.run, under_way=UnderWay(self.today, walks))
        return False

    def walked(self, name: str, after: int | None, *, is_done: bool = False) -> None:
        """Note up to which id a list is walked, None for no further; the next run has it."""
        walk = self.walks[name]
        self._walk(name, replace(walk, after=after or walk.after, is_done=is_done))

    def _walk(self, name: str, walk: Walk) -> None:
        assert self.run.under_way is not None
        under_way = replace(self.run.under_way, lists={**self.walks, name: walk})
        self.run = replace(self.run, under_way=under_way)

    def next(self, log: str) -> int:
        """Return the version of the rows that are appended next to a log."""
        return _last(self.run, log) + 1

    def append(self, *batches: Batch) -> None:
        """Append rows to logs: to all of them or, where the process is killed, to none.

        Raises:
            DamagedError: A file that was to be merged is damaged.
        """
        own = [batch for batch in batches if batch.rows.height]
        if own:
            self._commit(self._with(*self._owed(), *own))

    def look_again(self, name: str, ids: pl.Series) -> None:
        """Note ids of a collection that are held, and are to be requested again."""
        if len(ids):
            former = self.again.get(name, ids.clear())
            self.again[name] = pl.concat([former, ids]).unique().sort()

    def append_ids(
        self, name: str, ids: pl.DataFrame, kind: str, since: date | None = None
    ) -> None:
        """Append rows that say of ids of a collection that they are listed, named or missing."""
        if len(ids):
            rows = rows_of(name, ids, kind, self.next(name), self.today)
            self.append(Batch(name, rows, names=True, since=since))

    def note(self) -> None:
        """Write down what no run says yet: how far the lists are, what is to be kept, losses."""
        if self.run != self._former:
            self._commit(self._with(*self._owed()))

    def point(self, whole: Collection[str]) -> None:
        """Add a point, unless nothing has changed since one of this day: all lists are done.

        Args:
            whole: Collections of which all that is named is answered.
        """
        run, former = self.run, self._former
        began = run.under_way.began if run.under_way else run.newest.started
        new = Point(
            secrets.token_hex(8), self._number + 1, began, self.today, run.settings.contents,
            _upto(run), tuple(whole),
        )  # fmt: skip
        if former and former.points and replace(run, under_way=None) == former:
            last = former.newest
            if replace(new, id=last.id, run=last.run, started=last.started) == last:
                self.run = former
                return
        run = self._with(*self._owed())
        stays_whole = tuple(name for name in whole if not len(self.again.get(name, ())))
        before = new.day - timedelta(days=1)
        run = replace(
            run,
            lost_runs=tuple(replace(lost, last=lost.last or before) for lost in run.lost_runs),
            points=(*run.points, replace(new, upto=_upto(run), whole=stays_whole)),
            under_way=None,
        )
        self._commit(run)

    def scan(self, log: str, *, names: bool | None = None) -> pl.LazyFrame:
        """Return the rows of a log, also those that no point counts yet.

        Args:
            log: Its name.
            names: Whether those that name ids, or those that answer them; None is all.
        """
        return LOGS[log].scan([
            f"{self.path}/{file.path}" for file in self.run.files.get(log, ())
            if names is None or file.names == names
        ])  # fmt: skip

    def standing(self, name: str) -> Standing:
        """Return what the log of a collection says of each id."""
        key = self.next(name), self.run.lost
        if name not in self._stands or self._stands[name][0] != key:
            self._stands[name] = key, standing_of(self.path, self.run, name)
        return self._stands[name][1]

    def _owed(self) -> list[Batch]:
        """Return the rows that name what is to be looked at again."""
        rows = {
            name: rows_of(name, ids.to_frame("id"), LISTED, self.next(name), self.today)
            for name, ids in self.again.items()
        }
        return [Batch(name, of_ids, names=True) for name, of_ids in rows.items()]

    def _with(self, *batches: Batch) -> Run:
        """Write the files of batches; return the run that has them."""
        files = dict(self.run.files)
        for log, rows, names, since in batches:
            if rows.height:
                added = replace(LOGS[log].write(self.path, rows), names=names, since=since)
                files[log] = self._merged(log, (*files.get(log, ()), added))
        return replace(self.run, files=files)

    def _merged(self, log: str, files: tuple[File, ...]) -> tuple[File, ...]:
        """Return the files of a log, many small ones merged."""
        listed = list(files)
        for group in merged_groups(files, self.run.upto(log)):
            listed[listed.index(group[0])] = LOGS[log].merged(self.path, group)
            listed = [file for file in listed if file not in group[1:]]
        return tuple(listed)

    def _commit(self, run: Run) -> None:
        run = replace(run, number=self._number + 1)
        self._folder.commit(run, self._former)
        self.run, self._former, self._number = run, run, run.number
        self.again = {}  # they are named now


def _last(run: Run, log: str) -> int:
    """Return the last version of a log, be its rows there or lost."""
    files = [*run.files.get(log, ()), *(loss.file for loss in run.lost if loss.log == log)]
    last = max([run.upto(log), *(file.last for file in files)])
    return max(last, _last(run, "cells")) if log == "reports" else last  # which have its versions


def _upto(run: Run) -> dict[str, int]:
    return {log: _last(run, log) for log in LOGS}


def void_in(run: Run, name: str, point: Point | None = None) -> list[tuple[int, int]]:
    """Return first and last versions of records of which a part is lost: the cells of reports.

    Args:
        run: The run.
        name: Of the collection.
        point: The one that is read, which may be older than the loss; None for what is written.
    """
    before = run.points[: run.points.index(point)] if point else run.points
    known = {"", *(each.id for each in before)}
    lost = [loss for loss in run.lost if loss.log == "cells" and loss.point in known]
    return [(loss.file.first, loss.file.last) for loss in lost if name == "reports"]


def standing_of(folder: Path, run: Run, name: str, point: Point | None = None) -> Standing:
    """Return what the log of a collection says of each id.

    Args:
        folder: Of the mirror.
        run: The run.
        name: Of the collection.
        point: The one that is read; None is all that is written, above the newest point too.
    """
    files, upto = run.files.get(name, ()), point.upto.get(name, 0) if point else math.inf
    void = void_in(run, name, point)

    def pieces(own: list[File]) -> Iterator[pl.DataFrame]:
        group: list[File] = []
        for number, file in enumerate(own, start=1):
            group.append(file)
            if number == len(own) or sum(each.rows for each in group) >= _PIECE:
                rows = (
                    LOGS[name]
                    .scan([f"{folder}/{each.path}" for each in group])
                    .select([*KEYS, *((LENGTHS, FILLED) if void else ())])
                )
                if any(each.last > upto for each in group):
                    rows = rows.filter(pl.col("version") <= upto)
                yield rows.collect()
                group = []

    def read(*, names: bool) -> Pieces:
        own = [file for file in files if file.names == names and file.first <= upto]
        if sum(file.rows for file in own) > _PIECE:
            return partial(pieces, own)
        few = list(pieces(own))  # they are looked at twice
        return lambda: iter(few)

    with legible(folder):
        return standing(read(names=True), read(names=False), void=void, missing=name == "units")
