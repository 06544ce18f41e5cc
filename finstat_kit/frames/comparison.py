"""Two counts side by side."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.errors import UsageError
from finstat_kit.frames import counts, labels

COMPARISON: Final = pl.Schema(
    {
        "code": pl.String(),
        "label": pl.String(),
        "count_a": pl.Int64(),
        "count_b": pl.Int64(),
        "difference": pl.Int64(),
        "share_a": pl.Float64(),
        "share_b": pl.Float64(),
        "kind": pl.String(),
    }
)


def counts_of(frame: labels.Frame, by: str, lookup: labels.Lookup, lang: Lang) -> pl.DataFrame:
    """Return the counts of a frame, or the frame itself if it holds counts."""
    if set(counts.COUNTS) <= set(labels.schema_of(frame)):
        given = frame.lazy().select(counts.COUNTS.names()).collect()
        twice = given.filter(pl.struct("code", "kind").is_duplicated())
        if twice.height:
            raise UsageError(
                f": {twice['code'][0] or twice['kind'][0]!r} stands in two rows",
                argument="counts",
                cure="give counts as fk.count_by returns them",
            )
        return given
    return counts.count_by(frame, by, lookup, lang=lang)


def compared(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Align two frames of `count_by`; see `Register.compare`."""
    left, right = (
        table.rename({name: f"{name}_{side}" for name in ("label", "count", "share")})
        for side, table in (("a", a), ("b", b))
    )
    # Nulls are equal here: "no code" and "gone" are rows of both, distinguished by kind.
    table = left.join(
        right, on=["code", "kind"], how="full", coalesce=True, nulls_equal=True
    ).with_columns(
        pl.coalesce("label_a", "label_b").alias("label"),
        pl.col("count_a", "count_b").fill_null(0),
        # A frame without units has null shares; in others the share of an absent code is zero.
        *(
            pl.when(pl.lit(bool(side["count"].sum())))
            .then(pl.col(share).fill_null(0.0))
            .alias(share)
            for share, side in (("share_a", a), ("share_b", b))
        ),
    )
    order = pl.col("kind").cast(pl.Enum(counts.KINDS))
    return (
        table.with_columns((pl.col("count_b") - pl.col("count_a")).alias("difference"))
        .sort(order, "count_a", "count_b", "code", descending=[False, True, True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in COMPARISON.items())
    )
