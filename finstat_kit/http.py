"""The transport over the network. Only this module knows httpx.

httpx has no deadline for a whole request (its time-outs are per read), no limit of size, and passes
a gzip body that was cut in half as whole; all three are done here, below it. Name look-up is the
one wait that the deadline does not cover.
"""

from __future__ import annotations

import contextlib
import ssl
import time
import zlib
from collections.abc import Iterable
from importlib.metadata import version
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from finstat_kit.embedded.service import Reply
from finstat_kit.errors import ProtocolError, TransportError
from finstat_kit.transports import FinalTransportError, Limits, TimedOut, is_loopback, shown

_LOOK_UP: Final = 0.2  # seconds between two looks at the deadline and at a stop
_FAILURES: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class Sockets:
    """The transport over the network: connections of httpx, one for each request at a time."""

    def __init__(self, base_url: str) -> None:
        host = urlsplit(base_url).hostname or ""
        base = httpx.URL(base_url)
        self._base_url = base_url
        self._origin = base.raw_scheme, base.raw_host, base.port
        self._path = base.raw_path.rstrip(b"/")
        self._ssl = httpx.create_ssl_context()
        self._proxy = None if is_loopback(base_url) else _proxy_for(base_url, host)
        # A pool of httpx looks at all its connections at each request, which with 32 takes longer
        # than all the rest. So each connection has a pool of its own; the last used goes first.
        self._all: list[_Connection] = []
        self._idle: list[_Connection] = []
        agent = f"finstat_kit/{version('finstat-kit')} (Python; polite client)"
        self._headers = [
            (b"Host", base.netloc),
            (b"User-Agent", agent.encode()),
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"gzip"),
        ]

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
            status, headers, raw = connection.exchange(request, limits)
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
        body = _unpacked(raw, headers.get("Content-Encoding", ""), limits.cap)
        return Reply(status, headers, body), len(raw)

    def _connection(self) -> _Connection:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        connection = _Connection(self._ssl, self._proxy)
        self._all.append(connection)
        return connection

    def close(self) -> None:
        """Close the connections."""
        for connection in self._all:
            connection.transport.close()


class _Connection:
    """A connection that is opened, and opened again, when a request needs it."""

    def __init__(self, context: ssl.SSLContext, proxy: str | None) -> None:
        self.limits: Limits  # of the request under way
        self.transport = httpx.HTTPTransport(
            verify=context,
            proxy=proxy,
            limits=httpx.Limits(
                max_connections=1,
                keepalive_expiry=50.0,  # the register closes idle connections after 60 s
            ),
        )
        # Private, and pinned by a test on the lowest and the newest httpx: the one place below
        # which every wait for the network lies.
        self._pool = self.transport._pool
        self._pool._network_backend = _Backend(self)

    def exchange(
        self, request: httpcore.Request, limits: Limits
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request; return status, headers and the body as it came."""
        self.limits = limits
        response = self._pool.handle_request(request)
        try:
            assert isinstance(response.stream, Iterable)
            raw = _within(response.stream, limits.cap)
        finally:
            response.close()
        return response.status, _headers(response.headers), raw


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
        return _Stream(stream, self._connection)

    def connect_unix_socket(self, *_: object, **__: object) -> httpcore.NetworkStream:
        raise NotImplementedError

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, connection: _Connection) -> None:
        self._inner = inner
        self._connection = connection

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


def _within(chunks: Iterable[bytes], cap: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > cap:
            raise _too_large(cap)
    return bytes(body)


def _unpacked(body: bytes, encoding: str, cap: int) -> bytes:
    """Return the body behind its Content-Encoding: the whole of it, or an error."""
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip"):
        raise TransportError(f"the body is packed as {shown(encoding)}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, cap + 1)
    except zlib.error as error:
        raise TransportError(f"the gzip body is broken ({error})") from error
    if len(unpacked) > cap:
        raise _too_large(cap)
    if not unpacker.eof or unpacker.unused_data:
        raise TransportError("the gzip body is cut short or followed by something else")
    return unpacked


def _too_large(cap: int) -> ProtocolError:
    return ProtocolError(
        f"the body is larger than {cap // 2**20} MiB, more than the register can mean; was the "
        "base URL meant?"
    )


def _tls_failure(error: BaseException) -> str | None:
    cause: BaseException | None = error
    while cause is not None:
        # A connection that merely ended during the handshake is worth another try.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return str(getattr(cause, "verify_message", None) or cause.reason or cause)
        cause = cause.__cause__ or cause.__context__
    return None
