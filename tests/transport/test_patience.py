"""How long the client waits, for whom, and what it counts as a failure."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

import finstat_kit as fk
from finstat_kit.errors import BadRequest, RegisterUnavailable, TransportError
from finstat_kit.transport import http
from finstat_kit.transport.http import Sockets
from tests.conftest import Told
from tests.support.clock import FakeClock
from tests.support.faults import GOOD, HANG, Drip, FaultServer, Step, reply
from tests.support.registers import timed

COUNT = reply(b'{"pocetZostavajucichId":7}')


class Slow(FaultServer):
    """Moves a clock by the *seconds* of each request, the last for all further ones."""

    def __init__(self, fake: FakeClock, seconds: Sequence[float], *script: Sequence[Step]) -> None:
        super().__init__(*script)
        self._fake, self._seconds = fake, seconds

    def _next(self, request: str) -> Sequence[Step]:
        steps = super()._next(request)
        self._fake.now += self._seconds[min(len(self.asked), len(self._seconds)) - 1]
        return steps


def test_all_attempts_together_end_after_two_minutes(fake: FakeClock) -> None:
    """The last one has no longer than what is left of them, whatever the deadline of an attempt."""
    late: list[Step] = [Drip(b"HTTP/1.1 200 OK\r\n", 99, 2), reply(GOOD)[18:]]
    with Slow(fake, [61], [reply(b"", 500)], late) as server:
        with timed(server.url, fake, deadline=90, tries=2) as reg:
            with pytest.raises(TransportError, match="within the deadline"):
                reg.units.ids()

    assert fake.now == 123  # 61 s, a pause of 1 s, 61 s


def test_what_the_register_does_not_have_is_no_failure(fake: FakeClock, matrix: Told) -> None:
    """After 21 unknown ids and 21 refusals a request that fails in passing is tried again."""
    script = [[reply(b"", 404)]] * 21 + [[reply(b"", 400)]] * 21 + [[reply(b"", 500)], [COUNT]]
    with FaultServer(*script) as server, timed(server.url, fake) as reg:
        for id_ in range(1, 22):
            with pytest.raises(fk.errors.NotFound):
                reg.units.get(id_)
        for _ in range(21):
            with pytest.raises(BadRequest):
                reg.reports.count()
        count = reg.units.count()

    matrix(
        "21 times 404, 21 times 400, 500 once",
        "7, retries 1",
        f"{count}, retries {reg.stats.retries}",
    )
    assert (count, reg.stats.retries) == (7, 1)


@pytest.mark.parametrize(
    ("case", "seconds", "first", "pause"),
    [
        ("a passed deadline", 31.0, [HANG], 1.0),
        ("429", 0.0, [reply(b"", 429)], 1.0),
        ("503 with a Retry-After of 7", 0.0, [reply(b"", 503, Retry_After="7")], 7.0),
        ("500", 0.0, [reply(b"", 500)], 0.0),
    ],
)  # fmt: skip
def test_threads_wait_for_a_register_that_is_too_slow(
    fake: FakeClock, matrix: Told, case: str, seconds: float, first: list[Step], pause: float
) -> None:
    """A register that is too slow, or asks for less, is left alone by all threads."""
    others: list[float] = []

    def sleep(pause: float) -> None:
        if not others:
            others.append(0.0)
            began = fake.now
            reg.reports.count()
            others[0] = fake.now - began
        fake.sleep(pause)

    with Slow(fake, [seconds, 0], first, [COUNT]) as server:
        carrier = Sockets(server.url, replace(fake.timing(), sleep=sleep))
        with fk.Register(server.url, transport=carrier) as reg:
            assert reg.units.count() == 7

    matrix(case, f"another thread waits {pause:g} s", f"another thread waits {others[0]:g} s")
    assert others == [pytest.approx(pause)]


def test_a_passed_deadline_does_not_hide_a_status() -> None:
    """Whose refusal has arrived is not asked again, though the rest of its body has not."""
    head = b"HTTP/1.1 403 No\r\nContent-Length: 99\r\n\r\nNo"
    with FaultServer([head, HANG]) as server, fk.Register(server.url, deadline=0.3) as reg:
        with pytest.raises(RegisterUnavailable, match="“No”") as caught:
            reg.units.ids()

    assert caught.value.blocked
    assert len(server.asked) == 1


def test_an_endless_refusal_is_not_read_to_its_end() -> None:
    """A few words of it are all that is needed."""
    head = b"HTTP/1.1 403 No\r\n\r\n"
    with FaultServer([head, b"No " * 40_000, HANG]) as server:
        with fk.Register(server.url, deadline=5) as reg:
            began = time.monotonic()
            with pytest.raises(RegisterUnavailable, match="“No No"):
                reg.units.ids()

    assert time.monotonic() - began < 4
    assert len(server.asked) == 1


def test_the_first_reply_stays_the_first(fake: FakeClock) -> None:
    """The time of the first good reply is kept, that of the last one moves on."""
    with Slow(fake, [10], [COUNT]) as server, timed(server.url, fake) as reg:
        for _ in range(3):
            reg.units.count()

    assert reg.stats.first_reply == 1_800_000_010
    assert reg.stats.last_reply == 1_800_000_030


@pytest.mark.parametrize("end", [ssl.SSLEOFError, ssl.SSLZeroReturnError])
def test_an_end_of_a_handshake_is_no_failure_of_tls(end: type[ssl.SSLError]) -> None:
    """OpenSSL has two words for it."""
    assert http.tls_failure(end(8, "the end")) is None


def test_a_secure_connection_that_is_dropped_is_tried_again(fake: FakeClock, matrix: Told) -> None:
    """An end during the handshake is a network's fault, not a certificate's: it is tried again."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            for _ in range(3):
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(65_536)

        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=hang_up)
        thread.start()
        with timed(url, fake, tries=3) as reg:
            with pytest.raises(TransportError, match="can be reached") as caught:
                reg.units.ids()
        thread.join()

    matrix("TLS, ended in the handshake", "requests 3", f"requests {reg.stats.requests}")
    assert caught.value.attempts == 3
