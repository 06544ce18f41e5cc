"""The tables of a report: this year's figures beside those of the year before."""

from __future__ import annotations

from typing import Final

import numpy as np

from finstat_kit.service.filings.figures import Plan, Year, form_of, mixed, plan_of
from finstat_kit.service.filings.filers import Unit, kind_of
from finstat_kit.service.filings.filing import CORRECTION, EXTRAORDINARY, TWIN, Filing
from finstat_kit.service.filings.filings import Filings
from finstat_kit.service.state.line import Ints
from finstat_kit.service.state.store import Json

_MAIN, _RESTATED, _CORRECTED, _CONSOLIDATED, _SHORT, _SECOND = range(6)
_VARIANTS: Final = {CORRECTION: _CORRECTED, TWIN: _CONSOLIDATED, EXTRAORDINARY: _SHORT}


def tables_of(
    filings: Filings, filing: Filing, unit: Unit, template: int, *, again: bool = False
) -> list[Json]:
    """Return the tables of a report on a template, as a reply has them.

    A report *again* on the same template has other figures.
    """
    form = form_of(kind_of(unit, filing))
    years = _years(filings, filing, unit, again=again)
    place = [number for number, _ in form.plan.forms].index(template)
    found: list[Json] = []
    for number, table in enumerate(form.tables(place, *form.draw(unit.key, *years))):
        values = table.values
        if filing.case == "sum" and place == 0 and number == 1:
            # Neither total nor profit, which other tables have too.
            row = table.sums[1 + filing.key % (len(table.sums) - 1)]
            values[row, 0] += 1 + filing.key % 900
        elif filing.case == "previous_only":
            values = values * table.previous
        elif filing.case == "all_blank":
            values = np.zeros_like(values)
        cells = _written(values, filing, cents=unit.cents)
        if filing.case == "not_a_number" and place == number == 0:
            cells[values.shape[1] - 2] = "1e3"  # of the total assets
        found.append({"nazov": table.name, "data": cells})
    return found


def owes_more(filings: Filings, filing: Filing) -> bool:
    """Return whether a public filing with tables shows more liabilities than assets."""
    unit = filings.unit_of(filing)
    if filing.case is not None or unit.kind == "trader":
        return False
    form = form_of(kind_of(unit, filing))
    return form.equity(form.draw(unit.key, *_years(filings, filing, unit))[0]) < 0


def _years(filings: Filings, filing: Filing, unit: Unit, *, again: bool = False) -> list[Year]:
    """Return the year of a filing, and the one before if the unit was there."""
    plan = plan_of(kind_of(unit, filing))
    variant = _SECOND if again else _VARIANTS.get(filing.role, _MAIN)
    years = [_year(unit, plan, filing.year, variant)]
    if unit.founded < filing.year:
        former = _MAIN
        if filing.case == "restated":
            former = _RESTATED
        elif variant == _CONSOLIDATED:
            former = _CONSOLIDATED
        elif filings.was_corrected_before(filing):
            former = _CORRECTED
        years.append(_year(unit, plan, filing.year - 1, former))
    return years


def _year(unit: Unit, plan: Plan, year: int, variant: int) -> Year:
    growth = unit.size * (60 + 4 * (year - 2008)) // 100
    revenue = growth * (850 + mixed(unit.key, year) % 300) // 1000
    revenue *= (3 if variant == _CONSOLIDATED else 1) * (100 if unit.cents else 1)
    if variant == _SHORT:
        revenue //= 2
    total = revenue * (plan.wealth[0] + (unit.key >> 16) % plan.wealth[1]) // 1000
    return Year(mixed(unit.key, year, variant), revenue, total)


def _written(values: Ints, filing: Filing, *, cents: bool) -> list[str]:
    flat = values.ravel()
    cells = [""] * len(flat)
    # Most are blank.
    filled = np.flatnonzero(flat)
    for place, value in zip(filled.tolist(), flat[filled].tolist(), strict=True):
        cells[place] = f"{value / 100:.2f}" if cents else str(value)
    if filing.case not in ("all_blank", "previous_only"):
        # A zero is written now and then where most leave a blank.
        for place in range(filing.key % 97, len(cells), 97):
            cells[place] = cells[place] or "0"
    return cells
