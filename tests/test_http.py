"""The same register behind a URL: what holds in process holds over HTTP."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import date

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import finstat_kit as fk
from finstat_kit import labels
from finstat_kit.embedded.server import served
from tests.registers import store_of
from tests.test_service import BAD, OPEN, changes, days

LIKE = fk.sample(50)


@pytest.fixture(scope="module")
def sample() -> fk.Sample:
    return fk.sample(50)


@pytest.fixture(scope="module")
def url(sample: fk.Sample) -> Iterator[str]:
    with sample.serve() as url:
        yield url


@pytest.fixture(scope="module")
def reg(url: str) -> Iterator[fk.Register]:
    with fk.Register(url) as reg:
        yield reg


def raw(url: str, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes as they are; return status, headers and body of the answer."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(request)
        data = b""
        while part := connection.recv(65_536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    return int(lines[0].split(" ")[1]), {k.lower(): v for k, v in headers.items()}, body


def get(url: str, target: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    host = url.removeprefix("http://")
    return raw(
        url, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    )


def test_everything_equals_the_register_in_process() -> None:
    """Counts, pages, ids, records, codelists and labels are the same by URL."""
    sample = fk.sample(300)
    with sample.serve() as url, fk.use(url) as reg:
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
        for name in labels.CODELISTS:
            assert getattr(fk, name)().equals(getattr(sample, name)())


# The served register is one for the module; each example puts its own ids into it.
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes, st.none() | days, st.integers(1, 70), st.integers(0, 220))
def test_ids_are_exactly_what_matches(
    sample: fk.Sample,
    reg: fk.Register,
    changed: dict[int, date],
    since: date | None,
    size: int,
    after: int,
) -> None:
    """For any ids, days, page size and cursor, through a socket."""
    sample.store = store_of(changed, like=LIKE.store)
    due = [i for i in sorted(changed) if i > after and (since is None or changed[i] >= since)]

    found = reg.units.ids(changed_since=since, after_id=after, page_size=size)

    assert found["id"].to_list() == due
    assert reg.units.count(changed_since=since, after_id=after) == len(due)


def test_answers_are_those_of_the_service(url: str, sample: fk.Sample) -> None:
    """Status, headers and body are the service's own, to the byte."""
    for target in [
        "/api/kraje", "/api/sk-nace", "/api/uctovne-jednotky?max-zaznamov=3",
        "/api/zostavajuce-id/uctovne-vykazy", "/api/uctovna-jednotka?id=999999999",
        "/api/uctovna-jednotka", "/api/nic", "/api/kraje/", "/api/kraje?x=%FF",
    ]:  # fmt: skip
        path, _, query = target.partition("?")
        expected = sample.answer("GET", path, query)

        status, headers, body = get(url, target)

        assert (status, body) == (expected.status, expected.body), target
        assert {k.lower(): v for k, v in expected.headers.items()}.items() <= headers.items()


@pytest.mark.parametrize(
    ("parameter", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_values(url: str, parameter: str, value: str) -> None:
    """What the service refuses is refused over HTTP too, and nothing falls over."""
    target = f"/api/uctovne-jednotky?{parameter}={value.replace(' ', '%20')}"

    status, _, body = get(url, target)

    assert status == 400
    assert parameter in json.loads(body)["chyba"]


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_open(strict: bool) -> None:
    """Lenient and strict answer over HTTP as in process."""
    with fk.sample(5, strict=strict).serve() as url:
        for case, query, lenient, refused in OPEN:
            status, _, _ = get(url, f"/api/uctovne-jednotky?{query}")
            assert status == (refused if strict else lenient), case


@pytest.mark.parametrize(
    "path",
    [
        "/api/kraje/", "//api/kraje", "/API/kraje", "/api/../api/kraje", "/api/%6braje",
        "/api/%2e%2e/x", "/api/kraje%00", "/api/kraje/../../../etc/passwd",
    ],
)  # fmt: skip
def test_unknown_paths(url: str, path: str) -> None:
    """A path is known to the letter: nothing is normalised, nothing redirected."""
    status, headers, _ = get(url, path)

    assert status == 404
    assert "location" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE", "PATCH"])
def test_other_methods(url: str, method: str) -> None:
    """Reading is all there is."""
    status, headers, _ = get(url, "/api/kraje", method)

    assert (status, headers["allow"]) == (405, "GET, HEAD")


def test_head(url: str) -> None:
    """HEAD tells the length and sends nothing."""
    status, headers, body = get(url, "/api/kraje", "HEAD")

    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 100


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /api/kraje?a=" + b"x" * 30_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 414),
        (b"GET /" + b"x" * 70_000, 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000, 431),
        (b"hello\r\n\r\n", 400),
    ],
)  # fmt: skip
def test_oversize_and_nonsense(url: str, request_: bytes, status: int) -> None:
    """Requests that are too long are cut off, nonsense is refused; the server goes on."""
    try:
        seen = raw(url, request_)[0]
    except ConnectionResetError:
        seen = status  # closed before all was sent
    assert seen == status
    assert get(url, "/api/kraje")[0] == 200


