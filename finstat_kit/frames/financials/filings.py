"""Which filing of each period counts, what it supersedes, and why a unit has none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.frames.financials import filing_order
from finstat_kit.frames.reports.cells import REASON
from finstat_kit.protocol import wire

FILINGS: Final = pl.Schema(
    {
        "unit_id": pl.Int64(),
        "ico": pl.String(),
        "statement_id": pl.Int64(),
        "period_from": pl.Date(),
        "period_to": pl.Date(),
        "months": pl.Int16(),
        "year": pl.Int32(),
        "kind": pl.String(),
        "consolidated": pl.Boolean(),
        "central_government": pl.Boolean(),
        "summary": pl.Boolean(),
        "fund": pl.String(),
        "filed": pl.Date(),
        "report_ids": pl.List(pl.Int64),
        "counts": pl.Boolean(),
        "superseded_by": pl.Int64(),
        "reason": REASON,
    }
)
# The columns of units and statements that are read.
UNIT: Final = ("id", "ico", wire.STATE, wire.CHANGED, "idUctovnychZavierok")
STATEMENT: Final = (
    "id", "idUJ", "obdobieOd", "obdobieDo", "datumPodania", "nazovFondu", "konsolidovana",
    "konsolidovanaZavierkaUstrednejStatnejSpravy", "suhrnnaUctovnaZavierkaVerejnejSpravy", "typ",
    "idUctovnychVykazov", wire.CHANGED, wire.STATE,
)  # fmt: skip
# Ordinary statements come first, those of a special day only in their absence, others never.
ORDINARY: Final = "Riadna"
KINDS: Final = (ORDINARY, "Mimoriadna")
# What is filed again supersedes what was filed before, whatever its first month.
KEY: Final = (
    "unit_id", "period_to", "consolidated", "central_government", "summary", "fund", "kind",
)  # fmt: skip
# Where all frames are there: polars otherwise streams, which takes twice as long to begin.
IN_MEMORY: Final = "in-memory"
_MOST_MONTHS: Final = 120


def held_by(units: pl.DataFrame, *more: str) -> pl.DataFrame:
    """Return ``unit_id`` and ``statement_id`` of every statement that units, each once, list.

    Args:
        units: Their records.
        more: Columns of units that are returned beside these.
    """
    return (
        units.select(
            *more,
            unit_id="id",
            statement_id=pl.col("idUctovnychZavierok").list.unique(maintain_order=True),
        )
        .explode("statement_id")
        .drop_nulls("statement_id")
    )


def known_of(statements: pl.DataFrame) -> pl.DataFrame:
    """Return what statements show about the order of filing; see `filing_order.WayDown`."""
    filed = pl.col("datumPodania")
    # Nothing is filed before its period ends, but for the days of the last month.
    is_after = filed >= pl.col("obdobieDo").dt.month_start()
    shows = _of_the_statement().is_null() & is_plausible(filed) & is_after
    return statements.select(
        statement_id="id", owner="idUJ", filed=pl.when(shows).then(filed.cast(pl.Date))
    )


def is_plausible(day: pl.Expr) -> pl.Expr:
    """Return whether a day can be right; null where there is none."""
    # By the days themselves: these reach the statistics of files.
    return day.is_between(date(arguments.FIRST_YEAR, 1, 1), date(arguments.LAST_YEAR, 12, 31))


def months(first: pl.Expr, last: pl.Expr) -> pl.Expr:
    """Return how many months a period has, by its first and last day; null for no period."""
    many = 12 * (last.dt.year() - first.dt.year()) + last.dt.month() - first.dt.month() + 1
    return pl.when(many.is_between(1, _MOST_MONTHS)).then(many).cast(pl.Int16)


def by_rule(
    units: pl.DataFrame,
    statements: pl.DataFrame,
    years: Sequence[int] | None,
    *,
    consolidated: bool,
    filed_until: date | None = None,
    not_held: pl.Series | None = None,
) -> pl.DataFrame:
    """Return a row per filing, and one for each unit, or unit and year, without any.

    Args:
        units: Records, each unit once; one that has no record is a row of its id.
        statements: Records of the statements of the years that are wanted, at least, and of those
            that cannot be read.
        years: None is every year.
        consolidated: Whether the consolidated ones are wanted, or the others.
        filed_until: The last day of filing, None for any.
        not_held: Ids of the units whose statements a copy of the register does not hold.
    """
    absent_ids = pl.Series("id", [], pl.Int64) if not_held is None else not_held
    units = units.with_row_index("place")
    held_units = units.join(
        absent_ids.alias("id").to_frame(), on="id", how="anti", maintain_order="left"
    )
    is_there = is_filed(filed_until)
    of_units = statements.lazy().filter(is_there)
    filed = _marked(_described(held_units, of_units, consolidated=consolidated))
    if years is not None:
        filed = filed.filter(pl.col("year").is_in(list(years)))
    late_ids = statements.filter(~is_there)["id"]
    missing = _missing(units, filed, years, absent_ids, late_ids)
    if years is not None:
        undated = statements.filter(is_undated(consolidated=consolidated), is_there)
        missing = _hidden(missing, held_units, statements, undated, list(years))
    rows = filed if missing.is_empty() else pl.concat([filed, missing], how="diagonal")
    order = ("place", "year", "period_to", "filed", "statement_id")
    return rows.sort(order, nulls_last=True).select(FILINGS.names())


def _described(
    units: pl.DataFrame, statements: pl.LazyFrame, *, consolidated: bool
) -> pl.DataFrame:
    """Return the statements of units as rows of `FILINGS`, but for what `_marked` adds.

    With the ``place`` of their unit.
    """
    first, last, filed = (pl.col(n) for n in ("obdobieOd", "obdobieDo", "datumPodania"))
    not_own = pl.when(pl.col("idUJ") != pl.col("unit_id")).then(pl.lit("not_own", REASON))
    reversed_period = pl.when(last < first).then(pl.lit("period_mismatch", REASON))
    reason = pl.coalesce(_of_the_statement(), not_own, reversed_period)
    return (
        held_by(units, "place", "ico").lazy()
        .join(statements, left_on="statement_id", right_on="id", how="inner")
        .filter(_flag("konsolidovana") == consolidated)
        .select(
            "place",
            "unit_id",
            "ico",
            "statement_id",
            period_from=first,
            period_to=last,
            months=months(first, last),
            year=last.dt.year(),
            kind="typ",
            consolidated=_flag("konsolidovana"),
            central_government=_flag("konsolidovanaZavierkaUstrednejStatnejSpravy"),
            summary=_flag("suhrnnaUctovnaZavierkaVerejnejSpravy"),
            fund="nazovFondu",
            filed=pl.when(is_plausible(filed)).then(filed),
            # Those of another unit are not to be requested for this one.
            report_ids=pl.when(reason.is_null()).then("idUctovnychVykazov"),
            reason=reason,
        )
        .collect(engine=IN_MEMORY)
    )  # fmt: skip


def is_filed(until: date | None) -> pl.Expr:
    """Return whether a statement was filed by a day, without a day by the end of its period.

    Of one whose record shows neither that is not known: it stays.
    """
    if until is None:
        return pl.lit(value=True)
    filed = pl.col("datumPodania")
    day = pl.coalesce(pl.when(is_plausible(filed)).then(filed), "obdobieDo")
    return (day <= until).fill_null(value=True)


def _flag(name: str) -> pl.Expr:
    """Return a truth of a record, which is false where it is absent."""
    return pl.col(name).fill_null(value=False)


def undated() -> pl.Expr:
    """Return the statement of a filing without a period, of which none supersedes another."""
    return pl.when(pl.col("period_to").is_null() & pl.col("reason").is_null()).then("statement_id")


def _marked(filed: pl.DataFrame) -> pl.DataFrame:
    """Mark the filing of each period that counts, and those that it supersedes."""
    is_readable = pl.col("reason").is_null()
    is_alone = pl.struct("unit_id", "period_to").is_unique() | ~is_readable
    rows = filed.with_columns(alone=is_alone, undated=undated()).lazy()
    alone = rows.filter("alone").with_columns(
        counts=is_readable, superseded_by=pl.lit(None, pl.Int64)
    )
    others = by_age(rows.filter(~pl.col("alone")), [*KEY, "undated"]).with_columns(
        counts=pl.col("age") == 0, superseded_by=pl.when(pl.col("age") > 0).then("newest")
    )
    columns = ["place", *FILINGS.names()]
    return (
        pl.concat([alone.select(columns), others.select(columns)])
        .cast(FILINGS)
        .collect(engine=IN_MEMORY)
    )


def by_age(filings: pl.LazyFrame, key: Sequence[str]) -> pl.LazyFrame:
    """Return filings, the last filed of each key first, then the highest id.

    With their ``age``, 0 for the newest; ``newest``, its id; and ``filings``, their number.

    Args:
        filings: Of units.
        key: ``unit_id``, ``period_to`` and others.
    """
    return filings.sort("filed", "statement_id", descending=True, nulls_last=True).with_columns(
        age=pl.int_range(pl.len()).over(key),
        newest=pl.col("statement_id").first().over(key),
        filings=pl.len().over(key),
    )


def _missing(
    units: pl.DataFrame,
    filed: pl.DataFrame,
    years: Sequence[int] | None,
    not_held: pl.Series,
    late: pl.Series,
) -> pl.DataFrame:
    """Return a row for each unit, or unit and year, that has no filing, without its columns.

    Statements that were filed too late are as if they were not listed.
    """
    known = held_by(units).filter(~pl.col("statement_id").is_in(late.implode()))
    is_known = pl.col("id").is_in(known["unit_id"].unique().implode())
    rows = units.select(
        "place",
        "ico",
        unit_id="id",
        reason=pl.coalesce(
            _of_the_record(),
            pl.when(~is_known)
            .then(pl.lit("no_filing", REASON))
            .when(pl.col("id").is_in(not_held.implode()))
            .then(pl.lit("not_held", REASON))
            .otherwise(pl.lit("no_filing" if years is None else "no_filing_for_year", REASON)),
        ),
    )
    on = ["unit_id"]
    if years is not None:
        on.append("year")
        wanted = pl.DataFrame({"year": list(years)}, schema={"year": pl.Int32})
        rows = rows.join(wanted, how="cross")
    missing = rows.join(filed.select(on), on=on, how="anti")
    return missing.with_columns(counts=pl.lit(value=False))


def _hidden(
    missing: pl.DataFrame,
    units: pl.DataFrame,
    statements: pl.DataFrame,
    undated: pl.DataFrame,
    years: list[int],
) -> pl.DataFrame:
    """Return rows without a filing, with the reason of an undated statement that can be of it."""
    if undated.is_empty():
        return missing
    # Of one that can be read the period alone is unknown.
    hidden = pl.coalesce(_of_the_statement(), pl.lit("unreadable", REASON))
    reasons = undated.select("idUJ", statement_id="id", hidden=hidden)
    ids = held_by(units)
    ids = ids.join(ids.join(reasons, on="statement_id", how="semi"), on="unit_id", how="semi")
    possible = filing_order.possible(ids, known_of(statements), years).join(
        reasons, on="statement_id"
    )
    is_own = (pl.col("idUJ") == pl.col("unit_id")).fill_null(value=True)
    of_year = possible.filter(is_own).group_by("unit_id", year="wanted").agg(pl.col("hidden").min())
    of_the_year = pl.col("reason") == "no_filing_for_year"
    return (
        missing.join(of_year, on=["unit_id", "year"], how="left", maintain_order="left")
        .with_columns(reason=pl.when(of_the_year).then(pl.coalesce("hidden", "reason"))
                      .otherwise("reason"))
        .drop("hidden")
    )  # fmt: skip


def is_undated(*, consolidated: bool) -> pl.Expr:
    """Return whether a statement is there, but its period not known.

    It is non-public, unreadable, or has none; the last is known to be consolidated or not.
    """
    has_period = is_plausible(pl.col("obdobieDo")).fill_null(value=False)
    reason = _of_the_statement()
    is_wanted = reason.is_not_null() | (_flag("konsolidovana") == consolidated)
    return ~has_period & is_wanted & reason.ne_missing("deleted")


@cache
def _of_the_statement() -> pl.Expr:
    """Return why a record of a statement says nothing, null where it does."""
    odd = ~is_plausible(pl.col("obdobieDo"))
    return pl.coalesce(_of_the_record(), pl.when(odd).then(pl.lit("unreadable", REASON)))


@cache
def _of_the_record() -> pl.Expr:
    """Return why a record of a unit or a statement says nothing, null where it does."""
    state = pl.col(wire.STATE).str.to_lowercase()
    return (
        pl.when(state == "zmazané").then(pl.lit("deleted", REASON))
        .when(state == "neverejná").then(pl.lit("non_public", REASON))
        # A record that was not there or broken is a row of its id alone.
        .when(pl.col(wire.CHANGED).is_null()).then(pl.lit("unreadable", REASON))
    )  # fmt: skip
