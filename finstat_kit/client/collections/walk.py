"""Lists of ids: their queries and counts, pages that do not advance on an error, whole walks."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import product
from queue import SimpleQueue
from typing import Self

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import Since
from finstat_kit.client.source import Source
from finstat_kit.errors import RegisterError, UsageError, attaching, invalid, warn
from finstat_kit.progress import bar
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.company_numbers import DIC, ICO
from finstat_kit.protocol.requests import Page, Query, next_query
from finstat_kit.protocol.split_walk import Range, SplitWalk, cuts
from finstat_kit.transport.base import Stop, Stopped
from finstat_kit.transport.threads import Workers, in_order


def query_of(
    source: Source,
    name: str,
    changed_since: Since = None,
    after_id: int = 0,
    page_size: int | None = None,
    filters: dict[str, str] | None = None,
    *,
    warns: bool = True,
) -> Query:
    """Return the query of a list, its arguments checked."""
    return Query(
        endpoint=wire.LISTS[name],
        changed_since=answered_since(source, name, changed_since, warns=warns),
        page_size=source.session.page_size
        if page_size is None
        else arguments.whole("page_size", page_size, 1, wire.MAX_PAGE),
        after_id=arguments.whole("after_id", after_id, 0, wire.MAX_ID),
        filters=filters or {},
    )


def answered_since(source: Source, name: str, changed_since: Since, *, warns: bool = True) -> date:
    """Return the day that ``changed_since`` names, if the register can answer it.

    Raises:
        UsageError: A mirror begins later, does not know the days of change, or has no lists.
    """
    day = arguments.changed_since(changed_since, source.session.today)
    if warns and changed_since is not None and day > (today := source.session.today()):
        warn(f"{day} lies after the register's day, {today}: nothing can have changed since")
    part = source.part()
    if part.extract:
        raise UsageError(
            f"this mirror is an extract of some units and has no list of {name}",
            cure="give the ids of the records, or read all of them: .snapshot()",
        )
    since = part.since
    if since is not None and day < since:
        raise invalid(
            None if changed_since is None else "changed_since",
            str(day),
            f": this mirror holds what changed since {since}",
            give=f"changed_since='{since}' or a later day, or copy the whole register: "
            "fk.Mirror('another folder').sync()",
        )
    if since is None and day != wire.BEGINNING and name in part.undated:
        raise UsageError(
            f"a mirror does not know when {name} changed",
            cure="leave out changed_since, or use the register",
        )
    return day


def warn_if_empty(
    source: Source, changed_since: Since, query: Query, number: int, limit: int | None = None
) -> None:
    """Warn where nothing changed since a day that was counted back, and name that day."""
    if number or not arguments.is_span(changed_since) or source.part().ends:
        return
    if query.filters or query.after_id or limit == 0:
        return  # other reasons to find nothing
    warn(
        f"nothing has changed since {query.changed_since}, counted back from the register's day, "
        f"{source.session.today()}: if its data end earlier, give a date"
    )


def count(source: Source, query: Query, stop: threading.Event | None = None) -> int:
    """Return the number of ids of a query."""
    return source.session.exchange.get(requests.count(query), stop)


def count_or_none(source: Source, query: Query, stop: threading.Event) -> int | None:
    """Return the number of ids of a query, None where it cannot be fetched.

    It is advisory: without it a bar has no end, and the work is the same.
    """
    with contextlib.suppress(RegisterError, Stopped):
        return count(source, query, stop)
    return None


def pages(
    source: Source,
    name: str,
    query: Query,
    limit: int | None,
    stop: threading.Event | None = None,
) -> Pages:
    """Return the pages of a query, over one connection."""
    if limit is not None:
        limit = arguments.whole("limit", limit, 0, wire.MAX_ID)

    def fetch(query: Query, seen: int) -> requests.Page:
        return source.session.exchange.get(requests.page(query, seen), stop)

    return Pages(name, fetch, query, limit)


def ids(
    source: Source,
    name: str,
    query: Query,
    limit: int | None = None,
    connections: int | None = None,
    progress: bool | None = None,
    stop: threading.Event | None = None,
) -> pl.DataFrame:
    """Return all ids of a query; see `Collection.ids`.

    Args:
        source: What answers.
        name: Name of the collection.
        query: The query of the list.
        limit: As in `Collection.ids`.
        connections: As in `Collection.ids`.
        progress: As in `Collection.ids`.
        stop: Ends the work when it is set.
    """
    if connections is None:
        connections = source.session.connections
    connections = arguments.whole("connections", connections, 1, 256)
    # The cuts of a walk depend on timing and could not be replayed.
    replayable = source.session.exchange.cache is not None or source.session.replayed
    # With a limit nothing is cut: the end of the walk is not known in advance.
    if connections > 1 and limit is None and not replayable:
        walk = SplitWalk(query)
        covered = walk.covered
        sizes = over_connections(source, walk, connections, stop)
    else:
        sizes, covered = _over_one_connection(pages(source, name, query, limit, stop))

    def total(bar_closed: threading.Event) -> int | None:
        number = count_or_none(source, query, Stop(bar_closed, stop))
        return number if limit is None or number is None else min(limit, number)

    def text() -> str:
        partial, cursor = covered()
        return _how_to_go_on(name, query, cursor, partial.len(), limit)

    with (
        attaching(lambda: covered()[0].to_frame(), text, lambda: covered()[1]),
        contextlib.closing(sizes),
        bar("ids", total, watched=source.session.watched, progress=progress) as advance,
    ):
        for size in sizes:
            advance(size)
    return covered()[0].to_frame()


class Pages(Iterator[pl.DataFrame]):
    """The pages of a list: one frame with a column ``id`` (Int64, ascending) per reply.

    An error or an interruption does not advance the walk: the next ``next()`` requests the same
    page again.

    Attributes:
        cursor: The last id fetched; pass it as ``after_id=`` to resume in another walk.
        count: Number of ids fetched so far.
        done: True when the register reported the end of the list, or the limit is reached.
    """

    def __init__(
        self, name: str, fetch: Callable[[Query, int], Page], query: Query, limit: int | None
    ) -> None:
        self._name = name
        self._fetch = fetch
        self._query = query
        self._limit = limit
        self.cursor = query.after_id
        self.count = 0
        self.done = limit == 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pl.DataFrame:
        if self.done:
            raise StopIteration
        query = self._query
        if self._limit is not None:
            query = query.sized(min(query.page_size, self._limit - self.count))
        with attaching(
            lambda: None,
            lambda: _how_to_go_on(self._name, query, self.cursor, self.count, self._limit),
            lambda: self.cursor,
        ):
            page = self._fetch(query, self.count)

        following = next_query(self._query, page)
        ids = page.ids
        if self._limit is not None:
            ids = ids.head(self._limit - self.count)
        self.count += ids.len()
        self.cursor = int(ids[-1]) if ids.len() else self.cursor
        self.done = following is None or self.count == self._limit
        self._query = following or self._query
        return ids.to_frame()

    def __repr__(self) -> str:
        state = "done" if self.done else "more to come"
        return f"<pages of {self._name}: {self.count:,} ids so far, cursor {self.cursor}, {state}>"


def _how_to_go_on(name: str, query: Query, cursor: int, count: int, limit: int | None) -> str:
    """Return the message of an interruption, with a line that resumes the walk."""
    since = query.changed_since.isoformat()
    names = {spelling: name for name, spelling in wire.FILTERS.items()}
    filters = "".join(f', {names[k]}="{v}"' for k, v in query.filters.items())
    left = "" if limit is None else f", limit={limit - count}"
    return (
        f"interrupted after {count:,} ids; to resume:\n"
        f'  fk.{name}.ids(changed_since="{since}", after_id={cursor}{filters}{left})'
    )


def ids_of_all(
    source: Source,
    name: str,
    queries: Sequence[Query],
    limit: int | None,
    connections: int | None,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the ids of several queries, ascending and without repeats.

    A walk that fails leaves ids of the others above its cursor, so that an error has none of them:
    the call begins again where it began.
    """
    if len(queries) == 1:
        return ids(source, name, queries[0], limit, connections, progress)
    start = queries[0].after_id
    none = pl.DataFrame(schema={"id": pl.Int64})
    text = "interrupted; a walk over several numbers or legal forms begins again: repeat the call"
    with attaching(lambda: none, lambda: text, lambda: start):
        walks = [ids(source, name, query, limit, connections, progress) for query in queries]
    together = pl.concat(walks).unique().sort("id")
    return together if limit is None else together.head(limit)


