"""The mirror: a folder that is kept in step with a register, and answers in its place."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import MirrorError, UsageError
from finstat_kit.mirror import codelists
from finstat_kit.mirror.folder import HERE, About, Folder
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.keeping import Keeping
from finstat_kit.mirror.newest import newest_rows
from finstat_kit.mirror.origins import origin_of
from finstat_kit.mirror.sealed import Stamp, stamp
from finstat_kit.mirror.store import CopiedStore, copied_store
from finstat_kit.mirror.verifying import verified
from finstat_kit.mirror.versions import CHANGES, MISSING, Known, changes_between, legible
from finstat_kit.protocol import replies, wire
from finstat_kit.protocol.wire import Reply
from finstat_kit.service import routes
from finstat_kit.transport.base import InProcess

_ENDPOINTS: Final = {name: path for name, path in wire.LISTS.items() if name != "units"}
# What it takes for something else in an address: escapes, brackets, what cannot be printed.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f\[\]\\^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")
CollectionName = Literal["units", "statements", "reports", "annual_reports"]
_MOST_HOURS: Final = 1_000_000  # a century; the storage cannot count to any number
_PIECE: Final = 131_072  # units whose versions are compared together


class Mirror(Register):
    """A copy of a register on disk, kept in step with it; needs the extra ``mirror``.

    It is a register too: `fk.use(mirror)`, and all names answer from disk. A folder belongs to
    one register, is written by one process at a time and read by any number.

    Args:
        path: The folder; made by the first `sync`.
        changed_since: Only what changed on this day or later is copied; None is everything, or
            what the folder was begun with.
        register: The register to copy: a URL, `fk.LIVE`, a `Register` or sample; None is the
            current one at each `sync`.

    Raises:
        UsageError: The path is none; the folder was begun with another day.

    Example:
        >>> import finstat_kit as fk, tempfile
        >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
        >>> mirror.sync().select("list", "new").rows()[:2]
        [('units', 989), ('statements', 2042)]
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
        register: Register | str | None = None,
    ) -> None:
        self._given = _checked_path(path)
        self.path = self._given.absolute()  # where it was meant, wherever the process goes
        self._chosen = register
        self._since = None if changed_since is None else arguments.changed_since(changed_since)
        self._held = Held(self.path)
        self._folder = Folder(self.path)
        self._store: tuple[object, CopiedStore] | None = None
        self._fetched: dict[str, tuple[Stamp | None, pl.DataFrame]] = {}
        super().__init__("mirror:", tries=1, transport=InProcess(self._answer))
        self._session = replace(self._session, at_hand=self._at_hand)
        about = self._folder.about if self._since else self._folder.read()
        if about and self._since and about.changed_since != self._since:
            raise UsageError(
                f"changed_since={self._since.isoformat()!r}: the mirror at {self._given} was begun "
                f"with {about.changed_since.isoformat()!r}; leave it out, or give another folder"
            )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by its path, with the register that it copies, if one was given."""
        again = partial(type(self), changed_since=self._since, register=self._chosen)
        return again, (self.path.absolute(),)

    def __repr__(self) -> str:
        try:
            about, completed = self._folder.about, self._held.completed()
        except (MirrorError, OSError):
            return f"<Mirror {self._given}, damaged: see verify()>"
        kind = "SAMPLE DATA " if _is_invented(about) else ""
        source = about.origin.name if about else "nothing yet"
        state = f"as of {completed['started'][-1]}" if completed.height else "no complete sync yet"
        return f"{kind}<Mirror {self._given} of {source}, {state}>"

    @property
    def invented(self) -> bool:
        """Whether it is the copy of a sample, as the replies said."""
        return _is_invented(self._folder.about)

    @property
    def today(self) -> date:
        """The day on which the last complete sync started."""
        day: date = self._complete()["started"][-1]
        return day

    def _citation(self, lang: Lang) -> str:
        day, about = self.today, self._begun()
        source = about.origin.name
        if lang == "sk":
            if _is_invented(about):
                return f"Vymyslené údaje ukážky finstat_kit, kópia k {day}."
            return f"Register účtovných závierok, {source}, licencia CC0, kópia k {day}."
        if _is_invented(about):
            return f"Invented data of a finstat_kit sample, copied as of {day}."
        return f"Register of Financial Statements (Slovakia), {source}, CC0, copied as of {day}."

    def sync(
        self, *, full: bool = False, max_missing: int | None = None, progress: bool | None = None
    ) -> pl.DataFrame:
        """Bring the copy in step with the register: the first time all, then what changed.

        The ids changed since the day before the last complete sync started are walked, and the
        records of units among them fetched, over the register's connections at its rate. Each
        batch is committed; whatever ends a sync, the next one goes on where it was, and then asks
        for what changed meanwhile. A record that cannot be read is tried again in the next syncs
        and holds back only itself.

        From ``/api/<list>``, ``/api/uctovna-jednotka`` and the codelists.

        Args:
            full: Fetch everything again, and mark what the register no longer lists.
            max_missing: Mark no more than so many; None is 1 % of a list.
            progress: Show a bar; None shows one for a real host where somebody is looking.

        Returns:
            A row each list, and one for the codelists: ``list``, ``window`` (Date: changes since
            then were asked for), ``new``, ``changed``, ``gone``, ``unreadable`` (all that wait to
            be read), ``requests`` (Int64), ``seconds`` (Float64).

        Raises:
            UsageError: The current register is another one than the folder's, or a mirror.
            MirrorError: Another process is writing, or the disk cannot be written.
            RegisterError: What the register did; the next sync goes on from there.
        """
        if max_missing is not None:
            max_missing = arguments.whole("max_missing", max_missing, 0, wire.MAX_ID)
        register = self._source()
        with self._folder.writing():
            origin = origin_of(register, self._folder.read(), self._given)
            keeping = Keeping(self._folder, self._held, self._codelists_file, register)
            return keeping.go(
                origin, self._since, full=full, max_missing=max_missing, progress=progress
            )

    def snapshot(
        self, collection: CollectionName = "units", *, as_of: str | date | None = None
    ) -> pl.LazyFrame:
        """Return the newest version of everything in a collection, removed rows marked.

        Args:
            collection: ``"units"``, ``"statements"``, ``"reports"`` or ``"annual_reports"``.
            as_of: Of units, what the last sync completed by that day had seen; None is the newest.

        Returns:
            A LazyFrame, one row per id, in no promised order: for units the columns of `get`, for
            the others ``id`` (Int64), then ``gone`` (String: null, ``deleted``, ``non-public``, or
            ``missing`` where the register no longer lists it) and ``seen`` (Date: the register's
            day when this version was fetched). It stays as it is while syncs run, until a `compact`
            removes its files.

        Raises:
            MirrorError: No sync is complete yet.
            UsageError: None was by that day; *as_of* of another collection; no such collection.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.snapshot().select("id").collect().height
            1000
        """
        arguments.one_of("collection", collection, tuple(wire.LISTS))
        completed = self._complete()
        upto = math.inf
        if as_of is not None:
            day = arguments.day("as_of", as_of)
            if collection != "units":
                raise UsageError(
                    f"as_of={day.isoformat()!r}: a mirror keeps the former states of units alone; "
                    f"leave out as_of for {collection}"
                )
            by_then = completed.filter(pl.col("completed") <= day)
            if not by_then.height:
                raise UsageError(
                    f"as_of={day.isoformat()!r}: the first sync of this mirror was completed on "
                    f"{completed['completed'][0]}; give that day or a later one"
                )
            upto = int(by_then["version"][-1])
        table = self._held.lists[collection]
        schema = replies.UNITS if collection == "units" else replies.IDS
        return newest_rows(tuple(table.whole_files()), schema, upto)

    def unreadable(self) -> pl.DataFrame:
        """List the units whose records could not be read, and are tried again in the next sync.

        Returns:
            ``id`` (Int64), ``problem`` (String), ``seen`` (Date), by ascending id.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.unreadable().height
            0
        """
        self._complete()
        log = self._held.lists["units"].scan()
        with legible(self.path):
            waiting = log.filter(pl.col("id").is_in(Known(log).unread))
            latest = waiting.select("id", "problem", "seen", "version").collect().sort("version")
        return latest.unique("id", keep="last").sort("id").drop("version")

    def changes(self, since: str | date | None = None) -> pl.DataFrame:
        """List what changed between versions of units: a row each field.

        Unlike the register, which keeps only the day of the latest change, this is a true series:
        of what the syncs have seen, after the first complete one. Several changes between two
        syncs are one.

        Args:
            since: Only changes seen on this day or later.

        Returns:
            ``id`` (Int64), ``field``, ``old``, ``new`` (String; ids of lists joined by blanks),
            ``seen`` (Date: the register's day of the sync), sorted by ``seen`` and ``id``. A unit
            that is new to the mirror is one row with the field ``id``; one that goes or comes back
            is one row with the field ``gone``.

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
        after = int(self._complete()["version"][0])
        rows = self._held.lists["units"].scan().filter(pl.col("problem").is_null())
        later = (pl.col("seen") >= day) & (pl.col("version") > after)
        found = [pl.DataFrame(schema=CHANGES)]
        with legible(self.path):
            ids = rows.filter(later).select(pl.col("id").unique()).collect()["id"].sort()
            for start in range(0, len(ids), _PIECE):
                some = ids[start : start + _PIECE]
                near = pl.col("id").is_between(some[0], some[-1])
                here = rows.filter(near & pl.col("id").is_in(some.implode()))
                found.append(changes_between(here.collect(), day, after))
        return pl.concat(found).sort("seen", "id", maintain_order=True)

    def verify(self) -> pl.DataFrame:
        """Compare every byte of the copy with its checksum, and every value with its row's digest.

        Returns:
            A row each file: ``file`` (String, within the folder), ``rows``, ``damaged`` (Int64;
            all rows of a file that cannot be read), ``meaning`` (String, empty where all is well);
            the damaged first.

        Raises:
            MirrorError: There is no mirror in the folder.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.verify()["damaged"].sum()
            0
        """
        if not self._folder.is_begun:
            self._begun()
        # Tables of its own: it looks at all of them anew, while another thread may be syncing.
        return verified(self._folder, Held(self.path), self._codelists_file)

    def compact(self, *, keep_hours: float = 24) -> None:
        """Put the files of many small batches together, and remove those that were replaced.

        A sync does so by itself now and then.

        Args:
            keep_hours: Replaced files younger than this stay, for those who still read them.

        Raises:
            UsageError: The hours are none.
            MirrorError: There is no mirror in the folder, or another process is writing.

        Example:
            >>> import finstat_kit as fk, tempfile
            >>> mirror = fk.Mirror(tempfile.mkdtemp(), register=fk.sample(1_000))
            >>> report = mirror.sync()
            >>> mirror.compact()
        """
        if (
            not isinstance(keep_hours, int | float)
            or isinstance(keep_hours, bool)
            or not (0 <= keep_hours <= _MOST_HOURS)
        ):
            raise UsageError(
                f"keep_hours={_shown(keep_hours)} is not allowed; give hours, 0 to {_MOST_HOURS:,}"
            )
        self._begun()
        with self._folder.writing():
            for table in self._held.tables:
                table.refresh(anew=True)
                table.seal(doubted=True)  # what has no checksum must not get one unseen
                table.compact(keep_hours)

    def _at_hand(self, ids: pl.Series | None) -> pl.LazyFrame:
        """Return the records that the register lists, from disk: all, or those of some ids."""
        self._complete()
        if ids is None:
            rows = self.snapshot()
        else:
            asked = pl.col("id").is_in(ids.implode()) & pl.col("problem").is_null()
            # Few rows, found by what the files tell of the ids in them.
            log = self._held.lists["units"].scan()
            with legible(self.path):
                found = log.filter(asked).collect().sort("id", "version")
            rows = found.unique("id", keep="last", maintain_order=True).lazy()
        return rows.filter(pl.col("gone").ne_missing(MISSING)).select(replies.UNITS.names())

    def _answer(self, method: str, path: str, query: str) -> Reply:
        """Answer one request as the register's service would."""
        name = next((n for n, endpoint in _ENDPOINTS.items() if path.endswith(endpoint)), None)
        if name and f"{wire.CHANGED_SINCE}={wire.BEGINNING}" not in query:
            raise UsageError(
                f"a mirror does not know when {name} changed; leave out changed_since, or ask the "
                "register"
            )
        files = stamp(self._codelists_file), stamp(self._folder.file)
        now = self._held.commits(), files
        with self._lock:
            if self._store is None or self._store[0] != now:
                self._complete()
                self._store = now, self._copied()
            store = self._store[1]
        return routes.answer(store, method, path, query)

    def _codelist(self, name: str, refresh: bool) -> pl.DataFrame:
        """Return a codelist as the newest sync left it, which may be another process's."""
        now = stamp(self._codelists_file)
        known = self._fetched.get(name)
        if known is None or known[0] != now or refresh:
            known = self._fetched[name] = now, super()._codelist(name, refresh=True)
        return known[1]

    def _copied(self) -> CopiedStore:
        ids = {}
        with legible(self.path):
            for name, endpoint in _ENDPOINTS.items():
                ids[endpoint] = Known(self._held.lists[name].scan()).listed
            return copied_store(
                self.snapshot(),
                ids,
                codelists.bodies(codelists.stored(self._codelists_file)),
                self.today,
                lambda id_: self._at_hand(pl.Series("id", [id_], dtype=pl.Int64)).collect(),
            )

    @property
    def _codelists_file(self) -> Path:
        return self.path / "codelists.json"

    def _source(self) -> Register:
        register = current.named(self._chosen)
        if isinstance(register, Mirror):
            raise UsageError(
                "a mirror is in step with a register, not with a mirror; give the register: "
                f"fk.Mirror({str(self.path)!r}, register=fk.LIVE)"
            )
        return register

    def _complete(self) -> pl.DataFrame:
        about = self._begun()
        completed = self._held.complete()
        self._held.belongs(about)
        return completed

    def _begun(self) -> About:
        about = self._folder.about
        if about is None:
            raise MirrorError(
                f"there is no mirror in {self._given}; sync() begins one, or give the folder of one"
            )
        return about


def _is_invented(about: About | None) -> bool:
    # Of a sample and of a tunnel alike format 1 says no more than that it was on this machine.
    if about is None:
        return False
    return about.origin.invented is not None or about.origin.register == HERE


def _shown(given: object) -> str:
    try:
        return repr(given)[:80]
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"


def _checked_path(path: object) -> Path:
    # An empty name, often a variable that nobody set, would be the folder one happens to be in.
    if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
        raise UsageError(f'path={path!r} is no folder; give its name, such as "ruz"')
    folder = Path(path)
    whole = folder.absolute().as_posix()
    unfit = _UNFIT.search(whole)
    if unfit:
        raise UsageError(
            f"path={str(path)!r}: Delta Lake cannot keep a table in {whole!r}, because of "
            f"{unfit[0]!r} in it; give a folder of another name"
        )
    for part in (folder, *folder.parents):
        try:
            if part.exists() and not part.is_dir():
                raise UsageError(f"path={str(path)!r}: {str(part)!r} is a file; give a folder")
        except OSError as error:
            raise UsageError(f"path={str(path)!r} cannot be a folder: {error.strerror}") from error
    return folder
