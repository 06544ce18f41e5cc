"""The folder of a mirror, and what it holds as of a run.

A state is loaded once per public call, and passed down.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import polars as pl

from finstat_kit.errors import Either, MirrorError
from finstat_kit.frames.text import unit_names
from finstat_kit.mirror import versions
from finstat_kit.mirror.cells import ORDER, STORED
from finstat_kit.mirror.checks import Checks
from finstat_kit.mirror.files import File, Layout, LostError, legible
from finstat_kit.mirror.runs import About, Loss, Point, Run, Runs
from finstat_kit.mirror.versions import (
    LISTED,
    RECORD,
    ROW,
    UNCHANGED,
    has_content,
    of_ids,
    schema_of,
    without,
)
from finstat_kit.protocol import forms, wire
from finstat_kit.protocol.forms import Form
from finstat_kit.transport import forks

COLLECTIONS: Final = tuple(wire.LISTS)
CONTENTS: Final = tuple(name for name in COLLECTIONS if name != "units")
CODELISTS: Final = pl.Schema(
    {
        "version": pl.Int64(), "name": pl.String(), "code": pl.String(), "name_sk": pl.String(),
        "name_en": pl.String(), "parent_code": pl.String(),
    }
)  # fmt: skip
TEMPLATES: Final = pl.Schema(
    {"version": pl.Int64(), "id": pl.Int64(), "seen": pl.Date(), "body": pl.String()}
)
LOGS: Final = {
    **{name: Layout(schema_of(name)) for name in COLLECTIONS},
    "cells": Layout(STORED, ORDER),
    "codelists": Layout(CODELISTS),
    "templates": Layout(TEMPLATES),
}
# What a state keeps of `versions.standing`: there may be millions of ids.
_STANDING: Final = ("id", "listed", "known", "lacking", "unreadable")
_VOID: Final = "void"  # of a report whose cells are lost


class Folder:
    """The directory of a mirror.

    Attributes:
        path: Absolute.
        runs: In it.
        checks: Of its data files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = Runs(path)
        self.checks = Checks(path)
        self._about: About | None = None  # before a run is written
        self._states: dict[date | None, State] = {}
        self._held = threading.local()
        self._after_fork()
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self.lock = threading.RLock()

    @property
    def known(self) -> tuple[About | None, Run | None]:
        """What the mirror is of, and its newest run, by the last look."""
        run = self.runs.last_read
        return (self._about if run is None else run.about), run

    def look(self) -> Run | None:
        """Return the newest run, None where no sync is complete.

        Raises:
            MirrorError: There is no mirror, or its runs are lost or damaged.
        """
        with self.lock:
            run = self.runs.newest()
            if run is None:
                if not self.runs.exist():
                    raise MirrorError(
                        f"there is no mirror in {self.path}",
                        cure=Either(
                            "sync() creates one, or give another folder",
                            "finstat-kit sync creates one; or give another folder",
                        ),
                    )
                pending = None
                with contextlib.suppress(MirrorError):
                    pending = self.runs.open()
                self._about = None if pending is None else pending.about
                if self._about is None or (pending and pending.after):
                    raise MirrorError(
                        f"the runs of the mirror at {self.path} are lost; the next sync() restores "
                        "the newest one from the data files"
                    )
            return run

    def complete(self) -> Run:
        """Return the newest run.

        Raises:
            MirrorError: There is none.
        """
        run = self.look()
        if run is None:
            raise MirrorError(
                f"the mirror at {self.path} has no complete sync yet, and a part would be taken "
                "for the whole; sync() resumes where the last one ended"
            )
        return run

    def state(self, day: date | None = None) -> State:
        """Return what the mirror holds by its newest run, or held on a day.

        Raises:
            MirrorError: There is no mirror, or no complete sync.
            UsageError: No sync was complete by then, or a later one may change that day.
        """
        held: State | None = getattr(self._held, "state", None)
        if held is not None:
            return held
        with self.lock:
            run = self.complete()
            state = self._states.get(day)
            if state is None or state.run is not run:
                state = self._states[day] = State(self, run, run.by(day))
            return state

    @contextlib.contextmanager
    def held(self, day: date | None = None) -> Iterator[State]:
        """Give the same state to all that this thread reads within the block."""
        outer = getattr(self._held, "state", None)
        self._held.state = state = self.state(day)
        try:
            yield state
        finally:
            self._held.state = outer

    def scan(self, log: str, files: Sequence[File], lost: Sequence[Loss]) -> pl.LazyFrame:
        """Return the rows of some files of a log that stand for themselves.

        Args:
            log: Its name.
            files: Of it.
            lost: What was lost of the mirror.

        Raises:
            MirrorError: A file is lost or damaged.
        """
        return whole(log, LOGS[log].scan(self.checks.paths(files)), lost)


