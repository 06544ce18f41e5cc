"""The client against a server that does everything wrong, byte by byte."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from email.utils import formatdate

import pytest

import finstat_kit as fk
from finstat_kit.transport.http import Sockets
from tests.conftest import Told
from tests.support.faults import (
    CLOSE,
    HANG,
    RESET,
    Drip,
    FakeTime,
    FaultServer,
    Step,
    packed,
    reply,
)
from tests.support.registers import timed

GOOD = b'{"id":[1,2,3],"existujeDalsieId":false}'
OK = [reply(GOOD)]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PAGE = b"<!DOCTYPE html><title>x</title><p>Server je mimo prev&aacute;dzky</p>"
GZIP = {"Content_Encoding": "gzip"}


@pytest.fixture
def fake() -> FakeTime:
    return FakeTime()


def record(request: str) -> bytes:
    """Return the record that a request asks for: its id alone."""
    return b'{"id":%b}' % request.split(" ")[1].rpartition("=")[2].encode()


def date_in(seconds: float) -> str:
    return formatdate(1_800_000_000 + seconds, usegmt=True)


# Case, what the server sends before it behaves, how many requests it takes to get the list.
SURVIVED: list[tuple[str, list[Sequence[Step]], int]] = [
    ("nothing wrong", [], 1),
    ("closed with no bytes", [[CLOSE]], 2),
    ("reset before the answer", [[RESET]], 2),
    ("reset in mid-body", [[reply(GOOD, 200, 99), RESET]], 2),
    ("end before Content-Length", [[reply(GOOD, 200, 99), CLOSE]], 2),
    ("end inside the body", [[reply(GOOD)[:-5], CLOSE]], 2),
    ("chunks without the last", [[HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", CLOSE]], 2),
    ("a chunk cut short", [[HEAD + b"Transfer-Encoding: chunked\r\n\r\n50\r\n12345", CLOSE]], 2),
    ("gzip cut in half", [[reply(packed(GOOD * 9)[:40], **GZIP)]], 2),
    ("gzip without its trailer", [[reply(packed(GOOD)[:-8], **GZIP)]], 2),
    ("gzip with a wrong checksum", [[reply(packed(GOOD)[:-8] + b"\0" * 8, **GZIP)]], 2),
    ("plain body marked gzip", [[reply(GOOD, **GZIP)]], 2),
    ("two gzip members", [[reply(packed(GOOD[:9]) + packed(GOOD[9:]), **GZIP)]], 2),
    ("another encoding", [[reply(GOOD, Content_Encoding="br")]], 2),
    ("garbage for headers", [[b"HTTP/1.1 200 OK\r\n\0: \xff\r\n\r\n", CLOSE]], 2),
    ("no HTTP at all", [[b"SSH-2.0-OpenSSH_9.2\r\n", CLOSE]], 2),
    ("an empty body", [[reply(b"")]], 2),
    ("trailing garbage", [[reply(GOOD + b"x")]], 2),
    ("NaN", [[reply(b'{"id":[NaN],"existujeDalsieId":false}')]], 2),
    ("UTF-16", [[reply(GOOD.decode().encode("utf-16"))]], 2),
    ("500 once", [[reply(b"", 500)]], 2),
    ("500 four times", [[reply(b"", 500)]] * 4, 5),
    ("502, 504, 408", [[reply(b"", 502)], [reply(b"", 504)], [reply(b"", 408)]], 4),
    ("gzip, whole", [[reply(packed(GOOD), **GZIP)]], 1),
    ("JSON as text/plain", [[reply(GOOD, Content_Type="text/plain")]], 1),
    ("byte order mark", [[reply(b"\xef\xbb\xbf" + GOOD)]], 1),
    ("in single bytes", [[Drip(reply(GOOD), 1, 0)]], 1),
    ("chunked", [[HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(GOOD), GOOD)]], 1),
    ("an idle connection closed", [[reply(GOOD[:-6] + b"true }"), CLOSE], [reply(b'{"existujeDalsieId":false}')]], 2),
]  # fmt: skip


@pytest.mark.parametrize(("case", "script", "requests"), SURVIVED, ids=[c[0] for c in SURVIVED])
def test_what_is_survived(
    fake: FakeTime, matrix: Told, case: str, script: list[Sequence[Step]], requests: int
) -> None:
    """The list comes whole, after as many requests as it takes, or not at all."""
    with FaultServer(*script, OK) as server, timed(server.url, fake) as reg:
        ids = reg.units.ids()

    came = ids["id"].to_list()
    matrix(case, f"[1, 2, 3], requests {requests}", f"{came}, requests {len(server.asked)}")
    assert came == [1, 2, 3]
    assert len(server.asked) == requests
    if "idle" not in case:  # there the client may or may not see the end before it asks again
        assert reg.stats.retries == requests - 1


# Case, what the server sends for ever, the error, words of its text, requests it takes.
FATAL: list[tuple[str, list[Step], type[fk.RegisterError], str, int]] = [
    ("closed for ever", [CLOSE], fk.TransportError, "can be reached", 5),
    ("reset for ever", [RESET], fk.TransportError, "can be reached", 5),
    ("half a gzip for ever", [reply(packed(GOOD * 9)[:40], **GZIP)], fk.TransportError, "gzip", 5),
    ("500 for ever", [reply(b"", 500)], fk.RegisterUnavailable, "answers 500", 5),
    ("no JSON for ever", [reply(b"hello")], fk.RegisterUnavailable, "expected JSON.*“hello”", 5),
    ("HTML as HTML", [reply(PAGE, Content_Type="text/html")], fk.RegisterUnavailable, "“Server je mimo prevádzky”|mimo", 1),
    ("HTML as JSON", [reply(PAGE, Content_Type="application/json")], fk.RegisterUnavailable, "mimo prevádzky", 1),
    ("403 with HTML", [reply(b"<h1>Forbidden</h1>", 403)], fk.RegisterUnavailable, "firewall", 1),
    ("400", [reply(b'{"chyba":"' + b"x" * 300, 400)], fk.BadRequest, "chyba.*xxx…", 1),
    ("401", [reply(b"", 401)], fk.BadRequest, "401", 1),
    ("405", [reply(b"", 405)], fk.BadRequest, "405", 1),
    ("410", [reply(b"", 410)], fk.BadRequest, "410", 1),
    ("404, empty, as JSON", [reply(b"", 404, Content_Type="application/json")], fk.NotFound, "404", 1),
    ("501", [reply(b"", 501)], fk.RegisterUnavailable, "501", 1),
    ("204", [reply(b"", 204)], fk.RegisterUnavailable, "expected status 200, got 204", 1),
    ("redirect to another host", [reply(b"", 302, Location="http://192.0.2.1/x")], fk.RegisterUnavailable, r"192\.0\.2\.1/x, which is not followed", 1),
    ("redirect to itself", [reply(b"", 301, Location="/api/uctovne-jednotky")], fk.RegisterUnavailable, "not followed", 1),
    ("flag missing", [reply(b'{"id":[1]}')], fk.ProtocolError, "existujeDalsieId", 1),
    ("a repeated key", [reply(b'{"id":[1],"id":[2],"existujeDalsieId":false}')], fk.ProtocolError, "twice", 1),
    ("48 kB that unpack to 50 MB", [reply(packed(b" " * 50_000_000), **GZIP)], fk.ProtocolError, "8 MiB", 1),
    ("a body of 9 MB", [reply(b" " * 9_000_000)], fk.ProtocolError, "8 MiB", 1),
    ("429 for ever", [reply(b"", 429)], fk.RateLimited, "fewer requests", 5),
    ("429 for a day", [reply(b"", 429, Retry_After="86400")], fk.RateLimited, "86400 seconds", 1),
    ("503 for a day", [reply(b"", 503, Retry_After="86400")], fk.RateLimited, "86400 seconds", 1),
    ("429 for ten digits", [reply(b"", 429, Retry_After="1000000000")], fk.RateLimited, "1000000000 seconds", 1),
    ("429 for 400 digits", [reply(b"", 429, Retry_After="9" * 400)], fk.RateLimited, "1000000000 seconds", 1),
    ("429 for a day, a broken gzip", [reply(GOOD, 429, Retry_After="86400", **GZIP)], fk.RateLimited, "86400", 1),
    ("429 for a day, an unknown packing", [reply(b"x", 429, Retry_After="86400", Content_Encoding="zstd")], fk.RateLimited, "86400", 1),
    ("429 for a day, cut short", [reply(b"x", 429, 99, Retry_After="86400"), CLOSE], fk.RateLimited, "86400", 1),
    ("404, empty, marked gzip", [reply(b"", 404, **GZIP)], fk.NotFound, "404", 1),
    ("404, packed as br", [reply(b"x", 404, Content_Encoding="br")], fk.NotFound, "404", 1),
    ("404, reset in mid-body", [reply(b"x", 404, 99), RESET], fk.NotFound, "404", 1),
    ("403, packed as br", [reply(b"x", 403, Content_Encoding="br")], fk.RegisterUnavailable, "firewall", 1),
    ("403, a broken gzip", [reply(packed(b"<p>No")[:15], 403, **GZIP)], fk.RegisterUnavailable, "firewall", 1),
    ("403, packed and whole", [reply(packed(b"<p>No, you"), 403, **GZIP)], fk.RegisterUnavailable, "“No, you”.*firewall", 1),
    ("403, chunks without the last", [b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nNo\r\n", CLOSE], fk.RegisterUnavailable, "“No”.*firewall", 1),
    ("403, 48 kB that unpack to 50 MB", [reply(packed(b"x" * 50_000_000), 403, **GZIP)], fk.RegisterUnavailable, "xxx….*firewall", 1),
    ("403, a body of 9 MB", [reply(b"x" * 9_000_000, 403)], fk.RegisterUnavailable, "xxx….*firewall", 1),
    ("400, a broken gzip", [reply(GOOD, 400, **GZIP)], fk.BadRequest, "400", 1),
    ("302, a broken gzip", [reply(GOOD, 302, Location="/x", **GZIP)], fk.RegisterUnavailable, "not followed", 1),
    ("500 for ever, a broken gzip", [reply(GOOD, 500, **GZIP)], fk.RegisterUnavailable, "answers 500", 5),
    ("500 for ever, a page of 9 MB", [reply(b" " * 20_000 + b"late" * 2_000_000, 500)], fk.RegisterUnavailable, "answers 500; it", 5),
    ("HTML with words behind 20 kB", [reply(b"<p>" + b" " * 20_000 + b"late")], fk.RegisterUnavailable, "under status 200; an outage", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "steps", "error", "words", "requests"), FATAL, ids=[c[0] for c in FATAL]
)
def test_what_ends_in_an_error(
    fake: FakeTime,
    matrix: Told,
    case: str,
    steps: list[Step],
    error: type[fk.RegisterError],
    words: str,
    requests: int,
) -> None:
    """The right error with its cure, after the right number of requests."""
    with FaultServer(steps) as server, timed(server.url, fake) as reg:
        with pytest.raises(error, match=words) as caught:
            reg.units.ids()

    seen = f"{type(caught.value).__name__}, requests {len(server.asked)}"
    matrix(case, f"{error.__name__}, requests {requests}", seen)
    assert type(caught.value) is error
    assert len(server.asked) == requests
    assert str(caught.value.url).startswith(server.url)
    assert (caught.value.attempts or 1) == requests
    assert caught.value.partial is not None
    assert caught.value.partial.height == 0


def test_an_endless_body_is_stopped_at_the_cap() -> None:
    """A body without end is read to the cap and no further, and not asked for again."""
    endless = HEAD + b"\r\n"
    with (
        FaultServer([endless, *[b" " * 2**20] * 64, HANG]) as server,
        fk.Register(server.url) as reg,
        pytest.raises(fk.ProtocolError, match="8 MiB"),
    ):
        reg.units.ids()

    assert len(server.asked) == 1


def test_blocked_is_told_from_an_outage() -> None:
    """A firewall's page is marked, an outage is not: asking again makes a ban longer."""

    def blocked(page: bytes, status: int = 200) -> bool:
        with FaultServer([reply(page, status)]) as server, fk.Register(server.url) as reg:
            with pytest.raises(fk.RegisterUnavailable) as caught:
                reg.units.count()
        return caught.value.blocked

    assert blocked(b"", 403)
    assert blocked(b"<html>Request Rejected. Your support ID is 7</html>")
    assert not blocked(PAGE)


