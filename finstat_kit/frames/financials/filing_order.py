"""Which statements to fetch next, as few as lose no filing of a year.

A unit's record names all its statements, and ids grow with the day on which these are entered.
From the highest id down they are fetched until one was filed so long before the earliest year that
everything below it was entered before that year began. Where a higher id was filed before a lower
one, ids show nothing, and all statements of the unit are fetched. Disorder among ids that are never
fetched cannot be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

import polars as pl

# A filing on paper is entered, and gets its id, weeks after the day of filing.
_ENTERED_WITHIN: Final = timedelta(days=90)


def next_ids(listed_ids: pl.DataFrame, records: pl.LazyFrame, year: int) -> pl.Series:
    """Return the statements to fetch next, one of each unit; none where nothing is missing.

    All that are left of a unit whose ids are not in the order of filing.

    Args:
        listed_ids: ``unit_id`` and ``statement_id`` of every statement of some units.
        records: ``statement_id``, ``owner`` (id of its unit) and ``filed`` (day of filing, null
            where it shows nothing) of those fetched, of whichever units.
        year: The earliest that is wanted.
    """
    # What another unit lists, and so fetched further down, has no say in the order of this one.
    is_unbroken = pl.col("fetched").cum_min().over("unit_id")
    placed = _placed(listed_ids, records).with_columns(
        pl.when(is_unbroken).then("filed").alias("filed"), next=~is_unbroken
    )
    is_first = pl.col("next") & (pl.col("next").cum_sum().over("unit_id") == 1)
    return (
        _reached(placed, year)
        .filter(~pl.col("fetched") & (pl.col("disordered") | (is_first & pl.col("reached"))))
        .select(pl.col("statement_id").unique())
        .collect()["statement_id"]
    )


def possible(listed_ids: pl.DataFrame, records: pl.LazyFrame, years: Sequence[int]) -> pl.DataFrame:
    """Return ``unit_id``, ``wanted`` and ``statement_id`` of what can be a filing of each year.

    That is what is fetched for the year alone, as far as *records* show.

    Args:
        listed_ids: As of `next_ids`.
        records: As of `next_ids`.
        years: Those that are wanted.
    """
    placed = _placed(listed_ids, records)
    return pl.concat(
        _reached(placed, year)
        .filter(pl.col("disordered") | pl.col("reached"))
        .select("unit_id", pl.lit(year, pl.Int32).alias("wanted"), "statement_id")
        for year in years
    ).collect()


def _placed(listed_ids: pl.DataFrame, records: pl.LazyFrame) -> pl.LazyFrame:
    """Return each statement of each unit, the highest id first, with what is known of it."""
    is_own = pl.col("owner") == pl.col("unit_id")  # a foreign one shows nothing
    return (
        listed_ids.lazy()
        .select("unit_id", "statement_id")
        .unique()
        .join(records.with_columns(fetched=pl.lit(value=True)), on="statement_id", how="left")
        .select(
            "unit_id",
            "statement_id",
            pl.col("fetched").fill_null(value=False),
            filed=pl.when(is_own).then("filed"),
        )
        .sort("unit_id", "statement_id", descending=True)
    )


def _reached(placed: pl.LazyFrame, year: int) -> pl.LazyFrame:
    """Add whether each statement is ``reached`` on the way down, and its unit is ``disordered``."""
    filed = pl.col("filed")
    ends = (filed < date(year, 1, 1) - _ENTERED_WITHIN).fill_null(value=False)
    return placed.with_columns(
        reached=ends.cum_max().shift(1, fill_value=False).over("unit_id").not_()
    ).with_columns(disordered=((filed > filed.cum_min()) & pl.col("reached")).any().over("unit_id"))
