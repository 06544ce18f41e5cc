"""The served register and what else may arrive at its port: many requests at once, other hosts."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

import finstat_kit as fk
from tests.conftest import Told
from tests.support.examples import slow
from tests.support.wire import raw

COUNT = (
    b"GET /api/zostavajuce-id/uctovne-jednotky?zmenene-od=2000-01-01 HTTP/1.1\r\nHost: localhost"
)
NEXT, LAST = COUNT + b"\r\n\r\n", COUNT + b"\r\nConnection: close\r\n\r\n"
GOOD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with fk.sample(5).serve() as url:
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


@pytest.mark.parametrize("number", [100, *slow(700, 3_000)])
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