def test_refused_twice_then_good(fake: FakeTime) -> None:
    """A register that is starting is waited for."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server: list[FaultServer] = []

    def start_before_the_third(seconds: float) -> None:
        fake.sleep(seconds)
        if reg.stats.requests == 2 and not server:
            server.append(FaultServer(OK))
            server[0]._listening.close()
            server[0]._listening = socket.create_server(("127.0.0.1", port))
            server[0].__enter__()

    carrier = Sockets(url, replace(fake.timing(), sleep=start_before_the_third))
    with fk.Register(url, transport=carrier) as reg:
        assert reg.units.ids().height == 3
    server[0].__exit__(None, None, None)

    assert reg.stats.requests == 3


def test_refused_for_ever(fake: FakeTime) -> None:
    """After five attempts the error names the host and the cure."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

    with timed(url, fake) as reg, pytest.raises(fk.TransportError, match=url) as caught:
        reg.units.ids()

    assert caught.value.attempts == 5
    assert "tried 5 times" in str(caught.value)


@pytest.mark.parametrize("tries", [2, 5, 20])
def test_what_cannot_be_reached_is_told_within_two_seconds(fake: FakeTime, tries: int) -> None:
    """Where no connection was ever made; one that was is waited for as long as ever."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    started = fake.clock()

    for host in (url, "http://no-such-host.invalid"):
        with (
            timed(host, fake, tries=tries, rate=None) as reg,
            pytest.raises(fk.TransportError) as caught,
        ):
            reg.units.count()
        assert caught.value.attempts == tries
    assert fake.clock() - started < 4


def test_a_register_that_restarts_is_waited_for(fake: FakeTime) -> None:
    """Refused after it has answered once: the pauses double as for any other fault."""
    with FaultServer(OK) as server:
        reg = timed(server.url, fake)
        reg.units.ids()
    started = fake.clock()

    with reg, pytest.raises(fk.TransportError):
        reg.units.ids()

    assert fake.clock() - started > 10


def test_no_secure_connection_is_not_tried_again(matrix: Told) -> None:
    """Who does not speak TLS will not learn it: one attempt, and what to check."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_in_plain() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=answer_in_plain)
        thread.start()
        with fk.Register(url, deadline=0.5, tries=2) as reg:
            with pytest.raises(fk.TransportError, match=r"no secure connection.*check") as caught:
                reg.units.ids()
        thread.join()

    seen = f"{type(caught.value).__name__}, requests {reg.stats.requests}"
    matrix("no TLS", "TransportError, requests 1", seen)
    assert reg.stats.requests == 1


