"""The lists and counts of the register once more: slow, obvious, sharing nothing with the other.

What it says is written down from the specification and the rules chosen where that is open; both
must answer every request alike.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

DIGITS = set("0123456789")
LETTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
WRONG = 400, None  # the reason is the service's own


class Unit(NamedTuple):
    id: int
    day: date
    ico: str = "00000001"
    dic: str = "2020000001"
    form: str = "112"
    gone: bool = False


def answer(
    units: list[Unit], query: str, *, count: bool, filters: bool, strict: bool
) -> tuple[int, object]:
    """Return status and body; the body is None where its text is not specified."""
    pairs = [part.partition("=")[::2] for part in query.split("&") if part]
    try:
        given = [(decoded(name), decoded(value)) for name, value in pairs]
    except ValueError:
        return WRONG
    asked = dict(given)
    known = ["zmenene-od", "max-zaznamov", "pokracovat-za-id"]
    known += ["ico", "dic", "pravna-forma"] if filters else []
    if len(asked) < len(given) or (strict and set(asked) - set(known)):
        return WRONG
    asked = {name: value for name, value in asked.items() if name in known}
    if strict and "zmenene-od" not in asked:
        return WRONG
    since = day(asked.get("zmenene-od", "0001-01-01"))
    size, after = (
        whole(asked.get("max-zaznamov", "1000")),
        whole(asked.get("pokracovat-za-id", "0")),
    )
    if since is None or not size or (strict and size > 10_000) or after is None:
        return WRONG
    for name, value in asked.items():
        if name in ("ico", "dic") and whole(value) is None:
            return WRONG
        if name == "pravna-forma" and not (set(value) <= DIGITS | LETTERS and 0 < len(value) < 13):
            return WRONG
    matching = sorted(
        unit.id
        for unit in units
        if unit.day >= since
        and unit.id > after
        and (asked.get("ico", unit.ico), asked.get("dic", unit.dic)) == (unit.ico, unit.dic)
        and asked.get("pravna-forma", unit.form) == unit.form
        and not (unit.gone and {"ico", "dic", "pravna-forma"} & set(asked))
    )
    if count:
        return 200, {"pocetZostavajucichId": len(matching)}
    ids = matching[: min(size, 10_000)]
    page = {"id": ids, "existujeDalsieId": len(matching) > len(ids)}
    if strict and not ids:
        del page["id"]
    return 200, page


def decoded(text: str) -> str:
    """Undo the escapes of a query, or raise ValueError."""
    text.encode("ascii")
    return unquote_to_bytes(text.replace("+", " ")).decode()


def whole(text: str) -> int | None:
    """Read ASCII digits as a number; None if it is none."""
    return int(text) if set(text) <= DIGITS and 1 <= len(text) <= 100 else None


def day(text: str) -> date | None:
    """Read ``YYYY-MM-DD``, with or without ``Thh:mm:ssZ``; None if it is no day."""
    plain = "".join("9" if c in DIGITS else c for c in text)
    if plain not in ("9999-99-99", "9999-99-99T99:99:99Z"):
        return None
    if text[11:13] > "23" or text[14:16] > "59" or text[17:19] > "59":
        return None
    try:
        return date(int(text[:4]), int(text[5:7]), int(text[8:10]))
    except ValueError:
        return None
