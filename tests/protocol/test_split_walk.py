"""Walks over several connections: the same ids, whatever the counts say or who answers first."""

from __future__ import annotations

import logging
import math
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.protocol.paging import Query, check
from finstat_kit.protocol.replies import Page
from finstat_kit.protocol.split_walk import Ask, Recount, SplitWalk
from finstat_kit.protocol.wire import BEGINNING
from finstat_kit.transport.threads import split
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.examples import examples
from tests.support.faults import FaultServer, Step, reply
from tests.support.registers import Scripted, timed

Register = Callable[[], Sequence[int]]


def page_of(ids: Sequence[int], query: Query) -> Page:
    """Answer as the specification says."""
    due = [i for i in ids if i > query.after_id]
    return Page(pl.Series("id", due[: query.page_size], dtype=pl.Int64), len(due) > query.page_size)


class Model:
    """A walk in one thread, whose replies come in any order that chance likes."""

    def __init__(
        self,
        ids: Register,
        size: int,
        connections: int,
        seed: int,
        lie: Callable[[int], int | None] = lambda n: n,
    ) -> None:
        self.requests = 0
        self.delivered: set[int] = set()
        self._ids, self._size, self._connections, self._lie = ids, size, connections, lie
        self._random = random.Random(seed)
        self.walk = SplitWalk(Query("/api/x", BEGINNING, size))

    def run(self) -> list[int]:
        (first,) = self.walk.tasks(1)
        assert isinstance(first, Ask)
        count = self._count(first.query)
        self._deliver(first, self.page(first.query))
        if not self.walk.done and count is not None:
            self.walk.expect(count, self._connections)
        waiting: list[tuple[Ask | Recount, Page | int | None]] = []
        while not self.walk.done:
            for task in self.walk.tasks(self._connections - len(waiting)):
                if isinstance(task, Ask):
                    waiting.append((task, self.page(task.query)))
                else:
                    waiting.append((task, self._count(task.query)))
            task, result = waiting.pop(self._random.randrange(len(waiting)))
            if isinstance(task, Ask):
                assert isinstance(result, Page)
                self._deliver(task, result)
            else:
                assert not isinstance(result, Page)
                self.walk.recounted(task, result)
        ids, _ = self.walk.covered()
        return ids.to_list()

    def page(self, query: Query) -> Page:
        return page_of(self._ids(), query)

    def _count(self, query: Query) -> int | None:
        self.requests += 1
        return self._lie(sum(i > query.after_id for i in self._ids()))

    def _deliver(self, ask: Ask, page: Page) -> None:
        self.requests += 1
        assert 0 <= ask.query.after_id < 2**63
        check(ask.query, page)
        self.delivered |= set(page.ids)
        self.walk.deliver(ask, page)


id_sets = st.sets(st.integers(1, 3_000), max_size=400) | st.builds(
    lambda starts: {start + i for start, n in starts for i in range(n)},
    st.lists(st.tuples(st.integers(1, 100_000), st.integers(1, 150)), max_size=6),
)


@examples(300)
@given(id_sets, st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32))
def test_the_same_ids_within_the_budget(
    ids: set[int], size: int, connections: int, seed: int
) -> None:
    """Any ids, sizes, orders of replies: exactly the list, in at most 1.35 times the requests."""
    due = sorted(ids)
    model = Model(lambda: due, size, connections, seed)

    assert model.run() == due

    sequential = max(math.ceil(len(due) / size), 1)
    assert model.requests <= max(1.35 * sequential, sequential + 1)


@examples(300)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(1, 20),
    st.integers(0, 2**32),
    st.lists(
        st.sampled_from([None, 0, 1, 500, 10**9, 2**62, 2**63 - 1, -5]), min_size=1, max_size=9
    ),
)
def test_counts_that_lie_cost_no_ids(
    ids: set[int], size: int, connections: int, seed: int, lies: list[int | None]
) -> None:
    """Wrong, failing or absurd counts cost requests, a bounded number of them, never ids."""
    due, told = sorted(ids), iter(lies * 10_000)
    model = Model(lambda: due, size, connections, seed, lambda _: next(told))

    assert model.run() == due

    sequential = max(math.ceil(len(due) / size), 1)
    assert model.requests <= 3 * sequential + 6 * connections + 2


