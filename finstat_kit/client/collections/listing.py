"""Lists of ids: a query, how many ids it has, its pages, and all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import product
from typing import Final, Self, TypedDict, Unpack

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import Since
from finstat_kit.client.collections.walk import over_connections
from finstat_kit.client.source import Source
from finstat_kit.errors import NotHeld, RegisterError, UsageError, attaching, invalid, warn
from finstat_kit.progress import bar
from finstat_kit.protocol import requests, wire
from finstat_kit.protocol.company_numbers import DIC, ICO
from finstat_kit.protocol.requests import Query, next_query
from finstat_kit.protocol.split_walk import SplitWalk

_NONE: Final = pl.DataFrame(schema=requests.IDS)


class Filters(TypedDict, total=False):
    """Filters of units: one number or legal form, or several."""

    ico: str | Sequence[str] | None
    dic: str | Sequence[str] | None
    legal_form_code: str | Sequence[str] | None


class Listing:
    """The ids of a collection that match.

    Args:
        source: What answers.
        name: Name of the collection.
        changed_since: As in `Collection.ids`, as are the others.
        after_id: Only ids greater than this one.
        page_size: Ids per request; None is the register's own setting.
        **filters: Those of `Units.ids`; several values are several lists.
    """

    def __init__(
        self,
        source: Source,
        name: str,
        changed_since: Since = None,
        after_id: int = 0,
        page_size: int | None = None,
        **filters: Unpack[Filters],
    ) -> None:
        size = source.session.page_size if page_size is None else page_size
        query = Query(
            wire.LISTS[name],
            answered_since(source, name, changed_since),
            arguments.whole("page_size", size, 1, wire.MAX_PAGE),
            arguments.whole("after_id", after_id, 0, wire.MAX_ID),
        )
        self._source, self._name = source, name
        self._counts_back = arguments.is_span(changed_since)
        self._given = filters
        self._queries = [replace(query, filters=choice) for choice in _choices(**filters)]

    def count(self) -> int:
        """Return the number of ids, see `Collection.count`."""
        if (given := self._source.part().given) is not None:
            raise not_listed(given, f"does not know how many {self._name} the register has")
        number = sum(map(self._source.count, self._queries))
        self._warn_if_empty(number)
        return number

    def pages(self, limit: int | None = None) -> Pages:
        """Return the pages, see `Collection.pages`."""
        if len(self._queries) > 1:
            raise invalid(
                next(n for n, x in self._given.items() if x is not None and not isinstance(x, str)),
                ...,
                "has several values, whose pages have no cursor in common",
                give="one per walk, or take fk.units.ids",
            )
        return self._pages(self._queries[0], limit)

    def ids(
        self,
        limit: int | None = None,
        connections: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Return all ids, see `Collection.ids`.

        A walk of several lists that fails leaves ids of the others above its cursor, so that an
        error has none of them: the call begins again where it began.
        """
        first = self._queries[0]
        if len(self._queries) == 1:
            frame = self._walk(first, limit, connections, progress)
        else:
            text = "interrupted; a walk over several numbers or legal forms begins again: repeat it"
            with attaching(lambda: _NONE.clone(), lambda: text, lambda: first.after_id):
                walks = [self._walk(q, limit, connections, progress) for q in self._queries]
            frame = pl.concat(walks).unique().sort("id")
            frame = frame if limit is None else frame.head(limit)
        if limit != 0:
            self._warn_if_empty(frame.height)
        return frame

    def _warn_if_empty(self, number: int) -> None:
        """Warn where nothing changed since a day that was counted back, and name that day.

        Raises:
            NotHeld: A mirror of given units has none with a number or a legal form.
        """
        query, given = self._queries[0], self._source.part().given
        if given is not None and query.filters and not number:
            said = " and ".join(f"{name} {value}" for name, value in query.filters.items())
            raise not_listed(given, f"has no unit with {said}")
        if number or not self._counts_back or self._source.part().ends:
            return
        if query.filters or query.after_id:
            return  # other reasons to find nothing
        warn(
            f"nothing has changed since {query.changed_since}, counted back from the register's "
            f"day, {self._source.session.today()}: if its data end earlier, give a date"
        )

    def _pages(self, query: Query, limit: int | None) -> Pages:
        limit = None if limit is None else arguments.whole("limit", limit, 0, wire.MAX_ID)
        return Pages(self._source, self._name, query, limit)

    def _walk(
        self, query: Query, limit: int | None, connections: int | None, progress: bool | None
    ) -> pl.DataFrame:
        source, session = self._source, self._source.session
        connections = session.connections if connections is None else connections
        connections = arguments.whole("connections", connections, 1, 256)
        # The cuts of a walk depend on timing and could not be replayed.
        replayable = session.exchange.cache is not None or session.replayed
        # With a limit nothing is cut: the end of the walk is not known in advance.
        if connections > 1 and limit is None and not replayable:
            walk = SplitWalk(query)
            covered = walk.covered
            sizes = over_connections(source, walk, connections)
        else:
            sizes, covered = _over_one_connection(self._pages(query, limit))

        def total() -> int | None:
            with contextlib.suppress(RegisterError):  # it is advisory: without it a bar has no end
                number = source.count(query)
                return number if limit is None else min(limit, number)
            return None

        def text() -> str:
            so_far, cursor = covered()
            return _how_to_go_on(self._name, query, cursor, so_far.len(), limit)

        with (
            attaching(lambda: covered()[0].to_frame(), text, lambda: covered()[1]),
            contextlib.closing(sizes),
            bar("ids", total, watched=session.watched, progress=progress) as advance,
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

    def __init__(self, source: Source, name: str, query: Query, limit: int | None) -> None:
        self._source = source
        self._name = name
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


def _over_one_connection(
    listed: Pages,
) -> tuple[Generator[int, None, None], Callable[[], tuple[pl.Series, int]]]:
    """Return an iterator of the number of ids of each page, and a function for the ids so far."""
    frames = [_NONE]

    def sizes() -> Generator[int, None, None]:
        for page in listed:
            frames.append(page)
            yield page.height

    return sizes(), lambda: (pl.concat(frames, rechunk=True)["id"], listed.cursor)


def answered_since(source: Source, name: str, changed_since: Since, *, lists: bool = True) -> date:
    """Return the day that ``changed_since`` names, if the register can answer it.

    Args:
        source: What answers.
        name: Name of the collection.
        changed_since: As given.
        lists: Whether the answer stands for the register, rather than for the records at hand.

    Raises:
        UsageError: A mirror does not know the days of change.
        NotHeld: It is of given units, and has no such list.
    """
    day = arguments.changed_since(changed_since, source.session.today)
    if changed_since is not None and day > (today := source.session.today()):
        warn(f"{day} lies after the register's day, {today}: nothing can have changed since")
    part = source.part()
    if lists and part.given is not None and (name != "units" or day != wire.BEGINNING):
        changed = "" if day == wire.BEGINNING else f" changed since {day}"
        raise not_listed(part.given, f"has no list of {name}{changed}")
    if day != wire.BEGINNING and name in part.undated:
        raise UsageError(
            f"a mirror does not know when {name} changed",
            cure="leave out changed_since, or use the register",
        )
    return day


def not_listed(given: int, fault: str) -> NotHeld:
    """Return the error for what a mirror of given units cannot say of the register."""
    return NotHeld(
        f"this mirror of {given:,} given units {fault}",
        cure="use the register: fk.use(fk.LIVE), or a mirror of all units; fk.units.ids() and "
        "scan() of each collection have what is of these units",
    )


def _choices(
    ico: object = None, dic: object = None, legal_form_code: object = None
) -> list[dict[str, str]]:
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
