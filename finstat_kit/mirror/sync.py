"""One sync: the changes since the window are listed, what is lacking is fetched, batch by batch.

There is no cursor to keep. Lists are walked from their start, and what the run has answered already
is not fetched again, so that whatever ends a sync, the next one finds what is left.
"""

from __future__ import annotations

import contextlib
import logging
import math
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
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
    NotHeld,
    ProtocolError,
    RegisterError,
    UsageError,
)
from finstat_kit.mirror.cells import STORED, joined
from finstat_kit.mirror.fetch import (
    BATCH_OF_CONTENTS,
    Budget,
    Contents,
    Fetched,
    Fetcher,
    OutOfTimeError,
    Templates,
    commit_answers,
)
from finstat_kit.mirror.log import BROKEN, CURE, UnreadableError
from finstat_kit.mirror.runs import About, History, parsed_about
from finstat_kit.mirror.state import (
    CODELISTS,
    COLLECTIONS,
    CONTENTS,
    ONLY,
    Folder,
    Losses,
    Writer,
    codelists_in,
    foreign,
    lacking_of,
    legible,
    see_whole,
)
from finstat_kit.mirror.versions import (
    LENGTHS,
    LISTED,
    MISSING,
    RECORD,
    TEXTS,
    is_among,
    places_in,
)
from finstat_kit.progress import bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.requests import Request

logger = logging.getLogger("finstat_kit")

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
_UNITS_PER_COMMIT: Final = 10_000
_IDS_PER_COMMIT: Final = 200_000
_MOST_MISSING: Final = 0.01  # of a list
# A codelist of ten entries; only the header of its reply is read.
_SMALL: Final = Request(f"/api/{wire.CODELISTS['ownership_types'].endpoint}", lambda body: None)


