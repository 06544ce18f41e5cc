"""A filing of two reports, as until 2013: one with the balance sheet, one with the income."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

import finstat_kit as fk

BALANCE, INCOME = 21, 22
SAMPLE = fk.sample(20)


@cache
def whole() -> dict[str, Any]:
    """Return the row of a unit with one filing of 2012, on two forms."""
    money = SAMPLE.financials(SAMPLE.units.ids(), 2012)
    rows = money.filter(
        pl.col("reason").is_null(), pl.col("sales").is_not_null(), template=BALANCE, supersedes=0
    )
    return rows.row(0, named=True)
