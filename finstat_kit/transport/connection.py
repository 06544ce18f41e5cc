"""One connection, opened by httpcore when a request needs it, and its waits.

httpx has no timeout for a whole request (its timeouts are per read) and no size limit. Both are
implemented here, below httpx. Name lookup is the only wait that the timeout does not cover.

HTTP/1.1 matches replies to requests by order alone, so a reply sent twice would be taken for the
next one. A connection is reused only if nothing follows the last body, and a reply equal to the one
before it, to another request, is requested again on a new connection.
"""

from __future__ import annotations

import math
import os
import ssl
import threading
from collections.abc import Iterable
from functools import cache, partial
from typing import Any, Final

import httpcore
import httpx

from finstat_kit.errors import UsageError
from finstat_kit.transport import bodies
from finstat_kit.transport.base import Limits, Repeated

FAILURES: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)

_LOOK_UP: Final = 0.2  # seconds between checks of the deadline and for a stop
_KEEP_ALIVE: Final = 50.0  # the register closes idle connections after 60 s
_PIECE: Final = 2**14  # bytes sent at once: each part of a piece may wait as long as the whole
_ENDS: Final = 1_000  # bytes at both ends of a body used to compare two bodies


class Connection:
    """A connection that is opened, and reopened, when a request needs it."""

    def __init__(self, proxy: str | None) -> None:
        self.limits: Limits  # of the current request
        self.stream: _Stream | None = None  # the newest
        self.answered: tuple[bytes, object] | None = None  # its last request and good answer
        self._expires = -math.inf
        self._new_pool = partial(_pool, tls_settings(_certificates()), proxy, _Backend(self))
        self.pool = self._new_pool()

    def exchange(
        self, request: httpcore.Request, limits: Limits, *, whole: bool
    ) -> tuple[httpcore.Response, bytes]:
        """Send a request; return the response and its packed body, *whole* even for an error."""
        try:
            return self._exchanged(request, limits, whole=whole)
        except Exception:
            raise
        except BaseException:
            # Ctrl-C may have left a lock of httpcore taken: the pool is not used again.
            self.let_go()
            self.pool = self._new_pool()
            raise

    def _exchanged(
        self, request: httpcore.Request, limits: Limits, *, whole: bool
    ) -> tuple[httpcore.Response, bytes]:
        self.limits = limits
        # A request that cannot be repeated uses a new connection, which cannot be out of step.
        if limits.clock() >= self._expires or request.method != b"GET":
            self.pool.close()
        response = self.pool.handle_request(request)
        try:
            assert isinstance(response.stream, Iterable)
            raw = packed_body(response.stream, limits.cap, whole=whole or response.status == 200)
            left_behind = _left_behind(response)
        finally:
            response.close()
        self._expires = limits.clock() + _KEEP_ALIVE
        # Replies other than 200 are often empty: a repeated one could not be recognized.
        if left_behind or response.status != 200:
            self.pool.close()
        if response.status == 200 and self._repeats(request.url.target, response.headers, raw):
            self.pool.close()
            raise Repeated("the reply to the previous request was sent again")
        return response, raw

    def _repeats(self, target: bytes, headers: list[tuple[bytes, bytes]], raw: bytes) -> bool:
        """Remember a good reply; return whether it repeats the previous one, to another request."""
        former, self.answered = self.answered, (target, (len(raw), raw[:_ENDS], raw[-_ENDS:]))
        if former is None or former[0] == target or former[1] != self.answered[1]:
            return False
        # Unlike replies of the register, pages of a firewall may well be equal.
        body = bodies.readable(raw, bodies.headers(headers).get("Content-Encoding", ""), len(raw))
        return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self.pool.close()

    def let_go(self) -> None:
        """Close this process's end; another process that shares the connection keeps it."""
        if self.stream is not None:
            self.stream.close()


