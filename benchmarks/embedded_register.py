"""What the embedded register takes for a page of 10,000 out of 1,000,000 units."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import numpy as np
from serving import Served, served
from timing import Figure, side_by_side

import finstat_kit as fk
from finstat_kit.service.state.store import day_of

_UNITS = 1_000_000
_TARGET = "/api/uctovne-jednotky?max-zaznamov=10000&zmenene-od="
_SUBJECT = "embedded register"


def figures(quick: bool) -> Iterator[Figure]:
    """Measure the service in process, and served to a client that does next to nothing."""
    sample = fk.sample(_UNITS)
    days, counts = np.unique(sample._store.units.changed, return_counts=True)
    # The latest days on which anything changed: the fewest matches, the longest way to them.
    last = day_of(int(days[-1])).isoformat()
    thin = day_of(int(days[::-1][np.searchsorted(np.cumsum(counts[::-1]), 9_000)])).isoformat()
    dates = {"unfiltered": "2000-01-01", "selective": last, "thin": thin}
    path, _, query = _TARGET.partition("?")
    works = {name: partial(sample._answer, "GET", path, query + d) for name, d in dates.items()}
    times = side_by_side(100 if quick else 500, **works)
    for name, what, goal in (
        ("unfiltered", "page of 10,000, nothing filtered", 100.0),
        ("selective", "page since the last day of change", 300.0),
        ("thin", "page since a day that 9,000 in 1,000,000 match", None),
    ):
        yield Figure(_SUBJECT, what, times[name] * 1e6, goal, least=False, unit=" µs")
    with served(_UNITS) as server:
        rate = _pages_a_second(server, 1_000 if quick else 5_000)
    yield Figure(_SUBJECT, "served pages of 10,000 a second of its CPU", rate, 5_000.0, unit="/s")


def _pages_a_second(server: Served, pages: int) -> float:
    address = urlsplit(server.url)
    request = f"GET {_TARGET}2000-01-01 HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(100):
            _ask(connection, request)
        before = server.cpu()
        for _ in range(pages):
            _ask(connection, request)
        return pages / (server.cpu() - before)


def _ask(connection: socket.socket, request: bytes) -> None:
    connection.sendall(request)
    reply = bytearray(connection.recv(1 << 20))
    while (start := reply.find(b"\r\n\r\n") + 4) < 4:
        reply += connection.recv(1 << 20)
    length = int(bytes(reply[:start]).lower().partition(b"content-length: ")[2].split(b"\r", 1)[0])
    while len(reply) < start + length:
        reply += connection.recv(1 << 20)
