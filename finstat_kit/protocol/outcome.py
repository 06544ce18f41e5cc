"""The outcome of a reply: a value, an error, or a temporary fault. No request is made here."""

from __future__ import annotations

import email.utils
import html
import re
from typing import TYPE_CHECKING, Final, TypeVar

from finstat_kit.errors import (
    BadRequest,
    NotFound,
    NotHeld,
    RateLimited,
    RegisterError,
    RegisterUnavailable,
)
from finstat_kit.protocol.guarded_json import NotJson
from finstat_kit.protocol.wire import NOT_HELD, Reply

if TYPE_CHECKING:
    from finstat_kit.protocol.requests import Request

T = TypeVar("T")

_LONGEST_PAUSE: Final = 1e9  # seconds; a longer Retry-After is cut to keep it readable
_RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
_WORDS_OF: Final = 20_000  # bytes of a body
_TAGS: Final = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL
)
_FIREWALL: Final = re.compile(
    r"request rejected|support id|access denied|forbidden|blocked|captcha|firewall|zablokovan",
    re.IGNORECASE,
)


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
        raise _busy(status, body, retry_after(headers.get("Retry-After"), now))
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


def retry_after(value: str | None, now: float) -> float | None:
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


def first_words(body: bytes) -> str:
    """Return the first words of a body for an error message, tags stripped."""
    text = _TAGS.sub(" ", body[:_WORDS_OF].decode("utf-8", errors="replace"))
    words = shown(" ".join(html.unescape(text).split()))
    return f": “{words}”" if words else ""


def shown(text: str, most: int | None = 200) -> str:
    """Return untrusted text sanitized for a message or a terminal: printable, and truncated.

    Args:
        text: One line; line breaks in it become blanks.
        most: Maximum number of characters, None for no limit.
    """
    printable = text
    if not text.isprintable():
        printable = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
    if most is None or len(printable) <= most:
        return printable
    return printable[: most - 1] + "…"
