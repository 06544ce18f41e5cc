"""The checks of reports by their form: its sums, its balance, its results."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.frames.reports.cells import FormOf, Reader
from finstat_kit.frames.reports.form_sums import Floats, FormSums
from finstat_kit.frames.reports.former_reports import former_reports
from finstat_kit.frames.reports.reasons import REASON, WITHOUT

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
        "columns_difference": pl.Float64(),
        "result_difference": pl.Float64(),
        "previous_difference": pl.Float64(),
        "failures": pl.List(_FAILURE),
        "reasons": pl.List(pl.Struct({"table": pl.Int16(), "reason": REASON})),
    }
)
# The fields of records that are read in addition to their tables.
READ: Final = ("idUctovnejZavierky", "titulnaStrana")
# The result of the period in the balance sheet and in the income statement: null if the form has
# none or it is not a number, NaN if it is blank.
_RESULTS: Final[dict[str, pl.DataType]] = {"in_balance": pl.Float64(), "in_income": pl.Float64()}
_OF_CELLS: Final = pl.Schema(
    {
        **{n: t for n, t in CHECKS.items() if n not in ("result_difference", "reasons")},
        **_RESULTS,
    }
)
_SLICE: Final = 2_000  # reports whose cells are in memory as a matrix at a time
_HALF_A_CENT: Final = 0.005
_KEY: Final = ("table", "row", "column")

Mask = NDArray[np.bool_]
_Cell = TypeVar("_Cell", np.float64, np.bool_)


def check(reports: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Check reports; see `Register.check_reports`."""
    # By their place: an id may appear twice in a frame.
    placed = reports.with_columns(pl.int_range(reports.height, dtype=pl.Int64).alias("id"))
    reader, sums_of = Reader(form_of), dict[int, FormSums]()
    checks, reasons = [pl.DataFrame(schema=_OF_CELLS)], []
    for slice_ in former_reports(reports).iter_slices(_SLICE):
        former_places = slice_["former"].drop_nulls()
        places = pl.concat([slice_["place"], former_places]).unique().sort()
        cells, without = reader.read(placed[places])
        former = dict(slice_.drop_nulls().iter_rows())
        of_slice = pl.col("report_id").is_in(slice_["place"].implode())
        checks += [
            _of_one_form(part, _sums_of(int(template), form_of, sums_of), former).filter(of_slice)
            for (template,), part in cells.group_by("template", maintain_order=True)
        ]
        reasons.append(without.filter(of_slice))
    return _per_report(reports, pl.concat(checks), reasons)


def _per_report(
    reports: pl.DataFrame, checks: pl.DataFrame, reasons: list[pl.DataFrame]
) -> pl.DataFrame:
    """Return one row per report, in order.

    Args:
        reports: Records.
        checks: Checks of the reports with cells, by their place.
        reasons: Why other reports have no cells, by their place.
    """
    statement = "idUctovnejZavierky"
    if statement not in reports.columns:
        reports = reports.with_columns(pl.lit(None, pl.Int64).alias(statement))
    rows = reports.select(
        pl.int_range(pl.len()).alias("place"),
        pl.col("id").cast(pl.Int64).alias("report_id"),
        pl.col("idSablony").cast(pl.Int32, strict=False),
        pl.col(statement).cast(pl.Int64, strict=False),
    ).join(checks.rename({"report_id": "place"}), on="place", how="left", maintain_order="left")
    # Until 2013, and for public bodies, the two are reports of one statement.
    income = (
        rows.filter(pl.col("in_income").is_not_null(), pl.col("in_balance").is_null())
        .sort("report_id")
        .unique(statement, keep="last")
        .select(statement, elsewhere="in_income")
    )
    why = (
        pl.concat([pl.DataFrame(schema=WITHOUT), *reasons])
        .group_by(place="report_id")
        .agg(reasons=pl.struct("table", "reason"))
    )
    in_balance, in_income = pl.col("in_balance"), pl.coalesce("in_income", "elsewhere")
    return (
        rows.join(income, on=statement, how="left", maintain_order="left")
        .join(why, on="place", how="left", maintain_order="left")
        .with_columns(
            pl.col("template").fill_null(pl.col("idSablony")),
            pl.col("checked", "failing").fill_null(0),
            # A blank counts as 0 if the other is filled.
            result_difference=pl.when(~(in_balance.is_nan() & in_income.is_nan())).then(
                (in_balance.fill_nan(0.0) - in_income.fill_nan(0.0)).round(2)
            ),
        )
        .select(CHECKS.names())
        .cast({"reasons": CHECKS["reasons"]})
    )


