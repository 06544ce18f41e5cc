"""LazyFrames of records, which fetch what a query needs when they are collected."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Final

import polars as pl
from polars.io.plugins import register_io_source

from finstat_kit.arguments import Since
from finstat_kit.client.collections import walk
from finstat_kit.client.collections.fetching import (
    fetch_records,
    ids_unchanged_in_cache,
    most_requests,
    refuse_long_work,
    refuse_the_whole,
    requests_for,
)
from finstat_kit.client.collections.needs import EVERY, Needs, narrowed, within
from finstat_kit.client.session import Session
from finstat_kit.errors import Interrupted, NotFound, NotHeld, RegisterError
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.records import KINDS
from finstat_kit.transport.threads import heeding_interrupts

# Records of a scan fetched at once: few at first, for the rows of a `head` may be among them.
_FIRST_BATCH: Final = 10
_LARGEST_BATCH: Final = 1_000
_INTERRUPTED: Final = (
    "interrupted; the query has no result, and a file that it writes is incomplete: repeat it (a "
    "register with cache= keeps the records that have arrived)"
)
Fetch = Callable[[Needs, threading.Event], Iterator[pl.DataFrame]]


def scan(
    session: Session, name: str, changed_since: Since, max_requests: int | None
) -> pl.LazyFrame:
    """Return the records of a collection as a LazyFrame; see `Collection.scan`."""
    since = walk.answered_since(session, name, changed_since)
    records = session.source.all_records(name)
    if records is not None:
        changed = pl.col(wire.CHANGED) >= since
        return (records if changed_since is None else records.filter(changed)).sort("id")

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
    if not session.source.cost:
        for page in _fetched_ids(session, name, needs, stop):
            # A record that a mirror could not read must not hide all others.
            yield session.source.records(name, page["id"], keep=True)
        return
    most = most_requests(session, max_requests)
    if needs.whole and max_requests is None and most < math.inf:
        refuse_the_whole(name, session, max_requests)
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
        cached_ids = ids_unchanged_in_cache(session, kind, ids, max_requests, stop)
        left = iter(ids)
        while batch := list(islice(left, size)):
            size = min(2 * size, _LARGEST_BATCH)
            try:
                yield fetch_records(
                    kind,
                    batch,
                    session,
                    lambda n: None,
                    keep=False,
                    stop=stop,
                    cached_ids=cached_ids,
                )
            except NotFound as error:
                shown = ", ".join(map(str, error.ids[:5])) + (" …" if len(error.ids) > 5 else "")
                error.message = f"the list has ids without a record: {shown}"
                error.cure = 'leave out its .ids: .filter(~pl.col("id").is_in(ids))'
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
        try:
            for frame in _frames(fetch, needs, since):
                rows = frame if predicate is None else frame.filter(predicate)
                yield rows.select(column_names)
        except RegisterError as error:
            error.partial = error.cursor = None  # the query may have other rows
            raise
        except KeyboardInterrupt as interrupt:
            raise Interrupted(_INTERRUPTED) from interrupt

    return register_io_source(source, schema=schema)


def _frames(fetch: Fetch, needs: Needs, since: date) -> Iterator[pl.DataFrame]:
    """Yield the rows that a query needs; all since a day where its own days are not known."""
    begun = False
    try:
        for frame in heeding_interrupts(lambda stop: fetch(needs, stop)):
            begun |= frame.height > 0
            yield frame
    except NotHeld:  # a served mirror
        if begun or needs.since == since:
            raise
        whole = replace(needs, since=since)
        yield from heeding_interrupts(lambda stop: fetch(whole, stop))