class State:
    """What a mirror holds as of a point of its history; nothing in it changes.

    Attributes:
        path: Of the folder.
        about: What the mirror is of.
        run: The run that it was read from.
        point: The point.
    """

    def __init__(self, folder: Folder, run: Run, point: Point) -> None:
        self.path = folder.path
        self.about = run.about
        self.run = run
        self.point = point
        self._folder = folder
        self._listing = run  # a later one, once a merge has replaced files of this one
        self._standing: dict[str, pl.DataFrame] = {}
        self._outdated: dict[str, tuple[Run, pl.DataFrame]] = {}
        self._forms: dict[int, Form | None] = {}
        self._names: pl.DataFrame | None = None

    @property
    def today(self) -> date:
        """The day on which the sync started."""
        return self.point.started

    @property
    def since(self) -> date | None:
        """The first day of change of a partial copy, None for a whole one."""
        return self.about.since

    @property
    def is_extract(self) -> bool:
        """Whether the mirror is an extract, which has no lists."""
        return self.about.extract is not None

    @cached_property
    def only(self) -> pl.Series | None:
        """The units whose contents alone are kept, ascending; None for all."""
        if self.point.only is None:
            return None
        return pl.Series("id", self.run.only[: self.point.only], dtype=pl.Int64).sort()

    def keeps(self, name: str) -> bool:
        """Return whether the records of a collection are kept."""
        return name == "units" or name in self.point.contents

    def scan(self, name: str) -> pl.LazyFrame:
        """Return the rows of a log that count."""
        return self._scanned(name, self._paths(name))

    def standing(self, name: str) -> pl.DataFrame:
        """Return `_STANDING` of each id that the log of a collection names.

        See `versions.standing`.
        """
        if name not in self._standing:
            with legible(self.path):
                stands = versions.standing(self.scan(name), self.point.base.get(name, 0))
            self._standing[name] = stands.select(_STANDING)
        return self._standing[name]

    def listed(self, name: str) -> pl.Series:
        """Return the ids that a list of the register names, ascending."""
        return self.standing(name).filter("listed")["id"]

    def lacking(self, name: str) -> pl.DataFrame:
        """Return the listed ids without a current record: ``id`` and ``unreadable``, by id."""
        return lacking_of(self.standing(name))

    def lacks(self, name: str) -> bool:
        """Return whether a record of a collection is not held; units always are."""
        return name != "units" and not self.lacking(name).is_empty()

    def newest(self, name: str) -> pl.LazyFrame:
        """Return the newest version of each row that has ever had a record.

        Returns:
            The columns of the log but for the texts of problems, in no guaranteed order; removed
            rows included.
        """
        paths, outdated = self._newest(name)
        shown = [n for n in schema_of(name) if n not in ("problem", "kind", "digest", "same_as")]
        with_content = self._scanned(name, paths, ROW).filter(has_content())
        return without(with_content, outdated, [ROW]).select(shown)

    def records(self, name: str, ids: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the newest records of some ids as they stand in their log, and their standing."""
        near = (ids.min(), ids.max()) if len(ids) else None
        rows = self._scanned(name, self._paths(name, near)).filter(of_ids("id", ids))
        with legible(self.path):
            own = rows.collect().with_row_index(ROW)
            old = versions.outdated(own, missing=name == "units")
            stands = versions.standing(own.lazy(), self.point.base.get(name, 0))
        newest = own.filter(has_content()).join(old, on=ROW, how="anti").drop(ROW)
        return newest.sort("id"), stands

    def cells(self) -> pl.LazyFrame:
        """Return the cells of all reports that are or were held, as they are stored."""
        return self.scan("cells")

    def current_cells(self) -> pl.LazyFrame:
        """Return the cells of the records that are held, as they are stored.

        A report that a list has named since it was fetched is left out, and one that no list names
        any longer.
        """
        stands = self.standing("reports")
        _, outdated = self._newest("reports")
        old = outdated.select("version", report_id="id")
        former = stands.filter("known", pl.col("lacking") | ~pl.col("listed"))
        cells = without(self.cells(), old, ["report_id", "version"])
        return without(cells, former.select(report_id="id"), ["report_id"])

    def names(self) -> pl.DataFrame:
        """Return the names of all units, prepared once; see `unit_names.prepared`."""
        with self._folder.lock:  # not twice at the same time: they are large
            if self._names is None:
                with legible(self.path):
                    named = self.newest("units").filter(pl.col("gone").is_null())
                    self._names = unit_names.prepared(named).collect(engine="streaming")
            return self._names

    @cached_property
    def codelists(self) -> dict[str, pl.DataFrame]:
        """The codelists: code, both names and parent, by code."""
        with legible(self.path):
            return codelists_in(self.scan("codelists").collect())

    def form(self, template: int) -> Form | None:
        """Return a template as the kept reports brought it, None where there is none."""
        if template not in self._forms:
            body = self.body(template)
            self._forms[template] = (
                None if body is None else forms.parse_template(body.encode(), template)
            )
        return self._forms[template]

    def body(self, template: int) -> str | None:
        """Return a template as the register sent it, None where there is none."""
        with legible(self.path):
            return body_of(self.scan("templates"), template)

    def uses(self, template: int) -> bool:
        """Return whether a report that is or was held is of a template."""
        with legible(self.path):
            own = self.scan("reports").filter(kind=RECORD, idSablony=template)
            return own.select("id").head(1).collect().height > 0

    def unreadable(self, name: str) -> pl.Series:
        """Return the listed ids of a collection whose records could not be read, ascending."""
        return self.lacking(name).filter("unreadable")["id"]

    def _upto(self, name: str) -> int:
        return self.point.reached.get(name, 0)

    def _paths(self, name: str, near: tuple[Any, Any] | None = None) -> list[str]:
        """Return the files of a log with rows that count.

        Args:
            name: Of the log.
            near: The least and the greatest id that are wanted; None for all.
        """
        while True:
            files = [
                file for file in self._listing.files.get(name, ())
                if file.first <= self._upto(name) and (near is None or file.has(*near))
            ]  # fmt: skip
            try:
                if loss := self._listing.loss(name, self.point):
                    raise LostError(
                        f"{loss.rows:,} rows of {name} that counted on {self.point.day} were lost; "
                        "later days are whole"
                    )
                return self._folder.checks.paths(files, note=not self.is_extract)
            except LostError:
                newest = self._folder.complete()
                # The same rows may lie in other files by now.
                if newest is self._listing or self.point not in newest.history:
                    raise
                self._listing = newest

    def _scanned(self, name: str, paths: list[str], row_index: str | None = None) -> pl.LazyFrame:
        rows = LOGS[name].scan(paths, row_index)
        if any(file.last > self._upto(name) for file in self._listing.files.get(name, ())):
            rows = rows.filter(pl.col("version") <= self._upto(name))
        return whole(name, rows, self._listing.lost)

    def _newest(self, name: str) -> tuple[list[str], pl.DataFrame]:
        """Return the files of a log, and which of their rows with content are not the newest."""
        paths = self._paths(name)
        if name not in self._outdated or self._outdated[name][0] is not self._listing:
            with legible(self.path):
                rows = self._scanned(name, paths, ROW).filter(pl.col("kind") != LISTED)
                keys = rows.select(ROW, "id", "version", "kind", "same_as")
                outdated = pl.concat(
                    versions.outdated(some.collect(), missing=name == "units")
                    for some in versions.pieces(keys)
                )
            self._outdated[name] = self._listing, outdated
        return paths, self._outdated[name][1]


_Read = TypeVar("_Read", bound=Callable[..., Any])


def steady(method: _Read) -> _Read:
    """Call a method of a register again where a merge has replaced the files that it reads."""

    @wraps(method)
    def read(self: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        while True:
            run = self._folder.known[1]
            try:
                return method(self, *arguments, **options)
            except LostError:
                if run is None or self._folder.look() is run:
                    raise

    return cast("_Read", read)


def whole(log: str, rows: pl.LazyFrame, lost: Sequence[Loss]) -> pl.LazyFrame:
    """Return rows of a log without those whose content was in a file that is lost.

    A report whose cells are lost has the kind `_VOID`.
    """
    if log == "reports":
        gaps = [pl.col("version").is_between(o.first, o.last) for o in lost if o.log == "cells"]
        if gaps:  # a filter on the kind else reaches the files
            is_void = pl.any_horizontal(gaps) & (pl.col("kind") == RECORD)
            rows = rows.with_columns(kind=pl.when(is_void).then(pl.lit(_VOID)).otherwise("kind"))
    if log not in COLLECTIONS or not any(o.log in (log, "cells") for o in lost):
        return rows
    contents = rows.filter(kind=RECORD).select("id", same_as="version")
    unchanged = rows.filter(kind=UNCHANGED).join(contents, on=["id", "same_as"], how="anti")
    return rows.join(unchanged.select("id", "version"), on=["id", "version"], how="anti")


def lacking_of(standing: pl.DataFrame) -> pl.DataFrame:
    """Return ``id`` and ``unreadable`` of the ids whose record has to be fetched."""
    return standing.filter("lacking").select("id", "unreadable")


def codelists_in(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the newest version of each codelist in rows of their log."""
    newest = rows.filter(pl.col("version") == pl.col("version").max().over("name"))
    return {
        str(name): entries.drop("version", "name").sort("code")
        for (name,), entries in newest.group_by("name")
    }


def body_of(templates: pl.LazyFrame, template: int) -> str | None:
    """Return the newest text of a template in rows of their log, None where there is none."""
    rows = templates.filter(id=template).collect().sort("version")
    return rows["body"][-1] if rows.height else None
