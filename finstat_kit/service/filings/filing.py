"""A filing: a statement with its reports, and what follows from its key alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

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
