"""Which items a call means: by their names, by ratios made of them, or by a family of forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from finstat_kit import arguments
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.financials import items, ratios


def chosen(
    selection: str | Sequence[str] | None, family: str | Sequence[str] | None = None
) -> list[str]:
    """Return the names that the arguments *items* and *family* mean; None means all.

    A ratio brings the items that it is computed from.

    Raises:
        UsageError: There is no such item or family, or both are given.
    """
    if family is not None:
        if selection is not None:
            raise UsageError("give either items or family")
        families = arguments.names("family", family)
        for name in families:
            arguments.one_of("family", name, get_args(items.Family))
        return items.of_families(families)
    if selection is None:
        return items.names()
    wanted: list[str] = []
    for name in arguments.names("items", selection):
        if name in ratios.NAMES:
            wanted += [column for column in ratios.columns_of(name) if column in items.names()]
        elif name in items.names():
            wanted.append(name)
        else:
            near = _with_words(name) or arguments.near(name, (*items.names(), *ratios.NAMES))
            cure = f"{near}fk.items() lists them, and fk.ratios() the ratios of them"
            raise invalid("items", name, "is not an item", cure=cure)
    return list(dict.fromkeys(wanted))


def _with_words(text: str) -> str:
    """Return a hint of the items that `items.items` has for a text, "" without any."""
    similar = items.items(text)["item"].head(3).to_list() if any(map(str.isalnum, text)) else []
    return f"did you mean {', '.join(map(repr, similar))}? " if similar else ""
