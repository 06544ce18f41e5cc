"""Codes and their labels: pure functions over frames and codelist frames.

The rule of the specification and nothing else: the entry whose code equals the value, otherwise
null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang, lang as checked_lang
from finstat_kit.errors import UsageError
from finstat_kit.protocol import old_codes
from finstat_kit.protocol.wire import BY_FIELD, CHANGED, CODELISTS, LOCATION_FIELDS, STATE

COUNTS: Final = pl.Schema(
    {
        "code": pl.String,
        "label": pl.String,
        "count": pl.Int64,
        "share": pl.Float64,
        "kind": pl.String,
    }
)
LAST_CHANGES: Final = pl.Schema(
    {
        "period": pl.Date,
        "code": pl.String,
        "label": pl.String,
        "count": pl.Int64,
        "kind": pl.String,
    }
)
UNRESOLVED: Final = pl.Schema(
    {"column": pl.String, "code": pl.String, "count": pl.Int64, "likely": pl.String}
)
KINDS: Final = ("labelled", "unknown code", "no code", "gone")
PERIODS: Final = ("1d", "1w", "1mo", "1q", "1y")

Frame = pl.DataFrame | pl.LazyFrame
Every = Literal["1d", "1w", "1mo", "1q", "1y"]
Columns = Sequence[str] | Mapping[str, str] | None
# Asked for a codelist by name only when a column needs it, so that nothing is fetched in vain.
Lookup = Callable[[str], pl.DataFrame]


class _Column(NamedTuple):
    code: str
    codelist: str
    label: str


def resolve_labels(
    frame: Frame, lookup: Lookup, *, lang: Lang = "sk", columns: Columns = None, front: bool = False
) -> Frame:
    """Add the label behind each code; see `Register.resolve_labels`."""
    name = f"name_{checked_lang(lang)}"
    schema = schema_of(frame)
    wanted = _columns(schema, columns)
    label_columns = {column.label for column in wanted}
    after = {column.code: column for column in wanted}
    kept: list[pl.Expr] = []
    first: list[pl.Expr] = []
    for place, (existing, dtype) in enumerate(schema.items()):
        itself = pl.nth(place)  # as in `column_of`
        if existing not in label_columns:
            kept.append(itself)
        if existing in after:
            column = after[existing]
            codelist = lookup(column.codelist)
            label = _label(itself, dtype, codelist["code"], codelist[name])
            (first if front else kept).append(label.alias(column.label))
    return frame.select(first + kept)


def unresolved_codes(frame: Frame, lookup: Lookup, *, columns: Columns = None) -> pl.DataFrame:
    """Count the codes that have no label; see `Register.unresolved_codes`."""
    schema = schema_of(frame)
    parts = [pl.DataFrame(schema=UNRESOLVED)]
    for column in _columns(schema, columns):
        known = lookup(column.codelist)["code"]
        code = column_of(schema, column.code).cast(pl.String)
        counts = (
            frame.lazy()
            .select(code.alias("code"))
            .filter(pl.col("code").is_not_null() & ~pl.col("code").is_in(known.implode()))
            .group_by("code")
            .agg(pl.len().cast(pl.Int64).alias("count"))
            .sort("count", "code", descending=[True, False])
            .collect()
        )
        likely = [_likely(column.codelist, old, known) for old in counts["code"]]
        parts.append(
            counts.select(
                pl.lit(column.code).alias("column"),
                "code",
                "count",
                pl.Series("likely", likely, dtype=pl.String),
            )
        )
    return pl.concat(parts)


def count_by(frame: Frame, by: str, lookup: Lookup, *, lang: Lang = "sk") -> pl.DataFrame:
    """Count rows by code; see `Register.count_by`."""
    share = pl.col("count") / pl.col("count").sum()
    return (
        _counted(frame, by, lookup, lang, {})
        .with_columns(share.alias("share"))
        .sort(pl.col("kind").cast(pl.Enum(KINDS)), "count", "code", descending=[False, True, False])
        .select(pl.col(column).cast(dtype) for column, dtype in COUNTS.items())
    )


def count_last_changes(
    frame: Frame, by: str, lookup: Lookup, *, every: Every = "1mo", lang: Lang = "sk"
) -> pl.DataFrame:
    """Count rows by period of their last change and code; see `Register.count_last_changes`."""
    arguments.one_of("every", every, PERIODS)
    schema = schema_of(frame)
    dtype = schema.get(CHANGED)
    if dtype not in (pl.Date, pl.Null):
        found = f"is {dtype}" if dtype else "is not there"
        raise UsageError(f"the column {CHANGED!r} {found}; give records as fk.units.get returns")
    period = pl.col(CHANGED).cast(pl.Date).dt.truncate(every)
    order = ("period", pl.col("kind").cast(pl.Enum(KINDS)), "count", "code")
    return (
        _counted(frame, by, lookup, lang, {"period": period})
        .sort(*order, descending=[False, False, True, False], nulls_last=True)
        .select(pl.col(column).cast(dtype) for column, dtype in LAST_CHANGES.items())
    )


def _counted(
    frame: Frame, by: str, lookup: Lookup, lang: Lang, also: Mapping[str, pl.Expr]
) -> pl.DataFrame:
    """Count rows by code and what is given besides, in no order, with kind and label."""
    name = f"name_{checked_lang(lang)}"
    schema = schema_of(frame)
    if not isinstance(by, str) or by not in BY_FIELD:
        raise UsageError(f"by={by!r} is no code column; give one of {list(BY_FIELD)}")
    (column,) = _columns(schema, [by])
    codelist = lookup(column.codelist)
    # A mirror marks what is gone under a name of its own, also what the register lost.
    marks = [pl.col(STATE).is_not_null()] if STATE in schema else []
    if schema.get("gone") == pl.String:  # what else is called so is the reader's own
        marks.append(pl.col("gone").is_not_null())
    gone = pl.any_horizontal(pl.lit(value=False), *marks)
    counts = (
        frame.lazy()
        .select(gone.alias("gone"), pl.col(by).cast(pl.String).alias("code"), **also)
        # What a gone record once said is not counted under its old code.
        .select("gone", pl.when(~pl.col("gone")).then("code").alias("code"), *also)
        .group_by("gone", "code", *also)
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .collect()
    )
    labels = _label(pl.col("code"), pl.String(), codelist["code"], codelist[name]).alias("label")
    known = pl.col("code").is_in(codelist["code"].implode())
    kind = (
        pl.when("gone").then(pl.lit("gone"))
        .when(pl.col("code").is_null()).then(pl.lit("no code"))
        .when(known).then(pl.lit("labelled"))
        .otherwise(pl.lit("unknown code"))
    )  # fmt: skip
    return counts.with_columns(kind.alias("kind"), labels)


def _label(column: pl.Expr, dtype: pl.DataType, known: pl.Series, names: pl.Series) -> pl.Expr:
    """Return the expression of the label of each code of a column, null where there is none."""
    if dtype == pl.Null or known.is_empty():
        return pl.lit(None, pl.String)

    def looked_up(codes: pl.Expr) -> pl.Expr:
        return codes.replace_strict(known, names, default=None, return_dtype=pl.String)

    if dtype == pl.String:
        return looked_up(column)

    def of_categories(codes: pl.Series) -> pl.Series:
        # Each category that occurs is looked up once, by a row where it stands; after that only
        # its number is followed.
        number = codes.to_physical()
        rows = number.arg_unique()
        rows = rows.filter(number.gather(rows).is_not_null())
        code = codes.gather(rows).cast(pl.String).to_frame("code")
        texts = code.select(looked_up(pl.col("code"))).to_series()
        places = number.gather(rows).to_list()
        label: list[str | None] = [None] * (1 + max(places, default=-1))
        for place, text in zip(places, texts, strict=True):
            label[place] = text
        return pl.Series(codes.name, label, dtype=pl.String).gather(number)

    # Under a plain name: the methods of a Series, too, take ``*`` and ``^…$`` for patterns.
    return column.alias("code").map_batches(
        of_categories, return_dtype=pl.String, is_elementwise=True
    )


def column_of(schema: pl.Schema, name: str) -> pl.Expr:
    """Return the column of that very name: to `pl.col`, ``*`` and ``^…$`` are patterns."""
    return pl.nth(schema.names().index(name))


def holds_codes(dtype: pl.DataType) -> bool:
    """Tell whether codes may be in a column of a type."""
    return isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum)


def schema_of(frame: object) -> pl.Schema:
    """Return the columns of a polars frame; anything else is refused."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema()
    if isinstance(frame, pl.DataFrame):
        return frame.schema
    module = type(frame).__module__.partition(".")[0]
    cure = "pl.from_pandas(frame)" if module == "pandas" else "a polars DataFrame or LazyFrame"
    raise UsageError(f"frame is a {module} {type(frame).__name__}; give {cure}")


