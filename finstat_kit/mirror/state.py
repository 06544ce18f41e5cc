"""What a mirror holds as of a run.

A state is loaded once per public call, and passed down.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import date
from functools import cached_property, wraps
from typing import Any, Final, NamedTuple, TypeVar, cast

import polars as pl

from finstat_kit.frames.text import unit_names
from finstat_kit.mirror.storage import versions
from finstat_kit.mirror.storage.files import LostError, legible
from finstat_kit.mirror.storage.folder import LOGS, Folder, whole
from finstat_kit.mirror.storage.runs import Point, Run
from finstat_kit.mirror.storage.versions import (
    RECORD,
    has_content,
    near,
    schema_of,
    without,
)
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import Form

# What a state keeps of `versions.standing`: there may be millions of ids.
_STANDING: Final = ("id", "listed", "known", "lacking", "unreadable")


class States:
    """What a folder holds by its newest run, and held on former days; each is loaded once.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._states: dict[date | None, State] = {}
        self._held = threading.local()

    def on(self, day: date | None = None) -> State:
        """Return what the mirror holds by its newest run, or held on a day.

        Raises:
            MirrorError: There is no mirror, or no complete sync.
            UsageError: No sync was complete by then, or a later one may change that day.
        """
        held: State | None = getattr(self._held, "state", None)
        if held is not None:
            return held
        with self._folder.lock:
            run = self._folder.complete()
            state = self._states.get(day)
            if state is None or state.run is not run:
                state = self._states[day] = State(self._folder, run, run.by(day))
            return state

    @contextlib.contextmanager
    def held(self, day: date | None = None) -> Iterator[State]:
        """Give the same state to all that this thread reads within the block."""
        outer = getattr(self._held, "state", None)
        self._held.state = state = self.on(day)
        try:
            yield state
        finally:
            self._held.state = outer


