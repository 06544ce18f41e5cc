"""Groups that are published and that no field of a record holds: made from other columns.

``section`` and ``division`` of NACE, ``age`` in whole years, and ``size_by_law``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.errors import invalid, warn
from finstat_kit.frames.financials.reasons import has_figures
from finstat_kit.frames.places import nace
from finstat_kit.frames.places.nace import Nace
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.given_frames import Frame


class Group(NamedTuple):
    """A derived group.

    Attributes:
        label: The column of its labels.
        needs: The columns that it is made from.
        maker: What returns these columns.
        of_figures: Whether it is made from figures: a unit without any is in none of its groups.
    """

    label: str
    needs: tuple[str, ...]
    maker: str
    of_figures: bool = False


_RECORDS: Final = "fk.units.get or fk.financials"
# What groups of activities of NACE Rev. 2.1 are made by, where nobody gives names: the codelist,
# the words of charts, the column "by".
OF_2_1: Final = {"section": "section_2_1", "division": "division_2_1"}
GROUPS: Final = {
    **{by: Group(f"{by}_label", ("skNace",), _RECORDS) for by in (*OF_2_1, *OF_2_1.values())},
    "age": Group("age_label", ("datumZalozenia",), _RECORDS),
    "size_by_law": Group(
        "size_by_law_label",
        ("total_assets", "net_turnover", "sales", "velkostOrganizacie", "period_to"),
        "fk.financials",
        of_figures=True,
    ),
}
# Whose codes are a scale.
ORDERED: Final = frozenset({"velkostOrganizacie", "age", "size_by_law"})
UNKNOWN: Final = "unknown"  # size
_AGES: Final = {"00-01": 2, "02-04": 5, "05-09": 10, "10-19": 20}  # under so many years
_SCALES: Final = {"age": Words("age"), "size_by_law": Words("size_by_law")}
# Act 431/2002, section 2(5)-(8): assets and net turnover in euro until the day before, and from
# that balance-sheet day on, after Act 105/2024; employees.
_RAISED: Final = date(2023, 12, 31)
_THRESHOLDS: Final = {
    "micro": ((350_000, 450_000), (700_000, 900_000)),
    "small": ((4_000_000, 5_000_000), (8_000_000, 10_000_000)),
}
# The last size class of at most 9 and of at most 49 employees: 06 and 12 hold 10 and 50 themselves.
_STAFF: Final = {"micro": 5, "small": 11}
_ENOUGH: Final = 2  # criteria of three
_WITH_SIZE: Final = "business"  # towns, non-profits and single-entry filers are of no size group


@cache
def codelist(by: str) -> pl.DataFrame:
    """Return ``code``, ``name_sk`` and ``name_en`` of a derived group, in its order."""
    names = ("code", "name_sk", "name_en")
    if by in _SCALES:
        scale = _SCALES[by]
        rows = [(code, label, scale["en"][code]) for code, label in scale["sk"].items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    is_section = pl.col("code").str.len_chars() == 1
    entries = nace.entries("2.1" if by in OF_2_1.values() else "2")
    return entries.filter(is_section if by.startswith("section") else ~is_section).select(names)


def named(made_by: str) -> str:
    """Return the name of a group, whatever the revision of NACE that it is made by."""
    return next((by for by, other in OF_2_1.items() if other == made_by), made_by)


def check(by: str, columns: pl.Schema, argument: str = "by") -> None:
    """Refuse a frame that lacks what a derived group is made from."""
    needs, maker = GROUPS[by].needs, GROUPS[by].maker
    absent = [name for name in needs if name not in columns]
    # Where turnover is not a column, there are sales.
    if absent and absent != ["net_turnover"]:
        raise invalid(
            argument,
            by,
            f": no column {absent[0]!r}, which the groups are made from",
            give=f"a frame as {maker} returns it",
        )
    _check_types(columns, (*needs, "nace") if by in OF_2_1 else needs)


def is_of_figures(by: str) -> bool:
    """Return whether a group is made from figures, so that a unit without any is in none."""
    return by in GROUPS and GROUPS[by].of_figures


def with_group(
    frame: Frame,
    by: str,
    today: date | None = None,
    *,
    lookup: Callable[[str], pl.DataFrame] | None = None,
    revision: Nace | None = None,
) -> tuple[Frame, str]:
    """Add the codes of a group as a column of its name; a field of records is left as it is.

    Args:
        frame: The frame, checked.
        by: A derived group or a code field.
        today: The day of an age; None is the end of the period of each row.
        lookup: Returns the codelists of the register; None takes activities without a column
            ``nace`` as Rev. 2.
        revision: Of NACE, whose groups are wanted; None is the one that more units have.

    Returns:
        The frame, and what its groups are made by: *by*, or a value of `OF_2_1`.
    """
    if by not in GROUPS:
        return frame, by
    columns = frame.lazy().collect_schema()
    check(by, columns)
    if by in OF_2_1:
        code, made_by = _activity(frame, by, lookup, revision)
        return frame.with_columns(code.alias(by)), made_by
    if by == "age":
        return frame.with_columns(_age(pl.lit(today) if today else _end(columns)).alias(by)), by
    return frame.with_columns(_size(columns).alias(by)), by


def _activity(
    frame: Frame, by: str, lookup: Callable[[str], pl.DataFrame] | None, revision: Nace | None
) -> tuple[pl.Expr, str]:
    """Return the codes of sections or divisions, and what they are made by.

    A code that is not in the register's list, or is of the other revision, is left as it is.
    """
    code, columns = pl.col("skNace").cast(pl.String), frame.lazy().collect_schema()
    in_both = pl.lit(value=False)
    if "nace" in columns:
        own = pl.col("nace").cast(pl.String)
    elif lookup is not None:
        listed = lookup("activities")["code"]
        own = nace.of_codes(code, listed)
        in_both = code.is_in(nace.of_list(listed).filter("in_both")["code"].to_list())
    else:
        own = nace.of_rev_2(code)
    if revision is None:
        unit = pl.col("unit_id") if "unit_id" in columns else pl.int_range(pl.len())
        units = frame.lazy().select(own=own, in_both=in_both, unit=unit)
        counts = units.group_by("own", "in_both").agg(units=pl.col("unit").n_unique()).collect()
        revision = _usual_revision(counts)
    entries = nace.entries(revision).filter(pl.col("code").str.len_chars() == 2)
    division = code.str.slice(0, 2)
    group = division if by == "division" else division.replace_strict(
        entries["code"], entries["section"], default=None, return_dtype=pl.String
    )  # fmt: skip
    # Neither a section nor a division is written like one that is unknown.
    unknown = pl.when(code.str.len_chars() < 3).then("?" + code).otherwise(code)
    is_one = (own == revision) & division.is_in(entries["code"].implode())
    return pl.when(is_one).then(group).otherwise(unknown), OF_2_1[by] if revision == "2.1" else by


def _usual_revision(counts: pl.DataFrame) -> Nace:
    """Return the revision that more units have; warn of the others, and of those of either.

    Args:
        counts: ``units`` by ``own``, the revision of their activity, and ``in_both``.
    """

    def number(condition: pl.Expr) -> int:
        return int(counts.filter(condition)["units"].sum())

    old, new = (number(pl.col("own") == revision) for revision in nace.REVISIONS)
    usual: Nace = "2.1" if new > old else "2"
    (other,) = set(nace.REVISIONS) - {usual}
    texts = []
    if few := min(old, new):
        texts.append(
            f"{few:,} units have activities of NACE Rev. {other}, which are unknown among groups "
            f"of Rev. {usual}: nace={other!r} groups those"
        )
    if either := number(pl.col("in_both")):
        texts.append(
            f"{either:,} units have activities that are in both revisions, taken as the one that "
            "more codes of the register's list have"
        )
    if texts:
        warn("; ".join(texts))
    return usual


def _end(columns: pl.Schema) -> pl.Expr:
    """Return the end of the period, of a row without one the end of its year."""
    ends = [pl.col("period_to")] if "period_to" in columns else []
    ends += [pl.date(pl.col("year"), 12, 31)] if "year" in columns else []
    if not ends:
        raise invalid(
            "by",
            "age",
            ": no column 'period_to', at which the age is taken",
            give="a frame as fk.financials returns it",
        )
    _check_types(columns, ("period_to", "year"))
    return pl.coalesce(ends).cast(pl.Date)


def _age(at: pl.Expr) -> pl.Expr:
    born = pl.col("datumZalozenia").cast(pl.Date)  # a column of nulls alone may have no type
    # Months and days are of a type too small for their product.
    day_of_year, birthday = (
        day.dt.month().cast(pl.Int32) * 100 + day.dt.day() for day in (at, born)
    )
    years = at.dt.year() - born.dt.year() - (day_of_year < birthday).cast(pl.Int32)
    code = pl.lit("20+")
    for name, under in reversed(_AGES.items()):
        code = pl.when(years < under).then(pl.lit(name)).otherwise(code)
    return pl.when(years >= 0).then(code)


def _size(columns: pl.Schema) -> pl.Expr:
    turnover = pl.coalesce([name for name in ("net_turnover", "sales") if name in columns])
    raised = _end(columns) >= _RAISED
    staff = pl.col("velkostOrganizacie").cast(pl.String).cast(pl.Int32, strict=False)
    staff = pl.when(staff > 0).then(staff)
    within = {}
    for size, bounds in _THRESHOLDS.items():
        assets, sales = (
            pl.when(raised).then(pl.lit(after)).otherwise(pl.lit(before))
            for before, after in bounds
        )
        within[size] = (pl.col("total_assets") <= assets, turnover <= sales, staff <= _STAFF[size])
    micro, small = (_holds(criteria) for criteria in within.values())
    has_size = has_figures(columns)
    if "family" in columns:
        has_size &= (pl.col("family").cast(pl.String) == _WITH_SIZE).fill_null(value=True)
    return (
        pl.when(~has_size).then(None)
        .when(micro).then(pl.lit("micro"))
        .when(micro.is_null()).then(pl.lit(UNKNOWN))
        .when(small).then(pl.lit("small"))
        .when(small.is_null()).then(pl.lit(UNKNOWN))
        .otherwise(pl.lit("large"))
    )  # fmt: skip


def _holds(criteria: tuple[pl.Expr, ...]) -> pl.Expr:
    """Return whether two of the criteria hold; null where that depends on unknown ones."""
    met, failed = pl.sum_horizontal(criteria), pl.sum_horizontal(~each for each in criteria)
    return (
        pl.when(met >= _ENOUGH)
        .then(pl.lit(value=True))
        .when(failed >= _ENOUGH)
        .then(pl.lit(value=False))
    )


def in_order(by: str, code: pl.Expr) -> pl.Expr:
    """Return the place of each code on the scale of its group."""
    if by not in _SCALES:
        return code
    places = {code: place for place, code in enumerate(_SCALES[by]["sk"])}
    return code.replace_strict(places, default=None, return_dtype=pl.Int64)


def _check_types(columns: pl.Schema, used: Iterable[str]) -> None:
    # Whoever counts units has no figures: what they are assembled from is loaded when it is needed.
    from finstat_kit.frames.financials import assemble

    assemble.check_types(columns, used, "frame")
