"""A walk in several ranges at once: which pages are under way, and where a list is cut."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from queue import SimpleQueue

import polars as pl

from finstat_kit.client.source import Source
from finstat_kit.errors import RegisterError
from finstat_kit.protocol.requests import Page, Query
from finstat_kit.protocol.split_walk import Range, SplitWalk, cuts
from finstat_kit.transport.base import Stop, Stopped
from finstat_kit.transport.threads import Workers, in_order


def over_connections(
    source: Source, walk: SplitWalk, connections: int, stop: threading.Event | None = None
) -> Generator[int, None, None]:
    """Walk a list over several connections; yield the number of ids of each page.

    Args:
        source: What answers.
        walk: The walk, fresh.
        connections: Requests at the same time; halved each time the register requires fewer
            requests or is too slow.
        stop: Ends the walk when it is set.
    """
    exchange, ending = source.session.exchange, Stop(stop)
    # One thread more than connections: counts that hang block no page.
    workers: Workers[Range | None, Page | list[int]] = Workers(connections + 1)
    first_ids: SimpleQueue[pl.Series | None] = SimpleQueue()
    pages = 0  # in flight
    counted = False
    pressure = exchange.pressure
    try:
        while not walk.done:
            for piece, query in walk.next_pages(connections - pages):
                pages += 1
                workers.submit(piece, partial(source.page, query, None, ending))
            if not counted and is_latency_bound(source):
                counted = True
                plan = partial(_cuts, source, walk.query, first_ids, connections, ending)
                workers.submit(None, plan)
            if (finished := workers.finished()) is not None:
                done, reply = finished[0], finished[1].result()
                if isinstance(reply, Page):
                    assert done is not None
                    pages -= 1
                    first_ids.put(reply.ids)
                    yield walk.deliver(done, reply)
                else:
                    walk.cut(reply)
            if exchange.pressure > pressure:
                connections, pressure = max(connections // 2, 1), exchange.pressure
    finally:
        ending.set()
        first_ids.put(None)
        workers.end()


def _cuts(
    source: Source,
    query: Query,
    first_ids: SimpleQueue[pl.Series | None],
    connections: int,
    stop: threading.Event,
) -> list[int]:
    """Return where to cut a walk, by counts that are requested in parallel with its pages."""

    def counts(places: Sequence[int]) -> list[int | None]:
        queries = [replace(query, after_id=place) for place in places]
        work = partial(_count_or_none, source)
        return [number for _, number in in_order(queries, work, len(places), stop)]

    total, ids = _count_or_none(source, query, stop), first_ids.get()
    return [] if ids is None or total is None else cuts(query, ids, total, connections, counts)


def is_latency_bound(source: Source) -> bool:
    """Return whether several connections are faster than one.

    If the rate is the bottleneck, more of them would only wait.
    """
    return (
        source.session.rate is None
        or 1 < source.session.rate * source.session.exchange.latency < math.inf
    )


def _count_or_none(source: Source, query: Query, stop: threading.Event) -> int | None:
    """Return the number of ids of a query, None where it cannot be fetched.

    It is advisory: without it a walk is not cut, and its ids are the same.
    """
    with contextlib.suppress(RegisterError, Stopped):
        return source.count(query, stop)
    return None
