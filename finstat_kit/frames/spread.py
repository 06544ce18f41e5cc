"""How values spread over groups: quartiles, whiskers, and how many lie beyond them."""

from __future__ import annotations

from typing import Final

import polars as pl

SPREAD: Final = pl.Schema(
    {
        "code": pl.String(),
        "n": pl.Int64(),
        "low": pl.Float64(),
        "q1": pl.Float64(),
        "median": pl.Float64(),
        "q3": pl.Float64(),
        "high": pl.Float64(),
        "beyond": pl.Int64(),
    }
)
FEWEST: Final = 5  # values that a median of is shown
_REACH: Final = 1.5  # of a whisker, by the distance of the quartiles


def spread(frame: pl.DataFrame, item: str, by: str) -> pl.DataFrame:
    """Return quartiles and whiskers of each code, by median, largest first.

    A whisker ends at the last value within 1.5 distances of the quartiles; what lies beyond is
    counted. Rows without a value or a code are left out.
    """
    value, q1, q3 = pl.col("value"), pl.col("q1"), pl.col("q3")
    values = (
        frame.select(pl.col(by).cast(pl.String).alias("code"), pl.col(item).cast(pl.Float64)
                     .alias("value"))
        .filter(value.is_finite(), pl.col("code").is_not_null())
        .with_columns(
            q1=value.quantile(0.25, "linear").over("code"),
            q3=value.quantile(0.75, "linear").over("code"),
        )
    )  # fmt: skip
    reach = _REACH * (q3 - q1)
    within = (value >= q1 - reach) & (value <= q3 + reach)
    return (
        values.group_by("code")
        .agg(
            n=pl.len(),
            low=value.filter(within).min(),
            q1=q1.first(),
            median=value.median(),
            q3=q3.first(),
            high=value.filter(within).max(),
            beyond=(~within).sum(),
        )
        .sort("median", "code", descending=[True, False])
        .select(SPREAD.names())
        .cast(SPREAD)
    )


def medians(frame: pl.DataFrame, item: str, by: str) -> pl.DataFrame:
    """Return ``code``, ``value`` and ``n`` of each code; the median of a few is null."""
    value = pl.col(item).cast(pl.Float64)
    return (
        frame.group_by(pl.col(by).cast(pl.String).alias("code"))
        .agg(n=value.is_finite().sum(), value=value.filter(value.is_finite()).median())
        .with_columns(pl.when(pl.col("n") >= FEWEST).then("value").alias("value"))
        .sort("code")
    )
