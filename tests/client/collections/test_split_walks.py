"""Walks over several connections: whole or an error, and never a request too many."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.errors import BadRequest, PagingError
from finstat_kit.protocol import wire
from finstat_kit.protocol.wire import Reply
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.faults import FaultServer, Step, reply
from tests.support.registers import Scripted, Watched, timed


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
        with pytest.raises(BadRequest) as caught:
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
        with pytest.raises(PagingError) as caught:
            reg.units.ids(page_size=50, connections=4)
    assert "precede" not in str(caught.value), "the number of ids before a segment is not known"


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


def test_no_ids_but_more_is_warned_of_once_per_cursor(caplog: pytest.LogCaptureFixture) -> None:
    """Each range that meets it ends by the rule, and says so once."""
    ids = list(range(1, 2_001))

    class Empty(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            if "pokracovat-za-id" in request and "zostavajuce" not in request:
                return [reply(b'{"existujeDalsieId":true}')]
            return steps

    with Empty([]) as server, fk.Register(server.url) as reg, caplog.at_level(logging.WARNING):
        assert reg.units.ids(page_size=50, connections=8)["id"].to_list() == ids[:50]

    warned = [r.message for r in caplog.records if "no ids but a flag" in r.message]
    assert warned
    assert len(warned) == len(set(warned))


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
        reg.units.ids(limit=1)  # a reply shows how fast the register is
        assert reg.units.ids(page_size=50).height == 1_000

    assert len(server.asked) == 1 + 20
    assert not any("zostavajuce" in target for target in server.asked)


def test_a_limit_keeps_to_one_connection() -> None:
    """What a limit asks for is asked in order, and no more of it."""
    with numbers(list(range(1, 1_001)))([]) as server, fk.Register(server.url) as reg:
        assert reg.units.ids(page_size=50, connections=8, limit=120).height == 120

    assert len(server.asked) == 3


def test_a_walk_goes_on_after_being_asked_for_less() -> None:
    """After a 429 all connections wait, and the walk goes on to its end."""
    ids = list(range(1, 3_001))

    class Busy(numbers(ids)):  # type: ignore[misc]
        def _next(self, request: str) -> Sequence[Step]:
            steps: Sequence[Step] = super()._next(request)
            return [reply(b"", 429, Retry_After="1")] if len(self.asked) in (6, 9) else steps

    with Busy([]) as server, timed(server.url, FakeClock()) as reg:
        found = reg.units.ids(page_size=50, connections=8)

    assert found["id"].to_list() == ids
    assert reg.stats.retries == 2


@pytest.mark.parametrize("connections", [2, 4, 8])
def test_as_many_requests_are_under_way_as_connections_and_no_more(connections: int) -> None:
    """Pages and counts together; once the cuts are known all are pages."""
    reg, lock = Watched(fk.sample(2_000)), threading.Lock()
    under_way, most, pages = list[str](), [0], [0]

    def noted(path: str, query: str) -> Reply:
        with lock:
            under_way.append(path)
            most.append(len(under_way))
            pages.append(under_way.count(path) if wire.COUNTS not in path else 0)
        time.sleep(0.005)
        with lock:
            under_way.remove(path)
        return reg.sample._answer("GET", path, query)

    reg.instead = noted
    found = reg.units.ids(page_size=20, connections=connections)

    assert found.equals(reg.sample.units.ids())
    assert max(most) == max(pages) == connections


def test_a_count_that_hangs_holds_up_no_page() -> None:
    """The walk goes on to its end while a count is due, and leaves it."""
    reg, walked = Watched(fk.sample(200)), threading.Event()

    def late(path: str, query: str) -> Reply:
        if wire.COUNTS in path:
            assert walked.wait(20)
        reply = reg.sample._answer("GET", path, query)
        if b"false" in reply.body:
            walked.set()
        return reply

    reg.instead = late
    assert reg.units.ids(page_size=20, connections=2).equals(reg.sample.units.ids())


def test_wrong_connections_are_refused() -> None:
    """The number of connections is checked at the call."""
    with pytest.raises(fk.UsageError, match="connections=0"):
        Scripted().units.ids(connections=0)
