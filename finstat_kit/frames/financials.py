"""One row per unit and year: the filing that is taken, its items, its checks, or the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.frames import items
from finstat_kit.frames.cells import FormOf, Reader
from finstat_kit.frames.check_sums import check
from finstat_kit.frames.filings import months
from finstat_kit.frames.reasons import REASON
from finstat_kit.frames.templates import PERIOD
from finstat_kit.protocol import wire

# Carried along from the records of units, so that frames can be grouped and labelled at once.
CARRIED: Final = ("kraj", "okres", "pravnaForma", "skNace", "velkostOrganizacie")
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


class Content(NamedTuple):
    """What the reports of filings say.

    Attributes:
        figures: One row per report and period with any cell of an item, a column per item.
        checks: ``report_id``, ``failing`` and ``balance_difference`` of reports of the items.
        reasons: ``report_id``, ``reason`` and ``rank``: why reports have no figures; of the lowest
            rank the first reason is given.
    """

    figures: pl.DataFrame
    checks: pl.DataFrame
    reasons: pl.DataFrame


# A form of the items says more than the notes beside it.
REFUSED: Final = 0  # ranks of reasons
CAPTIONS: Final = 1
_OWN: Final = 2
_ELSEWHERE: Final = 3
BARE: Final = 4


def listed_reports(taken: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each report of filings, with ``statement_id`` and its ``place`` there.

    Args:
        taken: Filings as `chosen` returns them: one for each unit and year, or a reason.
        reports: Records of the reports of those filings, as many as `next_reports` wanted.
    """
    return _listed(taken).join(reports, left_on="report_id", right_on="id")


def read(listed: pl.DataFrame, form_of: FormOf, live: FormOf) -> Content:
    """Read reports.

    Args:
        listed: Result of `listed_reports`.
        form_of: Returns the form that cells are read by.
        live: Returns the form whose captions are compared with those of the items.
    """
    own = listed.filter(of_items()).rename({"report_id": "id"}).unique("id", maintain_order=True)
    cells, without = Reader(form_of).read(own)
    found = items.items_of(cells, live)
    captions = found.filter(pl.col("reason") == "caption_mismatch")
    # Forms that are no forms of the items: what has tables is on one of them.
    bare = listed.filter(~of_items(), ~has_tables()).rename({"report_id": "id"})
    reasons = {REFUSED: without, CAPTIONS: captions, BARE: Reader(form_of).read(bare)[1]}
    return Content(items.wide(found).drop("template"), check(own, form_of), ranked(reasons))


def ranked(reasons: Mapping[int, pl.DataFrame]) -> pl.DataFrame:
    """Return reasons by their ranks in one frame."""
    return pl.concat(
        rows.select("report_id", "reason", rank=pl.lit(rank)) for rank, rows in reasons.items()
    )


def of_items() -> pl.Expr:
    """Return whether a report is on a form of the items."""
    return pl.col("idSablony").is_in(items.TEMPLATES).fill_null(value=False)


def has_tables() -> pl.Expr:
    """Return whether a report has tables."""
    return pl.col(wire.TABLES).list.len().fill_null(0) > 0


def assembled(
    taken: pl.DataFrame,
    units: pl.DataFrame,
    listed: pl.DataFrame,
    content: Content,
    *,
    from_previous: bool,
) -> pl.DataFrame:
    """Return the rows of financials.

    Args:
        taken: Filings as `chosen` returns them: one for each unit and year, or a reason.
        units: Their records.
        listed: Result of `listed_reports`.
        content: What these reports say.
        from_previous: Add a row for the year before out of each filing.
    """
    tabular = listed.filter(of_items())
    figures = _figures(content.figures, tabular)
    described = (
        taken.join(carried(units), on="unit_id", how="left")
        .join(sources(listed), on="statement_id", how="left")
        .join(_checks(content.checks, tabular), on="statement_id", how="left")
        .join(_reasons(listed, content.reasons), on="statement_id", how="left")
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


def carried(units: pl.DataFrame) -> pl.DataFrame:
    """Return what rows carry along from the records of units."""
    return units.select("id", "nazovUJ", *CARRIED).rename({"id": "unit_id", "nazovUJ": "name"})


def sources(listed: pl.DataFrame) -> pl.DataFrame:
    """Return what each filing's figures come from: of two reports the balance sheet."""
    order = pl.col("idSablony").replace_strict(
        items.TEMPLATES, range(len(items.TEMPLATES)), default=None, return_dtype=pl.Int64
    )
    # Without a form of the items, the one with tables on another form.
    return (
        listed.filter(pl.col("idSablony").is_not_null(), has_tables())
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
    columns = ["statement_id", "period", *items.names()]
    rows = found.join(tabular.select("report_id", "statement_id", "place"), on="report_id")
    alone = rows.filter(pl.struct("statement_id", "period").is_unique())
    several = (
        rows.join(alone, on=["statement_id", "period"], how="anti")
        .sort("statement_id", "place")
        .group_by("statement_id", "period", maintain_order=True)
        .agg(pl.col(items.names()).drop_nulls().first())
    )
    return pl.concat([alone.select(columns), several.select(columns)])


def _checks(checks: pl.DataFrame, tabular: pl.DataFrame) -> pl.DataFrame:
    return (
        checks.join(tabular.select("report_id", "statement_id"), on="report_id")
        .group_by("statement_id")
        .agg(
            sums_failing=pl.col("failing").sum(),
            balance_difference=pl.col("balance_difference").drop_nulls().first(),
        )
    )


def _reasons(listed: pl.DataFrame, reasons: pl.DataFrame) -> pl.DataFrame:
    """Return as ``without`` why each filing has no figures, if it has none."""
    own, elsewhere = listed.filter(of_items()), listed.filter(~of_items(), has_tables())
    known = {
        _OWN: own.with_columns(reason=pl.lit("all_blank", REASON)),
        _ELSEWHERE: elsewhere.with_columns(reason=pl.lit("item_not_in_form", REASON)),
    }
    return (
        pl.concat([reasons, ranked(known)])
        .join(listed.select("report_id", "statement_id"), on="report_id")
        .sort("rank", "reason")
        .group_by("statement_id", maintain_order=True)
        .agg(without=pl.col("reason").first())
    )
