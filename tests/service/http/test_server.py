"""The served register and what else may arrive at its port: many requests at once, other hosts."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.service.http.server import served
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.registers import service
from tests.support.wire import raw

COUNT = (
    b"GET /api/zostavajuce-id/uctovne-jednotky?zmenene-od=2000-01-01 HTTP/1.1\r\nHost: localhost"
)
NEXT, LAST = COUNT + b"\r\n\r\n", COUNT + b"\r\nConnection: close\r\n\r\n"
POST = b"POST /api/kraje HTTP/1.1\r\nHost: localhost\r\n"
GOOD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with fk.sample(5).serve() as url:
        yield url


@pytest.fixture(scope="module")
def slow_url() -> Iterator[str]:
    """Give the URL of a register that takes its time."""
    answered = service(5)

    def slowly(*request: Any) -> Any:
        time.sleep(0.02)
        return answered(*request)

    with served(slowly, host="127.0.0.1", port=0) as url:
        yield url


def told(url: str, *parts: bytes) -> bytes:
    """Send requests while their answers are read; return all answers."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:

        def send() -> None:
            with contextlib.suppress(OSError):
                for part in parts:
                    connection.sendall(part)

        sender = threading.Thread(target=send)
        sender.start()
        answers = bytearray()
        try:
            while part := connection.recv(65_536):
                answers += part
        except ConnectionResetError:
            pass
        sender.join()
    return bytes(answers)


@pytest.mark.parametrize("number", [100, 700, 3_000, *slow(6_000)])
def test_requests_one_behind_the_other_are_all_answered(
    matrix: Told, url: str, number: int
) -> None:
    """However many whole requests arrive at once, each is answered, in order."""
    answers = told(url, NEXT * (number - 1) + LAST)

    size = len(NEXT) * number // 1024
    seen = f"{answers.count(GOOD)} answers"
    matrix(f"{number} requests in {size} KiB at once", f"{number} answers", seen)
    assert answers.count(GOOD) == answers.count(b'{"pocetZostavajucichId":5}') == number
    assert answers.count(b"HTTP/1.1") == number


@pytest.mark.parametrize("before", [0, 1, 900])
def test_the_limit_is_for_one_request(url: str, before: int) -> None:
    """A request that does not end is refused, whatever was answered before it."""
    endless = b"GET /api/kraje HTTP/1.1\r\n" + b"A: b\r\n" * 200_000

    answers = told(url, NEXT * before + endless)

    codes = re.findall(rb"HTTP/1.1 (\d+)", answers)
    assert codes == [b"200"] * before + [b"431"]


@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"GET /x?" + b"a" * 70_000, b"431"),
        (b"\x16\x03\x01 no HTTP\r\n\r\n", b"400"),
        (POST + b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000, b"431"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nno length\r\n", b"400"),
    ],
    ids=["long head", "no HTTP", "long body", "bad body"],
)
def test_a_refusal_is_the_last_word(slow_url: str, before: int, bad: bytes, code: bytes) -> None:
    """What was asked before is answered before, however long it takes; then nothing more is."""
    answers = told(slow_url, NEXT * before + bad)

    *first, last = re.findall(rb"HTTP/1.1 (\d+)", answers)
    assert first == [b"200"] * before
    # A request may be answered before the rest of its body comes.
    assert last == code or (len(bad) > 100_000 and last == b"405")


def test_a_body_whose_request_is_answered_is_no_second_request(url: str) -> None:
    """Grown too long after the answer, it ends the connection without another."""
    start = POST + b"Content-Length: 100000\r\n\r\n"
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(start)
        answer = connection.recv(65_536)
        with contextlib.suppress(OSError):
            connection.sendall(b"x" * 100_000)
        with contextlib.suppress(ConnectionResetError):
            answer += connection.recv(65_536)

    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"405"]


@pytest.mark.slow
def test_a_request_that_begins_behind_another_has_to_end_too() -> None:
    """Its time runs from its first byte, though that came together with a whole request."""
    with served(service(5), host="127.0.0.1", port=0, patience=0.3) as url:
        answers = told(url, NEXT + b"GET /api/kraje HTTP/1.1\r\nHost:")

    assert answers.count(GOOD) == answers.count(b"HTTP/1.1") == 1


@pytest.mark.slow
def test_a_flood_of_requests_does_not_pile_up(url: str) -> None:
    """Requests wait in the socket, not in memory, until those before them are answered."""
    tracemalloc.start()
    try:
        answers = told(url, *[NEXT * 1_000] * 9, NEXT * 999 + LAST)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert answers.count(GOOD) == 10_000
    assert peak - 2 * len(answers) < 10_000_000


# The header, whether it names this very machine.
HOSTS = [
    ("localhost", True), ("LOCALHOST", True), ("localhost.", True), ("LocalHost.:8000", True),
    ("LOCALHOST.:8000", True), ("localhost:", True), ("127.0.0.1:1", True), ("127.0.0.1.", True),
    ("[::1]", True), ("[::1]:8000", True), ("evil.example", False), ("localhost.evil.com", False),
    ("127.0.0.1.evil.com", False), ("evil.com.localhost", False), ("localhost..", False),
    (".localhost", False), ("localhost:80:80", False), ("localhost:x", False), ("", False),
    (".", False), (":8000", False), ("127.0.0.2", False), ("::1", False),
    ("localhost@evil.com", False), ("localhost:²", False),
]  # fmt: skip


@pytest.mark.parametrize(("host", "local"), HOSTS)
def test_hosts_are_compared_as_names(matrix: Told, url: str, host: str, local: bool) -> None:
    """Case and a dot at the end make no other host; a name that only begins so is another."""
    sent = f"GET /api/kraje HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"

    status, _, _ = raw(url, sent.encode())

    matrix(f"Host: {host}", 200 if local else 421, status)
    assert status == (200 if local else 421)


@pytest.mark.slow
def test_the_host_that_is_served_is_known_in_any_case() -> None:
    """The address given to `serve` is one of its names."""
    with fk.sample(1).serve(host="LocalHost") as url, fk.Register(url) as reg:
        assert reg.units.count() == 1
