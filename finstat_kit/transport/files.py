"""The transport of files from a web server, which may redirect to another one over https."""

from __future__ import annotations

import threading
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from finstat_kit.protocol.wire import Reply
from finstat_kit.transport.base import Limits, Timing
from finstat_kit.transport.http import Sockets

_REDIRECTS: Final = 5  # of a request
_SAFE: Final = "%/:?#[]@!$&'()*+,;=~"  # what stays as it is in an address


class Files:
    """Sends the requests of files, each to its own host.

    A redirect to https is followed; any other is returned, for the exchange to refuse.

    Args:
        timing: As of `Sockets`.
    """

    def __init__(self, timing: Timing | None = None) -> None:
        self.timing = timing or Timing()
        self._hosts: dict[str, Sockets] = {}
        self._lock = threading.Lock()

    def send(self, url: str, limits: Limits) -> tuple[Reply, int]:
        """Send one GET, and those that it is redirected to."""
        sockets = self._host(url)
        for _ in range(_REDIRECTS):
            reply, size = sockets.send(url, limits)
            location = reply.headers.get("Location", "")
            if not (300 <= reply.status < 400 and location):
                break
            try:
                url = urljoin(url, quote(location, safe=_SAFE)).partition("#")[0]
                if not url.startswith("https://"):
                    break
                sockets = self._host(url)
            except ValueError:  # it is no address
                break
        return reply, size

    def close(self) -> None:
        """Close the connections."""
        for sockets in self._hosts.values():
            sockets.close()

    def _host(self, url: str) -> Sockets:
        parts = urlsplit(url)
        host = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            if host not in self._hosts:
                self._hosts[host] = Sockets(host, self.timing, of_files=True)
            return self._hosts[host]
