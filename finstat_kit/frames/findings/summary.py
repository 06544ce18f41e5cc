"""Aggregates of figures that say what they cover, and how values spread over groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.errors import invalid, warn
from finstat_kit.frames.financials import assemble, ratios
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.findings import scale, values
from finstat_kit.frames.findings.values import one_row_per_year
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.places.nace import Nace
from finstat_kit.frames.text.catalogue import Words

_MOST_GROUPS: Final = 2
_TOP: Final = 5
_REASONS: Final = pl.List(pl.Struct({"reason": pl.String, "count": pl.Int64}))
_FORMS: Final = pl.List(pl.Struct({"template": pl.Int32, "count": pl.Int64}))
QUANTILES: Final = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9}
_STATISTICS: Final = pl.Schema(
    {
        "year": pl.Int32(),
        "units": pl.Int64(),
        "n": pl.Int64(),
        "without": pl.Int64(),
        "n_doubtful": pl.Int64(),
        "reasons": _REASONS,
        "forms": _FORMS,
        "sum": pl.Float64(),
        "mean": pl.Float64(),
        **dict.fromkeys(QUANTILES, pl.Float64()),
        "share_top5": pl.Float64(),
        "weighted": pl.Float64(),
        "n_excluded": pl.Int64(),
        "n_ungrouped": pl.Int64(),
        "n_codes": pl.Int64(),
        "by": pl.List(pl.String),
    }
)
_ORDERED: Final = " ordered"
_ENTRY: Final = " entry"
_OVER: Final = " over"
_UNDER: Final = " under"
_UNKNOWN: Final = " unknown"
_LEFT_OUT: Final = " left out"  # a pair with a year in thousands
_WORDS: Final = Words("groups")
FEWEST: Final = 5  # units that a median of is shown


def schema(by: Sequence[str]) -> pl.Schema:
    """Return the columns of a summary by some groups."""
    codes = [name for field in by for name in (field, labels.FIELDS[field].label)]
    return pl.Schema({"value": pl.String(), **dict.fromkeys(codes, pl.String()), **_STATISTICS})


def groupings(by: object) -> list[str]:
    """Return the groups that *by* names: none, one or two."""
    if by is None:
        return []
    fields = [labels.field(name) for name in arguments.names("by", by)]
    if len(fields) > _MOST_GROUPS:
        raise invalid("by", ..., f": {len(fields)} groups", give="one, or two in a list")
    return fields


def check_columns(frame: labels.Frame, by: Sequence[str], argument: str = "figures") -> None:
    """Refuse a frame without units, years or a group, or with other types of them."""
    schema = labels.schema_of(frame, argument)
    absent = [name for name in ("unit_id", "year") if name not in schema]
    if absent:
        raise invalid(
            argument, ..., f": no column {absent[0]!r}", give="what fk.financials returns"
        )
    assemble.check_types(schema, ("unit_id", "year", *needed(by)), argument)
    if "nace" in needed(by) and "nace" not in schema:
        warn(f"{argument}: no column 'nace', so activities are taken as of NACE Rev. 2")
    for field in by:
        if field in groups.GROUPS:
            groups.check(field, schema)
        elif field not in schema:
            raise invalid(
                "by",
                field,
                "is not a column of the frame",
                cure="fk.financials carries kraj, okres, pravnaForma, skNace, velkostOrganizacie",
            )


def needed(by: Sequence[str]) -> set[str]:
    """Return the columns that groups are made from."""
    return {
        name
        for field in by
        for name in (groups.GROUPS[field].needs if field in groups.GROUPS else (field,))
    } | ({"nace"} if {*by} & groups.OF_2_1.keys() else set())


def summarized(
    figures: labels.Frame,
    value: str | Sequence[str],
    by: Grouping | Sequence[Grouping] | None,
    lookup: labels.Lookup | None,
    lang: Lang,
    *,
    doubtful: bool,
    revision: Nace | None = None,
) -> pl.DataFrame:
    """Summarize figures; see `finstat_kit.client.summary.summary`.

    Args:
        figures: As given.
        value: As given.
        by: As given.
        lookup: Of the register; None is none, and then no code of a field is unknown.
        lang: Of the labels.
        doubtful: Whether pairs with a year in thousands count as others.
        revision: Of NACE, as given.
    """
    names, fields = arguments.names("value", value), groupings(by)
    check_columns(figures, fields)
    table = values.narrowed(figures, names, {scale.DOUBTFUL, *needed(fields)})
    table, _ = one_row_per_year(table)
    listed, made_by = dict[str, pl.DataFrame | None](), list[str]()
    for field in fields:
        table, made = groups.with_group(table, field, revision=revision)
        made_by.append(made)
        listed[field] = _entries(made, lookup)
    table = table.with_columns(pl.col(field).cast(pl.String) for field in fields)
    table = table.with_columns(_with_unknown(listed))
    keys = [*fields, "year"]
    parts = [_of_value(table, name, keys, doubtful=doubtful) for name in names]
    of_figures = any(map(groups.is_of_figures, fields))
    others = [key for key in keys if not groups.is_of_figures(key)]
    ungrouped = table.filter(~has_figures(table.schema)).group_by(others)
    order = [pl.col("value").cast(pl.Enum(names)), *keys]
    return (
        pl.concat(parts)
        .join(ungrouped.agg(n_ungrouped=pl.len()), on=others, how="left", nulls_equal=True)
        .with_columns(
            n_ungrouped=pl.when(of_figures).then(pl.col("n_ungrouped").fill_null(0)),
            without=pl.when(not of_figures).then("without"),
            by=pl.lit(made_by, pl.List(pl.String)),
            **{labels.FIELDS[field].label: _label(field, listed[field], lang) for field in fields},
        )
        .sort(order, nulls_last=True)
        .select(schema(fields).names())
        .cast(schema(fields))
    )


def _entries(field: str, lookup: labels.Lookup | None) -> pl.DataFrame | None:
    """Return the codelist of a group, None if there is no register to ask for it."""
    if lookup is None and field not in groups.GROUPS:
        return None
    return labels.entries(labels.FIELDS[field].codelist, lookup or groups.codelist)


def _with_unknown(listed: Mapping[str, pl.DataFrame | None]) -> Iterator[pl.Expr]:
    """Yield the known codes of each group, and beside them those that its codelist lacks."""
    for field, entries in listed.items():
        is_known = pl.lit(value=True)
        if entries is not None:
            is_known = pl.col(field).is_in(entries["code"].implode())
        yield pl.when(is_known).then(field).alias(field)
        yield pl.when(~is_known).then(field).alias(field + _UNKNOWN)


def _label(field: str, entries: pl.DataFrame | None, lang: Lang) -> pl.Expr:
    """Return the labels of the codes of a group; a unit without figures is in none."""
    code = pl.col(field)
    word = None if groups.is_of_figures(field) else _WORDS[lang]["unknown"]
    names = None
    if entries is not None:
        names = labels.label_of(code, pl.String(), entries["code"], entries[f"name_{lang}"])
    return pl.when(code.is_null()).then(pl.lit(word)).otherwise(names)


def _of_value(table: pl.DataFrame, name: str, keys: list[str], *, doubtful: bool) -> pl.DataFrame:
    """Return the statistics of one value, why some have none, and on which forms it was filed."""
    rows = _rows_of(table, name, keys)
    of_pairs = values.is_change(name, table.columns) and scale.DOUBTFUL in table.columns
    is_left_out = pl.lit(value=False)
    if of_pairs and not doubtful:
        is_left_out = pl.col(scale.DOUBTFUL).fill_null(value=False)
    rows = rows.with_columns(is_left_out.alias(_LEFT_OUT)).with_columns(
        pl.when(~pl.col(_LEFT_OUT)).then(column).alias(column) for column in ("value", "why")
    )
    has = pl.col("value").is_not_null()
    without = _listed(rows.filter(~has), keys, "why", "reason").rename({"why": "reasons"})
    forms = _listed(rows.filter(has), keys, "template", "template").rename({"template": "forms"})
    is_ratio = name in ratios.NAMES
    statistics = _statistics(
        rows, keys, is_ratio=is_ratio, has_sum=ratios.has_sum(name), of_pairs=of_pairs
    )
    for part in (without, forms):
        statistics = statistics.join(part, on=keys, how="full", coalesce=True, nulls_equal=True)
    counts = ["units", "n", "without", *(["n_excluded"] if is_ratio else [])]
    return statistics.with_columns(
        pl.col(counts).fill_null(0),
        pl.col("reasons").fill_null(pl.lit([], _REASONS)),
        pl.col("forms").fill_null(pl.lit([], _FORMS)),
        value=pl.lit(name),
    )


def _rows_of(table: pl.DataFrame, name: str, keys: list[str]) -> pl.DataFrame:
    """Return a value of each row, the parts of it if it is a ratio, and why there is none."""
    parts = dict(zip((_OVER, _UNDER), _parts(table, name), strict=True))
    template = pl.col("template") if "template" in table.columns else pl.lit(None, pl.Int32)
    rows = table.select(
        *keys,
        pl.col(name).alias("value"),
        **parts,
        why=values.reason(name, table.columns, table.schema),
        template=template,
        **{name: name for name in (scale.DOUBTFUL,) if name in table.columns},
        **{key + _UNKNOWN: key + _UNKNOWN for key in keys if key + _UNKNOWN in table.columns},
    )
    # Of the rows without the ratio neither part counts.
    parts_count = pl.when(pl.col("value").is_not_null())
    return rows.with_columns(parts_count.then(part).alias(part) for part in parts)


def _statistics(
    rows: pl.DataFrame, keys: list[str], *, is_ratio: bool, has_sum: bool, of_pairs: bool
) -> pl.DataFrame:
    """Return the statistics of each group."""
    value, under = pl.col("value"), pl.col(_UNDER)
    # A unit that is in none of the groups of figures has no code that could be unknown.
    fields = [key for key in keys if key + _UNKNOWN in rows.columns]
    fields = [field for field in fields if not groups.is_of_figures(field)]
    unknown = [pl.col(field + _UNKNOWN).drop_nulls() for field in fields]
    excluded = (value.is_null() & (pl.col("why") == values.DIVISOR)).sum()
    statistics = rows.group_by(keys).agg(
        units=pl.len().cast(pl.Int64),
        n=value.count().cast(pl.Int64),
        without=value.null_count().cast(pl.Int64) - pl.col(_LEFT_OUT).sum().cast(pl.Int64),
        n_doubtful=(pl.col(_LEFT_OUT).sum() if of_pairs else pl.lit(None)).cast(pl.Int64),
        sum=pl.when((value.count() > 0) & has_sum).then(value.sum()),
        mean=value.mean(),
        **{_ORDERED: value.drop_nulls().sort()},  # once, and not for each quantile
        weighted=pl.when(under.count() > 0).then(pl.col(_OVER).sum() / under.sum()),
        n_excluded=(excluded if is_ratio else pl.lit(None)).cast(pl.Int64),
        n_codes=sum((codes.n_unique() for codes in unknown), pl.lit(0)).cast(pl.Int64),
    )
    ordered = pl.col(_ORDERED)
    largest = ordered.list.tail(_TOP).list.sum()
    has_share = (ordered.list.first() >= 0) & (pl.col("sum") > 0)
    return statistics.with_columns(
        n_codes=pl.when(pl.any_horizontal(pl.lit(value=False), pl.col(fields).is_null())).then(
            "n_codes"
        ),
        share_top5=pl.when(has_share).then(largest / pl.col("sum")),
        **{name: _quantile(ordered, share) for name, share in QUANTILES.items()},
    ).drop(_ORDERED)


def _quantile(ordered: pl.Expr, share: float) -> pl.Expr:
    """Return a quantile of ordered values, linear between two; null of none."""
    place = (ordered.list.len().cast(pl.Int64) - 1) * share
    low, high = (
        ordered.list.get(end.cast(pl.Int64), null_on_oob=True)
        for end in (place.floor(), place.ceil())
    )
    return low + (high - low) * (place - place.floor())


def _listed(rows: pl.DataFrame, keys: list[str], column: str, name: str) -> pl.DataFrame:
    """Return how often each entry of a column occurs, of each group, most frequent first."""
    counts = rows.group_by(*keys, pl.col(column).alias(_ENTRY)).agg(count=pl.len().cast(pl.Int64))
    entry = pl.struct(pl.col(_ENTRY).alias(name), "count")
    return (
        counts.drop_nulls(_ENTRY)
        .sort("count", _ENTRY, descending=[True, False])
        .group_by(keys, maintain_order=True)
        .agg(entry.alias(column))
    )


def _parts(table: pl.DataFrame, name: str) -> tuple[pl.Expr, pl.Expr]:
    """Return numerator and denominator of a ratio, null where there is none or no items."""
    formula = ratios.FORMULAS.get(name)
    nothing = pl.lit(None, pl.Float64)
    if formula is None or formula.under is None:
        return nothing, nothing
    if not set(ratios.columns_of(name)) <= set(table.columns):
        return nothing, nothing
    return ratios.sum_of(formula.over), ratios.sum_of(formula.under)
