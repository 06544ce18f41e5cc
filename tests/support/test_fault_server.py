"""The fault server itself, seen by a plain socket: each fault is what its name says."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib

import pytest

from tests.support.faults import CLOSE, HANG, RESET, Drip, FaultServer, packed, reply

ASK = b"GET /api/kraje?x=1 HTTP/1.1\r\nHost: x\r\n\r\n"


def connected(server: FaultServer) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
    connection.settimeout(5)
    connection.sendall(ASK)
    return connection


def heard(connection: socket.socket) -> bytes:
    """Return all bytes up to the end of the connection."""
    data = b""
    with connection:
        while part := connection.recv(65_536):
            data += part
    return data


def test_bytes_are_sent_as_they_are() -> None:
    """A whole answer has the length it names; a lie about it is told as it is."""
    with FaultServer([reply(b"{}"), CLOSE], [reply(b"{}", 200, 99), CLOSE]) as server:
        whole, lied = heard(connected(server)), heard(connected(server))

    assert whole == b"HTTP/1.1 200 Whatever\r\nContent-Length: 2\r\n\r\n{}"
    assert lied == b"HTTP/1.1 200 Whatever\r\nContent-Length: 99\r\n\r\n{}"


def test_status_and_headers_are_sent_as_written() -> None:
    """Header names are written with underscores, garbage goes through unchanged."""
    garbage = b"HTTP/1.1 200 OK\r\n\0: \xff\r\n\r\n"
    with FaultServer([reply(b"", 429, Retry_After="7"), garbage, CLOSE]) as server:
        assert heard(connected(server)) == (
            b"HTTP/1.1 429 Whatever\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n" + garbage
        )


def test_close_ends_a_connection_in_order() -> None:
    """CLOSE ends a connection in order: the other side reads its end."""
    with FaultServer([CLOSE]) as server, connected(server) as connection:
        assert connection.recv(1) == b""


def test_reset_is_an_error_of_the_other_side() -> None:
    """RESET does not: the other side gets an error."""
    with FaultServer([RESET]) as server, connected(server) as connection:
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_bytes_before_a_reset_arrive() -> None:
    """What was said before a reset arrives, where it is read in time."""
    with FaultServer([b"half", Drip(b"x", 1, 0.2), RESET]) as server:
        with connected(server) as connection:
            assert connection.recv(4) == b"half"
            with pytest.raises(ConnectionResetError):
                heard(connection)


def test_hang_sends_nothing() -> None:
    """HANG says nothing, and neither ends until the server does."""
    with FaultServer([b"x", HANG]) as server, connected(server) as connection:
        assert connection.recv(1) == b"x"
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(1)

    assert not any(thread.is_alive() for thread in server._threads)


def test_drip_sends_a_few_bytes_at_a_time() -> None:
    """Bytes come a few at a time, with a wait between."""
    with FaultServer([Drip(b"abcdef", 2, 0.05), CLOSE]) as server:
        with connected(server) as connection:
            begin = time.monotonic()
            first = connection.recv(100)
            rest = heard(connection)

    assert first == b"ab"
    assert rest == b"cdef"
    assert time.monotonic() - begin >= 0.1


def test_gzip_tricks_are_what_they_claim() -> None:
    """Half a body cannot be unpacked, one without its trailer or of two members can."""
    body = packed(b"{}" * 99)

    assert gzip.decompress(body) == b"{}" * 99
    with pytest.raises((EOFError, zlib.error)):
        gzip.decompress(body[:9])
    unpacker = zlib.decompressobj(wbits=31)
    assert unpacker.decompress(body[:-8]) == b"{}" * 99
    assert not unpacker.eof
    unpacker = zlib.decompressobj(wbits=31)
    assert unpacker.decompress(body + packed(b"x")) == b"{}" * 99
    assert unpacker.unused_data


def test_the_last_list_answers_all_further_requests() -> None:
    """Requests are answered in the order of the script, over one connection too, and noted."""
    moments = iter(range(9))
    with FaultServer([reply(b"1")], [reply(b"2")], clock=lambda: float(next(moments))) as server:
        with connected(server) as connection:
            bodies = [connection.recv(99)[-1:]]
            for _ in range(2):
                connection.sendall(ASK)
                bodies.append(connection.recv(99)[-1:])

    assert bodies == [b"1", b"2", b"2"]
    assert server.asked == ["/api/kraje?x=1"] * 3
    assert server.times == [0, 1, 2]
    assert server.headers == ["Host: x\r\n\r\n"] * 3


def test_many_connections_are_served_at_a_time() -> None:
    """Each connection has a thread, and all are gone at the end."""
    before = set(threading.enumerate())
    with FaultServer([reply(b"x"), CLOSE]) as server:
        connections = [connected(server) for _ in range(20)]
        assert {heard(connection)[-1:] for connection in connections} == {b"x"}

    assert set(threading.enumerate()) <= before
