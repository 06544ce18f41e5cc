"""What this machine adds to a connection: the proxy it goes through, the certificates it trusts."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for a URL."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def is_unreachable(error: BaseException) -> bool:
    """Tell whether a connection failed at the host's name, or was refused."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror | ConnectionRefusedError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def tls_failure(error: BaseException) -> str | None:
    """Return what made a secure connection impossible, None where TLS was not the cause."""
    cause: BaseException | None = error
    while cause is not None:
        # A connection that merely ended during the handshake, which OpenSSL reports in one of two
        # ways, is worth another attempt.
        ended = isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        if isinstance(cause, ssl.SSLError) and not ended:
            return str(getattr(cause, "verify_message", None) or cause.reason or cause)
        cause = cause.__cause__ or cause.__context__
    return None
