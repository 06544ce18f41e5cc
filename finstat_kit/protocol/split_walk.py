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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.errors import PagingError
from finstat_kit.protocol.requests import Page, Query, ended, warn_of_no_ids
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
        start: Where it begins.
        limit: Its last place; None at the end of the line.
        cursor: The last id received, which may lie behind the limit; None before the first.
        busy: Whether a page is requested.
        done: Whether it is walked to its end.
        ids: Those received, per page.
    """

    start: int
    limit: int | None = None
    cursor: int | None = None
    busy: bool = False
    done: bool = False
    ids: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def after(self) -> int:
        """The cursor of its next page."""
        return self.start if self.cursor is None else self.cursor


class SplitWalk:
    """The ranges of a walk, and the effect of their pages, in any order of arrival."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._ranges = [Range(query.after_id)]
        self._highest, self._end = 0, MAX_ID  # of all ids, and of the list as reported
        self._warned = False

    @property
    def done(self) -> bool:
        """True once each range was walked to its end."""
        return all(piece.done for piece in self._ranges)

    def next_pages(self, number: int) -> list[tuple[Range, Query]]:
        """Return up to some ranges, each with its next page, which is to be requested now."""
        waiting = [piece for piece in self._ranges if not (piece.busy or piece.done)]
        chosen = sorted(waiting, key=lambda piece: len(piece.ids))[:number]
        for piece in chosen:
            piece.busy = True
        return [(piece, replace(self.query, after_id=piece.after)) for piece in chosen]

    def deliver(self, piece: Range, page: Page) -> int:
        """Add the checked page of a range; return its number of new ids.

        Raises:
            PagingError: The page contradicts others: one ends the line, another has ids behind
                that end.
        """
        ids, after = page.ids.to_numpy(), piece.after
        if page.more and not len(ids) and not self._warned:
            self._warned = True
            warn_of_no_ids(replace(self.query, after_id=after))
        # An end with ids, reported behind a cut, is requested again behind these.
        first = piece.cursor is None and piece is not self._ranges[0]
        if len(ids):
            piece.cursor = int(ids[-1])
            self._highest = max(self._highest, piece.cursor)
        piece.busy = False
        if ended(page) and not (first and len(ids)):
            piece.done, self._end = True, min(self._end, piece.after)
        if piece.limit is not None and piece.after >= piece.limit:
            piece.done = True
            ids = ids[: np.searchsorted(ids, piece.limit, side="right")]
        piece.ids.append(ids)
        if self._highest > self._end:
            raise PagingError(
                f"{self.query.endpoint} contradicts itself: one page ends the list at id "
                f"{self._end}, another has id {self._highest}. The register is changing or is "
                "broken: resume from the cursor, or walk with connections=1",
                cursor=after,
            )
        return len(ids)

    def covered(self) -> tuple[pl.Series, int]:
        """Return the ids known without a gap from the beginning, and the cursor after them."""
        ids = [np.empty(0, dtype=np.int64)]
        for piece in self._ranges:
            ids += piece.ids
            if piece.limit is None or piece.after < piece.limit:
                break
        together = pl.Series("id", np.concatenate(ids), dtype=pl.Int64)
        return together, int(together[-1]) if len(together) else self.query.after_id

    def cut(self, places: Sequence[int]) -> None:
        """Cut the line, which is one range, at some places: those still ahead of it."""
        (first,) = self._ranges
        if not first.done:
            ahead = [place for place in places if place > first.after]
            first.limit, *limits = *ahead, None
            self._ranges += map(Range, ahead, limits)


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
