"""The transport over the network. Only this module knows httpx.

httpx has no deadline for a whole request (its time-outs are per read), no limit of size, and passes
a gzip body that was cut in half as whole; all three are done here, below it. Name look-up is the
one wait that the deadline does not cover.

HTTP/1.1 matches answers to requests by their order alone, so an answer that is sent twice would be
taken for the next one. A connection is used again only where nothing follows the last body, and an
answer that equals the one before it, to another request, is requested again on a new connection.
"""

from __future__ import annotations

import contextlib
import math
import ssl
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from finstat_kit.errors import TransportError, UsageError
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport import bodies, forks
from finstat_kit.transport.base import (
    FinalTransportError,
    Limits,
    Repeated,
    TimedOut,
    Timing,
    is_loopback,
)

BaseTransport = httpx.BaseTransport

_LOOK_UP: Final = 0.2  # seconds between two looks at the deadline and at a stop
_KEEP_ALIVE: Final = 50.0  # the register closes idle connections after 60 s
_ENDS: Final = 1_000  # bytes at both ends of a body by which two bodies are compared
_FAILURES: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class Sockets:
    """The transport over the network: connections of httpx, one for each request at a time."""

    def __init__(self, base_url: str, timing: Timing | None = None) -> None:
        self.timing = timing or Timing()
        host = urlsplit(base_url).hostname or ""
        try:
            base = httpx.URL(base_url)
        except httpx.InvalidURL as error:
            raise UsageError(f"base_url={base_url!r} is no base URL: {error}") from error
        self._base_url = base_url
        self._origin = base.raw_scheme, base.raw_host, base.port
        self._path = base.raw_path.rstrip(b"/")
        self._ssl: ssl.SSLContext | None = httpx.create_ssl_context()
        self._proxy = None if is_loopback(base_url) else _proxy_for(base_url, host)
        # A pool of httpx looks at all its connections at each request, which with 32 takes longer
        # than all the rest. So each connection has a pool of its own; the last used goes first.
        self._all: list[_Connection] = []
        self._idle: list[_Connection] = []
        self._headers = [(b"Host", base.netloc), *_headers_sent()]
        forks.renew_in_child(self)

    def _after_fork(self) -> None:
        """Leave the connections to the parent, which goes on using them."""
        for connection in self._all:
            connection.let_go()
        self._all, self._idle = [], []
        self._ssl = None  # a thread of the parent may hold one of its locks

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET and read the whole reply within its limits."""
        # To the pool itself: httpx's own request and response, its reading of the address above
        # all, take a good part of a short exchange.
        request = httpcore.Request(
            "GET",
            httpcore.URL(
                scheme=self._origin[0],
                host=self._origin[1],
                port=self._origin[2],
                target=self._path + url.removeprefix(self._base_url).encode("ascii"),
            ),
            headers=self._headers,
        )
        connection = self._connection()
        try:
            return connection.exchange(request, limits)
        except httpcore.TimeoutException as error:
            raise TimedOut("no whole answer within the deadline") from error
        except _FAILURES as error:
            tls = _tls_failure(error)
            if isinstance(error, httpcore.ConnectError) and tls is not None:
                raise FinalTransportError(
                    f"no secure connection: {tls}; check the clock and certificates of this machine"
                ) from error
            raise TransportError(
                f"no whole answer: {str(error) or type(error).__name__}"
            ) from error
        finally:
            self._idle.append(connection)

    def _connection(self) -> _Connection:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        if self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        connection = _Connection(self._ssl, self._proxy)
        self._all.append(connection)
        return connection

    def close(self) -> None:
        """Close the connections."""
        for connection in self._all:
            connection.transport.close()


class Adapted:
    """Any synchronous transport of httpx: a mock, a WSGI application, a recording.

    The deadline and a stop are looked at before the request and between the parts of a body; how
    long a single wait takes is the transport's own affair, which is given what is left of the
    deadline as its time-out. The size limit and the packing are checked as for `Sockets`.
    """

    def __init__(self, inner: BaseTransport) -> None:
        self.timing = Timing()
        self._inner = inner

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET and read the whole reply within its limits."""
        left = limits.left()
        waits = dict.fromkeys(("connect", "read", "write", "pool"), left)
        request = httpx.Request("GET", url, headers=_headers_sent(), extensions={"timeout": waits})
        try:
            response = self._inner.handle_request(request)
            try:
                raw = _body(response.status_code, _heeding(response.stream, limits), limits.cap)
            finally:
                response.close()
        except httpx.TimeoutException as error:
            raise TimedOut("no whole answer within the deadline") from error
        except httpx.TransportError as error:
            raise TransportError(
                f"no whole answer: {str(error) or type(error).__name__}"
            ) from error
        return _reply(response.status_code, response.headers.raw, raw, limits.cap), len(raw)

    def close(self) -> None:
        """Close the transport."""
        self._inner.close()


