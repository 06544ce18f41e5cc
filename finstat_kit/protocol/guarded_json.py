"""JSON of untrusted bytes: read strictly and in bounded memory, with errors that name the place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

import orjson

from finstat_kit.errors import ProtocolError


class NotJson(ValueError):
    """The bytes are not JSON: worth another attempt."""


def fast_json(body: bytes) -> object:
    """Read JSON as `strict_json` does, faster for one flat object without texts."""
    try:
        reply: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return strict_json(body)
    # Two quotes per key and no others: then no key is repeated. Otherwise the slow reader decides.
    if type(reply) is dict and body.count(b'"') == 2 * len(reply):
        return reply
    return strict_json(body)


def strict_json(body: bytes, where: str = "") -> object:
    """Read JSON as the standard has it: no NaN, no repeated keys, UTF-8 with or without BOM."""
    try:
        text = body.decode("utf-8-sig")
        reply: object = _DECODER.decode(text)
        if "\\u" in text:  # only an escape can contain a lone surrogate, which no frame accepts
            json.dumps(reply, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ProtocolError(f"{where}a text holds half a letter (a lone surrogate)") from None
    except UnicodeDecodeError:
        raise NotJson("bytes that are no UTF-8") from None
    except RecursionError:
        raise NotJson("endless nesting") from None
    except _RepeatedKey as error:
        key = error.args[0]
        raise ProtocolError(f"{where}the key {short(key)} stands twice in one object") from None
    except ValueError:
        raise NotJson("something else" if body.strip() else "an empty body") from None
    return reply


def refuse_crowded(body: bytes, most: int, marks: Sequence[bytes] = (b'"', b"[", b"{")) -> None:
    """Refuse a reply with more texts, lists and objects than is plausible, before building them.

    Three bytes of input take a hundred times their size in memory, and deeply nested ones take
    long to free.
    """
    found = sum(map(body.count, marks))
    if found > most:
        raise ProtocolError(
            f"$: a reply with {found:,} texts, lists and objects or what looks like them; the "
            f"register sends fewer than {most:,}: was its base URL meant?"
        )


def at_most_one(body: bytes, mark: bytes) -> bool:
    """Return whether a byte occurs in a reply no more than once."""
    # Searching for a second one takes a tenth of the time of counting.
    return body.find(mark, body.find(mark) + 1) < 0


def object_at(reply: object, where: str = "", *, path: str = "$") -> dict[str, object]:
    """Return a JSON value that is an object; refuse any other.

    Args:
        reply: The value.
        where: Prefix of messages: ``id 5: ``.
        path: JSON path of the value in the reply.
    """
    if type(reply) is not dict:
        raise broken(where + path, "an object", reply)
    return reply


def broken(path: str, expected: str, got: object, present: bool = True) -> ProtocolError:
    """Return the error for a value that breaks the register's format."""
    seen = f"got {short(got)}" if present else "it is missing"
    return ProtocolError(
        f"{path}: expected {expected}, {seen}; the reply is broken or the register's format has "
        "changed: try again, and look for a newer finstat_kit if it stays"
    )


def short(value: object) -> str:
    """Return a value for a message: lists and objects by their size, as they may be deep."""
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "an object"
        return f"{kind} of {len(value)}" if value else f"{kind} that is empty"
    text = repr(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:79] + "…"


class _RepeatedKey(ValueError):
    pass


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKey(next(key for key, count in counts.items() if count > 1))
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
