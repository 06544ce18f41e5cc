"""What a sync writes: data files, listed in ``open.json`` first, then all at once by a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Final

import polars as pl
from msgspec.structs import replace

from finstat_kit.mirror.storage import versions
from finstat_kit.mirror.storage.files import (
    DATA,
    MANY_FILES,
    File,
    deleted,
    legible,
    small_groups,
    swept,
)
from finstat_kit.mirror.storage.folder import LOGS, Folder
from finstat_kit.mirror.storage.runs import FORMAT, About, Loss, Open, Origin, Point, Run, Walk
from finstat_kit.mirror.storage.versions import rows_of
from finstat_kit.protocol import wire

_KEEP_HOURS: Final = 24.0
_SHOWN_EVERY: Final = 3600.0  # seconds, while records come


class Writer:
    """The writer of a folder, which the caller holds for writing.

    Args:
        folder: The folder.
        run: The newest run, None without any.
        pending: What is appended already, None for nothing.
        about: What the mirror is of.
        kept: The collections whose records are kept.
        only: The units whose contents alone are kept, in the order of `Run.only`; None for all.
        lost: Files of the run, or appended, that are lost; they are dropped.
        gap: The first day that runs after *run*, which are lost, may have changed; None for none.
        today: Returns the register's day.
        clock: Returns seconds.

    Attributes:
        about: As given.
        kept: As given.
        only: The same units, ascending; None for all.
        walk: The lists under way, or those walked last.
    """

    walk: Walk

    def __init__(
        self,
        folder: Folder,
        run: Run | None,
        pending: Open | None,
        about: About,
        kept: tuple[str, ...],
        only: tuple[int, ...] | None,
        lost: tuple[Loss, ...],
        gap: date | None,
        today: Callable[[], date],
        clock: Callable[[], float],
    ) -> None:
        self.about, self.kept = about, kept
        self.only = None if only is None else pl.Series("id", only, dtype=pl.Int64).sort()
        self._folder, self._run = folder, run
        self._newest = folder.runs.newest_number()
        self._gap = gap
        self._today, self._clock = today, clock
        self._shown = clock()
        self._walking = False
        self._walked = run.last.walk if run else 0
        self._stands: dict[str, tuple[tuple[int, int], pl.DataFrame]] = {}
        self._is_noted = pending is not None
        settings = None if run is None else (run.last.contents, run.last.only)
        self._is_new = settings != (kept, None if only is None else len(only))
        former = pending or Open(FORMAT, run.last.run if run else 0, about, kept, only, None, {})
        names = {loss.name for loss in lost}
        files = {
            log: tuple(file for file in appended if file.name not in names)
            for log, appended in former.files.items()
        }
        self._open = replace(
            former, contents=kept, only=only, files=files, lost=(*former.lost, *lost)
        )
        self._versions = dict.fromkeys(LOGS, 0)
        for log in LOGS:
            points = run.history if run else ()
            lasts = [point.reached.get(log, 0) for point in points]
            lasts += [file.last for file in self._listed(log)]
            lasts += [loss.last for loss in self._lost if loss.log == log]
            self._versions[log] = max(lasts, default=0)
        self._versions["reports"] = max(self._versions["reports"], self._versions["cells"])

    @property
    def today(self) -> date:
        """The register's day."""
        return self._today()

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return self._folder.path

    def begin(self, *, full: bool) -> bool:
        """Go on with lists that were cut off, or begin anew; return whether it goes on."""
        walk, run = self._open.walk, self._run
        self._walking = True
        if walk is not None:
            if full and not walk.full:  # what it has answered stays, all is listed anew
                walk = replace(walk, since=self.about.first, full=True)
            self.walk = walk
            self._note()
            return True
        first = self.about.first
        if not full and run is not None:
            with legible(self._folder.path):
                newest = self.scan("units").select(pl.col(wire.CHANGED).max()).collect().item()
            days = [run.last.started, self.today, *([] if newest is None else [newest])]
            first = max(first, min(days) - timedelta(days=1))
        self.walk = Walk(first, self.today, full, dict(self._versions))
        # That all is named anew, and what is to be kept, holds however the sync ends.
        if full or self._open.lost or run is None or self._is_new:
            self._note()
        return False

    def scan(self, log: str) -> pl.LazyFrame:
        """Return all rows of a log, also those that no run lists yet."""
        return self._folder.scan(log, self._listed(log), self._lost)

    def next(self, log: str) -> int:
        """Return the version of the rows that are appended next to a log."""
        return self._versions[log] + 1

    def append(self, rows: Mapping[str, pl.DataFrame]) -> None:
        """Append rows of logs: of all of them or, where the process is killed, of none."""
        files, replaced = dict(self._open.files), list[File]()
        for log, frame in rows.items():
            if not frame.height:
                continue
            added = LOGS[log].write(self._folder.path, frame, self._origin(log).text)
            listed = {log: (*files.get(log, ()), added)}
            merged, former = tidied(self._folder, self._origin, listed, MANY_FILES)
            files |= merged
            replaced += former
            self._versions[log] = max(self._versions[log], added.last)
        if files == self._open.files:
            return
        self._open = replace(self._open, files=files)
        self._note()
        kept = self._folder.runs.kept_names() if replaced else frozenset()
        for file in replaced:
            if file.name not in kept:
                deleted(self._folder.path / file.path)

    def doubtful(self, name: str) -> list[tuple[date, pl.Series]]:
        """Return the ids of a collection of which a lost file may have had newer answers.

        What was answered before a file was written is of doubt if a list that was walked then, or
        later, as long as rows of that file were written, names it.

        Returns:
            Ids by the first day of the changes that such lists name.
        """
        answered = pl.max_horizontal("named", "answered")
        since = pl.lit(None, pl.Date)
        for loss in self.losses(name):
            if not loss.name:  # the walks are lost too
                first = pl.lit(self.about.first)
                since = pl.when(answered < loss.first).then(first).otherwise(since)
        for start, end, day in self._walks(name):
            if any(loss.first <= end and start < loss.last for loss in self.losses(name)):
                earlier = pl.min_horizontal(since, pl.lit(day))
                since = pl.when(answered <= start).then(earlier).otherwise(since)
        rows = self.standing(name).select("id", since=since).drop_nulls().sort("since", "id")
        return [(ids["since"][0], ids["id"]) for ids in rows.partition_by("since")]

    def losses(self, name: str) -> list[Loss]:
        """Return the files of a collection that are lost, and were listed by a run."""
        run = self._run
        reached = run.last.reached.get(name, 0) if run else 0
        return [loss for loss in self._open.lost if loss.log == name and loss.first <= reached]

    def _walks(self, name: str) -> Iterator[tuple[int, int, date]]:
        """Yield the walks of all runs: after which and up to which version, since which day."""
        start = 0
        points = self._run.history if self._run else ()
        for _, of_walk in groupby(points, key=lambda point: point.walk):
            last = list(of_walk)[-1]
            end = last.reached.get(name, 0)
            yield start, end, last.since
            start = end

    def append_ids(self, name: str, ids: pl.DataFrame, kind: str) -> None:
        """Append rows that say of ids of a collection that they are listed, named or missing."""
        self.append({name: rows_of(name, ids, kind, self.next(name), self.today)})

    def standing(self, name: str) -> pl.DataFrame:
        """Return `versions.standing` of a collection, with `versions.contents` beside it."""
        key = self._versions[name], self._base.get(name, 0)
        if name not in self._stands or self._stands[name][0] != key:
            with legible(self._folder.path):
                keys = versions.keys_of(self.scan(name), "digest")
                stands = versions.standing(keys, key[1]).join(
                    versions.contents(keys), on="id", how="left", maintain_order="left"
                )
            self._stands[name] = key, stands
        return self._stands[name][1]

    def finish(self) -> None:
        """Write a run: the lists are done."""
        self._walking = False
        # Without changes on the same day nothing is recorded.
        if self._is_noted or self._run is None or self._run.last.started != self.walk.started:
            self._commit(is_done=True)

    def show(self) -> None:
        """Write a run with the records that have come since the last one."""
        if self._is_noted:
            self._commit()

    def show_when_due(self) -> None:
        """Do the same once an hour."""
        if self._clock() - self._shown >= _SHOWN_EVERY:
            self.show()

    @property
    def _lost(self) -> tuple[Loss, ...]:
        return (*(self._run.lost if self._run else ()), *self._open.lost)

    @property
    def _base(self) -> Mapping[str, int]:
        """The last versions before the last full sync, this one included."""
        walk = self._open.walk
        if walk is not None and walk.full:
            return walk.base
        return {} if self._run is None else self._run.last.base

    def _listed(self, log: str) -> tuple[File, ...]:
        """Return the files of the next run."""
        names = {loss.name for loss in self._open.lost}
        files = self._run.files.get(log, ()) if self._run else ()
        return (
            *(file for file in files if file.name not in names), *self._open.files.get(log, ()),
        )  # fmt: skip

    def _origin(self, log: str) -> Origin:
        last = None if self._run is None else self._run.last
        return Origin(FORMAT, log, self.about, self.kept, self._open.only, last, self.walk)

    def _note(self) -> None:
        self._open = replace(self._open, walk=self.walk if self._walking else None)
        self._folder.runs.note(self._open)
        self._is_noted = True

    def _commit(self, *, is_done: bool = False) -> None:
        run, pending, number = self._run, self._open, self._newest + 1
        listed = {log: self._listed(log) for log in LOGS}
        files, replaced = tidied(self._folder, self._origin, listed, MANY_FILES)
        if is_done:
            self._walked = number
        point = Point(
            number, self.today, self.walk.started, self.walk.since, self.kept,
            None if pending.only is None else len(pending.only), dict(self._versions),
            dict(self._base), self._walked, self._gap,
        )  # fmt: skip
        lost = [replace(loss, run=loss.run or number) for loss in self._lost]
        former = run.history if run else ()
        self._run = _written(
            self._folder,
            Run(
                FORMAT, number, self.about, (*former, point), files, run.retired if run else {},
                pending.only or (), tuple(lost),
            ),
            replaced, 0 if run is None else run.number,
        )  # fmt: skip
        self._gap = None
        self._newest = number
        self._open = replace(pending, after=number, walk=None, files={}, lost=())
        self._is_noted = self._is_new = False
        self._shown = self._clock()
        self._folder.runs.note(None)
        self._folder.complete()  # `Mirror.today` does not look itself
        _sweep(self._folder, _KEEP_HOURS)


