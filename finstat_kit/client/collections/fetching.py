"""What answers by requests; the records behind ids: one request each, except cached ones."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Since, Years
from finstat_kit.client.collections.outage import DOUBTFUL, unless_down
from finstat_kit.client.session import Session
from finstat_kit.client.source import ANY, Allowance, Get, Outcome, Source, Wanted
from finstat_kit.errors import (
    Interrupted,
    NotFound,
    ProtocolError,
    RegisterError,
    UsageError,
    invalid,
)
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.records import KINDS, Kind, Record
from finstat_kit.protocol.requests import Page, Query, Request, next_query
from finstat_kit.transport.base import Stopped, refuse_child
from finstat_kit.transport.threads import in_order

if TYPE_CHECKING:
    from finstat_kit.protocol.forms import Form
    from finstat_kit.transport.cache_file import Facts

T = TypeVar("T")
_BATCH: Final = 2_000  # records that wait to become a frame; a report has 10 kB
# Record requests sent to a real host by default: half an hour to an hour.
_MOST_REQUESTS: Final = 10_000


class Requested(Source):
    """What answers for a register by requests."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        # Each fetched once.
        self._codelists: dict[str, pl.DataFrame] = {}
        self._forms: dict[int, Form | None] = {}
        self._listed_forms: list[Form] | None = None
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def lock(self) -> threading.Lock:
        """The lock of whoever fetches; a forked child, which might wait for ever, is refused."""
        refuse_child(self._process)
        return self._lock

    def page(
        self, query: Query, seen: int | None = None, stop: threading.Event | None = None
    ) -> Page:
        """Request a page."""
        return self.session.exchange.get(requests.page(query, seen), stop)

    def count(self, query: Query, stop: threading.Event | None = None) -> int:
        """Request a count."""
        return self.session.exchange.get(requests.count(query), stop)

    def records(
        self, name: str, ids: pl.Series, allowance: Allowance = ANY, *, null_rows: bool
    ) -> pl.DataFrame:
        """Request records."""
        kind = KINDS[name]
        frames: list[pl.DataFrame] = []
        batch: list[Record] = []
        missing_ids: list[int] = []

        def so_far() -> pl.DataFrame:
            last = kind.frame(batch)
            return pl.concat([*frames, last], rechunk=True) if frames else last

        fetched = self._in_order(kind, ids, allowance.max_requests, null_rows=null_rows)
        working = self.session.working("records", len(ids), so_far, allowance.progress)
        with working as advance, closing(fetched):
            for id_, record in fetched:
                if isinstance(record, ProtocolError) and not null_rows:
                    raise record
                if not isinstance(record, RegisterError):
                    batch.append(record)
                elif null_rows:
                    batch.append(kind.shape(id=id_))
                else:
                    missing_ids.append(id_)
                advance(1)
                if len(batch) >= _BATCH:
                    frames.append(kind.frame(batch))
                    batch.clear()
        if missing_ids:
            raise not_found(missing_ids, len(ids), so_far())
        return so_far()

    def scan(self, name: str, changed_since: Since, get: Get) -> pl.LazyFrame:
        """Refuse a scan."""
        raise UsageError(
            "a scan needs all records at hand, as a mirror or a sample has them; this register "
            "takes a request for each",
            cure=f"fetch those you need, fk.{name}.get(fk.{name}.ids(changed_since=…)), or "
            "keep a copy: fk.Mirror('ruz').sync()",
        )

    def numbered(
        self, numbers: Sequence[tuple[str, str]], progress: bool | None
    ) -> list[tuple[str, str, int]]:
        """Request the list of each number."""

        def fetch(number: tuple[str, str], stop: threading.Event) -> list[int]:
            kind, digits = number
            every = Query(wire.UNITS, wire.BEGINNING, self.session.page_size)
            if kind == "id":  # the first one after the id below
                first = replace(every, page_size=1, after_id=max(int(digits) - 1, 0))
                page = self._cached_for_the_day(requests.page(first), stop)
                return [id_ for id_ in page.ids if id_ == int(digits)]
            ids: list[int] = []
            query: Query | None = replace(every, filters={wire.FILTERS[kind]: digits})
            while query is not None:
                page = self._cached_for_the_day(requests.page(query, len(ids)), stop)
                ids += page.ids.to_list()
                query = next_query(query, page)
            return ids

        rows: list[tuple[str, str, int]] = []
        with self.session.working("numbers", len(numbers), lambda: None, progress) as advance:
            for (kind, digits), ids in in_order(numbers, fetch, self.session.connections):
                rows += [(kind, digits, id_) for id_ in ids]
                advance(1)
        return rows

    def codelist(self, name: str, *, refresh: bool = False) -> pl.DataFrame:
        """Request a codelist at the first call."""
        # A clone, which shares the data: what a user does to the frame stays with the user.
        known = self._codelists
        if name not in known or refresh:
            request = requests.codelist(wire.CODELISTS[name])
            known[name] = self._cached_for_the_day(request, refresh=refresh)
        return known[name].clone()

    def form(self, template: int, *, refresh: bool = False) -> Form | None:
        """Request a form at the first call."""
        # Threads that need the same form wait for the one that requests it.
        with self.lock:
            if template not in self._forms or refresh:
                form = None
                try:
                    request = requests.template(template)
                    form = self._cached_for_the_day(request, refresh=refresh)
                except NotFound:
                    pass
                except KeyboardInterrupt as interrupt:
                    raise Interrupted("interrupted while a template was requested") from interrupt
                self._forms[template] = form
            return self._forms[template]

    def forms(self, *, refresh: bool = False) -> list[tuple[Form, bool]]:
        """Request the list of forms at the first call."""
        with self.lock:
            if self._listed_forms is None or refresh:
                self._listed_forms, with_tables = self._cached_for_the_day(
                    requests.templates(), refresh=refresh
                )
                if with_tables:
                    self._forms |= {form.id: form for form in self._listed_forms}
            return [
                (whole or form, whole is not None)
                for form in self._listed_forms
                for whole in [self._forms.get(form.id)]
            ]

    def filings(self, units: pl.DataFrame, wanted: Wanted, progress: bool | None) -> pl.DataFrame:
        """Request statements, chunk by chunk."""
        from finstat_kit.client.collections import figures  # who reads none waits for nothing

        return figures.filings(self, units, wanted, progress)

    def figures(self, units: pl.DataFrame, wanted: Wanted, progress: bool | None) -> pl.DataFrame:
        """Request statements and reports, chunk by chunk."""
        from finstat_kit.client.collections import figures

        return figures.figures(self, units, wanted, progress)

    def figures_and_reports(
        self, unit: pl.DataFrame, filed: pl.DataFrame | None, years: Years
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Request the reports of filings."""
        from finstat_kit.client.collections import figures

        return figures.figures_and_reports(self, unit, filed)

    def _in_order(
        self, kind: Kind[Record], ids: pl.Series, max_requests: int | None, *, null_rows: bool
    ) -> Generator[Outcome, None, None]:
        """Yield each id, in their order, with its record or the error of that record alone.

        Args:
            kind: Kind of records.
            ids: None repeated.
            max_requests: Maximum number of requests for records that the cache does not have.
            null_rows: Whether a record that the register fails to send, or a proxy before it, is
                taken for a fault of that record as long as the register is not down; see
                `unless_down`.

        Raises:
            UsageError: More requests than *max_requests*, before the first record.
            RegisterError: Any fault that does not concern a single record, after all records
                before it.
        """
        exchange = self.session.exchange
        cached_ids = _unchanged(self, kind, ids.to_list(), max_requests)
        faults: tuple[type[RegisterError], ...] = (NotFound, ProtocolError)
        faults += DOUBTFUL if null_rows else ()

        def fetch(id_: int, stop: threading.Event) -> Record | RegisterError:
            if stop.is_set():
                raise Stopped  # without another request
            request: Request[Record] = requests.record(kind, id_)
            try:
                return (exchange.cached_or_sent if id_ in cached_ids else exchange.get)(
                    request, stop
                )
            except faults as error:
                return error

        fetched = in_order(ids, fetch, self.session.connections)
        with closing(fetched):  # an error ends its threads at once
            yield from (
                unless_down(fetched, self.session, kind, ids.to_list()) if null_rows else fetched
            )

    def _cached_for_the_day(
        self, request: Request[T], stop: threading.Event | None = None, *, refresh: bool = False
    ) -> T:
        """Return the value of a reply cached on the register's day, else send the request."""
        if refresh:
            return self.session.exchange.get(request, stop)
        return self.session.exchange.cached_or_sent(request, stop, day=self.session.today())


def scan_by_ids(
    ids: pl.DataFrame, name: str, get: Get, errors: Literal["raise", "keep"]
) -> pl.LazyFrame:
    """Return the records of some ids of a collection, read batch by batch."""
    return ids.lazy().map_batches(
        partial(get, errors=errors),
        schema=KINDS[name].schema,
        predicate_pushdown=True,  # a row is one id, so that filters by id and head() come first
        slice_pushdown=True,
        streamable=True,
    )


def get_records(
    name: str, ids: pl.Series, source: Source, allowance: Allowance = ANY, *, null_rows: bool
) -> pl.DataFrame:
    """Return the records of ids, in the order requested; see `Collection.get`."""
    unique = ids.unique(maintain_order=True)
    needed = requests_for(source, KINDS[name], unique.to_list())
    refuse_long_work(source, needed, allowance.max_requests)
    frame = source.records(name, unique, allowance, null_rows=null_rows)
    if unique.len() == ids.len():
        return frame
    return ids.to_frame().join(frame, on="id", how="left", maintain_order="left")


def records_with_gaps(name: str, ids: pl.Series, source: Source) -> pl.DataFrame:
    """Return the records of ids, none repeated; an id without a readable one is a row of its id.

    The number of requests has been checked already.
    """
    return source.records(name, ids, Allowance(ids.len(), progress=False), null_rows=True)


def not_found(missing: list[int], number: int, partial: pl.DataFrame) -> NotFound:
    """Return the error for ids without a record, some of a number."""
    shown = ", ".join(map(str, missing[:5])) + (" …" if len(missing) > 5 else "")
    others = "the others are in .partial of this error" if partial.height else "leave them out"
    return NotFound(
        f"{len(missing)} of {number} ids have no record: {shown}",
        cure=f'{others}, or get(ids, errors="keep") makes each a row of nulls',
        ids=missing,
        partial=partial,
    )


def refuse_long_work(
    source: Source, requests: int, max_requests: int | None, at_most: int | None = None
) -> None:
    """Refuse unexpectedly long work before the first request.

    Args:
        source: What answers.
        requests: How many are to be expected.
        max_requests: As given by the user.
        at_most: How many there can be, if not as many as expected.

    Raises:
        UsageError: With the number, the time it would take, and the alternatives.
    """
    session, most = source.session, _most_requests(source.session, max_requests)
    if session.offline or requests <= most:
        return
    low, high = map(duration, session.seconds_of(requests))
    number, _, unit = low.partition(" ")
    span = high if low == high else f"{number if high.endswith(unit) else low} to {high}"
    took = f", about {span}" if session.remote else ""
    needed = f"this needs {requests:,} requests"
    beyond = "" if at_most in (None, requests) else f" (at most {at_most:,})"
    fault = f"{needed}{beyond}, one per record{took}"
    # The limit is named where somebody gave it.
    raise invalid(
        None if max_requests is None else "max_requests",
        most,
        f": {fault}" if max_requests is not None else f"{fault}; the limit is {most:,}",
        cure="give fewer ids, such as those changed since a later day, take a sample of them, keep "
        "a mirror (fk.Mirror), which resumes after an interruption, or allow it by "
        f"max_requests={requests}",
    )


def _most_requests(session: Session, max_requests: int | None) -> float:
    """Return how many record requests may be sent at once."""
    if max_requests is None:
        return _MOST_REQUESTS if session.remote else math.inf
    return arguments.whole("max_requests", max_requests, 0, wire.MAX_ID)


def duration(seconds: float) -> str:
    """Return about how long something takes, in words."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def requests_for(source: Source, kind: Kind[Record], ids: Sequence[int]) -> int:
    """Return how many requests the records of ids need: none for cached ones.

    Which of these have changed is not known yet: `_unchanged` checks the number again.
    """
    session, file = source.session, source.session.exchange.cache
    ages = {} if file is None else file.facts(kind.path, ids)
    cached = sum(bool(age.since) or _is_young(age, session) for age in ages.values())
    return len(ids) - cached


def _unchanged(
    source: Source, kind: Kind[Record], ids: Sequence[int], max_requests: int | None
) -> frozenset[int]:
    """Return the ids whose cached records are still current, unless too many are not.

    The ids changed since the day before the oldest check are listed once, unless all records are
    younger than the register's ``max_age``.

    Raises:
        UsageError: The other records need more requests than *max_requests*.
        RegisterError: The changes cannot be listed.
    """
    session, file = source.session, source.session.exchange.cache
    if file is None:  # then the caller has checked the number
        return frozenset()
    checked_at = session.exchange.now
    ages = file.facts(kind.path, ids)
    current = {id_ for id_, age in ages.items() if _is_young(age, session)}
    # Our clock may be wrong: only the register's day can be compared with its days of change.
    check_days = {
        id_: date.fromisoformat(age.since)
        for id_, age in ages.items()
        if age.since and id_ not in current
    }
    if check_days and (checked := _ids_not_in_changes(session, kind.listed, check_days)):
        file.confirm(kind.path, sorted(checked), checked_at)
        current |= checked
    refuse_long_work(source, len(ids) - len(current), max_requests)
    return frozenset(current)


def _is_young(age: Facts, session: Session) -> bool:
    # An age is negative after a clock was set back.
    return 0 <= session.exchange.now - age.checked < session.max_age


def _ids_not_in_changes(session: Session, endpoint: str, old: dict[int, date]) -> set[int]:
    """Return the ids absent from the list of changes since the oldest check.

    The list takes at most as many requests as the records themselves would; ids above the point
    where it is abandoned count as changed.
    """
    since = min(old.values()) - timedelta(days=1)
    last_id = max(old)
    query: Query | None = Query(
        endpoint, max(since, wire.BEGINNING), wire.MAX_PAGE, max(min(old) - 1, 0)
    )
    unchanged_ids = set(old)
    for _ in range(len(old)):
        assert query is not None
        page = session.exchange.get(replace(requests.page(query), is_kept=False))
        unchanged_ids.difference_update(page.ids.to_list())
        query = next_query(query, page)
        if query is None or query.after_id >= last_id:
            return unchanged_ids
    assert query is not None
    return {id_ for id_ in unchanged_ids if id_ <= query.after_id}
