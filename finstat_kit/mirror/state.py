"""What a mirror holds as of a point.

A state is loaded once per public call, and passed down.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import date
from functools import cached_property
from typing import Final

import polars as pl

from finstat_kit.errors import NotHeld
from finstat_kit.frames.text import unit_names
from finstat_kit.mirror.lists import Lists
from finstat_kit.mirror.storage.files import DamagedError, File, legible
from finstat_kit.mirror.storage.folder import Folder
from finstat_kit.mirror.storage.logs import LOGS
from finstat_kit.mirror.storage.rows import (
    ANSWERS,
    MISSING,
    NAMES,
    RECORD,
    near,
    schema_of,
    without,
)
from finstat_kit.mirror.storage.runs import Loss, Point, Run
from finstat_kit.mirror.storage.standing import Standing, standing
from finstat_kit.mirror.storage.writer import standing_of, void_in
from finstat_kit.protocol import forms, wire
from finstat_kit.protocol.forms import Form

_LATER: Final = "of a frozen day take a later one"
_KEPT: Final = 2  # states in memory: there may be millions of ids in each


class States:
    """What a folder holds by its newest run, and held on former days.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._states: list[State] = []  # the newest, and the one that was read last
        self._held = threading.local()

    def on(self, day: date | None = None) -> State:
        """Return what the mirror holds by its newest point, or held on a day.

        Raises:
            MirrorError: There is no mirror, or no complete sync.
            UsageError: No sync was complete by then, or a later one may change that day.
        """
        held: State | None = getattr(self._held, "state", None)
        if held is not None:
            return held
        with self._folder.lock:
            run = self._folder.complete()
            point = run.on(day)
            for state in self._states:
                if state.is_of(run, point):
                    return state
            state = State(self._folder, run, point)
            kept = [each for each in self._states if each.is_of(run, run.newest)]
            self._states = [state, *kept][:_KEPT]
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


