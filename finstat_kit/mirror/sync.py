"""One sync: the changes since the window are listed, what is lacking is fetched, batch by batch.

There is no cursor to keep. Lists are walked from their start, and what the run has answered already
is not fetched again, so that whatever ends a sync, the next one finds what is left.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shutil
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from time import monotonic
from typing import Final
from uuid import uuid4

import numpy as np
import polars as pl

from finstat_kit.client.collections import walk
from finstat_kit.client.register import Register
from finstat_kit.errors import (
    Interrupted,
    MirrorError,
    NotFound,
    NotHeld,
    ProtocolError,
    RegisterError,
    UsageError,
)
from finstat_kit.mirror import versions
from finstat_kit.mirror.cells import STORED, joined, split
from finstat_kit.mirror.fetch import Budget, Fetched, Fetcher, OutOfTimeError
from finstat_kit.mirror.log import BROKEN, CURE, MANY_FILES, Log, UnreadableError
from finstat_kit.mirror.runs import BEGUN, DONE, About, Begun, History, parsed_about, row_of
from finstat_kit.mirror.state import (
    CODELISTS,
    COLLECTIONS,
    CONTENTS,
    ONLY,
    TEMPLATES,
    Folder,
    codelists_in,
    lacking_of,
    legible,
    shortfall,
)
from finstat_kit.mirror.versions import (
    HALF,
    LENGTHS,
    LISTED,
    MISSING,
    NAMED,
    OWNED,
    RECORD,
    REPORTS_OF,
    TEXTS,
    UNCHANGED,
    UNREADABLE,
    Ints,
    answers_of,
    ids_named,
    is_among,
    of_ids,
    places_in,
    rows_of,
    schema_of,
)
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import forms, requests, wire
from finstat_kit.protocol.forms import Form
from finstat_kit.protocol.records import KINDS, Record
from finstat_kit.protocol.requests import Request

log = logging.getLogger("finstat_kit")

REPORT: Final = pl.Schema(
    {
        "list": pl.String(),
        "window": pl.Date(),
        "new": pl.Int64(),
        "changed": pl.Int64(),
        "gone": pl.Int64(),
        "unreadable": pl.Int64(),
        "requests": pl.Int64(),
        "seconds": pl.Float64(),
    }
)
_UNITS: Final = 10_000  # records per commit
_CONTENTS: Final = 2_000  # a report is of 10 kB
_NAMED: Final = 200_000  # ids per commit
_MOST_MISSING: Final = 0.01  # of a list
# A codelist of ten entries; only the header of its reply is read.
_SMALL: Final = Request(f"/api/{wire.CODELISTS['ownership_types'].endpoint}", lambda body: None)


class Sync:
    """A sync of one folder, which the caller holds for writing.

    Args:
        folder: The folder.
        register: The register to copy.
        first: First day of change of a new mirror; None is everything.
        kept: Collections to keep the records of, beside those that are kept already.
        only: Units whose contents alone are kept, beside those already; None is as before.
        budget: The time it may take.
        max_missing: As of `Mirror.sync`.
        progress: As of `Mirror.sync`.
    """

    def __init__(
        self,
        folder: Folder,
        register: Register,
        first: date | None,
        kept: Sequence[str],
        only: pl.Series | None,
        budget: Budget,
        max_missing: int | None,
        progress: bool | None,
    ) -> None:
        self._folder = folder
        self._logs = folder.logs
        self._register = register
        self._first = first
        self._given = kept
        self._only = only
        self._budget = budget
        self._max_missing = max_missing
        self._progress = progress
        self._report: list[dict[str, object]] = []
        self._versions: dict[str, int] = {}
        self._forms: dict[int, Form | None] = {}
        self._unformed: dict[int, str] = {}  # templates not fetched in this sync, and why
        self._owed: list[int] = []  # reports that the statements fetched last name

    def go(self, *, full: bool) -> pl.DataFrame:
        """Bring the copy in step; return the report."""
        self._settle(full=full)
        with contextlib.suppress(OutOfTimeError):
            while True:
                resumed = self._begin(full=full)
                self._lists()
                self._finish()
                if not resumed:
                    break
                full = False  # what changed meanwhile belongs to another run
            self._fill()
        return (
            pl.DataFrame(self._report, schema=REPORT)
            .group_by("list", maintain_order=True)
            .agg(
                pl.col("window").first(),
                pl.col("new", "changed", "gone").sum(),
                pl.col("unreadable").last(),
                pl.col("requests", "seconds").sum(),
            )
        )

    # What is there

    def _settle(self, *, full: bool) -> None:
        """Check that the copy is whole and of this register; drop what is damaged in a full sync.

        Raises:
            MirrorError: Something is lost or damaged, and the sync is not full.
            UsageError: The copy is of another register.
        """
        about = None
        if self._folder.is_begun:
            try:
                about, self._history = self._folder.begun(), self._folder.history()
            except MirrorError as error:
                older = (self._folder.path / "mirror.json").exists()
                if not full or older or isinstance(error, UnreadableError):
                    raise
        self._about = self._agreed(about)
        if about is not None and about != self._about:  # the runs came from elsewhere
            if not full:
                raise foreign(self._folder.runs)
            about = None
        self._gaps: list[tuple[str, int, int]] = []
        self._lost: list[tuple[Log, list[str]]] = []
        if about is None:
            shutil.rmtree(self._folder.runs.path, ignore_errors=True)
            self._folder.runs.reopen()
            self._history = History(pl.DataFrame(schema=self._folder.runs.schema))
        for name, table in self._logs.items():
            self._look(name, table, full=full, begun=about is not None)
        history = self._history
        for name, table in self._logs.items():
            known = max((entry.last for entry in table.entries()), default=0)
            reached = [run.reached.get(name, 0) for run in history.done]
            reached += [last for gap, _, last in (*history.gaps, *self._gaps) if gap == name]  # type: ignore[misc]
            self._versions[name] = int(max([known, *reached]))
        self._versions["reports"] = max(self._versions["reports"], self._versions["cells"])
        self._choose()

    def _agreed(self, about_runs: About | None) -> About:
        """Return what the mirror is of, by one request.

        Raises:
            UsageError: It is of another register, or an extract.
            MirrorError: A table cannot be read.
            RegisterError: The register does not reply.
        """
        descriptions = [] if about_runs is None else [about_runs]
        for table in self._logs.values():
            try:
                if table.refresh() is not None:
                    descriptions.append(parsed_about(table.about, table.path))
            except UnreadableError:
                raise
            except MirrorError:
                continue
        # What most tables say counts: any one may have come from elsewhere.
        about = max(descriptions, key=descriptions.count, default=None)
        register, session = self._register, self._register._session
        if about is not None and about.extract is not None:
            raise UsageError(
                f"{self._folder.path} is an extract, which no sync brings in step",
                cure="sync the mirror it was taken from, and extract again",
            )
        if about is not None and session.remote and register.base_url != about.register:
            raise self._another(about.name, register.base_url)
        try:
            session.exchange.get(_SMALL)
        except KeyboardInterrupt as interrupt:
            raise Interrupted("interrupted before anything was fetched") from interrupt
        invented, first = session.exchange.invented or None, self._first or wire.BEGINNING
        new = About(register.base_url, invented, first, mirror=uuid4().hex)
        if about is not None and about.name != new.name:
            raise self._another(about.name, new.name)
        return about or new

    def _another(self, former: str, new: str) -> UsageError:
        return UsageError(
            f"the mirror at {self._folder.path} is of {former}, not of {new}",
            cure="give its register or another folder",
        )

    def _look(self, name: str, table: Log, *, full: bool, begun: bool) -> None:
        """Look for damage in a log; in a full sync note what has to be dropped."""
        history, done = self._history, self._history.done
        # What a run counts that was done before a loss is no measure of what is there.
        run = done[-1] if done and not (history.open and history.open.lost) else None
        before = max([run.reached.get(name, 0) for run in done], default=0)
        try:
            table.reopen()
            if table.about is not None and parsed_about(table.about, table.path) != self._about:
                raise foreign(table)
            if short := shortfall(table, run):
                raise MirrorError(f"{table.path} is lost: {short}; {CURE}")
            if name == "cells" and table.about is None:
                self._see_blank()
            if not full:
                self._folder.scan(table)
                return
        except MirrorError as error:
            if not full or isinstance(error, UnreadableError):
                raise
            # The cells of records that no run counts are lost too.
            logs = [table, self._logs["reports"]] if name == "cells" else [table]
            last = int(max([before, *(entry.last for log in logs for entry in log.entries())]))
            self._gaps.append((name, 0, last))
            self._lose(table, [])
            return
        damaged = []
        for entry, what in table.damage():
            if isinstance(what, UnreadableError):
                raise what
            damaged.append(entry)
            last = int(entry.last) if entry.last < math.inf else before
            self._gaps.append((name, int(entry.first), last))
        if damaged:
            self._lose(table, [entry.path for entry in damaged])

    def _see_blank(self) -> None:
        """See that no report that is kept has cells; whether any run counts it does not matter.

        Raises:
            MirrorError: Some have, or the reports are lost too.
        """
        with legible(self._folder.path):
            rows = self._folder.rows("reports", [*self._history.gaps, *self._gaps])
            records = rows.filter(pl.col("kind") == RECORD).select("id", "version", LENGTHS, TEXTS)
            for some in records.collect().iter_slices(_CONTENTS):
                joined(some, pl.DataFrame(schema=STORED))

    def _lose(self, table: Log, paths: list[str]) -> None:
        """Note the files of a log that are to be dropped, or all of it.

        Raises:
            MirrorError: The register cannot bring them back.
        """
        if table.path.name == "only" and self._only is None:
            raise MirrorError(
                f"{table.path} is lost, and with it which units' contents are kept: "
                f"fk.Mirror({str(self._folder.path)!r}, only=units).sync(full=True) writes it "
                "anew, with the units then given"
            )
        self._lost.append((table, paths))

    def _choose(self) -> None:
        """Settle which contents are kept, and of which units.

        Raises:
            UsageError: There are contents of all units already.
        """
        held = tuple(n for n in CONTENTS if self._logs[n].path.is_dir())
        former = self._history.contents if self._history.version else self._with_records(held)
        known = pl.Series("id", [], dtype=pl.Int64)
        if all(table.path.name != "only" for table, _ in self._lost):
            with legible(self._folder.path):
                known = self._folder.scan(self._logs["only"]).select("id").collect()["id"]
        some = self._history.only is not None or not known.is_empty()
        checked(self._only, former, self._given, chosen=some, begun=bool(former))
        if some and known.is_empty() and self._only is None:
            self._lose(self._logs["only"], [])  # named by the runs, and never written down
        given = known.clear() if self._only is None else self._only
        self._new = given.filter(~given.is_in(known.implode()))
        self._some = pl.concat([known, given]).unique().sort() if some or len(given) else None
        self._kept = tuple(n for n in CONTENTS if n in {*former, *self._given})

    def _with_records(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the collections with records, where no run says which are kept."""
        with contextlib.suppress(MirrorError, *BROKEN):
            return tuple(
                name
                for name in names
                if self._folder.scan(self._logs[name])
                .filter(pl.col("kind") != LISTED).head(1).collect().height
            )  # fmt: skip
        return ()

    # Runs

    def _begin(self, *, full: bool) -> bool:
        """Set the run that was cut off, or the next one; return whether it is the former."""
        history, today = self._folder_history(), self._register.today
        cut = history.open
        self._base = dict(self._versions)
        self._is_written = False
        if cut is not None and (cut.full or not full) and not self._lost:
            self._run, self._base = cut, dict(cut.reached)
            # That a loss is being made good is in the row that it began with.
            self._is_written = cut.lost or history.contents == self._kept
            self._write_begun()
            return True
        first = self._about.first
        if not full and history.done:
            days = [history.done[-1].started, today]
            with legible(self._folder.path):
                newest = self._folder.scan(self._logs["units"])
                day = newest.select(pl.col(wire.CHANGED).max()).collect().item()
            days += [] if day is None else [day]
            first = max(first, min(days) - timedelta(days=1))
        by = f"process {os.getpid()} on {socket.gethostname()}"
        self._run = Begun(history.last + 1, first, today, full, self._base, bool(self._lost), by)
        # A full run names all ids by this row, and any what it keeps, however it ends.
        if full or self._lost or not history.version or history.contents != self._kept:
            self._write_begun()
            self._drop()
        return False

    def _folder_history(self) -> History:
        """Return the runs as committed; none where none is written yet."""
        return self._folder.history() if self._folder.runs.refresh() else self._history

    def _drop(self) -> None:
        """Drop what is lost or damaged; what is gone is in the row that the run began with."""
        for table, paths in self._lost:
            if paths:
                table.drop(paths)
            else:
                shutil.rmtree(table.path, ignore_errors=True)
            table.reopen()
        self._lost = []

    def _write_begun(self) -> None:
        if self._is_written:
            return
        self._note(BEGUN, [(name, version, 0) for name, version in self._base.items()], self._gaps)
        self._gaps = []
        self._is_written = True

    def _finish(self) -> None:
        """Write down that the run is done, which sets the next window."""
        done = self._folder_history().done
        # Without changes on the same day nothing is recorded.
        if not self._is_written and done and done[-1].started == self._run.started:
            return
        self._write_begun()
        self._note(DONE, self._folder.reached())

    def _note(
        self,
        kind: str,
        reached: Sequence[tuple[str, int, int]],
        lost: Sequence[tuple[str, int, int]] = (),
    ) -> None:
        runs, units = self._folder.runs, self._logs["units"]
        number = max(self._folder_history().version, self._folder.noted()) + 1
        only = None if self._some is None else len(self._some)
        row = row_of(
            kind, number, self._run, self._register.today, reached, self._kept, only, lost,
            self._least() if kind == DONE else {},
        )  # fmt: skip
        runs.append(row, self._about.text)
        if kind == DONE:
            units.note(number)  # so that a lost commit of the runs is found
        tidy(runs)
        self._folder.history()  # `Mirror.today` does not look itself

    def _least(self) -> dict[str, int]:
        """Return the least version of each log that counts, but for the content of records."""
        history, least = self._folder_history(), {}
        done = history.done[-1].least if history.done else {}
        for name in ("units", *self._kept):
            least[name], base = done.get(name, 0), history.base.get(name, 0)
            # It only grows, and only by what a full run answers.
            if least[name] <= base and base:
                with legible(self._folder.path):
                    least[name] = versions.least(self._folder.scan(self._logs[name]))
        return least

    def _append(self, name: str, rows: pl.DataFrame) -> None:
        """Commit rows, after the row that the run begins with."""
        if rows.height:
            self._write_begun()
            self._is_shown = False
            self._logs[name].append(rows, self._about.text)
            tidy(self._logs[name])

    def _next(self, name: str) -> int:
        self._versions[name] += 1
        return self._versions[name]

    # Lists

    def _lists(self) -> None:
        """Bring units, lists and codelists in step."""
        self._name_units()
        for name in (*COLLECTIONS, "codelists"):
            counts = {"new": 0, "changed": 0, "gone": 0, "unreadable": 0}
            with self._reported(name, counts):
                try:
                    if name == "codelists":
                        self._codelists(counts)
                        continue
                    self._list(name, counts)
                    if self._run.full:  # listed anew: it has changed while records were fetched
                        self._mark_missing(name, counts)
                except RegisterError as error:
                    raise resumable(error) from error.__cause__
                except KeyboardInterrupt as interrupt:
                    raise Interrupted(
                        f"interrupted in {name}; everything before it is in the mirror, the next "
                        "sync() resumes"
                    ) from interrupt

    @contextlib.contextmanager
    def _reported(self, name: str, counts: dict[str, int]) -> Iterator[None]:
        asked, began = self._register.stats.requests, monotonic()
        try:
            yield
        finally:
            self._report.append(
                {
                    "list": name, "window": None if name == "codelists" else self._run.since,
                    **counts, "requests": self._register.stats.requests - asked,
                    "seconds": monotonic() - began,
                }
            )  # fmt: skip

    def _list(self, name: str, counts: dict[str, int]) -> None:
        """Walk a list of changes: fetch the units that it names, write the other ids down."""
        stands = self._standing(name)
        if name == "units":
            self._units(stands, counts)
            return
        known = stands.filter("listed")
        if name in self._kept:  # to be fetched again, once per run
            known = known.filter(pl.col("named") > self._base[name])
        there = stands["id"].to_numpy()
        ids: list[pl.Series] = []

        def commit() -> None:
            if not ids:
                return
            batch = pl.concat(ids)
            ids.clear()
            version = self._next(name)
            before = int((places_in(there, batch.to_numpy()) >= 0).sum())
            counts["new"] += len(batch) - before
            counts["changed"] += before
            self._append(name, rows_of(name, batch.to_frame("id"), LISTED, version,
                                       self._register.today))  # fmt: skip

        for some in self._pages(name):
            self._budget.check()
            ids.append(some.filter(~is_among(some, known["id"])))
            if sum(map(len, ids)) >= _NAMED:
                commit()
        ids[:] = [some for some in ids if len(some)]
        commit()

    def _pages(self, name: str) -> Iterator[pl.Series]:
        """Yield the ids of a list since the day of the run, page by page."""
        collection = getattr(self._register, name)
        try:
            yield from (page["id"] for page in collection.pages(changed_since=self._run.since))
        except NotHeld:  # a served mirror knows no days of it: all of it is named anew
            yield from (page["id"] for page in collection.pages())

    def _units(self, stands: pl.DataFrame, counts: dict[str, int]) -> None:
        register, since = self._register, self._run.since
        collection = register.units
        base = self._base["units"]
        waiting = lacking_of(stands).filter("unreadable")
        counts["unreadable"] = waiting.height
        unread = set(waiting["id"])
        late = stands.filter(pl.col("answered") > base)["id"].to_numpy()  # by this run already
        again = [
            id_ for id_ in waiting["id"] if not len(late) or places_in(late, np.array([id_])) < 0
        ]
        fetcher = Fetcher(register, KINDS["units"], self._budget)
        query = walk.query_of(register._session, "units", since, 0)

        def total(stop: threading.Event) -> int | None:
            count = walk.count_or_none(register._session, query, stop)
            return None if count is None else len(again) + count - len(late)

        def commit(fetched: list[Fetched]) -> None:
            self._answer("units", fetched, stands, counts)
            for id_, record in fetched:
                (unread.add if isinstance(record, str) else unread.discard)(id_)
            counts["unreadable"] = len(unread)

        with bar(
            "records", total, remote=register._session.remote, progress=self._progress
        ) as advance:
            for batch in fetcher.batches(again, _UNITS):
                fetcher.fetch(batch, advance, commit, moves=False)
            for page in collection.pages(changed_since=since):
                left = page["id"].filter(places_in(late, page["id"].to_numpy()) < 0)
                ids = [id_ for id_ in left.to_list() if id_ not in again]
                for batch in fetcher.batches(ids, _UNITS):
                    fetcher.fetch(batch, advance, commit, moves=True)
            commit(fetcher.given_up())

    def _mark_missing(self, name: str, counts: dict[str, int]) -> None:
        """Mark what the register no longer lists.

        Raises:
            ProtocolError: It is too much to be true.
        """
        listed = pl.concat([pl.Series("id", [], dtype=pl.Int64), *self._pages(name)])
        known = self._standing(name).filter("listed")["id"].to_numpy()
        gone = np.setdiff1d(known, listed.to_numpy(), assume_unique=True)
        if name == "reports" and len(gone):  # what no list ever named is missing from none
            with legible(self._folder.path):
                ever = self._folder.scan(self._logs[name]).filter(kind=LISTED).select("id")
                gone = np.intersect1d(gone, ever.collect()["id"].to_numpy())
        most = int(len(known) * _MOST_MISSING) if self._max_missing is None else self._max_missing
        if len(gone) > most:
            raise ProtocolError(
                f"the register no longer lists {len(gone):,} of {len(known):,} {name}; more than "
                f"{most:,} need a confirmation. Check the register; if they were really removed, "
                f"mark them missing by sync(full=True, max_missing={len(gone)})"
            )
        if len(gone):
            rows = pl.DataFrame({"id": gone}).with_columns(gone=pl.lit(MISSING))
            version, today = self._next(name), self._register.today
            self._append(name, rows_of(name, rows, MISSING, version, today))
            counts["gone"] += len(gone)

    def _codelists(self, counts: dict[str, int]) -> None:
        """Fetch the codelists; one that is empty or broken does not replace one with entries."""
        with legible(self._folder.path):
            former = codelists_in(self._folder.scan(self._logs["codelists"]).collect())
        changed, version = [], self._versions["codelists"] + 1
        for name in wire.CODELISTS:
            before = former.get(name)
            try:
                entries: pl.DataFrame = self._register.codelist(name, refresh=True)
            except ProtocolError as error:
                if before is None:
                    raise
                log.warning("the codelist %s cannot be read: %s", name, error)
                entries = before.clear()
            if before is not None and entries.is_empty():
                log.warning("the codelist %s has no entries; the former one is kept", name)
                counts["unreadable"] += 1
                continue
            if "parent_code" not in entries.columns:
                entries = entries.with_columns(parent_code=pl.lit(None, pl.String))
            rows = entries.select(
                version=pl.lit(version, pl.Int64), name=pl.lit(name), code="code",
                name_sk="name_sk", name_en="name_en", parent_code="parent_code",
            ).cast(CODELISTS)  # fmt: skip
            count_entries(counts, before, rows)
            if before is None or not rows.drop("version", "name").sort("code").equals(before):
                changed.append(rows)
        if changed:
            self._append("codelists", pl.concat(changed))
            self._versions["codelists"] = version

    def _name_units(self) -> None:
        """Write the units down whose contents are kept, where not those of all are."""
        rows = pl.DataFrame({"version": self._versions["only"] + 1, "id": self._new}, schema=ONLY)
        self._append("only", rows)
        self._versions["only"] += bool(rows.height)
        self._new = self._new.clear()

    # Records

    def _standing(self, name: str) -> pl.DataFrame:
        """Return what the log of a collection says of each id, with the digests of contents."""
        with legible(self._folder.path):
            history = self._folder_history()
            log = self._folder.rows(name, [*history.gaps, *self._gaps])
            return versions.standing(log, history.base.get(name, 0), contents=True)

    def _answer(
        self, name: str, fetched: list[Fetched], stands: pl.DataFrame, counts: dict[str, int]
    ) -> pl.Series:
        """Commit the records of a batch; return the ids of those that could be read."""
        kind, today = KINDS[name], self._register.today
        problems = [(id_, why[:200]) for id_, why in fetched if isinstance(why, str)]
        records = kind.frame([record for _, record in fetched if not isinstance(record, str)])
        version = self._versions[name] + 1
        cells = None
        placed = pl.lit(None, pl.Boolean)
        if name == "reports":
            records, cells = split(records, version, self._form)
            templates = [t for t, form in self._forms.items() if form is None]
            # A report is stored again once its template is known.
            placed = pl.when(pl.col("idSablony").is_in(templates)).then(pl.lit(value=False))
        if name == "statements":
            self._owed += records[REPORTS_OF].explode().drop_nulls().to_list()
        answers = answers_of(records.with_columns(placed=placed)).drop("placed")
        reasons = {"id": pl.Int64, "problem": pl.String}
        unread = pl.DataFrame(problems, schema=reasons, orient="row")
        unread = unread.with_columns(versions.digests(unread["problem"]))
        before = ("known", "listed", "readable", pl.col("digest").alias("before"))

        def marked(rows: pl.DataFrame) -> pl.DataFrame:
            # A join would look at all that stands, batch by batch.
            at = pl.Series(places_in(stands["id"].to_numpy(), rows["id"].to_numpy()))
            now = stands.select(before).lazy().select(pl.all().gather(at.set(at < 0, None)))
            equal = pl.col("listed") & (pl.col("digest") == pl.col("before"))
            return rows.hstack(now.collect()).with_columns(equal=equal.fill_null(value=False))

        answers, unread = marked(answers), marked(unread)
        same = answers["equal"] & answers["readable"].fill_null(False)
        # What was named is to be answered; of units only a full run names all.
        every = name != "units" or self._run.full
        news, equal = answers.filter(~same), answers.filter(same if every else pl.lit(value=False))
        waits = unread["equal"] & ~unread["readable"].fill_null(True)
        unread = unread if every else unread.filter(~waits)
        schema = schema_of(name)
        columns, half = [n for n in schema if n in answers.columns], pl.col("digest") & HALF
        rows = [
            rows_of(name, news.select(columns), RECORD, version, today),
            rows_of(name, equal.select("id", "gone", half), UNCHANGED, version, today),
            rows_of(name, unread.select("id", "problem", "digest"), UNREADABLE, version, today),
        ]
        whole = pl.concat(rows)
        if whole.height:
            self._versions[name] = version
            if cells is not None:
                # The cells first: a record without its own would not be whole, cells without a
                # record are nothing.
                self._append("cells", cells.filter(pl.col("report_id").is_in(news["id"].implode())))
            self._append(name, whole)
        known = news["known"].fill_null(value=False)
        gone = news["gone"].is_not_null()
        counts["gone"] += int(gone.sum())
        counts["changed"] += int((known & ~gone).sum())
        counts["new"] += int((~known & ~gone).sum())
        return answers["id"]

    def _fill(self) -> None:
        """Fetch the lacking records of the kept collections: the newest statements first."""
        if not self._kept:
            return
        self._is_written = True
        # A sync that was killed may have left records that no run shows.
        last = self._folder_history().done[-1].reached
        reached = self._folder.reached()
        self._is_shown = all(last.get(name, 0) == version for name, version, _ in reached)
        tally = {name: {"new": 0, "changed": 0, "gone": 0} for name in self._kept}
        spent = {name: [0, 0.0] for name in self._kept}
        try:
            self._place_reports()
            filling = _Filling(self, tally, spent)
            try:
                filling.go()
            finally:
                for name in self._kept:
                    self._report.append(
                        {"list": f"{name} records", "window": self._run.since, **tally[name],
                         "unreadable": filling.failed(name), "requests": int(spent[name][0]),
                         "seconds": spent[name][1]}
                    )  # fmt: skip
        except OutOfTimeError:
            pass
        except RegisterError as error:
            self._show()
            raise resumable(error) from error.__cause__
        except KeyboardInterrupt as interrupt:
            with contextlib.suppress(MirrorError):
                self._show()
            raise Interrupted(
                "interrupted while records were fetched; everything before is in the mirror, the "
                "next sync() resumes"
            ) from interrupt
        self._show()

    def _show(self) -> None:
        """Write down how far the records are, of the lists that were walked last."""
        if self._is_shown:
            return
        last = self._folder_history().done[-1]
        self._run = self._run._replace(run=last.run, since=last.since, started=last.started)
        self._note(DONE, self._folder.reached())
        self._is_shown = True

    def _place_reports(self) -> None:
        """Fetch the templates of kept reports that are not kept; name their reports anew."""
        if "reports" not in self._kept:
            return
        with legible(self._folder.path):
            kept = self._folder.scan(self._logs["templates"]).collect()
            used = (
                self._folder.scan(self._logs["reports"]).filter(pl.col("kind") == RECORD)
                .select(pl.col("idSablony").unique().drop_nulls().sort()).collect()["idSablony"]
            )  # fmt: skip
        for template, body in kept.select("id", "body").rows():
            self._forms[template] = forms.parse_template(body.encode(), template)
        late = [template for template in used if template not in self._forms]
        self._templates(late)
        placed = [template for template in late if self._forms.get(template) is not None]
        if not placed:
            return
        with legible(self._folder.path):
            own = (pl.col("kind") == RECORD) & pl.col("idSablony").is_in(placed)
            rows = self._folder.scan(self._logs["reports"])
            ids = rows.filter(own).select("id").unique().sort("id").collect()
        version = self._next("reports")
        self._append("reports", rows_of("reports", ids, LISTED, version, self._register.today))

    def _templates(self, used: Iterable[int]) -> None:
        """Fetch the templates that are not kept yet; each once per sync."""
        fetched: dict[int, str] = {}
        for template in sorted(set(used) - self._forms.keys() - self._unformed.keys()):
            try:
                request = with_body(template)
                fetched[template], self._forms[template] = self._register._session.exchange.get(
                    request
                )
            except NotFound:
                self._forms[template] = None  # for this sync; the next one requests it again
            except RegisterError as error:
                self._unformed[template] = error.message
        version = self._versions["templates"] + bool(fetched)
        rows = {"version": version, "id": list(fetched), "body": list(fetched.values())}
        self._append("templates", pl.DataFrame(rows, schema=TEMPLATES))
        self._versions["templates"] = version

    def _form(self, template: int) -> Form | None:
        return self._forms.get(template)

    def _with_templates(self, fetched: list[Fetched]) -> list[Fetched]:
        """Replace reports whose template could not be fetched by the reason.

        Cells are written once, each with its place in the template.
        """
        of: dict[int, int] = {i: getattr(record, "idSablony", None) or 0 for i, record in fetched}
        self._templates(set(of.values()) - {0})
        why: dict[int, Record | str] = {
            template: f"template {template}: {reason}"
            for template, reason in self._unformed.items()
        }
        return [(id_, why.get(of[id_], record)) for id_, record in fetched]


