"""What a mirror answers in the place of its register: requests, and records without any."""

from __future__ import annotations

import math
import threading
from datetime import date
from pathlib import Path

import polars as pl

from finstat_kit.mirror.codelists import in_force
from finstat_kit.mirror.folder import Folder
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.sealed import stamp
from finstat_kit.mirror.store import CopiedStore, copied_store
from finstat_kit.mirror.syncing import LISTS
from finstat_kit.mirror.versions import MISSING, Known, completed_by, legible
from finstat_kit.protocol import shaped
from finstat_kit.protocol.wire import Reply
from finstat_kit.service import routes
from finstat_kit.transport import forks


class Answers:
    """Answers from disk, as the newest complete sync left it, or the last one by a day."""

    def __init__(self, folder: Folder, held: Held, day: date | None = None) -> None:
        self._folder = folder
        self._held = held
        self._day = day
        self._store: tuple[object, CopiedStore] | None = None
        self._after_fork()
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self._lock = threading.Lock()

    def complete(self) -> pl.DataFrame:
        """Return the completed runs, up to the day answered for.

        Raises:
            MirrorError: There is no mirror or no complete sync, or something is lost.
            UsageError: No sync was complete by the day.
        """
        return self.by_its_day(self._held.complete(self._folder.begun()))

    def by_its_day(self, completed: pl.DataFrame) -> pl.DataFrame:
        """Return the runs completed by the day answered for.

        Raises:
            UsageError: No sync was complete by then.
        """
        return completed if self._day is None else completed_by(completed, self._day)

    def today(self) -> date:
        """Return the day on which the last complete sync started, looked up anew.

        Raises:
            MirrorError: No sync is complete.
        """
        completed = self._held.completed()
        runs = self.by_its_day(completed) if completed.height else self.complete()
        day: date = runs["started"][-1]
        return day

    def since(self) -> date | None:
        """Return the day that a part of the register begins with, None for all of it.

        Raises:
            MirrorError: There is no mirror.
        """
        return self._folder.begun().since

    def extracted(self) -> bool:
        """Return whether the mirror is an extract, which has no lists.

        Raises:
            MirrorError: There is no mirror.
        """
        return self._folder.begun().extract is not None

    def codelists(self) -> Path:
        """Return the file of the codelists in force."""
        run = None if self._day is None else int(self.complete()["run"][-1])
        return in_force(self._folder.codelists, run)

    def newest(self, name: str) -> pl.LazyFrame:
        """Return the newest version of each row of a list, removed rows included."""
        return self._held.newest(name, self._upto(name))

    def versions(self, name: str, ids: pl.Series) -> pl.DataFrame:
        """Return the newest rows of some ids as they stand in the log, by id."""
        asked = (
            pl.col("id").is_in(ids.implode())
            & pl.col("problem").is_null()
            & (pl.col("version") <= self._upto(name))
        )
        # Few rows, found by the statistics of ids in the files.
        log = self._held.lists[name].scan()
        with legible(self._held.path):
            found = log.filter(asked).collect().sort("id", "version")
        return found.unique("id", keep="last", maintain_order=True)

    def records(self, ids: pl.Series | None) -> pl.LazyFrame:
        """Return the records that the register lists: all, or those of some ids."""
        self.complete()
        rows = self.newest("units") if ids is None else self.versions("units", ids).lazy()
        return rows.filter(pl.col("gone").ne_missing(MISSING)).select(shaped.UNITS.names())

    def reply(self, method: str, path: str, query: str) -> Reply:
        """Answer one request as the register's service would."""
        files = stamp(self.codelists()), stamp(self._folder.file)
        now = self._held.commits(), files
        with self._lock:
            if self._store is None or self._store[0] != now:
                self._store = now, self._copied()
            store = self._store[1]
        return routes.answer(store, method, path, query)

    def _upto(self, name: str) -> float:
        if self._day is None:
            return math.inf
        return self._held.upto(name, self.complete().row(-1, named=True))

    def _copied(self) -> CopiedStore:
        today = self.complete()["started"][-1]
        with legible(self._held.path):
            listed = {name: Known(self._log(name)).listed for name in LISTS if name != "units"}
            return copied_store(self.newest("units"), listed, self.codelists(), today, self._found)

    def _log(self, name: str) -> pl.LazyFrame:
        return self._held.lists[name].scan().filter(pl.col("version") <= self._upto(name))

    def _found(self, id_: int) -> pl.DataFrame:
        return self.records(pl.Series("id", [id_], dtype=pl.Int64)).collect()
