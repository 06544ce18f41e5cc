"""What a scan of a collection fetches: ids alone, or the records behind them."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import polars as pl

from finstat_kit.arguments import Since
from finstat_kit.client.collections import walk
from finstat_kit.client.collections.kept import requests_for, unchanged
from finstat_kit.client.collections.lazy import lazy
from finstat_kit.client.collections.needs import Needs, within
from finstat_kit.client.collections.records import (
    copied_records,
    fetch_records,
    most_requests,
    refuse_long_work,
    refuse_the_whole,
)
from finstat_kit.client.session import Session
from finstat_kit.protocol import paging, wire
from finstat_kit.protocol.records.decode import KINDS

_SCANNED: Final = 1_000  # records of a scan fetched at once


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
            yield from _records(session, name, needs, stop, max_requests)
        else:
            yield from _ids(session, name, needs, stop)

    return lazy(name, KINDS[name].schema, since, fetch)


def _records(
    session: Session, name: str, needs: Needs, stop: threading.Event, max_requests: int | None
) -> Iterator[pl.DataFrame]:
    kind = KINDS[name]
    if session.copy is not None:
        for page in _ids(session, name, needs, stop):
            # A record that the copy could not read must not hide all others.
            yield copied_records(name, page["id"], session.copy, keep=True)
        return
    most = most_requests(session, max_requests)
    if needs.whole and max_requests is None and most < math.inf:
        refuse_the_whole(name, session, int(most))
    if most < math.inf:
        # All ids first: too many are refused before the first record.
        room = int(most) + 1 if needs.limit is None else min(needs.limit, int(most) + 1)
        ids = pl.concat(_ids(session, name, replace(needs, limit=room), stop))
        refuse_long_work(requests_for(session, kind, ids["id"].to_list()), session, max_requests)
        pages: Iterable[pl.DataFrame] = [ids]
    elif session.exchange.cache is not None:
        pages = [pl.concat(_ids(session, name, needs, stop))]  # one list of changes for all
    else:
        pages = _ids(session, name, needs, stop)
    for page in pages:
        kept = unchanged(session, kind, page["id"].to_list(), stop)
        for batch in page.iter_slices(_SCANNED):
            ids_ = batch["id"].to_list()
            yield fetch_records(
                kind, ids_, session, lambda n: None, keep=False, stop=stop, kept=kept
            )
        if page.is_empty():
            yield kind.frame([])


def _ids(
    session: Session, name: str, needs: Needs, stop: threading.Event
) -> Iterator[pl.DataFrame]:
    (filters,) = walk.filters_of(**{**dict.fromkeys(wire.FILTERS), **needs.parameters})
    query = walk.query_of(session, name, needs.since, filters=filters, warns=False)
    room = wire.MAX_ID if needs.limit is None else needs.limit
    yield pl.DataFrame(schema=paging.IDS)  # polars needs a frame even if nothing matches
    left = deque(needs.spans)
    while left and room:
        most = left[-1][1] - left[0][0] + 1  # the most ids in the spans
        if len(left) == 1:
            most = min(most, room)
        pages = walk.pages(session, name, replace(query, after_id=left[0][0] - 1), most, stop)
        for page in pages:
            ids = within(page, needs.spans).head(room)
            room -= ids.height
            yield ids
            while left and left[0][1] <= pages.cursor:
                left.popleft()
            if not (left and room) or left[0][0] > pages.cursor + 1:
                break  # to the next span
        else:
            return  # the list ends here
