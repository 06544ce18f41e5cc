"""Local settings of a connection: the proxy, and failures of name lookup and TLS."""

from __future__ import annotations

import socket
import ssl
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_for(url: str) -> str | None:
    """Return the proxy for a URL according to the environment."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


# OpenSSL reports an end as the one or the other, by when it sees it.
_ENDED: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError)


def is_unreachable(error: BaseException) -> bool:
    """Return whether the name lookup failed, or the connection was refused."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror | ConnectionRefusedError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def tls_failure(error: BaseException) -> str | None:
    """Return why TLS failed, None if TLS was not the cause."""
    cause: BaseException | None = error
    while cause is not None:
        # A connection that merely ended during the handshake is worth another attempt.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _ENDED):
            return str(getattr(cause, "verify_message", None) or cause.reason or cause)
        cause = cause.__cause__ or cause.__context__
    return None
