"""From units to figures: filings, their reports, items by name, and one statement over years."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final, Literal, get_args

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import LATEST, Years
from finstat_kit.client.collections.fetching import records_with_gaps, refuse_long_work
from finstat_kit.client.collections.figures import requests_of
from finstat_kit.client.collections.looked_up import looked_up, lookups, records_of_given
from finstat_kit.client.methods.find import one_unit
from finstat_kit.client.source import Allowance, Source, Wanted
from finstat_kit.errors import NotFound, invalid, warn
from finstat_kit.frames.financials import assemble, filings as filing_rules, items as item_rules
from finstat_kit.frames.financials.chosen_items import chosen
from finstat_kit.frames.financials.history import STATEMENTS, History, Statement, history
from finstat_kit.given_units import given_units
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

# The columns of units that are read, the two of ids first; an error lists names and towns.
_OF_UNITS: Final = tuple(
    dict.fromkeys(("id", "idUctovnychZavierok", *filing_rules.UNIT, "nazovUJ", "mesto",
                   *assemble.CARRIED, *assemble.DAYS))
)  # fmt: skip
Year = int | Iterable[int] | Literal["latest"] | None
Given = pl.DataFrame | pl.LazyFrame | pl.Series | int | str | Iterable[int | str]
_PLAN: Final = pl.Schema(
    {
        "collection": pl.String(),
        "requests": pl.Int64(),
        "at_most": pl.Int64(),
        "seconds_low": pl.Float64(),
        "seconds_high": pl.Float64(),
        "bytes": pl.Int64(),
    }
)
# What `dry_run` reckons with: bytes of replies with their headers; records as of the sample, which
# has as many per unit and per filing as the live register.
_BYTES: Final = {"units": 900, "statements": 600, "reports": 3_000}


def wanted(
    year: Year,
    *,
    consolidated: bool = False,
    from_previous: bool = False,
    filed_until: str | date | None = None,
    items: str | Sequence[str] | None = None,
    family: str | Sequence[str] | None = None,
    activity: item_rules.Activity = "total",
) -> Wanted:
    """Return what is wanted of units, checked; see `Register.financials`."""
    arguments.one_of("activity", activity, get_args(item_rules.Activity))
    until = None if filed_until is None else arguments.day("filed_until", filed_until)
    columns = chosen(items, family)
    return Wanted(years_of(year), consolidated, from_previous, activity, until, columns)


def filings(source: Source, units: Given, wanted: Wanted, allowance: Allowance) -> pl.DataFrame:
    """Return the filings of units; see `Register.filings`."""
    warn_of_years(wanted.years, source.session.today())
    nothing = pl.DataFrame(schema=filing_rules.FILINGS)
    # Which year is the latest one with figures is shown by reports.
    collections = ("units", "statements", "reports")[: 3 if wanted.years == LATEST else 2]
    records, nobody = _records_of(source, units, wanted, allowance, nothing, collections)
    rows = source.filings(records, wanted, allowance.progress)
    return _with_nobody(source, rows, nobody, wanted.years)


def financials(source: Source, units: Given, wanted: Wanted, allowance: Allowance) -> pl.DataFrame:
    """Return the figures of units; see `Register.financials`."""
    warn_of_years(wanted.years, source.session.today())
    nothing = pl.DataFrame(schema=assemble.schema(wanted.items))
    records, nobody = _records_of(source, units, wanted, allowance, nothing)
    rows = source.figures(records, wanted, allowance.progress)
    return _with_nobody(source, rows, nobody, wanted.years)


def plan(source: Source, units: Given, wanted: Wanted) -> pl.DataFrame:
    """Return how many requests the figures take; see `Register.financials`."""
    records = _records_given(units)
    needed = _requests_of(source, given_units(units) if records is None else records, wanted)
    return plan_of(source, {**needed, "reports": (needed["reports"][0], None)})


def plan_of(source: Source, requests: Mapping[str, tuple[int, int | None]]) -> pl.DataFrame:
    """Return a plan: per collection the requests to be expected, and how many there can be."""
    cost = 0 if source.session.offline else 1
    rows = [
        (
            name, number * cost, most and most * cost, *source.session.seconds_of(number * cost),
            number * cost * _BYTES[name],
        )
        for name, (number, most) in requests.items()
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=_PLAN, orient="row")


def statement(
    source: Source,
    unit: int | str | pl.DataFrame | pl.LazyFrame,
    years: Year,
    table: Statement,
    *,
    blanks: bool,
    lang: arguments.Lang,
    source_name: str,
) -> History:
    """Return a statement over years; see `Register.statement`."""
    arguments.one_of("table", table, STATEMENTS)
    newest = None
    if isinstance(years, int) and years < arguments.FIRST_YEAR:  # a number of years
        newest, years = arguments.whole("years", years, 1, 100), None
    wanted_years = years_of(years, "years")
    warn_of_years(wanted_years, source.session.today())
    record = _record_of_one(source, unit)
    filed = None if wanted_years == LATEST else source.filings(record, Wanted(wanted_years), None)
    if filed is not None and newest is not None:
        readable = filed.filter(pl.col("reason").is_null())
        wanted_years = readable["year"].unique().sort().tail(newest).to_list() or None
    if filed is not None and (named := arguments.given_years(wanted_years)) is not None:
        filed = filed.filter(pl.col("year").is_in(named))
    figures, listed = source.figures_and_reports(record, filed, wanted_years)
    return history(
        record.row(0, named=True), figures, listed, source.shipped_first, table,
        source=source_name, blanks=blanks, lang=lang,
    )  # fmt: skip


def _requests_of(source: Source, units: pl.DataFrame, wanted: Wanted) -> dict[str, tuple[int, int]]:
    """Return how many requests the figures of records take, or of what `given_units` returns."""
    if _OF_UNITS[1] in units.columns:
        return requests_of(source.session, units, wanted)
    number, looked = units.n_unique(), lookups(units)  # as a rule an IČO is that of one
    return requests_of(source.session, number, wanted) | {"units": (number + looked,) * 2}


def _records_of(
    source: Source,
    units: Given,
    wanted: Wanted,
    allowance: Allowance,
    nothing: pl.DataFrame,
    collections: Sequence[str] = ("units", "statements", "reports"),
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the records of the units in the arguments, each once, and the IČO that no unit has.

    An error has *nothing* in ``.partial``, the empty result.

    Args:
        source: What answers.
        units: As given by the user.
        wanted: What is wanted of the units.
        allowance: What that may take.
        nothing: The result without a row.
        collections: Of which records are requested for it.

    Raises:
        UsageError: Before the first request, if the work takes too many.
    """

    def refuse(units: pl.DataFrame, sent: int) -> None:
        needed = _requests_of(source, units, wanted)
        expected, most = (sent + sum(needed[n][i] for n in collections) for i in (0, 1))
        refuse_long_work(source, expected, allowance.max_requests, most)

    records = _records_given(units)
    if records is not None:
        records = records.unique("id", keep="first", maintain_order=True)
        refuse(records, 0)
        return records, pl.Series("ico", [], pl.String)
    given = given_units(units)
    refuse(given, 0)
    with source.session.working("units", given.height, lambda: nothing, progress=False):
        found = looked_up(source, given, allowance.progress)
        ids = found["id"].drop_nulls().unique(maintain_order=True)
        records = records_with_gaps("units", ids, source)
    # The records show how many statements there are; before, their number was a guess.
    refuse(records, lookups(given) + ids.len())
    return records, found.filter(pl.col("id").is_null())["ico"].unique(maintain_order=True)


