"""The folder of a mirror: its logs, what they hold as of a run that is done, and a new run.

A state is loaded once per public call, and passed down.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.errors import Either, MirrorError, RegisterError
from finstat_kit.frames.text import unit_names
from finstat_kit.mirror import versions
from finstat_kit.mirror.cells import ORDER, STORED
from finstat_kit.mirror.log import BROKEN, CURE, MANY_FILES, Log, Mark, Stamp, said, stamp, verify
from finstat_kit.mirror.runs import (
    BEGUN,
    DONE,
    RUNS,
    About,
    Begun,
    History,
    Run,
    parsed_about,
    row_of,
)
from finstat_kit.mirror.versions import (
    LISTED,
    RECORD,
    ROW,
    has_content,
    of_ids,
    rows_of,
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
TEMPLATES: Final = pl.Schema({"version": pl.Int64(), "id": pl.Int64(), "body": pl.String()})
ONLY: Final = pl.Schema({"version": pl.Int64(), "id": pl.Int64()})
# What a state keeps of `versions.standing`: there may be millions of ids.
_STANDING: Final = ("id", "listed", "known", "lacking", "unreadable")
_VOID: Final = "void"  # of a report whose cells are lost


class Folder:
    """The directory of a mirror: its logs.

    Attributes:
        path: Absolute.
        logs: By name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        keys = ("id", "version")
        self.logs = {name: Log(path / name, schema_of(name), keys) for name in COLLECTIONS}
        self.logs |= {
            "cells": Log(path / "cells", STORED, (*ORDER, "version"), ORDER),
            "codelists": Log(path / "codelists", CODELISTS, ("version",)),
            "templates": Log(path / "templates", TEMPLATES, keys),
            "only": Log(path / "only", ONLY, keys),
        }
        self.runs = Log(path / "runs", RUNS, ("version",))
        self._verified: dict[str, Stamp] = {}
        self._history: tuple[Mark, History] | None = None
        self._states: dict[date | None, tuple[Mark, State]] = {}
        self._after_fork()
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self._lock = threading.RLock()

    @property
    def known(self) -> tuple[About, History] | None:
        """What the last look found, None before the first."""
        about, history = self.runs.about, self._history
        if history is None or about is None:
            return None
        return parsed_about(about, self.runs.path), history[1]

    @property
    def is_begun(self) -> bool:
        """Whether a mirror, or a remnant of one, exists: the runs are written first."""
        with contextlib.suppress(MirrorError):
            return any(log.refresh() is not None for log in (self.runs, *self.logs.values()))
        return True

    def begun(self) -> About:
        """Return what the mirror is of.

        Raises:
            MirrorError: There is no mirror in the folder, or it cannot be read.
        """
        if not self.is_begun:
            raise MirrorError(
                f"there is no mirror in {self.path}",
                cure=Either(
                    "sync() creates one, or give another folder",
                    "finstat-kit sync creates one; or give another folder",
                ),
            )
        if self.runs.refresh() is None:
            raise MirrorError(f"{self.runs.path} is lost; {CURE}, and history begins anew")
        return parsed_about(self.runs.about, self.runs.path)

    def history(self) -> History:
        """Return the runs, read anew where there are others.

        Raises:
            MirrorError: There is no mirror, or its runs are lost or damaged.
        """
        with self._lock:
            self.begun()
            if self._history is None or self._history[0] != self.runs.refresh():
                noted = self.noted()  # before the rows: it is written after them
                commit = self.runs.refresh()
                assert commit is not None
                with legible(self.path):
                    rows = self.scan(self.runs).collect().sort("version")
                numbers = rows["version"].to_list() or [0]
                first, last = min(numbers), max(numbers)
                if rows.height < last - first + 1 or noted > last:
                    raise MirrorError(f"runs in {self.runs.path} are lost; {CURE}")
                self._history = commit, History(rows)
            return self._history[1]

    def state(self, day: date | None = None) -> State:
        """Return what the mirror holds by the newest run that is done, or the last one by a day.

        Raises:
            MirrorError: There is no mirror, no complete sync, or something is lost.
            UsageError: No sync was complete by then, or a later one may change that day.
        """
        with self._lock:
            known = self._states.get(day)
            if known is not None and known[0] == self.runs.refresh():
                return known[1]
            while True:
                history = self.history()
                assert self._history is not None
                commit = self._history[0]
                state = State(self, history.complete(self.path, day), history)
                # Nothing was dropped while the logs were looked at.
                if self.runs.refresh() == commit:
                    self._states[day] = commit, state
                    return state

    def noted(self) -> int:
        """Return the number of the newest row that a run was done with; 0 where it is not known."""
        with contextlib.suppress(MirrorError):  # that the table is damaged is found elsewhere
            return self.logs["units"].noted()
        return 0

    def scan(self, log: Log) -> pl.LazyFrame:
        """Return all rows of a log, of files that are as their names say.

        Raises:
            MirrorError: One is lost or damaged.
        """
        paths = [entry.path for entry in log.entries()]
        verify(paths, self._verified)
        return scanned(paths, log.schema)

    def rows(self, name: str, gaps: Sequence[tuple[str, int, float]]) -> pl.LazyFrame:
        """Return all rows of the log of a collection, those without their cells marked.

        Args:
            name: Of the collection.
            gaps: As of `History`.
        """
        rows = self.scan(self.logs[name])
        return marked(rows, gaps) if name == "reports" else rows

    def reached(self) -> list[tuple[str, int, int]]:
        """Return name, greatest version and number of rows of each log, as committed."""
        reached = []
        for name, log in self.logs.items():
            log.refresh()
            reached.append((name, int(log.last), log.rows))
        return reached


