"""Changes from year to year, only where two years are comparable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from finstat_kit import arguments, calls
from finstat_kit.errors import invalid
from finstat_kit.frames.financials import assemble, ratios
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.findings import scale, values
from finstat_kit.frames.findings.scale import BEFORE, LAST, MONTHS, with_periods
from finstat_kit.frames.findings.summary import check_columns
from finstat_kit.frames.findings.values import one_row_per_year

# Why there is no change, the first that applies.
REASONS: Final = ("no_value", "gap", "no_value_before", "months", "form", "sign")
REASON: Final = pl.Enum(REASONS)
_IDENTITY: Final = (*assemble.IDENTITY, "months", "template", "status")


@calls.checked_call
def growth(panel: pl.DataFrame | pl.LazyFrame, value: str | Sequence[str]) -> pl.DataFrame:
    """Compute changes to the period before, absolute and relative, where both are comparable.

    The period before ends the day before a filing's own begins. Null where there is none, where
    either value is missing, where the periods have another length or one that is not known, where
    the value means something else on the former form (from 687 to 699, of some items from 21), and
    where the sign changes; a fall to 0 is a change. Nothing is deflated.

    Args:
        panel: A panel, or figures as `financials` returns them; rows of previous columns are no
            filings.
        value: An item or ratio, or several.

    Returns:
        One row per unit and year (``unit_id``, ``ico``, ``name``, ``year``, ``months``,
        ``template`` and ``status``, as far as the frame has them), and per value, here ``sales``:
        ``sales``, ``sales_before``, ``sales_change``, ``sales_growth`` (change by the amount
        before; null where that is 0) (Float64), ``sales_reason`` (Enum: why there is no change:
        ``no_value``, ``gap``, ``no_value_before``, ``months``, ``form``, ``sign``). Then
        ``scale_doubtful`` (Boolean; see `panel`): true where it is true of either year; `summary`
        leaves such pairs out. At the end the columns of the unit, for groups: ``kraj``, ``okres``,
        ``pravnaForma``, ``skNace``, ``velkostOrganizacie``, ``nace``, ``datumZalozenia``,
        ``datumZrusenia``, as far as the frame has them.

    Raises:
        UsageError: An argument is wrong or a column is missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     panel, _ = fk.panel(fk.financials([365], range(2015, 2018)))
        >>> fk.growth(panel, "sales").select("year", "sales_change", "sales_reason").rows()
        [(2015, None, 'gap'), (2016, 2761.0, None), (2017, 13661.0, None)]
    """
    names = arguments.names("value", value)
    for name in names:
        if name in {*assemble.PROVENANCE, *assemble.IDENTITY, ratios.BELOW_CRISIS, scale.DOUBTFUL}:
            raise invalid("value", name, "is not a figure", give="an item or a ratio")
    check_columns(panel, [], "panel")
    of_units = [*assemble.CARRIED, "nace", *assemble.DAYS]
    also = {"ico", "name", "status", "period_from", *of_units, *scale.AMOUNTS, scale.DOUBTFUL}
    table = values.filed(values.narrowed(panel, names, also, "panel"))
    rows = scale.marked(one_row_per_year(table)[0].sort("unit_id", "year"))
    rows = with_periods(rows)
    rows = rows.with_columns(has_figures(rows.schema).alias(" there"))
    former = rows.with_columns(pl.col(LAST).alias(BEFORE)).unique(["unit_id", BEFORE])
    on = ["unit_id", BEFORE]
    rows = rows.join(former, on=on, how="left", maintain_order="left", suffix=" former")
    columns = [name for name in _IDENTITY if name in rows.columns]
    for name in names:
        rows = _changes(rows, name)
        columns += [name, *(f"{name}_{part}" for part in ("before", "change", "growth", "reason"))]
    either_year = pl.col(scale.DOUBTFUL) | pl.col(f"{scale.DOUBTFUL} former")
    carried = [name for name in of_units if name in table.columns]
    return rows.select(*columns, either_year, *carried)


def _changes(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    value, before = pl.col(name), pl.col(f"{name} former")
    months = (pl.col(MONTHS) != pl.col(f"{MONTHS} former")).fill_null(value=True)
    form = pl.lit(value=False)
    if "template" in rows.columns:
        form = _family("template", name).ne_missing(_family("template former", name))
    gap = ~pl.col(" there former").fill_null(value=False)
    reason = (
        pl.when(value.is_null()).then(pl.lit("no_value"))
        .when(gap).then(pl.lit("gap"))
        .when(before.is_null()).then(pl.lit("no_value_before"))
        .when(months).then(pl.lit("months"))
        .when(form).then(pl.lit("form"))
        .when(value * before < 0).then(pl.lit("sign"))
    ).cast(REASON)  # fmt: skip
    change = pl.when(reason.is_null()).then(value - before)
    return rows.with_columns(
        before.alias(f"{name}_before"),
        reason.alias(f"{name}_reason"),
        change.alias(f"{name}_change"),
        pl.when(before != 0).then(change / before.abs()).alias(f"{name}_growth"),
    ).with_columns(assemble.numbers([f"{name}_change", f"{name}_growth"]))


def _family(column: str, name: str) -> pl.Expr:
    """Return the forms among which the value means the same as on a form."""
    form = pl.col(column)
    return form.replace_strict(
        ratios.families(name), default=form.cast(pl.String), return_dtype=pl.String
    )