class _Filling:
    """The lacking records of the kept collections, as they become fewer."""

    def __init__(
        self, sync: Sync, tally: dict[str, dict[str, int]], spent: dict[str, list[float]]
    ) -> None:
        self._sync = sync
        self._tally = tally
        self._spent = spent
        self._stands: dict[str, pl.DataFrame] = {}
        self._left: dict[str, Ints] = {}  # ascending, those that failed before apart
        self._failed: dict[str, set[int]] = {}
        self._fetchers: dict[str, Fetcher] = {}
        self._batches = 0
        only = sync._some
        for name in sync._kept:
            self._stands[name] = sync._standing(name)
            lack = lacking_of(self._stands[name])
            if only is not None and name != "reports":  # their statements will name these
                own = self._owned(name, only)
                lack = lack.filter(pl.col("id").is_in(own.implode()))
            self._left[name] = lack.filter(~pl.col("unreadable"))["id"].to_numpy()
            self._failed[name] = set(lack.filter("unreadable")["id"])
            self._fetchers[name] = Fetcher(sync._register, KINDS[name], sync._budget)
        self._chosen = only

    def failed(self, name: str) -> int:
        """Return how many records of a collection could not be read."""
        return len(self._failed[name])

    def go(self) -> None:
        """Fetch until nothing is lacking."""
        sync = self._sync
        names = sync._kept
        total = sum(len(self._wanted(name)) for name in names)
        remote = sync._register._session.remote
        with bar("records", total, remote=remote, progress=sync._progress) as advance:
            for name in names:
                again = np.array(sorted(self._failed[name], reverse=True), dtype=np.int64)
                self._fill(name, again, advance, moves=False)
            if {"statements", "reports"} <= set(names):
                self._fill("reports", self._owed_by_statements(), advance)
            # The reports last: statements and annual reports name them.
            for name in sorted(names, key=lambda name: name == "reports"):
                self._fill(name, self._wanted(name)[::-1], advance)

    def _fill(self, name: str, ids: Ints, advance: Advance, *, moves: bool = True) -> None:
        sync, fetcher, began = self._sync, self._fetchers[name], monotonic()
        before = sync._register.stats.requests
        follows = moves and name == "statements" and "reports" in sync._kept

        def commit(fetched: list[Fetched]) -> None:
            if not fetched:
                return
            if name == "reports":
                fetched = sync._with_templates(fetched)
            elif "reports" in self._left and sync._about.since is None:
                self._name_reports(fetched)
            read = sync._answer(name, fetched, self._stands[name], self._tally[name])
            ids = {id_ for id_, _ in fetched}
            self._failed[name] = (self._failed[name] - ids) | (ids - set(read))
            self._left[name] = np.setdiff1d(self._left[name], np.array(sorted(ids), dtype=np.int64))
            self._batches += 1
            if self._batches % MANY_FILES == 0:  # what is fetched so far is shown
                sync._show()

        def spent() -> None:
            self._spent[name][0] += sync._register.stats.requests - before
            self._spent[name][1] += monotonic() - began

        try:
            for batch in fetcher.batches(ids, _CONTENTS):
                fetcher.fetch([int(id_) for id_ in batch], advance, commit, moves=moves)
                if follows:
                    spent()
                    named = np.array(sync._owed, dtype=np.int64)
                    sync._owed.clear()
                    self._fill("reports", self._among("reports", named), advance)
                    before, began = sync._register.stats.requests, monotonic()
            commit(fetcher.given_up())
        finally:
            spent()

    def _name_reports(self, owners: list[Fetched]) -> None:
        """Write down the reports that statements name and no list has: they are to be fetched."""
        sync, stands = self._sync, self._stands["reports"]
        ids = [getattr(record, REPORTS_OF, None) or () for _, record in owners]
        named = np.unique(np.array([id_ for some in ids for id_ in some], dtype=np.int64))
        new = pl.DataFrame({"id": named[places_in(stands["id"].to_numpy(), named) < 0]})
        if new.is_empty():
            return
        version, today = sync._next("reports"), sync._register.today
        sync._append("reports", rows_of("reports", new, NAMED, version, today))
        self._stands["reports"] = pl.concat([stands, new], how="diagonal").sort("id")
        self._left["reports"] = np.union1d(self._left["reports"], new["id"].to_numpy())

    def _wanted(self, name: str) -> Ints:
        """Return what is left of a collection, as far as it is wanted, ascending."""
        if name != "reports" or self._chosen is None:
            return self._left[name]
        return self._among(name, self._owned(name, self._chosen).to_numpy())[::-1]

    def _among(self, name: str, ids: Ints) -> Ints:
        """Return which of some ids are left, the highest first."""
        return np.intersect1d(self._left[name], ids)[::-1]

    def _owed_by_statements(self) -> Ints:
        """Return the lacking reports of the statements that are held."""
        return self._among("reports", self._named(["statements"], REPORTS_OF).to_numpy())

    def _owned(self, name: str, units: pl.Series) -> pl.Series:
        if name == "reports":
            return self._named(list(OWNED), REPORTS_OF)
        return self._named(["units"], OWNED[name], of_ids("id", units))

    def _named(self, names: Sequence[str], column: str, where: pl.Expr | None = None) -> pl.Series:
        folder = self._sync._folder
        with legible(folder.path):
            rows = [folder.scan(folder.logs[name]) for name in names]
            return ids_named([r if where is None else r.filter(where) for r in rows], column)


