"""The queries, walks and scans behind the methods of a collection."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Since
from finstat_kit.client.collections.kept import requests_for, unchanged
from finstat_kit.client.collections.pages import Pages, how_to_go_on
from finstat_kit.client.collections.records import (
    copied_records,
    fetch_records,
    most_requests,
    refuse_long_work,
    refuse_the_whole,
)
from finstat_kit.client.collections.scan import Needs, lazy, within
from finstat_kit.client.keywords import Checked
from finstat_kit.client.session import Session
from finstat_kit.errors import Interrupted, RegisterError, UsageError, warn
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import replies, requests, wire
from finstat_kit.protocol.paging import Query
from finstat_kit.protocol.shaped import KINDS
from finstat_kit.protocol.split_walk import SplitWalk
from finstat_kit.transport.base import Stop, Stopped
from finstat_kit.transport.exchange import Exchange
from finstat_kit.transport.threads import split

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

_SCANNED: Final = 1_000  # records of a scan fetched at once


class Walking(Checked):
    """A collection without its public methods."""

    def __init__(self, name: str, session: Session) -> None:
        self._name = name
        self._endpoint = wire.LISTS[name]
        self._kind = KINDS[name]
        self._session = session

    def __repr__(self) -> str:
        return f"<collection {self._name}, /api/{self._endpoint}>"

    def _scan(self, changed_since: Since, max_requests: int | None) -> pl.LazyFrame:
        since, copy = self._answered_since(changed_since), self._session.copy
        copied = None if copy is None else copy.all_records(self._name)
        if copied is not None:
            changed = pl.col(wire.CHANGED) >= since
            return (copied if changed_since is None else copied.filter(changed)).sort("id")

        def fetch(needs: Needs, stop: threading.Event) -> Iterator[pl.DataFrame]:
            if needs.records:
                yield from self._scanned_records(needs, stop, max_requests)
            else:
                yield from self._scanned_ids(needs, stop)

        return lazy(self._name, self._kind.schema, since, fetch)

    def _scanned_records(
        self, needs: Needs, stop: threading.Event, max_requests: int | None
    ) -> Iterator[pl.DataFrame]:
        session, kind = self._session, self._kind
        if session.copy is not None:
            for page in self._scanned_ids(needs, stop):
                # What the copy could not read must not hide all others.
                yield copied_records(self._name, page["id"], session.copy, keep=True)
            return
        most = most_requests(session, max_requests)
        if needs.whole and most < math.inf:
            refuse_the_whole(self._name, session, int(most))
        if most < math.inf:
            # All ids first: no refusal after hours of records.
            room = int(most) + 1 if needs.limit is None else min(needs.limit, int(most) + 1)
            ids = pl.concat(self._scanned_ids(replace(needs, limit=room), stop))
            refuse_long_work(
                requests_for(session, kind, ids["id"].to_list()), session, max_requests
            )
            pages: Iterable[pl.DataFrame] = [ids]
        elif session.exchange.cache is not None:
            pages = [pl.concat(self._scanned_ids(needs, stop))]  # their changes: one list
        else:
            pages = self._scanned_ids(needs, stop)
        for page in pages:
            kept = unchanged(session, kind, page["id"].to_list(), stop)
            for batch in page.iter_slices(_SCANNED):
                ids_ = batch["id"].to_list()
                yield fetch_records(
                    kind, ids_, session, lambda n: None, keep=False, stop=stop, kept=kept
                )
            if page.is_empty():
                yield kind.frame([])

    def _scanned_ids(self, needs: Needs, stop: threading.Event) -> Iterator[pl.DataFrame]:
        filters = filters_of(**{**dict.fromkeys(wire.FILTERS), **needs.parameters})
        query = self._query(needs.since, 0, None, filters, warns=False)
        room = wire.MAX_ID if needs.limit is None else needs.limit
        yield pl.DataFrame(schema=replies.IDS)  # polars wants a frame, also where nothing matches
        left = deque(needs.spans)
        while left and room:
            most = left[-1][1] - left[0][0] + 1  # ids that can lie there
            if len(left) == 1:
                most = min(most, room)
            pages = self._pages(replace(query, after_id=left[0][0] - 1), most, stop)
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

    def _query(
        self,
        changed_since: Since,
        after_id: int,
        page_size: int | None,
        filters: dict[str, str] | None = None,
        *,
        warns: bool = True,
    ) -> Query:
        return Query(
            endpoint=self._endpoint,
            changed_since=self._answered_since(changed_since, warns=warns),
            page_size=self._session.page_size
            if page_size is None
            else arguments.whole("page_size", page_size, 1, wire.MAX_PAGE),
            after_id=arguments.whole("after_id", after_id, 0, wire.MAX_ID),
            filters=filters or {},
        )

    def _answered_since(self, changed_since: Since, *, warns: bool = True) -> date:
        """Return the day that ``changed_since`` names, if there is an answer for it.

        Raises:
            UsageError: A copy holds a part that begins later, or does not know the days of change,
                or has no lists.
        """
        session = self._session
        day = arguments.changed_since(changed_since, session.today)
        if warns and changed_since is not None and day > (today := session.today()):
            warn(
                f"changed_since='{day}' lies after the register's day, {today} (.today of the "
                "register): nothing can have changed since"
            )
        if session.copy is None:
            return day
        part = session.copy.part()
        if part.extract:
            raise UsageError(
                f"this mirror is an extract of some units, and has no list of {self._name}; give "
                "the ids that you want records of, or read all it holds: .snapshot()"
            )
        since = part.since
        if since is not None and day < since:
            given = "" if changed_since is None else f"changed_since='{day}': "
            raise UsageError(
                f"{given}this mirror holds what changed since {since}; give "
                f"changed_since='{since}' or a later day, or copy the whole register: "
                "fk.Mirror('another folder').sync()"
            )
        if since is None and day != wire.BEGINNING and self._name in part.undated:
            raise UsageError(
                f"a mirror does not know when {self._name} changed; leave out changed_since, or "
                "ask the register"
            )
        return day

    def _count(self, query: Query, stop: threading.Event | None = None) -> int:
        return self._exchange.get(requests.count(query), stop)

    def _count_or_none(self, query: Query, stop: threading.Event) -> int | None:
        # Advisory: without it a bar has no end, and the work is the same.
        with contextlib.suppress(RegisterError, Stopped):
            return self._count(query, stop)
        return None

    def _pages(self, query: Query, limit: int | None, stop: threading.Event | None = None) -> Pages:
        if limit is not None:
            limit = arguments.whole("limit", limit, 0, wire.MAX_ID)
        exchange = self._exchange

        def fetch(query: Query, seen: int) -> replies.Page:
            return exchange.get(requests.page(query, seen), stop)

        return Pages(self._name, fetch, query, limit)

    def _ids(
        self,
        query: Query,
        limit: int | None,
        connections: int | None,
        progress: bool | None,
        over: threading.Event | None = None,
    ) -> pl.DataFrame:
        session = self._session
        if connections is None:
            connections = session.connections
        connections = arguments.whole("connections", connections, 1, 256)
        if session.exchange.cache is not None or session.replayed:
            connections = 1  # where a walk is cut depends on timing, and could not be replayed
        pages = self._pages(query, limit, over)

        walk = SplitWalk(query)
        frames = [pl.DataFrame(schema=replies.IDS)]

        def came() -> tuple[pl.DataFrame, int]:
            """Return what came without a gap, and the cursor behind it."""
            if connections > 1 and limit is None:
                ids, cursor = walk.covered()
                return ids.to_frame(), cursor
            frame = pl.concat(frames, rechunk=True)
            return frame, int(frame["id"][-1]) if frame.height else query.after_id

        def total(stop: threading.Event) -> int | None:
            count = self._count_or_none(query, Stop(stop, over))
            return count if limit is None or count is None else min(limit, count)

        try:
            with bar("ids", total, remote=session.watched, progress=progress) as advance:
                # With a limit there is nothing to cut: the walk ends before anybody knows where.
                if connections > 1 and limit is None:
                    self._walk_split(walk, connections, advance, over)
                else:
                    for page in pages:
                        frames.append(page)
                        advance(page.height)
        except RegisterError as error:
            error.partial, error.cursor = came()
            raise
        except KeyboardInterrupt as interrupt:
            partial, cursor = came()
            text = how_to_go_on(self._name, query, cursor, partial.height)
            raise Interrupted(text, cursor=cursor, partial=partial) from interrupt
        return came()[0]

    def _walk_split(
        self, walk: SplitWalk, connections: int, advance: Advance, over: threading.Event | None
    ) -> None:
        session = self._session
        exchange = session.exchange

        def fetch(query: Query, stop: threading.Event) -> replies.Page:
            return exchange.get(requests.page(query), stop)

        def pays() -> bool:
            # Where the rate is the bottleneck more connections would only wait for their turn.
            return session.rate is None or 1 < session.rate * exchange.latency < math.inf

        split(
            walk,
            connections,
            fetch,
            self._count,
            pressure=lambda: exchange.pressure,
            pays=pays,
            advance=advance,
            outer=over,
        )

    @property
    def _exchange(self) -> Exchange:
        return self._session.exchange


def filters_of(ico: object, dic: object, legal_form_code: object) -> dict[str, str]:
    """Return the filters of units, checked, as the register spells them."""
    checked = {
        "ico": None if ico is None else arguments.digits("ico", ico, (8, 12)),
        "dic": None if dic is None else arguments.digits("dic", dic, (10,)),
        "legal_form_code": None
        if legal_form_code is None
        else arguments.legal_form_code(legal_form_code),
    }
    return {wire.FILTERS[name]: value for name, value in checked.items() if value is not None}
