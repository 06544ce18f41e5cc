"""Units as their filings need them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from finstat_kit.protocol.shipped import facts
from finstat_kit.service.filings.figures import plan_of
from finstat_kit.service.filings.filing import EXTRAORDINARY, TWIN, Filing, case_of
from finstat_kit.service.state.population import legal_forms

_LAST_MONTH: Final = 12 * 9_999 + 11
_MICRO: Final = frozenset({"00", "01", "02", "03", "04", "05"})
_NOT_LARGE: Final = _MICRO | {"06", "07", "11"}
_INSURER: Final = "433"
_SELF_GOVERNMENT: Final = frozenset({"801", "803"})
_ASSOCIATIONS: Final = frozenset({"701", "721", "741"})
_TRADERS_FORM: Final = 716
_PER_HEAD: Final = 45_000  # euros of revenue


class Unit(NamedTuple):
    """The properties of a unit that its filings depend on."""

    key: int
    fields: Mapping[str, object]
    kind: str
    size: int  # revenue in 2018, about
    founded: int  # year
    cents: bool
    large: bool
    files_only: bool  # statements by international standards come as files


def unit_of(fields: Mapping[str, object], key: int) -> Unit:
    """Return the unit with the fields of a record."""
    size, form = str(fields.get("velkostOrganizacie")), str(fields.get("pravnaForma"))
    family = legal_forms().families.get(form, "business")
    heads = 2 * _employees().get(size, 1) + 1
    founded = int(str(fields.get("datumZalozenia", "2000"))[:4])
    revenue = heads * _PER_HEAD // 2 * (400 + (key >> 8) % 1_200) // 1000
    large = family == "business" and size in _employees() and size not in _NOT_LARGE
    return Unit(
        key,
        fields,
        _kind(family, form, size, key),
        revenue,
        founded,
        cents=family == "public",
        large=large,
        files_only=form == _INSURER or (large and key % 3 == 0),
    )


def _kind(family: str, form: str, size: str, key: int) -> str:
    """Return the plan that a unit files by today, or ``trader``, whose filings are not public."""
    if family == "public":
        return "municipality" if form in _SELF_GOVERNMENT else "organisation"
    if family == "non_profit":
        return "single_entry" if form in _ASSOCIATIONS and key % 5 < 3 else "non_profit"
    if family == "trader":
        return family
    # Some small ones file the form of those that are not.
    return "micro" if (size in _MICRO or size == "None") and key % 17 != 10 else "large"


@cache
def _employees() -> dict[str, int]:
    """Return about how many people work in a unit of each size class."""
    return facts("employees", dict[str, int])


def tabular(unit: Unit, filing: Filing) -> tuple[int, ...]:
    """Return the templates of the reports that have tables."""
    if unit.kind == "trader":
        return (_TRADERS_FORM,)
    return tuple(template for template, _ in plan_of(kind_of(unit, filing)).forms)


def kind_of(unit: Unit, filing: Filing) -> str:
    """Return the kind of forms that a filing is made on."""
    kind = unit.kind
    if filing.role == TWIN and unit.cents:
        kind = "consolidated"
    while filing.year < (plan := plan_of(kind)).since and plan.before is not None:
        kind = plan.before
    return kind


def period_of(filing: Filing, unit: Unit) -> tuple[int, int]:
    """Return the first and the last month of a filing, counted from the year 0."""
    first, last = _period(filing, unit)
    period = case_of(filing).period
    if period == "short":
        return last - 5, last
    return first, _LAST_MONTH if period == "endless" else last


def _period(filing: Filing, unit: Unit) -> tuple[int, int]:
    january = 12 * filing.year
    if filing.role == EXTRAORDINARY:
        return january, january + 5
    if unit.key >> 24 & 31 == 0:  # a fiscal year from October to September
        return january - 3, january + 8
    if unit.founded == filing.year:
        return january + int(str(unit.fields["datumZalozenia"])[5:7]) - 1, january + 11
    return january, january + 11
