"""A walk in ranges of the id line, over several connections.

Every id behind a cursor follows it, in ascending order [Lists of identifiers]: so the line can be
cut anywhere, and each range be walked from its start until a page passes its end. Counts only
decide where to cut: wrong ones cost time, never ids [Counts].

A single connection would not send a cut as its cursor, and the description does not say that any
number may be one. So the end of the list is taken only from a page behind an id, or behind the
start of the walk, and a range is empty only if no page passes its start: that of a register that
dislikes cuts is an error, never a short list.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.client.source import Source
from finstat_kit.errors import PagingError, RegisterError
from finstat_kit.progress import Advance
from finstat_kit.protocol.requests import Page, Query, next_query
from finstat_kit.protocol.wire import MAX_ID
from finstat_kit.transport.base import Stop, Stopped
from finstat_kit.transport.threads import Workers, in_order

# A cut and a count cost at most one request each, and so does the confirmation of an end. At most
# this share of a single connection's requests is spent so (ours).
_EXTRA: Final = 0.35
_RANGES: Final = 4  # per connection, so that one with many ids holds up few (ours)
_PAGES: Final = 16  # in each of several ranges per connection: each cut costs half a page (ours)
_COUNTS: Final = 5  # at once, at most (ours)
_EVEN: Final = 1.25  # times its share of ids, between two of them (ours)
_ROUNDS: Final = 3  # of them, where ids are unevenly spread (ours)
_MOMENT: Final = 0.01  # seconds between looks for the first page


@dataclass(slots=True, eq=False)
class Range:
    """A piece of the line.

    Attributes:
        cursor: The last id received, which may lie behind the limit; its start before the first.
        limit: Its last place.
        ended: Whether a page of it ends the list.
        pages: The ids received.
    """

    cursor: int
    limit: int = MAX_ID
    ended: bool = False
    pages: list[pl.Series] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether it is walked to its end."""
        return self.ended or self.cursor >= self.limit

    def cut(self, places: Sequence[int]) -> list[Range]:
        """Cut it at those places that are ahead; return the ranges behind it."""
        ahead = [place for place in places if place > self.cursor and not self.ended]
        self.limit, *ends = *ahead, self.limit
        return list(map(Range, ahead, ends))

    def step(self, query: Query, page_of: Callable[[Query], Page]) -> None:
        """Request the next page."""
        following = replace(query, after_id=self.cursor)
        page = page_of(following)
        is_cut = not self.pages and self.cursor > query.after_id
        self.pages.append(page.ids)
        if len(page.ids):
            self.cursor = int(page.ids[-1])
        # An end with ids, reported behind a cut, is requested again behind these.
        self.ended = next_query(following, page) is None and not (is_cut and len(page.ids))


def joined(ranges: Sequence[Range]) -> tuple[pl.Series, int]:
    """Return the ids known without a gap from the beginning, and the cursor after them."""
    ids = pl.Series("id", [], pl.Int64)
    for piece in ranges:
        for page in piece.pages:
            ids.append(page.filter(page <= piece.limit))
        if piece.cursor < piece.limit:
            break
    return ids.rechunk(), int(ids[-1]) if len(ids) else ranges[0].cursor


def check(ranges: Sequence[Range], query: Query) -> None:
    """Refuse pages that contradict each other.

    Raises:
        PagingError: One ends the line, another has ids behind that end.
    """
    end = min((piece.cursor for piece in ranges if piece.ended), default=MAX_ID)
    last = max((piece.cursor for piece in ranges if any(map(len, piece.pages))), default=0)
    if last > end:
        raise PagingError(
            f"{query.endpoint} contradicts itself: one page ends the list at id {end}, another has "
            f"id {last}. The register is changing or is broken: resume from the cursor, or walk "
            "with connections=1"
        )


def walk_in_ranges(
    source: Source, query: Query, ranges: list[Range], connections: int, advance: Advance
) -> None:
    """Walk a list over several connections.

    Args:
        source: What answers.
        query: Of the list.
        ranges: The whole line as one range; in the end all ranges, with what came of them.
        connections: Requests at the same time.
        advance: Called with the number of ids of each page.
    """
    stop, lock, (first,) = Stop(), Lock(), ranges
    workers: Workers[None, Sequence[int] | None] = Workers(connections)

    def walk(piece: Range) -> None:
        while not piece.done:
            piece.step(query, lambda following: source.page(following, None, stop))
            with lock:
                advance(int((piece.pages[-1] <= piece.limit).sum()))

    def count(place: int, stop: Event) -> int | None:
        with suppress(RegisterError, Stopped):  # without it the ids are the same
            return source.count(replace(query, after_id=place), stop)
        return None

    def counts(places: Sequence[int]) -> Mapping[int, int | None]:
        return dict(in_order(places, count, len(places), stop))

    def places() -> Sequence[int]:
        total = count(query.after_id, stop)
        while not first.pages and not stop.is_set():
            time.sleep(_MOMENT)
        if total is None or not first.pages:
            return []
        return cuts(query, first.pages[0], total, connections, counts)

    try:
        workers.submit(None, partial(walk, first))
        workers.submit(None, places)  # which no page waits for
        while not all(piece.done for piece in ranges):
            if (finished := workers.finished()) and (found := finished[1].result()):
                others = first.cut(found)
                ranges += others
                for piece in others:
                    workers.submit(None, partial(walk, piece))
    finally:
        stop.set()
        workers.end()
    check(ranges, query)


def cuts(
    query: Query,
    ids: pl.Series,
    total: int,
    connections: int,
    counts: Callable[[Sequence[int]], Mapping[int, int | None]],
) -> list[int]:
    """Return places that cut the line into ranges of about as many ids.

    Args:
        query: Of the walk.
        ids: Of its first page.
        total: The count of all ids.
        connections: Requests at the same time.
        counts: Returns the number of ids behind each of some places, None where it failed.
    """
    pages = math.ceil(total / query.page_size)
    spare = math.floor(_EXTRA * pages) - 2
    each = max(1, min(pages // (_PAGES * connections), _RANGES))
    parts = min(each * connections, spare)
    if parts < 2 or not 1 < len(ids) < total:
        return []
    ranks = {int(ids[0]): 1, int(ids[-1]): len(ids)}
    number = min(_COUNTS, connections - 1)  # a connection goes on with the pages
    for _ in range(min((spare - parts) // number, _ROUNDS)):
        counted = counts(_places(ranks, int(ids[-1]), total, number + 1))
        ranks |= {place: total - left for place, left in counted.items() if left is not None}
        spare -= number
        widest = np.diff([*(ranks[place] for place in sorted(ranks)), total]).max()
        if widest <= _EVEN * total / (number + 1):
            break
        parts = min(_RANGES * connections, spare)
    return _places(ranks, int(ids[-1]), total, parts)


def _places(ranks: Mapping[int, int], start: int, total: int, parts: int) -> list[int]:
    """Return places behind a start that leave about as many ids between them.

    Args:
        ranks: The number of ids up to each of some places, the start among them.
        start: The place.
        total: The number of all ids, which go on behind the last place as before it.
        parts: The number of ranges.
    """
    beginning, *_ = known = sorted(ranks)
    offsets = [float(place - beginning) for place in known]
    upto = np.clip(np.maximum.accumulate([float(ranks[place]) for place in known]), 1, total)
    shares = np.linspace(ranks[start], total, parts + 1)[1:-1]
    end = offsets[-1] * total / upto[-1]
    found = np.interp(shares, [*upto, total], [*offsets, end])
    places = {min(beginning + int(offset), MAX_ID) for offset in found}
    return sorted(place for place in places if place > start)
