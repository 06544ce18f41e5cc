"""The difficulties of filings: those that are drawn, and those that are only filed by name."""

from __future__ import annotations

from functools import cache

import msgspec

from finstat_kit.protocol.shipped import facts


class Case(msgspec.Struct, frozen=True):
    """A difficulty of a filing, which its name identifies.

    Attributes:
        share: Filings per thousand that are drawn with it.
        statement: Fields of the statement that it replaces; None leaves them out.
        report: Fields of the reports that it replaces.
        title: Fields of the title page of the reports that it replaces.
    """

    share: int = 0
    statement: dict[str, object] = {}
    report: dict[str, object] = {}
    title: dict[str, object] = {}


@cache
def all_cases() -> dict[str, Case]:
    """Return the difficulties; those with a share come first, in the order they are dealt out.

    One without fields is drawn where its name is looked up: in the period, the reports, their
    content or their cells.
    """
    return facts("cases", dict[str, Case])


def drawn_case(key: int) -> str | None:
    """Return the difficulty that is drawn for a filing, None for none."""
    number = (key >> 40) % 1000
    for name, case in all_cases().items():
        if number < case.share:
            return name
        number -= case.share
    return None
