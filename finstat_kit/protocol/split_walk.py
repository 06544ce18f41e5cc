"""A walk in ranges of the id line, for several connections. No request is made here.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.errors import PagingError
from finstat_kit.protocol.requests import Page, Query, next_query
from finstat_kit.protocol.wire import MAX_ID

# A cut and a count cost at most one request each, and so does the confirmation of an end. At most
# this share of a single connection's requests is spent so (ours).
_EXTRA: Final = 0.35
_RANGES: Final = 4  # per connection, so that one with many ids holds up few (ours)
_PAGES: Final = 16  # in each of several ranges per connection: each cut costs half a page (ours)
_COUNTS: Final = 5  # at once, at most (ours)
_EVEN: Final = 1.25  # times its share of ids, between two of them (ours)
_ROUNDS: Final = 3  # of them, where ids are unevenly spread (ours)


@dataclass(slots=True, eq=False)
class Range:
    """A piece of the line.

    Attributes:
        cursor: The last id received, which may lie behind the limit; its start before the first.
        limit: Its last place.
        is_cut: Whether it starts at a cut.
        ended: Whether a page of it ends the list.
        pages: The ids received.
    """

    cursor: int
    limit: int = MAX_ID
    is_cut: bool = True
    ended: bool = False
    pages: list[pl.Series] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether it is walked to its end."""
        return self.ended or self.cursor >= self.limit

    @property
    def ids(self) -> pl.Series:
        """Those received, up to the limit."""
        together = pl.concat([pl.Series(dtype=pl.Int64), *self.pages])
        return together.filter(together <= self.limit)

    def walk(self, query: Query, page_of: Callable[[Query], Page]) -> None:
        """Request page after page; the limit may be set meanwhile."""
        while not self.done:
            following = replace(query, after_id=self.cursor)
            page = page_of(following)
            is_last = next_query(following, page) is None
            # An end with ids, reported behind a cut, is requested again behind these.
            first = self.is_cut and not self.pages and len(page.ids) > 0
            self.pages.append(page.ids)
            if len(page.ids):
                self.cursor = int(page.ids[-1])
            self.ended = is_last and not first


class SplitWalk:
    """The ranges of a walk, each of which is walked in a thread."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.ranges = [Range(query.after_id, is_cut=False)]

    def cut(self, places: Iterable[int]) -> list[Range]:
        """Cut the line, which is one range, at some places; return the ranges behind the first."""
        (first,) = self.ranges
        ahead = [place for place in places if place > first.cursor and not first.ended]
        others = list(map(Range, ahead, [*ahead[1:], MAX_ID]))
        if others:
            first.limit = ahead[0]
        self.ranges += others
        return others

    def check(self) -> None:
        """Refuse pages that contradict each other.

        Raises:
            PagingError: One ends the line, another has ids behind that end.
        """
        last_ids = [int(page[-1]) for piece in self.ranges for page in piece.pages if len(page)]
        end = min((piece.cursor for piece in self.ranges if piece.ended), default=MAX_ID)
        if last_ids and max(last_ids) > end:
            raise PagingError(
                f"{self.query.endpoint} contradicts itself: one page ends the list at id "
                f"{end}, another has id {max(last_ids)}. The register is changing or is "
                "broken: resume from the cursor, or walk with connections=1"
            )

    def covered(self) -> tuple[pl.Series, int]:
        """Return the ids known without a gap from the beginning, and the cursor after them."""
        ids = pl.Series("id", [], pl.Int64)
        for piece in self.ranges:
            ids.extend(piece.ids)
            if piece.cursor < piece.limit:
                break
        return ids, int(ids[-1]) if len(ids) else self.query.after_id


def cuts(
    query: Query,
    ids: pl.Series,
    total: int,
    connections: int,
    count: Callable[[Sequence[int]], Sequence[int | None]],
) -> list[int]:
    """Return places that cut the line into ranges of about as many ids.

    Args:
        query: Of the walk.
        ids: Of its first page.
        total: The count of all ids.
        connections: Requests at the same time.
        count: Returns the number of ids behind each of some places, None where it failed.
    """
    pages = math.ceil(total / query.page_size)
    spare = math.floor(_EXTRA * pages) - 2
    each = max(1, min(pages // (_PAGES * connections), _RANGES))
    parts = min(each * connections, spare)
    if parts < 2 or not 1 < len(ids) < total:
        return []
    behind = {int(ids[0]): total - 1, int(ids[-1]): total - len(ids)}
    number = min(_COUNTS, connections - 1)  # a connection goes on with the pages
    for _ in range(min((spare - parts) // number, _ROUNDS) if number else 0):
        places = _places(behind, int(ids[-1]), number + 1)
        counts = zip(places, count(places), strict=True)
        behind |= {place: left for place, left in counts if left is not None}
        left = [*(behind[place] for place in sorted(behind)), 0]
        if max(a - b for a, b in pairwise(left)) <= _EVEN * total / (number + 1):
            break
        spare -= number
        parts = min(_RANGES * connections, spare)
    return _places(behind, int(ids[-1]), parts)


def _places(behind: dict[int, int], start: int, parts: int) -> list[int]:
    """Return places behind a start that leave about as many ids between them.

    Ids go on behind the last place as they are spread before it.
    """
    beginning, *_ = known = sorted(behind)
    places = np.array([float(place - beginning) for place in known])
    ids = behind[beginning] - np.minimum.accumulate([float(behind[place]) for place in known])
    end = places[-1] * behind[beginning] / max(ids[-1], 1.0)
    places, ids = np.append(places, end), np.append(ids, float(behind[beginning]))
    shares = np.linspace(np.interp(start - beginning, places, ids), ids[-1], parts + 1)[1:-1]
    found = {min(beginning + int(place), MAX_ID) for place in np.interp(shares, ids, places)}
    return sorted(place for place in found if place > start)
