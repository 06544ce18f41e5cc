"""The embedded register as an ASGI application, for any ASGI server."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from finstat_kit.protocol.wire import Reply
from finstat_kit.service.http.routes import refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Answer = Callable[[str, str, str], Reply]
_PORT: Final = re.compile(r":[0-9]*$", re.ASCII)


class App:
    """Answers HTTP requests for known hosts.

    Args:
        answer: The service: method, path and query to a reply.
        hosts: Allowed names of the request's host, as `host_name` returns them; None allows every
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
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        if self._hosts is None or _host(scope) in self._hosts:
            # Non-ASCII characters are invalid in an address; the service refuses them.
            path = scope["raw_path"].decode("ascii", errors="surrogateescape")
            query = scope["query_string"].decode("ascii", errors="surrogateescape")
            reply = self._answer(scope["method"], path, query)
        else:
            reply = refusal(421, "neznáma adresa servera", scope["method"])
        marked = {**reply.headers, **self.marks}
        headers = [(name.encode(), value.encode()) for name, value in marked.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})


def host_name(text: str) -> str:
    """Return a host without its port, in one form for all spellings.

    >>> host_name("LocalHost.:8000")
    'localhost'
    """
    return _PORT.sub("", text).lower().removesuffix(".")


def _host(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return host_name(value.decode("latin-1"))
    return ""
