"""A server whose every byte is ours: raw sockets on loopback, each reply scripted step by step.

    with FaultServer([reply(b"{}")], [b"HTTP/1.1 200 OK\\r\\n", RESET]) as server:
        fk.Register(server.url) …

Each list is the answer to one request: bytes are sent as they are, `Drip` sends them slowly, an
event is waited for, with a TLS context the conversation goes on in TLS, and `RESET`, `CLOSE` and
`HANG` end it. The last list answers all further requests.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit


class End(Enum):
    """How a conversation ends."""

    RESET = "the connection is reset"
    CLOSE = "the connection is closed"
    HANG = "nothing more is said"


RESET, CLOSE, HANG = End.RESET, End.CLOSE, End.HANG


@dataclass(frozen=True)
class Drip:
    """Bytes sent a few at a time."""

    data: bytes
    size: int
    seconds: float


Step = bytes | Drip | threading.Event | ssl.SSLContext | End


def reply(
    body: bytes = b"", status: int = 200, length: int | None = None, /, **headers: str
) -> bytes:
    """Return a whole answer, or one whose Content-Length is a lie."""
    lines = [
        f"HTTP/1.1 {status} Whatever",
        f"Content-Length: {len(body) if length is None else length}",
    ]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


# Seconds that a busy machine may take for what ends by a deadline of about half a second; the least
# that a server of these tests would let it wait otherwise is five.
SOON = 3.0
GOOD = b'{"id":[1,2,3],"existujeDalsieId":false}'
OK = [reply(GOOD)]
PAGE = b"<!DOCTYPE html><title>x</title><p>Server je mimo prev&aacute;dzky</p>"


def record(request: str) -> bytes:
    """Return the record that a request asks for: its id alone."""
    return b'{"id":%b}' % request.split(" ")[1].rpartition("=")[2].encode()


def packed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


class FaultServer:
    """Answers request after request by its script.

    Attributes:
        connections: How many were opened.
        url: Where it listens.
        asked: Path and query of each request, in the order of arrival.
        times: What `clock` said at each request.
    """

    def __init__(self, *script: Sequence[Step], clock: Callable[[], float] = lambda: 0.0) -> None:
        self.connections = 0
        self.asked: list[str] = []
        self.headers: list[str] = []
        self.times: list[float] = []
        self._script = list(script)
        self._clock = clock
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for connection in self._open:
                _shut(connection)
        for thread in self._threads:
            thread.join(5)
            assert not thread.is_alive()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                self._open.add(connection)
            self._start(self._converse, connection)

    def _converse(self, connection: socket.socket) -> None:
        try:
            while (request := _request(connection)) is not None:
                for step in self._next(request):
                    if isinstance(step, ssl.SSLContext):
                        connection = self._secured(connection, step)
                    elif not self._do(connection, step):
                        return
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _secured(self, connection: socket.socket, context: ssl.SSLContext) -> socket.socket:
        secure = context.wrap_socket(connection, server_side=True)
        with self._lock:
            self._open.discard(connection)
            self._open.add(secure)
        return secure

    def _next(self, request: str) -> Sequence[Step]:
        line, _, headers = request.partition("\r\n")
        with self._lock:
            self.asked.append(line.split(" ")[1])
            self.headers.append(headers)
            self.times.append(self._clock())
            return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def _do(self, connection: socket.socket, step: bytes | Drip | threading.Event | End) -> bool:
        """Do one step; tell whether the conversation goes on."""
        if isinstance(step, bytes):
            connection.sendall(step)
            return True
        if isinstance(step, Drip):
            for start in range(0, len(step.data), step.size):
                connection.sendall(step.data[start : start + step.size])
                if self._over.wait(step.seconds):
                    return False
            return True
        if isinstance(step, threading.Event):
            return step.wait(60) and not self._over.is_set()
        if step is RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if step is HANG:
            self._over.wait(60)
        return False


class ListServer(FaultServer):
    """Answers lists and counts of the ids 1 to *n* as the specification says.

    *sent* makes the steps of each answer.
    """

    def __init__(
        self, n: int, sent: Callable[[bytes], Sequence[Step]] = lambda good: [good]
    ) -> None:
        super().__init__([])
        self._n = n
        self._sent = sent

    def _next(self, request: str) -> Sequence[Step]:
        super()._next(request)
        target = urlsplit(request.split(" ")[1])
        asked = {name: values[0] for name, values in parse_qs(target.query).items()}
        after = int(asked.get("pokracovat-za-id", 0))
        if "zostavajuce" in target.path:
            content: object = {"pocetZostavajucichId": self._n - after}
        else:
            last = min(after + int(asked["max-zaznamov"]), self._n)
            content = {"id": list(range(after + 1, last + 1)), "existujeDalsieId": last < self._n}
        return self._sent(reply(json.dumps(content).encode()))


def _request(connection: socket.socket) -> str | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return None
        data += part
    return data.decode("latin-1")


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
