"""Codes and their labels: pure functions over frames and codelist frames.

The rule of the specification: the entry whose code equals the value, otherwise null.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar, cast

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import Lang, lang as checked_lang, near
from finstat_kit.errors import UsageError, invalid, value_in_python
from finstat_kit.frames.places import groups
from finstat_kit.given_frames import not_polars
from finstat_kit.protocol.old_codes import old_code
from finstat_kit.protocol.wire import BY_FIELD, CODELISTS, LOCATION_FIELDS

UNRESOLVED: Final = pl.Schema(
    {"column": pl.String, "code": pl.String, "count": pl.Int64, "likely": pl.String}
)

Frame = pl.DataFrame | pl.LazyFrame
Name = TypeVar("Name")
Columns = Sequence[str] | Mapping[str, str] | None
# Called with the name of a codelist only if a column needs it, to avoid needless requests.
Lookup = Callable[[str], pl.DataFrame]


class CodeColumn(NamedTuple):
    """A column of codes, its codelist, and the name of the column of labels."""

    code: str
    codelist: str
    label: str


FIELDS: Final = {
    **{field: CodeColumn(field, codelist.name, codelist.label)
       for field, codelist in BY_FIELD.items()},
    **{by: CodeColumn(by, by, group.label) for by, group in groups.GROUPS.items()},
}  # fmt: skip

CODES_ARE_TEXT: Final = (
    "codes are text, since a number loses its leading zeros: read the column as String"
)
NAMED: Final = tuple(name for name in FIELDS if name not in groups.OF_2_1.values())
_KNOWN: Final = (*CODELISTS, *groups.GROUPS)


def field(by: Name, fields: Iterable[str] = NAMED, argument: str = "by") -> Name:
    """Return the field that is named, by itself or by the column of its labels.

    >>> field("region"), field("kraj")
    ('kraj', 'kraj')
    """
    by_label = {FIELDS[name].label: name for name in fields}
    name = by_label.get(by, by) if isinstance(by, str) else by
    arguments.one_of(argument, name, tuple(fields))
    return cast("Name", name)


def entries(codelist: str, lookup: Lookup) -> pl.DataFrame:
    """Return a codelist, of the register or of a derived group."""
    return groups.codelist(codelist) if codelist in groups.GROUPS else lookup(codelist)


def resolve_labels(
    frame: given_frames.Frame,
    lookup: Lookup,
    *,
    lang: Lang = "sk",
    columns: Columns = None,
    front: bool = False,
) -> given_frames.Frame:
    """Add the label behind each code; see `Register.resolve_labels`."""
    name = f"name_{checked_lang(lang)}"
    schema = schema_of(frame)
    resolved = code_columns(schema, columns)
    label_columns = {column.label for column in resolved}
    by_code = {column.code: column for column in resolved}
    frame_columns: list[pl.Expr] = []
    front_columns: list[pl.Expr] = []
    for index, (existing, dtype) in enumerate(schema.items()):
        itself = pl.nth(index)  # as in `column_of`
        if existing not in label_columns:
            frame_columns.append(itself)
        if existing in by_code:
            column = by_code[existing]
            codelist = entries(column.codelist, lookup)
            label = label_of(itself, dtype, codelist["code"], codelist[name])
            (front_columns if front else frame_columns).append(label.alias(column.label))
    return frame.select(front_columns + frame_columns)


def unresolved_codes(frame: Frame, lookup: Lookup, *, columns: Columns = None) -> pl.DataFrame:
    """Count the codes without a label; see `Register.unresolved_codes`."""
    schema = schema_of(frame)
    parts = [pl.DataFrame(schema=UNRESOLVED)]
    for column in code_columns(schema, columns):
        codes = entries(column.codelist, lookup)["code"]
        code = column_of(schema, column.code).cast(pl.String)
        counts = (
            frame.lazy()
            .select(code.alias("code"))
            .filter(pl.col("code").is_not_null() & ~pl.col("code").is_in(codes.implode()))
            .group_by("code")
            .agg(pl.len().cast(pl.Int64).alias("count"))
            .sort("count", "code", descending=[True, False])
            .collect()
        )
        likely = likely_codes(counts["code"], codes)
        parts.append(
            counts.select(
                pl.lit(column.code).alias("column"),
                "code",
                "count",
                pl.Series("likely", likely, dtype=pl.String),
            )
        )
    return pl.concat(parts)


def likely_codes(unknown: Iterable[str], codes: Iterable[str]) -> list[str | None]:
    """Return which code of a codelist each unknown code probably stands for, None where unclear.

    It may have blanks or small letters, have lost its first zero, be the one used until 2018, or be
    that of a municipality in another district: its last six digits are its own for good.
    """
    entries_of = defaultdict[str, set[str]](set)
    for entry in codes:
        entries_of[entry.upper()].add(entry)
        if old := old_code(entry):
            entries_of[old].add(entry)
    likely = []
    for code in unknown:
        plain = "".join(code.split()).upper()
        readings = (plain, old_code(plain) or "", f"0{plain}")
        found = next((entries_of[code] for code in readings if code in entries_of), set())
        likely.append(min(found) if len(found) == 1 else None)
    return likely


def label_of(column: pl.Expr, dtype: pl.DataType, listed: pl.Series, names: pl.Series) -> pl.Expr:
    """Return an expression for the label of each code of a column, null without one."""
    if dtype == pl.Null or listed.is_empty():
        return pl.lit(None, pl.String)

    codes = column if dtype == pl.String else column.cast(pl.String)
    return codes.replace_strict(listed, names, default=None, return_dtype=pl.String)


def column_of(schema: pl.Schema, name: str) -> pl.Expr:
    """Return the column with exactly this name: `pl.col` treats ``*`` and ``^…$`` as patterns."""
    return pl.nth(schema.names().index(name))


def holds_codes(dtype: pl.DataType) -> bool:
    """Return whether a column of this type may hold codes."""
    return isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum)


def schema_of(frame: object, argument: str = "frame") -> pl.Schema:
    """Return the schema of a frame; refuse anything else."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema()
    if isinstance(frame, pl.DataFrame):
        return frame.schema
    raise not_polars(argument, frame)


