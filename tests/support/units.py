"""Units that several tests draw: fetched once per process. Nothing may change the sample."""

from __future__ import annotations

from functools import cache

import polars as pl

import finstat_kit as fk

SAMPLE = fk.sample(4_000)


@cache
def all_units() -> pl.DataFrame:
    return SAMPLE.units.get(SAMPLE.units.ids())


def pooled(counts: pl.DataFrame) -> pl.DataFrame:
    """Return counts by code as an estimate has them: all unknown codes in one row."""
    unknown = pl.col("kind") == "unknown code"
    rows = counts.with_columns(
        pl.when(~unknown).then("code"), pl.col("kind").replace("unknown code", "unknown codes")
    )
    rows = rows.group_by("kind", "code", maintain_order=True).agg(
        pl.col("label", "by").first(), pl.col("count").sum()
    )
    return rows.with_columns(share=pl.col("count") / pl.col("count").sum()).select(counts.columns)