def _columns(schema: pl.Schema, columns: Columns) -> list[_Column]:
    """Return which columns to resolve by which codelist, checked against the frame."""
    if columns is None:
        present = [field for field in LOCATION_FIELDS if field in schema]
        if not present:
            raise UsageError(
                f"the frame has none of the columns {list(LOCATION_FIELDS)}, it has "
                f"{schema.names()}; name others by columns="
            )
        wanted = [_Column(field, BY_FIELD[field].name, BY_FIELD[field].label) for field in present]
    elif isinstance(columns, Mapping):
        wanted = [_Column(code, codelist, f"{code}_label") for code, codelist in columns.items()]
    elif isinstance(columns, str):
        raise UsageError(f"columns={columns!r} is a text; give a list: [{columns!r}]")
    elif isinstance(columns, Iterable):
        wanted = [_known_field(field) for field in columns]
    else:
        raise UsageError(f"columns={columns!r} is no list; give some of {list(BY_FIELD)} in one")
    for column in wanted:
        if not isinstance(column.codelist, str) or column.codelist not in CODELISTS:
            raise UsageError(
                f"columns: {column.codelist!r} is no codelist; give one of {list(CODELISTS)}"
            )
        if column.code not in schema:
            raise UsageError(
                f"columns: the frame has no column {column.code!r}; it has {schema.names()}"
            )
        dtype = schema[column.code]
        if not holds_codes(dtype):
            raise UsageError(
                f"the column {column.code!r} is {dtype}; codes are text, since a number loses its "
                "leading zeros: read the column as String"
            )
    return wanted


def _known_field(field: str) -> _Column:
    if not isinstance(field, str):
        raise UsageError(f"columns: {field!r} is not known; give some of {list(BY_FIELD)}")
    if field not in BY_FIELD:
        raise UsageError(
            f"columns: {field!r} is not known; give some of {list(BY_FIELD)}, or say which "
            f"codelist it holds: columns={{{field!r}: 'regions'}}"
        )
    return _Column(field, BY_FIELD[field].name, BY_FIELD[field].label)


def _likely(codelist: str, old: str, known: Iterable[str]) -> str | None:
    """Return today's code of an old one, where the crosswalk and the codelist agree."""
    if codelist == "municipalities":
        found = [code for code in known if old_codes.old_municipality(code) == old]
        return found[0] if len(found) == 1 else None
    today = {"regions": old_codes.region_today, "districts": old_codes.district_today}.get(codelist)
    guess = today(old) if today else None
    return guess if guess in set(known) else None
