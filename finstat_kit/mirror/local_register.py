"""A register that answers from the directory of a mirror: the newest state, or that of a day."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import LATEST, Lang, Since, Years
from finstat_kit.client.collections.fetching import not_found, scan_by_ids
from finstat_kit.client.collections.listing import day_of
from finstat_kit.client.methods.financials import Given, Year, wanted, warn_of_years
from finstat_kit.client.register import Register
from finstat_kit.client.source import ANY, Allowance, Get, Source, Wanted
from finstat_kit.errors import MirrorError, UsageError, invalid
from finstat_kit.frames.financials import assemble, items as items_of
from finstat_kit.frames.financials.choice import listed_reports, report_ids
from finstat_kit.frames.reports import cells as reading
from finstat_kit.frames.reports.cells import layout_of
from finstat_kit.mirror import extract as extracting, words
from finstat_kit.mirror.figures import Figures, Query as Rows, filings_of
from finstat_kit.mirror.state import State, States
from finstat_kit.mirror.storage.cells import joined
from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.folder import Folder
from finstat_kit.mirror.storage.logs import LOGS
from finstat_kit.mirror.storage.rows import MISSING, is_among
from finstat_kit.protocol import wire
from finstat_kit.protocol.forms import Form, shipped
from finstat_kit.protocol.records import KINDS, UNITS as UNIT_FIELDS
from finstat_kit.protocol.requests import Page, Query
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess

if TYPE_CHECKING:
    from collections.abc import Iterable


LogName = Literal[
    "units", "statements", "reports", "annual_reports", "cells", "codelists", "templates"
]
CollectionName = Literal["units", "statements", "reports", "annual_reports"]


class LocalRegister(Register):
    """A register that answers from the directory of a mirror.

    Args:
        path: The directory.
        day: The state of the last sync completed by that day; None is the newest.
    """

    def __init__(self, path: str | Path, day: date | None = None) -> None:
        self._given = checked_path(path)
        self.path = self._given.absolute()  # where it was meant, wherever the process goes
        self._day = day
        self._folder = Folder(self.path)
        self._states = States(self._folder)
        super().__init__("mirror:", tries=1, transport=InProcess(self._answer))
        self._session.today = lambda: self._state().today  # of the newest sync
        self._session.offline = True
        # Properties and the repr look no more; what is damaged is an error where it is read.
        self._is_damaged = False
        try:
            self._folder.newest()
        except MirrorError:
            self._is_damaged = True

    def _answering(self) -> Source:
        return _MirrorSource(self)

    def __repr__(self) -> str:
        run = self._folder.last_read
        if run is None and self._is_damaged:
            return f"<Mirror {self._given}, damaged: see verify()>"
        point = None
        with contextlib.suppress(UsageError):
            point = run.on(self._day) if run and run.points else None
        return words.repr_of_mirror(self._given, run, point, self._day)

    @property
    def invented(self) -> bool | None:
        """Whether the copied data are invented; None before the first sync."""
        run = self._folder.last_read or self._folder.newest()
        return None if run is None else run.settings.invented is not None

    @property
    def today(self) -> date:
        """The day on which the last complete sync started, as last read from disk.

        Opening a mirror, `sync` and every reading method refresh it; the property itself reads
        from disk only as long as no complete sync is known.

        Raises:
            MirrorError: No sync is complete.
        """
        run = self._folder.last_read
        return (run if run and run.points else self._folder.complete()).on(self._day).started

    def files(self, name: LogName, root: str | None = None) -> list[str]:
        """Return the Parquet files of the newest point, for other engines.

        Args:
            name: ``"units"``, ``"statements"``, ``"reports"``, ``"annual_reports"``, ``"cells"``,
                ``"codelists"`` or ``"templates"``.
            root: Where a copy of the directory is, such as ``"s3://bucket/ruz"``; None is the
                directory itself.

        Returns:
            Paths, none where there are no rows. They hold all versions; what their columns mean is
            on the page about mirrors.

        Raises:
            MirrorError: No sync is complete yet, or rows that count are lost.
            UsageError: There are no such rows, or this is a former day, whose rows lie in the same
                files as later ones.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> import polars as pl
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> pl.scan_parquet(mirror.files("units")).filter(kind="record").collect().height
            100
        """
        arguments.one_of("name", name, tuple(LOGS))
        if self._day is not None:
            raise UsageError(
                f"a mirror as of {self._day} has no files of its own",
                cure="filter its snapshot() or scan_cells(), or take files of the mirror itself",
            )
        where = self.path.as_posix() if root is None else root.rstrip("/")
        return [f"{where}/{file.path}" for file in self._state().files(name)]

    def snapshot(self, collection: CollectionName = "units") -> pl.LazyFrame:
        """Return the newest version of all rows of a collection, with removed rows marked.

        ``as_of(day).snapshot()`` is the state of the last sync completed by a day.

        Args:
            collection: ``"units"``, ``"statements"``, ``"reports"`` or ``"annual_reports"``.

        Returns:
            A LazyFrame, one row per id, in no guaranteed order: for units the columns of `get`,
            for a collection kept with its records too, but for the ``tabulky`` of reports, which
            `reports.cells` has; ids that are listed but not held are absent then. For one that is
            not kept ``id`` (Int64) alone, with a row per listed id. Then ``gone`` (String:
            null, ``deleted``, ``non-public``, or ``missing`` from the register's list) and
            ``seen`` (Date: the register's day when this version was fetched). Syncs do not
            change it for a day; then a merge may have deleted its files.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: The collection does not exist.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> mirror.snapshot().select("id").collect().height
            100
        """
        arguments.one_of("collection", collection, tuple(wire.LISTS))
        state, name = self._state(), collection
        if name == "units":
            return state.newest(name).select(*UNIT_FIELDS, "gone", "seen")
        stands = state.standing(name)
        ids = pl.LazyFrame({"id": stands.ids, "is_listed": stands.is_listed})
        gone = pl.when(~pl.col("is_listed")).then(pl.lit(MISSING))
        if not state.keeps(name):
            seen = state.scan(name).sort("version").group_by("id").agg(pl.col("seen").last())
            return ids.select("id", gone=gone).join(seen, on="id")
        return (
            state.newest(name)
            .join(ids.filter(~pl.col("is_listed")).select("id", lost=gone), on="id", how="left")
            .with_columns(gone=pl.coalesce("lost", "gone"))
            .select(*(n for n in KINDS[name].schema if n != wire.TABLES), "gone", "seen")
        )

    def extract(
        self, path: str | Path, ids: int | Iterable[int] | pl.Series | pl.DataFrame
    ) -> LocalRegister:
        """Copy some units into a mirror of these units, for a repository or a colleague.

        It holds the newest version of each unit, of its filings where those are kept, and the
        codelists. It is a mirror of given units, as ``fk.Mirror(path, units=ids)`` makes one of the
        register, and can be synced.

        Args:
            path: The directory to create; the name must be free.
            ids: Ids of units: an id, a list or Series of ids, or a frame with a column ``id``.

        Returns:
            The mirror at *path*.

        Raises:
            UsageError: Something exists at *path*, its folder does not, no ids are given, or
                records of their filings are not held yet.
            NotFound: The mirror has no record of some ids; NotHeld where it is of given units.
            MirrorError: No sync is complete yet, or the disk cannot be written.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> mirror = fk.Mirror(folder + "/ruz", register=fk.sample(100))
            >>> report = mirror.sync()
            >>> small = mirror.extract(folder + "/small", mirror.units.ids(limit=3))
            >>> small.cite(lang="en")
            'Invented data of a finstat_kit sample, given units: 3, copied as of 2026-06-30.'
        """
        target = checked_path(path)
        state = self._state()
        extracting.extract(state, target, given_frames.ids(ids))
        return self._at(target)

    def scan_cells(self, *, labels: bool = False) -> pl.LazyFrame:
        """Return the cells of all reports that are held, tidy, as `reports.cells` does.

        Args:
            labels: Add the captions of the rows.

        Returns:
            The columns of `reports.cells`, in no guaranteed order; filters on ``template``,
            ``table``, ``row`` and ``column`` reach the files: they lie sorted so. A report that a
            list has named since it was fetched is left out; so are blank cells, which are not
            stored.

        Raises:
            UsageError: The mirror keeps no reports.
            MirrorError: No sync is complete yet, or cells are lost.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> import polars as pl
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), contents=True, register=fk.sample(10))
            >>> report = mirror.sync()
            >>> assets = mirror.scan_cells().filter(template=687, table=0, row=0, period="current")
            >>> assets.select(pl.len()).collect().item() > 10
            True
        """
        state = self._state()
        state.see_kept("reports")
        schema = reading.schema_of_cells(labels=labels)
        with legible(self.path):
            templates = state.newest("reports").select(pl.col("idSablony").unique().drop_nulls())
            used = templates.collect(engine="streaming")["idSablony"].sort()
        form_of = self._source.shipped_first
        known = {template: form for template in used if (form := form_of(template)) is not None}
        placed = state.current_cells().filter(pl.col("row").is_not_null())
        key = ["template", "table", "row", "column"]  # filters on it reach the files
        layout = layout_of(known, schema).lazy()
        return placed.join(layout, on=key, how="left").select(schema.names())

    def scan_financials(
        self,
        year: Year = None,
        *,
        consolidated: bool = False,
        from_previous: bool = False,
        filed_until: str | date | None = None,
        items: str | Sequence[str] | None = None,
        family: str | Sequence[str] | None = None,
        activity: items_of.Activity = "total",
    ) -> pl.LazyFrame:
        """Return the figures of all units of the mirror, as `fk.financials` does of some.

        Args:
            year: As of `fk.financials`: one, several, ``"latest"``, or None for all. Filters on
                filings choose among the latest years, and never another year instead.
            consolidated: The consolidated statements, in the place of the individual ones.
            from_previous: Add rows for the year before; see `fk.financials`.
            filed_until: As known on this day; see `fk.filings`.
            items: The items wanted, one or several; None is all.
            family: Those of a family, or of several; see `fk.financials`.
            activity: Column of costs and revenue that is read; see `fk.financials`.

        Returns:
            The columns of `fk.financials`, by ascending id of the unit: filters on units and
            filings narrow the records and cells that are read, and of the items only the cells of
            those that the query uses. ``sums_failing`` needs all cells: leave it out where
            it is not needed. A filing whose statement or reports are not held has the reason
            ``not_held``.

        Raises:
            UsageError: The mirror keeps statements without reports.
            MirrorError: No sync is complete yet, or something is lost.

        Warns:
            RegisterWarning: A year lies after the register's day.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> import polars as pl
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), contents=True, register=fk.sample(20))
            >>> report = mirror.sync()
            >>> money = mirror.scan_financials(2020).filter(template=687)
            >>> money.select(pl.col("equity", "net_profit").median()).collect().rows()
            [(52759.0, 2788.0)]
        """
        figures_wanted = wanted(
            year, consolidated=consolidated, from_previous=from_previous, filed_until=filed_until,
            items=items, family=family, activity=activity,
        )  # fmt: skip
        warn_of_years(figures_wanted.years, self.today)
        figures = self._figures(self._state()).lazy(Rows(figures_wanted))
        return figures.select(assemble.schema(figures_wanted.items).names())

    def financials(
        self,
        units: Given,
        year: Year = None,
        **options: Any,  # noqa: ANN401
    ) -> pl.DataFrame:
        """Read the figures of units; see `fk.financials`."""
        with self._states.held(self._day):
            return super().financials(units, year, **options)

    def _at(self, path: Path) -> LocalRegister:
        """Return an extract of this register, at its path."""
        raise NotImplementedError

    def _state(self) -> State:
        return self._states.on(self._day)

    @property
    def _use_arguments(self) -> str:
        return repr(f"mirror:{self.path}")

    def _answer(self, method: str, path: str, query: str) -> Reply:
        raise words.not_there(path)

    def _figures(self, state: State) -> Figures:
        return Figures(state, self._source.shipped_first, self._source.register_first)

    def _source_name(self, lang: Lang) -> str:
        return words.source_text(self._folder.complete(), self.today, lang)

    def _citation(self, lang: Lang) -> str:
        return words.citation(self._folder.complete(), self.today, lang)

    def _records_of(self, name: str, ids: pl.Series) -> pl.DataFrame:
        """Return the records of some ids that the register lists.

        Raises:
            UsageError: The mirror keeps no such records, or lacks one of them.
        """
        state = self._state()
        state.see_kept(name)
        rows, stands = state.records(name, ids)
        if name == "units":
            listed = rows.filter(pl.col("gone").ne_missing(MISSING))
            return listed.select(UNIT_FIELDS.names())
        state.see_held(name, stands.absent, ids.len())
        records = rows.filter(is_among(rows["id"], stands.held))
        if name == "reports":
            with legible(self.path):
                cells = state.scan("cells", records["id"]).collect()
            records = joined(records, cells)
        return records.select(KINDS[name].schema.names())


class _MirrorSource(Source):
    """What answers for a mirror: its directory."""

    at_hand = True

    def __init__(self, register: LocalRegister) -> None:
        super().__init__(register._session)
        self._register = register

    @property
    def given(self) -> int | None:
        units = self._register._state().settings.units
        return None if units is None else len(units)

    @property
    def reason_of_nobody(self) -> str:
        return "no_such_unit" if self.given is None else "not_held"

    def listed(self, query: Query) -> Query:
        name, since = query.name, query.changed_since
        if self.given is not None and (name != "units" or since != wire.BEGINNING):
            changed = "" if since == wire.BEGINNING else f" changed since {since}"
            raise words.not_listed(self.given, f"has no list of {name}{changed}")
        _refuse_day(name, since)
        return query

    def why_missing(self, name: str, ids: pl.Series) -> str:
        state = self._register._state()
        text = ""
        if name != "units" and state.keeps(name):
            unread = ids.filter(ids.is_in(state.standing(name).unread.implode()))
            if unread.len():
                text = (
                    f"; {unread.len():,} are unreadable: {unread.head(5).to_list()}, each sync() "
                    "requests them again"
                )
        if (units := state.settings.units) is not None:
            text += f"; this mirror is of {len(units):,} given units, the register may have them"
        return text

    def names(self) -> pl.DataFrame:
        return self._register._state().names()

    def page(
        self, query: Query, seen: int | None = None, stop: threading.Event | None = None
    ) -> Page:
        page = self._register._state().lists.page(query)
        if self.given is not None and query.filters and page.ids.is_empty():
            filters = " and ".join(f"{name} {value}" for name, value in query.filters.items())
            raise words.not_listed(self.given, f"has no unit with {filters}")
        return page

    def count(self, query: Query, stop: threading.Event | None = None) -> int:
        if self.given is not None:
            raise words.not_listed(self.given, "does not know how many units the register has")
        return self._register._state().lists.count(query)

    def numbered(
        self, numbers: Sequence[tuple[str, str]], progress: bool | None
    ) -> list[tuple[str, str, int]]:
        return self._register._state().lists.numbered(numbers)

    def scan(self, name: str, changed_since: Since, get: Get) -> pl.LazyFrame:
        state = self._register._state()
        since = day_of(self, changed_since)
        _refuse_day(name, since)
        stands = state.standing(name)
        # The tables of reports are put together page by page.
        if name == "reports" or (name != "units" and stands.held.len() < stands.listed.len()):
            # An unreadable record hides no other.
            return scan_by_ids(stands.listed.to_frame("id"), name, get, "keep")
        rows = state.newest(name)
        if name == "units":
            rows = rows.filter(pl.col("gone").ne_missing(MISSING))
        else:
            rows = rows.join(stands.listed.to_frame().lazy(), on="id", how="semi")
        records = rows.select(KINDS[name].schema.names())
        if changed_since is not None:
            records = records.filter(pl.col(wire.CHANGED) >= since)
        return records.sort("id")

    def filings(self, units: pl.DataFrame, wanted: Wanted, progress: bool | None) -> pl.DataFrame:
        state, rows = self._register._state(), Rows(wanted)
        if wanted.years == LATEST:
            return self._register._figures(state).latest(units, rows).filings()
        return filings_of(state, units, rows)

    def figures(self, units: pl.DataFrame, wanted: Wanted, progress: bool | None) -> pl.DataFrame:
        figures = self._register._figures(self._register._state())
        columns = assemble.schema(wanted.items).names()
        return pl.concat(frame.select(columns) for frame in figures.of(units, Rows(wanted)))

    def figures_and_reports(
        self, unit: pl.DataFrame, filed: pl.DataFrame | None, years: Years
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        if filed is None:
            filed = self.filings(unit, Wanted(years), None)
        figures = self.figures(unit, Wanted(years), None)
        ids = report_ids(filed.join(figures, on="statement_id", how="semi"))
        wanted = ids["report_id"].unique(maintain_order=True)
        return figures, listed_reports(ids, self.records("reports", wanted, null_rows=True))

    def codelist(self, name: str, *, refresh: bool = False) -> pl.DataFrame:
        """Return a codelist as the newest sync left it, which may be another process's."""
        entries = self._register._state().codelists[name]
        return entries.clone() if wire.CODELISTS[name].located else entries.drop("parent_code")

    def form(self, template: int, *, refresh: bool = False) -> Form | None:
        state = self._register._state()
        form = state.form(template) or shipped(template)
        # That the register has none of a report's template is known where the report is.
        if form is None and not state.uses(template):
            raise words.not_there(f"template {template}")
        return form

    def forms(self, *, refresh: bool = False) -> list[tuple[Form, bool]]:
        raise words.not_there("the list of templates")

    def records(
        self, name: str, ids: pl.Series, allowance: Allowance = ANY, *, null_rows: bool
    ) -> pl.DataFrame:
        rows = self._register._records_of(name, ids)
        missing = ids.filter(~ids.is_in(rows["id"].implode()))
        frame = ids.alias("id").to_frame().join(rows, on="id", how="left", maintain_order="left")
        if missing.len() and not null_rows:
            state = self._register._state()
            others = missing.filter(~is_among(missing, pl.Series(state.standing(name).ids)))
            state.see_given(name, others, ids.len())
            partial = frame.filter(~frame["id"].is_in(missing.implode()))
            error = not_found(missing.to_list(), ids.len(), partial)
            error.message += self.why_missing(name, missing)
            raise error
        return frame


