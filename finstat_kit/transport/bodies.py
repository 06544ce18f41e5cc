"""What a reply's bytes mean: its headers, and its body behind the Content-Encoding."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable
from typing import Final

from finstat_kit.errors import ProtocolError, TransportError
from finstat_kit.protocol.outcome import shown
from finstat_kit.protocol.wire import Reply

ERROR_CAP: Final = 2**16  # bytes read of a body whose status says all that matters
_PLAIN: Final = ("", "identity")
_GZIP: Final = ("gzip", "x-gzip")


def reply(status: int, raw_headers: Iterable[tuple[bytes, bytes]], raw: bytes, cap: int) -> Reply:
    """Return a reply whose body is unpacked: the status decides how much of it has to be right."""
    named = headers(raw_headers)
    unpack = unpacked if status == 200 else readable
    return Reply(status, named, unpack(raw, named.get("Content-Encoding", ""), cap))


def headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by their names, as in ``Content-Type``; a repeated one holds all values."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("ascii").title(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def readable(body: bytes, encoding: str, cap: int) -> bytes:
    """Return what can be read of an error's body: its status says all that matters."""
    if encoding.lower() in _PLAIN:
        return body
    if encoding.lower() in _GZIP:
        with contextlib.suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(body, min(cap, ERROR_CAP))
    return b""


def unpacked(body: bytes, encoding: str, cap: int) -> bytes:
    """Return the body behind its Content-Encoding: the whole of it, or an error."""
    if encoding.lower() in _PLAIN:
        return body
    if encoding.lower() not in _GZIP:
        raise TransportError(f"the body is packed as {shown(encoding)}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, cap + 1)
    except zlib.error as error:
        raise TransportError(f"the gzip body is broken ({error})") from error
    if len(unpacked) > cap:
        raise too_large(cap)
    if not unpacker.eof or unpacker.unused_data:
        raise TransportError("the gzip body is cut short or followed by something else")
    return unpacked


def too_large(cap: int) -> ProtocolError:
    """Return the error of a body beyond its cap."""
    return ProtocolError(
        f"the body is larger than {cap // 2**20} MiB, more than the register can mean; was the "
        "base URL meant?"
    )
