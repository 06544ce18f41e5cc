"""Units as their filings need them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from finstat_kit.protocol.shipped import facts
from finstat_kit.service.filings.figures import form_of
from finstat_kit.service.filings.filing import EXTRAORDINARY, OLD_FORMS, Filing

_PUBLIC_BODIES: Final = frozenset({"301", "321", "331", "343", "801", "803"})  # file cents
_SHORT_PERIODS: Final = ("short_period", "no_kind_short")  # the last six months of the year
_LAST_MONTH: Final = 12 * 9_999 + 11
_SMALL: Final = frozenset({"00", "01", "02", "03", "04", "05"})
_PER_HEAD: Final = 45_000  # euros of revenue


class Unit(NamedTuple):
    """The properties of a unit that its filings depend on."""

    key: int
    fields: Mapping[str, object]
    kind: str
    size: int  # revenue in 2018, about
    founded: int  # year
    cents: bool


def unit_of(fields: Mapping[str, object], key: int) -> Unit:
    """Return the unit with the fields of a record."""
    size, form = str(fields.get("velkostOrganizacie")), fields.get("pravnaForma")
    heads = 2 * _employees().get(size, 1) + 1
    public = form in _PUBLIC_BODIES
    small = size in _SMALL and not public and key % 4 != 0
    founded = int(str(fields.get("datumZalozenia", "2000"))[:4])
    revenue = heads * _PER_HEAD // 2 * (400 + (key >> 8) % 1_200) // 1000
    return Unit(key, fields, "micro" if small else "large", revenue, founded, public)


@cache
def _employees() -> dict[str, int]:
    """Return about how many people work in a unit of each size class."""
    return facts("employees", dict[str, int])


def tabular(unit: Unit, filing: Filing) -> tuple[int, ...]:
    """Return the templates of the reports that have tables."""
    return tuple(template for template, _ in form_of(kind_of(unit, filing)).plan.forms)


def kind_of(unit: Unit, filing: Filing) -> str:
    """Return the kind of forms that a filing is made on."""
    return "old" if filing.year <= OLD_FORMS else unit.kind


def period_of(filing: Filing, unit: Unit) -> tuple[int, int]:
    """Return the first and the last month of a filing, counted from the year 0."""
    first, last = _period(filing, unit)
    if filing.case in _SHORT_PERIODS:
        return last - 5, last
    return first, _LAST_MONTH if filing.case == "year_9999" else last


def _period(filing: Filing, unit: Unit) -> tuple[int, int]:
    first = 12 * filing.year
    if filing.role == EXTRAORDINARY:
        return first, first + 5
    if unit.key >> 24 & 31 == 0:  # a fiscal year from October to September
        return first - 3, first + 8
    if unit.founded == filing.year:
        return first + int(str(unit.fields["datumZalozenia"])[5:7]) - 1, first + 11
    return first, first + 11
