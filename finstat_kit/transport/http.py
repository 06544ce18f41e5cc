"""The transport over the network. Only this module knows httpx and httpcore.

httpx has no timeout for a whole request (its timeouts are per read), no size limit, and accepts a
truncated gzip body. Name lookup is the only wait that our timeout does not cover.

HTTP/1.1 matches replies to requests by order alone, so a reply sent twice would be taken for the
next one. A connection is reused only if the bytes received show that nothing follows the last body.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import ssl
import weakref
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from finstat_kit.errors import ProtocolError, TransportError, UsageError
from finstat_kit.protocol.untrusted import shown
from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import (
    FinalTransportError,
    Limits,
    TimedOut,
    Timing,
    Unreachable,
    is_loopback,
)

BaseTransport = httpx.BaseTransport
_LOOK_UP: Final = 0.2  # seconds between checks of the deadline and for a stop
_KEEP_ALIVE: Final = 50.0  # the register closes idle connections after 60 s
_FAILURES: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)
# OpenSSL reports an end as the one or the other, by when it sees it.
_ENDED: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
_HEAD_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
_ERROR_CAP: Final = 2**16  # bytes read of an error's body: its status is what matters
_PLAIN: Final = ("", "identity")
_GZIP: Final = ("gzip", "x-gzip")


class Sockets:
    """The transport over the network: connections of httpcore, one for each request at a time.

    Connections end with the transport, even if it was never closed.
    """

    def __init__(
        self, base_url: str, timing: Timing | None = None, *, of_files: bool = False
    ) -> None:
        self.timing = timing or Timing()
        self._base_url = base_url.rstrip("/")
        try:
            base = httpx.URL(self._base_url)
        except httpx.InvalidURL as error:
            raise UsageError(
                f"is not a valid base URL: {error}", argument="base_url", value=base_url
            ) from error
        self._origin: Any = {"scheme": base.raw_scheme, "host": base.raw_host, "port": base.port}
        self._path = base.raw_path.rstrip(b"/")
        self._proxy = None if is_loopback(base_url) else _proxy_for(base_url)
        # A pool scans all its connections at each request, which with 32 takes longer than all the
        # rest, and Ctrl-C may leave its lock taken. So this is the pool; the last used goes first.
        self._all: list[_Connection] = []
        self._idle: list[_Connection] = []
        self._headers = [(b"Host", base.netloc), *_headers_sent(of_files=of_files)]
        weakref.finalize(self, _close, self._all)

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET and read the whole reply within its limits."""
        # Directly to the pool: httpx's own request and response, above all its URL parsing, take a
        # large part of a short exchange.
        target = url.removeprefix(self._base_url)
        if target[:1] != "/":
            raise UsageError(f"the transport is for {self._base_url}, not for {url}")
        address = httpcore.URL(**self._origin, target=self._path + target.encode("ascii"))
        request = httpcore.Request("GET", address, headers=self._headers)
        connection = self._connection()
        try:
            with _our_errors():
                response, raw = connection.exchange(request, limits)
        finally:
            self._idle.append(connection)
        return _reply(response.status, response.headers, raw, limits.cap), len(raw)

    def _connection(self) -> _Connection:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        set_ = ((name, os.environ.get(name)) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        certificates = ", ".join(f"{name}={value!r}" for name, value in set_ if value)
        connection = _Connection(_context(certificates), self._proxy)
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
                f"is a {type(inner).__name__}",
                argument="transport",
                cure="give an httpx.BaseTransport, such as httpx.MockTransport or "
                "httpx.WSGITransport (no asynchronous one), or None",
            )
        self.timing = timing or Timing()
        self._inner = inner

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET and read the whole reply within its limits."""
        left = limits.left()
        if left <= 0:  # the pauses before this attempt took longer; httpx refuses such a timeout
            raise TimedOut("no complete reply within the deadline")
        waits = dict.fromkeys(("connect", "read", "write", "pool"), left)
        request = httpx.Request("GET", url, headers=_headers_sent(), extensions={"timeout": waits})
        with _our_errors():
            response = self._inner.handle_request(request)
            try:
                good = response.status_code == 200
                raw = _body(_within_deadline(response.stream, limits), limits.cap, whole=good)
            finally:
                response.close()
        return _reply(response.status_code, response.headers.raw, raw, limits.cap), len(raw)

    def close(self) -> None:
        """Close the transport."""
        self._inner.close()


@contextlib.contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except (httpcore.TimeoutException, httpx.TimeoutException) as error:
        raise TimedOut("no complete reply within the deadline") from error
    except (httpx.TransportError, *_FAILURES) as error:
        tls = tls_failure(error)
        if isinstance(error, httpcore.ConnectError) and tls is not None:
            raise FinalTransportError(
                f"no secure connection: {tls}; check the clock of this machine. Behind a company's "
                "proxy, set SSL_CERT_FILE to the file (PEM) of the certificate that it signs with"
            ) from error
        kind = Unreachable if _is_unreachable(error) else TransportError
        raise kind(f"no complete reply: {str(error) or type(error).__name__}") from error


def _within_deadline(chunks: object, limits: Limits) -> Iterator[bytes]:
    assert isinstance(chunks, Iterable)
    for chunk in chunks:
        if limits.left() <= 0:
            raise httpx.ReadTimeout("the deadline has passed")
        yield chunk


@cache
def _context(certificates: str) -> ssl.SSLContext:
    """Return the TLS settings of the environment's certificates: reading these takes 20 ms.

    Raises:
        UsageError: They cannot be read.
    """
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise UsageError(
            f"{certificates or 'certifi'}: the certificates cannot be read: {error}",
            cure="correct the variable or unset it" if certificates else "install certifi again",
        ) from error


class _Connection:
    """A connection that is opened, and reopened, when a request needs it."""

    def __init__(self, context: ssl.SSLContext, proxy: str | None) -> None:
        self.limits: Limits  # of the current request
        self.stream: _Stream | None = None  # the newest
        self._expires = -math.inf
        self._opener = _opener(context, proxy, _Backend(self))
        self._opened: httpcore.ConnectionInterface | None = None

    def exchange(
        self, request: httpcore.Request, limits: Limits
    ) -> tuple[httpcore.Response, bytes]:
        """Send a request; return the response and its packed body."""
        self.limits = limits
        try:
            opened = self._usable(request.url.origin)
            response = opened.handle_request(request)
            try:
                assert isinstance(response.stream, Iterable)
                raw = _body(response.stream, limits.cap, whole=response.status == 200)
            finally:
                response.close()
        except BaseException:
            self.close()
            raise
        self._expires = limits.clock() + _KEEP_ALIVE
        # A 404 names no id: sent again, it would be taken for the answer to the next request.
        if response.status != 200 or not self._ends_with(raw, response.headers):
            self.close()
        return response, raw

    def _usable(self, origin: httpcore.Origin) -> httpcore.ConnectionInterface:
        """Return the open connection, a new one where it may not be used again."""
        opened = self._opened
        in_time = self.limits.clock() < self._expires
        # Expired also means that bytes wait in the socket, which no request explains.
        if opened and in_time and opened.is_available() and not opened.has_expired():
            return opened
        self.close()
        self._opened = opened = self._opener.create_connection(origin)
        return opened

    def _ends_with(self, body: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Return whether the bytes received for a request end with the body of its reply.

        httpcore keeps to itself what it has read behind a body. Where its end is not plain, the
        answer is no.
        """
        assert self.stream is not None
        parts, self.stream.received = self.stream.received, []
        if any(name.lower() == b"transfer-encoding" for name, _ in headers):
            received = b"".join(parts)
            head_end = received.find(_HEAD_END) + 2
            return received.find(_LAST_CHUNK, head_end) == len(received) - len(_LAST_CHUNK)
        head_end = b"".join(parts[:2]).find(_HEAD_END)  # of a file, a body may be large
        return sum(map(len, parts)) == head_end + len(_HEAD_END) + len(body)

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        self._opened = None
        if self.stream is not None:
            self.stream.close()