@examples(300)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(1, 20),
    st.integers(0, 2**32),
    st.sampled_from([None, 2**62, 2**63 - 1]),
)
def test_ids_just_below_the_largest_come_once(
    ids: set[int], size: int, connections: int, seed: int, lie: int | None
) -> None:
    """Where a float has no room for them: each id once, no cursor that the register refuses."""
    top = 2**63 - 1 - max(ids, default=0)
    due = sorted({2**63 - 1 - i for i in ids} | {i for i in ids if i % 2 and i < top})

    assert Model(lambda: due, size, connections, seed, lambda n: lie or n).run() == due


@examples(300)
@given(id_sets, id_sets, st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32))
def test_a_register_that_changes_loses_nothing_that_stayed(
    ids: set[int], others: set[int], size: int, connections: int, seed: int
) -> None:
    """What matched throughout comes exactly once; nothing is invented, nothing comes twice.

    Where ids come and go the end of the list may be contradicted: then what came has no gap.
    """
    chance, always = random.Random(seed), ids - others
    model = Model(
        lambda: sorted(always | {i for i in others if chance.random() < 0.5}),
        size, connections, seed,
    )  # fmt: skip
    try:
        found = model.run()
    except fk.PagingError:
        series, cursor = model.walk.covered()
        found, always = series.to_list(), {i for i in always if i <= cursor}

    assert found == sorted(set(found))
    assert always <= set(found) <= always | others


@examples(300)
@given(id_sets, id_sets, st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32))
def test_a_register_that_grows_below_its_end_is_no_contradiction(
    ids: set[int], others: set[int], size: int, connections: int, seed: int
) -> None:
    """Ids that come to match while the walk goes on are no contradiction."""
    chance = random.Random(seed)
    now, later = set(ids), sorted(i for i in others - ids if i < max(ids, default=0))

    def growing() -> list[int]:
        if later and chance.random() < 0.5:
            now.add(later.pop(chance.randrange(len(later))))
        return sorted(now)

    found = Model(growing, size, connections, seed).run()

    assert found == sorted(set(found))
    assert ids <= set(found) <= now


class Ending(Model):
    """A register that says of some pages, chosen by their cursor, that nothing lies behind them."""

    def __init__(self, *arguments: Any, ends: Callable[[int], bool], empty: bool) -> None:
        super().__init__(*arguments)
        self._ends, self._empty = ends, empty

    def page(self, query: Query) -> Page:
        page = super().page(query)
        if not self._ends(query.after_id):
            return page
        return Page(page.ids.clear(), page.more) if self._empty else Page(page.ids, more=False)


@examples(500)
@given(
    id_sets,
    st.integers(1, 40),
    st.integers(1, 20),
    st.integers(0, 2**32),
    st.integers(2, 9),
    st.booleans(),
)
def test_a_false_end_never_leaves_a_hole(
    ids: set[int], size: int, connections: int, seed: int, every: int, empty: bool
) -> None:
    """A false end never leaves a hole: the walk has the ids up to it, or is an error with them."""
    due = sorted(ids)
    model = Ending(
        lambda: due, size, connections, seed, ends=lambda after: after % every == 1, empty=empty
    )
    try:
        found = model.run()
        assert model.delivered <= set(found)
    except fk.PagingError:
        found, cursor = model.walk.covered()[0].to_list(), model.walk.covered()[1]
        assert cursor >= max(found, default=0)

    assert found == due[: len(found)]


