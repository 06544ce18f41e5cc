"""What a mirror answers in the place of its register: requests, and records without any."""

from __future__ import annotations

import math
import threading
from datetime import date
from pathlib import Path
from typing import Any, Final

import polars as pl

from finstat_kit.errors import Either, UsageError
from finstat_kit.frames.reports.cells import FormOf, layout_of
from finstat_kit.mirror import some_units
from finstat_kit.mirror.codelists import in_force
from finstat_kit.mirror.contents import LISTED
from finstat_kit.mirror.folder import Folder
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.sealed import stamp
from finstat_kit.mirror.store import CopiedStore, copied_store
from finstat_kit.mirror.stored_cells import DIGEST, LENGTHS, current, joined
from finstat_kit.mirror.syncing import LISTS
from finstat_kit.mirror.tables import Table
from finstat_kit.mirror.versions import (
    MISSING,
    Known,
    completed_by,
    is_among,
    latest,
    legible,
    near,
)
from finstat_kit.protocol.records import decode as shaped
from finstat_kit.protocol.records.decode import KINDS
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http import routes
from finstat_kit.transport import forks

_REFUSED: Final = frozenset(kind.path for name, kind in KINDS.items() if name != "units")


class Answers:
    """Answers from disk, as the newest complete sync left it, or the last one by a day."""

    def __init__(self, folder: Folder, held: Held, day: date | None = None) -> None:
        self.path = held.path
        self._folder = folder
        self._held = held
        self._day = day
        self._store: tuple[object, CopiedStore] | None = None
        self._states: dict[str, tuple[object, tuple[pl.DataFrame, pl.DataFrame]]] = {}
        self._after_fork()
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self._lock = threading.Lock()

    def complete(self) -> pl.DataFrame:
        """Return the completed runs, up to the day answered for.

        Raises:
            MirrorError: There is no mirror or no complete sync, or something is lost.
            UsageError: No sync was complete by the day.
        """
        return self.by_its_day(self._held.complete(self._folder.begun()))

    def by_its_day(self, completed: pl.DataFrame) -> pl.DataFrame:
        """Return the runs completed by the day answered for.

        Raises:
            UsageError: No sync was complete by then.
        """
        return completed if self._day is None else completed_by(completed, self._day)

    def today(self) -> date:
        """Return the day on which the last complete sync started, looked up anew.

        Raises:
            MirrorError: No sync is complete.
        """
        completed = self._held.completed()
        runs = self.by_its_day(completed) if completed.height else self.complete()
        day: date = runs["started"][-1]
        return day

    def since(self) -> date | None:
        """Return the day that a part of the register begins with, None for all of it.

        Raises:
            MirrorError: There is no mirror.
        """
        return self._folder.begun().since

    def extracted(self) -> bool:
        """Return whether the mirror is an extract, which has no lists.

        Raises:
            MirrorError: There is no mirror.
        """
        return self._folder.begun().extract is not None

    def keeps(self, name: str) -> bool:
        """Return whether the records of a collection beside units are kept, or were on the day."""
        run = self._run()
        if run is None:
            return name in self._folder.begun().contents
        return run.get(f"version_{name}") is not None

    def only(self) -> pl.Series | None:
        """Return the ids of the units whose contents alone are kept, ascending; None is all.

        Raises:
            MirrorError: The file of the units is lost or damaged.
        """
        if self._folder.begun().only is None:
            return None
        run = self._run()
        return some_units.units_of(self._folder.only, None if run is None else run["run"])

    def codelists(self) -> Path:
        """Return the file of the codelists in force."""
        run = self._run()
        return in_force(self._folder.codelists, None if run is None else run["run"])

    def newest(self, name: str) -> pl.LazyFrame:
        """Return the newest version of each row of a list, removed rows included."""
        return self._held.newest(name, self._upto(name))

    def snapshot(self, name: str) -> pl.LazyFrame:
        """Return the newest version of each row of a collection, with the records that are held."""
        if not self.keeps(name):
            return self.newest(name)
        self._held.refresh_records()
        missing = self.newest(name).filter(gone=MISSING).select("id", lost="gone")
        self._held.refresh_records()
        records = self._held.newest_records(name, self._upto_record(name))
        records = records.drop(LISTED, LENGTHS, DIGEST, strict=False)
        return (
            records.join(missing, on="id", how="left")
            .with_columns(gone=pl.coalesce("lost", "gone"))
            .drop("lost")
        )

    def versions(self, name: str, ids: pl.Series) -> pl.DataFrame:
        """Return the newest rows of some ids as they stand in the log of a list, by id."""
        return self._newest_of(self._held.lists[name], ids, self._upto(name))

    def held_rows(self, name: str, ids: pl.Series) -> pl.DataFrame:
        """Return the newest records of some ids as they stand in their log, by id."""
        self._held.refresh_records()
        return self._newest_of(self._held.contents[name], ids, self._upto_record(name))

    def unread_rows(self, name: str, ids: pl.Series) -> pl.DataFrame:
        """Return the newest rows of some ids that say why their records could not be read."""
        upto = self._upto_record(name)
        return self._newest_of(self._held.contents[name], ids, upto, unread=True)

    def records(self, name: str, ids: pl.Series | None) -> pl.LazyFrame | None:
        """Return the records that the register lists: all, or those of some ids.

        Returns:
            None where not all are held; those of some ids are always whole.

        Raises:
            UsageError: The mirror keeps no such records, or lacks one of them.
        """
        self.complete()
        if name != "units":
            return self._contents(name, ids)
        rows = self.newest("units") if ids is None else self.versions("units", ids).lazy()
        return rows.filter(pl.col("gone").ne_missing(MISSING)).select(shaped.UNITS.names())

    def cells(self, schema: pl.Schema, form_of: FormOf) -> pl.LazyFrame:
        """Return the cells of all reports held, in the columns of *schema*."""
        if not self.keeps("reports"):
            raise self.absent("reports")
        listed, lack = self.state_of("reports")
        stored = self.stored_cells()
        with legible(self._held.path):
            records = self._held.current_records("reports", self._upto_record("reports"))
        # A report that a list has named since it was fetched is no answer: see `_contents`.
        current_ids = listed["id"].filter(~is_among(listed["id"], lack["id"]))
        records = records.filter(is_among(records["id"], current_ids))
        used = records["idSablony"].drop_nulls().unique()
        forms = {template: form_of(template) for template in used}
        known = {template: form for template, form in forms.items() if form is not None}
        return current(stored, records, layout_of(known, schema), schema)

    def newest_records(self, name: str) -> pl.LazyFrame:
        """Return the newest readable records of a collection beside units, with their versions."""
        return self._held.newest_records(name, self._upto_record(name), versions=True)

    def stored_cells(self) -> pl.LazyFrame:
        """Return the cells of all reports that are or were held, as they are stored."""
        self._held.check_cells()
        return self._held.cells.scan()

    def lacking(self, name: str) -> pl.DataFrame:
        """Return the listed ids of a collection without a current record."""
        return self.state_of(name)[1]

    def unread(self, name: str) -> pl.Series:
        """Return the listed ids of a collection beside units with an unreadable record."""
        return self.lacking(name).filter(~pl.col("readable"))["id"]

    def _contents(self, name: str, ids: pl.Series | None) -> pl.LazyFrame | None:
        if not self.keeps(name):
            raise self.absent(name)
        listed, lack = self.state_of(name)
        columns = KINDS[name].schema.names()
        if ids is None:
            if lack.height or name == "reports":  # whose tables are put together page by page
                return None
            rows = self._held.newest_records(name, self._upto_record(name))
            return rows.join(listed.lazy().select("id"), on="id", how="semi").select(columns)
        unread = self.unread(name).implode()
        absent = ids.filter(ids.is_in(lack["id"].implode()) & ~ids.is_in(unread))
        if absent.len():
            raise self.not_held(name, absent, ids.len())
        named = ids.filter(ids.is_in(listed["id"].implode()) & ~ids.is_in(unread))
        found = self.held_rows(name, named)
        if name == "reports":
            found = joined(found, self._held.cells_of(found))
        return found.lazy().select(columns)

    def not_held(self, name: str, absent: pl.Series, asked: int) -> UsageError:
        """Return the error for listed records that are not held."""
        cure = "sync() goes on with them, holdings() says how far it is"
        if self.extracted():
            cure = "extract again from a mirror that holds them"
        elif self._day is not None:
            cure = f"take a later day than {self._day}, once sync() has fetched them"
        elif (only := self.only()) is not None:
            own = self._held.owned(name, only).implode()
            if not absent.is_in(own).all():
                cure = (
                    f"it keeps the contents of {only.len():,} units alone; for others too: "
                    f"fk.Mirror({str(self.path)!r}, only=units).sync()"
                )
        return UsageError(
            f"{absent.len():,} of {asked:,} {name} are not held yet: {absent.head(5).to_list()}",
            cure=Either(cure, "the next sync goes on with them"),
        )

    def absent(self, name: str) -> UsageError:
        """Return the error for a collection without records."""
        cure = f"fetch the records: fk.Mirror({str(self._held.path)!r}, contents=[{name!r}]).sync()"
        if self.extracted():
            cure = "extract again from a mirror that keeps them"
        elif self._day is not None:
            cure = f"take a later day than {self._day}, on which their records were kept"
        return UsageError(
            f"of {name} this mirror holds the ids alone",
            cure=Either(f"{cure}, or ask the register: fk.use(fk.LIVE)", "ask the register"),
        )

    def state_of(self, name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return what a list names and what of it is lacking, found once per commit."""
        tables = self._held.lists[name], self._held.contents[name]
        self._held.lists[name].refresh()
        self._held.refresh_records()
        now = tuple(table.commit for table in tables), self._run()
        known = self._states.get(name)
        if known is None or known[0] != now:
            with legible(self._held.path):
                known = self._states[name] = now, self._held.lacking(name, self._run())
        return known[1]

    def _run(self) -> dict[str, Any] | None:
        """Return the run answered for, None for whatever is committed."""
        return None if self._day is None else self.complete().row(-1, named=True)

    def _newest_of(
        self, table: Table, ids: pl.Series, upto: float, *, unread: bool = False
    ) -> pl.DataFrame:
        asked = (
            near("id", ids)
            & pl.col("id").is_in(ids.implode())
            & (pl.col("problem").is_not_null() if unread else pl.col("problem").is_null())
            & (pl.col("version") <= upto)
        )
        # Few rows, found by the statistics of ids in the files.
        with legible(self._held.path):
            return latest(table.scan().filter(asked).collect())

    def reply(self, method: str, path: str, query: str) -> Reply:
        """Answer one request as the register's service would.

        Records of the other collections are refused, held or not: 404 would mean that there are
        none.
        """
        if path in _REFUSED:
            return routes.refusal(400, "kópia registra podáva len záznamy jednotiek", method)
        files = stamp(self.codelists()), stamp(self._folder.file)
        now = self._held.commits(), files
        with self._lock:
            if self._store is None or self._store[0] != now:
                self._store = now, self._copied()
            store = self._store[1]
        return routes.answer(store, method, path, query)

    def _upto(self, name: str) -> float:
        run = self._run()
        return math.inf if run is None else self._held.upto(name, run)

    def _upto_record(self, name: str) -> float:
        run = self._run()
        return math.inf if run is None else run[f"version_{name}"] or 0

    def _copied(self) -> CopiedStore:
        today = self.complete()["started"][-1]
        with legible(self._held.path):
            listed = {name: Known(self._log(name)).listed for name in LISTS if name != "units"}
            return copied_store(self.newest("units"), listed, self.codelists(), today, self._found)

    def _log(self, name: str) -> pl.LazyFrame:
        return self._held.lists[name].scan().filter(pl.col("version") <= self._upto(name))

    def _found(self, id_: int) -> pl.DataFrame:
        found = self.records("units", pl.Series("id", [id_], dtype=pl.Int64))
        assert found is not None
        return found.collect()
