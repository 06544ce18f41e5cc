"""Requests that the filings and figures of a year take, per unit."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from timing import Figure

import finstat_kit as fk

_UNITS = 200
_MOST = 3.5  # statements per unit, of the newest year


def figures(quick: bool) -> Iterator[Figure]:
    """Count the requests for units of the sample that have statements."""
    register = fk.sample()
    records = register.units.get(register.units.ids(limit=2 * _UNITS))
    units = records.filter(pl.col("idUctovnychZavierok").list.len() > 0).head(_UNITS)
    for year in (2024, 2018, 2014, None):
        what = f"{_UNITS} units, {year or 'all years'}"
        before = register.stats.requests
        register.filings(units, year)
        statements = register.stats.requests - before
        register.financials(units, year)
        total = register.stats.requests - before - statements
        goal = _MOST if year == 2024 else None
        each = statements / _UNITS
        yield Figure("requests", f"{what}: statements per unit", each, goal, least=False, unit="")
        yield Figure("requests", f"{what}: statements and reports", float(total), unit="")
