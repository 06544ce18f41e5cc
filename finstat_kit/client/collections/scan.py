"""LazyFrames of records, which fetch what a query needs when they are collected.

They raise our errors: for Ctrl-C polars raises its own KeyboardInterrupt, and polars 1 wraps all
errors.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from functools import partial, wraps
from itertools import islice
from typing import Any, Final, TypeVar

import polars as pl
from polars.io.plugins import register_io_source
from polars.lazyframe.group_by import LazyGroupBy

from finstat_kit.arguments import Since
from finstat_kit.client.collections import walk
from finstat_kit.client.collections.needs import EVERY, Needs, narrowed, within
from finstat_kit.client.collections.records import (
    RecordsStopped,
    copied_records,
    fetch_records,
    ids_unchanged_in_cache,
    most_requests,
    refuse_long_work,
    refuse_the_whole,
    requests_for,
)
from finstat_kit.client.session import Session
from finstat_kit.errors import Interrupted, NotFound, NotHeld, RegisterError
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.records import KINDS
from finstat_kit.protocol.wire import BEGINNING
from finstat_kit.transport.threads import heeding_interrupts

# Records of a scan fetched at once: few at first, for the rows of a `head` may be among them.
_FIRST_BATCH: Final = 10
_LARGEST_BATCH: Final = 1_000
_STOPS: Final = 5.0  # seconds within which a stopped scan ends, also on a busy machine
# With few threads polars 1 lets two sources of one plan wait for each other for ever. It refuses to
# join frames of two classes.
_JOINABLE: Final = not pl.__version__.startswith("1.")
Result = TypeVar("Result")
Fetch = Callable[[Needs, threading.Event], Iterator[pl.DataFrame]]


def scan(
    session: Session, name: str, changed_since: Since, max_requests: int | None
) -> pl.LazyFrame:
    """Return the records of a collection as a LazyFrame; see `Collection.scan`."""
    since = walk.answered_since(session, name, changed_since)
    copied = None if session.copy is None else session.copy.all_records(name)
    if copied is not None:
        changed = pl.col(wire.CHANGED) >= since
        return (copied if changed_since is None else copied.filter(changed)).sort("id")

    def fetch(needs: Needs, stop: threading.Event) -> Iterator[pl.DataFrame]:
        if needs.records:
            yield from _fetched_records(session, name, needs, stop, max_requests)
        else:
            yield from _fetched_ids(session, name, needs, stop)

    return _lazy_frame(name, KINDS[name].schema, since, fetch)


def _fetched_records(
    session: Session, name: str, needs: Needs, stop: threading.Event, max_requests: int | None
) -> Iterator[pl.DataFrame]:
    kind = KINDS[name]
    if session.copy is not None:
        for page in _fetched_ids(session, name, needs, stop):
            # A record that the copy could not read must not hide all others.
            yield copied_records(name, page["id"], session.copy, keep=True)
        return
    most = most_requests(session, max_requests)
    if needs.whole and max_requests is None and most < math.inf:
        refuse_the_whole(name, session, int(most))
    if most < math.inf:
        # All ids first: too many are refused before the first record.
        listed, requested = [], 0
        for page in _fetched_ids(session, name, needs, stop):
            listed.append(page)
            requested += requests_for(session, kind, page["id"].to_list())
            refuse_long_work(requested, session, max_requests)
        pages: Iterable[pl.DataFrame] = [pl.concat(listed)]
    elif session.exchange.cache is not None:
        pages = [pl.concat(_fetched_ids(session, name, needs, stop))]  # one list of changes for all
    else:
        pages = _fetched_ids(session, name, needs, stop)
    size = _FIRST_BATCH
    for page in pages:
        ids = page["id"].to_list()
        kept = ids_unchanged_in_cache(session, kind, ids, max_requests, stop)
        left = iter(ids)
        while batch := list(islice(left, size)):
            size = min(2 * size, _LARGEST_BATCH)
            try:
                yield fetch_records(
                    kind, batch, session, lambda n: None, keep=False, stop=stop, kept=kept
                )
            except NotFound as error:
                shown = ", ".join(map(str, error.ids[:5])) + (" …" if len(error.ids) > 5 else "")
                error.message = f"the list has ids without a record: {shown}"
                error.cure = (
                    "the rows before are in .partial of this error; or leave out its .ids: "
                    '.filter(~pl.col("id").is_in(ids))'
                )
                raise
        if page.is_empty():
            yield kind.frame([])


def _fetched_ids(
    session: Session, name: str, needs: Needs, stop: threading.Event
) -> Iterator[pl.DataFrame]:
    (filters,) = walk.filters_of(**{**dict.fromkeys(wire.FILTERS), **needs.parameters})
    query = walk.query_of(session, name, needs.since, filters=filters, warns=False)
    room = wire.MAX_ID if needs.limit is None else needs.limit
    yield pl.DataFrame(schema=requests.IDS)  # polars needs a frame even if nothing matches
    spans_left = deque(needs.spans)
    while spans_left and room:
        most = spans_left[-1][1] - spans_left[0][0] + 1  # the most ids in the spans
        if len(spans_left) == 1:
            most = min(most, room)
        pages = walk.pages(session, name, replace(query, after_id=spans_left[0][0] - 1), most, stop)
        for page in pages:
            ids = within(page, needs.spans).head(room)
            room -= ids.height
            yield ids
            while spans_left and spans_left[0][1] <= pages.cursor:
                spans_left.popleft()
            if not (spans_left and room) or spans_left[0][0] > pages.cursor + 1:
                break  # to the next span
        else:
            return  # the list ends here


class _Guarded(pl.LazyFrame):
    """A LazyFrame whose queries raise our errors, as do those of frames derived from it.

    One class for all of them where they can be joined: polars joins only frames of related classes.
    """

    # Any arguments and results: those of polars differ between versions.
    def collect(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        return _with_our_errors(partial(super().collect, *arguments, **options), keep=True)

    def sql(self, *arguments: Any, **options: Any) -> pl.LazyFrame:  # noqa: ANN401
        return guarded(super().sql(*arguments, **options))

    def group_by(self, *arguments: Any, **options: Any) -> LazyGroupBy:  # noqa: ANN401
        return _Groups(super().group_by(*arguments, **options).lgb)

    def group_by_dynamic(self, *arguments: Any, **options: Any) -> LazyGroupBy:  # noqa: ANN401
        return _Groups(super().group_by_dynamic(*arguments, **options).lgb)

    def rolling(self, *arguments: Any, **options: Any) -> LazyGroupBy:  # noqa: ANN401
        return _Groups(super().rolling(*arguments, **options).lgb)


def _guard_sinks() -> None:
    """Guard every ``sink_…`` of polars, which has others in other versions."""

    def guard(sink: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(sink)
        def guarded_sink(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            return _with_our_errors(partial(sink, *arguments, **options), keep=False)

        return guarded_sink

    for name in dir(pl.LazyFrame):
        if name.startswith("sink_"):
            setattr(_Guarded, name, guard(getattr(pl.LazyFrame, name)))


_guard_sinks()


class _Groups(LazyGroupBy):
    """Groups of a guarded frame; the other methods call these."""

    def agg(self, *arguments: Any, **options: Any) -> pl.LazyFrame:  # noqa: ANN401
        return guarded(super().agg(*arguments, **options))

    def map_groups(self, *arguments: Any, **options: Any) -> pl.LazyFrame:  # noqa: ANN401
        return guarded(super().map_groups(*arguments, **options))

    def head(self, n: int = 5) -> pl.LazyFrame:
        return guarded(super().head(n))

    def tail(self, n: int = 5) -> pl.LazyFrame:
        return guarded(super().tail(n))


def guarded(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a LazyFrame whose queries raise our errors, as do those of frames derived from it."""
    if _JOINABLE:
        return _Guarded._from_pyldf(frame._ldf)

    class Guarded(_Guarded):
        pass

    return Guarded._from_pyldf(frame._ldf)


