"""The transports: over the network, and any synchronous one of httpx.

Only this module and `connection` know httpx and httpcore. Deadline and size limit hold for any
``httpx.Client(transport=Sockets(url))``. httpx accepts a truncated gzip body; `Sockets.send` does
not.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import Any

import httpcore
import httpx

from finstat_kit.errors import ProtocolError, TransportError, UsageError
from finstat_kit.protocol.wire import CODELIST_CAP, Reply
from finstat_kit.transport import bodies, forks, machine
from finstat_kit.transport.base import (
    FinalTransportError,
    Limits,
    Repeated,
    TimedOut,
    Timing,
    Unreachable,
    is_loopback,
)
from finstat_kit.transport.connection import (
    FAILURES,
    Connection,
    address,
    packed_body,
    tls_settings,
)

BaseTransport = httpx.BaseTransport


class Sockets(BaseTransport):
    """The transport over the network: connections of httpcore, one for each request at a time.

    Connections end with the transport, even if it was never closed.
    """

    def __init__(self, base_url: str, timing: Timing | None = None) -> None:
        self.timing = timing or Timing()
        self._base_url = base_url.rstrip("/")
        try:
            base = httpx.URL(self._base_url)
        except httpx.InvalidURL as error:
            raise UsageError(f"base_url={base_url!r} is not a valid base URL: {error}") from error
        self._origin: Any = {"scheme": base.raw_scheme, "host": base.raw_host, "port": base.port}
        self._path = base.raw_path.rstrip(b"/")
        self._proxy = None if is_loopback(base_url) else machine.proxy_for(base_url)
        # A pool scans all its connections at each request, which with 32 takes longer than all the
        # rest. So each connection has a pool of its own; the last used goes first.
        self._all: list[Connection] = []
        self._idle: list[Connection] = []
        self._headers = [(b"Host", base.netloc), *_headers_sent()]
        weakref.finalize(self, _close, self._all)
        forks.renew_in_child(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy as a new transport with the same settings."""
        return type(self), (self._base_url, self.timing)

    def _after_fork(self) -> None:
        """Leave the connections to the parent, which continues to use them."""
        for connection in self._all:
            connection.let_go()
        self._all.clear()
        self._idle.clear()
        tls_settings.cache_clear()  # a thread of the parent may hold one of its locks

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET and read the whole reply within its limits."""
        # Directly to the pool: httpx's own request and response, above all its URL parsing, take a
        # large part of a short exchange.
        target = url.removeprefix(self._base_url)
        if target[:1] != "/":
            raise UsageError(f"the transport is for {self._base_url}, not for {url}")
        address = httpcore.URL(**self._origin, target=self._path + target.encode("ascii"))
        request = httpcore.Request("GET", address, headers=self._headers)
        with _our_errors():
            response, raw = self._exchange(request, limits)
        return bodies.reply(response.status, response.headers, raw, limits.cap), len(raw)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send an httpx request and read the whole response; its body stays packed.

        The read timeout limits the whole exchange, None is no limit. A body of more than 64 MiB,
        before unpacking, is an ``httpx.RemoteProtocolError``.
        """
        seconds = request.extensions.get("timeout", {}).get("read")
        deadline = math.inf if seconds is None else self.timing.clock() + seconds
        limits = Limits(deadline, self.timing.clock, CODELIST_CAP)
        sent = httpcore.Request(
            request.method,
            address(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        while True:
            try:
                response, raw = self._exchange(sent, limits, whole=True)
            except Repeated:
                continue
            except (httpcore.TimeoutException, *FAILURES) as error:
                # The errors of httpx have the names of httpcore's.
                raise getattr(httpx, type(error).__name__)(str(error)) from error
            except ProtocolError as error:
                raise httpx.RemoteProtocolError(error.message) from error
            return httpx.Response(
                response.status,
                headers=response.headers,
                stream=httpx.ByteStream(raw),
                extensions=response.extensions,
            )

    def _exchange(
        self, request: httpcore.Request, limits: Limits, *, whole: bool = False
    ) -> tuple[httpcore.Response, bytes]:
        connection = self._connection()
        try:
            return connection.exchange(request, limits, whole=whole)
        finally:
            self._idle.append(connection)

    def _connection(self) -> Connection:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        connection = Connection(self._proxy)
        self._all.append(connection)
        return connection

    def close(self) -> None:
        """Close the connections; they open again when needed."""
        _close(self._all)


class Adapted:
    """Any synchronous httpx transport: a mock, a WSGI application, a recording.

    The deadline and a stop are checked before the request and between the parts of a body; a
    single wait is limited only by the transport itself, which receives the remaining time as its
    timeout. The size limit and the packing are checked as for `Sockets`.
    """

    def __init__(self, inner: object, timing: Timing | None = None) -> None:
        if not isinstance(inner, BaseTransport):
            raise UsageError(
                f"transport is a {type(inner).__name__}; give an httpx.BaseTransport, such as "
                "httpx.MockTransport or httpx.WSGITransport (no asynchronous one), or None"
            )
        self.timing = timing or Timing()
        self._inner = inner

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET and read the whole reply within its limits."""
        left = limits.left()
        waits = dict.fromkeys(("connect", "read", "write", "pool"), left)
        request = httpx.Request("GET", url, headers=_headers_sent(), extensions={"timeout": waits})
        with _our_errors():
            response = self._inner.handle_request(request)
            try:
                good = response.status_code == 200
                raw = packed_body(_heeding(response.stream, limits), limits.cap, whole=good)
            finally:
                response.close()
        return bodies.reply(response.status_code, response.headers.raw, raw, limits.cap), len(raw)

    def close(self) -> None:
        """Close the transport."""
        self._inner.close()


@contextlib.contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except (httpcore.TimeoutException, httpx.TimeoutException) as error:
        raise TimedOut("no whole answer within the deadline") from error
    except (httpx.TransportError, *FAILURES) as error:
        tls = machine.tls_failure(error)
        if isinstance(error, httpcore.ConnectError) and tls is not None:
            raise FinalTransportError(
                f"no secure connection: {tls}; check the clock and certificates of this machine"
            ) from error
        kind = Unreachable if machine.is_unreachable(error) else TransportError
        raise kind(f"no whole answer: {str(error) or type(error).__name__}") from error


def _heeding(chunks: object, limits: Limits) -> Iterator[bytes]:
    assert isinstance(chunks, Iterable)
    for chunk in chunks:
        if limits.left() <= 0:
            raise httpx.ReadTimeout("the deadline has passed")
        yield chunk


def _close(connections: Iterable[Connection]) -> None:
    for connection in connections:
        connection.close()


def _headers_sent() -> list[tuple[bytes, bytes]]:
    agent = f"finstat_kit/{version('finstat-kit')} (Python; polite client)"
    return [
        (b"User-Agent", agent.encode()),
        (b"Accept", b"application/json"),
        (b"Accept-Encoding", b"gzip"),
    ]
