"""Our connections as the transport of any ``httpx.Client``, and how long they stay open."""

from __future__ import annotations

import contextlib
import gc
import gzip
import socket
import threading
import time
import warnings
from collections.abc import Callable, Sequence

import httpx
import pytest

import finstat_kit as fk
from finstat_kit.transport.http import Sockets
from tests.support.clock import FakeClock
from tests.support.faults import (
    CLOSE,
    HANG,
    RESET,
    SOON,
    Drip,
    FaultServer,
    Step,
    packed,
    reply,
)
from tests.support.memory import new_garbage_only

COUNT = b'{"pocetZostavajucichId":7}'
OTHER = b'{"pocetZostavajucichId":9}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def client(url: str, timeout: float | None = 5.0) -> httpx.Client:
    return httpx.Client(transport=Sockets(url), timeout=timeout, base_url=url)


def test_a_client_of_httpx_reads_a_count() -> None:
    """A client of httpx reads what the register answers, and its own transport's details."""
    sample = fk.sample(300)
    target = "/api/zostavajuce-id/uctovne-jednotky?zmenene-od=2000-01-01"
    with sample.serve() as url, client(url) as http:
        response = http.get(target)

    assert response.json() == {"pocetZostavajucichId": sample.units.count()}
    assert (response.http_version, response.reason_phrase) == ("HTTP/1.1", "OK")


def test_a_packed_body_is_left_to_the_client() -> None:
    """It is unpacked once, where it is read, and can be had as it came."""
    answer = reply(packed(COUNT), Content_Encoding="gzip")
    with FaultServer([answer]) as server, client(server.url) as http:
        assert http.get("/").content == COUNT
        with http.stream("GET", "/") as response:
            assert gzip.decompress(b"".join(response.iter_raw())) == COUNT


def test_the_headers_are_the_clients() -> None:
    """Headers are the client's own."""
    with FaultServer([reply(COUNT)]) as server, client(server.url) as http:
        http.get("/a?b=%C5%BE", headers={"X-Y": "z"})

    assert server.asked == ["/a?b=%C5%BE"]
    assert "x-y: z" in server.headers[0].lower()
    assert "user-agent: python-httpx/" in server.headers[0].lower()


