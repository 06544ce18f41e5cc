"""What a mirror and a frozen day of it have in common: a register that answers from disk."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, overload

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.methods.contents import Frame, form_lookup
from finstat_kit.client.methods.filings import Given, Year, years_of
from finstat_kit.client.register import Register
from finstat_kit.client.session import Part
from finstat_kit.errors import Interrupted, MirrorError, UsageError
from finstat_kit.frames.financials import assemble as assembling, items as items_of
from finstat_kit.frames.reports import cells as reading
from finstat_kit.mirror import templates
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.describing import citation, described, source
from finstat_kit.mirror.extracting import extract
from finstat_kit.mirror.figures import Figures, Query
from finstat_kit.mirror.filed import filings_of
from finstat_kit.mirror.folder import Folder, checked_path, part
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.sealed import Stamp, stamp
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.forms.form import Form
from finstat_kit.service.http.routes import dated
from finstat_kit.transport.base import InProcess

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNDATED: Final = frozenset(wire.LISTS) - {"units"}  # only records have a day of change
CollectionName = Literal["units", "statements", "reports", "annual_reports"]


class Copied(Register):
    """A register that answers from the directory of a mirror.

    Args:
        path: The directory.
        day: The state of the last sync completed by that day; None is the newest.
    """

    _since: date | None = None

    def __init__(self, path: str | Path, day: date | None = None) -> None:
        self._given = checked_path(path)
        self.path = self._given.absolute()  # where it was meant, wherever the process goes
        self._day = day
        self._held = Held(self.path)
        self._folder = Folder(self.path)
        self._answers = Answers(self._folder, self._held, day)
        super().__init__("mirror:", tries=1, transport=InProcess(self._answers.reply))
        self._session.copy = _Door(self)
        self._session.today = self._answers.today  # refreshes first: the newest sync answers

    def __repr__(self) -> str:
        return described(self._given, self._folder.known, self.since, self._held.known, self._day)

    @property
    def invented(self) -> bool | None:
        """Whether the copied data are invented; None before the first sync."""
        about = self._folder.known or self._folder.about
        return None if about is None else about.invented

    @property
    def since(self) -> date | None:
        """The first day of change of a partial copy; None for a copy of the whole register."""
        about = self._folder.known
        return about.since if about else part(self._since)

    @property
    def today(self) -> date:
        """The day on which the last complete sync started, as last read from disk.

        Opening a mirror, `sync` and every reading method refresh it; the property itself reads
        from disk only as long as no complete sync is known.

        Raises:
            MirrorError: No sync is complete.
        """
        completed = self._held.known
        if completed is None or not completed.height:
            completed = self._answers.complete()
        day: date = self._answers.by_its_day(completed)["started"][-1]
        return day

    def snapshot(self, collection: CollectionName = "units") -> pl.LazyFrame:
        """Return the newest version of all rows of a collection, with removed rows marked.

        Args:
            collection: ``"units"``, ``"statements"``, ``"reports"`` or ``"annual_reports"``.

        Returns:
            A LazyFrame, one row per id, in no guaranteed order; see `Mirror.snapshot`.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: The collection does not exist.
        """
        arguments.one_of("collection", collection, tuple(wire.LISTS))
        self._answers.complete()
        return self._answers.snapshot(collection)

    def extract(
        self, path: str | Path, ids: int | Iterable[int] | pl.Series | pl.DataFrame
    ) -> Copied:
        """Write a small mirror of some units, for a repository or a colleague.

        It holds the newest version of each unit, the codelists, and where the data come from. It
        never stands for the whole register: `count`, `ids`, `pages` and `scan` are refused;
        records are read by their ids, or all by `snapshot`. It cannot be synced.

        Args:
            path: The directory to create; the name must be free.
            ids: Ids of units: an id, a list or Series of ids, or a frame with a column ``id``.

        Returns:
            The extract, as a register.

        Raises:
            UsageError: Something exists at *path*, its folder does not, no ids are given, or
                records of their filings are not held yet.
            NotFound: The mirror has no record of some ids.
            MirrorError: No sync is complete yet, or the disk cannot be written.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> mirror = fk.Mirror(folder + "/ruz", register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> small = mirror.extract(folder + "/small", mirror.units.ids(limit=3))
            >>> small.cite(lang="en")
            'Invented data of a finstat_kit sample, extract (units: 3), copied as of 2026-06-30.'
        """
        target = checked_path(path)
        extract(self._folder, self._held, self._answers, target, arguments.ids(ids))
        return self._at(target)

    @overload
    def cells(
        self, reports: None = None, *, labels: bool = False, blanks: bool = False
    ) -> pl.LazyFrame: ...
    @overload
    def cells(self, reports: Frame, *, labels: bool = False, blanks: bool = False) -> Frame: ...
    def cells(
        self, reports: Frame | None = None, *, labels: bool = False, blanks: bool = False
    ) -> Frame | pl.LazyFrame:
        """Read reports into tidy cells: some, as `fk.cells` does, or all that are held.

        Args:
            reports: Records, as `reports.get` returns them; None is all reports held.
            labels: Add the captions of the rows.
            blanks: Give a row to blank cells too; only with *reports*.

        Returns:
            The columns of `fk.cells`; without *reports* a LazyFrame in no guaranteed order, whose
            filters on ``template``, ``table``, ``row`` and ``column`` reach the files: they lie
            sorted so. A report that a list has named since it was fetched is left out.

        Raises:
            UsageError: The mirror keeps no reports, or *blanks* without *reports*.
            MirrorError: No sync is complete yet, or cells are lost.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> import polars as pl
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), contents=True, register=fk.sample(50))
            >>> report = mirror.sync()
            >>> assets = mirror.cells().filter(template=687, table=0, row=0, period="current")
            >>> assets.select(pl.len()).collect().item() > 10
            True
        """
        if reports is not None:
            return super().cells(reports, labels=labels, blanks=blanks)
        if blanks:
            raise UsageError(
                "needs reports: blank cells are not stored", argument="blanks", value=True
            )
        self._answers.complete()
        schema = reading.schema_of_cells(labels=labels)
        return self._answers.cells(schema, form_lookup(self._session))

    @overload
    def financials(
        self,
        units: None = None,
        year: Year = None,
        *,
        ico: None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        items: str | Sequence[str] | None = None,
        dry_run: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.LazyFrame: ...
    @overload
    def financials(
        self,
        units: Given = None,
        year: Year = None,
        *,
        ico: str | None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        items: str | Sequence[str] | None = None,
        dry_run: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame: ...
    def financials(
        self,
        units: Given = None,
        year: Year = None,
        *,
        ico: str | None = None,
        consolidated: bool = False,
        from_previous: bool = False,
        items: str | Sequence[str] | None = None,
        dry_run: bool = False,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame | pl.LazyFrame:
        """Read the figures of units: of some, as `fk.financials` does, or of all that are listed.

        Args:
            units: Records or ids of units; None, without *ico*, is all units of the mirror, or
                those whose contents alone it keeps (``only=``).
            year: Year in which the period ends: one, several, or None for all.
            ico: In the place of *units*: all units that share this IČO.
            consolidated: The consolidated statements, in the place of the individual ones.
            from_previous: Add rows for the year before; see `fk.financials`.
            items: The items wanted, one or several; None is all.
            dry_run: Return how many requests it takes: none.
            max_requests: Of no effect: no request is sent.
            progress: Of no effect.

        Returns:
            The columns of `fk.financials`. Without *units* and *ico* a LazyFrame, by ascending id
            of the unit: filters on units, filings and ``template`` narrow the records and cells
            that are read, and of the items only the cells of those that the query uses. ``reason``
            needs all items, ``sums_failing`` all cells: leave them out where they are not needed.
            A filing whose statement or reports are not held has the reason ``not_held``.

        Raises:
            UsageError: Both *units* and *ico*, or the mirror keeps statements without reports.
            MirrorError: No sync is complete yet, or something is lost.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> import polars as pl
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), contents=True, register=fk.sample(50))
            >>> report = mirror.sync()
            >>> money = mirror.financials(year=2020).filter(template=687)
            >>> money.select(pl.col("equity", "net_profit").median()).collect().rows()
            [(24987.0, 123.0)]
        """
        if units is not None or ico is not None:
            return super().financials(
                units, year, ico=ico, consolidated=consolidated, from_previous=from_previous,
                items=items, dry_run=dry_run, max_requests=max_requests, progress=progress,
            )  # fmt: skip
        self._answers.complete()
        query = Query(years_of(year), consolidated, from_previous)
        figures = Figures(self._answers, form_lookup(self._session)).lazy(query)
        return figures.select(assembling.schema(items_of.chosen(items)).names())

    def serve(
        self, *, port: int = 0, host: str = "127.0.0.1"
    ) -> contextlib.AbstractContextManager[str]:
        """Answer at a URL as long as a ``with`` lasts; needs the extra ``server``.

        Lists, codelists and the records of units are answered. Records of the other collections
        are refused with HTTP 400, also where the mirror keeps them: read these from its directory.

        Args:
            port: Port to listen on; 0 takes a free one.
            host: Address to listen on; loopback unless another is given.

        Returns:
            A context manager that gives the base URL.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: The port is taken, uvicorn is not installed, or this is an extract.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> with mirror.serve() as url, fk.using(url):
            ...     fk.units.count()
            1000
        """
        port = arguments.whole("port", port, 0, 65_535)
        if self._answers.extracted():
            raise UsageError(
                "an extract is not served: its lists would be taken for the whole register's",
                cure="serve the mirror it was taken from",
            )
        marks = dated(self._answers.today())
        if mark := self._folder.begun().origin.invented:
            marks = marks | {wire.INVENTED: mark}
        from finstat_kit.service.http.server import served

        return served(self._answers.reply, host=host, port=port, marks=marks)

    def _at(self, path: Path) -> Copied:
        """Return an extract of this register, at its path."""
        raise NotImplementedError

    def _source_name(self, lang: Lang) -> str:
        return source(self._folder.begun(), self.today, lang)

    def _citation(self, lang: Lang) -> str:
        return citation(self._folder.begun(), self.today, lang)


class _Door:
    """What a mirror gives instead of requests; see `Copy`."""

    def __init__(self, copied: Copied) -> None:
        self._copied = weakref.proxy(copied)
        self._answers: Answers = copied._answers
        self._codelists: dict[str, tuple[tuple[Path, Stamp | None], pl.DataFrame]] = {}

    def part(self) -> Part:
        return Part(self._answers.since(), self._answers.extracted(), _UNDATED)

    def records(self, name: str, ids: pl.Series) -> pl.LazyFrame:
        records = self._answers.records(name, ids)
        assert records is not None
        return records

    def all_records(self, name: str) -> pl.LazyFrame | None:
        if name != "units" and not self._answers.keeps(name):
            return None
        return self._answers.records(name, None)

    def why_missing(self, name: str, ids: pl.Series) -> str:
        text = ""
        if name != "units":
            unread = ids.filter(ids.is_in(self._answers.unread(name).implode()))
            if unread.len():
                text = (
                    f"; {unread.len():,} are unreadable: {unread.head(5).to_list()}, each sync() "
                    "requests them again"
                )
        if self._answers.extracted():
            return text + "; this mirror is an extract of some units, the register may have them"
        if (since := self._answers.since()) is not None:
            text += (
                "; ids without a record are not in this mirror (it holds changes since "
                f"{since}), they may be in the register"
            )
        return text

    def codelist(self, name: str, *, refresh: bool) -> pl.DataFrame:
        """Return a codelist as the newest sync left it, which may be another process's."""
        file = self._answers.codelists()
        now = file, stamp(file)
        known = self._codelists.get(name)
        if known is None or known[0] != now or refresh:
            request = requests.codelist(wire.CODELISTS[name])
            fresh = self._copied._session.exchange.get(request)
            known = self._codelists[name] = now, fresh
        return known[1]

    def form(self, template: int) -> Form | None:
        """Return a form as the kept reports brought it."""
        folder, held = self._copied._folder, self._copied._held
        if not folder.templates.exists():
            held.refresh_records()
            if held.used_templates():
                raise MirrorError(f"{folder.templates} {templates.LOST}")
        return templates.form_of(folder.templates, template)

    def filings(
        self, units: pl.DataFrame, years: Sequence[int] | None, *, consolidated: bool
    ) -> pl.DataFrame:
        ends = Query(years, consolidated, from_previous=False).ends()
        return filings_of(self._answers, units, years, ends, consolidated=consolidated)

    def figures(
        self,
        units: pl.DataFrame,
        years: Sequence[int] | None,
        *,
        consolidated: bool,
        from_previous: bool,
    ) -> pl.DataFrame:
        query = Query(years, consolidated, from_previous)
        done: list[pl.DataFrame] = []
        try:
            for frame in Figures(self._answers, form_lookup(self._copied._session)).of(
                units, query
            ):
                done.append(frame)  # noqa: PERF402  (they are kept where it is interrupted)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(
                "interrupted while figures were read; .partial holds the rows before",
                partial=pl.concat(done) if done else None,
            ) from interrupt
        return pl.concat(done)
