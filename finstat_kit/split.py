"""The cutting of the id line, so that several connections walk it at once. No request is made here.

A page asked for after *a* that ends in *b* tells all ids of (a, b], whoever asked for it. The walk
is the line covered from its beginning to its end by such pages. It is cut into segments that follow
each other; each has its own cursor, and a page that runs over the end of its segment covers the
beginning of the next. Counts only say where to cut and whether it pays: wrong ones cost time, never
ids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.replies import Page
from finstat_kit.walk import Query

_WORTH: Final = 2  # pages that must lie in a part for a cut to pay
# Each cut costs a request more at the most, the page that runs over its end; so does each count.
_EXTRA: Final = 0.35


@dataclass(slots=True, eq=False)
class Segment:
    """A piece of the line: (start, frontier] is known, (frontier, limit] is still to be asked."""

    start: int
    frontier: int
    limit: int | None  # where the next segment starts; None is the end of the line
    spacing: float = 1.0  # ids lie about so far apart here
    busy: bool = False
    done: bool = False
    ids: list[NDArray[np.int64]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A page to be fetched for a segment."""

    segment: Segment
    query: Query


@dataclass(frozen=True, slots=True)
class Recount:
    """A count to be fetched: how much lies behind what was thought to be the end."""

    query: Query


class SplitWalk:
    """Which requests come next, and what their replies mean, in whatever order they arrive."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._segments = [Segment(query.after_id, query.after_id, None)]
        self._expected_end = -math.inf  # of the line, as far as a count told
        self._spare = 0.0  # requests that may be spent beyond those of one connection
        self._spent = 0
        self._recounting = False

    @property
    def done(self) -> bool:
        """True when the line is covered to its end."""
        return all(segment.done for segment in self._segments)

    def expect(self, total: int, connections: int) -> None:
        """Cut the line for so many connections, from a count of all ids that match.

        Called once, after the first page was delivered.
        """
        (segment,) = self._segments
        pages = -(-total // self._query.page_size)
        self._spare = math.floor(_EXTRA * pages) - 1  # the count was one
        remaining = total - sum(map(len, segment.ids))
        if segment.done or self._spare <= 0 or remaining <= 0:
            return
        self._expected_end = segment.frontier + remaining * segment.spacing
        parts = min(
            connections, int(self._spare) + 1, remaining // (_WORTH * self._query.page_size)
        )
        for part in range(parts - 1, 0, -1):
            width = (self._expected_end - segment.frontier) / parts
            self._cut(segment, int(segment.frontier + part * width))

    def tasks(self, free: int) -> list[Ask | Recount]:
        """Return up to *free* requests to send now."""
        tasks: list[Ask | Recount] = []
        for segment in self._segments:
            if len(tasks) < free and not segment.busy and not segment.done:
                tasks.append(self._ask(segment))
        while len(tasks) < free and self._spent < self._spare:
            heaviest = max(self._segments, key=self._weight)
            if self._weight(heaviest) >= _WORTH * self._query.page_size:
                low, high = self._ahead(heaviest)
                tasks.append(self._ask(self._cut(heaviest, int((low + high) / 2))))
            elif self._past_expectation():
                self._recounting = True
                self._spent += 1
                last = self._segments[-1]
                tasks.append(Recount(replace(self._query, after_id=last.frontier)))
            else:
                break
        return tasks

    def deliver(self, ask: Ask, page: Page) -> int:
        """Take a checked page; return how many ids it brought that were not known."""
        ask.segment.busy = False
        ids = page.ids.to_numpy()
        place = self._segments.index(ask.segment)
        last = int(ids[-1]) if len(ids) else ask.query.after_id
        new = 0
        for segment in self._segments[place:]:
            new += _extend(segment, ids, last)
            if segment.limit is None or last < segment.limit:
                if len(ids) > 1:
                    segment.spacing = max((last - int(ids[0])) / (len(ids) - 1), 1.0)
                break
            segment.done = True
        if not page.more or not len(ids):
            # The register says that nothing lies behind: neither for the segments there.
            for segment in self._segments[place:]:
                segment.done = True
        return new

    def recounted(self, recount: Recount, remaining: int | None) -> None:
        """Take a count of what lies behind the last segment's frontier; None where it failed."""
        self._recounting = False
        if remaining is None:
            self._spare = 0
            return
        self._expected_end = recount.query.after_id + remaining * self._segments[-1].spacing

    def covered(self) -> tuple[pl.Series, int]:
        """Return the ids known without a gap from the beginning, and the cursor behind them."""
        ids: list[NDArray[np.int64]] = []
        cursor = self._query.after_id
        for segment in self._segments:
            ids += segment.ids
            cursor = segment.frontier
            if not segment.done:
                break
        together = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
        return pl.Series("id", together, dtype=pl.Int64), cursor

    def _ask(self, segment: Segment) -> Ask:
        segment.busy = True
        return Ask(segment, replace(self._query, after_id=segment.frontier))

    def _cut(self, segment: Segment, at: int) -> Segment:
        right = Segment(at, at, segment.limit, segment.spacing)
        segment.limit = at
        self._segments.insert(self._segments.index(segment) + 1, right)
        self._spent += 1
        return right

    def _ahead(self, segment: Segment) -> tuple[float, float]:
        """Return the part of a segment that the page under way will leave."""
        end = self._expected_end if segment.limit is None else segment.limit
        return segment.frontier + self._query.page_size * segment.spacing, end

    def _weight(self, segment: Segment) -> float:
        """Return about how many ids lie ahead in a segment."""
        low, high = self._ahead(segment)
        return 0.0 if segment.done else (high - low) / segment.spacing

    def _past_expectation(self) -> bool:
        last = self._segments[-1]
        return (
            not last.done
            and not self._recounting
            and last.frontier > last.start
            and last.frontier >= self._expected_end
        )


def _extend(segment: Segment, ids: NDArray[np.int64], last: int) -> int:
    """Give a segment its part of a page that covers it from its frontier on."""
    low = int(np.searchsorted(ids, segment.frontier, side="right"))
    high = len(ids) if segment.limit is None else int(np.searchsorted(ids, segment.limit, "right"))
    if high > low:
        segment.ids.append(ids[low:high])
    segment.frontier = max(
        segment.frontier, last if segment.limit is None else min(last, segment.limit)
    )
    return max(high - low, 0)
