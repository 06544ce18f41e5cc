"""What a request of each endpoint needs, and what its reply is: a value, or which fault.

No request is made here.
"""

from __future__ import annotations

import email.utils
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

import polars as pl

from finstat_kit.errors import (
    BadRequest,
    NotFound,
    NotHeld,
    RateLimited,
    RegisterError,
    RegisterUnavailable,
)
from finstat_kit.protocol import codelists, forms, paging, wire
from finstat_kit.protocol.forms import Form
from finstat_kit.protocol.paging import Page, Query, check
from finstat_kit.protocol.records import Kind, Record
from finstat_kit.protocol.untrusted import NotJson, first_words, shown
from finstat_kit.protocol.wire import NOT_HELD, Reply

T = TypeVar("T")
R = TypeVar("R", bound=Record)
_LONGEST_PAUSE: Final = 1e9  # seconds; a longer Retry-After is cut to keep it readable
_RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
_FIREWALL: Final = re.compile(
    r"request rejected|support id|access denied|forbidden|blocked|captcha|firewall|zablokovan",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One GET.

    Attributes:
        path: Below the base URL.
        parameters: As the register spells them.
        read: Makes the value of a good reply's body; raises ProtocolError or NotJson.
        cap: Maximum number of bytes of a body, unpacked.
    """

    path: str
    read: Callable[[bytes], T]
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    cap: int = wire.PAGE_CAP

    @property
    def target(self) -> str:
        """Path and query as sent."""
        return self.path + ("?" + urlencode(self.parameters) if self.parameters else "")


def page(query: Query, before: int = 0) -> Request[Page]:
    """Return the request of a page, whose reply is checked; *before* ids of the walk precede it."""

    def read(body: bytes) -> Page:
        found = paging.parse_page(body)
        check(query, found, before)
        return found

    return Request(f"/api/{query.endpoint}", read, query.parameters())


def count(query: Query) -> Request[int]:
    """Return the request of the number of ids of a walk."""
    parameters = query.parameters()
    del parameters[wire.PAGE_SIZE]
    return Request(f"/api/{wire.COUNTS}/{query.endpoint}", paging.parse_count, parameters)


def record(kind: Kind[R], id_: int) -> Request[R]:
    """Return the request of one record."""
    return Request(kind.path, lambda body: kind.read(body, id_), {"id": id_})


def templates() -> Request[tuple[list[Form], bool]]:
    """Return the request of the list of templates."""
    return Request(f"/api/{wire.TEMPLATES}", forms.parse_templates, cap=wire.CODELIST_CAP)


def template(id_: int) -> Request[Form]:
    """Return the request of a template."""
    return Request(
        f"/api/{wire.TEMPLATE}", lambda body: forms.parse_template(body, id_), {"id": id_}
    )


def attachment(id_: int, cap: int) -> Request[bytes]:
    """Return the request of a file, whose bytes are not decoded."""
    return Request(f"/{wire.ATTACHMENT}/{id_}", bytes, cap=cap)


def codelist(of: wire.Codelist) -> Request[pl.DataFrame]:
    """Return the request of a codelist."""
    read = codelists.parse_locations if of.located else codelists.parse_classification
    return Request(f"/api/{of.endpoint}", read, cap=wire.CODELIST_CAP)


class MayPass(Exception):
    """A temporary fault, worth another attempt.

    Attributes:
        error: The error to raise if no further attempt is made.
        retry_after: Pause in seconds that the register asked for, None without one.
        pressing: Whether it asked for fewer requests from all connections.
        unreachable: Whether no connection could be made.
    """

    def __init__(
        self,
        error: RegisterError,
        retry_after: float | None = None,
        *,
        pressing: bool = False,
        unreachable: bool = False,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.retry_after = retry_after
        self.pressing = pressing
        self.unreachable = unreachable


def value_of(request: Request[T], reply: Reply, now: float) -> T:
    """Return the value of a good reply.

    Args:
        request: The request that was answered.
        reply: Status, headers and body, unpacked.
        now: Seconds since 1970, to compare with a Retry-After date.

    Raises:
        MayPass: A temporary fault.
        RegisterError: A permanent one.
    """
    status, headers, body = reply
    if status == 503 and NOT_HELD in headers:
        raise NotHeld(f"not_held: the mirror at this address does not hold it{first_words(body)}")
    if status in _RETRIED:
        raise _busy(status, body, seconds_to_wait(headers.get("Retry-After"), now))
    if status == 403 or (status == 200 and body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"):
        raise _page_of_html(status, body)
    if status != 200:
        raise _refusal(status, headers.get("Location", "nowhere"), body)
    try:
        return request.read(body)
    except NotJson as error:
        broken = RegisterUnavailable(
            f"expected JSON, got {error}{first_words(body)}; try later", status=status
        )
        raise MayPass(broken) from error


def _busy(status: int, body: bytes, retry_after: float | None) -> MayPass:
    if status == 429:
        limited = RateLimited("the register requires fewer requests (429)", retry_after=retry_after)
        return MayPass(limited, retry_after, pressing=True)
    unavailable = RegisterUnavailable(
        f"the register answers {status}{first_words(body)}; this is often temporary: try later",
        status=status,
    )
    return MayPass(unavailable, retry_after, pressing=status == 503)


def _page_of_html(status: int, body: bytes) -> RegisterUnavailable:
    words = first_words(body)
    blocked = status == 403 or bool(_FIREWALL.search(words))
    cure = (
        "probably a firewall: wait, further requests prolong a ban"
        if blocked
        else "most likely an outage page: try later"
    )
    return RegisterUnavailable(
        f"the register sent a page of HTML under status {status}{words}; {cure}"
        if body
        else f"the register refuses this machine ({status}); {cure}",
        blocked=blocked,
        status=status,
    )


def _refusal(status: int, place: str, body: bytes) -> RegisterError:
    if 300 <= status < 400:
        return RegisterUnavailable(
            f"the register redirects to {shown(place)}, which is not followed; if the register has "
            "moved, give its new base URL",
            status=status,
        )
    if status == 404:
        return NotFound("the register has nothing at this address (404)")
    if 400 <= status < 500:
        return BadRequest(f"the register refuses the request ({status}){first_words(body)}")
    return RegisterUnavailable(
        f"expected status 200, got {status}{first_words(body)}", status=status
    )


def seconds_to_wait(value: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After header, None if it is not usable."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]+", value.strip(), re.ASCII):
        return min(float(value), _LONGEST_PAUSE)
    try:
        moment: float = email.utils.parsedate_to_datetime(value).timestamp()
        return max(moment - now, 0.0)
    except (ValueError, OverflowError):
        return None
