"""The embedded register behind a URL: uvicorn in a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from finstat_kit.errors import UsageError
from finstat_kit.service.http.asgi import Answer, App, host_name
from finstat_kit.service.http.routes import refusal

if TYPE_CHECKING:
    import uvicorn

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_ANY: Final = frozenset({"0.0.0.0", "::"})
_MOST_UNREAD: Final = 64 * 1024  # bytes of a request that has not ended
_PART: Final = 4 * 1024  # bytes read at once: so many of a request may go uncounted
_LINGER: Final = 0.2  # seconds that a refused connection stays open


@contextmanager
def served(
    answer: Answer,
    *,
    host: str,
    port: int,
    marks: Mapping[str, str] | None = None,
    patience: float = 10.0,
) -> Iterator[str]:
    """Answer at a URL until the block ends.

    Args:
        answer: The service.
        host: Address to listen on.
        port: Port to listen on, 0 for a free one.
        marks: Headers of every reply.
        patience: Timeout in seconds for a request to arrive.
    """
    name = f"[{host}]" if ":" in host else host
    hosts = None if host in _ANY else _LOOPBACK | {host_name(name)}
    server = _server(App(answer, hosts, marks), patience)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, name="finstat_kit serve", daemon=True
    )
    thread.start()
    try:
        server.up.wait(10)
        yield f"http://{'127.0.0.1' if host in _ANY else name}:{port}"
    finally:
        server.end()
        thread.join()
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio recognizes TCP and sends small replies at once; without it
    # each waits 40 ms for an acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise UsageError(
            f": cannot listen there on port {port} ({error.strerror})",
            argument="host",
            value=host,
            cure="give another port, 0 for a free one",
        ) from error
    return listening


def _server(app: App, patience: float) -> Any:  # noqa: ANN401 - its class exists only with uvicorn
    try:
        import uvicorn
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError as error:
        raise UsageError(
            "serving needs uvicorn", cure="install it with: pip install 'finstat-kit[server]'"
        ) from error

    class Guarded(HttpToolsProtocol):
        """Closes connections with a request that is too long or too slow."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._unread = 0
            self._refused = False
            self._refusal = b""
            self._due = 0  # requests whose answer has not been sent
            self._in_body = False  # of the last of them
            self._timer: asyncio.TimerHandle | None = None
            self._await_request()

        def data_received(self, data: bytes) -> None:
            # In parts, so that complete requests are not counted with an incomplete one.
            for start in range(0, len(data), _PART):
                part = data[start : start + _PART]
                self._unread += len(part)
                if self._refused:
                    return
                if self._unread > _MOST_UNREAD:
                    self._refuse("431 Request Header Fields Too Large", "požiadavka je príliš dlhá")
                    return
                self._await_request()
                super().data_received(part)

        def send_400_response(self, msg: str) -> None:
            self._refuse("400 Bad Request", "toto nie je požiadavka HTTP")

        def on_message_begin(self) -> None:
            # The request before it may have ended in the same part, and with it the timeout.
            self._await_request()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self._due += 1
            self._in_body = True

        def on_message_complete(self) -> None:
            self._unread = 0
            self._in_body = False
            self._forget_request()
            super().on_message_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._due -= 1
            if self._refused and not self._due:
                self._end()
            if self.pipeline:  # further requests wait in the socket, not in memory
                self.flow.pause_reading()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget_request()
            super().connection_lost(exc)

        def _refuse(self, status: str, reason: str) -> None:
            reply = refusal(int(status[:3]), reason)
            lines = [f"HTTP/1.1 {status}"]
            lines += [f"{name}: {value}" for name, value in {**reply.headers, **app.marks}.items()]
            head = "\r\n".join([*lines, "Connection: close", "", ""])
            self._refused = True
            self._forget_request()
            # The reply to a request still being read may have started: then it is the last.
            if not self._in_body or self._withdrawn():
                self._refusal = head.encode() + reply.body
            if not self._due:
                self._end()

        def _withdrawn(self) -> bool:
            """Withdraw the request whose body is being read, unless its reply has started."""
            if self.cycle.response_started:
                return False
            self.cycle.disconnected = True  # it will write nothing
            if self.pipeline:
                self.pipeline.popleft()
            self._due -= 1
            return True

        def _end(self) -> None:
            """Write the refusal after the pending replies, and close."""
            if not self.transport.is_closing():
                self.transport.write(self._refusal)
            # Closed at once, further input would reset the connection before the client reads this.
            self.loop.call_later(_LINGER, self.transport.close)

        def _await_request(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(patience, self.transport.close)

        def _forget_request(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    class Server(uvicorn.Server):
        """Signals when it is up and waits for its end: neither is polled."""

        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            self.up = threading.Event()
            self._over = asyncio.Event()

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            self._loop = asyncio.get_running_loop()
            self.up.set()

        async def main_loop(self) -> None:
            if not await self.on_tick(0):
                await self._over.wait()

        def end(self) -> None:
            self.should_exit = True
            if self.up.is_set():
                self._loop.call_soon_threadsafe(self._over.set)

    return Server(
        uvicorn.Config(
            app,
            http=Guarded,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=1,
            backlog=512,
        )
    )
