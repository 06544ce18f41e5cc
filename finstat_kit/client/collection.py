"""The collections of a register: their counts, ids, pages and records."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Since
from finstat_kit.client.keywords import with_cures
from finstat_kit.client.pages import Pages, how_to_go_on
from finstat_kit.client.scan import Needs, lazy
from finstat_kit.client.session import Session
from finstat_kit.errors import Interrupted, RegisterError, UsageError, warn
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import replies, requests, wire
from finstat_kit.protocol.paging import Query
from finstat_kit.protocol.split_walk import SplitWalk
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.exchange import Exchange
from finstat_kit.transport.threads import split

if TYPE_CHECKING:
    from datetime import date


class Collection:
    """One of the register's four collections: counts, ids and pages of ids.

    ``fk.units``, ``fk.statements``, ``fk.reports`` and ``fk.annual_reports`` use the register that
    is current at each call; ``reg.units`` and its siblings always use ``reg``.
    """

    def __init__(self, name: str, session: Callable[[], Session]) -> None:
        self._name = name
        self._endpoint = wire.LISTS[name]
        self._session = session

    def __repr__(self) -> str:
        return f"<collection {self._name}, /api/{self._endpoint}>"

    @with_cures
    def count(self, *, changed_since: Since = None, after_id: int = 0) -> int:
        """Fetch the number of matching ids.

        Advisory: the register changes while it is read, so a walk never relies on it.
        From ``/api/zostavajuce-id/<list>``.

        Args:
            changed_since: Only ids changed on this day or later: a date, ``"2026-01-01"``,
                a `timedelta` or ``"-30d"`` back from the register's day; None is everything.
            after_id: Only ids greater than this one.

        Returns:
            The number of ids.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.statements.count()
            41687
        """
        return self._count(self._query(changed_since, after_id, None))

    @with_cures
    def ids(
        self,
        *,
        changed_since: Since = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
        connections: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Fetch all matching ids.

        From ``/api/<list>``, page by page until the register reports the end of the list.

        Args:
            changed_since: Only ids changed on this day or later (the day itself included, as
                observed on the live register); None is everything.
            after_id: Only ids greater than this one: the cursor of an earlier walk.
            limit: Maximum number of ids; the lowest are returned.
            page_size: Ids per request, 1 to 10,000; None is the register's own setting.
            connections: Concurrent requests, 1 to 256; None is the register's own setting. The
                ids are the same. A walk with a *limit*, or one that the register's rate holds
                back, uses one connection.
            progress: Show a bar; None shows one for a real host, on a terminal or in a notebook.

        Returns:
            One column ``id`` (Int64), ascending, without repeats.

        Raises:
            RegisterError: With ``.partial``, the ids so far, and ``.cursor`` to resume from.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     fk.statements.ids(limit=3)["id"].to_list()
            [280, 590, 723]
        """
        query = self._query(changed_since, after_id, page_size)
        return self._ids(query, limit, connections, progress)

    @with_cures
    def pages(
        self,
        *,
        changed_since: Since = None,
        after_id: int = 0,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> Pages:
        """Iterate over the matching ids, one frame per reply, in constant memory.

        The arguments are those of `ids`. From ``/api/<list>``.

        Returns:
            An iterator of frames with one column ``id`` (Int64); see `Pages` for ``.cursor``.

        Example:
            >>> import finstat_kit as fk
            >>> with fk.using(fk.sample()):
            ...     pages = fk.reports.pages(page_size=5_000)
            ...     first = next(pages)
            ...     pages
            <pages of reports: 5,000 ids so far, cursor 893549, more to come>
        """
        return self._pages(self._query(changed_since, after_id, page_size), limit)

    @with_cures
    def scan(self, *, changed_since: Since = None) -> pl.LazyFrame:
        """Scan the ids lazily: what the query does not need is not fetched.

        ``id > a``, ``id <= b`` and the like become the cursor and the end of the walk, ``head(n)``
        the size of its pages. From ``/api/<list>``.

        Args:
            changed_since: Only ids changed on this day or later; None is everything.

        Returns:
            A LazyFrame with one column ``id`` (Int64), ascending.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> with fk.using(fk.sample()):
            ...     fk.statements.scan().filter(pl.col("id") > 6_900_000).collect().height
            365
        """
        bound = self._bound()
        since = bound._answered_since(changed_since)
        return lazy(self._name, replies.IDS, since, bound._scanned_ids)

    def _bound(self) -> Self:
        """Return this collection of the register that is current now, whichever is later."""
        session = self._session()
        return type(self)(self._name, lambda: session)

    def _scanned_ids(self, needs: Needs, stop: threading.Event) -> Iterator[pl.DataFrame]:
        filters = filters_of(**{**dict.fromkeys(wire.FILTERS), **needs.parameters})
        query = self._query(needs.since, needs.after_id, None, filters, warns=False)
        limit = needs.limit
        if needs.last_id is not None:
            width = max(needs.last_id - needs.after_id, 0)  # ids that can lie there at the most
            limit = width if limit is None else min(limit, width)
        pages = self._pages(query, limit, stop)
        yield pl.DataFrame(schema=replies.IDS)  # polars wants a frame, also where nothing matches
        for page in pages:
            if needs.last_id is None:
                yield page
                continue
            yield page.filter(pl.col("id") <= needs.last_id)
            if pages.cursor >= needs.last_id:
                return

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
            page_size=self._session().page_size
            if page_size is None
            else arguments.whole("page_size", page_size, 1, wire.MAX_PAGE),
            after_id=arguments.whole("after_id", after_id, 0, wire.MAX_ID),
            filters=filters or {},
        )

    def _answered_since(self, changed_since: Since, *, warns: bool = True) -> date:
        """Return the day that ``changed_since`` names, if there is an answer for it.

        Raises:
            UsageError: A copy holds a part that begins later, or does not know the days of change.
        """
        session = self._session()
        day = arguments.changed_since(changed_since, session.today)
        if warns and changed_since is not None and day > (today := session.today()):
            warn(
                f"changed_since='{day}' lies after the register's day, {today} (.today of the "
                "register): nothing can have changed since"
            )
        since = session.since()
        if since is not None and day < since:
            asked = None if changed_since is None else day.isoformat()
            raise UsageError(
                f"changed_since={asked!r}: this mirror holds what changed since {since}; give "
                f"changed_since='{since}' or a later day, or copy the whole register: "
                "fk.Mirror('another folder').sync()"
            )
        if since is None and day != wire.BEGINNING and self._name in session.undated:
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
        session = self._session()
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
            count = self._count_or_none(query, stop)
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
        session = self._session()
        exchange = session.exchange

        def fetch(query: Query, stop: threading.Event) -> replies.Page:
            return exchange.get(requests.page(query), stop)

        def advanced(ids: int) -> None:
            advance(ids)
            if over is not None and over.is_set():
                raise Stopped

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
            advance=advanced,
        )

    @property
    def _exchange(self) -> Exchange:
        return self._session().exchange


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
