"""A walk split into segments of the id line, for several connections. No request is made here.

A page requested after *a* that ends with *b* contains every id in (a, b], whichever segment
requested it: ids ascend, and all behind the cursor follow [Lists of identifiers]. Such pages cover
the line from its beginning to its end. The line is cut into consecutive segments, each with its own
cursor; a page that runs past the end of its segment covers the beginning of the next. Counts only
decide where to cut and whether it pays: wrong counts cost time, never ids [Counts]. Places on the
line are integers: a float is too coarse for ids near 2^63.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.errors import PagingError
from finstat_kit.protocol.requests import Page, Query, ended, warn_of_no_ids
from finstat_kit.protocol.wire import MAX_ID

_WORTH: Final = 2  # minimum pages in each part for a cut to pay: it costs one (ours)
# Each cut costs at most one extra request, the page past its end; so does each count. At most this
# share of a single connection's requests is spent so (ours).
_EXTRA: Final = 0.35


@dataclass(slots=True, eq=False)
class Segment:
    """A piece of the line: (start, frontier] is known, (frontier, limit] is still unknown."""

    start: int
    frontier: int
    limit: int | None  # where the next segment starts; None is the end of the line
    spacing: float = 1.0  # approximate distance between ids
    busy: bool = False
    done: bool = False
    ids: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def highest(self) -> int:
        """The largest id known here, -1 without any."""
        return int(self.ids[-1][-1]) if self.ids else -1


@dataclass(frozen=True, slots=True, eq=False)
class Fetch:
    """A page to fetch for a segment."""

    segment: Segment
    query: Query


@dataclass(frozen=True, slots=True)
class Count:
    """A count to fetch: of the ids behind the cursor of a query."""

    query: Query


class SplitWalk:
    """The next requests of a walk, and the effect of their replies, in any order of arrival."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._segments = [Segment(query.after_id, query.after_id, None)]
        self._expected_end = 0  # of the line, as far as a count shows
        self._pages = 0  # delivered, except empty ones
        self._connections = 1
        self._spare = 0  # requests that may be spent beyond those of one connection
        self._spent = 0
        self._recounting = False
        self._warned = False
        self._total: int | None = None  # ids, as the count has it
        self._ended_at_a_cut = False

    @property
    def begun(self) -> bool:
        """True once a page with ids was delivered."""
        return self._pages > 0

    @property
    def done(self) -> bool:
        """True once the line is covered to its end."""
        return all(segment.done for segment in self._segments) and not self._end_is_doubtful

    def expect(self, total: int, connections: int) -> None:
        """Cut the line for several connections, by the count of all matching ids.

        Called once, when the count has arrived and the walk has `begun`.
        """
        (segment,) = self._segments
        pages = -(-total // self.query.page_size)
        self._connections, self._total = connections, total
        self._spare = math.floor(_EXTRA * pages) - 1  # the count took one
        remaining = total - sum(map(len, segment.ids))
        if segment.done or self._spare <= 0 or remaining <= 0:
            return
        self._expected_end = _place(segment.frontier, remaining * segment.spacing)
        width = self._expected_end - segment.frontier
        room = min(remaining, width) // (_WORTH * self.query.page_size)
        parts = min(connections, self._spare + 1, room)
        for part in range(parts - 1, 0, -1):
            self._cut(segment, segment.frontier + width * part // parts)

    def tasks(self, free: int) -> list[Fetch | Count]:
        """Return up to *free* requests to send now."""
        tasks: list[Fetch | Count] = []
        if self._end_is_doubtful and all(segment.done for segment in self._segments):
            self._segments[-1].done = self._ended_at_a_cut = False
        for segment in self._segments:
            if len(tasks) < free and not segment.busy and not segment.done:
                tasks.append(self._ask(segment))
        # Spent along the walk, so that a count far too high costs no more than this.
        spare = min(self._spare, 2 * self._connections + _EXTRA * self._pages)
        while len(tasks) < free and self._spent < spare:
            heaviest = max(self._segments, key=self._weight)
            if self._weight(heaviest) >= _WORTH * self.query.page_size:
                low, high = self._remaining_part(heaviest)
                tasks.append(self._ask(self._cut(heaviest, (low + high) // 2)))
            elif self._past_expectation():
                self._recounting = True
                self._spent += 1
                last = self._segments[-1]
                tasks.append(Count(replace(self.query, after_id=last.frontier)))
            else:
                break
        return tasks

    def deliver(self, request: Fetch, page: Page) -> int:
        """Add a checked page; return its number of new ids.

        Raises:
            PagingError: The page contradicts others: one ends the line, another has ids beyond
                that end.
        """
        request.segment.busy = False
        ids = page.ids.to_numpy()
        self._pages += len(ids) > 0
        last_id = int(ids[-1]) if len(ids) else request.query.after_id
        if request.segment not in self._segments:
            # Meanwhile another page has ended the line below this segment.
            if len(ids):
                raise _contradiction(request.query, self._segments[-1].frontier, int(ids[0]))
            return 0
        if page.more and not len(ids) and not self._warned:
            self._warned = True
            warn_of_no_ids(request.query)
        index = self._segments.index(request.segment)
        ends = ended(page)
        highest = max(segment.highest for segment in self._segments[index:])
        if ends and highest > last_id:
            raise _contradiction(request.query, last_id, highest)
        new_count = 0
        for segment in self._segments[index:]:
            reached = last_id if segment.limit is None else min(last_id, segment.limit)
            # A page with ids beyond the former end: the register has grown meanwhile.
            segment.done = segment.done and reached <= segment.frontier
            new_count += _extend(segment, ids, reached)
            if segment.limit is None or last_id < segment.limit:
                if len(ids) > 1:
                    segment.spacing = max((last_id - int(ids[0])) / (len(ids) - 1), 1.0)
                break
            segment.done = True
        if ends:
            self._end(segment, request, with_ids=len(ids) > 0)
        return new_count

    def _end(self, segment: Segment, request: Fetch, *, with_ids: bool) -> None:
        """Set the end of the line, as shown by a page of a segment.

        A single connection would not send a cut as its cursor, and the description does not say
        that any number may be one [Lists of identifiers]. An end reported there without ids is left
        to the segment before; one with ids is accepted if the count agrees.
        """
        index = self._segments.index(segment)
        at_a_cut = index > 0 and request.query.after_id == request.segment.start
        if at_a_cut and not with_ids:
            index -= 1
            segment = self._segments[index]
        segment.limit, segment.done = None, with_ids or not at_a_cut
        self._ended_at_a_cut = at_a_cut and with_ids
        del self._segments[index + 1 :]

    @property
    def _end_is_doubtful(self) -> bool:
        """Whether the end must be requested once more, after the last id."""
        if not self._ended_at_a_cut:
            return False
        return self._total != sum(len(ids) for segment in self._segments for ids in segment.ids)

    def recounted(self, recount: Count, remaining: int | None) -> None:
        """Add a count of ids beyond the last segment's frontier; None if it failed."""
        self._recounting = False
        if remaining is None:
            self._spare = 0
            return
        ahead = remaining * self._segments[-1].spacing
        self._expected_end = _place(recount.query.after_id, ahead)

    def covered(self) -> tuple[pl.Series, int]:
        """Return the ids known without a gap from the beginning, and the cursor after them."""
        ids: list[NDArray[np.int64]] = []
        cursor = self.query.after_id
        for segment in self._segments:
            ids += segment.ids
            cursor = segment.frontier
            if not segment.done:
                break
        together = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
        return pl.Series("id", together, dtype=pl.Int64), cursor

    def _ask(self, segment: Segment) -> Fetch:
        segment.busy = True
        return Fetch(segment, replace(self.query, after_id=segment.frontier))

    def _cut(self, segment: Segment, at: int) -> Segment:
        right = Segment(at, at, segment.limit, segment.spacing)
        segment.limit = at
        self._segments.insert(self._segments.index(segment) + 1, right)
        self._spent += 1
        return right

    def _remaining_part(self, segment: Segment) -> tuple[int, int]:
        """Return the part of a segment left after the pending page."""
        end = self._expected_end if segment.limit is None else segment.limit
        return _place(segment.frontier, self.query.page_size * segment.spacing), end

    def _weight(self, segment: Segment) -> float:
        """Return the approximate number of ids ahead in a segment."""
        low, high = self._remaining_part(segment)
        return 0.0 if segment.done else (high - low) / segment.spacing

    def _past_expectation(self) -> bool:
        last = self._segments[-1]
        return (
            not last.done
            and not self._recounting
            and last.frontier > last.start
            and last.frontier >= self._expected_end
        )


def _extend(segment: Segment, ids: NDArray[np.int64], reached: int) -> int:
    """Add to a segment its part of a page that covers it up to *reached*."""
    low = int(np.searchsorted(ids, segment.frontier, side="right"))
    high = int(np.searchsorted(ids, reached, side="right"))
    if high > low:
        segment.ids.append(ids[low:high])
    segment.frontier = max(segment.frontier, reached)
    return max(high - low, 0)


def _place(start: int, ahead: float) -> int:
    """Return the place *ahead* of *start* on the line, which ends at the largest id."""
    return min(start + int(ahead), MAX_ID)


def _contradiction(query: Query, end: int, further: int) -> PagingError:
    return PagingError(
        f"{query.endpoint} contradicts itself: one page ends the list at id {end}, "
        f"another has id {further}. The register is changing or is broken: resume from the cursor, "
        "or walk with connections=1",
        cursor=query.after_id,
    )
