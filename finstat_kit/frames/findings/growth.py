"""Changes from year to year, only where two years are comparable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.errors import UsageError
from finstat_kit.frames.financials import assemble, items, ratios
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.findings import values
from finstat_kit.frames.findings.summary import check_columns
from finstat_kit.frames.findings.values import one_row_per_year
from finstat_kit.frames.places import labels

Basis = Literal["previous_year", "previous_column"]
# Why there is no change, the first that applies.
REASONS: Final = ("no_value", "gap", "no_value_before", "months", "form", "sign")
REASON: Final = pl.Enum(REASONS)
_IDENTITY: Final[tuple[str, ...]] = (
    "unit_id",
    "ico",
    "name",
    "year",
    "months",
    "template",
    "status",
)


def growth(
    panel: labels.Frame, value: str | Sequence[str], *, basis: Basis = "previous_year"
) -> pl.DataFrame:
    """Compute changes to the year before, absolute and relative, where both are comparable.

    Null over a gap, where either value is missing, where the periods have another length or the
    forms are of another family (from 687 to 699 only where the value means the same on both), and
    where the sign changes. Nothing is deflated.

    Args:
        panel: A panel, or figures as `financials` returns them; with ``"previous_column"`` figures
            with ``from_previous=True``.
        value: An item or ratio, or several.
        basis: ``"previous_year"``: the value of the year before as its own filing states it;
            ``"previous_column"``: as the filing itself states it beside its own.

    Returns:
        One row per unit and year (``unit_id``, ``ico``, ``name``, ``year``, ``months``,
        ``template`` and ``status``, as far as the frame has them), and per value, here ``sales``:
        ``sales``, ``sales_before``, ``sales_change``, ``sales_growth`` (change by the amount
        before; null where that is 0) (Float64), ``sales_reason`` (Enum: why there is no change:
        ``no_value``, ``gap``, ``no_value_before``, ``months``, ``form``, ``sign``); with
        ``"previous_column"`` also ``sales_restated`` (Float64: how much the column differs from the
        former filing, null where it has none or is equal).

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
        if name in assemble.PROVENANCE or name in assemble.IDENTITY:
            raise UsageError(
                "is not a figure", argument="value", value=name, cure="give an item or a ratio"
            )
    arguments.one_of("basis", basis, ("previous_year", "previous_column"))
    check_columns(panel, [], "panel")
    also = {"ico", "name", "status", "statement_id"}
    table = values.narrowed(panel, names, also, "panel")
    own_column = basis == "previous_column"
    previous = table.clear()
    if own_column:
        if (
            "source_column" not in table.columns
            or "statement_id" not in table.columns
            or not (table["source_column"].cast(pl.String) == "previous").any()
        ):
            raise UsageError(
                ": the frame has no rows of the previous column", argument="basis", value=basis,
                cure="give fk.financials(units, years, from_previous=True), not a panel of it",
            )  # fmt: skip
        is_previous = pl.col("source_column").cast(pl.String) == "previous"
        previous, table = table.filter(is_previous), table.filter(~is_previous)
    rows = one_row_per_year(table)[0].sort("unit_id", "year")
    rows = rows.with_columns(has_figures(rows.schema).alias(" there"))
    former = rows.with_columns(pl.col("year") + 1)
    years = ["unit_id", "year"]
    rows = rows.join(former, on=years, how="left", maintain_order="left", suffix=" former")
    if own_column:
        beside = previous.drop_nulls("statement_id").unique("statement_id", keep="first")
        beside = beside.with_columns(pl.lit(value=True).alias(" there"))
        rows = rows.join(
            beside, on="statement_id", how="left", maintain_order="left", suffix=" beside"
        )
    before = "beside" if own_column else "former"
    rows = rows.with_columns(pl.col(f"{name} {before}").alias(f"{name}_before") for name in names)
    columns = [name for name in _IDENTITY if name in rows.columns]
    for name in names:
        rows = _changes(rows, name, own_column=own_column)
        columns += [name, *(f"{name}_{part}" for part in ("before", "change", "growth", "reason"))]
        columns += [f"{name}_restated"] if own_column else []
    return rows.select(columns)


def _changes(rows: pl.DataFrame, name: str, *, own_column: bool) -> pl.DataFrame:
    value, before = pl.col(name), pl.col(f"{name}_before")
    never = pl.lit(value=False)
    if "months" not in rows.columns:
        months = never
    elif own_column:  # few title pages state the length of the period before
        months = (pl.col("months") != pl.col("months beside")).fill_null(value=False)
    else:
        months = pl.col("months").ne_missing(pl.col("months former"))
    # Both columns of a filing are on one form.
    form = (
        never
        if own_column or "template" not in rows.columns
        else (_family("template", name).ne_missing(_family("template former", name)))
    )
    is_there = pl.col(" there beside" if own_column else " there former")
    gap = ~is_there.fill_null(value=False)
    reason = (
        pl.when(value.is_null()).then(pl.lit("no_value"))
        .when(gap).then(pl.lit("gap"))
        .when(before.is_null()).then(pl.lit("no_value_before"))
        .when(months).then(pl.lit("months"))
        .when(form).then(pl.lit("form"))
        .when(value * before < 0).then(pl.lit("sign"))
    ).cast(REASON)  # fmt: skip
    change = pl.when(reason.is_null()).then(value - before)
    rows = rows.with_columns(
        reason.alias(f"{name}_reason"),
        change.alias(f"{name}_change"),
        pl.when(before != 0).then(change / before.abs()).alias(f"{name}_growth"),
    )
    if own_column:
        difference = before - pl.col(f"{name} former")
        is_of_the_year = pl.col("year beside") == pl.col("year") - 1
        restated = pl.when(is_of_the_year & (difference != 0)).then(difference)
        rows = rows.with_columns(restated.alias(f"{name}_restated"))
    return rows


def _family(column: str, name: str) -> pl.Expr:
    """Return the family of a form; 687 is of the others' where the value means the same."""
    families: dict[int, str] = dict(items.FAMILY_OF)
    if ratios.differs_by_form(name):
        families[687] = "micro"
    form = pl.col(column)
    return form.replace_strict(families, default=form.cast(pl.String), return_dtype=pl.String)