def test_a_page_that_runs_over_its_segment_covers_the_next() -> None:
    """A page that runs over the end of its segment covers the beginning of the next."""
    walk = SplitWalk(Query("/api/x", BEGINNING, 4))
    ids = list(range(1, 41))
    (first,) = walk.tasks(1)
    assert isinstance(first, Ask)
    walk.deliver(first, page_of(ids, first.query))
    walk.expect(40, 2)

    one, two = walk.tasks(2)

    assert isinstance(one, Ask)
    assert isinstance(two, Ask)
    assert (one.query.after_id, two.query.after_id) == (4, 22)
    for after in (4, 8, 12, 16, 20):  # the last page ends in 24, two ids into the other segment
        page = page_of(ids, replace(one.query, after_id=after))
        walk.deliver(replace(one, query=replace(one.query, after_id=after)), page)
    assert walk.covered()[0].to_list() == list(range(1, 25))
    assert walk.covered()[1] == 24


def test_a_walk_goes_on_behind_an_end_that_a_page_runs_over() -> None:
    """Ids that a page brings from below over what was the end: the walk goes on behind them."""
    walk = SplitWalk(Query("/api/x", BEGINNING, 4))
    ids = list(range(1, 41))
    (first,) = walk.tasks(1)
    assert isinstance(first, Ask)
    walk.deliver(first, page_of(ids, first.query))
    walk.expect(40, 2)
    one, two = walk.tasks(2)
    assert isinstance(one, Ask)
    assert isinstance(two, Ask)

    walk.deliver(two, Page(pl.Series("id", [], dtype=pl.Int64), more=False))  # behind id 22
    for after in (4, 8, 12, 16, 20):
        page = page_of(ids, replace(one.query, after_id=after))
        walk.deliver(replace(one, query=replace(one.query, after_id=after)), page)

    assert not walk.done
    assert [task.query.after_id for task in walk.tasks(1)] == [24]