def code_columns(
    schema: pl.Schema, columns: Columns, argument: str = "columns"
) -> list[CodeColumn]:
    """Return the columns to resolve and their codelists, checked against the frame.

    Args:
        schema: Of the frame.
        columns: As given, see `resolve_labels`.
        argument: What they are given by.
    """
    if columns is None:
        present = [name for name in LOCATION_FIELDS if name in schema]
        if not present:
            raise UsageError(
                f"the frame has none of the columns {list(LOCATION_FIELDS)}, it has "
                f"{schema.names()}",
                cure="name others by columns=",
            )
        fields = [FIELDS[name] for name in present]
    elif isinstance(columns, Mapping):
        fields = [CodeColumn(code, codelist, f"{code}_label") for code, codelist in columns.items()]
    elif isinstance(columns, str):
        raise invalid("columns", columns, "is a text", give=f"a list: [{value_in_python(columns)}]")
    elif isinstance(columns, Iterable):
        fields = [FIELDS[field(name, FIELDS, "columns")] for name in columns]
    else:
        raise invalid("columns", columns, "is not a list", give=f"some of {list(NAMED)} in one")
    for column in fields:
        _check_column(schema, column, argument)
    return fields


def _check_column(schema: pl.Schema, column: CodeColumn, argument: str) -> None:
    arguments.one_of("columns", column.codelist, _KNOWN)
    if column.code not in schema:
        raise invalid(
            argument,
            ...,
            f": the frame has no column {column.code!r}",
            cure=f"{near(column.code, schema)}it has {schema.names()}",
        )
    dtype = schema[column.code]
    if not holds_codes(dtype):
        raise UsageError(f"the column {column.code!r} is {dtype}", cure=CODES_ARE_TEXT)


def kind_of(code: pl.Expr, is_known: pl.Expr) -> pl.Expr:
    """Return the kind of a row of counts by its code, and whether a codelist has that."""
    return (
        pl.when(code.is_null()).then(pl.lit("no code"))
        .when(is_known).then(pl.lit("labelled"))
        .otherwise(pl.lit("unknown code"))
    )  # fmt: skip