RETRY_AFTER = [
    ("7", 7.0),
    (date_in(7), 7.0),
    (date_in(-60), 0.0),
    ("0", 0.0),
    ("-5", 1.0),
    ("abc", 1.0),
    (None, 1.0),
]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("value", "waited"), RETRY_AFTER, ids=[str(v) for v, _ in RETRY_AFTER])
def test_retry_after(
    fake: FakeTime, matrix: Told, status: int, value: str | None, waited: float
) -> None:
    """Seconds and dates are obeyed; what makes no sense is as if it were not there."""
    headers = {} if value is None else {"Retry_After": value}
    with FaultServer([reply(b"", status, **headers)], OK) as server:
        with timed(server.url, fake) as reg:
            reg.units.ids()

    matrix(f"{status}, Retry-After {value}", f"{waited} s", f"{round(fake.now, 6)} s")
    assert fake.now == pytest.approx(waited)


def test_retry_after_that_does_not_fit(fake: FakeTime) -> None:
    """What is longer than a request may wait is an error at once, with the seconds."""
    with (
        FaultServer([reply(b"", 429, Retry_After="121")]) as server,
        timed(server.url, fake) as reg,
        pytest.raises(fk.RateLimited) as caught,
    ):
        reg.units.ids()

    assert caught.value.retry_after == 121
    assert fake.now == 0