def failing_sums(cells: pl.DataFrame, form_of: FormOf) -> pl.DataFrame:
    """Return ``report_id`` and ``failing`` of reports with a filled cell.

    Args:
        cells: All filled cells of some reports, grouped by report.
        form_of: Returns the form that cells are read by.
    """
    sums_of: dict[int, FormSums] = {}
    parts = [pl.DataFrame(schema={name: CHECKS[name] for name in ("report_id", "failing")})]
    for (template,), cells_of_form in cells.group_by("template", maintain_order=True):
        sums = _sums_of(int(template), form_of, sums_of)
        ends_of_reports = cells_of_form["report_id"].rle().struct.field("len").cum_sum()
        ends = [*ends_of_reports.gather_every(_SLICE, _SLICE - 1), cells_of_form.height]
        for start, end in pairwise([0, *ends]):
            if end > start:
                filed = _filed(cells_of_form[start:end], sums)
                checks = {"report_id": filed.ids, "failing": _added(filed, sums).fails.sum(axis=1)}
                parts.append(pl.DataFrame(checks, schema=parts[0].schema))
    return pl.concat(parts)


def _sums_of(template: int, form_of: FormOf, sums_of: dict[int, FormSums]) -> FormSums:
    if template not in sums_of:
        form = form_of(template)
        assert form is not None  # cells were read by it
        sums_of[template] = FormSums(form)
    return sums_of[template]


class _Filed(NamedTuple):
    """The cells of reports on one form: one row per report, one column per cell of the form.

    Attributes:
        ids: Ids of the reports.
        values: 0 if a cell is blank or not a number.
        filled: Whether a cell is not blank.
        odd: Whether a filled cell is not a number.
    """

    ids: pl.Series
    values: Floats
    filled: Mask
    odd: Mask


def _filed(cells: pl.DataFrame, sums: FormSums) -> _Filed:
    ids = cells["report_id"].unique(maintain_order=True)
    report = np.repeat(np.arange(len(ids)), cells["report_id"].rle().struct.field("len").to_numpy())
    columns = np.array([len(table.columns) for table in sums.form.tables])
    table, row, column = (cells[name].to_numpy().astype(np.int64) for name in _KEY)
    cell = sums.starts[table] + row * columns[table] + column
    shape = len(ids), int(sums.starts[-1])
    values, filled, odd = np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    values[report, cell] = cells["value"].fill_null(0.0).to_numpy()
    filled[report, cell] = True
    odd[report, cell] = cells["value"].is_null().to_numpy()
    return _Filed(ids, values, filled, odd)


class _Added(NamedTuple):
    """The sums of reports on one form: one row per report, one column per sum."""

    stated: Floats
    computed: Floats
    checked: Mask
    fails: Mask


def _added(filed: _Filed, sums: FormSums) -> _Added:
    computed, stated = sums.added(filed.values), filed.values[:, sums.stated]
    # A sum of blanks only states nothing; a text that is not a number cannot be added.
    checked = (sums.any(filed.filled) | filed.filled[:, sums.stated]) & ~(
        sums.any(filed.odd) | filed.odd[:, sums.stated]
    )
    off = np.abs(computed - stated)
    fails = checked & (off > _HALF_A_CENT)
    some = np.flatnonzero(fails.any(axis=1))  # few: for them the rounding of floats is known too
    rounding = 1e-15 * sums.added(np.abs(filed.values[some]), signed=False)
    fails[some] &= off[some] > _HALF_A_CENT + rounding
    return _Added(stated, computed, checked, fails)


def _of_one_form(cells: pl.DataFrame, sums: FormSums, former: dict[int, int]) -> pl.DataFrame:
    """Check the reports of one form.

    Args:
        cells: All filled cells of the reports.
        sums: The sums of the form.
        former: The reports of the previous period among these.
    """
    filed = _filed(cells, sums)
    added = _added(filed, sums)
    off = np.where(added.fails, np.abs(added.computed - added.stated), 0.0)
    return pl.DataFrame(
        {
            "report_id": filed.ids,
            "template": [sums.form.id] * len(filed.ids),
            "checked": added.checked.sum(axis=1),
            "failing": added.fails.sum(axis=1),
            "largest_difference": _largest(off, added.checked),
            "balance_difference": _balance(filed, sums),
            "columns_difference": _across(filed, sums),
            "previous_difference": _previous(filed, sums, former),
            "failures": _failures(added, sums),
            "in_balance": _result(filed, sums.in_balance),
            "in_income": _result(filed, sums.in_income),
        },
        schema=_OF_CELLS,
    )


