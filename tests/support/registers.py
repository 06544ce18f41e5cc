"""Registers made for a test: of given ids and days, or of given replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.filings.store import with_filings
from finstat_kit.service.http import routes
from finstat_kit.service.state import population
from finstat_kit.service.state.line import Line
from finstat_kit.service.state.store import Store, day_number as day_number
from finstat_kit.transport.base import InProcess, Timing
from finstat_kit.transport.http import Sockets
from tests.support.clock import FakeClock

days = st.dates(date(2014, 1, 1), date(2026, 6, 30))
changes = st.dictionaries(st.integers(1, 200), days, max_size=60)


def line_of(changes: Mapping[int, date]) -> Line:
    ids = sorted(changes)
    days = [day_number(changes[id_]) for id_ in ids]
    return Line(np.asarray(ids, dtype=np.int64), np.asarray(days, dtype=np.uint16))


class SameIds(NamedTuple):
    """Filings whose three id lines are that of the units, and which no unit made."""

    units: Line

    def line(self, collection: str) -> Line:
        return self.units

    def ids_of(self, unit: int, *, removed: bool) -> dict[str, object]:
        return {}


def store_of(changes: Mapping[int, date], *, like: Store | None = None) -> Store:
    """Return a store whose four id lines are *changes*: id and day of last change."""
    like = like or population.default()
    line = line_of(changes)
    n = len(line.ids)
    columns = {name: np.resize(column, n) for name, column in like.columns.items()}
    filings = SameIds(line)
    return replace(like, units=line, columns=columns, filings=filings)


def sample_of(changes: Mapping[int, date], *, strict: bool = False) -> Sample:
    return Sample(store_of(changes), strict=strict)


Answer = Callable[[str, str, str], Reply]


def service(units: int) -> Answer:
    """Return the embedded register itself: what answers a method, a path and a query."""
    return partial(routes.answer, with_filings(population.draw(units)))


def timed(url: str, fake: FakeClock, **options: Any) -> fk.Register:
    """Return a register whose clock only waiting moves, and whose pauses are their longest."""
    return fk.Register(url, transport=Sockets(url, fake.timing()), **options)


class Scripted(fk.Register):
    """A register in process that answers what the test says, request after request.

    ``asked`` holds path and query of each request. An entry is a body, a whole reply, an
    exception to raise, or a function of the query.
    """

    def __init__(
        self,
        *answers: bytes | Reply | BaseException,
        base_url: str = "scripted:",
        timing: Timing | None = None,
        **options: Any,
    ) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        settings = {"page_size": 1_000, "connections": 1, "rate": None, "tries": 1} | options
        super().__init__(base_url, transport=InProcess(self._answer, timing), **settings)

    def _answer(self, method: str, path: str, query: str) -> Reply:
        self.asked.append(f"{path}?{query}")
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(200, {}, answer)


class Altered(fk.Register):
    """A small sample in process, some of whose paths answer something else.

    ``asked`` counts the requests. An answer is a body, a whole reply, an exception to raise, or a
    function that makes a body or a reply of the sample's body.
    """

    def __init__(self, answers: Mapping[str, object], timing: Timing | None = None) -> None:
        self._sample = fk.sample(3_000)
        self._answers = answers
        self.asked = 0
        super().__init__("altered:", page_size=1_000, transport=InProcess(self._answer, timing))

    def _answer(self, method: str, path: str, query: str) -> Reply:
        self.asked += 1
        answer = self._answers.get(path.removeprefix("/api/"), self._answers.get("*"))
        reply = self._sample._answer(method, path, query)
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(reply.body)
        if isinstance(answer, Reply):
            return answer
        return reply if answer is None else reply._replace(body=answer)  # type: ignore[arg-type]


class Watched(fk.Register):
    """A register in process that answers as a sample does, unless a test wants something else.

    Attributes:
        sample: What it answers from, and what a test changes.
        instead: Called with path and query of each request; what it returns or raises comes
            instead of the sample's answer, None lets that through.
        asked: Path and query of each request.
    """

    def __init__(
        self,
        sample: Sample,
        *,
        page_size: int = 10_000,
        rate: float | None = None,
        base_url: str = "watched:",
    ) -> None:
        self.sample = sample
        self.instead: Callable[[str, str], Reply | None] = lambda path, query: None
        self.asked: list[str] = []
        carrier = InProcess(self._answer, FakeClock().timing(luck=0.01))
        super().__init__(base_url, page_size=page_size, rate=rate, transport=carrier)

    @property
    def today(self) -> date:
        return self.sample.today

    def records(self) -> list[int]:
        """Return the ids whose records were asked for."""
        path = "/api/uctovna-jednotka?id="
        return [int(target.removeprefix(path)) for target in self.asked if path in target]

    def _answer(self, method: str, path: str, query: str) -> Reply:
        path = path.removeprefix("//register.example")
        self.asked.append(f"{path}?{query}")
        return self.instead(path, query) or self.sample._answer(method, path, query)


class Switched:
    """What a server answers from: a sample that each example of a test replaces by its own."""

    def __init__(self) -> None:
        self.sample = fk.sample(0)

    def answer(self, method: str, path: str, query: str) -> Reply:
        return self.sample._answer(method, path, query)


def altered(
    sample: Sample,
    change: Callable[[dict[str, Any]], object],
    path: str | tuple[str, ...] = "uctovny-vykaz",
) -> Watched:
    """Return a register whose records of a kind are changed in some way."""
    watched = Watched(sample)

    def instead(target: str, query: str) -> Reply | None:
        if not target.endswith(path):
            return None
        reply = sample._answer("GET", target, query)
        record = json.loads(reply.body)
        change(record)
        return reply._replace(body=json.dumps(record).encode())

    watched.instead = instead
    return watched