class _Backend(httpcore.NetworkBackend):
    """Connections whose every wait ends at the deadline of the current request."""

    def __init__(self, connection: Connection) -> None:
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


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, connection: Connection) -> None:
        self._inner = inner
        self._connection = connection
        connection.stream = self

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = _left(self._connection, httpcore.ReadTimeout)
            # Short waits, so that a stop is noticed soon; a wait that ended early is resumed.
            try:
                return self._inner.read(max_bytes, min(left or _LOOK_UP, _LOOK_UP))
            except httpcore.ReadTimeout:
                pass

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            left = _left(self._connection, httpcore.WriteTimeout)
            self._inner.write(buffer[start : start + _PIECE], left)

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


def _left(connection: Connection, timeout: type[httpcore.TimeoutException]) -> float | None:
    left = connection.limits.left()
    if left <= 0:
        raise timeout("the deadline has passed")
    return None if left == math.inf else left


def _certificates() -> str:
    """Return the environment's variables that choose certificates, with their values."""
    set_ = ((name, os.environ.get(name)) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return ", ".join(f"{name}={value!r}" for name, value in set_ if value)


@cache
def tls_settings(certificates: str) -> ssl.SSLContext:
    """Return the TLS settings of the environment's certificates: reading these takes 20 ms.

    Raises:
        UsageError: They cannot be read.
    """
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise UsageError(
            f"{certificates or 'certifi'}: the certificates cannot be read: {error}; "
            + ("correct the variable or unset it" if certificates else "install certifi again")
        ) from error


def address(url: httpx.URL) -> httpcore.URL:
    """Return the URL as httpcore takes it."""
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def _pool(
    context: ssl.SSLContext, proxy: str | None, backend: httpcore.NetworkBackend
) -> httpcore.ConnectionPool:
    """Return a pool of one connection, with TLS and proxy as httpx sets them."""
    settings: Any = {"ssl_context": context, "max_connections": 1, "network_backend": backend}
    if proxy is None:
        return _interruptible(httpcore.ConnectionPool(**settings))
    named = httpx.Proxy(proxy)
    settings |= {"proxy_url": address(named.url), "proxy_auth": named.raw_auth}
    if named.url.scheme.startswith("socks"):
        try:
            return _interruptible(httpcore.SOCKSProxy(**settings))
        except RuntimeError as error:  # of httpcore, without its extra installed
            raise UsageError(
                f"the environment names the proxy {named.url}, which needs socksio: pip install "
                "'httpx[socks]', or unset it"
            ) from error
    return _interruptible(httpcore.HTTPProxy(**settings, proxy_headers=named.headers.raw))


def _interruptible(pool: httpcore.ConnectionPool) -> httpcore.ConnectionPool:
    """Return a pool whose cleanup after Ctrl-C does not block forever."""
    # Private, and pinned by a test. httpcore's own lock is written in Python: Ctrl-C may leave it
    # taken, before its block begins or ends, and the cleanup takes it again. A lock in C is safe.
    private: Any = pool
    private._optional_thread_lock = threading.Lock()
    return pool


def packed_body(chunks: Iterable[bytes], cap: int, *, whole: bool) -> bytes:
    """Return the packed body: complete, or for an error as much as can be read."""
    body = bytearray()
    try:
        for chunk in chunks:
            body += chunk
            if whole and len(body) > cap:
                raise bodies.too_large(cap)
            if not whole and len(body) > bodies.ERROR_CAP:
                break
    except (httpcore.TimeoutException, httpx.TransportError, *FAILURES):
        if whole:
            raise
    return bytes(body)


def _left_behind(response: httpcore.Response) -> bytes:
    """Return the bytes received after the body, which no request explains."""
    # Private, and pinned by the tests of replies sent twice. httpcore notices bytes waiting in the
    # socket when it reuses a connection, but not bytes it has read already.
    stream: Any = response.stream
    behind: bytes = stream._stream._connection._h11_state.trailing_data[0]
    return behind
