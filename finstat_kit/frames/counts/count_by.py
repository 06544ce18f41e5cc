"""Units of a frame counted by their codes: pure functions over frames and codelist frames.

Every unit is counted, including those without a code or a label.
"""

from __future__ import annotations

from datetime import date
from typing import Final

import polars as pl

from finstat_kit.arguments import Lang, lang as checked_lang
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.places.nace import Nace
from finstat_kit.protocol.wire import STATE

COUNTS: Final = pl.Schema(
    {
        "code": pl.String,
        "label": pl.String,
        "count": pl.Int64,
        "share": pl.Float64,
        "kind": pl.String,
        # The code field, as a column, since only a column survives `filter`, `concat` and a file:
        # so a chart of the counts cannot have another title.
        "by": pl.String,
    }
)
# Only estimates have "unknown codes" (all of them in one row) and the last one: a record in a frame
# has been read.
KINDS: Final = (
    "labelled", "unknown code", "unknown codes", "no code", "gone", "no record"
)  # fmt: skip


def count_by(
    frame: labels.Frame,
    by: str,
    lookup: labels.Lookup,
    *,
    lang: Lang = "sk",
    today: date | None = None,
    revision: Nace | None = None,
) -> pl.DataFrame:
    """Count units by code; see `Register.count_by`."""
    name = f"name_{checked_lang(lang)}"
    schema = labels.schema_of(frame)
    by = labels.field(by)
    lazy, made_by = groups.with_group(frame.lazy(), by, today, lookup=lookup, revision=revision)
    schema = lazy.collect_schema()
    labels.code_columns(schema, [by], "by")
    codelist = labels.entries(labels.FIELDS[made_by].codelist, lookup)
    # A mirror marks removed rows in its own column, including rows missing from the register.
    marks = [pl.col(STATE).is_not_null()] if STATE in schema else []
    if schema.get("gone") == pl.String:  # a column of another type is the user's
        marks.append(pl.col("gone").is_not_null())
    is_gone = pl.any_horizontal(pl.lit(value=False), *marks)
    if "unit_id" in schema:
        # Figures have one row per unit and year, and a unit is counted once: its size is another
        # in other years.
        year = [pl.col("year")] if "year" in schema else []
        lazy = lazy.sort(has_figures(schema), *year, nulls_last=False, maintain_order=True)
        # A row that names no unit is one of its own.
        unit = pl.col("unit_id")
        if schema["unit_id"] == pl.Null:  # without any value, which polars 1 does not compare
            unit = unit.cast(pl.Int64)
        lazy = lazy.filter(unit.is_null() | unit.is_last_distinct())
    counts = (
        lazy.select(is_gone.alias("gone"), pl.col(by).cast(pl.String).alias("code"))
        # A removed record is not counted under its former code.
        .select("gone", pl.when(~pl.col("gone")).then("code").alias("code"))
        .group_by("gone", "code")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .collect()
    )
    label = labels.label_of(pl.col("code"), pl.String(), codelist["code"], codelist[name])
    known = pl.col("code").is_in(codelist["code"].implode())
    kind = pl.when("gone").then(pl.lit("gone")).otherwise(labels.kind_of(pl.col("code"), known))
    share = pl.col("count") / pl.col("count").sum()
    return (
        counts.with_columns(
            share.alias("share"), kind.alias("kind"), label=label, by=pl.lit(made_by)
        )
        .sort(pl.col("kind").cast(pl.Enum(KINDS)), "count", "code", descending=[False, True, False])
        .select(pl.col(column).cast(dtype) for column, dtype in COUNTS.items())
    )


def are_those_of(frame: labels.Frame, columns: pl.Schema) -> bool:
    """Return whether a frame has the columns of counts or of an estimate.

    A handmade frame need not have the one that names what it was made by.
    """
    return set(columns) - {"by"} <= set(labels.schema_of(frame))


def checked(frame: labels.Frame, by: str, columns: pl.Schema, maker: str) -> pl.DataFrame:
    """Return given counts or an estimate, each column in its type.

    Args:
        frame: With `are_those_of` *columns*.
        by: What they are to be made by.
        columns: Of what the frame is.
        maker: The function that returns such frames.

    Raises:
        UsageError: A column has another type, a count is null or negative, a kind is unknown, or
            they were made by another field.
    """
    from finstat_kit.frames.financials.assemble import holds  # who counts units has no figures

    made_by(frame, by)
    columns = pl.Schema({name: columns[name] for name in columns if name != "by"})
    table = frame.lazy().select(columns.names()).collect()
    for column, dtype in columns.items():
        numbers = table[column]
        if not holds(numbers.dtype, dtype):
            cure = labels.CODES_ARE_TEXT if column == "code" else f"give counts as {maker} does"
            raise UsageError(f"the column {column!r} is {numbers.dtype}", cure=cure)
        if dtype == pl.Int64 and (numbers.null_count() or (numbers < 0).any()):
            fault = f"the column {column!r} has nulls or negative numbers"
            raise UsageError(fault, cure="give whole counts")
    kinds = set(table["kind"]) - set(KINDS)
    if kinds:
        raise UsageError(f"the column 'kind' has {kinds}", cure=f"give some of {list(KINDS)}")
    return table.cast(columns)  # shares may be null, and counts of any size of integer


def made_by(frame: labels.Frame, by: str) -> str:
    """Return what counts or an estimate were made by: *by*, or the same of another revision.

    Raises:
        UsageError: They were made by another field.
    """
    by = labels.field(by)
    if labels.schema_of(frame).get("by") != pl.String:
        return by
    # A column of the user may have the same name.
    fields = set(frame.lazy().select(pl.col("by").unique()).collect()["by"]) & set(labels.FIELDS)
    own = {by, groups.OF_2_1.get(by, by)}
    if other_fields := sorted(fields - own):
        other = groups.named(other_fields[0])
        raise invalid("by", by, f": the frame was made by {other!r}", give=f"by={other!r}")
    return max(fields, default=by, key=lambda field: field != by)
