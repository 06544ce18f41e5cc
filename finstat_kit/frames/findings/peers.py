"""Where one unit stands among those like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from finstat_kit import arguments, calls
from finstat_kit.arguments import Grouping
from finstat_kit.errors import invalid
from finstat_kit.frames.findings import values
from finstat_kit.frames.findings.summary import check_columns, groupings, needed
from finstat_kit.frames.findings.values import one_row_per_year
from finstat_kit.frames.places import groups
from finstat_kit.frames.places.nace import Nace, checked
from finstat_kit.given_units import given_units

FEWEST: Final = 10  # units of a group
PEERS: Final = pl.Schema(
    {
        "unit_id": pl.Int64(),
        "year": pl.Int32(),
        "value": pl.String(),
        "own": pl.Float64(),
        "percentile": pl.Float64(),
        "n": pl.Int64(),
        "p25": pl.Float64(),
        "median": pl.Float64(),
        "p75": pl.Float64(),
        "by": pl.List(pl.String),
        "group": pl.List(pl.String),
    }
)


@calls.checked_call
def peers(
    figures: pl.DataFrame | pl.LazyFrame,
    unit: int | str | pl.DataFrame | pl.LazyFrame,
    value: str | Sequence[str],
    by: Grouping | Sequence[Grouping] | None = ("section", "size_by_law"),
    *,
    year: int | None = None,
    nace: Nace | None = None,
) -> pl.DataFrame:
    """Compare one unit with those of its group in one year.

    A group of fewer than ten units with a value is widened: the last of *by* is dropped, then the
    next, then all. So is one by a code that the unit does not have. Units are counted once; those
    without a value are left out.

    Args:
        figures: As `financials` or `ratios` returns them, of the unit and of others; a LazyFrame is
            collected, of the needed columns alone.
        unit: Its id (a whole number), its IČO (a text of 8 or 12 digits), or its record.
        value: An item or ratio, or several. A ratio is computed where it is not a column.
        by: A group of `count_by`, or two in a list; None compares with all.
        year: None means the unit's latest with any of the values.
        nace: The revision of NACE whose sections or divisions are the groups, ``"2"`` or
            ``"2.1"``; None is the one that more units have.

    Returns:
        One row per value: ``unit_id`` (Int64), ``year`` (Int32), ``value`` (String), ``own`` value,
        ``percentile`` (share of the group's values below it, with half of those that are equal, 0
        to 1) (Float64), ``n`` (Int64: values in the group, its own among them), ``p25``,
        ``median``, ``p75`` (linear between values) (Float64), ``by`` (List of String: the groups
        used, as in `count_by`; empty for all) and ``group`` (List of String: their codes). Where
        the unit has no value, ``own`` and ``percentile`` are null.

    Raises:
        UsageError: An argument is wrong, a column is missing, the figures lack the unit, or the
            year, or have several units of the IČO, or both individual and consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     money = fk.financials(fk.units.get(fk.units.ids(limit=40)), year=2016)
        >>> fk.peers(money, "00372491", "roa").select("n", "by").row(0)
        (19, [])
    """
    names, fields = arguments.names("value", value), groupings(by)
    revision = checked(nace)
    check_columns(figures, fields)
    unit_id = _id_of(unit, figures.lazy())
    own_rows = _rows(figures.lazy().filter(pl.col("unit_id") == unit_id), names, fields)
    own_rows = own_rows.drop_nulls("year").sort("year")
    if own_rows.is_empty():
        raise invalid("unit", unit_id, "is in no year of the figures", give="a unit_id of theirs")
    if year is None:
        filled = own_rows.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in names))
        year = (own_rows if filled.is_empty() else filled)["year"].max()  # type: ignore[assignment]
    elif arguments.whole("year", year, 1, 9_999) not in own_rows["year"]:
        known = ", ".join(map(str, own_rows["year"]))
        raise invalid("year", year, ": the unit has no row of it", give=f"one of {known}")
    rows = _rows(figures.lazy().filter(pl.col("year") == year), names, fields)
    made_by = []
    for field in fields:
        rows, made = groups.with_group(rows, field, revision=revision)
        made_by.append(made)
        if field in groups.OF_2_1:  # what is unknown is no group
            is_known = pl.col(field).is_in(groups.codelist(made)["code"].implode())
            rows = rows.with_columns(pl.when(is_known).then(field).alias(field))
    rows = rows.with_columns(pl.col(field).cast(pl.String) for field in fields)
    return pl.concat(_of_value(rows, unit_id, name, fields, made_by) for name in names)


def _id_of(unit: object, figures: pl.LazyFrame) -> int:
    """Return the ``unit_id`` of a unit; an IČO is looked up in the figures themselves."""
    given = given_units(unit, "unit")
    value = unit if isinstance(unit, int | str) else ...
    ids, icos = set(given["id"].drop_nulls()), given["ico"].drop_nulls()
    if icos.len():
        if "ico" not in figures.collect_schema():
            fault = ": the figures have no column 'ico'"
            raise invalid("unit", value, fault, give="a unit_id of theirs")
        is_own = pl.col("ico").cast(pl.String).is_in(icos.implode())
        ids |= set(figures.filter(is_own).select("unit_id").collect()["unit_id"].drop_nulls())
    if len(ids) > 1:
        fault = f": these are {len(ids)} units of the figures"
        raise invalid("unit", value, fault, give=f"the unit_id of one: {sorted(ids)}")
    if not ids:
        raise invalid("unit", value, "is in no year of the figures", give="a unit of theirs")
    return int(ids.pop())


def _rows(frame: pl.LazyFrame, names: list[str], fields: list[str]) -> pl.DataFrame:
    """Return one row per unit and year with the columns of values and of groups."""
    return one_row_per_year(values.narrowed(frame, names, needed(fields))).table


def _of_value(
    rows: pl.DataFrame, unit: int, name: str, fields: list[str], made_by: list[str]
) -> pl.DataFrame:
    present = rows.drop_nulls(name)
    own_row = rows.row(by_predicate=pl.col("unit_id") == unit, named=True)
    group_fields = list(fields)
    while True:
        codes = [own_row[field] for field in group_fields]
        group_rows = present.filter(
            [pl.col(field).eq_missing(pl.lit(own_row[field])) for field in group_fields] or True
        )
        usable = all(code not in (None, groups.UNKNOWN) for code in codes)
        if not group_fields or (usable and group_rows.height >= FEWEST):
            break
        group_fields.pop()
    number, own_value = pl.col(name), pl.lit(own_row[name], pl.Float64)
    rank = ((number < own_value).sum() + (number == own_value).sum() / 2) / pl.len()
    return group_rows.select(
        unit_id=pl.lit(unit),
        year=pl.lit(own_row["year"]),
        value=pl.lit(name),
        own=own_value,
        percentile=pl.when(own_value.is_not_null()).then(rank),
        n=pl.len(),
        p25=number.quantile(0.25, "linear"),
        median=number.median(),
        p75=number.quantile(0.75, "linear"),
        by=pl.lit(made_by[: len(group_fields)], pl.List(pl.String)),
        group=pl.lit(codes, pl.List(pl.String)),
    ).cast(PEERS)
