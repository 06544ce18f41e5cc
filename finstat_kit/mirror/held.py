"""What is in the folder of a mirror: its tables, and how far each was when the last run ended."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from finstat_kit.errors import MirrorError
from finstat_kit.mirror.contents import LISTED, held_records, lacking, newest_listed, schema_of
from finstat_kit.mirror.folder import NAMED, About
from finstat_kit.mirror.newest import newest_rows
from finstat_kit.mirror.some_units import OWNED, REPORTS_OF
from finstat_kit.mirror.stored_cells import STORED
from finstat_kit.mirror.syncing import CONTENTS, LISTS, RUNS, STATE, newest_run, open_run
from finstat_kit.mirror.tables import Table
from finstat_kit.mirror.versions import META, UNREADABLE, latest, legible, near
from finstat_kit.protocol import replies
from finstat_kit.protocol.records import decode as shaped


class Held:
    """The tables of a mirror.

    Attributes:
        lists: The log of each list, by its name.
        contents: The log of the records of each other collection than units, empty where only its
            ids are kept.
        cells: The cells of the kept reports.
        runs: One row per completed run. A row that is not ``completed`` marks a loss, which
            invalidates the rows before it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lists = {
            name: Table(
                path / name,
                pl.Schema({**(shaped.UNITS if name == "units" else replies.IDS), **META}),
                STATE,
            )
            for name in LISTS
        }
        self.contents = {
            name: Table(path / f"{name}_records", schema_of(name), ("version", "cells"))
            for name in CONTENTS
        }
        self.cells = Table(path / "cells", STORED, ("version",))
        self.runs = Table(path / "runs", RUNS)
        self._read: tuple[list[str], pl.DataFrame, pl.DataFrame] | None = None
        # A look that began earlier must not replace what a later one has found.
        self._look = threading.RLock()

    @property
    def tables(self) -> tuple[Table, ...]:
        """All of them."""
        return *self.lists.values(), *self.contents.values(), self.cells, self.runs

    def commits(self) -> tuple[int, ...]:
        """Return the number of the newest commit of each table."""
        for table in self.tables:
            table.refresh()
        return tuple(table.commit for table in self.tables)

    def all_runs(self, *, anew: bool = False) -> pl.DataFrame:
        """Return the rows of the table of runs, in their order.

        Raises:
            MirrorError: It is damaged.
        """
        with self._look:
            self.runs.refresh(anew=anew)
            if self.runs.lost_files():
                self.runs.refresh(anew=True)  # it may be another table by now
            files = self.runs.whole_files()
            known = self._read
            if known is None or known[0] != files:
                try:
                    runs = self.runs.scan().collect().sort("run")
                    known = files, runs, _completed(runs)
                except UNREADABLE as error:
                    raise MirrorError(
                        f"{self.runs.path} cannot be read: {error}; {self.runs.cure}"
                    ) from error
                self._read = known
            return known[1]

    def completed(self) -> pl.DataFrame:
        """Return the completed runs that are still valid."""
        with self._look:
            self.all_runs()
            assert self._read is not None
            return self._read[2]

    @property
    def known(self) -> pl.DataFrame | None:
        """The completed runs as of the last look at the table, None before the first."""
        read = self._read
        return None if read is None else read[2]

    def rows_at_end(self, completed: pl.DataFrame) -> dict[str, int]:
        """Return the number of rows of each list at the end of the last run."""
        if not completed.height:
            return {}
        last = completed.select(f"rows_{name}" for name in LISTS).row(-1)
        # Format 1 did not write it down.
        return {name: rows for name, rows in zip(LISTS, last, strict=True) if rows is not None}

    def complete(self, about: About) -> pl.DataFrame:
        """Return the completed runs; all lists are at least as far as these.

        Raises:
            MirrorError: None did yet, something was lost, or a list is of another register.
        """
        completed = self.completed()
        if not completed.height:
            raise MirrorError(
                f"the mirror at {self.path} has no complete sync yet, and a part would be taken "
                "for the whole; sync() resumes where the last one ended"
            )
        known = self.rows_at_end(completed)
        for name, table in self.lists.items():
            # Where it was looked at before it must not become nothing, also if format 1 did not
            # write down how far it was.
            least = max(known.get(name, 0), min(table.rows, 1))
            table.refresh()
            if table.rows < least or table.lost_files():
                table.refresh(anew=True)  # it may be another table by now
            if table.rows < least:
                raise MirrorError(incomplete(table, least))
        self.belongs(about)
        return completed

    def newest(self, name: str, upto: float = math.inf) -> pl.LazyFrame:
        """Return the newest version of each row of a list, up to the version of that number.

        Raises:
            MirrorError: A file is lost or damaged.
        """
        schema = shaped.UNITS if name == "units" else replies.IDS
        return newest_rows(tuple(self.lists[name].whole_files()), schema, upto)

    def upto(self, name: str, run: Mapping[str, object]) -> int:
        """Return the number of the last version of a list at the end of a completed run.

        Versions ascend as rows do, so that the number of rows at the end of the run names it.
        """
        if name == "units":
            return int(str(run["version"]))
        keys = self.lists[name].scan().select("version", "seen").collect().sort("version")
        rows = run[f"rows_{name}"]
        if rows is None:  # format 1 did not write it down
            rows = int((keys["seen"] <= run["completed"]).sum())
        assert isinstance(rows, int)
        return int(keys["version"][rows - 1]) if rows else 0

    def answered(self, name: str) -> int:
        """Return the greatest version of a list that a record was fetched for, 0 for none."""
        table = self.contents[name]
        table.refresh()
        return int(table.scan().select(pl.col(LISTED).max()).collect().item() or 0)

    def newest_records(
        self, name: str, upto: float = math.inf, *, versions: bool = False
    ) -> pl.LazyFrame:
        """Return the newest version of each record of another collection than units."""
        table = self.contents[name]
        schema = pl.Schema({n: kind for n, kind in table.schema.items() if n not in META})
        return newest_rows(tuple(table.whole_files()), schema, upto, versions=versions)

    def lacking(
        self, name: str, run: Mapping[str, Any] | None = None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the ids that a list names, and those without a current record; see `lacking`.

        Args:
            name: Of the collection.
            run: A completed run, None for what is held now.
        """
        listed, records = self.lists[name].scan(), self.contents[name].scan()
        if run is not None:
            listed = listed.filter(pl.col("version") <= self.upto(name, run))
            records = records.filter(pl.col("version") <= (run[f"version_{name}"] or 0))
        named = newest_listed(listed)
        return named, lacking(named, held_records(records))

    def lacking_of(
        self, name: str, units: pl.Series | None, run: Mapping[str, Any] | None = None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return what `lacking` does, of some units alone; None is all.

        Of reports those are returned that held statements and annual reports name.
        """
        named, lack = self.lacking(name, run)
        if units is None:
            return named, lack
        own = self.owned(name, units).alias("id").to_frame()
        return named.join(own, on="id", how="semi"), lack.join(own, on="id", how="semi")

    def owned(self, name: str, units: pl.Series) -> pl.Series:
        """Return the ids of a collection that belong to units, or once did."""
        if name == "reports":
            logs = [self.contents[owner].scan() for owner in OWNED]
            column = REPORTS_OF
        else:
            own = near("id", units) & pl.col("id").is_in(units.implode())
            logs = [self.lists["units"].scan().filter(own)]
            column = OWNED[name]
        found = [log.select(pl.col(column).explode()).drop_nulls().collect() for log in logs]
        return pl.concat(found)[column].unique()

    def current_records(self, name: str, upto: float) -> pl.DataFrame:
        """Return ``id``, ``version`` and ``idSablony`` of the newest readable records."""
        log = (
            self.contents[name]
            .scan()
            .filter(pl.col("problem").is_null() & (pl.col("version") <= upto))
        )
        return latest(log.select("id", "version", "idSablony").collect())

    def used_templates(self) -> list[int]:
        """Return the templates that the kept reports are filed on, as last loaded."""
        log = self.contents["reports"].scan().filter(pl.col("problem").is_null())
        with legible(self.path):
            found = log.select(pl.col("idSablony").unique().drop_nulls().sort()).collect()
        return found["idSablony"].to_list()

    def refresh_records(self) -> None:
        """Load the newest commits of all kept records and their cells."""
        # The cells last: a sync commits them before their records.
        for table in (*self.contents.values(), self.cells):
            table.refresh()
            if table.lost_files():
                table.refresh(anew=True)  # it may be another table by now

    def check_cells(self) -> None:
        """See that no cells are lost.

        Raises:
            MirrorError: Some are; the message names the fix.
        """
        reports = self.contents["reports"]
        least = reports.state().get("cells", 0)

        def lost() -> bool:
            return self.cells.rows < least or bool(self.cells.lost_files())

        if lost():
            self.cells.refresh(anew=True)  # another process may have committed or compacted them
        if lost():
            raise MirrorError(
                f"cells in {self.cells.path} are lost; remove it and {reports.path}: the next "
                "sync() fetches the reports anew, older versions of them are lost"
            )

    def cells_of(self, reports: pl.DataFrame) -> pl.DataFrame:
        """Return the stored cells of some records of reports."""
        self.check_cells()
        ids = reports["id"]
        if ids.is_empty():
            return pl.DataFrame(schema=STORED)
        own = near("report_id", ids) & pl.col("report_id").is_in(ids.implode())
        with legible(self.path):
            return self.cells.scan().filter(own).collect()

    def lost(self) -> str | None:
        """Return what is lost that only a full sync brings back, None where nothing is.

        Raises:
            MirrorError: Something else must be done before.
        """
        known = self.rows_at_end(self.completed())
        found = None
        for name, table in self.lists.items():
            table.refresh(anew=True)
            if table.rows < known.get(name, 0):
                if table.path.exists():
                    raise MirrorError(incomplete(table, known[name]))
                found = incomplete(table, known[name])
            for file in table.lost_files():
                found = f"{file} is lost: {table.cure_of(file, lost=True)}"
        return found

    def foreign(self, about: About) -> Iterator[tuple[Table, str]]:
        """Yield the lists of another register than the directory's, each with a message."""
        if about.format < NAMED:
            return  # it did not write down which register it was
        for table in self.lists.values():
            number = table.value("register")
            if number is not None and number != about.origin.number:
                yield (
                    table,
                    f"{table.path} is of another register than {about.origin.name}, which "
                    f"mirror.json names; put back whichever came from elsewhere, or "
                    f"{table.cure}",
                )

    def belongs(self, about: About) -> None:
        """See that all lists are of the register that the folder is of.

        Raises:
            MirrorError: One is of another.
        """
        for _, meaning in self.foreign(about):
            raise MirrorError(meaning)

    def void(self) -> None:
        """Write down that something was lost, so that nothing is read until a run is complete."""
        runs = self.all_runs()
        last = open_run(self.lists, runs)
        newest = last["run"] if last else newest_run(runs)
        self.runs.append(pl.DataFrame([{"run": newest + 1}], schema=RUNS))
        self.runs.seal()


def _completed(runs: pl.DataFrame) -> pl.DataFrame:
    void = runs["completed"].is_null().arg_true()
    return runs[int(void[-1]) + 1 :] if len(void) else runs


def incomplete(table: Table, known: int) -> str:
    """Return the message for a list with fewer rows than the table of runs records."""
    cure = (
        table.cure
        if table.path.exists()
        else "sync(full=True) fetches it anew, older versions in it are lost"
    )
    return f"{table.path} is lost: {table.rows:,} of {known:,} rows are there; {cure}"
