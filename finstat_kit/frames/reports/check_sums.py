"""The checks of reports by their form: its sums and its balance."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from finstat_kit.frames.reports.cells import NO_NUMBER, REASON, CellReader
from finstat_kit.frames.reports.currency import EURO, of_reports
from finstat_kit.frames.reports.sums import Amounts, FormSums, compared_sums, in_cents
from finstat_kit.protocol.forms import Form, FormOf

_FAILURE: Final = pl.Struct(
    {
        "table": pl.Int16(),
        "row": pl.Int16(),
        "column": pl.Int16(),
        "number": pl.Int32(),
        "label_sk": pl.String(),
        "stated": pl.Float64(),
        "computed": pl.Float64(),
    }
)
CHECKS: Final = pl.Schema(
    {
        "report_id": pl.Int64(),
        "template": pl.Int32(),
        "checked": pl.Int32(),
        "failing": pl.Int32(),
        "largest_difference": pl.Float64(),
        "balance_difference": pl.Float64(),
        "failures": pl.List(_FAILURE),
        "reasons": pl.List(pl.Struct({"table": pl.Int16(), "reason": REASON})),
    }
)
_OF_CELLS: Final = pl.Schema({name: CHECKS[name] for name in CHECKS if name != "reasons"})
_SLICE: Final = 2_000  # reports whose cells are in memory as a matrix at a time


def check(reports: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Check reports; see `Reports.check`.

    Args:
        reports: Records.
        form_of: Returns the form that cells are read by.
    """
    # By their place: an id may appear twice in a frame.
    placed = reports.with_columns(pl.int_range(reports.height, dtype=pl.Int64).alias("id"))
    reader = CellReader(form_of)
    checks, reasons = [pl.DataFrame(schema=_OF_CELLS)], [pl.DataFrame(schema=NO_NUMBER)]
    for slice_ in placed.iter_slices(_SLICE):
        cells, without = reader.read(slice_)
        checks += [
            _of_one_form(part, form)
            for (template,), part in cells.group_by("template", maintain_order=True)
            if (form := form_of(int(template))) is not None
        ]
        reasons.append(without)
    return _per_report(reports, pl.concat(checks), pl.concat(reasons))


def _per_report(reports: pl.DataFrame, checks: pl.DataFrame, reasons: pl.DataFrame) -> pl.DataFrame:
    """Return one row per report, in order.

    Args:
        reports: Records.
        checks: Checks of the reports with cells, by their place.
        reasons: Why other reports have no cells, by their place.
    """
    why = reasons.group_by(place="report_id").agg(reasons=pl.struct("table", "reason"))
    foreign = pl.struct(table=pl.lit(None, pl.Int16), reason=pl.lit("other_currency", REASON))
    return (
        reports.select(
            pl.int_range(pl.len()).alias("place"),
            pl.col("id").cast(pl.Int64).alias("report_id"),
            pl.col("idSablony").cast(pl.Int32, strict=False),
            foreign=of_reports(reports.schema) != EURO,
        )
        .join(checks.rename({"report_id": "place"}), on="place", how="left", maintain_order="left")
        .join(why, on="place", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("template", "idSablony").alias("template"),
            pl.col("checked", "failing").fill_null(0),
            reasons=pl.when(pl.col("template").is_not_null() & pl.col("foreign"))
            .then(pl.concat_list(pl.col("reasons").fill_null([]), foreign))
            .otherwise("reasons"),
        )
        .select(CHECKS.names())
        .cast({"reasons": CHECKS["reasons"]})
    )


def _of_one_form(cells: pl.DataFrame, form: Form) -> pl.DataFrame:
    """Check the reports of one form by all of their filled cells."""
    sums, ids = FormSums(form), cells["report_id"].unique(maintain_order=True)
    report = pl.col("report_id").rle_id()
    amounts = Amounts((sums.cells, len(ids)), cells.select("value", cell=sums.place, report=report))
    balance = np.full(len(ids), np.nan)  # a form without a balance sheet has none
    if sums.totals is not None:
        balance = amounts.up(zip((1.0, -1.0), sums.totals, strict=True)).amounts
    checked, failing, largest = (np.zeros(len(ids)) for _ in range(3))
    failures: list[list[dict[str, object]] | None] = [None] * len(ids)
    for total, (stated, computed, is_checked, fails) in zip(
        sums.sums, compared_sums(amounts, sums), strict=True
    ):
        checked += is_checked
        failing += fails
        places = np.flatnonzero(fails)
        largest[places] = np.maximum(largest[places], np.abs(computed - stated)[places])
        row = form.tables[total.table].rows[total.row]
        in_euro = in_cents({"computed": computed[places]})["computed"]
        for place, of_terms in zip(places.tolist(), in_euro, strict=True):
            failure = (*total[:3], row.number, row.label_sk, float(stated[place]), of_terms)
            named = dict(zip(_FAILURE.to_schema(), failure, strict=True))
            failures[place] = [*(failures[place] or ()), named]
    differences = {
        "largest_difference": np.where(checked > 0, largest, np.nan),
        "balance_difference": balance,
    }
    return pl.DataFrame(
        {"report_id": ids, "template": [form.id] * len(ids), "checked": checked,
         "failing": failing, **in_cents(differences),
         "failures": pl.Series(failures, dtype=_OF_CELLS["failures"])}
    ).cast(_OF_CELLS)  # fmt: skip