class _Backend(httpcore.NetworkBackend):
    """Connections whose every wait ends at the deadline of the current request."""

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
        left = _seconds_left(self._connection, httpcore.ConnectTimeout)
        stream = self._inner.connect_tcp(host, port, left, local_address, socket_options)
        return _Stream(stream, self._connection)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, connection: _Connection) -> None:
        self._inner = inner
        self._connection = connection
        self.received: list[bytes] = []  # since the last reply
        connection.stream = self

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = _seconds_left(self._connection, httpcore.ReadTimeout)
            # Short waits, so that a stop is noticed soon; a wait that ended early is resumed.
            try:
                read = self._inner.read(max_bytes, min(left, _LOOK_UP))
            except httpcore.ReadTimeout:
                continue
            self._connection.limits.came()
            self.received.append(read)
            return read

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _seconds_left(self._connection, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _seconds_left(self._connection, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._connection)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


def _seconds_left(connection: _Connection, timeout: type[httpcore.TimeoutException]) -> float:
    left = connection.limits.left()
    if left <= 0:
        raise timeout("the deadline has passed")
    return left


def _close(connections: Iterable[_Connection]) -> None:
    for connection in connections:
        connection.close()


def _opener(
    context: ssl.SSLContext, proxy: str | None, backend: httpcore.NetworkBackend
) -> httpcore.ConnectionPool:
    """Return what creates connections, with TLS and proxy as httpx sets them."""
    settings: Any = {"ssl_context": context, "network_backend": backend}
    if proxy is None:
        return httpcore.ConnectionPool(**settings)
    parsed_proxy = httpx.Proxy(proxy)
    url = parsed_proxy.url
    address = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=b"")
    settings |= {"proxy_url": address, "proxy_auth": parsed_proxy.raw_auth}
    if parsed_proxy.url.scheme.startswith("socks"):
        try:
            return httpcore.SOCKSProxy(**settings)
        except RuntimeError as error:  # of httpcore, without its extra installed
            raise UsageError(
                f"the environment names the proxy {parsed_proxy.url}, which needs socksio",
                cure="pip install 'httpx[socks]', or unset it",
            ) from error
    return httpcore.HTTPProxy(**settings, proxy_headers=parsed_proxy.headers.raw)


