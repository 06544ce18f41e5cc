"""Which statements to fetch next, as few as show a complete year.

Statement ids seem to grow with the day of filing. That is a hint for where to look and no rule, so
it is tested first, on statements from all over the ids of the work; where it fails, or where a
unit's own years contradict it, every statement is fetched.

A year that was found is complete when no earlier id can have been filed after the end of its
period, and the later ones are in step: one a year, without a gap. A year that was not found is
looked for where it is likeliest, between the statements of an earlier and a later year. Where it is
not there it may have been filed late: every statement is fetched that is `possible`.
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
_YEAR_START: Final = pl.date("wanted", 1, 1)
_YEAR_END: Final = pl.date("wanted", 12, 31)


def probes(ids: pl.Series) -> pl.Series:
    """Return ids from all over a list, at equal distances; all of them where there are few."""
    ordered = ids.unique().sort()
    if ordered.len() <= PROBES:
        return ordered
    return ordered.gather(np.linspace(0, ordered.len() - 1, PROBES).round().astype(np.int64))


def grows_with_filing(records: pl.DataFrame) -> bool:
    """Return whether ids grow with the day of filing, as far as the known statements show.

    Args:
        records: Those as of `next_ids`; few of them show nothing.
    """
    days = records.drop_nulls("filed").sort("statement_id")["filed"]
    return days.len() >= PROBES // 2 and bool((days >= days.cum_max() - _SLACK).all())


def next_ids(
    listed_ids: pl.DataFrame, records: pl.DataFrame, years: list[int], *, confirm: bool = True
) -> pl.Series:
    """Return the statements to fetch next, none where the years of all units are complete.

    Args:
        listed_ids: ``unit_id`` and ``statement_id`` of every statement of some units, with the days
            on which these were ``founded`` and ``dissolved``, null where it is not known.
        records: ``statement_id``, ``owner`` (id of its unit; null where its record has none),
            ``year``, ``ends`` (of the period) and ``filed`` of those fetched, of whichever units,
            null where a record has none, and whether it ``answers``: whether its year is found.
        years: The years that are wanted.
        confirm: Whether the last statement that was likely filed before the end of a year that is
            not found is among them, which shows that it was.
    """
    keys, place = ("unit_id", "wanted"), pl.col("place")
    is_found = pl.col("first").is_not_null()
    # Of a year that was found: the next earlier id, as long as it can be of the same year.
    earlier = (
        (pl.col("below") < place)
        & (place < pl.col("first"))
        & (pl.col("at_most") >= pl.col("period_end"))
    )
    next_earlier = place == place.filter(earlier & ~pl.col("fetched")).max().over(keys)
    correction = (
        (place > pl.col("last"))
        & pl.col("out_of_step")
        & (pl.col("newest") | (pl.col("likely") < _YEAR_END + _CORRECTED_WITHIN))
    )
    # Of a year that was not: the likeliest id between the years around it.
    between = (
        (pl.col("below") < place)
        & (place < pl.col("above"))
        & (pl.col("at_most") >= pl.date("wanted", *_FIRST_END))
        & ~pl.col("fetched")
    )
    off = (pl.col("likely") - _YEAR_END - _FILED_AFTER).dt.total_days().abs()
    likeliest = between & (off == off.filter(between).min().over(keys))
    # Where it is not there either: all that may have been filed late, and the last of the earlier
    # ones, which shows that it and those below it were filed before.
    unfetched = _is_possible() & ~pl.col("fetched")
    before = unfetched & (pl.col("likely") < _YEAR_END)
    last_before = (place == place.filter(before).max().over(keys)) & confirm
    late = unfetched & (last_before | ~before)
    is_next = (
        pl.when("contradicts").then(pl.lit(value=True))
        .when(is_found).then(next_earlier | correction)
        .when(between.any().over(keys)).then(likeliest)
        .otherwise(late)
    )  # fmt: skip
    return (
        _bounded(_hinted(_placed(listed_ids, records), records), years)
        .filter(_existed())
        .filter(is_next & ~pl.col("fetched"))["statement_id"]
        .unique()
        .sort()
    )


def possible(listed_ids: pl.DataFrame, records: pl.DataFrame, years: list[int]) -> pl.DataFrame:
    """Return ``unit_id``, ``wanted`` and ``statement_id`` of what can be a filing of the year.

    That is every statement, unless the unit was founded after the year or dissolved before it, or
    the id lies below that of a statement filed before the end of the year, and nothing shows that
    the unit's ids do not grow with the day of filing.

    Args:
        listed_ids: As of `next_ids`.
        records: As of `next_ids`.
        years: The years that are wanted.
    """
    return (
        _bounded(_placed(listed_ids, records), years)
        .filter(_existed() & _is_possible())
        .select("unit_id", "wanted", "statement_id")
    )


def _is_possible() -> pl.Expr:
    return pl.col("disordered") | (pl.col("place") > pl.col("filed_before"))


def _existed() -> pl.Expr:
    """Return whether the unit existed in the year that is wanted, as far as it is known."""
    return (pl.col("founded") <= _YEAR_END).fill_null(value=True) & (
        pl.col("dissolved") >= _YEAR_START
    ).fill_null(value=True)


def _placed(listed_ids: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """Return each statement at its place among those of its unit, with what is known of it.

    Adds ``contradicts``, whether a later id of the unit is of an earlier year, and ``disordered``,
    whether one is or was filed earlier.
    """
    # A statement of another unit shows nothing about the years of this one.
    year, filed = pl.col("year"), pl.col("filed")
    is_own = pl.col("owner").is_null() | (pl.col("owner") == pl.col("unit_id"))
    return (
        listed_ids.unique(["unit_id", "statement_id"])
        .join(records.with_columns(fetched=pl.lit(value=True)), on="statement_id", how="left")
        .with_columns(
            pl.when(is_own).then(name).alias(name) for name in ("year", "ends", "filed", "answers")
        )
        .sort("unit_id", "statement_id")
        .with_columns(
            pl.col("fetched", "answers").fill_null(value=False),
            place=pl.int_range(pl.len()).over("unit_id"),
            contradicts=(year < year.cum_max()).any().over("unit_id"),
        )
        .with_columns(
            disordered=pl.col("contradicts") | (filed < filed.cum_max()).any().over("unit_id")
        )
    )


def _hinted(placed: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """Add what the ids of statements hint at.

    ``at_most`` (Date) is the latest day on which a statement can have been filed, ``likely`` (Date)
    the likeliest; ``newest`` is the last one of its unit, ``out_of_step`` one that is not the only
    one of its year, or that comes after a gap.
    """
    anchors = (
        records.drop_nulls("filed")
        .sort("statement_id")
        .select("statement_id", "filed", until=pl.col("filed").cum_min(reverse=True) + _SLACK)
    )
    days = anchors["filed"].to_physical().to_numpy()
    ids = placed["statement_id"].unique().sort()
    likely = np.interp(ids.to_numpy(), anchors["statement_id"].to_numpy(), days)
    hints = pl.DataFrame(
        {"statement_id": ids, "likely": pl.Series(likely).round().cast(pl.Int32).cast(pl.Date)}
    ).join_asof(
        anchors.select("statement_id", at_most="until"), on="statement_id", strategy="forward"
    )
    filing_year = pl.col("likely").dt.year()
    return (
        placed.join(hints, on="statement_id", how="left")
        .sort("unit_id", "statement_id")
        .with_columns(
            pl.col("at_most").fill_null(date.max),
            newest=pl.col("place") == pl.col("place").max().over("unit_id"),
        )
        .with_columns(
            out_of_step=(pl.len().over("unit_id", filing_year) > 1)
            | (filing_year.diff().over("unit_id") > 1)
            # The days of the newest ids are known least.
            | (pl.col("newest") & (pl.col("likely").diff().over("unit_id") < _TOO_SOON))
        )
    )


def _bounded(placed: pl.DataFrame, years: list[int]) -> pl.DataFrame:
    """Return each statement once per year that is wanted, with the places that bound the year.

    These are the last place ``below`` and the first ``above`` that hold another year, the ``first``
    and ``last`` that answer for the year, null where it is not found, and the last that was
    ``filed_before`` its end; ``period_end`` is that of the first that answers.
    """
    wanted_years = pl.DataFrame({"wanted": years}, schema={"wanted": pl.Int32})
    keys, place, year = ("unit_id", "wanted"), pl.col("place"), pl.col("year")
    answers = pl.col("answers") & (year == pl.col("wanted"))
    below = place.filter(year < pl.col("wanted")).max().over(keys).fill_null(-1)
    return (
        placed.join(wanted_years, how="cross")
        .with_columns(
            below=below,
            first=place.filter(answers).min().over(keys),
            last=place.filter(answers).max().over(keys),
            period_end=pl.col("ends").filter(answers).min().over(keys),
            filed_before=place.filter(pl.col("filed") < _YEAR_END).max().over(keys).fill_null(-1),
        )
        .with_columns(
            above=place.filter((year > pl.col("wanted")) & (place > pl.col("below")))
            .min()
            .over(keys)
            .fill_null(_BEYOND)
        )
    )
