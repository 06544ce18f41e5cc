"""What a mirror answers in the place of its register: requests, and records without any."""

from __future__ import annotations

import threading
from datetime import date
from typing import Final

import polars as pl

from finstat_kit.mirror.folder import Folder
from finstat_kit.mirror.held import Held
from finstat_kit.mirror.sealed import stamp
from finstat_kit.mirror.store import CopiedStore, copied_store
from finstat_kit.mirror.versions import MISSING, legible
from finstat_kit.protocol import shaped
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.protocol.wire import Reply
from finstat_kit.service import routes
from finstat_kit.transport import forks

_NOT_HELD: Final = frozenset(kind.path for name, kind in KINDS.items() if name != "units")


class Answers:
    """Answers from disk, as the newest complete sync left it."""

    def __init__(self, folder: Folder, held: Held) -> None:
        self._folder = folder
        self._held = held
        self._store: tuple[object, CopiedStore] | None = None
        self._after_fork()
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Take a lock of its own: in the parent another thread may have held it."""
        self._lock = threading.Lock()

    def complete(self) -> pl.DataFrame:
        """Return the completed runs.

        Raises:
            MirrorError: There is no mirror or no complete sync, or something is lost.
        """
        return self._held.complete(self._folder.begun())

    def today(self) -> date:
        """Return the day on which the last complete sync started, looked up anew.

        Raises:
            MirrorError: No sync is complete.
        """
        completed = self._held.completed()
        day: date = (completed if completed.height else self.complete())["started"][-1]
        return day

    def since(self) -> date | None:
        """Return the day that a part of the register begins with, None for all of it.

        Raises:
            MirrorError: There is no mirror.
        """
        return self._folder.begun().since

    def records(self, ids: pl.Series | None) -> pl.LazyFrame:
        """Return the records that the register lists: all, or those of some ids."""
        self.complete()
        if ids is None:
            rows = self._held.newest("units")
        else:
            asked = pl.col("id").is_in(ids.implode()) & pl.col("problem").is_null()
            # Few rows, found by the statistics of ids in the files.
            log = self._held.lists["units"].scan()
            with legible(self._held.path):
                found = log.filter(asked).collect().sort("id", "version")
            rows = found.unique("id", keep="last", maintain_order=True).lazy()
        return rows.filter(pl.col("gone").ne_missing(MISSING)).select(shaped.UNITS.names())

    def reply(self, method: str, path: str, query: str) -> Reply:
        """Answer one request as the register's service would.

        Records of the other collections are refused: 404 would mean that there are none.
        """
        if path in _NOT_HELD:
            return routes.refusal(400, "kópia registra tieto záznamy nemá", method)
        files = stamp(self._folder.codelists), stamp(self._folder.file)
        now = self._held.commits(), files
        with self._lock:
            if self._store is None or self._store[0] != now:
                self._store = now, self._copied()
            store = self._store[1]
        return routes.answer(store, method, path, query)

    def _copied(self) -> CopiedStore:
        today = self.complete()["started"][-1]
        with legible(self._held.path):
            return copied_store(self._held, self._folder.codelists, today, self._found)

    def _found(self, id_: int) -> pl.DataFrame:
        return self.records(pl.Series("id", [id_], dtype=pl.Int64)).collect()
