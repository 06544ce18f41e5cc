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
