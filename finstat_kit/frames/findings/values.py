"""The values of figures: one row per unit and year, and why a row has none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.arguments import near
from finstat_kit.errors import UsageError
from finstat_kit.frames.financials import assemble, ratios
from finstat_kit.frames.financials.one_row_per_year import one_row_per_year
from finstat_kit.frames.places import labels

BLANK: Final = "all_blank"
NOT_ON_FORM: Final = "item_not_in_form"
DIVISOR: Final = "divisor"  # not above zero
_USED: Final = (
    "unit_id", "year", "reason", "source_column", "months", "period_to", "consolidated", "family",
    "template",
    "currency", ratios.EXCLUDED,
)  # fmt: skip


class Values(NamedTuple):
    """One row per unit and year, with the number of a value in the column ``value``."""

    rows: pl.DataFrame
    left_out: int  # further rows of a unit and year


def of_frame(frame: labels.Frame, value: str) -> Values:
    """Return the rows of a frame with an item, or with a ratio, which is computed where absent.

    Raises:
        UsageError: There is no such column, or individual and consolidated figures are mixed.
    """
    table = with_value(frame, value)
    if {"unit_id", "year"} <= set(table.columns):
        assemble.check_types(table.schema, ("unit_id", "year"), "frame")
    number = labels.column_of(table.schema, value).cast(pl.Float64).alias("value")
    rows, left_out = one_row_per_year(table.with_columns(number))
    finite = pl.when(pl.col("value").is_finite()).then("value")
    return Values(rows.with_columns(finite.alias("value")), left_out)


def with_value(frame: labels.Frame, value: str) -> pl.DataFrame:
    """Return a frame with a column of an item, which a ratio of financials may be.

    Raises:
        UsageError: There is none.
    """
    if check(value, labels.schema_of(frame)):
        return ratios.ratios(frame.lazy(), keep=True).collect()
    return frame.lazy().collect()


def check(value: str, schema: pl.Schema) -> bool:
    """Refuse what is neither a column of numbers nor a ratio; return whether it is computed."""
    if value in ratios.NUMBERS and value not in schema:
        absent = [name for name in ratios.columns_of(value) if name not in schema]
        if not absent:
            return True
        raise UsageError(
            f": no column {absent[0]!r}, which it is computed from", argument="value", value=value,
            cure="give a frame as fk.financials returns it, or its fk.ratios",
        )  # fmt: skip
    # A column without any value may have no type either.
    if value not in schema or not (schema[value].is_numeric() or schema[value] == pl.Null):
        problem, meant = f"is {schema.get(value)}", ""
        if value not in schema:
            numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
            problem, meant = "is not a column", near(value, [*numbers, *ratios.NUMBERS])
        raise UsageError(
            problem, argument="value", value=value,
            cure=f"{meant}give a column of numbers, such as an item of fk.financials or a ratio of "
            "fk.ratios",
        )  # fmt: skip
    return False


def narrowed(
    frame: labels.Frame, values: Sequence[str], also: Collection[str], argument: str = "figures"
) -> pl.DataFrame:
    """Return what is used of a frame, collected at once, with the columns of all values.

    Args:
        frame: Financials or ratios.
        values: Items or ratios.
        also: Further columns.
        argument: What the frame is called.
    """
    schema = labels.schema_of(frame)
    used = {*_USED, *also}
    for value in values:
        check(value, schema)
        if value in schema:
            used.add(value)
        if value in ratios.NUMBERS:
            used.update(ratios.columns_of(value))
    assemble.check_types(schema, used, argument)
    table = frame.lazy().select(name for name in schema if name in used).collect()
    for value in values:
        if value not in table.columns:
            computed = with_value(table, value)
            table = table.with_columns(computed[value], computed[ratios.EXCLUDED])
    return table


def reason(value: str, columns: Collection[str], schema: pl.Schema) -> pl.Expr:
    """Return why a row without a value has none: a reason of financials, or one of the value."""
    parts = ratios.parts_of_value(value)
    why = pl.lit(BLANK)
    if "template" in columns and parts:
        on_form = pl.col("template").is_in(ratios.forms_of(value))
        why = pl.when(~on_form).then(pl.lit(NOT_ON_FORM)).otherwise(why)
    if schema.get(ratios.EXCLUDED) == pl.List(pl.String):
        excluded = pl.col(ratios.EXCLUDED).list.contains(value)
        why = pl.when(excluded).then(pl.lit(DIVISOR)).otherwise(why)
    if "reason" in columns:
        why = pl.coalesce(pl.col("reason").cast(pl.String), why)
    return why
