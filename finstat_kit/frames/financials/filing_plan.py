"""How many requests the figures of units take, before any is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

PLAN: Final = pl.Schema(
    {
        "collection": pl.String(),
        "requests": pl.Int64(),
        "seconds": pl.Float64(),
        "bytes": pl.Int64(),
    }
)
_BYTES: Final = {"units": 900, "statements": 600, "reports": 3_000}
_STATEMENTS: Final = 12  # of a unit whose record is not known
_REPORTS: Final = 1.5  # of a filing, until the one with the tables is found
_OLD_REPORTS: Final = 2.5
_OLD: Final = 2013  # the last year of two reports, balance sheet and income statement


def planned(
    units: int,
    statements: pl.Series | None,
    years: Sequence[int] | None,
    rate: float,
) -> pl.DataFrame:
    """Return what is to be expected; see `Register.plan`.

    Args:
        units: How many records of units are requested.
        statements: How many statements each unit has, None where it is not known.
        years: The years that are wanted, None for all.
        rate: Requests per second.
    """
    held = pl.repeat(_STATEMENTS, units, eager=True) if statements is None else statements
    total = int(held.sum())
    old = sum(year <= _OLD for year in years or ())
    many = len(years or ())
    if years is None:
        taken = total * _REPORTS
    else:
        each = ((many - old) * _REPORTS + old * _OLD_REPORTS) / many
        taken = float(held.clip(0, many).sum()) * each
    # All statements at most: where a year is not found it may have been filed late.
    requests = {"units": units, "statements": total, "reports": round(taken)}
    rows = [(name, n, n / rate, n * _BYTES[name]) for name, n in requests.items()]
    return pl.DataFrame(rows, schema=PLAN, orient="row")