def _refuse_day(name: str, since: date) -> None:
    """Refuse a day of change of a collection whose days a mirror does not know."""
    if since != wire.BEGINNING and name != "units":
        raise UsageError(
            f"a mirror does not know when {name} changed",
            cure="leave out changed_since, or use the register",
        )


class Frozen(LocalRegister):
    """The state of a mirror after the last sync completed by a day; made by `Mirror.as_of`.

    Args:
        path: The directory of the mirror.
        day: The day.
        lang: As of `Register`.
    """

    def __init__(self, path: str | Path, day: date, *, lang: Lang | None = None) -> None:
        super().__init__(path, day)
        self.lang = self._language(lang)

    @property
    def _use_arguments(self) -> str:
        return repr(f"mirror:{self.path}@{self._day}")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by path and day."""
        return partial(type(self), lang=self.lang), (self.path, self._day)

    def sync(self, **options: object) -> pl.DataFrame:
        """Refuse: a frozen day stays as it is.

        Raises:
            UsageError: Always; the text has the line that syncs the mirror.
        """
        raise UsageError(
            f"a mirror as of {self._day} is read-only",
            cure=f"sync the mirror itself: fk.Mirror({str(self._given)!r}).sync()",
        )

    def _at(self, path: Path) -> LocalRegister:
        # The extract's only sync is the one that this day is the state of.
        return Frozen(path, self._state().point.day, lang=self.lang)


def checked_path(path: object) -> Path:
    """Return the directory that a path names.

    Raises:
        UsageError: It names none, or one that cannot be a folder.
    """
    folder = arguments.path("path", path, "ruz")
    # A `Path` keeps one slash of two.
    arguments.refuse_url("path", path if isinstance(path, str) else folder)
    whole = folder.absolute().as_posix()
    fault = ""
    if whole.encode(errors="replace").decode() != whole:
        fault = f": {whole!r} is no text, and polars reads no files in it"
    try:
        for each in (folder, *folder.parents):
            if each.exists() and not each.is_dir():
                fault = f": {str(each)!r} is a file"
    except OSError as error:
        fault = f"cannot be a folder: {error.strerror}"
    if fault:
        raise invalid("path", str(path), fault, give="a folder of another name")
    return folder
