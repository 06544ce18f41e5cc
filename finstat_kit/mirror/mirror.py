"""The mirror: a directory kept in step with a register, to be used instead of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang, Span
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.client.sample import Sample
from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.given_units import given_units
from finstat_kit.mirror.changes import changes_in
from finstat_kit.mirror.fetch import Budget
from finstat_kit.mirror.local_register import Frozen, LocalRegister
from finstat_kit.mirror.news import news_since, point_since
from finstat_kit.mirror.published.compare import compared
from finstat_kit.mirror.published.place import OnDisk, published
from finstat_kit.mirror.published.pull import Pull
from finstat_kit.mirror.storage.files import UnreadableError, legible
from finstat_kit.mirror.storage.folder import path_of
from finstat_kit.mirror.storage.logs import CONTENTS
from finstat_kit.mirror.storage.rows import UNREADABLE, newest
from finstat_kit.mirror.sync import Sync, see_given
from finstat_kit.protocol import wire

HOLDINGS: Final = pl.Schema(
    {
        "collection": pl.String(),
        "listed": pl.Int64(),
        "held": pl.Int64(),
        "from_id": pl.Int64(),
        "lacking": pl.Int64(),
        "seconds": pl.Float64(),
        "pulled": pl.String(),
    }
)
UNREAD: Final = pl.Schema(
    {"collection": pl.String(), "id": pl.Int64(), "problem": pl.String(), "seen": pl.Date()}
)
VERIFIED: Final = pl.Schema(
    {"file": pl.String(), "rows": pl.Int64(), "damaged": pl.Int64(), "meaning": pl.String()}
)


class Mirror(LocalRegister):
    """A copy of a register on disk, kept in step with it.

    It is a register too: after `fk.use(mirror)` all names read from disk. A directory belongs to
    one register, is written by one process at a time and read by any number.

    Only units have known days of change: for the other collections a mirror accepts no day.

    Args:
        path: The directory on a local disk; created by the first `sync`.
        units: Keep these units alone: ids, IČO, several of either, or a frame of them; see
            `fk.financials`. Later, others are added and none is removed; None is the units that
            the mirror has, in a new one all.
        contents: Keep the records of these collections too: True for all, or names among
            ``"statements"``, ``"reports"`` and ``"annual_reports"``; also later, on a mirror
            without. What was once kept stays so.
        register: The register to copy: a URL, `fk.LIVE`, a `Register` or sample; None is the
            current one at each `sync`.
        lang: As of `Register`.

    Raises:
        UsageError: The path is invalid, *contents* names no collections, *units* names no units, or
            the mirror is of all.

    Example:
        >>> import finstat_kit as fk, tempfile
        >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
        >>> mirror.sync().select("list", "new").rows()[:2]
        [('units', 98), ('statements', 895)]
        >>> with fk.using(mirror):
        ...     fk.units.count(changed_since="2026-06-01") == fk.sample(100).units.count(
        ...         changed_since="2026-06-01")
        True
    """

    def __init__(
        self,
        path: str | Path,
        *,
        units: int
        | str
        | Iterable[int | str]
        | pl.Series
        | pl.DataFrame
        | pl.LazyFrame
        | None = None,
        contents: bool | str | Iterable[str] = False,
        register: Register | str | None = None,
        lang: Lang | None = None,
    ) -> None:
        self._copied = register
        self._contents = as_collections(contents)
        self._units = None if units is None else given_units(units)
        if self._units is not None and self._units.is_empty():
            raise UsageError("names no units", argument="units", cure="leave it out for all units")
        super().__init__(path)
        run = self._folder.last_read
        see_given(self.path, None if run is None else run.settings, self._units, self._contents)
        self.lang = self._language(lang)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by its path, with the sample or the name of the register that it copies.

        A register that sends is left out: it is opened where it is to send.
        """
        copied = self._copied if isinstance(self._copied, str | Sample) else None
        keys = None
        if self._units is not None:
            keys = [*self._units["id"].drop_nulls(), *self._units["ico"].drop_nulls()]
        again = partial(type(self), units=keys, contents=self._contents, register=copied)
        return again, (self.path,), {"lang": self.lang}

    def sync(
        self,
        *,
        full: bool = False,
        anew: bool = False,
        max_missing: int | None = None,
        budget: Span | None = None,
        dry_run: bool = False,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Bring the copy in step with the register: first everything, later only changes.

        Lists the ids changed since the day before the last complete sync started, and fetches the
        records of the units among them, over the register's connections at its rate. Each batch is
        committed, small files are merged now and then. After an interruption the next sync resumes
        at the same place and then fetches the changes made meanwhile. An unreadable record is
        requested again in the next syncs and does not delay others. A file that is lost or damaged
        is named by a warning, and the records in it are requested again.

        Of given units their records are requested, and what these name; only lists of changes since
        the last sync are walked. Of more than 2,000 units those are requested again that are listed
        as changed, and each once in 30 days.

        From ``/api/<list>``, ``/api/uctovna-jednotka`` and the codelists.

        Args:
            full: List everything again, mark ids missing from the register's lists, request what is
                unknown, of given units all records, and the templates, and compare every byte with
                its checksum.
            anew: Request everything again, where all runs are lost; what there is moves to
                ``before-1`` in the directory, which no sync deletes.
            max_missing: Maximum number of ids to mark as missing; None is 1 % of a list.
            budget: Stop after this time: ``"2h"``, ``"30min"``, a `timedelta` or seconds; a request
                under way, of other code with the same register too, ends with it, and the next
                sync resumes. None is no limit.
            dry_run: Write nothing; return ``collection``, ``requests`` (Int64) and ``seconds``
                (Float64; null without a rate), as far as they are known before: of new units the
                filings are estimated. Of a mirror of all units the register is asked for counts.
            progress: Show a bar; None shows one for a real host, on a terminal or in a notebook.

        Returns:
            One row per list, one for the codelists, and one per collection of kept records:
            ``list``, ``window`` (Date: first day of the requested changes), ``new``, ``changed``,
            ``gone``, ``unreadable`` (all records still unread), ``requests`` (Int64), ``seconds``
            (Float64).

        Raises:
            UsageError: The current register is not the mirror's, or is a mirror itself.
            MirrorError: Another process is writing, or the disk cannot be written.
            RegisterError: A request failed; the next sync resumes from there.
        """
        if max_missing is not None:
            max_missing = arguments.whole("max_missing", max_missing, 0, wire.MAX_ID)
        seconds = None if budget is None else arguments.span("budget", budget)
        register = self._origin()

        sync = Sync(
            self._folder, register, self._contents, self._units, Budget(register, seconds),
            max_missing, progress,
        )  # fmt: skip
        if dry_run:
            return sync.plan(full=bool(full), anew=bool(anew))
        with self._folder.writing():
            return sync.go(full=bool(full), anew=bool(anew))

    def pull(
        self,
        url: str | Path,
        *,
        full: bool = False,
        anew: bool = False,
        dry_run: bool = False,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Copy a published mirror: the first time all of it, later only what is new there.

        Each file is compared with its name, the SHA-256 of its bytes; the state here changes at
        once, after the last. What has come before an error is not fetched again. A pull goes
        forward or not at all: what was synced here since, and an older state there, stay apart.
        `sync` goes on from what was pulled, and the next pull is refused then.

        From ``newest.json``, the run that it names, and its files.

        Args:
            url: The address of the published mirror, or a directory.
            full: Compare the bytes of all files here, and fetch those that are damaged.
            anew: Replace what is here, of whatever history; files of equal name are kept.
            dry_run: Return the report, and change nothing.
            progress: Show a bar of bytes; None shows one on a terminal or in a notebook.

        Returns:
            One row per log, and one of the points: ``log``, ``new`` (Int64: rows more than before,
            or points), ``dropped`` (Int64: rows of a sync here that was cut off, or points that
            are not there), ``files`` and ``bytes`` (Int64: fetched), ``day`` (Date: of the newest
            point).

        Raises:
            UsageError: What is there is of another register or history, or is no mirror.
            MirrorError: Another process is writing, or the disk cannot be written or is too small.
            RegisterError: A request failed; the next pull goes on from there.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> source = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = source.sync()
            >>> mirror = fk.Mirror(tempfile.mkdtemp())
            >>> mirror.pull(source.path).select("log", "new", "day").rows()[-1]
            ('points', 1, datetime.date(2026, 6, 30))
            >>> mirror.units.count()
            100
        """
        if self._units is not None:
            raise UsageError(
                ": a pull copies a mirror as it is, and each of its files holds rows of many units",
                argument="units",
                cure="pull into fk.Mirror(path) without it, and extract() these units",
            )
        source = published(url)
        if isinstance(source, OnDisk) and source.folder.resolve() == self.path.resolve():
            raise UsageError(": it is this mirror", argument="url", value=str(url))
        pull = Pull(self._folder, source, bool(full), bool(anew), progress)
        if dry_run:
            return pull.plan()
        with self._folder.writing():
            return pull.go()

    def compare_with(self, register: Register | str, n: int = 300) -> pl.DataFrame:
        """Compare random records with those of a register: whether a copy can be trusted.

        Args:
            register: A URL, `fk.LIVE`, a `Register` or sample.
            n: The number of records of each collection.

        Returns:
            One row per collection whose records are kept: ``collection``; ``compared``, of which
            ``equal``, ``changed`` (other there, where it was changed on the day on which it was
            seen here or later), ``gone`` (no longer there), ``unreadable`` (there) and
            ``differing`` (other without such a change) (Int64); ``ids`` (List of Int64: of the
            differing ones), ``bound`` (Float64: with 95 % confidence, no larger share of all
            records differs; null where none could be compared).

        Raises:
            MirrorError: No sync is complete yet.
            RegisterError: A request failed.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> register = fk.sample(100)
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=register)
            >>> report = mirror.sync()
            >>> mirror.compare_with(register, n=50).select("equal", "differing", "bound").rows()
            [(50, 0, 0.05)]
        """
        n = arguments.whole("n", n, 1, 10_000)
        return compared(self._state(), self._records_of, current.named(register), n)

    def as_of(self, day: str | date) -> Frozen:
        """Return the register as the last sync completed by a day left it, read-only.

        Everything a register answers, it answers with the state of that day, the same on every
        run: ids, counts, records, codelists, citations. ``fk.use("mirror:PATH@DAY")`` and
        ``FINSTAT_KIT_URL=mirror:PATH@DAY`` select it. Another sync on the same day belongs to it.

        Args:
            day: A date or ``"2026-06-30"``, no later than the last complete sync.

        Returns:
            A `Register` with `snapshot` and `extract`; its ``today`` is the day on which
            that sync started.

        Raises:
            UsageError: No sync was complete by then, or none is complete on that day or later.
            MirrorError: No sync is complete yet, or the mirror is damaged.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> register = fk.sample(100)
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=register)
            >>> report = mirror.sync()
            >>> register.set_today("2026-07-01")
            >>> new = register.publish(5)
            >>> report = mirror.sync()
            >>> mirror.units.count(), mirror.as_of("2026-06-30").units.count()
            (105, 100)
        """
        frozen = Frozen(self.path, arguments.day("day", day), lang=self.lang)
        frozen._state()
        return frozen

    def holdings(self) -> pl.DataFrame:
        """List how far the copy is, collection by collection.

        Returns:
            One row per collection whose records are kept: ``collection``, ``listed`` (Int64: ids
            in the register's list), ``held`` (Int64: current records), ``from_id`` (Int64: all
            listed ids from this one up are held; null where none), ``lacking`` (Int64),
            ``seconds`` (Float64: what the lacking ones take at the rate of the register that is
            copied; null without a register or a limit) and ``pulled`` (String: where the mirror
            was pulled from; null where it was not).

        Raises:
            MirrorError: No sync is complete yet.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> mirror.holdings().select("collection", "listed", "held", "lacking").rows()
            [('units', 100, 100, 0)]
        """
        state = self._state()
        pulled = state.run.pulled and state.run.pulled.url
        register = current.named(self._copied) if self._copied is not None else None
        rate = register.rate if register else None
        rows = []
        for name in ("units", *state.point.contents):
            stands = state.standing(name)
            listed, held = stands.listed.len(), stands.held.len()
            lack = pl.Series(stands.ids[stands.is_listed & ~stands.is_held]).max()
            first = stands.held.filter(stands.held > (lack or 0)).min()
            seconds = None if rate is None else (listed - held) / rate
            rows.append((name, listed, held, first, listed - held, seconds, pulled))
        return pl.DataFrame(rows, schema=HOLDINGS, orient="row")

    def unreadable(self) -> pl.DataFrame:
        """List the unreadable records, which the next sync requests again.

        Of the collections beside units, `scan` and ``get(errors="keep")`` give them a row of nulls.

        Returns:
            ``collection`` (String), ``id`` (Int64), ``problem`` (String) and ``seen`` (Date) of the
            first attempt since the id was last listed, by collection and ascending id.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> mirror.unreadable().height
            0
        """
        state = self._state()
        frames = [pl.DataFrame(schema=UNREAD)]
        for name in ("units", *state.point.contents):
            ids = state.standing(name).unread
            with legible(self.path):
                own = (pl.col("kind") == UNREADABLE) & pl.col("id").is_in(ids.implode())
                rows = newest(state.scan(name, ids, names=False).filter(own).collect())
            frames.append(rows.select(pl.lit(name).alias("collection"), "id", "problem", "seen"))
        return pl.concat(frames)

    def changes(self, since: str | date | None = None) -> pl.DataFrame:
        """List the changes between versions of units, one row per field.

        Unlike the register, which keeps only the day of the latest change, this is a true time
        series of the changes observed by syncs after the first complete one. Several changes
        between two syncs count as one.

        Args:
            since: Only changes observed on this day or later.

        Returns:
            ``id`` (Int64), ``field``, ``old``, ``new`` (String; ids of lists joined by blanks),
            ``seen`` (Date: the register's day of the sync), sorted by ``seen`` and ``id``. A unit
            new to the mirror has one row with the field ``id``; one removed or restored has one
            row with the field ``gone``.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: Versions of units that were seen then, or runs of then, are lost.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> register = fk.sample(100)
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=register)
            >>> report = mirror.sync()
            >>> register.set_today("2026-07-01")
            >>> register.delete(register.units.ids(limit=1))
            >>> report = mirror.sync()
            >>> mirror.changes().rows()[0][1:]
            ('gone', None, 'deleted', datetime.date(2026, 7, 1))
        """
        day = wire.BEGINNING if since is None else arguments.day("since", since)
        state = self._state()
        run = state.run
        whole = [run.after(loss) for loss in run.lost if loss.log == "units" and loss.point]
        days = [point.day if point else state.point.day for point in whole]
        days += [lost.last or state.point.day for lost in run.lost_runs]
        if days and day <= max(days):
            raise UsageError(
                f": what was observed up to {max(days)} was lost in part",
                argument="since",
                value=None if since is None else str(day),
                cure=f"give {str(max(days) + timedelta(days=1))!r} or a later day",
            )
        with legible(self.path):
            points = [point.upto.get("units", 0) for point in run.points]
            return changes_in(state.scan("units"), day, points, given=state.is_part)

    @property
    def point(self) -> str:
        """The random id of the last complete sync, as last read from disk; see `news`.

        Unlike its day, it names one state: several syncs of a day have several.

        Raises:
            MirrorError: No sync is complete.
        """
        run = self._folder.last_read
        return (run if run and run.points else self._folder.complete()).newest.id

    def news(self, since: str | date) -> pl.DataFrame:
        """List what is new since a former state: filings of the units, and their records.

        The state now is compared with the former one, whatever came between. A filing is new where
        the record of its unit names it and the former record did not: those of a unit that was
        first fetched since are not. ``finstat-kit news`` prints what is new since it last did.

        Args:
            since: The state as of the end of this day, as of `as_of`, or the `point` of a sync.

        Returns:
            One row per filing or changed record, by ``unit_id``: ``unit_id`` (Int64), ``ico``,
            ``name`` (String); ``what`` (Enum): of filings ``new``, ``corrected`` (what the record
            or a report of it says has changed) or ``gone``,
            of the record of a unit ``changed``; ``fields`` (String: those that changed, joined by
            blanks; ``id`` of a unit first seen, ``gone`` of one removed or restored; without the
            lists of filings and the day of change). Of filings: ``year`` (Int32), ``kind``
            (String), ``consolidated`` (Boolean), ``filed`` (Date); ``total_assets``,
            ``total_assets_before``, ``sales``, ``sales_before`` (Float64: by `fk.financials` of
            this year and the one before, null where another filing is taken); ``statement_id`` or
            ``annual_report_id`` (Int64). What a record that is not held would say is null.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: No sync was complete by then, or what it counted is lost.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> register = fk.sample(100)
            >>> few = register.units.ids(limit=3)
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), units=few, contents=True, register=register)
            >>> report = mirror.sync()
            >>> register.set_today("2026-07-01")
            >>> new = register.file(few["id"][0], year=2025)
            >>> report = mirror.sync()
            >>> mirror.news("2026-06-30").select("what", "year", "filed").rows()
            [('new', 2025, datetime.date(2026, 7, 1))]
        """
        with self._states.held() as state:
            point = point_since(state.run, since)
            return news_since(state.former(point), state, self._figures(state))

    def verify(self) -> pl.DataFrame:
        """Compare every byte of the copy with its checksum.

        Returns:
            One row per file: ``file`` (String, relative path), ``rows``, ``damaged`` (Int64; all
            rows of an unreadable file), ``meaning`` (String, empty for an intact file); damaged
            files first.

        Raises:
            MirrorError: There is no mirror in the directory.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> mirror.verify()["damaged"].sum()
            0
        """
        rows: list[tuple[str, int, int, str]] = []
        run = None
        try:
            run = self._folder.newest() or self._folder.complete()
            if not run.points:
                rows.append(("runs", 0, 0, "no sync is complete: sync() resumes it"))
        except MirrorError as error:
            if not self._folder.exists():
                raise
            rows.append(("runs", 1, 1, str(error)))
        meaning = "it cannot be read; the next sync() or pull() goes on from the one before"
        with contextlib.suppress(UnreadableError):  # of another format: that is said above
            rows += [(path_of(number), 1, 1, meaning) for number in self._folder.damaged()]
        for file in (file for files in run.files.values() for file in files) if run else ():
            fault = file.fault(self.path, whole=True)
            meaning = f"{fault}; {run.cure}" if run and fault else ""
            rows.append((file.path, file.rows, file.rows if fault else 0, meaning))
        frame = pl.DataFrame(rows, schema=VERIFIED, orient="row")
        return frame.sort(pl.col("meaning") == "", "file")

    def _at(self, path: Path) -> LocalRegister:
        return Mirror(path)

    def _origin(self) -> Register:
        register = current.named(self._copied)
        if isinstance(register, LocalRegister):
            raise UsageError(
                "a mirror is in step with a register, not with a mirror",
                cure=f"give the register: fk.Mirror({str(self.path)!r}, register=fk.LIVE)",
            )
        return register


def as_collections(contents: object) -> tuple[str, ...]:
    """Return the collections whose records are to be kept.

    Raises:
        UsageError: A name is that of none.
    """
    if contents is True:
        return CONTENTS
    if contents is None or (isinstance(contents, bool | list | tuple) and not contents):
        return ()
    names = arguments.names("contents", contents)
    for name in names:
        arguments.one_of("contents", name, CONTENTS)
    return tuple(name for name in CONTENTS if name in names)
