"""The cutting of the id line, so that several connections walk it at once. No request is made here.

A page asked for after *a* that ends in *b* tells all ids of (a, b], whoever asked for it. The walk
is the line covered from its beginning to its end by such pages. It is cut into segments that follow
each other; each has its own cursor, and a page that runs over the end of its segment covers the
beginning of the next. Counts only say where to cut and whether it pays: wrong ones cost time, never
ids. Places on the line are whole numbers: a float has no room for ids near 2^63.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.errors import PagingError
from finstat_kit.protocol.paging import Query, ended, warn_of_no_ids
from finstat_kit.protocol.replies import Page
from finstat_kit.protocol.wire import MAX_ID

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

    @property
    def highest(self) -> int:
        """The greatest id known here, -1 where none is."""
        return int(self.ids[-1][-1]) if self.ids else -1


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
        self.query = query
        self._segments = [Segment(query.after_id, query.after_id, None)]
        self._expected_end = 0  # of the line, as far as a count shows
        self._pages = 0  # delivered, those without ids left out
        self._connections = 1
        self._spare = 0  # requests that may be spent beyond those of one connection
        self._spent = 0
        self._recounting = False
        self._warned = False
        self._total: int | None = None  # ids, as the count has it
        self._ended_at_a_cut = False

    @property
    def begun(self) -> bool:
        """True when a page with ids was delivered."""
        return self._pages > 0

    @property
    def done(self) -> bool:
        """True when the line is covered to its end."""
        return all(segment.done for segment in self._segments) and not self._doubtful

    def expect(self, total: int, connections: int) -> None:
        """Cut the line for so many connections, from a count of all ids that match.

        Called once, when the count is there and the walk has `begun`.
        """
        (segment,) = self._segments
        pages = -(-total // self.query.page_size)
        self._connections, self._total = connections, total
        self._spare = math.floor(_EXTRA * pages) - 1  # the count was one
        remaining = total - sum(map(len, segment.ids))
        if segment.done or self._spare <= 0 or remaining <= 0:
            return
        self._expected_end = _place(segment.frontier, remaining * segment.spacing)
        width = self._expected_end - segment.frontier
        room = min(remaining, width) // (_WORTH * self.query.page_size)
        parts = min(connections, self._spare + 1, room)
        for part in range(parts - 1, 0, -1):
            self._cut(segment, segment.frontier + width * part // parts)

    def tasks(self, free: int) -> list[Ask | Recount]:
        """Return up to *free* requests to send now."""
        tasks: list[Ask | Recount] = []
        if self._doubtful and all(segment.done for segment in self._segments):
            self._segments[-1].done = self._ended_at_a_cut = False
        for segment in self._segments:
            if len(tasks) < free and not segment.busy and not segment.done:
                tasks.append(self._ask(segment))
        # Spent as the walk goes on, so that a count far too high costs no more than this.
        spare = min(self._spare, 2 * self._connections + _EXTRA * self._pages)
        while len(tasks) < free and self._spent < spare:
            heaviest = max(self._segments, key=self._weight)
            if self._weight(heaviest) >= _WORTH * self.query.page_size:
                low, high = self._ahead(heaviest)
                tasks.append(self._ask(self._cut(heaviest, (low + high) // 2)))
            elif self._past_expectation():
                self._recounting = True
                self._spent += 1
                last = self._segments[-1]
                tasks.append(Recount(replace(self.query, after_id=last.frontier)))
            else:
                break
        return tasks

    def deliver(self, ask: Ask, page: Page) -> int:
        """Take a checked page; return how many ids it brought that were not known.

        Raises:
            PagingError: The page and others contradict each other: one ends the line, another has
                ids behind that end.
        """
        ask.segment.busy = False
        ids = page.ids.to_numpy()
        self._pages += len(ids) > 0
        last = int(ids[-1]) if len(ids) else ask.query.after_id
        if ask.segment not in self._segments:
            # Meanwhile another page has ended the line below this segment.
            if len(ids):
                raise _contradiction(ask.query, self._segments[-1].frontier, int(ids[0]))
            return 0
        if page.more and not len(ids) and not self._warned:
            self._warned = True
            warn_of_no_ids(ask.query)
        place = self._segments.index(ask.segment)
        ends = ended(page)
        highest = max(segment.highest for segment in self._segments[place:])
        if ends and highest > last:
            raise _contradiction(ask.query, last, highest)
        new = 0
        for segment in self._segments[place:]:
            reached = last if segment.limit is None else min(last, segment.limit)
            # A page that goes on behind what was the end: the register has grown meanwhile.
            segment.done = segment.done and reached <= segment.frontier
            new += _extend(segment, ids, reached)
            if segment.limit is None or last < segment.limit:
                if len(ids) > 1:
                    segment.spacing = max((last - int(ids[0])) / (len(ids) - 1), 1.0)
                break
            segment.done = True
        if ends:
            self._end(segment, ask, found=len(ids) > 0)
        return new

    def _end(self, segment: Segment, ask: Ask, *, found: bool) -> None:
        """Take the end of the line, which a page has in a segment: nothing lies behind it.

        A place where the line was cut is no cursor that one connection would send. An end without
        ids there is left to the segment before; one with ids is believed where the count agrees.
        """
        place = self._segments.index(segment)
        at_a_cut = place > 0 and ask.query.after_id == ask.segment.start
        if at_a_cut and not found:
            place -= 1
            segment = self._segments[place]
        segment.limit, segment.done = None, found or not at_a_cut
        self._ended_at_a_cut = at_a_cut and found
        del self._segments[place + 1 :]

    @property
    def _doubtful(self) -> bool:
        """Whether the end has to be asked for once more, behind the last id."""
        if not self._ended_at_a_cut:
            return False
        return self._total != sum(len(ids) for segment in self._segments for ids in segment.ids)

    def recounted(self, recount: Recount, remaining: int | None) -> None:
        """Take a count of what lies behind the last segment's frontier; None where it failed."""
        self._recounting = False
        if remaining is None:
            self._spare = 0
            return
        ahead = remaining * self._segments[-1].spacing
        self._expected_end = _place(recount.query.after_id, ahead)

    def covered(self) -> tuple[pl.Series, int]:
        """Return the ids known without a gap from the beginning, and the cursor behind them."""
        ids: list[NDArray[np.int64]] = []
        cursor = self.query.after_id
        for segment in self._segments:
            ids += segment.ids
            cursor = segment.frontier
            if not segment.done:
                break
        together = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
        return pl.Series("id", together, dtype=pl.Int64), cursor

    def _ask(self, segment: Segment) -> Ask:
        segment.busy = True
        return Ask(segment, replace(self.query, after_id=segment.frontier))

    def _cut(self, segment: Segment, at: int) -> Segment:
        right = Segment(at, at, segment.limit, segment.spacing)
        segment.limit = at
        self._segments.insert(self._segments.index(segment) + 1, right)
        self._spent += 1
        return right

    def _ahead(self, segment: Segment) -> tuple[int, int]:
        """Return the part of a segment that the page under way will leave."""
        end = self._expected_end if segment.limit is None else segment.limit
        return _place(segment.frontier, self.query.page_size * segment.spacing), end

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


def _extend(segment: Segment, ids: NDArray[np.int64], reached: int) -> int:
    """Give a segment its part of a page that covers it from its frontier to *reached*."""
    low = int(np.searchsorted(ids, segment.frontier, side="right"))
    high = int(np.searchsorted(ids, reached, side="right"))
    if high > low:
        segment.ids.append(ids[low:high])
    segment.frontier = max(segment.frontier, reached)
    return max(high - low, 0)


def _place(start: int, ahead: float) -> int:
    """Return the place that lies so far ahead on the line, which ends at the largest id."""
    return min(start + int(ahead), MAX_ID)


def _contradiction(query: Query, end: int, further: int) -> PagingError:
    return PagingError(
        f"{query.endpoint} contradicts itself: one page has the end of the list at id {end}, "
        f"another has id {further}. The register is changing or is broken: go on from the cursor, "
        "or walk with connections=1",
        cursor=query.after_id,
    )
