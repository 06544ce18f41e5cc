"""Years in thousands: amounts a thousandth, or a thousand times, those of both years beside."""

from __future__ import annotations

from functools import reduce
from typing import Final

import polars as pl

from finstat_kit.frames.financials import assemble, filings
from finstat_kit.frames.financials.reasons import has_figures

DOUBTFUL: Final = assemble.SCALE_DOUBTFUL
AMOUNTS: Final = ("total_assets", "sales")  # those that few units change by a factor of hundreds
_FACTOR: Final = (500, 2_000)
YEAR: Final = 12  # months of a usual period
# The columns of `with_periods`.
LAST: Final = " last"  # day of a period
BEFORE: Final = " before"  # last day of the period before
MONTHS: Final = " months"


def with_periods(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the last day of each row and of the period before, and how many months it has.

    A frame without periods has calendar years.
    """
    first, last = (pl.date(pl.col("year"), *day) for day in ((1, 1), (12, 31)))
    months = pl.lit(YEAR)
    if {"period_from", "period_to"} <= set(rows.columns):
        days = [pl.col(name).cast(pl.Date) for name in ("period_from", "period_to")]
        months = filings.months(*days)
        first, last = pl.coalesce(days[0], first), pl.coalesce(days[1], last)
    if "months" in rows.columns:
        months = pl.col("months")
    return rows.with_columns(
        first.dt.offset_by("-1d").alias(BEFORE), last.alias(LAST), months.alias(MONTHS)
    )


def marked(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``scale_doubtful``, where a frame of one row per unit and year does not have it.

    Null without both items, and without an adjacent period on either side.
    """
    if DOUBTFUL in rows.columns:  # without any value it may have no type
        return rows.with_columns(pl.col(DOUBTFUL).cast(pl.Boolean))
    amounts = [name for name in AMOUNTS if name in rows.columns]
    periods = with_periods(rows.filter(has_figures(rows.schema)).drop_nulls(["unit_id", "year"]))
    is_adjacent = (_beside(LAST, 1) == pl.col(BEFORE)) & (_beside(BEFORE, -1) == pl.col(LAST))
    doubts = [pl.when(is_adjacent).then(_is_doubtful(name)) for name in amounts]
    # The amount that is known decides where the other is not.
    doubt = reduce(
        lambda one, other: pl.coalesce(one | other, one, other), doubts, pl.lit(None, pl.Boolean)
    )
    marks = (
        periods.with_columns(assemble.numbers(amounts))
        .sort("unit_id", LAST)
        .select("unit_id", "year", doubt.alias(DOUBTFUL))
    )
    return rows.join(marks, on=["unit_id", "year"], how="left", maintain_order="left")


def _is_doubtful(name: str) -> pl.Expr:
    amount, before, after = pl.col(name), _beside(name, 1), _beside(name, -1)
    is_thousandth = (before / amount).is_between(*_FACTOR) & (after / amount).is_between(*_FACTOR)
    is_thousandfold = (amount / before).is_between(*_FACTOR) & (amount / after).is_between(*_FACTOR)
    return is_thousandth | is_thousandfold


def _beside(name: str, step: int) -> pl.Expr:
    return pl.col(name).shift(step).over("unit_id")
