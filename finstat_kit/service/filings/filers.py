"""Units as their filings need them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from finstat_kit.protocol.shipped import facts
from finstat_kit.service.state.population import legal_forms

_MICRO: Final = frozenset({"00", "01", "02", "03", "04", "05"})
_NOT_LARGE: Final = _MICRO | {"06", "07", "11"}
_INSURER: Final = "433"
_SELF_GOVERNMENT: Final = frozenset({"801", "803"})
_ASSOCIATIONS: Final = frozenset({"701", "721", "741"})
_PER_HEAD: Final = 45_000  # euros of revenue


class Unit(NamedTuple):
    """The properties of a unit that its filings depend on."""

    id: int
    row: int | None  # as drawn, None of a unit that was published later
    key: int
    fields: Mapping[str, object]  # of its record
    kind: str
    size: int  # revenue in 2018, about
    founded: int  # year
    cents: bool
    large: bool
    files_only: bool  # statements by international standards come as files


def unit_of(id_: int, row: int | None, key: int, fields: Mapping[str, object]) -> Unit:
    """Return the unit with the fields of a record."""
    size, form = str(fields.get("velkostOrganizacie")), str(fields.get("pravnaForma"))
    family = legal_forms().families.get(form, "business")
    heads = 2 * _employees().get(size, 1) + 1
    founded = int(str(fields.get("datumZalozenia", "2000"))[:4])
    revenue = heads * _PER_HEAD // 2 * (400 + (key >> 8) % 1_200) // 1000
    large = family == "business" and size in _employees() and size not in _NOT_LARGE
    return Unit(
        id_,
        row,
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
