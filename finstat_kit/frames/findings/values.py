"""The values of figures: one row per unit and year, outliers, and why a row has no value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import near
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.financials import assemble, ratios
from finstat_kit.frames.financials.reasons import HAS_FIGURES, has_figures
from finstat_kit.frames.places import labels

BLANK: Final = "all_blank"
NOT_ON_FORM: Final = "item_not_in_form"
UNKNOWN: Final = "unknown"  # why there is no value: the frame has no column of reasons
DIVISOR: Final = "divisor"  # not above zero
_USED: Final = (
    "unit_id", "year", "reason", "source_column", "months", "period_to", "consolidated", "family",
    "template",
    "currency", ratios.EXCLUDED,
)  # fmt: skip
_PLACE: Final = " place"
_HUGEST: Final = 1e100  # squares of numbers far larger are infinite, and so are ends of axes
# By column, as far as a frame has it: what goes before, and whether it is the greatest.
_ORDER: Final = {
    "source_column": (pl.col("source_column").cast(pl.String) == "previous", False),
    "months": (pl.col("months"), True),
    "period_to": (pl.col("period_to"), True),
}


class Rows(NamedTuple):
    """One row of each unit and year, in their order, and the number of those left out."""

    table: pl.DataFrame
    left_out: int


def of_frame(frame: labels.Frame, value: str) -> Rows:
    """Return the rows of a frame with an item, or with a ratio, which is computed where absent.

    Its number is in the column ``value``, null in rows without figures.

    Raises:
        UsageError: There is no such column, or individual and consolidated figures are mixed.
    """
    table = with_value(frame, value)
    if table.schema[value] == pl.Boolean:
        give = 'its mean, the share of units: fk.summary, with statistic="mean"'
        raise invalid("value", value, "is of yes or no", give=give)
    if {"unit_id", "year"} <= set(table.columns):
        assemble.check_types(table.schema, ("unit_id", "year"), "frame")
    number = labels.column_of(table.schema, value).cast(pl.Float64).alias("value")
    rows, left_out = one_row_per_year(_of_figures(table.with_columns(number), ["value"]))
    return Rows(rows.with_columns(drawable("value").alias("value")), left_out)


def _of_figures(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return a frame whose rows without figures have no values: a sum of nothing is often 0."""
    has = has_figures(table.schema)
    return table.with_columns(pl.when(has).then(name).alias(name) for name in names)


def drawable(name: str) -> pl.Expr:
    """Return a column of numbers, null where no axis can hold them: NaN, infinity, the hugest."""
    return pl.when(pl.col(name).is_between(-_HUGEST, _HUGEST)).then(name)


def with_value(frame: labels.Frame, value: str) -> pl.DataFrame:
    """Return a frame with a column of an item, which a ratio of financials may be.

    Raises:
        UsageError: There is none.
    """
    if check(value, labels.schema_of(frame)):
        return ratios.computed(frame.lazy(), keep=True).collect()
    return frame.lazy().collect()


def check(value: str, schema: pl.Schema) -> bool:
    """Refuse what is neither a column of numbers nor a ratio; return whether it is computed."""
    arguments.text("value", value)
    if value in ratios.NAMES and value not in schema:
        absent = [name for name in ratios.columns_of(value) if name not in schema]
        if not absent:
            return True
        raise invalid(
            "value",
            value,
            f": no column {absent[0]!r}, which it is computed from",
            give="a frame as fk.financials returns it, or its fk.ratios",
        )
    # A column without any value may have no type either.
    if value not in schema or not (
        schema[value].is_numeric() or schema[value] in (pl.Boolean, pl.Null)
    ):
        problem, meant = f"is {schema.get(value)}", ""
        if value not in schema:
            numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
            problem, meant = "is not a column", near(value, [*numbers, *ratios.NAMES])
        raise invalid(
            "value",
            value,
            problem,
            cure=f"{meant}give a column of numbers, such as an item of fk.financials or a ratio of "
            "fk.ratios",
        )
    return False


