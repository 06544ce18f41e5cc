"""Outliers, stated and not hidden: limits within a year, and filings that do not add up."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from finstat_kit.errors import UsageError

LOW: pl.Expr = pl.col("limit_low")
HIGH: pl.Expr = pl.col("limit_high")


def checked_limits(limits: object) -> tuple[float, float] | None:
    """Return the shares of values below which and above which values are limited."""
    if limits is None:
        return None
    several = list(limits) if isinstance(limits, Sequence) and not isinstance(limits, str) else []
    if len(several) == 2 and all(
        isinstance(share, int | float) and not isinstance(share, bool) for share in several
    ):
        low, high = map(float, several)
        if 0 <= low < high <= 1:
            return low, high
    raise UsageError(
        "are not two shares",
        argument="limits",
        value=limits,
        cure="give a lower and an upper one from 0 to 1, such as (0.01, 0.99)",
    )


def with_limits(rows: pl.DataFrame, limits: tuple[float, float] | None) -> pl.DataFrame:
    """Add ``limit_low`` and ``limit_high`` of each year, and ``limited``, the value within them.

    Args:
        rows: One row per unit and year with ``value``.
        limits: Shares of the values of a year, linear between values; None limits nothing.
    """
    if limits is None:
        nothing = pl.lit(None, pl.Float64)
        return rows.with_columns(limit_low=nothing, limit_high=nothing, limited=pl.col("value"))
    ends = [pl.col("value").quantile(share, "linear") for share in limits]
    if "year" in rows.columns:
        ends = [end.over("year") for end in ends]
    return rows.with_columns(limit_low=ends[0], limit_high=ends[1]).with_columns(
        limited=pl.col("value").clip(LOW, HIGH)
    )


def without_differences(
    rows: pl.DataFrame, max_difference: float | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows whose balance and sums hold, and those left out.

    A filing is left out where its balance differs by more, or where a sum that its form states
    fails: how far a sum is off is no column.

    Raises:
        UsageError: *max_difference* is no amount, or the frame lacks the checks.
    """
    if max_difference is None:
        return rows, rows.clear()
    if (
        isinstance(max_difference, bool)
        or not isinstance(max_difference, int | float)
        or not (0 <= max_difference < float("inf"))
    ):
        raise UsageError(
            "is not an amount in euro",
            argument="max_difference",
            value=max_difference,
            cure="give 0 or more, such as 1",
        )
    for name in ("balance_difference", "sums_failing"):
        if name not in rows.columns:
            raise UsageError(
                f": no column {name!r}",
                argument="max_difference",
                value=max_difference,
                cure="give what fk.financials returns",
            )
    off = pl.col("balance_difference").abs() > max_difference
    off = (off | (pl.col("sums_failing") > 0)).fill_null(value=False)
    return rows.filter(~off), rows.filter(off)
