"""Walks over several connections, against the walk over one, behind a slow register in process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from timing import Figure, side_by_side

import finstat_kit as fk
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http import routes
from finstat_kit.service.state import population
from finstat_kit.service.state.line import Ints, Line
from finstat_kit.transport.base import InProcess

_IDS = 1_000_000
_LATENCY = 0.1
_SUBJECT = "split walks"


class Slow(fk.Register):
    """A register in process whose every answer takes a while."""

    def __init__(self, ids: Ints, *, page_size: int = 10_000) -> None:
        line = Line(ids, np.ones(len(ids), dtype=np.uint16))
        self._store = replace(population.default(), units=line)
        carrier = InProcess(self._answer)
        super().__init__("slow:", page_size=page_size, tries=1, transport=carrier)

    def _answer(self, method: str, path: str, query: str) -> Reply:
        time.sleep(_LATENCY)
        return routes.answer(self._store, method, path, query)


def even(n: int) -> Ints:
    """Return ids with chance gaps, the same density everywhere."""
    return np.cumsum(1 + np.random.default_rng(0).integers(0, 4, n)).astype(np.int64)


def skewed(n: int) -> Ints:
    """Return a fifth sparse, three quarters in one dense block, the rest far out."""
    sparse = 100 * np.arange(1, n // 5 + 1, dtype=np.int64)
    dense = sparse[-1] + np.arange(1, 3 * n // 4 + 1, dtype=np.int64)
    rest = n - len(sparse) - len(dense)
    far = dense[-1] + 50_000_000 + 1_000 * np.arange(rest, dtype=np.int64)
    return np.concatenate([sparse, dense, far])


def figures(quick: bool) -> Iterator[Figure]:
    """Measure walks of a million ids at a page of 10,000 behind 100 ms a request."""
    repeats = 1 if quick else 2
    yield from _walks("even ids", Slow(even(_IDS)), {4: 3.4, 8: 6.0, 16: 10.0}, repeats)
    yield from _walks("skewed ids", Slow(skewed(_IDS)), {16: 5.0}, repeats)

    short = Slow(even(20_000))
    times = side_by_side(
        5 if quick else 15,
        one=partial(short.units.ids, connections=1),
        many=partial(short.units.ids, connections=16),
    )
    yield Figure(
        _SUBJECT, "two pages, 16 connections to 1: nothing to split", times["one"] / times["many"],
        0.95,
    )  # fmt: skip


def _walks(name: str, register: Slow, goals: dict[int, float], repeats: int) -> Iterator[Figure]:
    requests: dict[int, list[int]] = {k: [] for k in (1, *goals)}

    def walk(connections: int) -> None:
        before = register._session.exchange.stats.requests
        register.units.ids(connections=connections)
        requests[connections].append(register._session.exchange.stats.requests - before)

    times = side_by_side(repeats, **{str(k): partial(walk, k) for k in requests})
    for connections, goal in goals.items():
        yield Figure(
            _SUBJECT,
            f"{name}: {connections} connections to 1",
            times["1"] / times[str(connections)],
            goal,
        )
    most = max(max(requests[k]) for k in goals) / max(requests[1])
    yield Figure(_SUBJECT, f"{name}: most requests to sequential", most, 1.35, least=False)
