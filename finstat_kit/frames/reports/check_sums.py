"""The checks of reports by their form: its sums, balance and results, and the report before."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl

from finstat_kit.frames.reports.cells import NO_NUMBER, REASON, CellReader
from finstat_kit.frames.reports.sums import (
    Amounts,
    ComparedSum,
    Floats,
    FormSums,
    Mask,
    compared_sums,
)
from finstat_kit.frames.reports.title_page import TITLE_PAGE, other
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
        "columns_difference": pl.Float64(),
        "result_difference": pl.Float64(),
        "previous_difference": pl.Float64(),
        "title_page": TITLE_PAGE,
        "failures": pl.List(_FAILURE),
        "reasons": pl.List(pl.Struct({"table": pl.Int16(), "reason": REASON})),
    }
)
# The fields of records that are read in addition to their tables.
COMPARED_COLUMNS: Final = ("idUctovnejZavierky", "titulnaStrana")
# The result of the period in the balance sheet and in the income statement: null if the form has
# none or it is not a number, NaN if it is blank.
_RESULTS: Final[dict[str, pl.DataType]] = {"in_balance": pl.Float64(), "in_income": pl.Float64()}
_PER_REPORT: Final = ("result_difference", "title_page", "reasons")
_OF_CELLS: Final = pl.Schema(
    {**{n: t for n, t in CHECKS.items() if n not in _PER_REPORT}, **_RESULTS}
)
_SLICE: Final = 2_000  # reports whose cells are in memory as a matrix at a time
# Fields of the title page: whose report it is, and of which period.
_OWNER_FIELDS: Final = {
    "ico": pl.String, "nazovSpravcovskehoFondu": pl.String, "konsolidovana": pl.Boolean,
}  # fmt: skip
_PERIOD_FIELDS: Final = ("obdobieOd", "obdobieDo", "predchadzajuceObdobieDo")
_PAGE: Final = pl.Struct({**_OWNER_FIELDS, **dict.fromkeys(_PERIOD_FIELDS, pl.Date)})
_SAME_SERIES: Final = ["idSablony", *_OWNER_FIELDS]


def check(reports: pl.DataFrame, form_of: FormOf, filings: pl.DataFrame) -> pl.DataFrame:
    """Check reports; see `Register.check_reports`.

    Args:
        reports: Records.
        form_of: Returns the form that cells are read by.
        filings: ``statement_id``, ``ico``, ``period_from`` and ``period_to`` of their filings, each
            once.
    """
    # By their place: an id may appear twice in a frame.
    placed = reports.with_columns(pl.int_range(reports.height, dtype=pl.Int64).alias("id"))
    reader, sums_of = CellReader(form_of), dict[int, FormSums]()
    checks, reasons = [pl.DataFrame(schema=_OF_CELLS)], []
    for slice_ in _former_reports(reports).iter_slices(_SLICE):
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
    return _per_report(reports, pl.concat(checks), reasons, filings)


def _per_report(
    reports: pl.DataFrame, checks: pl.DataFrame, reasons: list[pl.DataFrame], filings: pl.DataFrame
) -> pl.DataFrame:
    """Return one row per report, in order.

    Args:
        reports: Records.
        checks: Checks of the reports with cells, by their place.
        reasons: Why other reports have no cells, by their place.
        filings: As of `check`.
    """
    statement = "idUctovnejZavierky"
    if statement not in reports.columns:
        reports = reports.with_columns(pl.lit(None, pl.Int64).alias(statement))
    rows = reports.select(
        pl.int_range(pl.len()).alias("place"),
        pl.col("id").cast(pl.Int64).alias("report_id"),
        pl.col("idSablony").cast(pl.Int32, strict=False),
        pl.col(statement).cast(pl.Int64, strict=False),
        page=_page(reports),
    ).join(checks.rename({"report_id": "place"}), on="place", how="left", maintain_order="left")
    # Until 2013, and for public bodies, the two are reports of one statement.
    income = (
        rows.filter(pl.col("in_income").is_not_null(), pl.col("in_balance").is_null())
        .sort("report_id")
        .unique(statement, keep="last")
        .select(statement, elsewhere="in_income")
    )
    why = (
        pl.concat([pl.DataFrame(schema=NO_NUMBER), *reasons])
        .group_by(place="report_id")
        .agg(reasons=pl.struct("table", "reason"))
    )
    in_balance, in_income = pl.col("in_balance"), pl.coalesce("in_income", "elsewhere")
    return (
        rows.join(income, on=statement, how="left", maintain_order="left")
        .join(why, on="place", how="left", maintain_order="left")
        .join(
            filings, left_on=statement, right_on="statement_id", how="left", maintain_order="left"
        )
        .with_columns(
            pl.col("template").fill_null(pl.col("idSablony")),
            pl.col("checked", "failing").fill_null(0),
            title_page=other(*map(pl.col, ("page", "ico", "period_from", "period_to"))),
            # A blank counts as 0 if the other is filled.
            result_difference=pl.when(~(in_balance.is_nan() & in_income.is_nan())).then(
                (in_balance.fill_nan(0.0) - in_income.fill_nan(0.0)).round(2)
            ),
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


def _of_one_form(cells: pl.DataFrame, sums: FormSums, former: dict[int, int]) -> pl.DataFrame:
    """Check the reports of one form.

    Args:
        cells: All filled cells of the reports.
        sums: The sums of the form.
        former: The reports of the previous period among these.
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
            "columns_difference": _across(amounts, sums),
            "previous_difference": _previous(ids, amounts, sums, former),
            "failures": _failures(added, sums),
            "in_balance": _result(amounts, sums.in_balance),
            "in_income": _result(amounts, sums.in_income),
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


