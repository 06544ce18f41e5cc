"""Which filing of each period counts, what it supersedes, and why a unit has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from finstat_kit.frames.reasons import REASON
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
        "filed": pl.Date(),
        "report_ids": pl.List(pl.Int64),
        "counts": pl.Boolean(),
        "superseded_by": pl.Int64(),
        "reason": REASON,
    }
)
# The columns of units and statements that are read.
UNIT: Final = ("id", "ico", wire.STATE, wire.CHANGED, "idUctovnychZavierok")
# Regular statements come first, those of a special day only in their absence, interim ones never.
_KINDS: Final = ("Riadna", "Mimoriadna")
_PERIOD: Final = ["unit_id", "period_from", "period_to", "kind"]


def held_by(units: pl.DataFrame) -> pl.DataFrame:
    """Return ``unit_id`` and ``statement_id`` of every statement that units list."""
    return (
        units.select(unit_id="id", statement_id="idUctovnychZavierok")
        .explode("statement_id")
        .drop_nulls()
        .unique(maintain_order=True)
    )


def known_of(statements: pl.DataFrame) -> pl.DataFrame:
    """Return what the walk needs of statements: id, year, end of the period, day of filing."""
    return statements.select(
        statement_id="id",
        year=pl.col("obdobieDo").dt.year(),
        ends="obdobieDo",
        filed="datumPodania",
    )


def months(first: pl.Expr, last: pl.Expr) -> pl.Expr:
    """Return how many months a period has, by its first and last day."""
    many = 12 * (last.dt.year() - first.dt.year()) + last.dt.month() - first.dt.month() + 1
    return many.cast(pl.Int16)


def by_rule(
    units: pl.DataFrame,
    statements: pl.DataFrame,
    years: Sequence[int] | None,
    *,
    consolidated: bool,
    not_held: pl.Series | None = None,
) -> pl.DataFrame:
    """Return a row per filing, and one for each unit, or unit and year, without any.

    Args:
        units: Records, each unit once; one that has no record is a row of its id.
        statements: Records of the statements of the years that are wanted, at least.
        years: None is every year.
        consolidated: Whether the consolidated ones are wanted, or the others.
        not_held: Ids of the units whose statements a copy of the register does not hold.
    """
    absent = pl.Series("id", [], pl.Int64) if not_held is None else not_held
    there = units.join(absent.alias("id").to_frame(), on="id", how="anti", maintain_order="left")
    filed = _marked(_described(there, statements, consolidated=consolidated))
    if years is not None:
        filed = filed.filter(pl.col("year").is_in(list(years)))
    missing = _missing(units, filed, years, absent)
    order = units.select(unit_id="id").with_row_index("place")
    return (
        pl.concat([filed, missing])
        .join(order, on="unit_id", how="left")
        .sort("place", "year", "period_to", "filed", "statement_id", nulls_last=True)
        .select(FILINGS.names())
    )


def chosen(filings: pl.DataFrame) -> pl.DataFrame:
    """Return the one filing of each unit and year that its figures are taken from.

    A regular statement goes before an extraordinary one, a longer period before a shorter one, the
    later of two equally long ones before the earlier. Adds ``periods_in_year`` and ``supersedes``
    (Int16): how many periods end in the year, and how many filings the one taken corrects.
    """
    each = ["unit_id", "year"]
    former = (
        filings.drop_nulls("superseded_by")
        .group_by(statement_id="superseded_by")
        .agg(supersedes=pl.len().cast(pl.Int16))
    )
    dated = filings.drop_nulls("year")["unit_id"]
    able = filings.filter("counts", pl.col("kind").is_in(_KINDS))
    best = (
        able.with_columns(
            periods_in_year=pl.struct("period_from", "period_to").n_unique().over(each)
            .cast(pl.Int16),
            rank=pl.col("kind").replace_strict(_KINDS, [0, 1], return_dtype=pl.Int8),
        )
        .sort("rank", "months", "period_to", descending=[False, True, True], maintain_order=True)
        .unique(each, keep="first", maintain_order=True)
        .drop("rank")
        .join(former, on="statement_id", how="left", maintain_order="left")
        .with_columns(pl.col("supersedes").fill_null(0))
    )  # fmt: skip
    # What is left of a unit and year is a reason, or statements that are never taken; records that
    # tell no year are left only to units without any.
    others = (
        filings.join(best.select(each), on=each, how="anti")
        .filter(pl.col("year").is_not_null() | ~pl.col("unit_id").is_in(dated.implode()))
        .with_columns(
            pl.col("reason").fill_null(pl.lit("no_filing_for_year", REASON)),
            periods_in_year=pl.lit(None, pl.Int16),
            supersedes=pl.lit(None, pl.Int16),
        )
        .sort("reason", maintain_order=True)
        .unique(each, keep="first", maintain_order=True)
    )
    return pl.concat([best, others])


def _described(
    units: pl.DataFrame, statements: pl.DataFrame, *, consolidated: bool
) -> pl.DataFrame:
    """Return the statements of units as rows of `FILINGS` of which nothing is known to count."""
    first, last = pl.col("obdobieOd"), pl.col("obdobieDo")
    flag = pl.col("konsolidovana").fill_null(value=False)
    return (
        held_by(units)
        .join(statements, left_on="statement_id", right_on="id", how="inner")
        .filter(flag == consolidated)
        .join(units.select("id", "ico"), left_on="unit_id", right_on="id", how="left")
        .select(
            "unit_id",
            "ico",
            "statement_id",
            period_from=first,
            period_to=last,
            months=months(first, last),
            year=last.dt.year(),
            kind="typ",
            consolidated=flag,
            filed="datumPodania",
            report_ids="idUctovnychVykazov",
            counts=pl.lit(None, pl.Boolean),
            superseded_by=pl.lit(None, pl.Int64),
            reason=_of_the_record(),
        )
        .cast(FILINGS)
    )


def _marked(filed: pl.DataFrame) -> pl.DataFrame:
    """Mark the filing of each period that counts: filed last, then the highest id."""
    alive = pl.col("reason").is_null()
    last = pl.col("statement_id").sort_by("filed", "statement_id", nulls_last=False).last()
    winners = filed.filter(alive).group_by(_PERIOD).agg(winner=last)
    won = pl.col("statement_id") == pl.col("winner")
    return (
        filed.join(winners, on=_PERIOD, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            counts=won.fill_null(value=False),
            superseded_by=pl.when(alive & ~won).then("winner"),
        )
        .drop("winner")
    )


def _missing(
    units: pl.DataFrame, filed: pl.DataFrame, years: Sequence[int] | None, not_held: pl.Series
) -> pl.DataFrame:
    """Return a row for each unit, or unit and year, that has no filing."""
    rows = units.select(
        "ico",
        unit_id="id",
        reason=pl.coalesce(
            _of_the_record(),
            pl.when(pl.col("idUctovnychZavierok").list.len().fill_null(0) == 0)
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
    nothing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in FILINGS.items()
        if name not in rows.columns
    ]
    return (
        rows.join(filed.select(on), on=on, how="anti")
        .with_columns(nothing)
        .with_columns(counts=pl.lit(value=False))
        .select(FILINGS.names())
    )


def _of_the_record() -> pl.Expr:
    """Return why a record of a unit or a statement says nothing, null where it does."""
    state = pl.col(wire.STATE).str.to_lowercase()
    return (
        pl.when(state == "zmazané").then(pl.lit("deleted", REASON))
        .when(state == "neverejná").then(pl.lit("non_public", REASON))
        # A record that was not there or broken is a row of its id alone.
        .when(pl.col(wire.CHANGED).is_null()).then(pl.lit("unreadable", REASON))
    )  # fmt: skip
