"""The same register behind a URL: what holds in process holds over HTTP."""

from __future__ import annotations

import asyncio
import threading
import time
import tracemalloc
from collections.abc import Iterator, MutableMapping
from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from finstat_kit.errors import TransportError
from finstat_kit.protocol import wire
from finstat_kit.service.http.server import app_of, served
from finstat_kit.service.state import population
from tests.support.faults import SOON
from tests.support.memory import needs_proc
from tests.support.registers import Switched, changes, days, service, store_of
from tests.support.wire import get, raw

LIKE = population.draw(0)
LIST = "/api/uctovne-jednotky"


@pytest.fixture(scope="module")
def sample() -> Sample:
    return fk.sample(50)


@pytest.fixture(scope="module")
def url(sample: Sample) -> Iterator[str]:
    with sample.serve() as url:
        yield url


@pytest.fixture(scope="module")
def switched() -> Switched:
    return Switched()


@pytest.fixture(scope="module")
def reg(switched: Switched) -> Iterator[fk.Register]:
    with served(switched.answer, host="127.0.0.1", port=0) as url, fk.Register(url) as reg:
        yield reg


def test_everything_equals_the_register_in_process() -> None:
    """Counts, pages, ids, records, codelists and labels are the same by URL."""
    sample = fk.sample(300)
    with sample.serve() as url, fk.using(url) as reg:
        assert isinstance(reg, fk.Register)
        since = "2020-01-01"
        ids = fk.units.ids(changed_since=since)
        assert fk.units.count(changed_since=since) == ids.height
        assert ids.equals(sample.units.ids(changed_since=since))
        assert pl.concat(fk.reports.pages(page_size=77)).equals(sample.reports.ids())
        assert fk.statements.ids().equals(sample.statements.ids())
        assert fk.annual_reports.ids().equals(sample.annual_reports.ids())
        units = fk.units.get(ids)
        assert units.equals(sample.units.get(ids))
        assert fk.resolve_labels(units).equals(sample.resolve_labels(units))
        for name in wire.CODELISTS:
            assert fk.codelist(name).equals(sample.codelist(name))


# The served register is one for the module; each example puts its own ids into it.
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes, st.none() | days, st.integers(1, 70), st.integers(0, 220))
def test_ids_are_exactly_what_matches(
    switched: Switched,
    reg: fk.Register,
    changed: dict[int, date],
    since: date | None,
    size: int,
    after: int,
) -> None:
    """For any ids, days, page size and cursor, through a socket."""
    switched.sample = Sample(store_of(changed, like=LIKE), strict=False)
    due = [i for i in sorted(changed) if i > after and (since is None or changed[i] >= since)]

    found = reg.units.ids(changed_since=since, after_id=after, page_size=size)

    assert found["id"].to_list() == due
    assert reg.units.count(changed_since=since, after_id=after) == len(due)


END = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /api/kraje\x00" + END,
        b"GET /api/kraje?\x00" + END,
        b"GET /api/kraje?a=\xff" + END,
        b"GET /api/\xc3\xa9" + END,
        b"GET api/kraje" + END,
        b"FETCH /api/kraje" + END,
        b"hello\r\n\r\n",
        bytes(range(256)),
    ],
    ids=lambda sent: str(sent)[:40],
)
def test_requests_that_are_none_are_refused(url: str, sent: bytes) -> None:
    """Bytes that are no HTTP are answered with 400, and the next request as ever."""
    assert raw(url, sent)[0] == 400
    assert get(url, "/api/kraje")[0] == 200


@pytest.mark.slow
def test_memory_stays_flat(url: str) -> None:
    """Large and broken requests leave nothing behind in the server, which runs right here."""
    large = [
        f"{LIST}?a=" + "x" * 60_000,
        f"{LIST}?" + "&".join(f"p{n}=1" for n in range(1_000)),
        f"{LIST}?a=" + "%FF" * 2_000,
        f"{LIST}?ico=" + "%" * 8_000,
    ]
    tracemalloc.start()
    try:
        for target in large:
            get(url, target)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(40):
            for target in large:
                assert get(url, target)[0] in (400, 414)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert after - before < 500_000  # of 3.5 MB that were sent


def test_bytes_that_another_server_lets_through_are_no_path() -> None:
    """Behind a server that passes bytes which are not ASCII, they are no UTF-8 and no path."""
    app = app_of(service(1))

    def ask(path: bytes, query: bytes) -> object:
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        async def receive() -> MutableMapping[str, Any]:
            return {}

        scope = {"type": "http", "method": "GET", "headers": []}
        asyncio.run(app({**scope, "raw_path": path, "query_string": query}, receive, send))
        return sent[0]["status"]

    assert ask(b"/api/kraje", b"a=1") == 200
    assert ask(b"/api/kraje", b"a=\xff") == 400
    assert ask(b"/api/kraje", b"\xc3\xa9=1") == 400
    assert ask(b"/api/kraje\xff", b"") == 404


@pytest.mark.slow
def test_several_servers_run_at_a_time_and_end_cleanly() -> None:
    """Servers start at once, side by side, and leave nothing behind."""
    before = set(threading.enumerate())
    begin = time.monotonic()
    with fk.sample(3).serve() as one, fk.sample(4).serve() as two:
        assert time.monotonic() - begin < SOON
        with fk.Register(one) as first, fk.Register(two) as second:
            assert (first.units.count(), second.units.count()) == (3, 4)

    assert set(threading.enumerate()) <= before
    with fk.Register(one, tries=1) as gone, pytest.raises(TransportError):
        gone.units.count()


def test_a_port_that_is_taken_is_named() -> None:
    """The error names the port and the cure."""
    with fk.sample(1).serve() as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(fk.UsageError, match=f"on port {port}.*0 for a free one"):
            with fk.sample(1).serve(port=port):
                pass


def test_without_uvicorn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks the extra is told what to install."""
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)

    with pytest.raises(fk.UsageError, match=r"finstat-kit\[server\]"):
        with fk.sample(1).serve():
            pass


@pytest.mark.slow
def test_records_keep_their_order_over_several_connections(sample: Sample, url: str) -> None:
    """Records come in the order asked, whichever connection brings them."""
    ids = sample.units.ids()["id"].reverse()

    with fk.Register(url, connections=8) as reg:
        frame = reg.units.get(ids)

    assert frame.equals(sample.units.get(ids))


@needs_proc
@pytest.mark.slow
def test_a_long_walk_over_http_takes_flat_memory() -> None:
    """1,000,000 ids by pages over loopback: the client stays within 20 MB of 50,000."""
    import subprocess
    import sys

    server = """
import sys
from dataclasses import replace
import numpy as np
from finstat_kit.client.sample import Sample
from finstat_kit.service.state.line import Line
from tests.support.registers import store_of
line = Line(np.arange(1, 1_000_001), np.full(1_000_000, 9_000, dtype=np.uint16))
sample = Sample(replace(store_of({}), units=line), strict=False)
with sample.serve() as url:
    print(url, flush=True)
    sys.stdin.read()
"""
    client = """
import sys
import finstat_kit as fk
from tests.support.memory import memory
reg = fk.Register(sys.argv[1])
def peak(limit):
    assert sum(page.height for page in reg.units.pages(limit=limit)) == limit
    return memory("VmHWM")
short = peak(50_000)
print(peak(1_000_000) - short)
"""
    with subprocess.Popen(
        [sys.executable, "-c", server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        seen = subprocess.run(
            [sys.executable, "-c", client, url], capture_output=True, text=True, check=True
        )
        serving.communicate("")

    assert float(seen.stdout) < 20
