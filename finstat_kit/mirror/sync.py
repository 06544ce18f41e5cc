"""One sync: what changed since the window is listed, what is lacking is fetched, batch by batch.

All collections go the same way. Lists name ids; what was named and is not answered is requested.
So whatever ends a sync, the next one finds what is left, and goes on with a list at the id that it
named last.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import polars as pl
from msgspec.structs import replace

from finstat_kit.client.collections.fetching import duration
from finstat_kit.client.collections.looked_up import looked_up
from finstat_kit.client.methods.financials import plan
from finstat_kit.client.register import Register
from finstat_kit.client.source import Wanted
from finstat_kit.errors import (
    Interrupted,
    MirrorError,
    ProtocolError,
    RegisterError,
    UsageError,
    warn,
)
from finstat_kit.given_units import GIVEN
from finstat_kit.mirror.fetch import Budget, Counts, Records, Report, Templates
from finstat_kit.mirror.state import codelists_in
from finstat_kit.mirror.storage.files import DamagedError, File, legible
from finstat_kit.mirror.storage.folder import Folder
from finstat_kit.mirror.storage.logs import CODELISTS, COLLECTIONS, CONTENTS
from finstat_kit.mirror.storage.rows import (
    LISTED,
    MISSING,
    NAMED,
    OWNED,
    REPORTS_OF,
    ids_named,
    is_among,
)
from finstat_kit.mirror.storage.runs import FORMAT, Run, Settings
from finstat_kit.mirror.storage.standing import Standing
from finstat_kit.mirror.storage.writer import Batch, Writer, standing_of
from finstat_kit.protocol import requests, wire
from finstat_kit.transport.base import Stopped

logger = logging.getLogger("finstat_kit")

_IDS_PER_COMMIT: Final = 200_000
_MOST_MISSING: Final = 0.01  # of a list
_FEW_UNITS: Final = 2_000  # given ones; of more, those that are listed as changed, and some beside
PLAN: Final = pl.Schema(
    {"collection": pl.String(), "requests": pl.Int64(), "seconds": pl.Float64()}
)
# A codelist of ten entries; only the header of its reply is read.
_SMALL: Final = requests.codelist(wire.CODELISTS["ownership_types"])


@dataclass
class Sync:
    """A sync of one folder, which the caller holds for writing.

    Args:
        folder: The folder.
        register: The register to copy.
        contents: Collections to keep the records of, beside those that are kept already.
        given: Units to keep, beside those that are kept already; None for those, or for all.
        budget: The time that it may take.
        max_missing: As of `Mirror.sync`.
        progress: As of `Mirror.sync`.
    """

    folder: Folder
    register: Register
    contents: Sequence[str]
    given: pl.DataFrame | None
    budget: Budget
    max_missing: int | None
    progress: bool | None
    _is_warned: bool = False

    def go(self, *, full: bool, anew: bool) -> pl.DataFrame:
        """Bring the copy in step; return the report."""
        self._report = Report(self.register)
        with self.budget.holds():
            if anew:
                self._set_aside()
            try:
                self._once(full=full, whole=full)
            except DamagedError:  # all are compared, and what is damaged is requested again
                self._once(full=full, whole=True)
        self.folder.sweep()
        return self._report.frame()

    def plan(self, *, full: bool, anew: bool = False) -> pl.DataFrame:
        """Return how many requests it takes; nothing is written.

        What lists and records not yet read will name is estimated.
        """
        run = (None if anew else self.folder.newest()) or Run(FORMAT, 0, Settings("", None))
        settings, since, new = run.settings, wire.BEGINNING, dict[str, int]()
        if run.points:
            since = _day_before(run.newest.started)
        is_part = self.given is not None or settings.units is not None
        if is_part:
            given = self._new_given(settings)
            keys = [*given["id"].drop_nulls(), *given["ico"].drop_nulls()]
            planned = plan(self.register._source, keys, Wanted(None))
            new = dict(planned["collection", "requests"].iter_rows())
        requests = {"codelists": len(wire.CODELISTS) + 1}
        for name in ("units", *_in_order({*settings.contents, *self.contents})):
            stands = standing_of(self.folder.path, run, name)
            lacking = stands.listed.len() - stands.held.len()
            requests[name] = lacking + new.get(name, 0)
            if not is_part:
                requests[name] += getattr(self.register, name).count(changed_since=since)
            elif full or (
                name == "units" and run.points and len(settings.units or ()) <= _FEW_UNITS
            ):
                requests[name] += stands.held.len()
        rate = self.register.rate
        seconds = [None if rate is None else number / rate for number in requests.values()]
        rows = {"collection": [*requests], "requests": [*requests.values()], "seconds": seconds}
        return pl.DataFrame(rows, schema=PLAN)

    # What is there

    def _once(self, *, full: bool, whole: bool) -> None:
        writer = self._writer = self._opened()
        is_pulled = writer.run.is_pulled
        losses = writer.drop_lost(whole=whole)
        if losses and is_pulled and writer.run.pulled:
            raise MirrorError(
                f"{losses[0][1].path} of the mirror at {self.folder.path} is lost or damaged, and "
                f"it was pulled from {writer.run.pulled.url}",
                cure="pull(full=True) fetches what is lost; sync(anew=True) requests everything",
            )
        for log in dict.fromkeys(log for log, _ in losses):
            files = [file for of, file in losses if of == log]
            warn(loss_text(self.folder.path, log, files))
        writer.note()
        # Given units answered from here on are not requested again: a first sync goes on.
        self._first = writer.next("units") if writer.run.points else 0
        self._records = Records(
            self.register, writer, Templates(self.register, writer, anew=full), self.budget,
            self._report, self.progress,
        )  # fmt: skip
        lists_are_done = False
        try:
            with resumable():
                goes_on = True
                while goes_on:  # what changed meanwhile has lists of its own
                    goes_on = writer.begin(self._first_days())
                    self._to_point(full=full, goes_on=goes_on)
                    full = False
                lists_are_done = True
                if writer.run.settings.contents:
                    self._records.fetch(*writer.run.settings.contents)
                    writer.point(self._records.whole)
        except (RegisterError, KeyboardInterrupt, Stopped):
            with contextlib.suppress(MirrorError):
                if lists_are_done:
                    writer.point(self._records.whole)
                else:
                    writer.note()  # how far the lists are
            raise

    def _opened(self) -> Writer:
        """See by one request that the copy is of this register; return its writer.

        Raises:
            UsageError: It is of another register, or of all units where some were given.
            RegisterError: The register does not reply.
        """
        run, register, session = self.folder.newest(), self.register, self.register._session
        former = None if run is None else run.settings
        see_given(self.folder.path, former, self.given, self.contents)
        if former is not None and session.remote and register.base_url != former.register:
            raise self._another(former.name, register.base_url)  # also where none can be reached
        try:
            session.exchange.get(_SMALL)
        except KeyboardInterrupt as interrupt:
            raise Interrupted("interrupted before anything was fetched") from interrupt
        units = None if self.given is None else ()
        new = Settings(register.base_url, session.exchange.invented or None, units=units)
        if former is not None and former.name != new.name:
            raise self._another(former.name, new.name)
        settings = former or new
        contents = _in_order({*settings.contents, *self.contents})
        settings = replace(settings, contents=contents)
        if settings.units is not None:
            with resumable():
                settings = self._with_given(settings)
        return Writer(self.folder, settings, self._today)

    def _another(self, former: str, new: str) -> UsageError:
        return UsageError(
            f"the mirror at {self.folder.path} is of {former}, not of {new}",
            cure="give its register or another folder",
        )

    def _new_given(self, settings: Settings) -> pl.DataFrame:
        """Return the given units that settings have not, and the IČO of nobody."""
        given = pl.DataFrame(schema=GIVEN) if self.given is None else self.given
        awaited = [ico for ico, ids in settings.icos.items() if not ids]
        units, known = settings.units or (), {*settings.icos} - {*awaited}
        given = pl.concat([pl.DataFrame({"id": None, "ico": awaited}, schema=GIVEN), given])
        is_known = pl.col("id").is_in(list(units)) | pl.col("ico").is_in(list(known))
        return given.filter(~is_known.fill_null(value=False)).unique(maintain_order=True)

    def _with_given(self, settings: Settings) -> Settings:
        """Add the units that were given since; IČO of nobody are looked up again."""
        found = looked_up(self.register._source, self._new_given(settings), self.progress)
        units = {*(settings.units or ()), *found["id"].drop_nulls()}
        icos = {**settings.icos}
        for ico, ids in found.drop_nulls("ico").group_by("ico").agg("id").sort("ico").iter_rows():
            icos[ico] = tuple(id_ for id_ in ids if id_ is not None)
        if absent := [ico for ico, ids in icos.items() if not ids]:
            more = " …" if len(absent) > 5 else ""
            warn(
                f"no unit has {len(absent):,} of the given IČO: {', '.join(absent[:5])}{more}; the "
                "next sync looks them up again"
            )
        return replace(settings, units=(*sorted(units),), icos=icos)

    def _set_aside(self) -> None:
        with contextlib.suppress(MirrorError):
            run = self.folder.newest()
            if run is not None and run.settings.units is not None:
                former = pl.DataFrame({"id": run.settings.units, "ico": None}, schema=GIVEN)
                self.given = former if self.given is None else pl.concat([former, self.given])
        planned = self.plan(full=True, anew=True)
        many, rate = int(planned["requests"].sum()), self.register.rate
        time = "" if rate is None else f", about {duration(many / rate)}"
        warn(
            f"the mirror at {self.folder.path} is made anew by some {many:,} requests{time}; what "
            "was there is moved to before-1 or so, beside it"
        )
        self.folder.set_aside()

    def _today(self) -> date:
        """Return the register's day of its last reply."""
        day = wire.day_of(self.register._session.exchange.sent)
        if day is not None:
            return day
        if not self._is_warned:
            self._is_warned = True
            warn("the register's replies have no Date: days are those of this machine's clock")
        return self.register.today

    # Lists

    def _first_days(self) -> dict[str, date]:
        """Return of each list the first day of the changes that it is to be of."""
        writer, points = self._writer, self._writer.run.points
        if not points:
            return dict.fromkeys(COLLECTIONS, wire.BEGINNING)
        if writer.run.settings.units is None:
            # The newest change is of a day that there was, wherever the register's clock stood.
            with legible(writer.path):
                changed = writer.scan("units", names=False).select(pl.col(wire.CHANGED).max())
                newest = changed.collect().item() or self.register.today
        else:  # given units may not have changed for years
            starts = [point.started for point in points if point.started <= writer.today]
            newest = starts[-1] if starts else wire.BEGINNING
        days = [points[-1].started, writer.today, newest]
        first = dict.fromkeys(COLLECTIONS, _day_before(min(days)))
        for name in COLLECTIONS:
            lost = writer.open_losses(name, names=True)
            whole = [point for point in points if name in point.whole] or points[:1]
            if any(file.last > whole[-1].upto.get(name, 0) for file in lost):
                # What was named since, and is not answered yet, is named again.
                first[name] = min(first[name], _day_before(whole[-1].started))
        return first

    def _to_point(self, *, full: bool, goes_on: bool) -> None:
        """Walk the lists, and fetch all units that they name."""
        writer = self._writer
        settings = writer.run.settings
        for name in COLLECTIONS:  # in the order of the report
            since = writer.walks[name].since
            self._report.counts(name, since if self._is_walked(name) else None)
        counts = self._report.counts("codelists")
        with self._report.measured(counts):
            self._codelists(counts)
        for name in COLLECTIONS:
            walk = writer.walks[name]
            counts = self._report.counts(name)
            with self._report.measured(counts):
                lost = [file.since for file in writer.open_losses(name, names=True) if file.since]
                if full and writer.run.points:
                    lost.append(wire.BEGINNING)
                if settings.units is not None:
                    self._look_at_given(name, full=full)
                elif lost:
                    self._list_anew(name, min(lost), counts)
                if not walk.is_done and self._is_walked(name):
                    self._list(name, counts, goes_on=goes_on)
        if settings.units is not None or writer.open_losses("reports", names=True):
            self._name("reports", OWNED, REPORTS_OF)  # where no list does, or these are lost
        if "reports" in settings.contents:
            self._records.templates.complete()
        self._records.look("units")
        self._records.fetch("units")
        if settings.units is not None:
            for name, column in OWNED.items():
                self._report.counts(name).new += self._name(name, ["units"], column)
        for name in settings.contents:
            self._report.counts(f"{name} records", self._report.counts(name).window)
            self._records.look(name)
        writer.point(self._records.whole)

    def _name(self, name: str, owners: Iterable[str], column: str) -> int:
        """Name what records of others name; return how many were not known."""
        writer = self._writer
        with legible(writer.path):
            named = ids_named([writer.scan(owner, names=False) for owner in owners], column)
        new = named.filter(~is_among(named, pl.Series(writer.standing(name).ids)))
        writer.append_ids(name, new.to_frame("id"), NAMED)
        return len(new)

    # Given units

    def _is_walked(self, name: str) -> bool:
        """Return whether the list of changes of a collection is to be walked."""
        run = self._writer.run
        if run.settings.units is None:
            return True
        kept = name in run.settings.contents
        return bool(run.points) and (kept or (name == "units" and not self._are_few))

    @property
    def _are_few(self) -> bool:
        """Whether the given units are so few that each sync requests them all, but the first.

        What changed while that was cut off is listed.
        """
        return bool(self._first) and len(self._writer.run.settings.units or ()) <= _FEW_UNITS

    def _look_at_given(self, name: str, *, full: bool) -> None:
        """Name the units that are new, and look again at those held that are due."""
        writer, stands = self._writer, self._writer.standing(name)
        held = stands.held
        if full:
            writer.look_again(name, held)
        if name != "units":
            return
        if not writer.walks[name].is_done:
            former = stands.answered[stands.is_held] < self._first
            writer.look_again(name, held.filter(pl.Series(former) & self._is_due(held)))
            if not self._is_walked(name):
                writer.walked(name, None, is_done=True)
        given = pl.Series("id", writer.run.settings.units, dtype=pl.Int64)
        new = given.filter(~is_among(given, pl.Series(stands.ids)))
        writer.append_ids(name, new.to_frame(), LISTED)

    def _is_due(self, ids: pl.Series) -> pl.Series:
        """Return which units are requested whether a list names them or not: each in 30 days."""
        points, today = self._writer.run.points, self._writer.today
        days = 30 if self._are_few or not points else (today - points[-1].started).days
        return ((today.toordinal() % 30 + 30 - ids % 30) % 30) < days

    # Lists

    def _list(self, name: str, counts: Counts, *, goes_on: bool) -> None:
        """Walk a list of changes from where it was cut off, and write down what it names."""
        writer, stands = self._writer, self._writer.standing(name)
        walk = writer.walks[name]
        is_named, is_held = self._known(name, stands, goes_on=goes_on)
        pages: list[pl.Series] = []

        def commit(*, is_done: bool) -> None:
            ids = pl.concat([pl.Series("id", [], dtype=pl.Int64), *pages])
            pages.clear()
            before = writer.run
            writer.walked(name, int(ids[-1]) if len(ids) else None, is_done=is_done)
            if writer.run.settings.units is not None:  # what is new is named by records
                ids = ids.filter(is_among(ids, pl.Series(stands.ids)))
            new = ids.filter(~is_among(ids, is_named))
            if name != "units":
                known = int(is_among(new, pl.Series(stands.ids)).sum())
                counts.changed += known
                counts.new += len(new) - known
            # What is held is looked at again, and named if it has changed.
            held, unknown = new.filter(is_among(new, is_held)), new.filter(~is_among(new, is_held))
            writer.look_again(name, held)
            try:
                writer.append_ids(name, unknown.to_frame(), LISTED, walk.since)
            except MirrorError:
                writer.run = before  # these are still to be named
                raise

        is_done = False
        try:
            for page in self._pages(name, walk.since, walk.after):
                pages.append(page)
                if sum(map(len, pages)) >= _IDS_PER_COMMIT:
                    commit(is_done=False)
            is_done = True
        finally:
            commit(is_done=is_done)

    def _pages(self, name: str, since: date, after: int = 0) -> Iterator[pl.Series]:
        """Yield the ids of a list within the budget, page by page."""
        for page in getattr(self.register, name).pages(changed_since=since, after_id=after):
            yield page["id"]
            self.budget.check()

    def _known(self, name: str, stands: Standing, *, goes_on: bool) -> tuple[pl.Series, pl.Series]:
        """Return the ids that need not be named again, and those that are held, ascending."""
        if name not in ("units", *self._writer.run.settings.contents):
            return stands.listed, stands.listed.clear()
        is_waiting = stands.is_listed & (stands.named > 0) & ~stands.is_current
        if goes_on:  # lists that were cut off name nothing twice; others come after these
            upto = self._writer.run.upto(name)
            is_waiting |= stands.is_listed & ((stands.named > upto) | (stands.answered > upto))
        return pl.Series("id", stands.ids[is_waiting]), stands.held

    def _list_anew(self, name: str, since: date, counts: Counts) -> None:
        """Walk a list for the ids that nothing names; mark those that a whole list has no longer.

        Raises:
            ProtocolError: It is too much to be true.
        """
        ids = pl.concat([pl.Series("id", [], dtype=pl.Int64), *self._pages(name, since)])
        listed = self._writer.standing(name).listed
        new = ids.filter(~is_among(ids, listed))
        if len(new):
            if name != "units":
                counts.new += len(new)
            self._writer.append_ids(name, new.to_frame(), LISTED, since)
        if since == wire.BEGINNING:
            self._mark_missing(name, ids, listed, counts)

    def _mark_missing(self, name: str, ids: pl.Series, listed: pl.Series, counts: Counts) -> None:
        missing = listed.filter(~is_among(listed, ids))
        if name == "reports" and len(missing):  # what no list ever named is missing from none
            with legible(self.folder.path):
                names = self._writer.scan(name, names=True).filter(kind=LISTED).select("id")
                missing = missing.filter(is_among(missing, names.collect()["id"].unique().sort()))
        most = self.max_missing
        if most is None:
            most = int(len(listed) * _MOST_MISSING)
        if len(missing) > most:
            raise ProtocolError(
                f"the register no longer lists {len(missing):,} of {len(listed):,} {name}; "
                f"more than {most:,} need a confirmation. Check the register; if they were really "
                f"removed, mark them missing by sync(full=True, max_missing={len(missing)})"
            )
        if len(missing):
            rows = missing.to_frame("id").with_columns(gone=pl.lit(MISSING))
            self._writer.append_ids(name, rows, MISSING, wire.BEGINNING)
            counts.gone += len(missing)

    def _codelists(self, counts: Counts) -> None:
        """Fetch the codelists; one that is empty or broken does not replace one with entries."""
        with legible(self.folder.path):
            former = codelists_in(self._writer.scan("codelists").collect())
        changed, version = [], self._writer.next("codelists")
        counts.unreadable = 0
        for name, before in former.items():
            try:
                entries = self.register.codelist(name, refresh=True)
            except ProtocolError as error:
                if before.is_empty():
                    raise
                logger.warning("the codelist %s cannot be read: %s", name, error)
                entries = before.clear()
            if before.height and entries.is_empty():
                logger.warning("the codelist %s has no entries; the former one is kept", name)
                counts.unreadable += 1
                continue
            entries = pl.concat([before.clear(), entries], how="diagonal")
            if entries.equals(before):
                continue
            new = entries.join(before, on="code", how="anti").height
            same = entries.join(before, on=before.columns, how="semi", nulls_equal=True).height
            counts.new += new
            counts.changed += entries.height - same - new
            counts.gone += before.join(entries, on="code", how="anti").height
            rows = entries.with_columns(name=pl.lit(name), version=pl.lit(version, pl.Int64))
            changed.append(rows.select(CODELISTS.names()))
        if changed:
            self._writer.append(Batch("codelists", pl.concat(changed)))


