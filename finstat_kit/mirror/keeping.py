"""A whole sync: losses are detected first, then runs follow until none is left open."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import date
from time import monotonic
from typing import Final

import polars as pl

from finstat_kit.client.register import Register
from finstat_kit.errors import MirrorError
from finstat_kit.mirror import codelists, some_units
from finstat_kit.mirror.contents import Filling
from finstat_kit.mirror.fetching import Budget, OutOfTimeError
from finstat_kit.mirror.folder import About, Folder, Origin
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.origins import agreed
from finstat_kit.mirror.syncing import (
    CONTENTS,
    LISTS,
    RUNS,
    Run,
    Walk,
    missing,
    newest_run,
    open_run,
    this_run,
)  # fmt: skip
from finstat_kit.mirror.versions import Known

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


class Keeping:
    """A sync of one directory, which the caller holds for writing."""

    def __init__(
        self,
        folder: Folder,
        held: Held,
        register: Register,
        kept: tuple[str, ...],
        only: pl.Series | None,
        budget: Budget,
    ) -> None:
        self._folder = folder
        self._held = held
        self._register = register
        self._kept = kept
        self._only = only
        self._budget = budget
        self._rows: list[dict[str, object]] = []

    def go(
        self,
        origin: Origin,
        since: date | None,
        *,
        full: bool,
        max_missing: int | None,
        progress: bool | None,
    ) -> pl.DataFrame:
        """Bring the copy in step; return the report."""
        first = self._begun(origin, since, max_missing, full=full)
        with contextlib.suppress(OutOfTimeError):
            self._run(origin, first, max_missing, progress, full=full)
            self._fill(progress)
        return (
            pl.DataFrame(self._rows, schema=REPORT)
            .group_by("list", maintain_order=True)
            .agg(
                pl.col("window").first(),
                pl.col("new", "changed", "gone").sum(),
                pl.col("unreadable").last(),
                pl.col("requests", "seconds").sum(),
            )
        )

    def _run(
        self,
        origin: Origin,
        first: date,
        max_missing: int | None,
        progress: bool | None,
        *,
        full: bool,
    ) -> None:
        """Bring units, lists and codelists in step."""
        while True:
            runs, completed = self._held.all_runs(), self._held.completed()
            # After a loss only a full run makes the copy whole again.
            full = full or runs.height > completed.height == 0
            run = this_run(
                self._held.lists, runs, completed, first, self._register.today, origin.number,
                full=full,
            )  # fmt: skip
            self._went(run, max_missing, progress)
            # Without changes on the same day, and without an open run, nothing is recorded.
            is_open = open_run(self._held.lists, runs) is not None
            if is_open or not completed.height or completed["started"][-1] != run.started:
                self._note(run.run, run.since, run.started)
            if not run.resumed:
                break
            full = False  # changes behind the cursor meanwhile belong to another run

    def _fill(self, progress: bool | None) -> None:
        """Fetch the lacking records of the kept collections, and record how far they are."""
        if not self._kept:
            return
        last = self._held.completed().row(-1, named=True)
        filling = Filling(
            self._held,
            self._kept,
            self._folder.templates,
            self._register,
            self._budget,
            self._former_versions(),
            self._only,
        )
        try:
            with contextlib.suppress(OutOfTimeError):
                filling.go(progress)
        finally:
            self._rows += filling.report(last["since"])
        if any(last[f"version_{name}"] != v for name, v in self._versions().items()):
            self._note(last["run"] + 1, last["since"], last["started"])

    def _former_versions(self) -> dict[str, int]:
        """Return the greatest version of records in any run, also where its table was lost."""
        runs = self._held.all_runs()
        return {name: int(runs[f"version_{name}"].max() or 0) for name in self._kept}  # type: ignore[arg-type]

    def _versions(self) -> dict[str, int]:
        return {name: self._held.contents[name].state().get("version", 0) for name in self._kept}

    def _begun(
        self, origin: Origin, since: date | None, max_missing: int | None, *, full: bool
    ) -> date:
        """Check that the copy is whole and of this register; return the first window.

        Raises:
            MirrorError: Something is missing or damaged; the message names the fix.
            UsageError: The copy is of another register.
        """
        held = self._held
        before = self._folder.read()
        held.all_runs(anew=True)
        lost = held.lost()
        about, doubted = agreed(before, origin, held, since, full=full)
        self._kept = tuple(n for n in CONTENTS if n in {*self._kept, *about.contents})
        self._only = self._units(before)
        only = None if self._only is None else len(self._only)
        about = replace(about, contents=self._kept, only=only)
        if before is not None:
            held.belongs(before)
        if lost is not None and not full:
            raise MirrorError(lost)
        if doubted:
            self._compare(about.changed_since, max_missing)
        if lost is not None or doubted:
            held.void()
        if about != before:
            self._folder.write(about)
        for table in (held.cells, *held.contents.values()):
            table.refresh(anew=True)
        held.check_cells()
        # Records of a lost file are lacking, and fetched again.
        for table in (*held.lists.values(), *held.contents.values()):
            if table.lost_files():
                table.forget_lost_files()
            table.whole_files()
        for table in held.tables:
            table.seal(doubted=True)  # files left without a checksum by a crash
        return about.changed_since

    def _units(self, before: About | None) -> pl.Series | None:
        """Return the units whose contents alone are kept, those given added; None is all.

        Raises:
            UsageError: There are contents of all units already.
            MirrorError: The file of the units is lost or damaged.
        """
        some_units.checked(self._only, before, self._kept)
        file = self._folder.only
        if self._only is not None:
            some_units.add(file, self._only, newest_run(self._held.all_runs()))
        elif not (file.exists() if before is None else before.only is not None):
            return None
        return some_units.units_of(file)

    def _compare(self, since: date, max_missing: int | None) -> None:
        """Compare the copy with the register's lists, before anything is written.

        Raises:
            ProtocolError: So many ids are missing that it seems to be another register.
        """
        for name, table in self._held.lists.items():
            if not table.lost_files():
                listed = getattr(self._register, name).ids(changed_since=since)["id"]
                missing(name, Known(table.scan()), listed, max_missing)

    def _went(self, run: Run, max_missing: int | None, progress: bool | None) -> None:
        """Carry out a run; add its rows to the report."""
        register = self._register
        for name in (*LISTS, "codelists"):
            asked, began = register.stats.requests, monotonic()
            counts = {"new": 0, "changed": 0, "gone": 0, "unreadable": 0}
            try:
                if name == "codelists":
                    counts = codelists.renew(self._folder.codelists, register, run.run)
                else:
                    walk = Walk(
                        name, self._held.lists[name], register, run, self._budget,
                        self._held.answered(name) if name in self._kept else None,
                    )  # fmt: skip
                    counts = walk.counts
                    walk.go(max_missing, progress)
            finally:
                window = None if name == "codelists" else run.since
                spent = register.stats.requests - asked, monotonic() - began
                self._rows.append(
                    {"list": name, "window": window, **counts}
                    | dict(zip(("requests", "seconds"), spent, strict=True))
                )

    def _note(self, run: int, since: date, started: date) -> None:
        """Record a completed run, which sets the next window."""
        lists, runs = self._held.lists, self._held.runs
        completed = {
            "run": run, "since": since, "started": started, "completed": self._register.today,
            "version": lists["units"].state().get("version", 0),
        } | {f"rows_{name}": table.rows for name, table in lists.items()}  # fmt: skip
        completed |= {f"version_{name}": number for name, number in self._versions().items()}
        runs.append(pl.DataFrame([completed], schema=RUNS))
        runs.tidy()
        runs.seal()
        self._held.all_runs()  # `Mirror.today` does not look itself
