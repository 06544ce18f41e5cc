"""When the client tries again, and how long it waits for that."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.errors import RateLimited, RegisterUnavailable, TransportError
from finstat_kit.transport.http import Sockets
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.faults import (
    OK,
    PAGE,
    FaultServer,
    Step,
    record,
    reply,
)
from tests.support.registers import timed


def date_in(seconds: float) -> str:
    return formatdate(1_800_000_000 + seconds, usegmt=True)


def test_blocked_is_told_from_an_outage() -> None:
    """A firewall's page is marked, an outage is not: asking again makes a ban longer."""

    def blocked(page: bytes, status: int = 200) -> bool:
        with FaultServer([reply(page, status)]) as server, fk.Register(server.url) as reg:
            with pytest.raises(RegisterUnavailable) as caught:
                reg.units.count()
        return caught.value.blocked

    assert blocked(b"", 403)
    assert blocked(b"<html>Request Rejected. Your support ID is 7</html>")
    assert not blocked(PAGE)


def test_a_register_that_is_starting_is_waited_for(fake: FakeClock) -> None:
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


def test_a_register_that_never_answers_is_named_with_the_cure(fake: FakeClock) -> None:
    """After five attempts the error names the host and the cure."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

    with timed(url, fake) as reg, pytest.raises(TransportError, match=url) as caught:
        reg.units.ids()

    assert caught.value.attempts == 5
    assert "tried 5 times" in str(caught.value)


LOOK_UP = socket.getaddrinfo


def looked_up(host: str | bytes | None, *more: Any, **options: Any) -> Any:
    """Know this machine alone, at once: a real look-up takes as long as the network likes."""
    if host not in ("127.0.0.1", b"127.0.0.1"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return LOOK_UP(host, *more, **options)


@pytest.mark.parametrize("tries", [2, 5, 20])
def test_what_cannot_be_reached_is_told_within_two_seconds(
    fake: FakeClock, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    """Where no connection was ever made; one that was is waited for as long as ever."""
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    started = fake.clock()

    for host in (url, "http://no-such-host.invalid"):
        with (
            timed(host, fake, tries=tries, rate=None) as reg,
            pytest.raises(TransportError) as caught,
        ):
            reg.units.count()
        assert caught.value.attempts == tries
    assert fake.clock() - started < 4


def test_a_register_that_restarts_is_waited_for(fake: FakeClock) -> None:
    """Refused after it has answered once: the pauses double as for any other fault."""
    with FaultServer(OK) as server:
        reg = timed(server.url, fake)
        reg.units.ids()
    started = fake.clock()

    with reg, pytest.raises(TransportError):
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
            with pytest.raises(TransportError, match=r"no secure connection.*check") as caught:
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
def test_retry_after_is_obeyed(
    fake: FakeClock, matrix: Told, status: int, value: str | None, waited: float
) -> None:
    """Seconds and dates are obeyed; what makes no sense is as if it were not there."""
    headers = {} if value is None else {"Retry_After": value}
    with FaultServer([reply(b"", status, **headers)], OK) as server:
        with timed(server.url, fake) as reg:
            reg.units.ids()

    matrix(f"{status}, Retry-After {value}", f"{waited} s", f"{round(fake.now, 6)} s")
    assert fake.now == pytest.approx(waited)


def test_a_pause_longer_than_a_request_may_wait_is_an_error_at_once(fake: FakeClock) -> None:
    """What is longer than a request may wait is an error at once, with the seconds."""
    with (
        FaultServer([reply(b"", 429, Retry_After="121")]) as server,
        timed(server.url, fake) as reg,
        pytest.raises(RateLimited) as caught,
    ):
        reg.units.ids()

    assert caught.value.retry_after == 121
    assert fake.now == 0


def test_pauses_are_drawn_and_end_with_the_patience(fake: FakeClock) -> None:
    """Pauses double from a second, all of them together stay under two minutes."""
    with FaultServer([reply(b"", 500)]) as server, timed(server.url, fake, tries=20) as reg:
        with pytest.raises(RegisterUnavailable):
            reg.units.ids()

    assert fake.now < 120
    assert len(server.asked) == 8  # 1 + 2 + 4 + 8 + 16 + 30 + 30 seconds, and no 30 more


def test_one_429_makes_every_connection_wait(fake: FakeClock) -> None:
    """What one thread is told holds for all threads of the client."""
    reg: fk.Register

    class Records(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            super()._next(request)
            if self.asked[0] == request.split(" ")[1] and reg._session.exchange._pause_until < 0:
                return [reply(b"", 429, Retry_After="7")]
            # A connection that is answered before the 429 is read may rightly send one more.
            end = time.monotonic() + 10
            while reg._session.exchange._pause_until < 0 and time.monotonic() < end:
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


def test_twenty_failures_in_a_row_stop_all_retries(fake: FakeClock) -> None:
    """A register that is down is not hammered by every record in turn."""
    with FaultServer([reply(b"", 500)], clock=fake.clock) as server, timed(server.url, fake) as reg:
        for _ in range(6):
            with pytest.raises(RegisterUnavailable):
                reg.units.count()

    assert len(server.asked) == 4 * 5 + 2


def test_the_rate_holds_over_all_threads(fake: FakeClock) -> None:
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
