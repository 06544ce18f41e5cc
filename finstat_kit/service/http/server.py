"""The embedded register behind a URL: uvicorn in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from finstat_kit.errors import UsageError
from finstat_kit.service.http.asgi import Answer, App, host_name

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_ANY: Final = frozenset({"0.0.0.0", "::"})


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
    hosts = None if host in _ANY else _LOOPBACK | {host_name(name)}
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
        thread = threading.Thread(
            target=server.run,
            kwargs={"sockets": [listening]},
            name="finstat_kit serve",
            daemon=True,
        )
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
