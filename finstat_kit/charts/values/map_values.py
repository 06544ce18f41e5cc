"""The values of a tile map: checked or counted, with labels, and as text."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from finstat_kit.arguments import By, Lang, near
from finstat_kit.charts.parts import drawing, tiles
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames.counts.count_by import KINDS, check_made_by
from finstat_kit.frames.financials import ratios
from finstat_kit.frames.financials.quartiles import spread
from finstat_kit.frames.places import labels
from finstat_kit.frames.text import numbers as number_format
from finstat_kit.protocol import wire


def of_frame(
    frame: labels.Frame, by: By, value: str, lang: Lang, register: Register | None
) -> pl.DataFrame:
    """Return the columns of a map: ``code``, ``value``, ``label`` and ``kind``.

    A frame with codes and values is used as it is; units are counted.
    """
    if "code" in labels.schema_of(frame):
        check_made_by(frame, by)
        table = _given(frame, by, value)
    else:
        table = _counted(frame, by, value, lang, register)
    return _described(table, by, lang, register)


def medians(coded: pl.DataFrame, by: By, lang: Lang, register: Register | None) -> pl.DataFrame:
    """Return the columns of a map and ``units``: the median of the values of each code."""
    table = spread(coded, "value", by).select("code", "units", value="median")
    return _described(table, by, lang, register)


def is_of_units(frame: labels.Frame, by: str, value: str) -> bool:
    """Whether a frame has one row per unit with a value, such as financials and ratios."""
    columns = labels.schema_of(frame)
    known = value in columns or value in ratios.NUMBERS
    return value != "count" and known and "code" not in columns and by in columns


def by_code(table: pl.DataFrame) -> dict[str, float]:
    """Return the values by code, nulls left out."""
    present = table.drop_nulls("value")
    return dict(zip(present["code"], present["value"], strict=True))


def writer(values: pl.Series, lang: Lang) -> Callable[[float], str]:
    """Return the format of the values: whole, or with three significant digits of the median."""
    present = values.drop_nulls()
    if values.dtype.is_integer() or (present == present.round()).all():
        return lambda number: number_format.whole(int(number), lang).replace("-", "−")
    middle = present.cast(pl.Float64).abs().filter(present != 0).median()
    size = math.floor(math.log10(middle)) if isinstance(middle, float) else 2
    places = min(max(2 - size, 0), 9)
    return lambda number: number_format.decimal(float(number), lang, places).replace("-", "−")


def _given(frame: labels.Frame, by: str, value: str) -> pl.DataFrame:
    """Return code and value of a frame that has them, and kind if it is that of counts."""
    schema = labels.schema_of(frame)
    numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
    if value not in numbers:
        fault = f"is {schema[value]}" if value in schema else "is not a column"
        raise UsageError(
            fault,
            argument="value",
            value=value,
            cure=f"{near(value, numbers)}give a column of numbers, of {numbers}",
        )
    if not labels.holds_codes(schema["code"]):
        raise UsageError(f"the column 'code' is {schema['code']}", cure="codes are text")
    kind = ["kind"] if schema.get("kind") == pl.String else []
    table = (
        frame.lazy()
        .select(
            pl.col("code").cast(pl.String), labels.column_of(schema, value).alias("value"), *kind
        )
        .collect()
    )
    (other,) = set(tiles.LEVELS) - {by}
    strange = table.filter(pl.col("code").is_in(list(tiles.LEVELS[other])))["code"]
    if strange.len():
        raise UsageError(
            f": {strange[0]!r} is a code of the other level",
            argument="by",
            value=by,
            cure=f"give {other!r}",
        )
    twice = table.filter(pl.col("code").is_duplicated() & pl.col("code").is_not_null())["code"]
    if twice.len():
        raise UsageError(
            f": {twice[0]!r} appears in two rows", argument="frame", cure="give each code once"
        )
    return table if kind and set(table["kind"]) <= set(KINDS) else table.drop(kind)


def _counted(
    frame: labels.Frame, by: By, value: str, lang: Lang, register: Register | None
) -> pl.DataFrame:
    """Return the counts of units by code, in the column ``value``."""
    if value != "count":
        columns = ["count", *labels.schema_of(frame), *ratios.NUMBERS]
        raise UsageError(
            ": units can only be counted here",
            argument="value",
            value=value,
            cure=f"{near(value, columns)}give a frame with the columns 'code' and {value!r}",
        )
    return drawing.counts(frame, by, lang, register).rename({"count": "value"})


def _described(table: pl.DataFrame, by: By, lang: Lang, register: Register | None) -> pl.DataFrame:
    """Add the label, and kind if it is missing; NaN and infinity become null."""
    if table["value"].dtype.is_float():
        table = table.with_columns(pl.when(pl.col("value").is_finite()).then("value"))
    # Tiles have their own names; only codes without a tile need a register, if one is chosen.
    tiled = tiles.LEVELS[by]
    label = pl.col("code")
    if register is not None and not set(table["code"].drop_nulls()) <= set(tiled):
        columns = {"code": wire.BY_FIELD[by].name}
        labelled = register.resolve_labels(table.select("code"), lang=lang, columns=columns)
        on_a_tile = pl.when(label.is_in(list(tiled))).then(label)
        label = pl.coalesce(labelled["code_label"], on_a_tile)
    table = table.with_columns(label.alias("label"))
    if "kind" in table.columns:
        return table
    return table.with_columns(kind=labels.kind_of(pl.col("code"), pl.col("label")))