def numbers(ids: Sequence[int], fail_after: int | None = None) -> type[FaultServer]:
    """Make a server that pages and counts *ids*, and fails above an id."""

    class Numbers(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            path, _, query = self.asked[-1].partition("?")
            values = dict(pair.split("=") for pair in query.split("&"))
            after = int(values.get("pokracovat-za-id", 0))
            due = [i for i in ids if i > after]
            if "zostavajuce" in path:
                return [reply(b'{"pocetZostavajucichId":%d}' % len(due))]
            if fail_after is not None and after >= fail_after:
                return [reply(b"", 400)]
            size = int(values["max-zaznamov"])
            more = b"true" if len(due) > size else b"false"
            listed = b",".join(b"%d" % i for i in due[:size])
            return [reply(b'{"id":[%b],"existujeDalsieId":%b}' % (listed, more))]

    return Numbers


def test_eight_connections_bring_what_one_brings() -> None:
    """The list through eight connections equals the list through one."""
    ids = sorted({int(x) for x in np.cumsum(1 + np.arange(3_000) % 7)})
    with numbers(ids)([]) as server, fk.Register(server.url) as reg:
        one = reg.units.ids(page_size=100)
        many = reg.units.ids(page_size=100, connections=8)

    assert many.equals(one)
    assert many["id"].to_list() == ids
    assert len(server.asked) <= 30 + 1.35 * 30


def test_an_error_keeps_what_came_without_a_gap() -> None:
    """The walk ends with the contiguous part so far and the cursor behind it."""
    ids = list(range(1, 2_001))
    with numbers(ids, fail_after=1_000)([]) as server, fk.Register(server.url) as reg:
        with pytest.raises(fk.BadRequest) as caught:
            reg.units.ids(page_size=50, connections=4)

    partial, cursor = caught.value.partial, caught.value.cursor
    assert partial is not None
    assert cursor is not None
    assert 50 <= cursor <= 1_050
    assert partial["id"].to_list() == list(range(1, cursor + 1))
    with numbers(ids)([]) as server, fk.Register(server.url) as reg:
        rest = reg.units.ids(after_id=cursor)
    assert pl.concat([partial, rest])["id"].to_list() == ids


def test_the_guards_hold_in_every_segment() -> None:
    """A page that steps back is refused wherever it comes from."""
    ids = list(range(1, 1_001))

    class Backwards(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            if "pokracovat-za-id" in request and "zostavajuce" not in request:
                return [reply(b'{"id":[1,2,3],"existujeDalsieId":true}')]
            return steps

    with Backwards([]) as server, fk.Register(server.url) as reg:
        with pytest.raises(fk.PagingError):
            reg.units.ids(page_size=50, connections=4)


@pytest.mark.parametrize("connections", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "end", [b'{"id":[%b],"existujeDalsieId":false}', b'{"id":[],"existujeDalsieId":true}']
)
def test_a_false_end_over_sockets_leaves_no_gap(
    matrix: Told, caplog: pytest.LogCaptureFixture, end: bytes, connections: int
) -> None:
    """An early page without more: an error with what came without a gap, or what one gives."""
    ids, others = list(range(1, 10_000)), threading.Event()

    class Lying(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            if "zostavajuce" in request:
                return steps
            after = int(request.partition("pokracovat-za-id=")[2].partition(" ")[0] or 0)
            if after == 1_000:
                if connections > 1:
                    assert others.wait(10)
                listed = b",".join(b"%d" % i for i in ids[1_000:1_500])
                return [reply(end % listed if b"%b" in end else end)]
            # One of those before is answered and taken: only so many are under way.
            if sum("pokracovat-za-id=" in t for t in self.asked) >= connections + 2:
                others.set()
            return steps

    with Lying([]) as server, fk.Register(server.url) as reg, caplog.at_level(logging.WARNING):
        if connections == 1:
            found, seen = reg.units.ids(page_size=500), "complete"
        else:
            with pytest.raises(fk.RegisterError) as caught:
                reg.units.ids(page_size=500, connections=connections)
            assert caught.value.partial is not None
            found, seen = caught.value.partial, type(caught.value).__name__
            assert caught.value.cursor == found["id"][-1]

    expected = "PagingError" if connections > 1 else "complete"
    matrix(f"a false end, {connections} connections", f"{expected}, no gap", f"{seen}, no gap")
    assert seen == expected
    assert found["id"].to_list() == ids[: found.height]
    assert len([r for r in caplog.records if "no ids but a flag" in r.message]) <= 1


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("connections", [2, 4, 8])
def test_an_end_at_a_cut_is_not_believed(connections: int, empty: bool) -> None:
    """A register that ends the list wherever it is asked behind a number that is no id."""
    ids = list(range(3, 20_000, 7))
    model = Ending(
        lambda: ids, 50, connections, 7,
        ends=lambda after: after > 10_000 and after % 7 != 3, empty=empty,
    )  # fmt: skip
    try:
        found = model.run()
    except fk.PagingError:
        found = model.walk.covered()[0].to_list()
        ids = ids[: len(found)]

    assert found == ids


def test_no_ids_but_more_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """However many segments meet it."""
    ids = list(range(1, 2_001))

    class Empty(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            if "pokracovat-za-id" in request and "zostavajuce" not in request:
                return [reply(b'{"existujeDalsieId":true}')]
            return steps

    with Empty([]) as server, fk.Register(server.url) as reg, caplog.at_level(logging.WARNING):
        assert reg.units.ids(page_size=50, connections=8)["id"].to_list() == ids[:50]

    assert len([r for r in caplog.records if "no ids but a flag" in r.message]) == 1


@pytest.mark.parametrize(("case", "count"), [("2^62", 2**62), ("2^63", 2**63), ("10^309", 10**309)])
def test_absurd_counts_cost_a_few_requests_and_no_ids(matrix: Told, case: str, count: int) -> None:
    """They cost some requests, none of them above the largest id, and not one id."""
    ids = list(range(1, 2_001))

    class Lying(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            return [reply(b'{"pocetZostavajucichId":%d}' % count)] if "zost" in request else steps

    with Lying([]) as server, fk.Register(server.url) as reg:
        found = reg.units.ids(page_size=50, connections=4)["id"].to_list()

    cursors = [
        int(t.partition("pokracovat-za-id=")[2].partition("&")[0] or 0) for t in server.asked
    ]
    matrix(f"a count of {case}", "complete, cursors below 2^63", f"{len(found)} of 2000")
    assert found == ids
    assert max(cursors) < 2**63
    assert len(server.asked) <= 3 * 40 + 6 * 4 + 2


@pytest.mark.parametrize(("n", "most"), [(0, 2), (1, 2), (50, 2), (51, 3), (100, 3)])
def test_short_walks_cost_one_request_more_at_most(n: int, most: int) -> None:
    """Two pages or fewer cost at most one request more."""
    with numbers(list(range(1, n + 1)))([]) as server, fk.Register(server.url) as reg:
        assert reg.units.ids(page_size=50, connections=8).height == n

    assert len(server.asked) <= most


def test_a_walk_is_not_cut_where_the_rate_is_the_bottleneck() -> None:
    """The walk is not split, and costs not one request more."""
    ids = list(range(1, 1_001))
    with (
        numbers(ids)([]) as server,
        timed(server.url, FakeClock(), rate=5, connections=4) as reg,
    ):
        assert reg.units.ids(page_size=50).height == 1_000

    assert len(server.asked) == 20
    assert not any("zostavajuce" in target for target in server.asked)


def test_a_limit_keeps_to_one_connection() -> None:
    """What a limit asks for is asked in order, and no more of it."""
    with numbers(list(range(1, 1_001)))([]) as server, fk.Register(server.url) as reg:
        assert reg.units.ids(page_size=50, connections=8, limit=120).height == 120

    assert len(server.asked) == 3


def test_being_asked_for_less_halves_the_connections() -> None:
    """After a 429 the walk goes on with half of its connections, and to its end."""
    ids = list(range(1, 3_001))

    class Busy(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            return [reply(b"", 429, Retry_After="1")] if len(self.asked) in (6, 9) else steps

    with Busy([]) as server, timed(server.url, FakeClock()) as reg:
        found = reg.units.ids(page_size=50, connections=8)

    assert found["id"].to_list() == ids
    assert reg._session.exchange.pressure == 2


def test_pressure_halves_the_connections_each_time() -> None:
    """Each time the register asks for less, half as many requests are under way."""
    ids, allowed = list(range(1, 2_001)), [8]

    class Noted(SplitWalk):
        def tasks(self, free: int) -> list[Ask | Recount]:
            busy = sum(segment.busy for segment in self._segments)
            allowed.append(free + busy)
            return super().tasks(free)

    walk = Noted(Query("/api/x", BEGINNING, 20))
    asked: list[int] = []

    def fetch(query: Query, stop: threading.Event) -> Page:
        asked.append(query.after_id)
        return page_of(ids, query)

    split(
        walk,
        8,
        fetch,
        lambda query, stop: len(ids),
        pressure=lambda: min(len(asked) // 25, 2),
        pays=lambda: True,
        advance=lambda n: None,
    )

    assert walk.covered()[0].to_list() == ids
    assert {8, 4, 2} <= set(allowed)
    assert allowed[-1] == 2


def test_a_count_that_hangs_leaves_room_for_pages() -> None:
    """Also where pressure has left one connection: a page is under way beside the count."""
    ids, walked = list(range(1, 201)), threading.Event()
    walk = SplitWalk(Query("x", BEGINNING, 20))

    def fetch(query: Query, stop: threading.Event) -> Page:
        page = page_of(ids, query)
        if not page.more:
            walked.set()
        return page

    def count(query: Query, stop: threading.Event) -> int:
        assert walked.wait(20)
        return len(ids)

    pressed = iter([0, 1, 2, 2])
    split(
        walk, 2, fetch, count,
        pressure=lambda: next(pressed, 2), pays=lambda: True, advance=lambda n: None,
    )  # fmt: skip

    assert walk.covered()[0].to_list() == ids


def test_wrong_connections_are_refused() -> None:
    """The number of connections is checked at the call."""
    with pytest.raises(fk.UsageError, match="connections=0"):
        Scripted().units.ids(connections=0)