def _with_nobody(source: Source, rows: pl.DataFrame, icos: pl.Series, years: Years) -> pl.DataFrame:
    """Add a row, or one per year, of each IČO that no unit has, behind the others."""
    known = {
        "reason": source.reason_of_nobody,
        "counts": False, "has_figures": False, "source_column": "current",
    }  # fmt: skip
    each: Sequence[int | None] = arguments.given_years(years) or [None]
    wanted = pl.DataFrame({"year": each}, {"year": pl.Int32})
    of_nobody = icos.to_frame().join(wanted, how="cross").with_columns(
        pl.lit(value).cast(rows.schema[name]).alias(name)
        for name, value in known.items() if name in rows.columns
    )  # fmt: skip
    return pl.concat([rows, of_nobody], how="diagonal")


def warn_of_years(years: Years, today: date) -> None:
    """Warn of a year after the register's day."""
    named = arguments.given_years(years)
    if named is not None and named[-1] > today.year:
        warn(f"{named[-1]} lies after the register's day, {today}: nothing can have been filed")


def years_of(year: Year, name: str = "year") -> Years:
    """Return the years of an argument, ascending; None is all of them."""
    if isinstance(year, str) and year == LATEST:
        return LATEST
    return None if year is None else arguments.years(name, year)


def _records_given(units: Given) -> pl.DataFrame | None:
    """Return the records of units that were given, None for ids."""
    if isinstance(units, pl.LazyFrame):
        units = units.collect()
    if not isinstance(units, pl.DataFrame) or not {"id", _OF_UNITS[1]} <= {*units.columns}:
        return None
    given_frames.ids(units, "units")
    schema = pl.Schema({name: KINDS["units"].schema[name] for name in _OF_UNITS})
    for name in _OF_UNITS[1:]:
        dtype = units.schema.get(name, pl.Null())
        if not assemble.holds(dtype, schema[name]):
            raise invalid(
                "units",
                ...,
                f": the column {name!r} is {dtype}",
                give=f"it as {schema[name]}, as fk.units.get returns it",
            )
    absent = {name: dtype for name, dtype in schema.items() if name not in units.columns}
    # A missing record has no day of change; without the column no record is missing.
    filled = units.with_columns(
        pl.lit(wire.BEGINNING if name == wire.CHANGED else None, dtype).alias(name)
        for name, dtype in absent.items()
    )
    return filled.select(_OF_UNITS).cast(schema)


def _record_of_one(source: Source, unit: int | str | pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return the record of the only unit in an argument.

    Raises:
        UsageError: There are several, such as those that share an IČO.
        NotFound: There is no such unit.
    """
    records = _records_given(unit)
    if records is None:
        given = given_units(unit, "unit")
        try:
            records = records_of_given(source, given, null_rows=False)
        except NotFound as error:
            if given["id"].is_null().any():
                raise
            raise NotFound(f"the register has no unit {error.ids[0]}", ids=error.ids) from None
    value = unit if isinstance(unit, str) else ...
    return one_unit(records.unique("id", maintain_order=True), "unit", value)