def test_unknown_hosts(url: str) -> None:
    """A page of another site cannot read the register by a name that leads here."""
    request = b"GET /api/kraje HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n"

    assert raw(url, request)[0] == 421
    assert raw(url, request.replace(b"evil.example:80", b"localhost:1"))[0] == 200
    assert raw(url, request.replace(b"Host: evil.example:80\r\n", b""))[0] in (400, 421)


def test_slow_requests_hold_nothing_up() -> None:
    """Connections that dribble are closed; others are answered meanwhile."""
    with served(fk.sample(5).answer, host="127.0.0.1", port=0, patience=0.3) as url:
        port = int(url.rpartition(":")[2])
        slow = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(50)]
        for connection in slow:
            connection.sendall(b"GET /api/kraje HTTP/1.1\r\nHost:")

        assert get(url, "/api/kraje")[0] == 200
        ends = [connection.recv(100) for connection in slow]
        for connection in slow:
            connection.close()

    assert ends == [b""] * 50


def test_several_at_a_time_and_a_clean_end() -> None:
    """Servers start in well under a second, side by side, and leave nothing behind."""
    before = threading.active_count()
    begin = time.monotonic()
    with fk.sample(3).serve() as one, fk.sample(4).serve() as two:
        assert time.monotonic() - begin < 1
        with fk.Register(one) as first, fk.Register(two) as second:
            assert (first.units.count(), second.units.count()) == (3, 4)

    assert threading.active_count() == before
    with fk.Register(one, tries=1) as gone, pytest.raises(fk.TransportError):
        gone.units.count()


def test_a_port_that_is_taken() -> None:
    """The error names the port and the cure."""
    with fk.sample(1).serve() as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(fk.UsageError, match=f"port={port}.*0 for a free one"):
            with fk.sample(1).serve(port=port):
                pass


def test_without_uvicorn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks the extra is told what to install."""
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)

    with pytest.raises(fk.UsageError, match=r"finstat-kit\[server\]"):
        with fk.sample(1).serve():
            pass


def test_many_records_over_several_connections(sample: fk.Sample, url: str) -> None:
    """Records come in the order asked, whichever connection brings them."""
    sample.store = LIKE.store
    ids = sample.units.ids()["id"].reverse()

    with fk.Register(url, connections=8) as reg:
        frame = reg.units.get(ids)

    assert frame.equals(sample.units.get(ids))


def test_memory_of_a_long_walk_over_http() -> None:
    """1,000,000 ids by pages over loopback: the client stays within 20 MB of 50,000."""
    import subprocess
    import sys

    server = """
import sys
from datetime import date
import numpy as np
import finstat_kit as fk
from finstat_kit.embedded.store import Line
from tests.registers import store_of
line = Line(np.arange(1, 1_000_001), np.full(1_000_000, 9_000, dtype=np.uint16))
store = store_of({})
sample = fk.Sample(type(store)(dict.fromkeys(store.lines, line), *[
    getattr(store, name) for name in store.__slots__[1:]]), strict=False)
with sample.serve() as url:
    print(url, flush=True)
    sys.stdin.read()
"""
    client = """
import resource, sys
import finstat_kit as fk
reg = fk.Register(sys.argv[1])
def peak(limit):
    assert sum(page.height for page in reg.units.pages(limit=limit)) == limit
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
short = peak(50_000)
print((peak(1_000_000) - short) / 1024)
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