def _largest(differences: Floats, counted: Mask) -> list[float | None]:
    """Return the largest difference of each report, with its sign; None if no cell is compared."""
    if not differences.shape[1]:
        return [None] * len(differences)
    compared = np.where(counted, differences, 0.0)
    widest = np.abs(compared).argmax(axis=1)[:, None]
    largest = np.round(np.take_along_axis(compared, widest, axis=1)[:, 0], 2) + 0.0  # no -0.0
    any_counted: Mask = np.any(counted, axis=1)
    return [
        value if has_value else None
        for value, has_value in zip(largest.tolist(), any_counted, strict=True)
    ]


def _balance(filed: _Filed, sums: FormSums) -> list[float | None]:
    """Return assets less equity and liabilities, None if the form has no balance sheet."""
    if sums.totals is None:
        return [None] * len(filed.ids)
    assets, liabilities = ([place] for place in sums.totals)
    counted = filed.filled[:, assets] | filed.filled[:, liabilities]
    return _largest(filed.values[:, assets] - filed.values[:, liabilities], counted)


def _across(filed: _Filed, sums: FormSums) -> list[float | None]:
    """Return the largest difference between two columns of a row and their total."""
    first, sign, second, third = sums.across.T
    filled, odd = (
        cells[:, first] | cells[:, second] | cells[:, third] for cells in (filed.filled, filed.odd)
    )
    made_up = filed.values[:, first] + sign * filed.values[:, second]
    return _largest(made_up - filed.values[:, third], filled & ~odd)


def _previous(filed: _Filed, sums: FormSums, former: dict[int, int]) -> list[float | None]:
    """Return the largest difference of the previous-period column from the former report."""
    row_of = {id_: row for row, id_ in enumerate(filed.ids)}
    pairs = [(row, row_of[former[id_]]) for id_, row in row_of.items() if former.get(id_) in row_of]
    later, earlier = np.array(pairs, dtype=np.int64).reshape(-1, 2).T

    def both(cells: NDArray[_Cell]) -> tuple[NDArray[_Cell], NDArray[_Cell]]:
        return cells[later][:, sums.previous], cells[earlier][:, sums.current]

    (filled, filled_then), (odd, odd_then) = both(filed.filled), both(filed.odd)
    # Blanks only are not compared: a first year, a form left empty.
    is_filled, was_filled = (
        np.any(cells, axis=1, keepdims=True) for cells in (filled, filled_then)
    )
    counted = (filled | filled_then) & ~(odd | odd_then) & is_filled & was_filled
    values, values_then = both(filed.values)
    differences: list[float | None] = [None] * len(row_of)
    for row, difference in zip(later, _largest(values - values_then, counted), strict=True):
        differences[row] = difference
    return differences


def _result(filed: _Filed, cell: int | None) -> list[float | None]:
    """Return a result as `_RESULTS` has it."""
    if cell is None:
        return [None] * len(filed.ids)
    values = np.where(filed.filled[:, cell], filed.values[:, cell], np.nan).tolist()
    return [None if odd else v for v, odd in zip(values, filed.odd[:, cell].tolist(), strict=True)]


def _failures(added: _Added, sums: FormSums) -> pl.Series:
    """Return the failing sums of each report, null where all hold."""
    report, which = np.nonzero(added.fails)
    lines = [(one, sums.form.tables[one.table].rows[one.row]) for one in sums.sums]
    each = pl.DataFrame(
        [(*one[:3], line.number, line.label_sk) for one, line in lines],
        schema=[field.name for field in _FAILURE.fields[:5]],
        orient="row",
    )
    values = pl.DataFrame(
        {
            "report": report,
            "stated": added.stated[report, which],
            "computed": added.computed[report, which].round(2),
        }
    )
    return (
        each[which]
        .hstack(values)
        .group_by("report")
        .agg(pl.struct(field.name for field in _FAILURE.fields).cast(_FAILURE))
        .join(
            pl.DataFrame({"report": range(len(added.fails))}),
            on="report", how="right", maintain_order="right",
        )
        .to_series(0)
    )  # fmt: skip