class State:
    """What a mirror holds as of a run; nothing in it changes.

    Attributes:
        path: Of the folder.
        about: What the mirror is of.
        run: The run.
        first: The first run that can be read.
    """

    def __init__(self, folder: Folder, run: Run, history: History) -> None:
        self.path = folder.path
        self.about = folder.begun()
        self.run = run
        self.first = history.done[0]
        self._folder = folder
        self._newest = history.done[-1]
        self._gaps = history.gaps
        self._holey = {"reports" if log == "cells" else log for log, _, _ in history.gaps}
        self._files: dict[str, list[str]] = {}
        self._standing: dict[str, pl.DataFrame] = {}
        self._rows: dict[str, _Rows] = {}
        self._forms: dict[int, Form | None] = {}
        self._names: pl.DataFrame | None = None
        for name, log in folder.logs.items():
            self._see(name, log)

    @property
    def today(self) -> date:
        """The day on which the run started."""
        return self.run.started

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
        if self.run.only is None:
            return None
        with legible(self.path):
            return self.scan("only").select("id").collect()["id"].unique().sort()

    def keeps(self, name: str) -> bool:
        """Return whether the records of a collection are kept."""
        return name == "units" or name in self.run.contents

    def scan(self, name: str) -> pl.LazyFrame:
        """Return the rows of a log that count."""
        return self._all(name).filter(pl.col("version") <= self._upto(name))

    def standing(self, name: str) -> pl.DataFrame:
        """Return `_STANDING` of each id that the log of a collection names.

        See `versions.standing`.
        """
        if name not in self._standing:
            with legible(self.path):
                absent = self._rows_of(name).absent if name in self._holey else None
                base = self.run.base.get(name, 0)
                stands = versions.standing(self.scan(name), base, absent=absent)
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
        rows = self._rows_of(name)
        if len(rows.absent) and name == "units":
            raise self._without(len(rows.absent))
        shown = [n for n in schema_of(name) if n not in ("problem", "kind", "digest")]
        with_content = self._all(name, rows.paths).filter(has_content())
        return without(with_content, rows.outdated, [ROW]).select(shown)

    def records(self, name: str, ids: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the newest records of some ids as they stand in their log, and their standing."""
        with legible(self.path):
            rows = self._all(name).filter(of_ids("id", ids)).collect().with_row_index(ROW)
            old, absent = versions.outdated(rows, self._upto(name), missing=name == "units")
            counted = rows.lazy().filter(pl.col("version") <= self._upto(name))
            stands = versions.standing(counted, self.run.base.get(name, 0), absent=absent)
        if len(absent) and name == "units":
            raise self._without(len(absent))
        newest = rows.filter(has_content()).join(old, on=ROW, how="anti").drop(ROW)
        return newest.sort("id"), stands

    def cells(self) -> pl.LazyFrame:
        """Return the cells of all reports that are or were held, as they are stored."""
        return self._all("cells")

    def current_cells(self) -> pl.LazyFrame:
        """Return the cells of the records that are held, as they are stored.

        A report that a list has named since it was fetched is left out.
        """
        rows, stands = self._rows_of("reports"), self.standing("reports")
        named = stands.filter("lacking", "known").select(report_id="id")
        old = rows.outdated.select("version", report_id="id")
        # A commit that was cut off may have left cells without their records.
        cells = self.cells().filter(pl.col("version").is_in(rows.versions.implode()))
        cells = without(cells, old, ["report_id", "version"])
        return without(cells, named, ["report_id"])

    def names(self) -> pl.DataFrame:
        """Return the names of all units, prepared once; see `unit_names.prepared`."""
        with self._folder._lock:  # not twice at the same time: they are large
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
            rows = self.scan("templates").filter(id=template).collect().sort("version")
        return rows["body"][-1] if rows.height else None

    def uses(self, template: int) -> bool:
        """Return whether a report that is or was held is of a template."""
        with legible(self.path):
            own = self.scan("reports").filter(kind=RECORD, idSablony=template)
            return own.select("id").head(1).collect().height > 0

    def unreadable(self, name: str) -> pl.Series:
        """Return the listed ids of a collection whose records could not be read, ascending."""
        return self.lacking(name).filter("unreadable")["id"]

    def _upto(self, name: str) -> int:
        return self.run.reached.get(name, 0)

    def _see(self, name: str, log: Log) -> None:
        """Look at a log: it must be as far as the run says, and of the same register."""
        log.refresh()
        if shortfall(log, self._newest):
            log.reopen()  # it may be another table by now
        see_whole(log, self._newest, self.about)
        self._files[name] = [entry.path for entry in log.entries()]

    def _paths(self, name: str) -> list[str]:
        if any(stamp(path) is None for path in self._files[name]):
            self._folder.logs[name].reopen()  # they may have been merged meanwhile
            self._see(name, self._folder.logs[name])
        verify(self._files[name], self._folder._verified)
        return self._files[name]

    def _all(self, name: str, numbered: list[str] | None = None) -> pl.LazyFrame:
        """Return all rows of a log, also those of later runs, or those of some files by number."""
        schema = self._folder.logs[name].schema
        if numbered is None:
            rows = scanned(self._paths(name), schema)
        else:
            rows = scanned(numbered, schema, ROW)
        return marked(rows, self._gaps) if name == "reports" else rows

    def _rows_of(self, name: str) -> _Rows:
        """Return which rows of a log count."""
        paths = self._paths(name)
        if name not in self._rows or self._rows[name].paths is not paths:
            outdated, lost_ids, with_records = [], [], []
            with legible(self.path):
                rows = self._all(name, paths).filter(pl.col("kind") != LISTED)
                for some in versions.pieces(rows):
                    keys = some.select(ROW, "id", "version", "kind", "digest").collect()
                    old, none = versions.outdated(keys, self._upto(name), missing=name == "units")
                    outdated.append(old)
                    lost_ids.append(none)
                    with_records.append(keys.filter(kind=RECORD)["version"].unique())
            self._rows[name] = _Rows(
                paths, pl.concat(outdated), pl.concat(lost_ids), pl.concat(with_records).unique()
            )
        return self._rows[name]

    def _without(self, many: int) -> MirrorError:
        return MirrorError(
            f"the content of {many:,} units as of {self.run.completed} was in a file that is lost; "
            "take a later day"
        )


class _Rows(NamedTuple):
    """Which rows of some files count.

    Attributes:
        paths: Of the files.
        outdated: As of `versions.outdated`.
        absent: As of `versions.outdated`.
        versions: Those of records.
    """

    paths: list[str]
    outdated: pl.DataFrame
    absent: pl.Series
    versions: pl.Series


def shortfall(log: Log, run: Run | None) -> str:
    """Return what a log lacks of what a run counts, empty for nothing."""
    if run is None:
        return ""
    rows = run.rows.get(log.path.name, 0)
    if log.rows < rows:
        return f"{log.rows:,} of {rows:,} rows are there"
    is_older = log.last < run.reached.get(log.path.name, 0)
    return "an older copy of it is there" if is_older else ""


def see_whole(log: Log, run: Run | None, about: About | None) -> None:
    """See that a log is of the mirror that the runs are of, and as far as a run counts.

    Args:
        log: The log.
        run: None where none is done.
        about: None where the runs are lost.

    Raises:
        MirrorError: It is not, or its description is damaged.
    """
    see_own(log, about)
    if short := shortfall(log, run):
        raise MirrorError(f"{log.path} is lost: {short}; {CURE}")


def see_own(log: Log, about: About | None) -> None:
    """See that a log is of the mirror that the runs are of; of any where these are lost.

    Raises:
        MirrorError: It is not, or its description is damaged.
    """
    described = None if log.about is None else parsed_about(log.about, log.path)
    if about is not None and described not in (None, about):
        raise foreign(log)


def foreign(log: Log) -> MirrorError:
    """Return the error of a log that came from another mirror."""
    return MirrorError(
        f"{log.path} is of another register or another mirror than the tables beside it; put back "
        f"whichever came from elsewhere, or {CURE}"
    )


def scanned(paths: list[str], schema: pl.Schema, row_index: str | None = None) -> pl.LazyFrame:
    """Return the rows of files, and if wanted their numbers."""
    if not paths:
        index = {} if row_index is None else {row_index: pl.get_index_type()}
        return pl.LazyFrame(schema={**index, **schema})
    return pl.scan_parquet(paths, schema=schema, row_index_name=row_index, glob=False)


def marked(rows: pl.LazyFrame, gaps: Sequence[tuple[str, int, float]]) -> pl.LazyFrame:
    """Return rows of reports with the kind of those marked whose cells are lost."""
    gap = [pl.col("version").is_between(first, last) for log, first, last in gaps if log == "cells"]
    if not gap:  # a filter on the kind then reaches the files
        return rows
    void = pl.any_horizontal(gap) & (pl.col("kind") == RECORD)
    return rows.with_columns(kind=pl.when(void).then(pl.lit(_VOID)).otherwise("kind"))


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


@contextlib.contextmanager
def legible(path: Path) -> Iterator[None]:
    """Turn what polars raises of a file that is not what it was into an error with the cure."""
    try:
        yield
    except RegisterError:
        raise
    except BROKEN as error:
        raise MirrorError(
            f"the mirror at {path} cannot be read: {said(error)}; see verify()"
        ) from error


class Losses(NamedTuple):
    """What is lost or damaged of a mirror.

    Attributes:
        logs: Each with its damaged files, none for a log that is lost as a whole.
        gaps: Name of a log, first and last version that was in what is lost of it.
    """

    logs: list[tuple[Log, list[str]]]
    gaps: list[tuple[str, int, int]]


class Writer:
    """The run that a sync writes: a row *begun*, rows of logs in ascending versions, a row *done*.

    Args:
        folder: The folder, which the caller holds for writing.
        about: What the mirror is of.
        losses: What is dropped when the run begins.
        kept: The collections whose records are kept.
        only: The units whose contents alone are kept, ascending; None for all.
        today: Returns the register's day.

    Attributes:
        folder: As given.
        about: As given.
        kept: As given.
        only: As given.
        run: The run, once it is begun.
        base: The version of each log before the run.
    """

    run: Begun
    base: dict[str, int]

    def __init__(
        self,
        folder: Folder,
        about: About,
        losses: Losses,
        kept: tuple[str, ...],
        only: pl.Series | None,
        today: Callable[[], date],
    ) -> None:
        self.folder, self.about, self.kept, self.only = folder, about, kept, only
        self._lost, self._gaps = losses.logs, losses.gaps
        self._today = today
        self._is_begun = self._is_shown = False
        history = self.history
        self._versions = {
            name: max(
                int(log.last), history.used(name), *(n for gap, _, n in self._gaps if gap == name)
            )
            for name, log in folder.logs.items()
        }
        self._versions["reports"] = max(self._versions["reports"], self._versions["cells"])

    @property
    def today(self) -> date:
        """The register's day."""
        return self._today()

    @property
    def history(self) -> History:
        """The runs as committed."""
        runs = self.folder.runs
        return self.folder.history() if runs.refresh() else History(pl.DataFrame(schema=RUNS))

    def begin(self, *, full: bool) -> bool:
        """Resume the run that was cut off, or begin the next one; return whether it is resumed."""
        history, today = self.history, self.today
        cut = history.open
        self.base = dict(self._versions)
        self._is_begun = False
        if cut is not None and (cut.full or not full) and not self._lost:
            self.run, self.base = cut, dict(cut.reached)
            # That a loss is being made good is in the row that it began with.
            self._is_begun = cut.lost or history.contents == self.kept
            self._write_begun()
            return True
        first = self.about.first
        if not full and history.done:
            days = [history.done[-1].started, today]
            with legible(self.folder.path):
                units = self.folder.scan(self.folder.logs["units"])
                newest = units.select(pl.col(wire.CHANGED).max()).collect().item()
            days += [] if newest is None else [newest]
            first = max(first, min(days) - timedelta(days=1))
        self.run = Begun(history.last + 1, first, today, full, self.base, bool(self._lost))
        # A full run names all ids by this row, and any what it keeps, however it ends.
        if full or self._lost or not history.version or history.contents != self.kept:
            self._write_begun()
            self._drop()
        return False

    def append(self, name: str, rows: pl.DataFrame) -> None:
        """Commit rows of a log, after the row that the run begins with."""
        if rows.height:
            self._write_begun()
            self._is_shown = False
            log = self.folder.logs[name]
            log.append(rows, self.about.text)
            self._versions[name] = int(rows["version"].max())  # type: ignore[arg-type]
            _tidy(log)

    def next(self, name: str) -> int:
        """Return the version of the rows that are appended next to a log."""
        return self._versions[name] + 1

    def finish(self) -> None:
        """Write down that the run is done, which sets the next window."""
        done = self.history.done
        # Without changes on the same day nothing is recorded.
        if not self._is_begun and done and done[-1].started == self.run.started:
            return
        self._write_begun()
        self._note(DONE, self.folder.reached())

    def go_on(self) -> None:
        """Let records be appended to the run that is done; `show` writes down how far they are."""
        self._is_begun = True
        # A sync that was killed may have left records that no run shows.
        reached = self.history.done[-1].reached
        self._is_shown = all(
            reached.get(name, 0) == version for name, version, _ in self.folder.reached()
        )

    def show(self) -> None:
        """Write down how far the records are, of the lists that were walked last."""
        if self._is_shown:
            return
        last = self.history.done[-1]
        self.run = self.run._replace(run=last.run, since=last.since, started=last.started)
        self._note(DONE, self.folder.reached())
        self._is_shown = True

    def append_ids(self, name: str, ids: pl.DataFrame, kind: str) -> None:
        """Commit rows of a log that say of ids that they are listed, named or missing."""
        self.append(name, rows_of(name, ids, kind, self.next(name), self.today))

    def standing(self, name: str) -> pl.DataFrame:
        """Return what the log of a collection says of each id, with the digests of contents."""
        with legible(self.folder.path):
            history = self.history
            rows = self.folder.rows(name, [*history.gaps, *self._gaps])
            return versions.standing(rows, history.base.get(name, 0), contents=True)

    def _drop(self) -> None:
        """Drop what is lost or damaged; what is gone is in the row that the run began with."""
        for log, paths in self._lost:
            if paths:
                log.drop(paths)
            else:
                shutil.rmtree(log.path, ignore_errors=True)
            log.reopen()
        self._lost = []

    def _write_begun(self) -> None:
        if self._is_begun:
            return
        self._note(BEGUN, [(name, version, 0) for name, version in self.base.items()], self._gaps)
        self._gaps = []
        self._is_begun = True

    def _note(
        self,
        kind: str,
        reached: Sequence[tuple[str, int, int]],
        lost: Sequence[tuple[str, int, int]] = (),
    ) -> None:
        runs = self.folder.runs
        number = max(self.history.version, self.folder.noted()) + 1
        row = row_of(
            kind, number, self.run, self.today, reached, self.kept,
            None if self.only is None else len(self.only), lost,
            self._least() if kind == DONE else {},
        )  # fmt: skip
        runs.append(row, self.about.text)
        if kind == DONE:
            self.folder.logs["units"].note(number)  # so that a lost commit of the runs is found
        _tidy(runs)
        self.folder.history()  # `Mirror.today` does not look itself

    def _least(self) -> dict[str, int]:
        """Return the least version of each log that counts, but for the content of records."""
        history, least = self.history, {}
        done = history.done[-1].least if history.done else {}
        for name in ("units", *self.kept):
            least[name], base = done.get(name, 0), history.base.get(name, 0)
            # It only grows, and only by what a full run answers.
            if least[name] <= base and base:
                with legible(self.folder.path):
                    least[name] = versions.least(self.folder.scan(self.folder.logs[name]))
        return least


def _tidy(log: Log) -> None:
    """Merge the files of a log where there are many: each slows down every commit a little."""
    if len(log.entries()) >= MANY_FILES:
        log.compact(24)
