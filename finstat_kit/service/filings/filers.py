"""Units as their filings need them, and the difficulties of filings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from finstat_kit.service.filings.cases import CASES
from finstat_kit.service.filings.drawn import EXTRAORDINARY, OLD_FORMS, Filing
from finstat_kit.service.filings.figures import form_of, mixed
from finstat_kit.service.state.store import Store

Json = dict[str, object]

_PUBLIC_BODIES: Final = frozenset({"301", "321", "331", "343", "801", "803"})  # file cents
_SHORT_PERIODS: Final = ("short_period", "no_kind_short")  # the last six months of the year
_LAST_MONTH: Final = 12 * 9_999 + 11
_SMALL: Final = frozenset({"00", "01", "02", "03", "04", "05"})
# About how many work in a unit of a size class.
_EMPLOYEES: Final = {
    "00": 1, "01": 0, "02": 1, "03": 2, "04": 3, "05": 7, "06": 14, "07": 22, "11": 35, "12": 70,
    "21": 120, "22": 170, "23": 220, "24": 350, "25": 700, "31": 1_400, "32": 2_400, "33": 3_400,
    "34": 4_400, "35": 7_000, "36": 14_000, "37": 24_000, "38": 32_000,
}  # fmt: skip
_MOST_KEPT: Final = 256
_PER_HEAD: Final = 45_000  # euros of revenue


class Unit(NamedTuple):
    """The properties of a unit that its filings depend on."""

    key: int
    fields: Mapping[str, object]
    kind: str
    size: int  # revenue in 2018, about
    founded: int  # year
    cents: bool


def unit_of(store: Store, filing: Filing) -> Unit:
    """Return who made a filing, as it was drawn."""
    filings = store.filings
    assert filings is not None
    if filing.row is None:
        return _described(filings.later_unit(filing), mixed(filings.seed, 8, filing.unit))
    # Its reports are requested one after the other.
    kept = filings.drawn.kept
    found = kept.get(filing.row)
    if not isinstance(found, Unit):
        fields = filings.drawn.origin.living(filing.unit, filing.row)
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[filing.row] = _described(fields, mixed(filings.seed, 7, filing.row))
    return found


def _described(fields: Mapping[str, object], key: int) -> Unit:
    size, form = str(fields.get("velkostOrganizacie")), fields.get("pravnaForma")
    heads = 2 * _EMPLOYEES.get(size, 1) + 1
    public = form in _PUBLIC_BODIES
    small = size in _SMALL and not public and key % 4 != 0
    founded = int(str(fields.get("datumZalozenia", "2000"))[:4])
    revenue = heads * _PER_HEAD // 2 * (400 + (key >> 8) % 1_200) // 1000
    return Unit(key, fields, "micro" if small else "large", revenue, founded, public)


def case_of(filing: Filing) -> str | None:
    """Return the difficulty of a filing, None if it has none."""
    if filing.case:
        return filing.case
    number = (filing.key >> 40) % 1000
    for name, case in CASES.items():
        if number < case.share:
            return name
        number -= case.share
    return None


def tabular(unit: Unit, filing: Filing) -> tuple[int, ...]:
    """Return the templates of the reports that have tables."""
    return tuple(template for template, _ in form_of(kind_of(unit, filing)).plan.forms)


def kind_of(unit: Unit, filing: Filing) -> str:
    """Return the kind of forms that a filing is made on."""
    return "old" if filing.year <= OLD_FORMS else unit.kind


def period_of(filing: Filing, unit: Unit) -> tuple[int, int]:
    """Return the first and the last month of a filing, counted from the year 0."""
    first, last = _period(filing, unit)
    case = case_of(filing)
    if case in _SHORT_PERIODS:
        return last - 5, last
    return first, _LAST_MONTH if case == "year_9999" else last


def _period(filing: Filing, unit: Unit) -> tuple[int, int]:
    first = 12 * filing.year
    if filing.role == EXTRAORDINARY:
        return first, first + 5
    if unit.key >> 24 & 31 == 0:  # a fiscal year from October to September
        return first - 3, first + 8
    if unit.founded == filing.year:
        return first + int(str(unit.fields["datumZalozenia"])[5:7]) - 1, first + 11
    return first, first + 11
