"""A transport of one's own, as users of httpx have them, in the place of our connections."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

import finstat_kit as fk
from finstat_kit.errors import ProtocolError, RegisterUnavailable, TransportError
from finstat_kit.transport.http import Adapted
from tests.support.clock import FakeClock
from tests.support.faults import FaultServer, reply

URL = "https://register.example/cruz-public"
PAGE = b'{"id":[3,5],"existujeDalsieId":false}'


def reg(answer: httpx.Response | Exception, **options: object) -> fk.Register:
    """Return a register whose every request has the same answer."""

    def handle(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    settings = {"rate": None, "tries": 1, "connections": 1} | options
    return fk.Register(URL, transport=httpx.MockTransport(handle), **settings)  # type: ignore[arg-type]


class Parts(httpx.SyncByteStream):
    """A body in parts, between which something happens."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[bytes]:
        return self.parts


def test_a_mock_transport_is_sent_what_connections_send() -> None:
    """It is sent what our own connections send; the settings are those of the URL."""
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, content=PAGE)

    register = fk.Register(URL, transport=httpx.MockTransport(handle))

    assert register.units.ids(limit=2)["id"].to_list() == [3, 5]
    (request,) = asked
    assert str(request.url) == (f"{URL}/api/uctovne-jednotky?zmenene-od=2000-01-01&max-zaznamov=2")
    assert request.headers["User-Agent"].startswith("finstat_kit/")
    assert request.headers["Accept-Encoding"] == "gzip"
    assert 0 < request.extensions["timeout"]["read"] <= 30
    assert (register.rate, register.connections) == (5.0, 4)
    assert register.stats.bytes == len(PAGE)


def test_a_packed_body_is_unpacked_once() -> None:
    """It is unpacked once, and only a whole one."""
    packed = gzip.compress(PAGE)
    headers = {"Content-Encoding": "gzip"}

    whole = reg(httpx.Response(200, headers=headers, stream=Parts(iter([packed]))))
    assert whole.units.ids()["id"].to_list() == [3, 5]
    half = reg(httpx.Response(200, headers=headers, stream=Parts(iter([packed[:-9]]))))
    with pytest.raises(TransportError, match="truncated"):
        half.units.ids()


def test_a_body_without_end_is_stopped() -> None:
    """At the most that is read of a page."""
    endless = Parts(iter(lambda: b" " * 2**20, None))

    with pytest.raises(ProtocolError, match="larger than 8 MiB"):
        reg(httpx.Response(200, stream=endless)).units.ids()


def test_the_deadline_holds_between_the_parts_of_a_body() -> None:
    """A transport that takes its time is not waited for longer than that."""
    fake = FakeClock()

    def slow() -> Iterator[bytes]:
        while True:
            fake.sleep(4)
            yield b" "

    answer = httpx.Response(200, stream=Parts(slow()))
    transport = Adapted(httpx.MockTransport(lambda request: answer), fake.timing())
    register = fk.Register(URL, transport=transport, connections=1, tries=1, deadline=10)
    with pytest.raises(TransportError, match="within the deadline"):
        register.units.ids()
    assert fake.now == 12


def test_an_attempt_whose_time_passed_in_a_pause_is_not_sent() -> None:
    """The pauses before it may outlast the request, as on a machine that was asleep meanwhile."""
    fake = FakeClock()

    def oversleep(seconds: float) -> None:
        fake.sleep(seconds + 130)

    busy = reply(b"", 503, Retry_After="3")
    with FaultServer([busy], [reply(PAGE)]) as server:
        transport = Adapted(httpx.HTTPTransport(), replace(fake.timing(), sleep=oversleep))
        with fk.Register(server.url, transport=transport, connections=1) as register:
            with pytest.raises(TransportError, match="within the deadline"):
                register.units.ids()

    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.ConnectError("refused"), TransportError),
        (httpx.ReadTimeout("late"), TransportError),
        (httpx.RemoteProtocolError("broken"), TransportError),
        (httpx.Response(404), fk.errors.NotFound),
        (httpx.Response(403, content=b"<p>Forbidden"), RegisterUnavailable),
        (httpx.Response(200, content=b"<p>Out of order"), RegisterUnavailable),
        (httpx.Response(302, headers={"Location": "http://x"}), RegisterUnavailable),
        (httpx.Response(200, content=b'{"id":[]}'), ProtocolError),
    ],
)
def test_errors_of_a_transport_are_ours(
    answer: httpx.Response | Exception, error: type[Exception]
) -> None:
    """What the transport raises or brings comes out as an error of this package."""
    with pytest.raises(error):
        reg(answer).units.ids()


def test_a_wsgi_application_is_a_register() -> None:
    """As httpx's own transport has it."""

    def application(environ: dict[str, object], start: Any) -> list[bytes]:
        start("200 OK", [("Content-Type", "application/json")])
        return [PAGE]

    transport = httpx.WSGITransport(app=application)
    with fk.Register(URL, transport=transport, rate=None) as register:
        assert register.units.ids()["id"].to_list() == [3, 5]


class Closed(httpx.BaseTransport):
    """A transport that counts how often it is closed."""

    closed = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=PAGE)

    def close(self) -> None:
        self.closed += 1


def test_it_is_closed_with_the_register() -> None:
    """As httpx's own client does."""
    transport = Closed()
    with fk.Register(URL, transport=transport, rate=None) as register:
        register.units.ids()

    assert transport.closed == 1


@pytest.mark.parametrize("wrong", [5, httpx.Client, httpx.AsyncHTTPTransport()])
def test_what_is_no_transport_is_refused(wrong: object) -> None:
    """The error says what to give."""
    with pytest.raises(fk.UsageError, match=r"transport is a .*give an httpx.BaseTransport"):
        fk.Register(URL, transport=wrong)  # type: ignore[arg-type]
