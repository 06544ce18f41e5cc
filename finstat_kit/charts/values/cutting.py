"""The rows of counts that are drawn: the largest, and sums of the others."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs

from finstat_kit.frames.counts.count_by import KINDS, MADE_BY


def cut(
    table: pl.DataFrame, top: int, *, value: str = "count", order: pl.Expr | None = None
) -> pl.DataFrame:
    """Return the rows to draw: `top` labelled ones, one for the rest, one per other kind.

    The labelled rows are those furthest from zero, in the order of their values or of
    *order*. The
    columns are those of the table, without those that name what it was made by, and ``codes``, the
    number of codes summed in a row; the total is unchanged. The rest has the kind ``rest``. Other
    kinds without a unit are left out.
    """
    table = table.drop(MADE_BY, strict=False)
    labelled = table.filter(pl.col("kind") == "labelled").sort(
        pl.col(value).abs(), "code", descending=[True, False]
    )
    largest = labelled.head(top)
    largest = (
        largest.sort(value, "code", descending=[True, False])
        if order is None
        else largest.sort(order, "code")
    )
    groups = [labelled.slice(top).with_columns(kind=pl.lit("rest"))]
    others = table.filter(pl.any_horizontal(cs.numeric() != 0))
    groups += [others.filter(pl.col("kind") == kind) for kind in KINDS[1:]]
    rows = [largest.with_columns(pl.lit(1, pl.Int64).alias("codes"))]
    rows += [_summed(group) for group in groups if group.height]
    return pl.concat(part.select(*table.columns, "codes") for part in rows)


def _summed(group: pl.DataFrame) -> pl.DataFrame:
    only = group["code"][0] if group.height == 1 else None
    return group.select(
        pl.lit(only, pl.String).alias("code"),
        pl.lit(None, pl.String).alias("label"),
        cs.numeric().sum(),
        pl.col("kind").first(),
        pl.len().cast(pl.Int64).alias("codes"),
    )