def test_jitter_and_the_end_of_patience(fake: FakeTime) -> None:
    """Pauses double from a second, all of them together stay under two minutes."""
    with FaultServer([reply(b"", 500)]) as server, timed(server.url, fake, tries=20) as reg:
        with pytest.raises(fk.RegisterUnavailable):
            reg.units.ids()

    assert fake.now < 120
    assert len(server.asked) == 8  # 1 + 2 + 4 + 8 + 16 + 30 + 30 seconds, and no 30 more


def test_one_429_makes_every_connection_wait(fake: FakeTime) -> None:
    """What one thread is told holds for all threads of the client."""
    reg: fk.Register

    class Records(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            if self.asked[0] == request.split(" ")[1] and not reg._session.exchange.pressure:
                return [reply(b"", 429, Retry_After="7")]
            # A connection that is answered before the 429 is read may rightly send one more.
            end = time.monotonic() + 10
            while not reg._session.exchange.pressure and time.monotonic() < end:
                time.sleep(0.001)
            return [reply(record(request))]

    with (
        Records([], clock=fake.clock) as server,
        timed(server.url, fake, connections=4) as reg,
    ):
        frame = reg.units.get(range(1, 13))

    assert frame["id"].to_list() == list(range(1, 13))
    early = sum(moment < 7 for moment in server.times)
    assert early <= 4  # those that were under way already
    assert reg.stats.requests == 13


def test_twenty_failures_in_a_row_stop_all_retries(fake: FakeTime) -> None:
    """A register that is down is not hammered by every record in turn."""
    with FaultServer([reply(b"", 500)], clock=fake.clock) as server, timed(server.url, fake) as reg:
        for _ in range(6):
            with pytest.raises(fk.RegisterUnavailable):
                reg.units.count()

    assert len(server.asked) == 4 * 5 + 2


def test_the_rate_holds_over_all_threads(fake: FakeTime) -> None:
    """Two requests a second are two requests a second, however many connections."""

    class Records(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            return [reply(record(request))]

    with Records([], clock=fake.clock) as server:
        with timed(server.url, fake, connections=4, rate=2) as reg:
            reg.units.get(range(1, 21))

    assert fake.now >= 9.5
    assert len(server.asked) == 20


@pytest.mark.parametrize(
    ("case", "steps"),
    [
        ("a body of 400 bytes every 0.4 s", [HEAD + b"Content-Length: 99999\r\n\r\n", Drip(b" " * 99_999, 400, 0.4)]),
        ("headers one byte a time", [Drip(HEAD * 9, 1, 0.05)]),
        ("silence after the request", [HANG]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_deadline(matrix: Told, case: str, steps: list[Step]) -> None:
    """An attempt ends at its deadline, whatever the server likes to do."""
    with FaultServer(steps) as server, fk.Register(server.url, deadline=0.6, tries=1) as reg:
        begin = time.monotonic()
        with pytest.raises(fk.TransportError, match="within the deadline"):
            reg.units.ids()
        took = time.monotonic() - begin

    matrix(case, "ends within 0.5 s of 0.6 s", f"ended after {took:.1f} s")
    assert 0.5 < took < 1.1


def test_a_stop_ends_all_threads() -> None:
    """Ctrl-C in get ends within half a second, with what came; no thread goes on."""

    class First(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            body = record(request)
            return [reply(body)] if body in (b'{"id":1}', b'{"id":2}') else [HANG]

    seen: list[float] = []

    def interrupt(n: int) -> None:
        if n and reg.stats.requests >= 2:
            seen.append(time.monotonic())
            raise KeyboardInterrupt

    with First([]) as server, fk.Register(server.url, connections=4) as reg:
        from finstat_kit.client.records import fetch_records
        from finstat_kit.protocol.shaped import KINDS

        with pytest.raises(fk.Interrupted) as caught:
            fetch_records(KINDS["units"], range(1, 9), reg._session, interrupt, keep=False)
        took = time.monotonic() - seen[0]

    assert took < 5
    assert caught.value.partial is not None
    assert caught.value.partial["id"].to_list() in ([], [1], [1, 2])


def test_a_real_ctrl_c_in_many_records() -> None:
    """The signal itself, while threads wait for a register that hangs: over in half a second."""
    script = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import finstat_kit as fk
reg = fk.Register(sys.argv[1], connections=4)
def strike():
    while reg.stats.requests < 2:
        time.sleep(0.01)
    time.sleep(0.2)
    struck.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
struck = []
threading.Thread(target=strike).start()
try:
    reg.units.get(range(1, 99))
except fk.Interrupted as error:
    took = time.monotonic() - struck[0]
    left = [t.name for t in threading.enumerate() if t.name.startswith("finstat_kit")]
    print(error.partial["id"].to_list(), took < 5, left)
"""

    class First(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            body = record(request)
            return [reply(body)] if body in (b'{"id":1}', b'{"id":2}') else [HANG]

    with First([]) as server:
        seen = subprocess.run(
            [sys.executable, "-c", script, server.url], capture_output=True, text=True, timeout=30
        )

    assert seen.stdout == "[1, 2] True []\n", seen.stderr


@pytest.mark.parametrize("engine", ["in-memory", "streaming", "auto"])
@pytest.mark.parametrize("connections", [1, 4])
def test_a_real_ctrl_c_in_a_scan(matrix: Told, engine: str, connections: int) -> None:
    """The signal itself, in a scan that polars collects: over long before the deadline, with what came."""
    script = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import polars as pl
import finstat_kit as fk
reg = fk.Register(sys.argv[1], connections=int(sys.argv[3]))
def strike():
    while reg.stats.requests < 1_003:
        time.sleep(0.01)
    time.sleep(0.3)
    struck.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
struck = []
threading.Thread(target=strike).start()
scan = reg.units.scan().filter(pl.col("id") != 7).select("id", "ico")
try:
    scan.collect(engine=sys.argv[2])
except fk.Interrupted as error:
    took = time.monotonic() - struck[0]
    left = [t.name for t in threading.enumerate() if t.name.startswith("finstat_kit")]
    ids = error.partial["id"].to_list()
    print(error.partial.columns, ids == [i for i in range(1, 1_003) if i != 7], error.cursor)
    print(str(error).splitlines()[1], took < 5, left)
"""

    class Hanging(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            if "?id=" not in request:
                ids = b",".join(b"%d" % i for i in range(1, 3_001))
                return [reply(b'{"id":[%b],"existujeDalsieId":false}' % ids)]
            body = record(request)
            return [HANG] if int(body[6:-1]) > 1_002 else [reply(body)]

    with Hanging([]) as server:
        seen = subprocess.run(
            [sys.executable, "-c", script, server.url, engine, str(connections)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    expected = (
        "['id', 'ico'] True 1002\n"
        '  fk.units.scan().filter(pl.col("id") > 1002) True []\n'
    )  # fmt: skip
    matrix(f"Ctrl-C in a scan, {engine}", expected.splitlines()[0], seen.stdout.split("\n")[0])
    assert seen.stdout == expected, seen.stderr


def test_what_is_sent() -> None:
    """An honest name, gzip and nothing else; no cookie comes back."""
    with FaultServer([reply(GOOD, Set_Cookie="a=b")]) as server, fk.Register(server.url) as reg:
        reg.units.ids()
        reg.units.ids()

    for headers in server.headers:
        assert "User-Agent: finstat_kit/" in headers
        assert "Accept-Encoding: gzip\r\n" in headers
        assert "ookie" not in headers


def test_no_proxy_for_loopback(monkeypatch: pytest.MonkeyPatch, fake: FakeTime) -> None:
    """Proxies of the environment hold for real hosts, not for this machine."""
    with FaultServer([reply(GOOD)]) as proxy, FaultServer(OK) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        with fk.Register(server.url) as near, fk.Register("http://register.example/x") as far:
            near.units.ids()
            assert proxy.asked == []
            far.units.ids()

    assert proxy.asked[0].startswith("http://register.example/x/api/uctovne-jednotky?")
    assert len(server.asked) == 1