class Sync:
    """A sync of one folder, which the caller holds for writing.

    Args:
        folder: The folder.
        register: The register to copy.
        first: First day of change of a new mirror; None is everything.
        contents: Collections to keep the records of, beside those that are kept already.
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
        contents: Sequence[str],
        only: pl.Series | None,
        budget: Budget,
        max_missing: int | None,
        progress: bool | None,
    ) -> None:
        self._folder = folder
        self._logs = folder.logs
        self._register = register
        self._first = first
        self._given = contents
        self._only = only
        self._budget = budget
        self._max_missing = max_missing
        self._progress = progress
        self._report: list[dict[str, object]] = []
        self._writer: Writer

    def go(self, *, full: bool) -> pl.DataFrame:
        """Bring the copy in step; return the report."""
        self._writer = self._opened(full=full)
        with contextlib.suppress(OutOfTimeError):
            while True:
                resumed = self._writer.begin(full=full)
                self._lists()
                self._writer.finish()
                if not resumed:
                    break
                full = False  # what changed meanwhile belongs to another run
            if self._writer.kept:
                self._contents()
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

    def _opened(self, *, full: bool) -> Writer:
        """Check that the copy is whole and of this register; return the writer of its runs.

        Raises:
            MirrorError: Something is lost or damaged, and the sync is not full.
            UsageError: The copy is of another register.
        """
        runs, about_of_runs, history = self._folder.runs, None, None
        if self._folder.is_begun:
            try:
                about_of_runs, history = self._folder.begun(), self._folder.history()
            except MirrorError as error:
                if not full or isinstance(error, UnreadableError):
                    raise
        about = self._agreed(about_of_runs)
        if history is not None and about_of_runs != about:  # the runs came from elsewhere
            if not full:
                raise foreign(runs)
            history = None
        is_lost = history is None
        if history is None:
            history = History(pl.DataFrame(schema=runs.schema))
        losses = losses_of(self._folder, about, history, full=full)
        kept, only = self._chosen(losses, history)
        if is_lost:
            shutil.rmtree(runs.path, ignore_errors=True)
            runs.reopen()
        return Writer(self._folder, about, losses, kept, only, lambda: self._register.today)

    def _agreed(self, about_of_runs: About | None) -> About:
        """Return what the mirror is of, by one request.

        Raises:
            UsageError: It is of another register, or an extract.
            MirrorError: A log cannot be read.
            RegisterError: The register does not reply.
        """
        descriptions = [] if about_of_runs is None else [about_of_runs]
        for log in self._logs.values():
            try:
                if log.refresh() is not None:
                    descriptions.append(parsed_about(log.about, log.path))
            except UnreadableError:
                raise
            except MirrorError:
                continue
        # What most logs say counts: any one may have come from elsewhere.
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

    def _chosen(self, losses: Losses, history: History) -> tuple[tuple[str, ...], pl.Series | None]:
        """Return the collections whose records are kept, and of which units; None for all.

        Raises:
            UsageError: There are contents of all units already.
            MirrorError: Which units were chosen is lost.
        """
        only = self._logs["only"]
        held = tuple(name for name in CONTENTS if self._logs[name].path.is_dir())
        kept_before = history.contents if history.version else self._with_records(held)
        units = pl.Series("id", [], dtype=pl.Int64)
        is_lost = any(log is only for log, _ in losses.logs)
        if not is_lost:
            with legible(self._folder.path):
                units = self._folder.scan(only).select("id").collect()["id"]
        is_chosen = history.only is not None or not units.is_empty()
        if self._only is None and (is_lost or (is_chosen and units.is_empty())):
            raise MirrorError(
                f"{only.path} is lost, and with it which units' contents are kept: "
                f"fk.Mirror({str(self._folder.path)!r}, only=units).sync(full=True) writes it "
                "anew, with the units then given"
            )
        check_only(self._only, kept_before, self._given, chosen=is_chosen)
        given = units.clear() if self._only is None else self._only
        kept = tuple(name for name in CONTENTS if name in {*kept_before, *self._given})
        return kept, pl.concat([units, given]).unique().sort() if is_chosen or len(given) else None

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
                    if self._writer.run.full:
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
        before, began = self._register.stats.requests, monotonic()
        try:
            yield
        finally:
            self._report.append(
                {
                    "list": name, "window": None if name == "codelists" else self._writer.run.since,
                    **counts, "requests": self._register.stats.requests - before,
                    "seconds": monotonic() - began,
                }
            )  # fmt: skip

    def _list(self, name: str, counts: dict[str, int]) -> None:
        """Walk a list of changes: fetch the units that it names, write the other ids down."""
        stands = self._writer.standing(name)
        if name == "units":
            self._units(stands, counts)
            return
        listed_before = stands.filter("listed")
        if name in self._writer.kept:  # to be fetched again, once per run
            listed_before = listed_before.filter(pl.col("named") > self._writer.base[name])
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

        for some in self._pages(name):
            self._budget.check()
            ids.append(some.filter(~is_among(some, listed_before["id"])))
            if sum(map(len, ids)) >= _IDS_PER_COMMIT:
                commit()
        ids[:] = [some for some in ids if len(some)]
        commit()

    def _pages(self, name: str) -> Iterator[pl.Series]:
        """Yield the ids of a list since the day of the run, page by page."""
        collection = getattr(self._register, name)
        try:
            yield from (
                page["id"] for page in collection.pages(changed_since=self._writer.run.since)
            )
        except NotHeld:  # a served mirror knows no days of it: all of it is named anew
            yield from (page["id"] for page in collection.pages())

    def _units(self, stands: pl.DataFrame, counts: dict[str, int]) -> None:
        register, since = self._register, self._writer.run.since
        collection = register.units
        base = self._writer.base["units"]
        waiting = lacking_of(stands).filter("unreadable")
        counts["unreadable"] = waiting.height
        unread = set(waiting["id"])
        answered = stands.filter(pl.col("answered") > base)["id"].to_numpy()  # by this run already
        waiting_ids = waiting["id"].to_numpy()
        retried = waiting_ids[places_in(answered, waiting_ids) < 0]
        fetcher = Fetcher(register, KINDS["units"], self._budget)
        query = walk.query_of(register._session, "units", since, 0)

        def total(stop: threading.Event) -> int | None:
            count = walk.count_or_none(register._session, query, stop)
            return None if count is None else len(retried) + count - len(answered)

        def commit(fetched: list[Fetched]) -> None:
            commit_answers(self._writer, "units", fetched, stands, counts)
            for id_, record in fetched:
                (unread.add if isinstance(record, str) else unread.discard)(id_)
            counts["unreadable"] = len(unread)

        with bar(
            "records", total, remote=register._session.remote, progress=self._progress
        ) as advance:
            for ids_of_batch in fetcher.batches(retried, _UNITS_PER_COMMIT):
                fetcher.fetch(ids_of_batch.tolist(), advance, commit, moves=False)
            for page in collection.pages(changed_since=since):
                left = page["id"].filter(places_in(answered, page["id"].to_numpy()) < 0)
                ids = left.filter(places_in(retried, left.to_numpy()) < 0).to_list()
                for batch in fetcher.batches(ids, _UNITS_PER_COMMIT):
                    fetcher.fetch(batch, advance, commit, moves=True)
            commit(fetcher.given_up())

    def _mark_missing(self, name: str, counts: dict[str, int]) -> None:
        """Mark what the register no longer lists.

        Raises:
            ProtocolError: It is too much to be true.
        """
        # Listed anew: the list has changed while records were fetched.
        listed = pl.concat([pl.Series("id", [], dtype=pl.Int64), *self._pages(name)])
        known_ids = self._writer.standing(name).filter("listed")["id"].to_numpy()
        missing_ids = np.setdiff1d(known_ids, listed.to_numpy(), assume_unique=True)
        if name == "reports" and len(missing_ids):  # what no list ever named is missing from none
            with legible(self._folder.path):
                ever = self._folder.scan(self._logs[name]).filter(kind=LISTED).select("id")
                missing_ids = np.intersect1d(missing_ids, ever.collect()["id"].to_numpy())
        most = self._max_missing
        if most is None:
            most = int(len(known_ids) * _MOST_MISSING)
        if len(missing_ids) > most:
            raise ProtocolError(
                f"the register no longer lists {len(missing_ids):,} of {len(known_ids):,} {name}; "
                f"more than {most:,} need a confirmation. Check the register; if they were really "
                f"removed, mark them missing by sync(full=True, max_missing={len(missing_ids)})"
            )
        if len(missing_ids):
            rows = pl.DataFrame({"id": missing_ids}).with_columns(gone=pl.lit(MISSING))
            self._writer.append_ids(name, rows, MISSING)
            counts["gone"] += len(missing_ids)

    def _codelists(self, counts: dict[str, int]) -> None:
        """Fetch the codelists; one that is empty or broken does not replace one with entries."""
        with legible(self._folder.path):
            former = codelists_in(self._folder.scan(self._logs["codelists"]).collect())
        changed, version = [], self._writer.next("codelists")
        for name in wire.CODELISTS:
            before = former.get(name)
            try:
                entries: pl.DataFrame = self._register.codelist(name, refresh=True)
            except ProtocolError as error:
                if before is None:
                    raise
                logger.warning("the codelist %s cannot be read: %s", name, error)
                entries = before.clear()
            if before is not None and entries.is_empty():
                logger.warning("the codelist %s has no entries; the former one is kept", name)
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
            self._writer.append("codelists", pl.concat(changed))

    def _name_units(self) -> None:
        """Write the units down whose contents are kept, where not those of all are."""
        only = self._writer.only
        if only is None:
            return
        with legible(self._folder.path):
            named = self._folder.scan(self._logs["only"]).select("id").collect()["id"]
        new = only.filter(~only.is_in(named.implode()))
        rows = pl.DataFrame({"version": self._writer.next("only"), "id": new}, schema=ONLY)
        self._writer.append("only", rows)

    # Records

    def _contents(self) -> None:
        """Fetch the lacking records of the kept collections."""
        writer = self._writer
        writer.go_on()
        templates = Templates(self._register, writer)
        contents = Contents(self._register, writer, templates, self._budget, self._progress)
        try:
            with contextlib.suppress(OutOfTimeError):
                contents.fetch()
        except RegisterError as error:
            writer.show()
            raise resumable(error) from error.__cause__
        except KeyboardInterrupt as interrupt:
            with contextlib.suppress(MirrorError):
                writer.show()
            raise Interrupted(
                "interrupted while records were fetched; everything before is in the mirror, the "
                "next sync() resumes"
            ) from interrupt
        writer.show()
        self._report += contents.report()


def losses_of(folder: Folder, about: About, history: History, *, full: bool) -> Losses:
    """Return what a full sync has to drop.

    Args:
        folder: The folder.
        about: What the mirror is of.
        history: Its runs; none where they are lost.
        full: Whether the sync is a full one: all bytes are read then.

    Raises:
        MirrorError: Something is lost or damaged, and the sync is not full.
    """
    losses = Losses([], [])
    # What a run counts that was done before a loss is no measure of what is there.
    is_healing = history.open is not None and history.open.lost
    measure = history.done[-1] if history.done and not is_healing else None
    for name, log in folder.logs.items():
        used = history.used(name)
        try:
            log.reopen()
            see_whole(log, measure, about)
            if log.about is None and used > _lost_before(history, name):
                raise MirrorError(f"{log.path} is lost; {CURE}")
            if log.about is None and name == "cells":
                _see_no_cells_lost(folder, history, losses)
            if not full:
                folder.scan(log)
        except MirrorError as error:
            if not full or isinstance(error, UnreadableError):
                raise
            # The cells of records that no run counts are lost too.
            logs = [log, folder.logs["reports"]] if name == "cells" else [log]
            losses.gaps.append((name, 0, int(max(used, *(each.last for each in logs)))))
            losses.logs.append((log, []))
            continue
        if not full:
            continue
        damaged = []
        for entry, damage in log.damage():
            if isinstance(damage, UnreadableError):
                raise damage
            damaged.append(entry.path)
            last = int(entry.last) if entry.last < math.inf else used
            losses.gaps.append((name, int(entry.first), last))
        if damaged:
            losses.logs.append((log, damaged))
    return losses


def _lost_before(history: History, name: str) -> int:
    """Return up to which version all rows of a log are known to be lost."""
    lasts = [int(last) for log, first, last in history.gaps if log == name and not first]
    return max(lasts, default=0)


def _see_no_cells_lost(folder: Folder, history: History, losses: Losses) -> None:
    """See that no report that is kept has cells; whether any run counts it does not matter.

    Raises:
        MirrorError: Some have, or the reports are lost too.
    """
    with legible(folder.path):
        rows = folder.rows("reports", [*history.gaps, *losses.gaps])
        records = rows.filter(pl.col("kind") == RECORD).select("id", "version", LENGTHS, TEXTS)
        for some in records.collect().iter_slices(BATCH_OF_CONTENTS):
            joined(some, pl.DataFrame(schema=STORED))


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
