"""Which statements to fetch next: as few as show that a year is complete.

Statement ids seem to grow with the day of filing. That is a hint for where to look and no rule, so
it is tested first, on statements from all over the ids of the work; where it fails, or where a
unit's own years contradict it, every statement is fetched.

A year that was found is complete when no earlier id can have been filed after the end of its
period, and the later ones are in step: one a year, without a gap. A year that was not found is
complete when nothing is open between a statement of an earlier year and one of a later year.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import numpy as np
import polars as pl

PROBES: Final = 32  # statements that show whether ids grow with the day of filing
_SLACK: Final = timedelta(days=120)  # a filing on paper is entered weeks later
_FILED_AFTER: Final = timedelta(days=130)  # the end of its year, as most are
_CORRECTED_WITHIN: Final = timedelta(days=3 * 365)  # of the end of the year, as most are
_TOO_SOON: Final = timedelta(days=250)  # after the filing before
_BEYOND: Final = 2**31
_FIRST_END: Final = (1, 31)  # month and day on which the earliest period of a year ends


def probes(ids: pl.Series) -> pl.Series:
    """Return ids from all over a list, at equal distances; all of them where there are few."""
    ordered = ids.unique().sort()
    if ordered.len() <= PROBES:
        return ordered
    return ordered.gather(np.linspace(0, ordered.len() - 1, PROBES).round().astype(np.int64))


def grows_with_filing(known: pl.DataFrame) -> bool:
    """Return whether ids grow with the day of filing, as far as the known statements show.

    Args:
        known: ``statement_id``, ``year``, ``ends`` and ``filed`` of statements; few of them show
            nothing.
    """
    days = known.drop_nulls("filed").sort("statement_id")["filed"]
    return days.len() >= PROBES // 2 and bool((days >= days.cum_max() - _SLACK).all())


def next_ids(held: pl.DataFrame, known: pl.DataFrame, years: list[int]) -> pl.Series:
    """Return the statements to fetch next, none where the years of all units are complete.

    Args:
        held: ``unit_id`` and ``statement_id`` of every statement of some units.
        known: ``statement_id``, ``year``, ``ends`` (of the period) and ``filed`` of those fetched,
            of whichever units; null where a record has none.
        years: The years that are wanted.
    """
    wanted = pl.DataFrame({"wanted": years}, schema={"wanted": pl.Int32})
    year, place, each = pl.col("year"), pl.col("place"), ("unit_id", "wanted")
    own, is_open, found = year == pl.col("wanted"), pl.col("open"), pl.col("first").is_not_null()
    year_end = pl.date("wanted", 12, 31)
    return (
        _placed(held, known)
        .join(wanted, how="cross")
        .with_columns(
            below=place.filter(year < pl.col("wanted")).max().over(each).fill_null(-1),
            first=place.filter(own).min().over(each),
            last=place.filter(own).max().over(each),
            period_end=pl.col("ends").filter(own).min().over(each),
        )
        .with_columns(
            above=place.filter((year > pl.col("wanted")) & (place > pl.col("below")))
            .min().over(each).fill_null(_BEYOND),
        )
        .with_columns(
            within=(pl.col("below") < place) & (place < pl.col("above"))
            & (pl.col("at_most") >= pl.date("wanted", *_FIRST_END)),
            earlier=(pl.col("below") < place) & (place < pl.col("first"))
            & (pl.col("at_most") >= pl.col("period_end")),
            late=(place > pl.coalesce("last", "above")) & pl.col("odd")
            & (pl.col("newest") | (pl.col("likely") < year_end + _CORRECTED_WITHIN)),
        )
        .with_columns(
            open=~pl.col("fetched") & (
                pl.col("contradicts") | pl.col("late")
                | pl.when(found).then("earlier").otherwise("within")
            ),
            off=(pl.col("likely") - year_end - _FILED_AFTER).dt.total_days().abs(),
        )
        .filter(
            is_open,
            pl.when(pl.col("contradicts") | pl.col("late")).then(pl.lit(value=True))
            .when(found).then(place == place.filter(is_open & (place < pl.col("first"))).max()
                              .over(each))
            .otherwise(pl.col("off") == pl.col("off").filter(is_open).min().over(each)),
        )["statement_id"].unique().sort()
    )  # fmt: skip


def _placed(held: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return each statement at its place among those of its unit, with what its id hints at.

    Adds ``at_most`` (Date, null where unknown), the latest day on which it can have been filed, and
    ``likely``, the likeliest.
    """
    anchors = (
        known.drop_nulls("filed")
        .sort("statement_id")
        .select("statement_id", "filed", until=pl.col("filed").cum_min(reverse=True) + _SLACK)
    )
    days = anchors["filed"].to_physical().to_numpy()
    ids = held["statement_id"].unique().sort()
    likely = np.interp(ids.to_numpy(), anchors["statement_id"].to_numpy(), days)
    hints = pl.DataFrame(
        {"statement_id": ids, "likely": pl.Series(likely).round().cast(pl.Int32).cast(pl.Date)}
    ).join_asof(
        anchors.select("statement_id", at_most="until"), on="statement_id", strategy="forward"
    )
    year = pl.col("year")
    return (
        held.select("unit_id", "statement_id")
        .unique()
        .join(hints, on="statement_id")
        .join(
            known.select("statement_id", "year", "ends", fetched=pl.lit(value=True)),
            on="statement_id", how="left",
        )
        .sort("unit_id", "statement_id")
        .with_columns(
            pl.col("fetched").fill_null(value=False),
            pl.col("at_most").fill_null(date.max),
            place=pl.int_range(pl.len()).over("unit_id"),
            newest=pl.col("statement_id") == pl.col("statement_id").max().over("unit_id"),
            # Out of step: two filings in a year, or none in the year before.
            odd=(pl.len().over("unit_id", pl.col("likely").dt.year()) > 1)
            | (pl.col("likely").dt.year().diff().over("unit_id") > 1)
            # The days of the newest ids are known least.
            | (pl.col("likely").diff().over("unit_id") < _TOO_SOON)
            & (pl.col("statement_id") == pl.col("statement_id").max().over("unit_id")),
            contradicts=(year < year.cum_max()).any().over("unit_id"),
        )
    )  # fmt: skip
