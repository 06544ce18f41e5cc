"""One sync: the changes since the window are listed, fetched and committed, batch by batch.

A run has a number, a window (``since``), the day it started on, and a cursor in each table. Every
commit stores them, so that an interrupted run resumes at the same place. Only a completed run is
written to the table of runs, which sets the next window.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.client.collections import walk
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.register import Register
from finstat_kit.errors import Either, Interrupted, MirrorError, ProtocolError, RegisterError
from finstat_kit.mirror.fetching import Budget, Fetched, Fetcher, sliced
from finstat_kit.mirror.tables import MANY_FILES, Table
from finstat_kit.mirror.versions import MISSING, Ints, Known, Row, row_of, to_frame
from finstat_kit.progress import bar
from finstat_kit.protocol import replies, wire
from finstat_kit.protocol.records import decode as shaped
from finstat_kit.protocol.records.decode import KINDS, content

LISTS: Final = tuple(wire.LISTS)
CONTENTS: Final = tuple(name for name in LISTS if name != "units")  # whose records may be kept
STATE: Final = ("run", "since", "started", "full", "cursor", "version", "register", "extract")
RUNS: Final = pl.Schema(
    {
        "run": pl.Int64(),
        "since": pl.Date(),
        "started": pl.Date(),
        "completed": pl.Date(),
        "version": pl.Int64(),  # of the newest units at its end
        **{f"rows_{name}": pl.Int64() for name in LISTS},  # of each list at its end
        **{f"version_{name}": pl.Int64() for name in CONTENTS},  # of the newest records at its end
    }
)
_BATCH: Final = 10_000
_QUIET_BATCHES: Final = 10  # batches without news after which the cursor is committed
_MOST_MISSING: Final = 0.01  # of all units


@dataclass(frozen=True)
class Run:
    """What all commits of a run have in common."""

    run: int
    since: date
    started: date
    full: bool
    register: int  # the number of its name
    resumed: bool = False

    def state(self, cursor: int, version: int) -> dict[str, int]:
        """Return the numbers that stand in a commit."""
        return {
            "run": self.run,
            "since": self.since.toordinal(),
            "started": self.started.toordinal(),
            "full": int(self.full),
            "cursor": cursor,
            "version": version,
            "register": self.register,
        }


def open_run(tables: Mapping[str, Table], runs: pl.DataFrame) -> dict[str, int] | None:
    """Return the newest state of a run that has not come to its end, None where all have."""
    completed = newest_run(runs)
    states = [table.state() for table in tables.values()]
    is_open = [state for state in states if state.get("run", 0) > completed]
    return max(is_open, key=lambda state: state["run"], default=None)


def newest_run(runs: pl.DataFrame) -> int:
    """Return the number of the newest run in the table of runs, 0 where there is none."""
    return int(runs["run"][-1]) if runs.height else 0


def this_run(
    tables: Mapping[str, Table],
    runs: pl.DataFrame,
    completed: pl.DataFrame,
    first: date,
    today: date,
    register: int,
    *,
    full: bool,
) -> Run:
    """Return the run that was cut off, or the next one.

    The window is the day before the last complete run started, or before the newest change that
    any record tells of, where the clock of that run was ahead of the register's.

    Where no run counts as complete, one that did not ask for everything makes no whole: it may
    have come to its end long ago, and the table of runs be lost, and with it more.
    """
    last = open_run(tables, runs)
    if last is not None and not completed.height and last["since"] > first.toordinal():
        full = full or not last["full"]
    if last is not None and (last["full"] or not full):
        return Run(
            last["run"],
            date.fromordinal(last["since"]),
            date.fromordinal(last["started"]),
            bool(last["full"]),
            register,
            resumed=True,
        )
    number = 1 + (last["run"] if last else newest_run(runs))
    if full or not completed.height:
        return Run(number, first, today, full, register)
    days = [completed["started"][-1], today]
    newest = tables["units"].scan().select(pl.col("datumPoslednejUpravy").max()).collect().item()
    days += [] if newest is None else [newest]
    window = max(first, min(days) - timedelta(days=1))
    return Run(number, window, today, full=False, register=register)


class Walk:
    """The part of a run that belongs to one list.

    Args:
        name: Of the list.
        table: Its log.
        register: The register.
        run: The run.
        budget: The time of the sync.
        answered: The greatest version of this list that records were fetched for, None where only
            its ids are kept. With records each listed id is a new version: it names what to fetch.
    """

    def __init__(
        self,
        name: str,
        table: Table,
        register: Register,
        run: Run,
        budget: Budget,
        answered: int | None = None,
    ) -> None:
        self._name = name
        self._table = table
        self._schema = shaped.UNITS if name == "units" else replies.IDS
        self._register = register
        self._collection: Collection = getattr(register, name)
        self._run = run
        state = table.state()
        self._cursor = state["cursor"] if state.get("run") == run.run else 0
        # Above what was answered, also where the log was lost: it names all of them again.
        self._version = max(state.get("version", 0), answered or 0)
        self._every = answered is not None
        self._budget = budget
        self._fetcher = Fetcher(register, KINDS[name], budget)
        self._unreadable = set(self._known.unread) if name == "units" else set()
        self._quiet = 0
        self.counts = {"new": 0, "changed": 0, "gone": 0, "unreadable": len(self._unreadable)}

    @cached_property
    def _known(self) -> Known:
        """The content of the list at the start of the walk, read only if something new arrives."""
        return Known(self._table.scan())

    def go(self, max_missing: int | None, progress: bool | None) -> None:
        """Walk the list to its end, commit the changes and count them."""
        since = self._run.since
        try:
            if self._name == "units":
                self._fetch_records(progress)
            else:
                for page in self._collection.pages(changed_since=since, after_id=self._cursor):
                    self._budget.check()
                    ids = page["id"].to_list()
                    self._commit([Row({"id": id_}) for id_ in ids], ids[-1] if ids else 0)
            if self._run.full:  # listed anew: a run that was resumed has walked only a part
                self._mark_missing(self._collection.ids(changed_since=since)["id"], max_missing)
        except RegisterError as error:
            error.partial = error.cursor = None
            if not isinstance(error, MirrorError):
                error.message += "; everything before it is in the mirror, the next sync() resumes"
            raise
        except KeyboardInterrupt as interrupt:
            raise Interrupted(
                f"interrupted at id {self._cursor} of {self._name}; everything before it is in the "
                "mirror, the next sync() resumes"
            ) from interrupt
        self._table.tidy()
        self._table.seal()

    def _fetch_records(self, progress: bool | None) -> None:
        register, since, after = self._register, self._run.since, self._cursor
        again = [] if after else self._known.unread
        session = register._session
        query = walk.query_of(session, self._name, since, after)

        def total(stop: threading.Event) -> int | None:
            count = walk.count_or_none(session, query, stop)
            return None if count is None else len(again) + count

        def commit(fetched: list[Fetched], last: int | None) -> None:
            self._commit([_row(one) for one in fetched], self._cursor if last is None else last)

        with bar("records", total, remote=register._session.remote, progress=progress) as advance:
            for batch in self._fetcher.batches(again, _BATCH):
                self._fetcher.fetch(batch, advance, commit, moves=False)
            for page in self._collection.pages(changed_since=since, after_id=after):
                ids = [id_ for id_ in page["id"].to_list() if id_ not in again]
                for batch in self._fetcher.batches(ids, _BATCH):
                    self._fetcher.fetch(batch, advance, commit, moves=True)
            commit(self._fetcher.given_up(), None)

    def _commit(self, rows: Sequence[Row], cursor: int) -> None:
        """Commit what is new among the rows, and the cursor with it."""
        news = [row for row in rows if self._every or not self._known.says(row)]
        for row in rows:
            (self._unreadable.add if row.problem else self._unreadable.discard)(row.id)
        self.counts["unreadable"] = len(self._unreadable)
        for row in news:
            if row.problem is None:
                kind = "gone" if row.gone else "changed" if self._known.has(row.id) else "new"
                self.counts[kind] += 1
        self._cursor = cursor
        self._quiet = 0 if news else self._quiet + 1
        if not news and (self._quiet < _QUIET_BATCHES or not self._version):
            return
        self._version += bool(news)
        if news and self._version <= self._known.version:  # it would hide behind what is there
            raise MirrorError(
                f"the commits of {self._table.path} say that version {self._version - 1} is its "
                f"newest, its rows that {self._known.version} is; {self._table.cure}"
            )
        frame = to_frame(news, self._schema, self._version, self._register.today)
        self._table.append(frame, self._run.state(cursor, self._version))
        if self._version % MANY_FILES == 0:
            self._table.tidy()

    def _mark_missing(self, listed: pl.Series, max_missing: int | None) -> None:
        """Mark what the register no longer lists, unless it is too much to be true."""
        gone = missing(self._name, self._known, listed, max_missing)
        for ids in sliced(gone.tolist(), _BATCH):
            self._commit([Row({"id": id_}, gone=MISSING) for id_ in ids], self._cursor)


def missing(name: str, known: Known, listed: pl.Series, max_missing: int | None) -> Ints:
    """Return what a list knows and the register no longer lists.

    Raises:
        ProtocolError: It is too much to be true.
    """
    gone = np.setdiff1d(known.listed, listed.to_numpy(), assume_unique=True)
    most = int(len(known.listed) * _MOST_MISSING) if max_missing is None else max_missing
    if len(gone) > most:
        raise ProtocolError(
            f"the register no longer lists {len(gone):,} of {len(known.listed):,} {name}; more "
            f"than {most:,} need a confirmation. Check the register",
            cure=Either(
                "if they were really removed, mark them missing by sync(full=True, "
                f"max_missing={len(gone)})",
                "if they were really removed, mark them missing by --full --max-missing "
                f"{len(gone)}",
            ),
        )
    return gone


def _row(fetched: Fetched) -> Row:
    id_, record = fetched
    if isinstance(record, str):
        return Row({"id": id_}, problem=record[:200])
    return row_of(content(record))
