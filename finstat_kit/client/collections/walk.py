"""A walk in several ranges at once: its threads, and the counts by which a list is cut."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from finstat_kit.client.source import Source
from finstat_kit.errors import RegisterError
from finstat_kit.protocol.requests import Page, Query
from finstat_kit.protocol.split_walk import SplitWalk, cuts
from finstat_kit.transport.base import Stop, Stopped
from finstat_kit.transport.threads import Workers, in_order

_MOMENT: Final = 0.01  # seconds between looks for the first page


def over_connections(
    source: Source, walk: SplitWalk, connections: int
) -> Generator[int, None, None]:
    """Walk a list over several connections; yield the number of ids, as they come.

    Args:
        source: What answers.
        walk: The walk, fresh.
        connections: Requests at the same time.
    """
    session, stop = source.session, Stop()
    workers: Workers[None, Sequence[int] | None] = Workers(connections)

    def page_of(query: Query) -> Page:
        return source.page(query, None, stop)

    new_ranges, number, is_counted = [*walk.ranges], 0, False
    try:
        while new_ranges or not all(piece.done for piece in walk.ranges):
            for piece in new_ranges:
                workers.submit(None, partial(piece.walk, walk.query, page_of))
            # If the rate is the bottleneck, several connections would only wait.
            is_slow = session.rate is None or 1 < session.rate * session.exchange.latency < math.inf
            if is_slow and not is_counted:
                is_counted = True
                workers.submit(None, partial(_cuts, source, walk, connections, stop))
            finished = workers.finished()
            places = finished[1].result() if finished else None
            new_ranges = walk.cut(places) if places else []
            ids = sum(len(piece.ids) for piece in walk.ranges)
            yield ids - number
            number = ids
        walk.check()
    finally:
        stop.set()
        workers.end()


def _cuts(
    source: Source, walk: SplitWalk, connections: int, stop: threading.Event
) -> Sequence[int]:
    """Return where to cut a walk, by counts that are requested in parallel with its pages."""

    def count(query: Query, stop: threading.Event) -> int | None:
        with contextlib.suppress(RegisterError, Stopped):  # without it the ids are the same
            return source.count(query, stop)
        return None

    def counts(places: Sequence[int]) -> list[int | None]:
        queries = [replace(walk.query, after_id=place) for place in places]
        return [number for _, number in in_order(queries, count, len(places), stop)]

    total, pages = count(walk.query, stop), walk.ranges[0].pages
    while not pages and not stop.is_set():
        time.sleep(_MOMENT)
    return cuts(walk.query, pages[0], total, connections, counts) if pages and total else []