def compact(folder: Folder, keep_hours: float) -> None:
    """Merge the small files of all logs, and delete those that no reader needs.

    Raises:
        MirrorError: A file is damaged, or the disk cannot be written.
    """
    run, number = folder.look(), folder.runs.newest_number() + 1
    if run is not None:
        only = None if run.last.only is None else run.only
        origin = Origin(FORMAT, "", run.about, run.last.contents, only, run.last)
        files, replaced = tidied(folder, lambda log: replace(origin, log=log), run.files, least=2)
        if replaced:
            _written(folder, replace(run, number=number, files=files), replaced, run.number)
    _sweep(folder, keep_hours)


def tidied(
    folder: Folder,
    origin_of: Callable[[str], Origin],
    files: Mapping[str, tuple[File, ...]],
    least: int,
) -> tuple[dict[str, tuple[File, ...]], list[File]]:
    """Merge the small files of logs that have many.

    Returns:
        All files of each log, and those that were replaced.
    """
    tidy, replaced = dict[str, tuple[File, ...]](), list[File]()
    for log, of_log in files.items():
        listed = list(of_log)
        for group in small_groups(of_log, least):
            folder.checks.paths(group, anew=True)  # damaged rows must not get a new name
            note = replace(origin_of(log), replaces=tuple(file.name for file in group)).text
            listed[listed.index(group[0])] = LOGS[log].merged(folder.path, group, note)
            listed = [file for file in listed if file not in group[1:]]
            replaced += group
        tidy[log] = tuple(listed)
    return tidy, replaced


def _written(folder: Folder, run: Run, replaced: Sequence[File], after: int) -> Run:
    """Write a run; return it with the files that it retires.

    Args:
        folder: Of the mirror.
        run: The run, with the files retired before.
        replaced: Files that a merge has replaced.
        after: Number of the run that it was made from.
    """
    now, names, room = time.time(), run.names, folder.path / DATA
    retired = {file.name: now for file in replaced} | run.retired
    still = [n for n in retired if n not in names and (room / f"{n}.parquet").exists()]
    run = replace(run, retired={name: retired[name] for name in still})
    folder.runs.commit(run, after)
    return run


def _sweep(folder: Folder, keep_hours: float) -> None:
    run = folder.runs.newest()
    retired = {} if run is None else run.retired
    swept(folder.path, folder.runs.kept_names(), retired, keep_hours)