def adapted(transport: object) -> Adapted:
    """Return a transport of httpx as one of ours.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(transport, BaseTransport):
        raise UsageError(
            f"transport is a {type(transport).__name__}; give an httpx.BaseTransport, such as "
            "httpx.MockTransport or httpx.WSGITransport (no asynchronous one), or None"
        )
    return Adapted(transport)


def _heeding(chunks: object, limits: Limits) -> Iterator[bytes]:
    assert isinstance(chunks, Iterable)
    for chunk in chunks:
        if limits.left() <= 0:
            raise httpx.ReadTimeout("the deadline has passed")
        yield chunk


class _Connection:
    """A connection that is opened, and opened again, when a request needs it."""

    def __init__(self, context: ssl.SSLContext, proxy: str | None) -> None:
        self.limits: Limits  # of the request under way
        self.stream: _Stream | None = None  # the newest
        self.answered: tuple[bytes, object] | None = None  # its last request and good answer
        self._expires = -math.inf
        self.transport = httpx.HTTPTransport(
            verify=context,
            proxy=proxy,
            limits=httpx.Limits(max_connections=1, keepalive_expiry=None),
        )
        # Private, and pinned by a test on the lowest and the newest httpx: the one place below
        # which every wait for the network lies.
        self._pool = self.transport._pool
        self._pool._network_backend = _Backend(self)

    def exchange(self, request: httpcore.Request, limits: Limits) -> tuple[Reply, int]:
        """Send a request; return the reply and the bytes of its body as it came."""
        self.limits = limits
        if limits.clock() >= self._expires:
            self.transport.close()
        response = self._pool.handle_request(request)
        try:
            assert isinstance(response.stream, Iterable)
            raw = _body(response.status, response.stream, limits.cap)
            left_behind = _left_behind(response)
        finally:
            response.close()
        self._expires = limits.clock() + _KEEP_ALIVE
        # Answers other than 200 are often empty: one sent again could not be told from the next.
        if left_behind or response.status != 200:
            self.transport.close()
        reply = _reply(response.status, response.headers, raw, limits.cap)
        if reply.status == 200 and self._repeats(request.url.target, reply.body):
            self.transport.close()
            raise Repeated("the answer to the request before it came again")
        return reply, len(raw)

    def _repeats(self, target: bytes, body: bytes) -> bool:
        """Remember a good answer; tell whether it is the one before it, to another request."""
        former, self.answered = self.answered, (target, (len(body), body[:_ENDS], body[-_ENDS:]))
        if former is None or former[0] == target or former[1] != self.answered[1]:
            return False
        # Other than an answer of the register, the page of a firewall may well be the same.
        return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"

    def let_go(self) -> None:
        """Close this process's end; another process that has the connection keeps it."""
        if self.stream is not None:
            self.stream.close()


class _Backend(httpcore.NetworkBackend):
    """Connections whose every wait ends at the deadline of the request that waits."""

    def __init__(self, connection: _Connection) -> None:
        self._inner = httpcore.SyncBackend()
        self._connection = connection

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._connection, httpcore.ConnectTimeout)
        stream = self._inner.connect_tcp(host, port, left, local_address, socket_options)
        self._connection.answered = None
        return _Stream(stream, self._connection)

    def connect_unix_socket(self, *_: object, **__: object) -> httpcore.NetworkStream:
        raise NotImplementedError

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, connection: _Connection) -> None:
        self._inner = inner
        self._connection = connection
        connection.stream = self

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = _left(self._connection, httpcore.ReadTimeout)
            # Short waits, so that a stop is seen soon; a wait that ended early is taken up again.
            try:
                return self._inner.read(max_bytes, min(left, _LOOK_UP))
            except httpcore.ReadTimeout:
                pass

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(self._connection, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._connection, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._connection)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


def _left(connection: _Connection, timeout: type[httpcore.TimeoutException]) -> float:
    left = connection.limits.left()
    if left <= 0:
        raise timeout("the deadline has passed")
    return left


def _proxy_for(base_url: str, host: str) -> str | None:
    """Return the proxy that the environment names for a URL."""
    if proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(urlsplit(base_url).scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("ascii").title(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _reply(status: int, raw_headers: Iterable[tuple[bytes, bytes]], raw: bytes, cap: int) -> Reply:
    """Return a reply whose body is unpacked: the status decides how much of it has to be right."""
    headers = _headers(raw_headers)
    unpacked = bodies.unpacked if status == 200 else bodies.readable
    return Reply(status, headers, unpacked(raw, headers.get("Content-Encoding", ""), cap))


def _body(status: int, chunks: Iterable[bytes], cap: int) -> bytes:
    """Return the body as it came: the whole of it, or what can be had of an error's."""
    good = status == 200
    body = bytearray()
    try:
        for chunk in chunks:
            body += chunk
            if good and len(body) > cap:
                raise bodies.too_large(cap)
            if not good and len(body) > bodies.ERROR_CAP:
                break
    except (httpcore.TimeoutException, httpx.TransportError, *_FAILURES):
        if good:
            raise
    return bytes(body)


def _headers_sent() -> list[tuple[bytes, bytes]]:
    agent = f"finstat_kit/{version('finstat-kit')} (Python; polite client)"
    return [
        (b"User-Agent", agent.encode()),
        (b"Accept", b"application/json"),
        (b"Accept-Encoding", b"gzip"),
    ]


def _left_behind(response: httpcore.Response) -> bytes:
    """Return what was received behind the body: nobody asked for it."""
    # Private, and pinned by the tests of answers sent twice. httpcore sees what waits in the
    # socket when it takes a connection up again, but not what it has read already.
    stream: Any = response.stream
    behind: bytes = stream._stream._connection._h11_state.trailing_data[0]
    return behind


def _tls_failure(error: BaseException) -> str | None:
    cause: BaseException | None = error
    while cause is not None:
        # A connection that merely ended during the handshake is worth another try.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return str(getattr(cause, "verify_message", None) or cause.reason or cause)
        cause = cause.__cause__ or cause.__context__
    return None