class State:
    """What a mirror holds as of a point; nothing in it changes.

    Attributes:
        path: Of the folder.
        run: The run that it was read from.
        point: The point.
        settings: What the mirror is of.
    """

    def __init__(self, folder: Folder, run: Run, point: Point) -> None:
        self.path = folder.path
        self.run = run
        self.point = point
        self.settings = run.settings
        self._folder = folder
        self._stands: dict[str, Standing] = {}
        self._forms: dict[int, Form | None] = {}
        self._names: pl.DataFrame | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without what was read of it, within a LazyFrame of figures."""
        return type(self), (self._folder, self.run, self.point)

    def is_of(self, run: Run, point: Point) -> bool:
        """Return whether it is what a run says of a point; files that were merged stay a day."""
        return (self.point, self.run.lost, self.settings) == (point, run.lost, run.settings)

    def former(self, point: Point) -> State:
        """Return what the mirror held as of another point of the same run."""
        return type(self)(self._folder, self.run, point)

    @property
    def today(self) -> date:
        """The day on which the sync started."""
        return self.point.started

    @property
    def is_part(self) -> bool:
        """Whether the mirror is of given units, and has no lists."""
        return self.settings.units is not None

    def keeps(self, name: str) -> bool:
        """Return whether the records of a collection are kept."""
        return name == "units" or name in self.point.contents

    def see_kept(self, name: str) -> None:
        """See that the records of a collection are kept.

        Raises:
            NotHeld: They are not.
        """
        if not self.keeps(name):
            raise NotHeld(
                f"of {name} this mirror holds the ids alone",
                cure=f"fetch the records: fk.Mirror({str(self.path)!r}, contents=[{name!r}])"
                f".sync(), or use the register: fk.use(fk.LIVE); {_LATER}",
            )

    def see_held(self, name: str, absent: pl.Series, many: int) -> None:
        """See that no record of some is absent.

        Args:
            name: Of the collection.
            absent: Ids that are listed, and were not fetched yet.
            many: How many were requested.

        Raises:
            NotHeld: There are such.
        """
        if absent.len():
            raise NotHeld(
                f"{absent.len():,} of {many:,} {name} are not held yet: {absent.to_list()[:5]}",
                cure=f"sync() goes on with them, holdings() says how far it is; {_LATER}",
            )

    def see_given(self, name: str, others: pl.Series, many: int) -> None:
        """See that no record is outside of the given units, where these are a part; see `see_held`.

        Raises:
            NotHeld: There are such.
        """
        if self.settings.units is not None and others.len():
            raise NotHeld(
                f"{others.len():,} of {many:,} {name} are not in this mirror of "
                f"{len(self.settings.units):,} given units: {others.to_list()[:5]}; the register "
                "may have them",
                cure="add units: fk.Mirror(…, units=…).sync(), or use the register: "
                "fk.use(fk.LIVE), or a mirror of all units",
            )

    def scan(
        self, name: str, ids: pl.Series | None = None, *, names: bool | None = None
    ) -> pl.LazyFrame:
        """Return the rows of a log that count.

        Args:
            name: Of the log.
            ids: Of the records, or of the reports of the cells, that are wanted: there may be rows
                of others nearby, and files without any of them are not opened. None for all.
            names: Whether those that name ids, or those that answer them; None is all.

        Raises:
            DamagedError: Rows that counted are lost.
        """
        upto = self._upto(name)
        files = [
            file for file in self.files(name)
            if names in (None, file.names)
            and (ids is None or (not ids.is_empty() and file.has(*_ends(ids))))
        ]  # fmt: skip
        rows = LOGS[name].scan([f"{self.path}/{file.path}" for file in files])
        if ids is not None:
            rows = rows.filter(near("report_id" if name == "cells" else "id", ids))
        if any(file.last > upto for file in files):
            rows = rows.filter(pl.col("version") <= upto)
        return rows

    def files(self, name: str) -> list[File]:
        """Return the files of a log with rows that count.

        Raises:
            DamagedError: Some of these are lost.
        """
        if loss := self.run.loss(name, self.point):
            raise self._lost(name, loss)
        upto = self._upto(name)
        return [file for file in self.run.files.get(name, ()) if file.first <= upto]

    def standing(self, name: str) -> Standing:
        """Return what the log of a collection says of each id."""
        with self._folder.lock:  # not twice at the same time: it may be large
            if name not in self._stands:
                self.files(name)  # an error where some are lost
                self._stands[name] = standing_of(self.path, self.run, name, self.point)
            return self._stands[name]

    def newest(self, name: str, ids: pl.Series | None = None) -> pl.LazyFrame:
        """Return the newest version of each row that has ever had a record.

        Args:
            name: Of the collection.
            ids: Those that are wanted; see `scan`.

        Returns:
            The columns of the log but for the texts of problems, in no guaranteed order; removed
            rows included.
        """
        shown = [n for n in schema_of(name) if n not in ("problem", "kind", "digest", "same_as")]
        stands = self.standing(name)
        # That a unit is missing stands among the names, which else need not be read.
        is_missing = name == "units" and bool(stands.gone.any())
        rows = self.scan(name, ids, names=None if is_missing else False)
        with_content = rows.filter(
            pl.col("kind").is_in([RECORD, MISSING] if is_missing else [RECORD])
        )
        return without(with_content, stands.outdated, ["id", "version"]).select(shown)

    def records(self, name: str, ids: pl.Series) -> tuple[pl.DataFrame, Standing]:
        """Return the newest records of some ids as they stand in their log, and their standing."""
        with legible(self.path):
            nearby = self.scan(name, ids).filter(pl.col("id").is_in(ids.implode()))
            rows = nearby.collect().sort("version")
            stands = standing(
                lambda: iter([rows.filter(pl.col("kind").is_in(NAMES))]),
                lambda: iter([rows.filter(pl.col("kind").is_in(ANSWERS))]),
                void=void_in(self.run, name, self.point), missing=name == "units",
            )  # fmt: skip
        kinds = [RECORD, MISSING] if name == "units" else [RECORD]
        held = rows.filter(pl.col("kind").is_in(kinds))
        return held.join(stands.outdated, on=["id", "version"], how="anti").sort("id"), stands

    def current_cells(self) -> pl.LazyFrame:
        """Return the cells of the records that are held, as they are stored.

        A report that a list has named since it was fetched is left out, and one that no list names
        any longer.
        """
        stands = self.standing("reports")
        old = stands.outdated.select("version", report_id="id")
        is_former = (stands.content > 0) & ~stands.is_held
        former = pl.DataFrame({"report_id": stands.ids[is_former]})
        cells = without(self.scan("cells"), old, ["report_id", "version"])
        return without(cells, former, ["report_id"])

    def names(self) -> pl.DataFrame:
        """Return the names of all units, prepared once; see `unit_names.prepared`."""
        with self._folder.lock:  # not twice at the same time: they are large
            if self._names is None:
                with legible(self.path):
                    named = self.newest("units").filter(pl.col("gone").is_null())
                    self._names = unit_names.prepared(named).collect(engine="streaming")
            return self._names

    @cached_property
    def lists(self) -> Lists:
        """The lists of the register; two threads at once may read them twice."""
        return Lists(self.path, self.newest, self.standing)

    @cached_property
    def codelists(self) -> dict[str, pl.DataFrame]:
        """The codelists: code, both names and parent, by code."""
        with legible(self.path):
            return codelists_in(self.scan("codelists").collect())

    def form(self, template: int) -> Form | None:
        """Return a template as the kept reports brought it, None where there is none."""
        if template not in self._forms:
            with legible(self.path):
                self._forms[template] = form_in(self.scan("templates"), template)
        return self._forms[template]

    def uses(self, template: int) -> bool:
        """Return whether a report that is or was held is of a template."""
        with legible(self.path):
            own = self.scan("reports", names=False).filter(kind=RECORD, idSablony=template)
            return own.select("id").head(1).collect().height > 0

    def _upto(self, name: str) -> int:
        return self.point.upto.get(name, 0)

    def _lost(self, name: str, loss: Loss) -> DamagedError:
        rows = f"{loss.file.rows:,} rows of {name} that counted on {self.point.day} were lost"
        if after := self.run.after(loss):
            return DamagedError(f"{rows}; from {after.day} on they are whole again")
        return DamagedError(rows, cure=self.run.cure)


def _ends(ids: pl.Series) -> tuple[int, int]:
    return int(ids.min()), int(ids.max())  # type: ignore[arg-type]


def codelists_in(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the newest version of each codelist in rows of their log, by code."""
    newest = rows.filter(pl.col("version") == pl.col("version").max().over("name")).sort("code")
    return {name: newest.filter(name=name).drop("version", "name") for name in wire.CODELISTS}


def form_in(templates: pl.LazyFrame, template: int) -> Form | None:
    """Return the newest form of a template in rows of their log, None where there is none."""
    rows = templates.filter(id=template).collect().sort("version")
    return forms.parse_template(rows["body"][-1].encode(), template) if rows.height else None
