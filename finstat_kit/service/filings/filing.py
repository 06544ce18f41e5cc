"""A filing: a statement with its reports, what follows from its key, and its difficulty."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

import msgspec

from finstat_kit.protocol.shipped import facts

FIRST_YEAR: Final = 2010
OLD_FORMS: Final = 2013  # the last year in which businesses file two reports
MOST_REPORTS: Final = 4
MAIN, CORRECTION, TWIN, EXTRAORDINARY = range(4)
# Shift and mask of the bits of a key that are zero where a statement has notes, an auditor's
# report, a notice of approval.
EXTRAS: Final = ((16, 1), (18, 15), (22, 7))
_NO_FIELDS: Final[Mapping[str, object]] = {}


class Filing(NamedTuple):
    """A statement: of which unit, for which year, in which role, filed when.

    Attributes:
        slot: Its place among all.
        unit: Id of the unit.
        row: The unit's row as drawn, None for a unit that was published later.
        year: Accounting year.
        role: ``MAIN``, ``CORRECTION``, ``TWIN`` or ``EXTRAORDINARY``.
        key: 64 bits from which the rest of it is drawn.
        day: Day of filing, days since 2000-01-01.
        changed: Day of the last change.
        reports: How many reports it has.
        annual: Whether an annual report came with it.
        case: The name of its difficulty, None for none.
        fields: Of a unit that was published later: the fields of its record on the day of filing.
    """

    slot: int
    unit: int
    row: int | None
    year: int
    role: int
    key: int
    day: int
    changed: int
    reports: int
    annual: bool = False
    case: str | None = None
    fields: Mapping[str, object] = _NO_FIELDS


def extras(key: int) -> tuple[bool, bool, bool]:
    """Return whether notes, an auditor's report and a notice of approval come with a statement."""
    notes, auditor, notice = ((key >> shift) & mask == 0 for shift, mask in EXTRAS)
    return notes, auditor, notice


class Case(msgspec.Struct, frozen=True):
    """A difficulty of a filing, which its name identifies.

    Attributes:
        share: Filings per thousand that are drawn with it.
        statement: Fields of the statement that it replaces; None leaves them out.
        report: Fields of the reports that it replaces.
        title: Fields of the title page of the reports that it replaces.
        state: Of the records, which have no other fields then.
        access: Of the reports.
        period: ``short``, the last six months of the year, or ``endless``.
        owner: What the record names another of: the ``unit`` of the statement, or the ``statement``
            of the report.
        more: How many more reports than a statement of the year has.
        twice: The first report is filed twice, with ``other`` or ``equal`` figures.
        content: What a report has: ``attachments`` or ``none`` for no content, ``empty``, the
            ``title`` page alone, with an empty list of tables too (``no_tables``), or one with
            ``texts`` for booleans.
        cells: How its tables differ: a ``sum`` is wrong, all are ``blank`` but those of the
            ``previous`` year, these are ``restated``, or one is ``not_a_number``.
    """

    share: int = 0
    statement: dict[str, object] = {}
    report: dict[str, object] = {}
    title: dict[str, object] = {}
    state: str = ""
    access: str = "Verejné"
    period: str = ""
    owner: str = ""
    more: int = 0
    twice: str = ""
    content: str = ""
    cells: str = ""


@cache
def all_cases() -> dict[str, Case]:
    """Return the difficulties; those with a share come first, in the order they are dealt out."""
    return facts("cases", dict[str, Case])


_NO_CASE: Final = Case()


def case_of(filing: Filing) -> Case:
    """Return the difficulty of a filing, one that changes nothing where it has none."""
    return all_cases()[filing.case] if filing.case else _NO_CASE


def drawn_case(key: int) -> str | None:
    """Return the difficulty that is drawn for a filing, None for none."""
    number = (key >> 40) % 1000
    for name, case in all_cases().items():
        if number < case.share:
            return name
        number -= case.share
    return None
