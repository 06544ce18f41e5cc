"""A whole sync: losses are detected first, then runs follow until none is left open."""

from __future__ import annotations

from datetime import date
from time import monotonic
from typing import Final

import polars as pl

from finstat_kit.client.register import Register
from finstat_kit.errors import MirrorError
from finstat_kit.mirror import codelists
from finstat_kit.mirror.folder import Folder, Origin
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.origins import agreed
from finstat_kit.mirror.syncing import LISTS, RUNS, Run, Walk, missing, open_run, this_run
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

    def __init__(self, folder: Folder, held: Held, register: Register) -> None:
        self._folder = folder
        self._held = held
        self._register = register

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
        reports = []
        while True:
            runs, completed = self._held.all_runs(), self._held.completed()
            # After a loss only a full run makes the copy whole again.
            full = full or runs.height > completed.height == 0
            run = this_run(
                self._held.lists, runs, completed, first, self._register.today, origin.number,
                full=full,
            )  # fmt: skip
            reports.append(self._went(run, max_missing, progress))
            # Without changes on the same day, and without an open run, nothing is recorded.
            is_open = open_run(self._held.lists, runs) is not None
            if is_open or not completed.height or completed["started"][-1] != run.started:
                self._note(run, self._register.today)
            if not run.resumed:
                break
            full = False  # changes behind the cursor meanwhile belong to another run
        return (
            pl.concat(reports)
            .group_by("list", maintain_order=True)
            .agg(
                pl.col("window").first(),
                pl.col("new", "changed", "gone").sum(),
                pl.col("unreadable").last(),
                pl.col("requests", "seconds").sum(),
            )
        )

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
        for table in held.lists.values():
            if table.lost_files():
                table.forget_lost_files()
            table.whole_files()
        for table in held.tables:
            table.seal(doubted=True)  # files left without a checksum by a crash
        return about.changed_since

    def _compare(self, since: date, max_missing: int | None) -> None:
        """Compare the copy with the register's lists, before anything is written.

        Raises:
            ProtocolError: So many ids are missing that it seems to be another register.
        """
        for name, table in self._held.lists.items():
            if not table.lost_files():
                listed = getattr(self._register, name).ids(changed_since=since)["id"]
                missing(name, Known(table.scan()), listed, max_missing)

    def _went(self, run: Run, max_missing: int | None, progress: bool | None) -> pl.DataFrame:
        """Carry out a run; return its report."""
        register = self._register
        rows: list[dict[str, object]] = []
        for name in (*LISTS, "codelists"):
            asked, began = register.stats.requests, monotonic()
            if name == "codelists":
                counts = codelists.renew(self._folder.codelists, register, run.run)
            else:
                walk = Walk(name, self._held.lists[name], register, run)
                counts = walk.go(max_missing, progress)
            window = None if name == "codelists" else run.since
            spent = register.stats.requests - asked, monotonic() - began
            rows.append(
                {"list": name, "window": window, **counts}
                | dict(zip(("requests", "seconds"), spent, strict=True))
            )
        return pl.DataFrame(rows, schema=REPORT)

    def _note(self, run: Run, today: date) -> None:
        """Record a completed run, which sets the next window."""
        lists, runs = self._held.lists, self._held.runs
        completed = {
            "run": run.run, "since": run.since, "started": run.started, "completed": today,
            "version": lists["units"].state().get("version", 0),
        } | {f"rows_{name}": table.rows for name, table in lists.items()}  # fmt: skip
        runs.append(pl.DataFrame([completed], schema=RUNS))
        runs.tidy()
        runs.seal()
        self._held.all_runs()  # `Mirror.today` does not look itself
