"""The pages of a list as an iterator that does not advance on error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import polars as pl

from finstat_kit.errors import Either, holding
from finstat_kit.protocol import wire
from finstat_kit.protocol.paging import Page, Query, next_query


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
        with holding(
            lambda: None,
            lambda: how_to_go_on(self._name, query, self.cursor, self.count),
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


def how_to_go_on(name: str, query: Query, cursor: int, count: int) -> Either:
    """Return the message of an interruption, in Python with a line that resumes the walk."""
    since = query.changed_since.isoformat()
    names = {spelling: name for name, spelling in wire.FILTERS.items()}
    filters = "".join(f', {names[k]}="{v}"' for k, v in query.filters.items())
    done = f"interrupted after {count:,} ids"
    return Either(
        f'{done}; to resume:\n  fk.{name}.ids(changed_since="{since}", after_id={cursor}{filters})',
        done,
    )