def narrowed(
    frame: labels.Frame, values: Sequence[str], also: Collection[str], argument: str = "figures"
) -> pl.DataFrame:
    """Return what is used of a frame, collected at once, with the columns of all values.

    A row without figures has no value.

    Args:
        frame: Financials or ratios.
        values: Items or ratios.
        also: Further columns.
        argument: What the frame is called.
    """
    schema = labels.schema_of(frame)
    used_columns = {*_USED, *also}
    for value in values:
        check(value, schema)
        if value in schema:
            used_columns.add(value)
        if value in ratios.NAMES:
            used_columns.update(ratios.columns_of(value))
        used_columns.add(_column_of_reasons(value))
    assemble.check_types(schema, used_columns, argument)
    of_financials = assemble.schema()
    amounts = [n for n in schema if n in values or of_financials.get(n) == pl.Float64]
    numbers = assemble.numbers(used_columns.intersection(amounts))
    used = [pl.col(name) for name in schema if name in used_columns and name != HAS_FIGURES]
    # By the columns that are left out, too.
    used.append(has_figures(schema).alias(HAS_FIGURES))
    table = frame.lazy().select(used).with_columns(numbers).collect()
    for value in values:
        if value not in table.columns:
            computed = with_value(table, value)
            table = table.with_columns(computed[value], computed[ratios.EXCLUDED])
    are_of_yes = [value for value in values if table.schema[value] == pl.Boolean]
    return _of_figures(table.with_columns(pl.col(are_of_yes).cast(pl.Float64)), values)


def _column_of_reasons(value: str) -> str:
    """Return the column of `growth` that says why there is no change of a value."""
    return f"{value.rpartition('_')[0]}_reason"


def is_change(value: str, columns: Collection[str]) -> bool:
    """Return whether a value is a change of a pair of years, as `growth` returns it."""
    return value.endswith(("_change", "_growth")) and _column_of_reasons(value) in columns


def reason(value: str, columns: Collection[str], schema: pl.Schema) -> pl.Expr:
    """Return why a row without a value has none: a reason of financials, or one of the value."""
    parts = ratios.parts_of_value(value)
    if is_change(value, columns):
        own_reason = pl.col(_column_of_reasons(value)).cast(pl.String)
        return pl.coalesce(own_reason, pl.lit(DIVISOR))  # the value before is 0
    # A ratio of yes or no has a bound in some years alone.
    is_blank = "reason" in columns and value != ratios.BELOW_CRISIS
    why = pl.lit(BLANK if is_blank else UNKNOWN)
    if "template" in columns and parts:
        on_form = pl.col("template").is_in(ratios.forms_of(value))
        why = pl.when(~on_form).then(pl.lit(NOT_ON_FORM)).otherwise(why)
    if schema.get(ratios.EXCLUDED) == pl.List(pl.String):
        excluded = pl.col(ratios.EXCLUDED).list.contains(value)
        why = pl.when(excluded).then(pl.lit(DIVISOR)).otherwise(why)
    if "reason" in columns:
        why = pl.coalesce(pl.col("reason").cast(pl.String), why)
    return why


def one_row_per_year(table: pl.DataFrame) -> Rows:
    """Take one row of each unit and year.

    A row with figures goes before one with a reason instead, the current column before the
    previous one, a longer period before a shorter one, a later end before an earlier one. The row
    of an IČO that no unit has is none. A frame without ``unit_id`` or ``year`` is taken whole.

    Raises:
        UsageError: The frame has both individual and consolidated statements.
    """
    if "consolidated" in table.columns and table["consolidated"].drop_nulls().n_unique() > 1:
        raise UsageError(
            "the frame has individual and consolidated statements, and each would count as a unit",
            cure='take one of them: .filter(pl.col("consolidated") == False)',
        )
    if not {"unit_id", "year"} <= set(table.columns):
        return Rows(table, 0)
    if table["unit_id"].null_count():
        table = table.drop_nulls("unit_id")
    if _are_alone(table):
        return Rows(table, 0)
    ranks = [(has_figures(table.schema), True)]
    ranks += [rank for name, rank in _ORDER.items() if name in table.columns]
    order, descending = [rank for rank, _ in ranks], [down for _, down in ranks]
    best_rows = (
        table.with_row_index(_PLACE)
        .sort(*order, _PLACE, descending=[*descending, False], nulls_last=True)
        .unique(["unit_id", "year"], keep="first", maintain_order=True)
        .sort(_PLACE)
        .drop(_PLACE)
    )
    return Rows(best_rows, table.height - best_rows.height)


def _are_alone(table: pl.DataFrame) -> bool:
    """Return whether no unit has two rows of a year, as far as that is seen at little cost."""
    # One number is compared several times faster than a pair.
    pair = pl.col("unit_id").cast(pl.Int64) * 10_000 + pl.col("year").cast(pl.Int64)
    return bool(table.select(pair.n_unique() == pl.len()).item())


def filed(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of filings, without those of the period before theirs."""
    if "source_column" not in table.columns:
        return table
    return table.filter(pl.col("source_column").cast(pl.String).ne_missing("previous"))
