"""The client against a server that does everything wrong, byte by byte."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

import finstat_kit as fk
from finstat_kit.errors import (
    BadRequest,
    ProtocolError,
    RateLimited,
    RegisterUnavailable,
    TransportError,
)
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.faults import (
    CLOSE,
    GOOD,
    HANG,
    OK,
    PAGE,
    RESET,
    SOON,
    Drip,
    FaultServer,
    Step,
    packed,
    reply,
)
from tests.support.registers import timed

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


GZIP = {"Content_Encoding": "gzip"}


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
def test_passing_faults_are_survived(
    fake: FakeClock, matrix: Told, case: str, script: list[Sequence[Step]], requests: int
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
    ("closed for ever", [CLOSE], TransportError, "can be reached", 5),
    ("reset for ever", [RESET], TransportError, "can be reached", 5),
    ("half a gzip for ever", [reply(packed(GOOD * 9)[:40], **GZIP)], TransportError, "gzip", 5),
    ("500 for ever", [reply(b"", 500)], RegisterUnavailable, "answers 500", 5),
    ("no JSON for ever", [reply(b"hello")], RegisterUnavailable, "expected JSON.*“hello”", 5),
    ("HTML as HTML", [reply(PAGE, Content_Type="text/html")], RegisterUnavailable, "“Server je mimo prevádzky”|mimo", 1),
    ("HTML as JSON", [reply(PAGE, Content_Type="application/json")], RegisterUnavailable, "mimo prevádzky", 1),
    ("403 with HTML", [reply(b"<h1>Forbidden</h1>", 403)], RegisterUnavailable, "firewall", 1),
    ("403 with JSON", [reply(b'{"chyba":"agent"}', 403)], RegisterUnavailable, r"refuses this machine \(403\).*agent.*firewall", 1),
    ("404 with HTML", [reply(b"<h1>HTTP Status 404</h1>", 404)], RegisterUnavailable, "page of HTML under status 404.*check the base URL", 1),
    ("300 without a place", [reply(b"", 300)], RegisterUnavailable, "expected status 200, got 300", 1),
    ("304", [reply(b"", 304)], RegisterUnavailable, "expected status 200, got 304", 1),
    ("400", [reply(b'{"chyba":"' + b"x" * 300, 400)], BadRequest, "chyba.*xxx…", 1),
    ("401", [reply(b"", 401)], BadRequest, "401", 1),
    ("405", [reply(b"", 405)], BadRequest, "405", 1),
    ("410", [reply(b"", 410)], BadRequest, "410", 1),
    ("404, empty, as JSON", [reply(b"", 404, Content_Type="application/json")], fk.errors.NotFound, "404", 1),
    ("501", [reply(b"", 501)], RegisterUnavailable, "501", 1),
    ("204", [reply(b"", 204)], RegisterUnavailable, "expected status 200, got 204", 1),
    ("redirect to another host", [reply(b"", 302, Location="http://192.0.2.1/x")], RegisterUnavailable, r"192\.0\.2\.1/x, which is not followed", 1),
    ("redirect to itself", [reply(b"", 301, Location="/api/uctovne-jednotky")], RegisterUnavailable, "not followed", 1),
    ("flag missing", [reply(b'{"id":[1]}')], ProtocolError, "existujeDalsieId", 1),
    ("16 kB that unpack to 16 MB", [reply(packed(b" " * 16_000_000), **GZIP)], ProtocolError, "8 MiB", 1),
    ("a body of 9 MB", [reply(b" " * 9_000_000)], ProtocolError, "8 MiB", 1),
    ("429 for ever", [reply(b"", 429)], RateLimited, "fewer requests", 5),
    ("429 for a day", [reply(b"", 429, Retry_After="86400")], RateLimited, "86400 seconds", 1),
    ("503 for a day", [reply(b"", 503, Retry_After="86400")], RateLimited, "86400 seconds", 1),
    ("429 for a day, a broken gzip", [reply(GOOD, 429, Retry_After="86400", **GZIP)], RateLimited, "86400", 1),
    ("429 for a day, an unknown packing", [reply(b"x", 429, Retry_After="86400", Content_Encoding="zstd")], RateLimited, "86400", 1),
    ("429 for a day, cut short", [reply(b"x", 429, 99, Retry_After="86400"), CLOSE], RateLimited, "86400", 1),
    ("404, empty, marked gzip", [reply(b"", 404, **GZIP)], fk.errors.NotFound, "404", 1),
    ("404, packed as br", [reply(b"x", 404, Content_Encoding="br")], fk.errors.NotFound, "404", 1),
    ("404, reset in mid-body", [reply(b"x", 404, 99), RESET], fk.errors.NotFound, "404", 1),
    ("403, packed as br", [reply(b"x", 403, Content_Encoding="br")], RegisterUnavailable, "firewall", 1),
    ("403, a broken gzip", [reply(packed(b"<p>No")[:15], 403, **GZIP)], RegisterUnavailable, "firewall", 1),
    ("403, packed and whole", [reply(packed(b"<p>No, you"), 403, **GZIP)], RegisterUnavailable, "“No, you”.*firewall", 1),
    ("403, chunks without the last", [b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nNo\r\n", CLOSE], RegisterUnavailable, "“No”.*firewall", 1),
    ("403, a body of 9 MB", [reply(b"x" * 9_000_000, 403)], RegisterUnavailable, "xxx….*firewall", 1),
    ("400, a broken gzip", [reply(GOOD, 400, **GZIP)], BadRequest, "400", 1),
    ("302, a broken gzip", [reply(GOOD, 302, Location="/x", **GZIP)], RegisterUnavailable, "not followed", 1),
    ("500 for ever, a broken gzip", [reply(GOOD, 500, **GZIP)], RegisterUnavailable, "answers 500", 5),
    ("500 for ever, a page of 9 MB", [reply(b" " * 20_000 + b"late" * 2_000_000, 500)], RegisterUnavailable, "answers 500; this", 5),
    ("HTML with words behind 20 kB", [reply(b"<p>" + b" " * 20_000 + b"late")], RegisterUnavailable, "under status 200; most likely", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "steps", "error", "words", "requests"), FATAL, ids=[c[0] for c in FATAL]
)
def test_lasting_faults_end_in_the_right_error(
    fake: FakeClock,
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
        pytest.raises(ProtocolError, match="8 MiB"),
    ):
        reg.units.ids()

    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("case", "steps"),
    [
        ("a body of 400 bytes every 0.1 s", [HEAD + b"Content-Length: 99999\r\n\r\n", Drip(b" " * 99_999, 400, 0.1)]),
        ("headers one byte a time", [Drip(HEAD * 9, 1, 0.05)]),
        ("silence after the request", [HANG]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_an_attempt_ends_at_its_deadline(matrix: Told, case: str, steps: list[Step]) -> None:
    """An attempt ends at its deadline, whatever the server likes to do."""
    with FaultServer(steps) as server, fk.Register(server.url, deadline=0.2, tries=1) as reg:
        begin = time.monotonic()
        with pytest.raises(TransportError, match="within the deadline"):
            reg.units.ids()
        took = time.monotonic() - begin

    matrix(case, "ends at its deadline of 0.2 s", f"ended after {took:.1f} s")
    assert 0.15 < took < SOON


def test_a_request_names_the_client_and_sends_no_cookie() -> None:
    """An honest name, gzip and nothing else; no cookie comes back."""
    with FaultServer([reply(GOOD, Set_Cookie="a=b")]) as server, fk.Register(server.url) as reg:
        reg.units.ids()
        reg.units.ids()

    for headers in server.headers:
        assert "User-Agent: finstat_kit/" in headers
        assert "Accept-Encoding: gzip\r\n" in headers
        assert "ookie" not in headers


def test_loopback_needs_no_proxy(monkeypatch: pytest.MonkeyPatch, fake: FakeClock) -> None:
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
