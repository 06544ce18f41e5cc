"""Decoding of a reply: its headers, and its body with the Content-Encoding undone."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable
from typing import Final

from finstat_kit.errors import ProtocolError, TransportError
from finstat_kit.protocol.untrusted import shown
from finstat_kit.protocol.wire import Reply

ERROR_CAP: Final = 2**16  # bytes read of an error's body: its status is what matters
_PLAIN: Final = ("", "identity")
_GZIP: Final = ("gzip", "x-gzip")


def reply(status: int, raw_headers: Iterable[tuple[bytes, bytes]], raw: bytes, cap: int) -> Reply:
    """Return a reply with its body unpacked: the status decides how strictly."""
    named = headers(raw_headers)
    unpack = unpacked if status == 200 else readable
    return Reply(status, named, unpack(raw, named.get("Content-Encoding", ""), cap))


def headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name, capitalized as ``Content-Type``; a repeated one holds all values."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("ascii").title(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def readable(body: bytes, encoding: str, cap: int) -> bytes:
    """Return the readable part of an error's body: its status is what matters."""
    if encoding.lower() in _PLAIN:
        return body
    if encoding.lower() in _GZIP:
        with contextlib.suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(body, min(cap, ERROR_CAP))
    return b""


def unpacked(body: bytes, encoding: str, cap: int) -> bytes:
    """Return the body with its Content-Encoding undone, whole, or raise an error."""
    if encoding.lower() in _PLAIN:
        return body
    if encoding.lower() not in _GZIP:
        raise TransportError(f"the body is packed as {shown(encoding)}, which was not requested")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, cap + 1)
    except zlib.error as error:
        raise TransportError(f"the gzip body is broken ({error})") from error
    if len(unpacked) > cap:
        raise too_large(cap)
    if not unpacker.eof or unpacker.unused_data:
        raise TransportError("the gzip body is truncated or followed by other bytes")
    return unpacked


def too_large(cap: int) -> ProtocolError:
    """Return the error for a body larger than the maximum."""
    return ProtocolError(
        f"the body is larger than {cap // 2**20} MiB, more than any reply of the register; "
        "check the base URL"
    )