@pytest.mark.parametrize(
    ("case", "steps"),
    [
        ("headers one byte a time", [Drip(HEAD * 9, 1, 0.05)]),
        ("a body of 400 bytes every 0.1 s", [reply(b"", 200, 9_999), Drip(bytes(9_999), 400, 0.1)]),
        ("an error's body that does not end", [reply(b"No", 404, 9), HANG]),
        ("silence after the request", [HANG]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_read_timeout_is_the_deadline_of_all(case: str, steps: list[Step]) -> None:
    """Where httpx's own transport begins to wait anew with each byte."""
    with FaultServer(steps) as server, client(server.url, 0.25) as http:
        begin = time.monotonic()
        with pytest.raises(httpx.TimeoutException):
            http.get("/")

    assert 0.2 < time.monotonic() - begin < SOON


@pytest.mark.parametrize(("timeout", "status"), [(None, 200), (90.0, None), (110.0, 200)])
def test_there_is_no_deadline_unless_one_is_given(
    timeout: float | None, status: int | None
) -> None:
    """An answer of 100 seconds arrives without a deadline, or within one."""
    fake, came = FakeClock(), None

    class Slow(FaultServer):
        def _next(self, request: str) -> Sequence[Step]:
            fake.now += 100
            return super()._next(request)

    with Slow([Drip(reply(COUNT), 10, 0.01)]) as server:
        transport = Sockets(server.url, fake.timing())
        with httpx.Client(transport=transport, timeout=timeout) as http:
            with contextlib.suppress(httpx.ReadTimeout):
                came = http.get(server.url).status_code

    assert came == status


@pytest.mark.slow
def test_a_request_that_is_read_slowly_ends_at_the_deadline() -> None:
    """The deadline holds while a body is sent too."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def sip() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                while connection.recv(2**20) and not over.wait(0.05):
                    pass

        thread = threading.Thread(target=sip)
        thread.start()
        with client(f"http://127.0.0.1:{listening.getsockname()[1]}", 0.5) as http:
            begin = time.monotonic()
            with pytest.raises(httpx.WriteTimeout):
                http.post("/", content=bytes(50_000_000))
            took = time.monotonic() - begin
        over.set()
        thread.join()

    assert took < SOON


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([RESET], httpx.ReadError),
        ([CLOSE], httpx.RemoteProtocolError),
        ([reply(COUNT, 200, 99), CLOSE], httpx.RemoteProtocolError),
        ([reply(COUNT, 404, 99), CLOSE], httpx.RemoteProtocolError),
        ([b"SSH-2.0-OpenSSH_9.2\r\n", CLOSE], httpx.RemoteProtocolError),
        ([reply(packed(COUNT)[:-9] + bytes(9), Content_Encoding="gzip")], httpx.DecodingError),
    ],
    ids=["reset", "no answer", "half a body", "half an error", "no HTTP", "no gzip"],
)
def test_failures_are_errors_of_httpx(steps: list[Step], error: type[Exception]) -> None:
    """A client of httpx has none of ours to know."""
    with FaultServer(steps) as server, client(server.url) as http:
        with pytest.raises(httpx.RequestError) as caught:
            http.get("/")

    assert type(caught.value) is error
    assert len(server.asked) == 1


def test_a_closed_port_is_an_error_of_httpx() -> None:
    """An error of httpx here too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

    with client(url) as http, pytest.raises(httpx.ConnectError, match="refused"):
        http.get("/")


def test_a_body_without_end_is_stopped() -> None:
    """At 64 MiB, the most that the register can mean."""
    with (
        FaultServer([HEAD + b"\r\n", *[b" " * 2**20] * 80, HANG]) as server,
        client(server.url) as http,
    ):
        with pytest.raises(httpx.RemoteProtocolError, match="larger than 64 MiB"):
            http.get("/")


def test_an_error_is_read_to_its_end() -> None:
    """A client of httpx has the whole page, not a few words of it."""
    page = b"No " * 100_000
    with FaultServer([reply(page, 404)]) as server, client(server.url) as http:
        response = http.get("/")

    assert (response.status_code, response.content) == (404, page)


def test_an_answer_that_comes_again_is_not_taken_for_the_next() -> None:
    """It is requested again, on a connection where nothing is left over."""
    first, second = reply(COUNT), reply(OTHER)
    with FaultServer([first], [first + second], [second]) as server, client(server.url) as http:
        assert http.get("/a").content == COUNT
        assert http.get("/b").content == OTHER

    assert server.asked == ["/a", "/b", "/b"]
    assert server.connections == 2


def test_a_packed_answer_that_comes_again_is_not_taken_for_the_next() -> None:
    """Packed or not, an answer of the register is known by its first sign."""
    first, second = (
        reply(packed(body), Content_Encoding="gzip") for body in (COUNT, OTHER)
    )  # fmt: skip
    with FaultServer([first], [first + second], [second]) as server, client(server.url) as http:
        assert http.get("/a").content == COUNT
        assert http.get("/b").content == OTHER


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_with_an_effect_is_sent_once(stream: bool) -> None:
    """Method and body pass through, over a connection of its own; nothing is sent again."""
    arrived: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    data = part = connection.recv(65_536)
                    while part and not data.endswith((b"ab", b"0\r\n\r\n")):
                        data += (part := connection.recv(65_536))
                    arrived.append(data)
                    connection.sendall(reply(COUNT))
                    connection.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with client(f"http://127.0.0.1:{listening.getsockname()[1]}") as http:
            for target in ("/a", "/b"):
                content = iter([b"a", b"b"]) if stream else b"ab"
                assert http.put(target, content=content).content == COUNT
        thread.join()

    body = b"\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n" if stream else b"\r\n\r\nab"
    assert [data.startswith(b"PUT /") and data.endswith(body) for data in arrived] == [True, True]


def test_a_redirect_to_another_host_may_be_followed() -> None:
    """The client may follow it: a connection goes wherever its next request does."""
    with FaultServer([reply(COUNT)]) as other:
        moved = reply(b"", 302, Location=f"{other.url}/x")
        with FaultServer([moved]) as server, client(server.url) as http:
            assert http.get("/", follow_redirects=True).content == COUNT

    assert other.asked == ["/x"]


def test_a_register_has_its_own_transport_and_no_other() -> None:
    """Its requests would go elsewhere with the headers and the proxy of another host."""
    with FaultServer([reply(COUNT)]) as server:
        with fk.Register(f"{server.url}/", transport=Sockets(f"{server.url}/")) as reg:
            assert reg.units.count() == 7
        for base_url in (f"{server.url}/xy", "http://register.example/x"):
            with fk.Register(base_url, transport=Sockets(f"{server.url}/x")) as reg:
                with pytest.raises(fk.UsageError, match=f"is for {server.url}/x, not for"):
                    reg.units.count()

    assert len(server.asked) == 1


USED: dict[str, Callable[[str], object]] = {
    "a register": lambda url: fk.Register(url).units.count(),
    "a register with a transport": lambda url: fk.Register(
        url, transport=Sockets(url)
    ).units.count(),
    "a client of httpx": lambda url: httpx.Client(transport=Sockets(url)).get(url),
}


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_connections_end_with_the_transport(use: Callable[[str], object]) -> None:
    """Also where it was never closed."""
    with new_garbage_only(), FaultServer([reply(COUNT)]) as server:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            use(server.url)
            gc.collect()

    assert server.connections == 1
    assert [str(warning.message) for warning in seen] == []


def test_a_transport_that_is_held_keeps_its_connections() -> None:
    """Registers may share it one after the other."""
    with FaultServer([reply(COUNT)], [reply(OTHER)]) as server, Sockets(server.url) as transport:
        with new_garbage_only():
            assert fk.Register(server.url, transport=transport).units.count() == 7
            gc.collect()
        assert fk.Register(server.url, transport=transport).reports.count() == 9

        assert server.connections == 1
