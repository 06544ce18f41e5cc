"""How values spread over groups: quartiles, whiskers, and how many lie beyond them."""

from __future__ import annotations

from typing import Final

import polars as pl

SPREAD: Final = pl.Schema(
    {
        "code": pl.String(),
        "units": pl.Int64(),
        "n": pl.Int64(),
        "low": pl.Float64(),
        "q1": pl.Float64(),
        "median": pl.Float64(),
        "q3": pl.Float64(),
        "high": pl.Float64(),
        "beyond": pl.Int64(),
    }
)
FEWEST: Final = 5  # units that a median of is shown
_REACH: Final = 1.5  # of a whisker, by the distance of the quartiles


def spread(frame: pl.DataFrame, item: str, by: str, *, limited: str | None = None) -> pl.DataFrame:
    """Return quartiles and whiskers of each code, by median, largest first.

    A whisker ends at the last value within 1.5 distances of the quartiles; values beyond are
    counted. Rows without a value or a code are left out. ``n`` counts the values and ``units``
    their distinct ``unit_id``, each row where there is none; a code of fewer than five units has
    counts alone. With a column *limited* of the same values within limits, all but the median is
    of it.
    """
    value, q1, q3 = pl.col("value"), pl.col("q1"), pl.col("q3")
    unit = pl.col("unit_id") if "unit_id" in frame.columns else pl.int_range(pl.len())
    values = (
        frame.select(
            pl.col(by).cast(pl.String).alias("code"),
            pl.col(limited or item).cast(pl.Float64).alias("value"),
            pl.col(item).cast(pl.Float64).alias("unlimited"),
            unit=unit,
        )
        .filter(value.is_finite(), pl.col("code").is_not_null())
        .with_columns(
            q1=value.quantile(0.25, "linear").over("code"),
            q3=value.quantile(0.75, "linear").over("code"),
        )
    )
    reach = _REACH * (q3 - q1)
    within = (value >= q1 - reach) & (value <= q3 + reach)
    figures = {
        "low": value.filter(within).min(),
        "q1": q1.first(),
        "median": pl.col("unlimited").median(),
        "q3": q3.first(),
        "high": value.filter(within).max(),
        "beyond": (~within).sum(),
    }
    units = pl.col("unit").n_unique()
    return (
        values.group_by("code")
        .agg(
            units=units,
            n=pl.len(),
            **{name: pl.when(units >= FEWEST).then(of) for name, of in figures.items()},
        )
        .sort("median", "code", descending=[True, False], nulls_last=True)
        .select(SPREAD.names())
        .cast(SPREAD)
    )