def _body(chunks: Iterable[bytes], cap: int, *, whole: bool) -> bytes:
    """Return the packed body: complete, or for an error as much as can be read."""
    parts, size = [], 0
    try:
        for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if whole and size > cap:
                raise _too_large(cap)
            if not whole and size > _ERROR_CAP:
                break
    except (httpcore.TimeoutException, httpx.TransportError, *_FAILURES):
        if whole:
            raise
    return b"".join(parts)


def _headers_sent(*, of_files: bool = False) -> list[tuple[bytes, bytes]]:
    agent = f"finstat_kit/{version('finstat-kit')} (Python; polite client)"
    return [
        (b"User-Agent", agent.encode()),
        (b"Accept", b"*/*" if of_files else b"application/json"),
        (b"Accept-Encoding", b"identity" if of_files else b"gzip"),
    ]


def _proxy_for(url: str) -> str | None:
    """Return the proxy for a URL according to the environment."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_unreachable(error: BaseException) -> bool:
    """Return whether the name lookup failed, or the connection was refused."""
    refusals = socket.gaierror | ConnectionRefusedError
    return any(isinstance(cause, refusals) for cause in _causes(error))


def tls_failure(error: BaseException) -> str | None:
    """Return why TLS failed, None if TLS was not the cause."""
    for cause in _causes(error):
        # A connection that merely ended during the handshake is worth another attempt.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _ENDED):
            return str(getattr(cause, "verify_message", None) or cause.reason or cause)
    return None


def _reply(status: int, raw_headers: Iterable[tuple[bytes, bytes]], raw: bytes, cap: int) -> Reply:
    """Return a reply with its headers by name, as ``Content-Type``, and its body unpacked."""
    headers = {n.decode("ascii").title(): value.decode("latin-1") for n, value in raw_headers}
    try:
        body = unpacked(raw, headers.get("Content-Encoding", ""), cap)
    except (TransportError, ProtocolError):
        if status == 200:
            raise
        body = b""  # of an error the status is what matters
    return Reply(status, headers, body)


def unpacked(body: bytes, encoding: str, cap: int) -> bytes:
    """Return the body with its Content-Encoding undone, whole, or raise an error."""
    if encoding.lower() in _PLAIN:
        return body
    if encoding.lower() not in _GZIP:
        raise TransportError(f"the body is packed as {shown(encoding)}, which was not requested")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, cap + 1)
    except zlib.error as error:
        raise TransportError(f"the gzip body is broken ({error})") from error
    if len(unpacked) > cap:
        raise _too_large(cap)
    if not unpacker.eof or unpacker.unused_data:
        raise TransportError("the gzip body is truncated or followed by other bytes")
    return unpacked


def _too_large(cap: int) -> ProtocolError:
    """Return the error for a body larger than the maximum."""
    most = f"{cap:,} bytes" if cap % 2**20 else f"{cap // 2**20} MiB"
    return ProtocolError(
        f"the body is larger than {most}, more than any reply to this request; check the base URL"
    )
