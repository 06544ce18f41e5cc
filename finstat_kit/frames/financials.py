"""One row per unit and year: the filing that is taken, its items, its checks, or the reason."""

from __future__ import annotations

from typing import Final

import polars as pl

from finstat_kit.frames import items
from finstat_kit.frames.cells import FormOf, Reader
from finstat_kit.frames.check_sums import check
from finstat_kit.frames.filings import months
from finstat_kit.frames.reasons import REASON
from finstat_kit.frames.templates import PERIOD

# Carried along from the records of units, so that frames can be grouped and labelled at once.
CARRIED: Final = ("kraj", "okres", "skNace", "velkostOrganizacie")
HEAD: Final = pl.Schema(
    {
        "unit_id": pl.Int64(),
        "ico": pl.String(),
        "name": pl.String(),
        **dict.fromkeys(CARRIED, pl.String()),
        "year": pl.Int32(),
        "period_from": pl.Date(),
        "period_to": pl.Date(),
        "months": pl.Int16(),
        "periods_in_year": pl.Int16(),
        "source_column": PERIOD,
        "kind": pl.String(),
        "consolidated": pl.Boolean(),
        "filed": pl.Date(),
        "supersedes": pl.Int16(),
        "statement_id": pl.Int64(),
        "report_id": pl.Int64(),
        "template": pl.Int32(),
        "currency": pl.String(),
        "reason": REASON,
        "sums_failing": pl.Int32(),
        "balance_difference": pl.Float64(),
    }
)


def schema() -> pl.Schema:
    """Return the columns of financials."""
    return pl.Schema({**HEAD, **dict.fromkeys(items.names(), pl.Float64())})


def next_reports(taken: pl.DataFrame, reports: pl.DataFrame) -> pl.Series:
    """Return the reports to fetch next: one of each filing whose tables are not all there yet.

    Args:
        taken: ``statement_id`` and ``report_ids`` of filings.
        reports: Those fetched so far.
    """
    listed = _listed(taken).join(
        reports.select("idSablony", report_id="id", fetched=pl.lit(value=True)),
        on="report_id", how="left",
    )  # fmt: skip
    complete = pl.lit(value=False)
    for together in items.WHOLE:
        have = [(pl.col("idSablony") == template).any() for template in together]
        complete = complete | pl.all_horizontal(have)
    return (
        listed.filter(~complete.fill_null(value=False).over("statement_id"))
        .filter(pl.col("fetched").is_null())
        .sort("place")
        .unique("statement_id", keep="first", maintain_order=True)["report_id"]
    )


def assembled(
    taken: pl.DataFrame,
    units: pl.DataFrame,
    reports: pl.DataFrame,
    form_of: FormOf,
    live: FormOf,
    *,
    from_previous: bool,
) -> pl.DataFrame:
    """Return the rows of financials.

    Args:
        taken: Filings as `chosen` returns them: one for each unit and year, or a reason.
        units: Their records.
        reports: Records of the reports of those filings, as many as `next_reports` wanted.
        form_of: Returns the form that cells are read by.
        live: Returns the form whose captions are compared with those of the items.
        from_previous: Add a row for the year before out of each filing.
    """
    listed = _listed(taken).join(reports, left_on="report_id", right_on="id")
    tabular = listed.filter(pl.col("idSablony").is_in(items.TEMPLATES))
    read = tabular.rename({"report_id": "id"})
    cells, without = Reader(form_of).read(read)
    found = items.items_of(cells, live)
    figures = _figures(found, tabular)
    described = (
        taken.join(_carried(units), on="unit_id", how="left")
        .join(_sources(listed), on="statement_id", how="left")
        .join(_checks(check(read, form_of), tabular), on="statement_id", how="left")
        .join(_reasons(listed, found, without, form_of), on="statement_id", how="left")
    )
    rows = [_of_this_year(described, figures)]
    if from_previous:
        rows.append(_of_the_year_before(described, figures))
    return (
        pl.concat(rows)
        .join(units.select(unit_id="id").with_row_index("place"), on="unit_id", how="left")
        .sort("place", "year", "source_column", "period_to", nulls_last=True, maintain_order=True)
        .select(schema().names())
    )