def checked(
    only: pl.Series | None,
    former: Sequence[str],
    given: Sequence[str],
    *,
    chosen: bool,
    begun: bool,
) -> None:
    """See that the contents of some units alone can be kept.

    Args:
        only: Ids of the units, None where none were given.
        former: The collections that are kept.
        given: The collections to keep beside them.
        chosen: Whether contents of some units alone are kept already.
        begun: Whether any are.

    Raises:
        UsageError: They cannot.
    """
    kept = {*former, *given}
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
    if only is not None and begun and not chosen:
        raise UsageError(
            f": this mirror keeps {list(former)} of all units already, and what was once kept "
            "stays so",
            argument="only",
            cure="leave only= out, or give another folder",
        )
    if (only is not None or chosen) and "reports" in kept and "statements" not in kept:
        raise UsageError(
            ": statements name the reports of units", argument="only", cure="keep 'statements' too"
        )


def tidy(table: Log) -> None:
    """Merge the files of a log where there are many: each slows down every commit a little."""
    if len(table.entries()) >= MANY_FILES:
        table.compact(24)


def foreign(table: Log) -> MirrorError:
    """Return the error of a table that came from another mirror."""
    return MirrorError(
        f"{table.path} is of another register or another mirror than the tables beside it; put "
        f"back whichever came from elsewhere, or {CURE}"
    )


def resumable(error: RegisterError) -> RegisterError:
    """Return an error with the cure of a sync that was cut off."""
    error.partial = error.cursor = None
    if not isinstance(error, MirrorError):
        error.message += "; everything before it is in the mirror, the next sync() resumes"
    return error


def count_entries(counts: dict[str, int], before: pl.DataFrame | None, after: pl.DataFrame) -> None:
    """Count what is new, changed and gone in a codelist."""
    former = {} if before is None else {row[0]: row for row in before.iter_rows()}
    now = {row[0]: row for row in after.drop("version", "name").iter_rows()}
    counts["new"] += len(now.keys() - former.keys())
    counts["changed"] += sum(former[code] != now[code] for code in now.keys() & former.keys())
    counts["gone"] += len(former.keys() - now.keys())


def with_body(template: int) -> Request[tuple[str, Form]]:
    """Return the request of a template that gives its body beside it."""
    request = requests.template(template)
    return Request(
        request.path, lambda body: (body.decode(), request.read(body)), request.parameters,
        request.cap,
    )  # fmt: skip
