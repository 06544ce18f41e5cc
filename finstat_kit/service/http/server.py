"""The embedded register behind a URL: an ASGI application, served by uvicorn in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from finstat_kit.errors import UsageError
from finstat_kit.protocol.wire import Reply

_LIVE: Final = "/cruz-public"  # in the address of the real register, and so in its clients
_ANY: Final = frozenset({"0.0.0.0", "::"})
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Answer = Callable[[str, str, str], Reply]
App = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]


@contextmanager
def served(answer: Answer, *, host: str, port: int) -> Iterator[str]:
    """Answer at a URL until the block ends.

    Args:
        answer: The service: method, path and query to a reply.
        host: Address to listen on.
        port: Port to listen on, 0 for a free one.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError(
            "serving needs uvicorn", cure="install it with: pip install 'finstat-kit[server]'"
        ) from error
    name = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app_of(answer),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",
        date_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=1,
    )
    with _listening(host, port) as listening:
        server = uvicorn.Server(config)
        run = partial(server.run, sockets=[listening])
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
    try:
        bound = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise UsageError(
            f": cannot listen there on port {port} ({error.strerror})",
            argument="host",
            value=host,
            cure="give another port, 0 for a free one",
        ) from error
    # With the protocol named, asyncio recognizes TCP and sends small replies at once; without it
    # each waits 40 ms for an acknowledgement.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=bound.detach())


def app_of(answer: Answer) -> App:
    """Return the ASGI application of a service."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # Non-ASCII characters are invalid in an address; the service refuses them.
        path = scope["raw_path"].decode("ascii", errors="surrogateescape")
        query = scope["query_string"].decode("ascii", errors="surrogateescape")
        reply = answer(scope["method"], path.removeprefix(_LIVE), query)
        headers = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    return app
