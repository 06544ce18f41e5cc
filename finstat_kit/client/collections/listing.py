"""Lists of ids: a query, how many ids it has, its pages, and all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Final, Self

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Since
from finstat_kit.client.collections.split_walk import Range, joined, walk_in_ranges
from finstat_kit.client.source import Source
from finstat_kit.errors import RegisterError, attaching, invalid, warn
from finstat_kit.progress import bar
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.company_numbers import DIC, ICO
from finstat_kit.protocol.requests import Query, next_query

_NONE: Final = pl.DataFrame(schema=requests.IDS)


def query_of(
    source: Source,
    name: str,
    changed_since: Since = None,
    after_id: int = 0,
    page_size: int | None = None,
    ico: str | None = None,
    dic: str | None = None,
    legal_form_code: str | None = None,
) -> Query:
    """Return the query of a list, with the arguments of `Collection.ids` checked."""
    size = source.session.page_size if page_size is None else page_size
    filters = {
        "ico": None if ico is None else arguments.digits("ico", ico, ICO),
        "dic": None if dic is None else arguments.digits("dic", dic, DIC),
        "legal_form_code": None
        if legal_form_code is None
        else arguments.legal_form_code(legal_form_code),
    }
    given = {key: value for key, value in filters.items() if value is not None}
    if given and name != "units":
        key, value = next(iter(given.items()))
        raise invalid(key, value, ": only units are listed by it", cure="leave it out")
    query = Query(
        wire.LISTS[name],
        day_of(source, changed_since),
        arguments.whole("page_size", size, 1, wire.MAX_PAGE),
        arguments.whole("after_id", after_id, 0, wire.MAX_ID),
        {wire.FILTERS[key]: value for key, value in given.items()},
    )
    return source.listed(query)


def walked(
    source: Source,
    query: Query,
    limit: int | None = None,
    connections: int | None = None,
    progress: bool | None = None,
) -> pl.DataFrame:
    """Return all ids of a list, see `Collection.ids`.

    Raises:
        RegisterError: With the ids so far and the cursor to resume from.
        Interrupted: Ctrl-C, with the same; its text is the line to paste.
    """
    session = source.session
    connections = session.connections if connections is None else connections
    connections = arguments.whole("connections", connections, 1, 256)
    # The cuts of a walk depend on timing and could not be replayed.
    replayable = session.exchange.cache is not None or session.offline
    # If the rate is the bottleneck, several connections would only wait.
    is_slow = session.rate is None or session.rate * session.exchange.latency > 1
    # With a limit nothing is cut: the end of the walk is not known in advance.
    is_split = connections > 1 and is_slow and limit is None and not replayable
    pages, frames, ranges = Pages(source, query, limit), [_NONE], [Range(query.after_id)]

    def covered() -> tuple[pl.Series, int]:
        return joined(ranges) if is_split else (pl.concat(frames, rechunk=True)["id"], pages.cursor)

    def total() -> int | None:
        with contextlib.suppress(RegisterError):  # it is advisory: without it a bar has no end
            number = source.count(query)
            return number if limit is None else min(limit, number)
        return None

    def text() -> str:
        so_far, cursor = covered()
        return _how_to_go_on(query, cursor, so_far.len(), limit)

    with (
        attaching(lambda: covered()[0].to_frame(), text, lambda: covered()[1]),
        bar("ids", total, watched=session.watched, progress=progress) as advance,
    ):
        if is_split:
            walk_in_ranges(source, query, ranges, connections, advance)
        else:
            for page in pages:
                frames.append(page)
                advance(page.height)
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

    def __init__(self, source: Source, query: Query, limit: int | None) -> None:
        self._source = source
        self._query = query
        self._limit = None if limit is None else arguments.whole("limit", limit, 0, wire.MAX_ID)
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
            query = replace(query, page_size=min(query.page_size, self._limit - self.count))
        with attaching(
            lambda: None,
            lambda: _how_to_go_on(query, self.cursor, self.count, self._limit),
            lambda: self.cursor,
        ):
            page = self._source.page(query, self.count)

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
        so_far = f"{self.count:,} ids so far, cursor {self.cursor}"
        return f"<pages of {self._query.name}: {so_far}, {state}>"


def _how_to_go_on(query: Query, cursor: int, count: int, limit: int | None) -> str:
    """Return the message of an interruption, with a line that resumes the walk."""
    since = query.changed_since.isoformat()
    names = {spelling: name for name, spelling in wire.FILTERS.items()}
    filters = "".join(f', {names[k]}="{v}"' for k, v in query.filters.items())
    left = "" if limit is None else f", limit={limit - count}"
    return (
        f"interrupted after {count:,} ids; to resume:\n"
        f'  fk.{query.name}.ids(changed_since="{since}", after_id={cursor}{filters}{left})'
    )


def day_of(source: Source, changed_since: Since) -> date:
    """Return the day that ``changed_since`` names; warn where it lies after the register's day."""
    today = source.session.today
    day = arguments.changed_since(changed_since, today)
    if changed_since is not None and day > today():
        warn(f"{day} lies after the register's day, {today()}: nothing can have changed since")
    return day