def _in_order(contents: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in CONTENTS if name in contents)


def _day_before(day: date) -> date:
    return max(day - timedelta(days=1), wire.BEGINNING)


def loss_text(path: Path, log: str, files: Sequence[File]) -> str:
    """Return what was lost of a log, what this sync does about it, and what does not come back."""
    rows = sum(file.rows for file in files)
    many = f"{len(files)} files" if len(files) > 1 else files[0].path
    text = f"the mirror at {path} has lost {many} with {rows:,} rows of {log}"
    if log in ("codelists", "templates"):
        return f"{text}; this sync requests them again"
    return (
        f"{text}; this sync requests again what no other file has. Days that counted these rows, "
        "and what changed on them, cannot be shown any longer"
    )


def see_given(
    path: Path, settings: Settings | None, given: pl.DataFrame | None, contents: Sequence[str]
) -> None:
    """See that units can be given to what is in a folder, and what of them is to be kept.

    Raises:
        UsageError: It is of all units, or reports of given units are wanted alone.
    """
    kept = {*contents, *(settings.contents if settings else ())}
    is_part = given is not None or (settings is not None and settings.units is not None)
    if is_part and "reports" in contents and "statements" not in kept:
        raise UsageError(
            ": reports of given units are found by their statements",
            argument="contents",
            value=[*contents],
            cure="give ['statements', 'reports'], or True",
        )
    if given is not None and settings is not None and settings.units is None:
        raise UsageError(
            f": the mirror at {path} is of all units",
            argument="units",
            cure="leave units= out, or give another folder",
        )


@contextlib.contextmanager
def resumable() -> Iterator[None]:
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
        raise Interrupted(f"interrupted{cure}") from interrupt
