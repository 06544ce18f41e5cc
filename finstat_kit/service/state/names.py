"""Invented names and streets, drawn from a number."""

from __future__ import annotations

from functools import cache

import msgspec

from finstat_kit.protocol.shipped import facts


class _Names(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    nouns: tuple[str, ...]
    streets: tuple[str, ...]
    suffixes: dict[str, str]  # by legal form


@cache
def _names() -> _Names:
    return facts("names", _Names)


def unit_name(key: int, legal_form: str | None) -> str:
    """Return an invented name that reads as one: "Vzor Javor 417, s. r. o."."""
    names = _names()
    word, noun = names.words[key % len(names.words)], names.nouns[key // 5 % len(names.nouns)]
    number = 100 + key // 150 % 900
    if legal_form == "801":
        return f"Obec {word} {number}"
    return f"{word} {noun} {number}{names.suffixes.get(legal_form or '', '')}"


def street(key: int) -> str | None:
    """Return an invented street with a number, None for one unit of twenty."""
    streets = _names().streets
    return f"{streets[key % len(streets)]} {1 + key % 97}" if key % 20 else None