def _across(amounts: Amounts, sums: FormSums) -> Floats:
    """Return the largest difference between two columns of a row and their total."""
    first, sign, second, third = sums.across.T
    values, filled = amounts.values, amounts.filled
    off = values[first] + sign[:, None] * values[second] - values[third]
    return _largest(off, (filled[first] | filled[second] | filled[third]) & ~np.isnan(off))


def _previous(ids: pl.Series, amounts: Amounts, sums: FormSums, former: dict[int, int]) -> Floats:
    """Return the largest difference of the previous-period column from the former report."""
    place_of = {id_: place for place, id_ in enumerate(ids)}
    pairs = [
        (place, place_of[former[id_]])
        for id_, place in place_of.items()
        if former.get(id_) in place_of
    ]
    later, earlier = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    now, then = np.ix_(sums.previous, later), np.ix_(sums.current, earlier)
    off = amounts.values[now] - amounts.values[then]
    filled, filled_then = amounts.filled[now], amounts.filled[then]
    # Blanks only are not compared: a first year, a form left empty.
    both = filled.any(axis=0) & filled_then.any(axis=0)
    counted = (filled | filled_then) & ~np.isnan(off) & both
    differences = np.full(len(ids), np.nan)
    differences[later] = _largest(off, counted)
    return differences


def _result(amounts: Amounts, cell: int | None) -> list[float | None]:
    """Return a result as `_RESULTS` has it."""
    values, filled = amounts.values, amounts.filled
    if cell is None:
        return [None] * values.shape[1]
    return [
        (None if math.isnan(value) else value) if is_filled else math.nan
        for value, is_filled in zip(values[cell].tolist(), filled[cell].tolist(), strict=True)
    ]


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


def _page(reports: pl.DataFrame) -> pl.Expr:
    has_page = isinstance(reports.schema.get("titulnaStrana"), pl.Struct)
    return (pl.col("titulnaStrana") if has_page else pl.lit(None)).cast(_PAGE, strict=False)


def _former_reports(reports: pl.DataFrame) -> pl.DataFrame:
    """Return the place of each report and of its former report, grouped by unit.

    The former report has the same unit, form, fund and kind of consolidation, and its period ends
    on the day that the title page gives for the previous period. Of several, such as a report and
    its correction, it is the one with the highest id.

    Args:
        reports: Records; without ``titulnaStrana`` no report has a former one.

    Returns:
        ``place`` and ``former`` (Int64, null if the frame has none).
    """
    placed = reports.select("id", "idSablony", page=_page(reports), place=pl.int_range(pl.len()))
    described = placed.unnest("page").with_columns(
        pl.col("konsolidovana").fill_null(value=False),
        pl.col("nazovSpravcovskehoFondu").fill_null(""),
        before=pl.coalesce("predchadzajuceObdobieDo", pl.col("obdobieOd").dt.offset_by("-1d")),
    )
    earlier = (
        described.sort("id")
        .unique([*_SAME_SERIES, "obdobieDo"], keep="last")
        .select(*_SAME_SERIES, before="obdobieDo", former="place")
    )
    return (
        described.join(earlier, on=[*_SAME_SERIES, "before"], how="left")
        .sort(*_SAME_SERIES, "obdobieDo", "place")
        .select("place", "former")
    )
