"""The mirror: a directory kept in step with a register, to be used instead of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import filelock
import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang, Span
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.mirror.fetch import Budget
from finstat_kit.mirror.local_register import CollectionName, Frozen, LocalRegister, owned, snapshot
from finstat_kit.mirror.state import steady
from finstat_kit.mirror.storage.files import legible, unwritable
from finstat_kit.mirror.storage.folder import COLLECTIONS, CONTENTS
from finstat_kit.mirror.storage.versions import UNREADABLE, changes_in, newest
from finstat_kit.mirror.storage.writer import compact
from finstat_kit.mirror.sync import Sync, check_only
from finstat_kit.protocol import wire

HOLDINGS: Final = pl.Schema(
    {
        "collection": pl.String(),
        "listed": pl.Int64(),
        "held": pl.Int64(),
        "from_id": pl.Int64(),
        "lacking": pl.Int64(),
        "seconds": pl.Float64(),
    }
)
UNREAD: Final = pl.Schema(
    {"collection": pl.String(), "id": pl.Int64(), "problem": pl.String(), "seen": pl.Date()}
)
_MOST_HOURS: Final = 1_000_000  # a century
VERIFIED: Final = pl.Schema(
    {"file": pl.String(), "rows": pl.Int64(), "damaged": pl.Int64(), "meaning": pl.String()}
)


class Mirror(LocalRegister):
    """A copy of a register on disk, kept in step with it.

    It is a register too: after `fk.use(mirror)` all names read from disk. A directory belongs to
    one register, is written by one process at a time and read by any number.

    A mirror created with *changed_since* holds a part of the register and never stands for the
    whole: `count`, `ids`, `pages` and `scan` need a ``changed_since=`` of that day or later. Only
    units have known days of change: for the other collections a partial mirror returns all its
    ids for any of these days, and a whole mirror accepts no day.

    Args:
        path: The directory on a local disk; created by the first `sync`.
        changed_since: Copy only units and ids changed on this day or later; None is everything,
            or the day the mirror was created with.
        contents: Keep the records of these collections too: True for all, or names among
            ``"statements"``, ``"reports"`` and ``"annual_reports"``; also later, on a mirror
            without. What was once kept stays so.
        only: Keep the contents of these units alone, of which there should be no more than some
            ten thousand: their records or ids. The mirror remembers them; units given later are
            added, none is ever removed. A filing of another unit is ``not_held``. None is all
            units, or those the mirror remembers.
        register: The register to copy: a URL, `fk.LIVE`, a `Register` or sample; None is the
            current one at each `sync`.
        lang: As of `Register`.

    Raises:
        UsageError: The path is invalid, the mirror was created with another day, or it keeps
            the contents of all units and is given *only*.

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
        changed_since: str | date | None = None,
        contents: bool | str | Iterable[str] = False,
        only: int | Iterable[int] | pl.Series | pl.DataFrame | pl.LazyFrame | None = None,
        register: Register | str | None = None,
        lang: Lang | None = None,
    ) -> None:
        self._chosen = register
        self._contents = as_collections(contents)
        self._only = None if only is None else arguments.ids(only, "only").unique().sort()
        self._first = None if changed_since is None else arguments.changed_since(changed_since)
        super().__init__(path)
        self.lang = self._language(lang)
        about, run = self._folder.known
        former, some = (
            ((), False) if run is None else (run.last.contents, run.last.only is not None)
        )
        check_only(self._only, former, self._contents, chosen=some)
        if self._first and about is not None and about.first != self._first:
            raise UsageError(
                f": the mirror at {self._given} was created with {str(about.first)!r}",
                argument="changed_since",
                value=str(self._first),
                cure="leave it out, or give another folder",
            )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by its path, with the register that it copies, if one was given."""
        again = partial(
            type(self), changed_since=self._first, contents=self._contents, only=self._only,
            register=self._chosen,
        )  # fmt: skip
        return again, (self.path,), {"lang": self.lang}

    def sync(
        self,
        *,
        full: bool = False,
        max_missing: int | None = None,
        budget: Span | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Bring the copy in step with the register: first everything, later only changes.

        Lists the ids changed since the day before the last complete sync started, and fetches the
        records of the units among them, over the register's connections at its rate. Each batch is
        committed. After an interruption the next sync resumes at the same place and then fetches
        the changes made meanwhile. An unreadable record is requested again in the next syncs and
        does not delay others. A file that is lost or damaged is named by a warning, and what no
        other file answers is requested again.

        From ``/api/<list>``, ``/api/uctovna-jednotka`` and the codelists.

        Args:
            full: Fetch everything again, templates too, and mark ids missing from the register's
                lists. Kept statements and reports count as not held until they are fetched again.
            max_missing: Maximum number of ids to mark as missing; None is 1 % of a list.
            budget: Stop after this time: ``"2h"``, ``"30min"``, a `timedelta` or seconds; a request
                under way, of other code with the same register too, ends with it, and the next
                sync resumes. None is no limit.
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
        register = self._source()
        with self._writing():
            return Sync(
                self._folder, register, self._first, self._contents, self._only,
                Budget(register, seconds), max_missing, progress,
            ).go(full=bool(full))  # fmt: skip

    def snapshot(
        self, collection: CollectionName = "units", *, as_of: str | date | None = None
    ) -> pl.LazyFrame:
        """Return the newest version of all rows of a collection, with removed rows marked.

        Args:
            collection: ``"units"``, ``"statements"``, ``"reports"`` or ``"annual_reports"``.
            as_of: The state of the last sync completed by that day; None is the newest.

        Returns:
            A LazyFrame, one row per id, in no guaranteed order: for units the columns of `get`,
            for a collection kept with its records too, but for the ``tabulky`` of reports, whose
            cells are in `cells`; ids that are listed but not held are absent then. For one that
            is not kept ``id`` (Int64) alone, with a row per listed id. Then ``gone`` (String:
            null, ``deleted``, ``non-public``, or ``missing`` from the register's list) and
            ``seen`` (Date: the register's day when this version was fetched). Running syncs do
            not change it; a `compact` may remove its files.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: No sync was complete by that day, or the collection does not exist.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> mirror.snapshot().select("id").collect().height
            100
        """
        arguments.one_of("collection", collection, COLLECTIONS)
        day = None if as_of is None else arguments.day("as_of", as_of)
        return snapshot(self._states.on(day), collection)

    def as_of(self, day: str | date) -> Frozen:
        """Return the register as the last sync completed by a day left it, read-only.

        Everything a register answers, it answers with the state of that day, the same on every
        run: ids, counts, records, codelists, citations. ``fk.use("mirror:PATH@DAY")`` and
        ``FINSTAT_KIT_URL=mirror:PATH@DAY`` select it. Another sync on the same day belongs to it.

        Args:
            day: A date or ``"2026-06-30"``, no later than the last complete sync.

        Returns:
            A `Register` with `snapshot`, `extract` and `serve`; its ``today`` is the day on which
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

    @steady
    def holdings(self) -> pl.DataFrame:
        """List how far the copy is, collection by collection.

        Returns:
            One row per collection whose records are kept: ``collection``, ``listed`` (Int64: ids
            in the register's list; with ``only=`` those of the units kept, as far as their
            statements are held), ``held`` (Int64: current records), ``from_id`` (Int64: all
            listed ids from this one up are held; null where none), ``lacking`` (Int64) and
            ``seconds`` (Float64: what the lacking ones take at the rate of the register that is
            copied; null without a register or a limit).

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
        register = current.named(self._chosen) if self._chosen is not None else None
        rate = register.rate if register else None
        rows = []
        for name in ("units", *state.point.contents):
            stands, lack = state.listed(name), state.lacking(name)["id"]
            if name != "units" and state.only is not None:
                own = owned(state, name).implode()
                stands, lack = (ids.filter(ids.is_in(own)) for ids in (stands, lack))
            whole = stands if lack.is_empty() else stands.filter(stands > lack.max())
            first = None if whole.is_empty() else whole.min()
            seconds = None if rate is None else lack.len() / rate
            rows.append((name, stands.len(), stands.len() - lack.len(), first, lack.len(), seconds))
        return pl.DataFrame(rows, schema=HOLDINGS, orient="row")

    @steady
    def unreadable(self) -> pl.DataFrame:
        """List the unreadable records, which the next sync requests again.

        Of the collections beside units, `scan` and ``get(errors="keep")`` give them a row of nulls.

        Returns:
            ``collection`` (String), ``id`` (Int64), ``problem`` (String), ``seen`` (Date), by
            collection and ascending id.

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
            ids = state.unreadable(name)
            with legible(self.path):
                own = (pl.col("kind") == UNREADABLE) & pl.col("id").is_in(ids.implode())
                rows = newest(state.scan(name, ids).filter(own).collect())
            frames.append(rows.select(pl.lit(name).alias("collection"), "id", "problem", "seen"))
        return pl.concat(frames)

    @steady
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
            UsageError: Versions of units that were seen then are lost.

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
        first = state.run.history[0]
        for loss in state.run.lost:
            if loss.log == "units":
                first = next(point for point in state.run.history if point.run == loss.run)
                if day <= first.day:
                    raise UsageError(
                        f": versions of units were lost, and made good on {first.day}",
                        argument="since",
                        value=None if since is None else str(day),
                        cure=f"give {str(first.day + timedelta(days=1))!r} or a later day",
                    )
        after = first.reached.get("units", 0)
        with legible(self.path):
            return changes_in(state.scan("units"), day, after)

    def verify(self) -> pl.DataFrame:
        """Compare every byte of the copy with its checksum, and every value with its row's digest.

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
        files = []
        try:
            run = self._folder.look()
            if run is None:
                rows.append(("runs", 0, 0, "no sync is complete: sync() resumes it"))
            else:
                files += [file for listed in run.files.values() for file in listed]
        except MirrorError as error:
            if not self._folder.runs.exist():
                raise
            rows.append(("runs", 1, 1, str(error)))
        for file in files:
            meaning = ""
            try:
                self._folder.checks.paths([file], note=False, anew=True)
            except MirrorError as error:
                meaning = str(error).replace(f"{self._folder.path}/{file.path} is", "it is")
            rows.append((file.path, file.rows, file.rows if meaning else 0, meaning))
        self._folder.checks.paths([])  # writes down what was checked
        frame = pl.DataFrame(rows, schema=VERIFIED, orient="row")
        return frame.sort(pl.col("meaning") == "", "file")

    def compact(self, *, keep_hours: float = 24) -> None:
        """Merge the files of many small batches, and remove the replaced ones.

        A sync does this by itself now and then.

        Args:
            keep_hours: Replaced files younger than this are kept, for processes still reading them.

        Raises:
            UsageError: *keep_hours* is not a valid number of hours.
            MirrorError: There is no mirror in the directory, or another process is writing.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(100))
            >>> report = mirror.sync()
            >>> mirror.compact()
        """
        is_number = isinstance(keep_hours, int | float) and not isinstance(keep_hours, bool)
        if not (is_number and 0 <= keep_hours <= _MOST_HOURS):
            raise UsageError(
                "is not allowed",
                argument="keep_hours",
                value=keep_hours,
                cure=f"give hours, 0 to {_MOST_HOURS:,}",
            )
        self._folder.look()
        with self._writing():
            compact(self._folder, keep_hours)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Lock the directory for writing; the system releases the lock when the process ends.

        Raises:
            MirrorError: Another process holds it, or the disk cannot be written.
        """
        runs = self._folder.runs
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(self.path / "writer.lock", timeout=0):
                runs.note_writer()
                yield
        except filelock.Timeout:
            writer = runs.writer()
            known = writer.process is not None
            who = f"process {writer.process} on {writer.machine}" if known else "another process"
            raise MirrorError(
                f"the mirror at {self.path} is being written by {who}; wait until that has ended; "
                "reading it is possible meanwhile"
            ) from None
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _at(self, path: Path) -> LocalRegister:
        return Mirror(path)

    def _source(self) -> Register:
        register = current.named(self._chosen)
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
    if contents is False or contents is None:
        return ()
    if not isinstance(contents, str | Iterable):
        raise UsageError(
            "names no collections",
            argument="contents",
            value=contents,
            cure=f"give True or {list(CONTENTS)}",
        )
    names = [contents] if isinstance(contents, str) else list(contents)
    for name in names:
        if not isinstance(name, str) or name not in CONTENTS:
            raise UsageError(
                f": {name!r} is none of {list(CONTENTS)}", argument="contents", value=contents
            )
    return tuple(name for name in CONTENTS if name in names)
