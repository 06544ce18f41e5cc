"""The checks of reports by their form: its sums and its balance."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from finstat_kit.frames.reports.cells import NO_NUMBER, REASON, CellReader
from finstat_kit.frames.reports.currency import is_foreign, last_day
from finstat_kit.frames.reports.sums import Amounts, FormSums, compared_sums, in_cents
from finstat_kit.protocol.forms import FormOf

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
_COMPARED: Final = pl.Schema(
    {
        "report_id": pl.Int64(),
        "sum": pl.Int64(),
        "stated": pl.Float64(),
        "computed": pl.Float64(),
        "checked": pl.Boolean(),
        "fails": pl.Boolean(),
    }
)
_SLICE: Final = 2_000  # reports whose cells are in memory as a matrix at a time


def check(reports: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Check reports; see `Reports.check`.

    Args:
        reports: Records.
        form_of: Returns the form that cells are read by.
    """
    # By their place: an id may appear twice in a frame.
    placed = reports.with_columns(pl.int_range(reports.height, dtype=pl.Int64).alias("id"))
    reader, sums_of = CellReader(form_of), dict[int, FormSums]()
    checks, reasons = [pl.DataFrame(schema=_OF_CELLS)], [pl.DataFrame(schema=NO_NUMBER)]
    for slice_ in placed.iter_slices(_SLICE):
        cells, without = reader.read(slice_)
        checks += [
            _of_one_form(part, _sums_of(int(template), form_of, sums_of))
            for (template,), part in cells.group_by("template", maintain_order=True)
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
            foreign=is_foreign(reports.schema, last_day(reports.schema)),
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


def _sums_of(template: int, form_of: FormOf, sums_of: dict[int, FormSums]) -> FormSums:
    if template not in sums_of:
        form = form_of(template)
        assert form is not None  # cells were read by it
        sums_of[template] = FormSums(form)
    return sums_of[template]


def _of_one_form(cells: pl.DataFrame, sums: FormSums) -> pl.DataFrame:
    """Check the reports of one form.

    Args:
        cells: All filled cells of the reports.
        sums: The sums of the form.
    """
    ids = cells["report_id"].unique(maintain_order=True)
    report = pl.col("report_id").rle_id()
    amounts = Amounts((sums.cells, len(ids)), cells.select("value", cell=sums.place, report=report))
    balance = np.full(len(ids), np.nan)  # a form without a balance sheet has none
    if sums.totals is not None:
        balance = amounts.up(zip((1.0, -1.0), sums.totals, strict=True)).amounts
    compared = (
        pl.concat(
            pl.DataFrame(
                {"report_id": ids, "sum": [n] * len(ids), **one._asdict()}, schema=_COMPARED
            )
            for n, one in enumerate(compared_sums(amounts, sums))
        )
        if sums.sums
        else pl.DataFrame(schema=_COMPARED)
    )
    rows = [(*one[:3], sums.form.tables[one.table].rows[one.row]) for one in sums.sums]
    lines = pl.DataFrame(
        [(n, *cell, row.number, row.label_sk) for n, (*cell, row) in enumerate(rows)],
        schema={"sum": pl.Int64(), **{field.name: field.dtype for field in _FAILURE.fields[:5]}},
        orient="row",
    )
    difference = (pl.col("computed") - pl.col("stated")).abs().filter("fails").max()
    counts = compared.group_by("report_id").agg(
        pl.col("checked").sum(),
        failing=pl.col("fails").sum(),
        largest_difference=pl.when(pl.col("checked").any()).then(difference.fill_null(0).round(2)),
    )
    failures = (
        compared.filter("fails")
        .with_columns(pl.col("computed").round(2))
        .join(lines, on="sum", maintain_order="left")
        .group_by("report_id", maintain_order=True)
        .agg(failures=pl.struct(field.name for field in _FAILURE.fields))
    )
    return (
        pl.DataFrame({"report_id": ids, **in_cents({"balance_difference": balance})})
        .join(counts, on="report_id", how="left", maintain_order="left")
        .join(failures, on="report_id", how="left", maintain_order="left")
        .with_columns(template=sums.form.id)
        .select(_OF_CELLS.names())
        .cast(_OF_CELLS)
    )
