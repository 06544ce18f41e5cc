"""One sync: the changes since the window are listed, what is lacking is fetched, batch by batch.

There is no cursor to keep. Lists are walked from their start, and what the run has answered already
is not fetched again, so that whatever ends a sync, the next one finds what is left.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from finstat_kit.client.collections import walk
from finstat_kit.client.collections.fetching import duration
from finstat_kit.client.register import Register
from finstat_kit.errors import (
    Interrupted,
    MirrorError,
    NotHeld,
    ProtocolError,
    RegisterError,
    UsageError,
    warn,
)
from finstat_kit.mirror.fetch import (
    Budget,
    Contents,
    Fetched,
    Fetcher,
    Report,
    Templates,
    commit_answers,
    readable_in,
)
from finstat_kit.mirror.state import codelists_in, lacking_of
from finstat_kit.mirror.storage.files import File, UnreadableError, legible, see_own_process
from finstat_kit.mirror.storage.folder import CODELISTS, COLLECTIONS, CONTENTS, Folder
from finstat_kit.mirror.storage.restored import Restored, restored
from finstat_kit.mirror.storage.runs import About, Loss, Open, Run
from finstat_kit.mirror.storage.versions import (
    LISTED,
    MISSING,
    NAMED,
    OWNED,
    REPORTS_OF,
    ids_named,
    is_among,
    places_in,
)
from finstat_kit.mirror.storage.writer import Writer
from finstat_kit.progress import bar
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.records import KINDS

logger = logging.getLogger("finstat_kit")

_UNITS_PER_COMMIT: Final = 10_000
_IDS_PER_COMMIT: Final = 200_000
_MOST_MISSING: Final = 0.01  # of a list
# A codelist of ten entries; only the header of its reply is read.
_SMALL: Final = requests.codelist(wire.CODELISTS["ownership_types"])


@dataclass
class Sync:
    """A sync of one folder, which the caller holds for writing.

    Args:
        folder: The folder.
        register: The register to copy.
        first: First day of change of a new mirror; None is everything.
        contents: Collections to keep the records of, beside those that are kept already.
        only: Units whose contents alone are kept, beside those already; None is as before.
        budget: The time that it may take.
        max_missing: As of `Mirror.sync`.
        progress: As of `Mirror.sync`.
    """

    folder: Folder
    register: Register
    first: date | None
    contents: Sequence[str]
    only: pl.Series | None
    budget: Budget
    max_missing: int | None
    progress: bool | None

    def go(self, *, full: bool) -> pl.DataFrame:
        """Bring the copy in step; return the report."""
        see_own_process()  # before the first reply, which polars reads
        self._report = Report(self.register)
        with self.budget.holds():
            self._writer, is_full = self._opened(full=full), False
            while True:
                resumed = self._writer.begin(full=full)
                is_full |= self._writer.walk.full
                self._lists()
                self._writer.finish()
                if not resumed:
                    break
                full = False  # what changed meanwhile belongs to another run
            if self._writer.kept:
                self._contents(full=is_full)
        return self._report.frame()

    # What is there

    def _opened(self, *, full: bool) -> Writer:
        """See that the copy is of this register, and what of it is lost; return its writer.

        Raises:
            UsageError: The copy is of another register.
            UnreadableError: The system does not read a file.
        """
        folder, found, gap = self.folder, Restored(None, None), None
        if folder.runs.exist():
            found, gap = self._found()
        run, pending, lost = found
        about = self._agreed(next((s.about for s in (run, pending) if s), None))
        settings = pending or (run.last if run else None)
        kept_before = settings.contents if settings else ()
        only = self._chosen(run, pending, kept_before)
        kept = tuple(name for name in CONTENTS if name in {*kept_before, *self.contents})
        lost = (*lost, *self._lost(run, pending, full=full))
        exchange = self.register._session.exchange
        return Writer(
            folder, run, pending, about, kept, only, lost, gap, lambda: self.register.today,
            exchange.clock,
        )  # fmt: skip

    def _found(self) -> tuple[Restored, date | None]:
        """Return what is there, and the first day that runs which are lost may have changed."""
        runs = self.folder.runs
        noted, newest = runs.writer(), runs.newest_number()
        try:
            run = self.folder.look()
        except UnreadableError:
            raise
        except MirrorError:
            found = restored(runs, None)
            if found.run is not None and newest < found.run.number:
                runs.note_writer(found.run)  # numbers go on
            is_whole = found.run is None or found.run.last.run == noted.point
            return found, None if found.run is None or is_whole else found.run.last.day
        is_behind = run is not None and run.number < newest
        try:
            pending = runs.open()
            is_lost = is_behind and pending is None
        except UnreadableError:
            raise
        except MirrorError:
            is_lost = True
        if is_lost:
            pending = restored(runs, run).pending
        if pending is not None and pending.after != (0 if run is None else run.last.run):
            pending = None  # a run lists it
        if run is None or not is_behind or noted.point == run.last.run:
            return Restored(run, pending), None
        return Restored(run, pending), noted.day or run.last.day

    def _lost(self, run: Run | None, pending: Open | None, *, full: bool) -> tuple[Loss, ...]:
        """Return the files that are lost or damaged; warn of what it costs.

        Raises:
            UnreadableError: The system does not read one: it is not known to be lost.
        """
        dropped = {loss.name for loss in pending.lost} if pending else set[str]()
        log_of = {
            file: log
            for listing in (run, pending) if listing
            for log, files in listing.files.items()
            for file in files if file.name not in dropped
        }  # fmt: skip
        # A sync reads all rows of all logs but the cells.
        read = [file for file, log in log_of.items() if log != "cells"]
        others = [file for file, log in log_of.items() if log == "cells"]
        files = self.folder.checks.lost(read, others, all_=full)
        for log in dict.fromkeys(log_of[file] for file in files):
            own = [file for file in files if log_of[file] == log]
            warn(loss_text(self.folder.path, log, own, self.register.rate))
        return tuple(
            Loss(log_of[file], file.name, file.first, file.last, file.rows) for file in files
        )

    def _agreed(self, about: About | None) -> About:
        """Return what the mirror is of, by one request.

        Raises:
            UsageError: It is of another register, of another part of it, or an extract.
            RegisterError: The register does not reply.
        """
        register, session = self.register, self.register._session
        if about is not None and about.extract is not None:
            raise UsageError(
                f"{self.folder.path} is an extract, which no sync brings in step",
                cure="sync the mirror it was taken from, and extract again",
            )
        if about is not None and session.remote and register.base_url != about.register:
            raise self._another(about.name, register.base_url)  # also where none can be reached
        try:
            session.exchange.get(_SMALL)
        except KeyboardInterrupt as interrupt:
            raise Interrupted("interrupted before anything was fetched") from interrupt
        invented, first = session.exchange.invented or None, self.first or wire.BEGINNING
        new = About(register.base_url, invented, first)
        if about is not None and about.name != new.name:
            raise self._another(about.name, new.name)
        return about or new

    def _another(self, former: str, new: str) -> UsageError:
        return UsageError(
            f"the mirror at {self.folder.path} is of {former}, not of {new}",
            cure="give its register or another folder",
        )

    def _chosen(
        self, run: Run | None, pending: Open | None, kept_before: tuple[str, ...]
    ) -> tuple[int, ...] | None:
        """Return the units whose contents alone are kept, those added last; None for all.

        Raises:
            UsageError: There are contents of all units already.
        """
        former = None if run is None or run.last.only is None else run.only
        if pending is not None:
            former = pending.only
        check_only(self.only, kept_before, self.contents, chosen=former is not None)
        if self.only is None:
            return former
        new = self.only.filter(~self.only.is_in(pl.Series(former or (), dtype=pl.Int64).implode()))
        return (*(former or ()), *new)

    # Lists

    def _lists(self) -> None:
        """Bring units, lists and codelists in step."""
        walked = self._writer.walk
        for name in (*COLLECTIONS, "codelists"):
            counts = self._report.row(name, None if name == "codelists" else walked.since)
            with self._report.measured(counts), resumable(f"in {name}"):
                if name == "codelists":
                    self._codelists(counts)
                    continue
                if self._writer.losses(name) and not walked.full:
                    self._make_good(name, counts)
                self._list(name, counts)
                if walked.full:
                    self._mark_missing(name, walked.since, counts)

    def _list(self, name: str, counts: dict[str, Any]) -> None:
        """Walk a list of changes: fetch the units that it names, write the other ids down."""
        stands = self._writer.standing(name)
        if name == "units":
            self._units(stands, counts)
            return
        listed_before = stands.filter("listed")
        if name in self._writer.kept:  # to be fetched again, once per run
            listed_before = listed_before.filter(pl.col("named") > self._writer.walk.base[name])
        known_ids = stands["id"].to_numpy()
        ids: list[pl.Series] = []

        def commit() -> None:
            if not ids:
                return
            batch = pl.concat(ids)
            ids.clear()
            before = int((places_in(known_ids, batch.to_numpy()) >= 0).sum())
            counts["new"] += len(batch) - before
            counts["changed"] += before
            self._writer.append_ids(name, batch.to_frame("id"), LISTED)

        for some in self._pages(name, self._writer.walk.since):
            self.budget.check()
            ids.append(some.filter(~is_among(some, listed_before["id"])))
            if sum(map(len, ids)) >= _IDS_PER_COMMIT:
                commit()
        ids[:] = [some for some in ids if len(some)]
        commit()

    def _pages(self, name: str, since: date) -> Iterator[pl.Series]:
        """Yield the ids of a list since a day, page by page."""
        collection = getattr(self.register, name)
        try:
            yield from (page["id"] for page in collection.pages(changed_since=since))
        except NotHeld:  # a served mirror knows no days of it: all of it is named anew
            yield from (page["id"] for page in collection.pages())

    def _units(self, stands: pl.DataFrame, counts: dict[str, Any]) -> None:
        """Fetch the units that the list names, and those that could not be read before."""
        base, since = self._writer.walk.base["units"], self._writer.walk.since
        waiting = lacking_of(stands).filter("unreadable")["id"]
        counts["unreadable"] = len(waiting)
        answered = stands.filter(pl.col("answered") > base)["id"]  # by this run already
        retried = waiting.filter(~is_among(waiting, answered))
        session = self.register._session
        query = walk.query_of(session, "units", since, 0)

        def total(stop: threading.Event) -> int | None:
            count = walk.count_or_none(session, query, stop)
            return None if count is None else len(retried) + count - len(answered)

        with self._fetching(stands, counts, total) as fetch:
            fetch(retried, moves=False)
            for ids in self._pages("units", since):
                left = ids.filter(~is_among(ids, answered))
                fetch(left.filter(~is_among(left, retried)), moves=True)

    @contextlib.contextmanager
    def _fetching(
        self,
        stands: pl.DataFrame,
        counts: dict[str, Any],
        total: int | Callable[[threading.Event], int | None],
    ) -> Iterator[Callable[..., None]]:
        """Give a function that fetches and commits the records of units, under one bar."""
        fetcher = Fetcher(self.register, KINDS["units"], self.budget, readable_in(stands))
        unread = set(lacking_of(stands).filter("unreadable")["id"])

        def commit(fetched: list[Fetched]) -> None:
            if not fetched:
                return
            commit_answers(self._writer, "units", fetched, stands, counts)
            for id_, record in fetched:
                (unread.add if isinstance(record, str) else unread.discard)(id_)
            counts["unreadable"] = len(unread)

        with bar(
            "records", total, watched=self.register._session.watched, progress=self.progress
        ) as advance:

            def fetch(ids: pl.Series, *, moves: bool) -> None:
                for batch in fetcher.batches(ids.to_list(), _UNITS_PER_COMMIT):
                    fetcher.fetch(batch, advance, commit, moves=moves)

            yield fetch

    def _make_good(self, name: str, counts: dict[str, Any]) -> None:
        """Name, or fetch, the ids that only lost files may have answered."""
        writer, first = self._writer, self._writer.about.first
        stands, listed = writer.standing(name), self._listed(name, first)
        absent = [listed.filter(~is_among(listed, stands["id"]))]
        for since, doubtful in writer.doubtful(name):
            absent.append(doubtful.filter(is_among(doubtful, self._listed(name, since))))
        ids = pl.concat(absent).sort()
        if name == "units":
            with self._fetching(stands, counts, len(ids)) as fetch:
                fetch(ids, moves=True)
        else:
            writer.append_ids(name, ids.to_frame("id"), LISTED)
        self._mark_missing(name, first, counts)
        if name == "reports" and writer.about.since is None:
            with legible(writer.path):
                named = ids_named([writer.scan(owner) for owner in OWNED], REPORTS_OF)
            unnamed = named.filter(~is_among(named, writer.standing(name)["id"]))
            writer.append_ids(name, unnamed.to_frame("id"), NAMED)

    def _listed(self, name: str, since: date) -> pl.Series:
        """Return the ids of a list since a day."""
        return pl.concat([pl.Series("id", [], dtype=pl.Int64), *self._pages(name, since)])

    def _mark_missing(self, name: str, since: date, counts: dict[str, Any]) -> None:
        """Mark what the register no longer lists.

        Raises:
            ProtocolError: It is too much to be true.
        """
        # Listed anew: the list has changed while records were fetched.
        listed = self._listed(name, since)
        known_ids = self._writer.standing(name).filter("listed")["id"].to_numpy()
        missing_ids = np.setdiff1d(known_ids, listed.to_numpy(), assume_unique=True)
        if name == "reports" and len(missing_ids):  # what no list ever named is missing from none
            with legible(self.folder.path):
                ever = self._writer.scan(name).filter(kind=LISTED).select("id")
                missing_ids = np.intersect1d(missing_ids, ever.collect()["id"].to_numpy())
        most = self.max_missing
        if most is None:
            most = int(len(known_ids) * _MOST_MISSING)
        if len(missing_ids) > most:
            full = "full=True, " if self._writer.walk.full else ""
            raise ProtocolError(
                f"the register no longer lists {len(missing_ids):,} of {len(known_ids):,} {name}; "
                f"more than {most:,} need a confirmation. Check the register; if they were really "
                f"removed, mark them missing by sync({full}max_missing={len(missing_ids)})"
            )
        if len(missing_ids):
            rows = pl.DataFrame({"id": missing_ids}).with_columns(gone=pl.lit(MISSING))
            self._writer.append_ids(name, rows, MISSING)
            counts["gone"] += len(missing_ids)

    def _codelists(self, counts: dict[str, Any]) -> None:
        """Fetch the codelists; one that is empty or broken does not replace one with entries."""
        with legible(self.folder.path):
            former = codelists_in(self._writer.scan("codelists").collect())
        changed, version = [], self._writer.next("codelists")
        counts["unreadable"] = 0
        for name in wire.CODELISTS:
            before = former.get(name)
            try:
                entries: pl.DataFrame = self.register.codelist(name, refresh=True)
            except ProtocolError as error:
                if before is None:
                    raise
                logger.warning("the codelist %s cannot be read: %s", name, error)
                entries = before.clear()
            if before is not None and entries.is_empty():
                logger.warning("the codelist %s has no entries; the former one is kept", name)
                counts["unreadable"] += 1
                continue
            if before is not None and entries.equals(before[entries.columns]):
                continue
            if "parent_code" not in entries.columns:
                entries = entries.with_columns(parent_code=pl.lit(None, pl.String))
            rows = entries.select(
                version=pl.lit(version, pl.Int64), name=pl.lit(name), code="code",
                name_sk="name_sk", name_en="name_en", parent_code="parent_code",
            ).cast(CODELISTS)  # fmt: skip
            count_entries(counts, before, rows)
            changed.append(rows)
        if changed:
            self._writer.append({"codelists": pl.concat(changed)})

    # Records

    def _contents(self, *, full: bool) -> None:
        """Fetch the lacking records of the kept collections."""
        writer = self._writer
        templates = Templates(self.register, writer, anew=full)
        contents = Contents(
            self.register, writer, templates, self.budget, self._report, self.progress
        )
        with resumable("while records were fetched"):
            try:
                with self.budget.holds():
                    contents.fetch()
            except (RegisterError, KeyboardInterrupt):
                with contextlib.suppress(MirrorError):
                    writer.show()
                raise
            writer.show()


def loss_text(path: Path, log: str, files: Sequence[File], rate: float | None) -> str:
    """Return what was lost of a log, what this sync does about it, and what does not come back."""
    rows = sum(file.rows for file in files)
    many = f"{len(files)} files" if len(files) > 1 else files[0].path
    text = f"the mirror at {path} has lost {many} with {rows:,} rows of {log}"
    if log in ("codelists", "templates"):
        return f"{text}; this sync requests them again"
    time = "" if rate is None else f", at most {duration(rows / rate)}"
    walk = "" if log == "cells" else f"walks the list of {log} and "
    what = "reports" if log == "cells" else log
    return (
        f"{text}; this sync {walk}requests the {what} that no other file answers{time}. Days that "
        "counted these rows, and what changed on them, cannot be shown any longer"
    )


def check_only(
    only: pl.Series | None, kept_before: Sequence[str], given: Sequence[str], *, chosen: bool
) -> None:
    """See that the contents of some units alone can be kept.

    Args:
        only: Ids of the units, None where none were given.
        kept_before: The collections that are kept.
        given: The collections to keep beside them.
        chosen: Whether contents of some units alone are kept already.

    Raises:
        UsageError: They cannot.
    """
    kept = {*kept_before, *given}
    if only is not None and only.is_empty():
        raise UsageError(
            ": there is no unit in it",
            argument="only",
            cure="give ids, or leave it out for all units",
        )
    if only is not None and not kept:
        raise UsageError(
            "is for the contents of units", argument="only", cure="give contents=True too"
        )
    if only is not None and kept_before and not chosen:
        raise UsageError(
            f": this mirror keeps {list(kept_before)} of all units already, and what was once kept "
            "stays so",
            argument="only",
            cure="leave only= out, or give another folder",
        )
    if (only is not None or chosen) and "reports" in kept and "statements" not in kept:
        raise UsageError(
            ": statements name the reports of units", argument="only", cure="keep 'statements' too"
        )


@contextlib.contextmanager
def resumable(where: str) -> Iterator[None]:
    """Add the cure of a sync that was cut off to what cuts it off."""
    cure = "; everything before it is in the mirror, the next sync() resumes"
    try:
        yield
    except RegisterError as error:
        error.partial = error.cursor = None
        if not isinstance(error, MirrorError):
            error.message += cure
        raise
    except KeyboardInterrupt as interrupt:
        raise Interrupted(f"interrupted {where}{cure}") from interrupt


def count_entries(counts: dict[str, Any], before: pl.DataFrame | None, after: pl.DataFrame) -> None:
    """Count what is new, changed and gone in a codelist."""
    former = {} if before is None else {row[0]: row for row in before.iter_rows()}
    now = {row[0]: row for row in after.drop("version", "name").iter_rows()}
    counts["new"] += len(now.keys() - former.keys())
    counts["changed"] += sum(former[code] != now[code] for code in now.keys() & former.keys())
    counts["gone"] += len(former.keys() - now.keys())