def _of_this_year(described: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    now = figures.filter(pl.col("period") == "current").drop("period")
    any_figure = pl.any_horizontal(pl.col(items.names()).is_not_null())
    return (
        described.join(now, on="statement_id", how="left")
        .with_columns(
            source_column=pl.lit("current", PERIOD),
            reason=pl.when(~any_figure).then(
                pl.coalesce("reason", "without", pl.lit("no_content", REASON))
            ),
        )
        .with_columns(
            pl.when(any_figure).then(name).alias(name)
            for name in ("sums_failing", "balance_difference")
        )
        .select(schema().names())
        .cast(schema())
    )


def _of_the_year_before(described: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """Return what filings say of the year before theirs, where they say anything."""
    before = figures.filter(
        pl.col("period") == "previous", pl.any_horizontal(pl.col(items.names()).is_not_null())
    ).drop("period")
    first, last = pl.col("before_from"), pl.col("before_to")
    nothing = ("reason", "periods_in_year", "supersedes", "sums_failing", "balance_difference")
    return (
        described.join(before, on="statement_id", how="inner")
        .with_columns(pl.lit(None).alias(name) for name in nothing)
        .with_columns(
            year=last.dt.year().fill_null(pl.col("year") - 1),
            period_from=first,
            period_to=last,
            months=months(first, last),
            source_column=pl.lit("previous", PERIOD),
        )
        .select(schema().names())
        .cast(schema())
    )


def _listed(taken: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each report that filings list, ``place`` its place among them."""
    return (
        taken.select("statement_id", report_id="report_ids")
        .explode("report_id")
        .drop_nulls()
        .unique(maintain_order=True)
        .with_columns(place=pl.int_range(pl.len()).over("statement_id"))
    )


def _carried(units: pl.DataFrame) -> pl.DataFrame:
    return units.select("id", "nazovUJ", *CARRIED).rename({"id": "unit_id", "nazovUJ": "name"})


def _sources(listed: pl.DataFrame) -> pl.DataFrame:
    """Return what each filing's figures come from: of two reports the balance sheet."""
    order = pl.col("idSablony").replace_strict(
        items.TEMPLATES, range(len(items.TEMPLATES)), default=None, return_dtype=pl.Int64
    )
    # Without a form of the items, the one with tables on another form.
    return (
        listed.filter(pl.col("idSablony").is_not_null(), pl.col("tabulky").list.len() > 0)
        .with_columns(order=order, page=pl.col("titulnaStrana"))
        .sort("statement_id", "order", "place", nulls_last=True)
        .group_by("statement_id", maintain_order=True)
        .agg(
            pl.col("report_id").first(),
            template=pl.col("idSablony").first().cast(pl.Int32),
            currency=pl.col("mena").drop_nulls().first(),
            before_from=pl.col("page").struct.field("predchadzajuceObdobieOd").first(),
            before_to=pl.col("page").struct.field("predchadzajuceObdobieDo").first(),
        )
    )


def _figures(found: pl.DataFrame, tabular: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each filing and period, a column for each item."""
    return (
        items.wide(found)
        .join(tabular.select("report_id", "statement_id", "place"), on="report_id")
        .sort("statement_id", "place")
        .group_by("statement_id", "period", maintain_order=True)
        .agg(pl.col(items.names()).drop_nulls().first())
    )


def _checks(checks: pl.DataFrame, tabular: pl.DataFrame) -> pl.DataFrame:
    return (
        checks.join(tabular.select("report_id", "statement_id"), on="report_id")
        .group_by("statement_id")
        .agg(
            sums_failing=pl.col("failing").sum(),
            balance_difference=pl.col("balance_difference").drop_nulls().first(),
        )
    )


def _reasons(
    listed: pl.DataFrame, found: pl.DataFrame, without: pl.DataFrame, form_of: FormOf
) -> pl.DataFrame:
    """Return as ``without`` why each filing has no figures, if it has none."""
    of = listed.select("report_id", "statement_id")
    own = pl.col("idSablony").is_in(items.TEMPLATES).fill_null(value=False)
    # Forms that are no forms of the items: what has tables is on one of them.
    others = listed.filter(~own)
    tables = pl.col("tabulky").list.len().fill_null(0) > 0
    bare = Reader(form_of).read(others.filter(~tables).rename({"report_id": "id"}))[1]
    captions = found.filter(pl.col("reason") == "caption_mismatch").select("report_id", "reason")
    elsewhere = pl.lit("item_not_in_form", REASON)
    ranked = [
        # A form of the items says more than the notes beside it.
        (0, without.select("report_id", "reason")),
        (1, captions),
        (2, listed.filter(own).select("report_id", reason=pl.lit("all_blank", REASON))),
        (3, others.filter(tables).select("report_id", reason=elsewhere)),
        (4, bare.select("report_id", "reason")),
    ]
    return (
        pl.concat([rows.with_columns(rank=pl.lit(rank)) for rank, rows in ranked])
        .join(of, on="report_id")
        .sort("rank", "reason")
        .group_by("statement_id", maintain_order=True)
        .agg(without=pl.col("reason").first())
    )
