"""The checks of reports by their form: its sums and its balance."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from finstat_kit.frames.reports.cells import NO_NUMBER, REASON, CellReader
from finstat_kit.frames.reports.currency import is_foreign, last_day
from finstat_kit.frames.reports.sums import (
    Amounts,
    ComparedSum,
    Floats,
    FormSums,
    Mask,
    compared_sums,
)
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
    each, shape = list(compared_sums(amounts, sums)), (len(sums.sums), len(ids))
    added = ComparedSum(
        *(np.array([one[n] for one in each], dtype).reshape(shape)
          for n, dtype in enumerate((np.float64, np.float64, np.bool_, np.bool_)))
    )  # fmt: skip
    off = np.where(added.fails, np.abs(added.computed - added.stated), 0.0)
    return pl.DataFrame(
        {
            "report_id": ids,
            "template": [sums.form.id] * len(ids),
            "checked": added.checked.sum(axis=0),
            "failing": added.fails.sum(axis=0),
            "largest_difference": _largest(off, added.checked),
            "balance_difference": _balance(amounts, sums),
            "failures": _failures(added, sums),
        },
        schema=_OF_CELLS,
    ).with_columns(pl.col("^.*_difference$").fill_nan(None))


def _largest(differences: Floats, counted: Mask) -> Floats:
    """Return the largest difference of each report, with its sign; NaN if no cell is compared."""
    if not len(differences):
        return np.full(differences.shape[1], np.nan)
    compared = np.where(counted, differences, 0.0)
    widest = np.abs(compared).argmax(axis=0)[None]
    largest = np.round(np.take_along_axis(compared, widest, axis=0)[0], 2) + 0.0  # no -0.0
    return np.where(counted.any(axis=0), largest, np.nan)


def _balance(amounts: Amounts, sums: FormSums) -> Floats:
    """Return assets less equity and liabilities, NaN if the form has no balance sheet."""
    if sums.totals is None:
        return np.full(amounts.values.shape[1], np.nan)
    sides = list(sums.totals)
    values, filled = amounts.values[sides], amounts.filled[sides]
    off = values[:1] - values[1:]
    return _largest(off, (filled[:1] | filled[1:]) & ~np.isnan(off))


def _failures(added: ComparedSum, sums: FormSums) -> pl.Series:
    """Return the failing sums of each report, null where all hold."""
    report, which = np.nonzero(added.fails.T)
    lines = [(one, sums.form.tables[one.table].rows[one.row]) for one in sums.sums]
    stated_sums = pl.DataFrame(
        [(*one[:3], line.number, line.label_sk) for one, line in lines],
        schema=[field.name for field in _FAILURE.fields[:5]],
        orient="row",
    )
    values = pl.DataFrame(
        {
            "report": report,
            "stated": added.stated[which, report],
            "computed": added.computed[which, report].round(2),
        }
    )
    return (
        stated_sums[which]
        .hstack(values)
        .group_by("report")
        .agg(pl.struct(field.name for field in _FAILURE.fields).cast(_FAILURE))
        .join(
            pl.DataFrame({"report": range(added.fails.shape[1])}),
            on="report", how="right", maintain_order="right",
        )
        .to_series(0)
    )  # fmt: skip
