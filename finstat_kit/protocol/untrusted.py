"""Untrusted bytes: JSON as values or errors that name the path, texts fit to be shown."""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress
from typing import Final

import orjson

from finstat_kit.errors import ProtocolError

_READ_OF_BODY: Final = 20_000  # bytes of a body, whose first words a message has (ours)
_TAGS: Final = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL
)


class NotJson(ValueError):
    """The bytes are not JSON: worth another attempt."""


def read_json(body: bytes, where: str = "") -> object:
    """Read JSON as the standard, RFC 8259, has it: no NaN, UTF-8 with or without BOM.

    Args:
        body: The bytes.
        where: Prefix of messages: ``id 5: ``.

    Raises:
        ProtocolError: It is nested too deeply; the standard allows a limit [RFC 8259, section 9].
        NotJson: The bytes are not JSON.
    """
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(body)
    # What orjson refuses: a BOM, long numbers; a lone surrogate is an error of its text.
    try:
        reply: object = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
        json.dumps(reply, ensure_ascii=False).encode()
    except RecursionError:
        raise broken(f"{where}$", "it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ProtocolError(f"{where}a text contains a lone surrogate") from None
    except UnicodeDecodeError:
        raise NotJson("bytes that are not UTF-8") from None
    except ValueError:
        raise NotJson("something else" if body.strip() else "an empty body") from None
    return reply


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def broken(path: str, fault: str) -> ProtocolError:
    """Return the error for a value that breaks the register's format."""
    return ProtocolError(
        f"{path}: {fault}; the reply is broken or the register's format has changed: try again, "
        "and look for a newer finstat_kit if it stays"
    )


def is_markup(body: bytes) -> bool:
    """Return whether a body is HTML or XML, as pages of outages and firewalls are."""
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"


def first_words(body: bytes) -> str:
    """Return the first words of a body for an error message, tags stripped."""
    text = _TAGS.sub(" ", body[:_READ_OF_BODY].decode("utf-8", errors="replace"))
    words = shown(" ".join(html.unescape(text).split()))
    return f": “{words}”" if words else ""


def printable(text: str, blanks: str = "\n\u00a0\u202f") -> str:
    """Return untrusted text for a picture or a page: no control characters, no marks of direction.

    Args:
        text: The text.
        blanks: Which stay: line breaks, and blanks that do not break.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in blanks else " " if c.isspace() else "?" for c in text
    )


def escape(text: str) -> str:
    """Return untrusted text as HTML that shows it."""
    return html.escape(printable(text))


def shown(text: str, most: int | None = 200) -> str:
    """Return untrusted text sanitized for a message or a terminal: printable, and truncated.

    Args:
        text: One line; line breaks in it become blanks.
        most: Maximum number of characters, None for no limit.
    """
    text = printable(text, blanks="")
    return text if most is None or len(text) <= most else text[: most - 1] + "…"
