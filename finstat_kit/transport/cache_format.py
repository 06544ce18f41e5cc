"""The format of a cache file: its tables, their rows, and the checksums of these."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from finstat_kit.errors import CacheError
from finstat_kit.protocol.wire import Reply

FIELDS: Final = "status, fetched, day, since, checked, sum, seal"
_BRATISLAVA: Final = ZoneInfo("Europe/Bratislava")


@dataclass(frozen=True)
class About:
    """The register of a file, and the settings of its recording.

    Attributes:
        register: The base URL.
        invented: Name of the invented data according to the replies; "" for none, None if not
            known yet.
        page_size: Ids per request of a list.
        today: The register's day when the newest reply was kept.
    """

    register: str
    invented: str | None
    page_size: int
    today: str = ""

    @property
    def name(self) -> str:
        """The identity of the register: the one in its replies, or its URL."""
        return self.invented or self.register


@dataclass(frozen=True)
class CacheState:
    """The content of a cache file.

    Attributes:
        file: The file.
        replies: Number of replies.
        bytes: Size of the file.
        first_day: The register's day when the oldest reply was fetched; None without replies.
        last_day: The register's day when the newest one was fetched.
    """

    file: Path
    replies: int = 0
    bytes: int = 0
    first_day: date | None = None
    last_day: date | None = None

    def __str__(self) -> str:
        days = f", {self.first_day} to {self.last_day}" if self.first_day else ""
        return f"{self.file}: {self.replies:,} replies, {self.bytes:,} bytes{days}"


class Kept(NamedTuple):
    """A cached reply, and when it was fetched: seconds since 1970, and the register's day."""

    reply: Reply
    fetched: float
    day: date


class Age(NamedTuple):
    """The age of a cached reply.

    Attributes:
        since: The register's day when it was last known to be unchanged, by the register's own
            clock and never too late; None if its replies are without a date.
        checked: The same moment in seconds since 1970, by our clock.
    """

    since: date | None
    checked: float


class Row(NamedTuple):
    """The metadata of a cached reply."""

    status: int
    fetched: float
    day: str
    since: str  # "" if unknown
    checked: float
    sum: bytes  # SHA-256 of the packed body

    def seal(self, register: str, path: str, query: str) -> bytes:
        """Return the SHA-256 of the metadata, of the key of the reply, and of its register."""
        return sha256(repr((register, path, query, *self)).encode()).digest()


def read_about(connection: sqlite3.Connection, path: Path) -> About | None:
    """Return the register and the settings of a file, None before they are written.

    Raises:
        CacheError: They were altered.
    """
    row = connection.execute("SELECT text, seal FROM about").fetchone()
    if row is None:
        return None
    text, seal = row
    if not isinstance(text, str) or sha256(text.encode()).digest() != seal:
        raise CacheError(f"the file {path} was altered; remove it and record it again")
    return About(**json.loads(text))


def write_about(connection: sqlite3.Connection, about: About) -> None:
    """Write the register and the settings of a file."""
    text = json.dumps(asdict(about))
    connection.execute(
        "INSERT OR REPLACE INTO about VALUES (1, ?, ?)", (text, sha256(text.encode()).digest())
    )


def key_of(target: str) -> tuple[str, str]:
    """Return path and sorted parameters of a request's target.

    >>> key_of("/api/sidla?b=2&a=1")
    ('/api/sidla', 'a=1&b=2')
    """
    path, _, query = target.partition("?")
    return path, urlencode(sorted(parse_qsl(query, keep_blank_values=True)))


def day_of(reply: Reply) -> date | None:
    """Return the day of a reply by its server's clock, which may differ from ours."""
    try:
        sent: datetime = parsedate_to_datetime(reply.headers.get("Date", ""))
        return sent.astimezone(_BRATISLAVA).date()
    except (ValueError, TypeError, OverflowError):
        return None
