"""Files of a web server: no limit of the whole, redirects to https, errors of the exchange."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from finstat_kit.errors import NotFound, RateLimited, RegisterUnavailable, TransportError
from finstat_kit.mirror.published.place import OnTheWeb
from finstat_kit.transport.base import Limits
from tests.support.clock import FakeClock
from tests.support.faults import CLOSE, HANG, PAGE, Drip, FaultServer, Step, reply
from tests.support.tls import certificate, server_side

BODY = b"x" * 1_000


class SecureServer(FaultServer):
    """A server that speaks TLS from the first byte."""

    def __init__(self, path: Path, *script: list[Step]) -> None:
        super().__init__(*script)
        self._context = server_side(path)

    def _converse(self, connection: socket.socket) -> None:
        super()._converse(self._secured(connection, self._context))


def read(url: str, fake: FakeClock, cap: int = 2_000) -> bytes:
    return OnTheWeb(url, fake.timing()).read("data/x.parquet", cap, lambda body: body)


def test_a_file_is_requested_unpacked(fake: FakeClock) -> None:
    """Below the address that was given, whatever stands behind it."""
    with FaultServer([reply(BODY)]) as server:
        assert read(f"{server.url}/ruz/", fake) == BODY

    assert server.asked == ["/ruz/data/x.parquet"]
    assert "Accept-Encoding: identity" in server.headers[0]
    assert "Accept: */*" in server.headers[0]


@pytest.mark.parametrize("bad", [[reply(BODY[:-1], 200, 1_000), CLOSE], [reply(b"", 503)], [CLOSE]])
def test_what_may_pass_is_tried_again(fake: FakeClock, bad: list[Step]) -> None:
    """A short body, 503, an end without an answer: as of any request."""
    with FaultServer(bad, bad, [reply(BODY)]) as server:
        assert read(server.url, fake) == BODY
    assert len(server.asked) == 3
    with FaultServer(bad) as server, pytest.raises((TransportError, RegisterUnavailable)):
        read(server.url, fake)
    assert len(server.asked) == 5


def test_a_pause_that_the_server_asks_for_is_kept(fake: FakeClock) -> None:
    """One that is longer than a request may wait is an error at once, however long a file took."""
    with FaultServer([reply(b"", 429, Retry_After="7")], [reply(BODY)]) as server:
        assert read(server.url, fake) == BODY
    assert sum(fake.slept) == pytest.approx(7)
    with (
        FaultServer([reply(b"", 429, Retry_After="500")]) as server,
        pytest.raises(RateLimited, match="the server asked for a pause of 500 seconds"),
    ):
        read(server.url, fake)


def test_each_byte_that_comes_moves_the_deadline_on() -> None:
    """Not so where the deadline is that of a whole reply."""
    now = [100.0]
    for idle, left in ((30.0, 30.0), (None, 5.0)):
        limits = Limits(130.0, lambda: now[0], 1_000, None, idle)
        now[0] = 125.0
        limits.came()
        assert limits.left() == left


@pytest.mark.slow
def test_a_slow_file_ends_whole_and_a_silent_one_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Real time: five parts, each before the deadline, take longer than it in all."""
    monkeypatch.setattr("finstat_kit.mirror.published.place._IDLE", 0.5)
    monkeypatch.setattr("finstat_kit.mirror.published.place._TRIES", 1)
    with FaultServer([Drip(reply(BODY), 220, 0.2)]) as server:
        assert OnTheWeb(server.url).read("x", 2_000, lambda body: body) == BODY
    with (
        FaultServer([reply(BODY[:500], 200, 1_000), HANG]) as server,
        pytest.raises(TransportError, match="no complete reply within the deadline"),
    ):
        OnTheWeb(server.url).read("x", 2_000, lambda body: body)


def test_a_redirect_to_https_is_followed(
    fake: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To another host, as buckets do it."""
    path = certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with SecureServer(path, [reply(BODY)]) as secure:
        place = secure.url.replace("http://127.0.0.1", "https://localhost") + "/y?sign=a%20b"
        with FaultServer([reply(b"", 302, Location=place)]) as server:
            assert read(server.url, fake) == BODY
    assert secure.asked == ["/y?sign=a%20b"]


@pytest.mark.parametrize("place", ["http://127.0.0.1:1/x", "/there", "https://[x", "ftp://host/x"])
def test_any_other_redirect_is_refused(fake: FakeClock, place: str) -> None:
    """Also to a place on the same server, where that is not https."""
    with (
        FaultServer([reply(b"", 301, Location=place)]) as server,
        pytest.raises(RegisterUnavailable, match=r"the server redirects to .*, which is not"),
    ):
        read(server.url, fake)
    assert len(server.asked) == 1


def test_pages_and_absent_files_have_the_errors_of_the_exchange(fake: FakeClock) -> None:
    """With the words of the page; the server is named, not the register."""

    def refuse(body: bytes) -> bytes:
        raise NotFound("never called for a page of 404")

    with FaultServer([reply(b"", 404)]) as server, pytest.raises(NotFound, match="the server has"):
        OnTheWeb(server.url, fake.timing()).read("x", 10, refuse)
    with (
        FaultServer([reply(PAGE, 404)]) as server,
        pytest.raises(RegisterUnavailable, match="the server sent a page of HTML"),
    ):
        read(server.url, fake)
