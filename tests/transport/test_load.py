"""Under load: the rate holds, nothing leaks, memory stays flat."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

import finstat_kit as fk
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import InProcess
from finstat_kit.transport.http import Sockets
from tests.support.clock import FakeClock
from tests.support.faults import RESET, FaultServer, Step, record, reply
from tests.support.memory import memory, needs_proc
from tests.support.wire import get

THREADS = 64
RATE = 50.0


@pytest.mark.slow
def test_many_threads_keep_to_one_rate() -> None:
    """64 threads, every fifth answer a fault: all records come, and never faster than the rate."""
    clock = FakeClock()

    class Faulty(FaultServer):
        def _next(self, request: str) -> list[Step]:
            super()._next(request)
            faults: list[list[Step]] = [
                [reply(b"", 500)],
                [RESET],
                [reply(b"{")],
                [reply(b"<p>", 502)],
            ]
            number = len(self.asked)
            return faults[number // 5 % 4] if number % 5 == 0 else [reply(record(request))]

    with Faulty([], clock=clock.clock) as server:
        carrier = Sockets(server.url, clock.timing(luck=0.01))
        with (
            # The clock runs on while a busy machine lets a reply wait: no deadline may pass by it.
            fk.Register(
                server.url,
                connections=THREADS,
                rate=RATE,
                tries=20,
                deadline=3_600,
                transport=carrier,
            ) as reg,
            ThreadPoolExecutor(4) as pool,  # four callers share the client
        ):
            parts = [range(1 + 500 * n, 501 + 500 * n) for n in range(4)]
            frames = list(pool.map(reg.units.get, parts))

    assert [frame["id"].to_list() for frame in frames] == [list(part) for part in parts]
    assert len(server.asked) >= 2_400
    assert reg.stats.requests == len(server.asked)
    # Those that were on their way when the clock was read may be counted late, never early.
    assert clock.now >= (len(server.asked) - 1) / RATE


def test_the_rate_holds_after_a_pause() -> None:
    """Those whose turn came during a pause do not all go at its end."""
    threads, rate, each = 8, 4.0, 5
    clock = FakeClock(threads)
    times: list[float] = []

    def answer(method: str, path: str, query: str) -> Reply:
        times.append(clock.now)
        status = {5: 429, 21: 503}.get(len(times), 200)
        return Reply(status, {"Retry-After": "7"}, b'{"pocetZostavajucichId":1}')

    def work() -> None:
        for _ in range(each):
            reg.units.count()
        clock.rest()

    carrier = InProcess(answer, clock.timing(luck=0.01))
    reg = fk.Register("turns:", connections=threads, rate=rate, transport=carrier)
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()

    assert len(times) == threads * each + 2
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) >= 1 / rate - 1e-9
    assert sum(gap >= 7 for gap in gaps) == 2


SERVE = """
import sys, finstat_kit as fk
from finstat_kit.service.http.server import served
with served(fk.sample(20_000)._answer, host="127.0.0.1", port=0) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def serving() -> Iterator[tuple[str, int]]:
    """Give the URL and the process of a register."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.kill()


@needs_proc
@pytest.mark.slow
def test_two_hundred_connections_are_served_while_others_dawdle(serving: tuple[str, int]) -> None:
    """50 connections whose request never ends do not disturb 200 others, and cost no memory."""
    url, pid = serving
    port = int(url.rpartition(":")[2])
    target = "/api/uctovne-jednotky?zmenene-od=2000-01-01&max-zaznamov=10000"

    def ask(_: int) -> tuple[int, int]:
        status, _headers, body = get(url, target)
        return status, len(json.loads(body)["id"])

    with contextlib.ExitStack() as stack, ThreadPoolExecutor(200) as pool:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(50)
        ]
        for connection in slow:
            connection.sendall(b"GET /api/kraje HTTP/1.1\r\nHost: localh")
        assert set(pool.map(ask, range(200))) == {(200, 10_000)}
        before = memory("VmRSS", pid)
        for _ in range(4):
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.sendall(b"o")
            assert set(pool.map(ask, range(200))) == {(200, 10_000)}
        grown = memory("VmRSS", pid) - before

    assert grown < 20


@pytest.mark.slow
@needs_proc
def test_a_walk_of_many_pages_takes_flat_memory() -> None:
    """50,000 replies, an id each: less than 20 bytes are left of each, every id is counted."""
    pages = 50_000

    class Endless(fk.Register):
        def __init__(self) -> None:
            self.asked = 0
            super().__init__("endless:", page_size=1, tries=1, transport=InProcess(self._answer))

        def _answer(self, method: str, path: str, query: str) -> Reply:
            self.asked += 1
            more = b"true" if self.asked < pages else b"false"
            return Reply(200, {}, b'{"id":[%d],"existujeDalsieId":%b}' % (7 * self.asked, more))

    register = Endless()
    walk = register.units.pages()
    for _ in range(10_000):
        next(walk)
    before = memory("VmRSS")
    total = 10_000 + sum(page.height for page in walk)

    assert (total, walk.count, walk.cursor) == (pages, pages, 7 * pages)
    assert memory("VmRSS") - before < 1
