"""Where a mirror is pulled from: a web server or a directory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from finstat_kit.arguments import path as as_path
from finstat_kit.errors import NotFound, ProtocolError, invalid
from finstat_kit.mirror.storage.files import is_refusal, unreadable
from finstat_kit.protocol.requests import Request
from finstat_kit.transport.base import Timing
from finstat_kit.transport.exchange import Exchange
from finstat_kit.transport.files import Files

T = TypeVar("T")
_IDLE: Final = 30.0  # seconds without a byte that end an attempt
_TRIES: Final = 5


class OnTheWeb:
    """A mirror on a web server or in a bucket with an address.

    Args:
        url: Its address.
        timing: The clock.
    """

    def __init__(self, url: str, timing: Timing | None = None) -> None:
        self.name = url.rstrip("/")
        self._exchange = Exchange(
            quote(self.name, safe="%/:[]!$&'()*+,;=~"), Files(timing),
            rate=None, deadline=_IDLE, tries=_TRIES,
        )  # fmt: skip

    def read(
        self, path: str, cap: int, read: Callable[[bytes], T], stop: threading.Event | None = None
    ) -> T:
        """Return what a function makes of a file.

        Args:
            path: Of the file, below the address.
            cap: The most bytes that it may have.
            read: The function; it raises ProtocolError where the file is not what it has to be.
            stop: Ends the wait when it is set.

        Raises:
            NotFound: There is no such file.
            RegisterError: It cannot be had, or is not what it has to be.
        """
        return self._exchange.get(Request(f"/{path}", read, cap=cap, is_file=True), stop)

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()


class OnDisk:
    """A mirror in a directory, such as a network drive or a mounted bucket.

    Args:
        folder: The directory.
    """

    def __init__(self, folder: Path) -> None:
        self.name = folder.as_posix()
        self.folder = folder

    def read(
        self, path: str, cap: int, read: Callable[[bytes], T], stop: threading.Event | None = None
    ) -> T:
        """Return what a function makes of a file; see `OnTheWeb.read`."""
        file = self.folder / path
        try:
            with file.open("rb") as opened:
                content = opened.read(cap + 1)
        except OSError as error:
            if is_refusal(error):
                raise unreadable(file, error) from error
            raise NotFound(f"{file} is not there") from error
        if len(content) > cap:
            raise ProtocolError(f"{file} is larger than {cap:,} bytes")
        return read(content)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def published(url: object) -> OnTheWeb | OnDisk:
    """Return the mirror at an address or in a directory.

    Raises:
        UsageError: There can be none.
    """
    if isinstance(url, str) and "://" in url:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("https", "http") and parts.hostname and not parts.query
            if fits and "@" not in parts.netloc and "#" not in url and parts.port != 0:
                return OnTheWeb(url)
        except ValueError:  # of brackets or the port
            pass
        raise invalid(
            "url", url, "is not the address of a published mirror",
            give="one such as 'https://data.example.org/ruz', without a password, or a directory",
        )  # fmt: skip
    folder = as_path("url", url, "https://data.example.org/ruz").absolute()
    if not folder.is_dir():
        raise invalid("url", str(url), ": there is no such directory", give="a directory or a URL")
    return OnDisk(folder)
