"""The embedded register behind a URL: an ASGI application, served by uvicorn in a thread."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Final

from finstat_kit.errors import UsageError
from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http.routes import refusal

_LIVE: Final = "/cruz-public"  # in the address of the real register, and so in its clients
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_ANY: Final = frozenset({"0.0.0.0", "::"})
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Answer = Callable[[str, str, str], Reply]
_PORT: Final = re.compile(r":[0-9]*$", re.ASCII)


@contextmanager
def served(
    answer: Answer, *, host: str, port: int, marks: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Answer at a URL until the block ends.

    Args:
        answer: The service.
        host: Address to listen on.
        port: Port to listen on, 0 for a free one.
        marks: Headers of every reply.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError(
            "serving needs uvicorn", cure="install it with: pip install 'finstat-kit[server]'"
        ) from error
    name = f"[{host}]" if ":" in host else host
    hosts = None if host in _ANY else _LOOPBACK | {_host_name(name)}
    config = uvicorn.Config(
        App(answer, hosts, marks),
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
    with _listening(host, port) as listening:
        server = uvicorn.Server(config)
        run = partial(copy_context().run, server.run, sockets=[listening])
        thread = threading.Thread(target=run, name="finstat_kit serve", daemon=True)
        thread.start()
        try:
            # Requests may come before the server is up: the socket keeps them.
            port = listening.getsockname()[1]
            yield f"http://{'127.0.0.1' if host in _ANY else name}:{port}"
        finally:
            server.should_exit = True
            thread.join()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio recognizes TCP and sends small replies at once; without it
    # each waits 40 ms for an acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # On Windows SO_REUSEADDR lets two programs listen on one port.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listening.setsockopt(socket.SOL_SOCKET, option, 1)
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


class App:
    """Answers HTTP requests for known hosts.

    Args:
        answer: The service: method, path and query to a reply.
        hosts: Allowed names of the request's host, as `_host_name` returns them; None allows every
            name. A page of another site must not read this server by a name that resolves here.
        marks: Headers of every reply, including refusals by this class.
    """

    def __init__(
        self, answer: Answer, hosts: frozenset[str] | None, marks: Mapping[str, str] | None = None
    ) -> None:
        self._answer = answer
        self._hosts = hosts
        self.marks = marks or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._hosts is None or _host(scope) in self._hosts:
            # Non-ASCII characters are invalid in an address; the service refuses them.
            path = scope["raw_path"].decode("ascii", errors="surrogateescape")
            query = scope["query_string"].decode("ascii", errors="surrogateescape")
            reply = self._answer(scope["method"], path.removeprefix(_LIVE), query)
        else:
            reply = refusal(421, "neznáma adresa servera", scope["method"])
        marked = {**reply.headers, **self.marks}
        headers = [(name.encode(), value.encode()) for name, value in marked.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})


def _host_name(text: str) -> str:
    """Return a host without its port, in one form for all spellings.

    >>> _host_name("LocalHost.:8000")
    'localhost'
    """
    return _PORT.sub("", text).lower().removesuffix(".")


def _host(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return _host_name(value.decode("latin-1"))
    return ""