def ids_with(source: Source, argument: str, value: object) -> pl.DataFrame:
    """Return the ids of the units with an IČO, a DIČ or a legal form, or with one of several."""
    choices = filters_of(**{**dict.fromkeys(wire.FILTERS), argument: value})
    queries = [query_of(source, "units", filters=filters) for filters in choices]
    return ids_of_all(source, "units", queries, None, None, progress=False)


def _over_one_connection(
    listed: Pages,
) -> tuple[Generator[int, None, None], Callable[[], tuple[pl.Series, int]]]:
    """Return an iterator of the number of ids of each page, and a function for the ids so far."""
    frames = [pl.DataFrame(schema=requests.IDS)]

    def sizes() -> Generator[int, None, None]:
        for page in listed:
            frames.append(page)
            yield page.height

    return sizes(), lambda: (pl.concat(frames, rechunk=True)["id"], listed.cursor)


def over_connections(
    source: Source, walk: SplitWalk, connections: int, stop: threading.Event | None = None
) -> Generator[int, None, None]:
    """Walk a list over several connections; yield the number of ids of each page.

    Args:
        source: What answers.
        walk: The walk, fresh.
        connections: Requests at the same time; halved each time the register requires fewer
            requests or is too slow.
        stop: Ends the walk when it is set.
    """
    exchange, ending = source.session.exchange, Stop(stop)
    # One thread more than connections: counts that hang block no page.
    workers: Workers[Range | None, Page | list[int]] = Workers(connections + 1)
    first_ids: SimpleQueue[pl.Series | None] = SimpleQueue()
    pages = 0  # in flight
    counted = False
    pressure = exchange.pressure
    try:
        while not walk.done:
            for piece, query in walk.next_pages(connections - pages):
                pages += 1
                workers.submit(piece, partial(exchange.get, requests.page(query), ending))
            if not counted and is_latency_bound(source):
                counted = True
                plan = partial(_cuts, source, walk.query, first_ids, connections, ending)
                workers.submit(None, plan)
            if (finished := workers.finished()) is not None:
                done, reply = finished[0], finished[1].result()
                if isinstance(reply, Page):
                    assert done is not None
                    pages -= 1
                    first_ids.put(reply.ids)
                    yield walk.deliver(done, reply)
                else:
                    walk.cut(reply)
            if exchange.pressure > pressure:
                connections, pressure = max(connections // 2, 1), exchange.pressure
    finally:
        ending.set()
        first_ids.put(None)
        workers.end()


def _cuts(
    source: Source,
    query: Query,
    first_ids: SimpleQueue[pl.Series | None],
    connections: int,
    stop: threading.Event,
) -> list[int]:
    """Return where to cut a walk, by counts that are requested in parallel with its pages."""

    def counts(places: Sequence[int]) -> list[int | None]:
        queries = [replace(query, after_id=place) for place in places]
        work = partial(count_or_none, source)
        return [number for _, number in in_order(queries, work, len(places), stop)]

    total, ids = count_or_none(source, query, stop), first_ids.get()
    return [] if ids is None or total is None else cuts(query, ids, total, connections, counts)


def is_latency_bound(source: Source) -> bool:
    """Return whether several connections are faster than one.

    If the rate is the bottleneck, more of them would only wait.
    """
    return (
        source.session.rate is None
        or 1 < source.session.rate * source.session.exchange.latency < math.inf
    )


def filters_of(ico: object, dic: object, legal_form_code: object) -> list[dict[str, str]]:
    """Return the filters of units, checked, as the register spells them.

    There is one set of filters per number and legal form: the register takes one of each per
    request.
    """
    choices = {
        "ico": None if ico is None else given_frames.several_digits("ico", ico, ICO),
        "dic": None if dic is None else given_frames.several_digits("dic", dic, DIC),
        "legal_form_code": None
        if legal_form_code is None
        else arguments.legal_form_codes(legal_form_code),
    }
    given = {wire.FILTERS[name]: values for name, values in choices.items() if values is not None}
    return [dict(zip(given, values, strict=True)) for values in product(*given.values())]