class _Look(NamedTuple):
    """What the log of a collection holds.

    Attributes:
        listing: The run whose files were read.
        stands: `_STANDING` of each id.
        outdated: As of `versions.outdated`.
        listed: The ids that a list of the register names, ascending.
        lacking: As of `lacking_of`.
    """

    listing: Run
    stands: pl.DataFrame
    outdated: pl.DataFrame
    listed: pl.Series
    lacking: pl.DataFrame


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
        self._looks: dict[str, _Look] = {}
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

    def scan(self, name: str, ids: pl.Series | None = None) -> pl.LazyFrame:
        """Return the rows of a log that count.

        Args:
            name: Of the log.
            ids: Of the records, or of the reports of the cells, that are wanted: there may be rows
                of others nearby, and files without any of them are not opened. None for all.
        """
        return self._scanned(name, self._paths(name, ids), ids)

    def standing(self, name: str) -> pl.DataFrame:
        """Return `_STANDING` of each id that the log of a collection names.

        See `versions.standing`.
        """
        return self._looked(name)[1].stands

    def listed(self, name: str) -> pl.Series:
        """Return the ids that a list of the register names, ascending."""
        return self._looked(name)[1].listed

    def lacking(self, name: str) -> pl.DataFrame:
        """Return the listed ids without a current record: ``id`` and ``unreadable``, by id."""
        return self._looked(name)[1].lacking

    def lacks(self, name: str) -> bool:
        """Return whether a record of a collection is not held; units always are."""
        return name != "units" and not self.lacking(name).is_empty()

    def newest(self, name: str, ids: pl.Series | None = None) -> pl.LazyFrame:
        """Return the newest version of each row that has ever had a record.

        Args:
            name: Of the collection.
            ids: Those that are wanted; see `scan`.

        Returns:
            The columns of the log but for the texts of problems, in no guaranteed order; removed
            rows included.
        """
        paths, look = self._looked(name)
        if ids is not None:
            paths = self._paths(name, ids)
        shown = [n for n in schema_of(name) if n not in ("problem", "kind", "digest", "same_as")]
        with_content = self._scanned(name, paths, ids).filter(has_content())
        return without(with_content, look.outdated, ["id", "version"]).select(shown)

    def records(self, name: str, ids: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the newest records of some ids as they stand in their log, and their standing."""
        rows = self.scan(name, ids).filter(pl.col("id").is_in(ids.implode()))
        with legible(self.path):
            own = rows.collect()
            stands, old = self._look(name, own.lazy())
        newest = own.filter(has_content()).join(old, on=["id", "version"], how="anti")
        return newest.sort("id"), stands

    def current_cells(self) -> pl.LazyFrame:
        """Return the cells of the records that are held, as they are stored.

        A report that a list has named since it was fetched is left out, and one that no list names
        any longer.
        """
        _, look = self._looked("reports")
        old = look.outdated.select("version", report_id="id")
        former = look.stands.filter("known", pl.col("lacking") | ~pl.col("listed"))
        cells = without(self.scan("cells"), old, ["report_id", "version"])
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

    def _paths(self, name: str, ids: pl.Series | None = None) -> list[str]:
        """Return the files of a log with rows that count.

        Args:
            name: Of the log.
            ids: Those that are wanted; see `scan`.
        """
        if ids is not None and ids.is_empty():
            return []
        ends: Any = None if ids is None else (ids.min(), ids.max())
        while True:
            files = [
                file for file in self._listing.files.get(name, ())
                if file.first <= self._upto(name) and (ends is None or file.has(*ends))
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

    def _scanned(self, name: str, paths: list[str], ids: pl.Series | None = None) -> pl.LazyFrame:
        rows = LOGS[name].scan(paths)
        if ids is not None:
            rows = rows.filter(near("report_id" if name == "cells" else "id", ids))
        if any(file.last > self._upto(name) for file in self._listing.files.get(name, ())):
            rows = rows.filter(pl.col("version") <= self._upto(name))
        return whole(name, rows, self._listing.lost)

    def _looked(self, name: str) -> tuple[list[str], _Look]:
        """Return the files of a log, and what they hold."""
        paths = self._paths(name)
        if name not in self._looks or self._looks[name].listing is not self._listing:
            run, base = self._listing, self.point.base.get(name, 0)
            basis = ([file.rpartition("/")[2] for file in paths], self._upto(name), base, run.lost)
            found = self._folder.looks.read(name, basis)
            if found is None:
                with legible(self.path):
                    stands, outdated = self._look(name, self._scanned(name, paths))
                found = stands.select(_STANDING), outdated
                if self.point is run.last and not self.is_extract:
                    self._folder.looks.note(name, basis, found)
            stands, outdated = found
            self._looks[name] = _Look(
                run, stands, outdated, stands.filter("listed")["id"], lacking_of(stands)
            )
        return paths, self._looks[name]

    def _look(self, name: str, rows: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return what rows of a log say of each id, and which of them are outdated."""
        keys = versions.keys_of(rows)
        return (
            versions.standing(keys, self.point.base.get(name, 0)),
            versions.outdated(keys, missing=name == "units"),
        )


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


def lacking_of(standing: pl.DataFrame) -> pl.DataFrame:
    """Return ``id`` and ``unreadable`` of the ids whose record has to be fetched."""
    return standing.filter("lacking").select("id", "unreadable")


def codelists_in(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the newest version of each codelist in rows of their log."""
    newest = rows.filter(pl.col("version") == pl.col("version").max().over("name"))
    entries = (
        newest.drop("version").sort("code").partition_by("name", as_dict=True, include_key=False)
    )
    return {str(name): own for (name,), own in entries.items()}


def body_of(templates: pl.LazyFrame, template: int) -> str | None:
    """Return the newest text of a template in rows of their log, None where there is none."""
    rows = templates.filter(id=template).collect().sort("version")
    return rows["body"][-1] if rows.height else None
