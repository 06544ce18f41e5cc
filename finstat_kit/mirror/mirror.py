"""The mirror: a directory kept in step with a register, to be used in its place."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import date
from functools import partial
from pathlib import Path

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang, Span
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import Either, MirrorError, UsageError
from finstat_kit.mirror import some_units
from finstat_kit.mirror.answers import Answers
from finstat_kit.mirror.compacting import checked_hours, compact
from finstat_kit.mirror.contents import as_collections
from finstat_kit.mirror.copied import CollectionName, Copied
from finstat_kit.mirror.fetching import Budget
from finstat_kit.mirror.frozen import Frozen
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.holdings import holdings, unreadable
from finstat_kit.mirror.keeping import Keeping
from finstat_kit.mirror.origins import origin_of
from finstat_kit.mirror.verifying import verified
from finstat_kit.mirror.versions import changes_in, legible
from finstat_kit.protocol import wire


class Mirror(Copied):
    """A copy of a register on disk, kept in step with it; needs the extra ``mirror``.

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
        >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
        >>> mirror.sync().select("list", "new").rows()[:2]
        [('units', 989), ('statements', 6849)]
        >>> with fk.using(mirror):
        ...     fk.units.count(changed_since="2026-06-01") == fk.sample(1_000).units.count(
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
        self._since = None if changed_since is None else arguments.changed_since(changed_since)
        super().__init__(path)
        self.lang = self._language(lang)
        about = self._folder.about if self._since else self._folder.read()
        some_units.checked(self._only, about, self._contents)
        if about and self._since and about.changed_since != self._since:
            raise UsageError(
                f": the mirror at {self._given} was created with {str(about.changed_since)!r}",
                argument="changed_since",
                value=str(self._since),
                cure="leave it out, or give another folder",
            )
        # Properties and the repr look no more; what is damaged is an error where it is read.
        with contextlib.suppress(MirrorError):
            self._held.all_runs()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by its path, with the register that it copies, if one was given."""
        again = partial(
            type(self), changed_since=self._since, contents=self._contents, only=self._only,
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
        does not delay others.

        From ``/api/<list>``, ``/api/uctovna-jednotka`` and the codelists.

        Args:
            full: Fetch everything again, and mark ids missing from the register's lists. Kept
                statements and reports count as not held until they are fetched again.
            max_missing: Maximum number of ids to mark as missing; None is 1 % of a list.
            budget: Stop after this time: ``"2h"``, ``"30min"``, a `timedelta` or seconds; the next
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
        about = self._folder.read()
        if about is not None and about.extract is not None:
            raise UsageError(
                f"{self._given} is an extract, which no sync brings in step",
                cure="sync the mirror it was taken from, and extract again",
            )
        register = self._source()
        with self._folder.writing():
            origin = origin_of(register, self._folder.read(), self._given)
            spendable = Budget(register, seconds)
            keeping = Keeping(
                self._folder, self._held, register, self._contents, self._only, spendable
            )
            return keeping.go(
                origin, self._since, full=full, max_missing=max_missing, progress=progress
            )

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
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.snapshot().select("id").collect().height
            1000
        """
        arguments.one_of("collection", collection, tuple(wire.LISTS))
        if as_of is not None:
            then = Answers(self._folder, self._held, arguments.day("as_of", as_of))
            then.complete()
            return then.snapshot(collection)
        return super().snapshot(collection)

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
            >>> register = fk.sample(1_000)
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=register)
            >>> report = mirror.sync()
            >>> register.set_today("2026-07-01")
            >>> new = register.publish(5)
            >>> report = mirror.sync()
            >>> mirror.units.count(), mirror.as_of("2026-06-30").units.count()
            (1005, 1000)
        """
        frozen = Frozen(self.path, arguments.day("day", day), lang=self.lang)
        frozen.settled()
        return frozen

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
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.holdings().select("collection", "listed", "held", "lacking").rows()
            [('units', 1000, 1000, 0)]
        """
        self._answers.complete()
        register = current.named(self._chosen) if self._chosen is not None else None
        rate = register.rate if register else None
        return holdings(self._held, self._folder.begun(), rate, self._answers.only())

    def unreadable(self) -> pl.DataFrame:
        """List the unreadable records, which the next sync requests again.

        Of the collections beside units, `scan` and ``get(errors="keep")`` give them a row of nulls.

        Returns:
            ``collection`` (String), ``id`` (Int64), ``problem`` (String), ``seen`` (Date), by
            collection and ascending id.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.unreadable().height
            0
        """
        self._answers.complete()
        with legible(self.path):
            return unreadable(self._held, self._answers, self._folder.begun())

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

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> register = fk.sample(1_000)
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=register)
            >>> report = mirror.sync()
            >>> register.set_today("2026-07-01")
            >>> register.delete(register.units.ids(limit=1))
            >>> report = mirror.sync()
            >>> mirror.changes().rows()[0][1:]
            ('gone', None, 'deleted', datetime.date(2026, 7, 1))
        """
        day = wire.BEGINNING if since is None else arguments.day("since", since)
        after = int(self._answers.complete()["version"][0])
        with legible(self.path):
            return changes_in(self._held.lists["units"].scan(), day, after)

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
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.verify()["damaged"].sum()
            0
        """
        if not self._folder.is_begun:
            self._folder.begun()
        # Tables of its own: it reads all of them anew, while another thread may be syncing.
        return verified(self._folder, Held(self.path))

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
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.compact()
        """
        hours = checked_hours(keep_hours)
        self._folder.begun()
        with self._folder.writing():
            compact(self._held, hours)

    def _at(self, path: Path) -> Copied:
        return Mirror(path)

    def _source(self) -> Register:
        register = current.named(self._chosen)
        if isinstance(register, Copied):
            raise UsageError(
                "a mirror is in step with a register, not with a mirror",
                cure=Either(
                    f"give the register: fk.Mirror({str(self.path)!r}, register=fk.LIVE)",
                    "give the register, such as --live",
                ),
            )
        return register