def _lazy_frame(name: str, schema: pl.Schema, since: date, fetch: Fetch) -> pl.LazyFrame:
    """Return a LazyFrame of the rows that *fetch* yields, with the columns the query needs."""

    def source(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        column_names = schema.names() if columns is None else columns
        used = set(column_names) | set(predicate.meta.root_names() if predicate is not None else ())
        needs = Needs(EVERY, since, n_rows, records=bool(used - {"id"}))
        # polars applies n_rows before the predicate: narrowing the requests by the predicate would
        # then count other rows.
        if predicate is not None and n_rows is None:
            needs = narrowed(needs, predicate)
        queries = list(_under_way)
        rows = _Rows(name, since, column_names, predicate, sure=len(queries) == 1)
        for runs in queries:
            runs.add(rows)
        try:
            for frame in _frames(fetch, needs, since, rows.stop):
                selected = rows.of(frame, keep=rows.kept)
                rows.idle.set()
                yield selected
                rows.idle.clear()
        except (RegisterError, KeyboardInterrupt) as error:
            rows.error = error
            if isinstance(error, RegisterError) and not rows.kept:
                error.partial = error.cursor = None  # the rows went to the sink
            raise
        finally:
            rows.idle.set()

    return guarded(register_io_source(source, schema=schema))


def _frames(
    fetch: Fetch, needs: Needs, since: date, end: threading.Event
) -> Iterator[pl.DataFrame]:
    """Yield the rows that a query needs; all since a day where its own days are not known."""
    begun = False
    try:
        for frame in heeding_interrupts(lambda stop: fetch(needs, stop), end):
            begun |= frame.height > 0
            yield frame
    except NotHeld:  # a served mirror
        if begun or needs.since == since:
            raise
        whole = replace(needs, since=since)
        yield from heeding_interrupts(lambda stop: fetch(whole, stop), end)


class _Runs:
    """The runs of scans within one query, whose rows a `collect` keeps for a possible error.

    A run that begins while several threads have a query each is noted in all of them. polars knows
    whose it is, and does not say: rows that may be of another query are not kept for a Ctrl-C.
    """

    def __init__(self, *, keep: bool) -> None:
        self.keep = keep
        self._runs: list[_Rows] = []

    def add(self, rows: _Rows) -> None:
        """Note that a run begins."""
        rows.kept |= self.keep
        self._runs.append(rows)

    def wrapped(
        self, error: pl.exceptions.ComputeError
    ) -> RegisterError | KeyboardInterrupt | None:
        """Return the error of a run that polars 1 has wrapped in its own; None for any other."""
        errors = (rows.error for rows in self._runs if rows.error is not None)
        # Runs of queries in other threads are noted too: theirs are not in its text.
        return next((ours for ours in errors if type(ours).__name__ in str(error)), None)

    def completed(self, error: RegisterError | KeyboardInterrupt) -> BaseException | None:
        """Return the error to raise, with the rows of the run that it ended; None if it is none.

        A Ctrl-C stops all runs first.
        """
        if isinstance(error, RegisterError):
            ended = [rows for rows in self._runs if rows.error is error]
        else:
            end = time.monotonic() + _STOPS
            for rows in self._runs:
                rows.stop.set()  # Ctrl-C ends the queries of all threads
            for rows in self._runs:
                rows.idle.wait(max(end - time.monotonic(), 0))
            ended = [rows for rows in self._runs if isinstance(rows.error, KeyboardInterrupt)]
            if not ended and len(self._runs) == 1:  # polars ended it between two frames
                ended = self._runs
            ended = [rows for rows in ended if rows.sure]
        return ended[0].completed(ended[0].error or error) if ended and self.keep else None


# Those of every `collect` in any thread: polars runs a scan in threads of its own.
_under_way: Final[set[_Runs]] = set()


def _with_our_errors(query: Callable[[], Result], *, keep: bool) -> Result:
    """Run a query of polars; raise our errors from it, with the rows fetched before them.

    Args:
        query: Runs it.
        keep: Whether the rows are kept; not for a sink, which may write more than memory holds.
    """
    runs = _Runs(keep=keep)
    _under_way.add(runs)
    try:
        try:
            return query()
        except KeyboardInterrupt:
            time.sleep(0)  # Python raises the same Ctrl-C again here
            raise
    except (RegisterError, KeyboardInterrupt, pl.exceptions.ComputeError) as error:
        ours = runs.wrapped(error) if isinstance(error, pl.exceptions.ComputeError) else error
        if ours is None:
            raise
        if (completed := runs.completed(ours)) is not None:
            raise completed from ours.__cause__
        if isinstance(ours, KeyboardInterrupt):
            raise Interrupted(
                "interrupted; the query has no result, and a file that it writes is incomplete: "
                "repeat it"
            ) from ours
        ours.partial = ours.cursor = None
        raise ours from ours.__cause__
    finally:
        _under_way.discard(runs)


class _Rows:
    """The rows of a scan so far, as the query selects them, for a possible error."""

    def __init__(
        self,
        name: str,
        since: date,
        columns: list[str],
        predicate: pl.Expr | None,
        *,
        sure: bool,
    ) -> None:
        self.sure = sure  # whose query they are of
        self.kept = False
        self.error: RegisterError | KeyboardInterrupt | None = None
        self.stop = threading.Event()
        self.idle = threading.Event()  # it has ended, or polars has a frame of it
        self._name, self._since = name, since
        self._columns, self._predicate = columns, predicate
        self._taken: pl.DataFrame | None = None  # fetched, but possibly not in the frames yet
        self._frames: list[tuple[pl.DataFrame, int]] = []  # each with its last id

    def of(self, frame: pl.DataFrame, *, keep: bool = True) -> pl.DataFrame:
        """Return the query's selection from a fetched frame, by ascending ids."""
        self._taken = frame if keep else None
        rows = frame if self._predicate is None else frame.filter(self._predicate)
        rows = rows.select(self._columns)
        if keep:
            last = int(frame["id"][-1]) if frame.height else self._cursor
            self._frames.append((rows, last))
        return rows

    @property
    def _cursor(self) -> int:
        return self._frames[-1][1] if self._frames else 0

    def _add(self, frame: pl.DataFrame | None) -> None:
        if frame is not None and frame.height and frame["id"][-1] > self._cursor:
            self.of(frame)

    def completed(self, error: RegisterError | KeyboardInterrupt) -> BaseException:
        """Return the error that a scan ends with, with all rows fetched before it.

        Call it only after polars has finished: while it defers a Ctrl-C, its calls fail.
        """
        self._add(self._taken)
        cause = error.__cause__
        if isinstance(error, RegisterError | Interrupted):
            self._add(error.partial)
        else:
            self._add(cause.so_far() if isinstance(cause, RecordsStopped) else None)
        rows = pl.concat([rows for rows, _ in self._frames]) if self._frames else None
        resume_filter = f'.filter(pl.col("id") > {self._cursor})'
        if not isinstance(error, RegisterError):
            since = "" if self._since == BEGINNING else f'changed_since="{self._since}"'
            error = Interrupted(
                f"interrupted after {0 if rows is None else rows.height:,} rows, which are in "
                ".partial of this error; to resume, followed by the rest of the query:\n"
                f"  fk.{self._name}.scan({since}){resume_filter}"
            )
        else:
            error.resume = resume_filter
        error.partial, error.cursor = rows, self._cursor or None
        return error
