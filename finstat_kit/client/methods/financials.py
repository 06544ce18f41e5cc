"""From units to figures: filings, their reports, items by name, and one statement over years."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, get_args

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.client.collections.fetching import records_or_ids, refuse_long_work
from finstat_kit.client.collections.looked_up import looked_up, lookups, records_of_given
from finstat_kit.client.methods.find import one_unit
from finstat_kit.client.methods.reference import register_first, shipped_first
from finstat_kit.client.source import Source, Wanted
from finstat_kit.errors import NotFound, attaching, invalid
from finstat_kit.frames.financials import (
    assemble,
    filing_order,
    filings as filing_rules,
    items as item_rules,
)
from finstat_kit.frames.financials.choice import Choice, listed_reports, report_ids
from finstat_kit.frames.financials.chosen_items import chosen
from finstat_kit.frames.financials.history import STATEMENTS, History, Statement, history
from finstat_kit.frames.financials.readings import FigureReader
from finstat_kit.frames.places import nace
from finstat_kit.frames.places.labels import Lookup
from finstat_kit.frames.reports.cells import CELLS
from finstat_kit.given_units import GIVEN, given_units
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

# The columns of units that are read, the two of ids first; an error lists names and towns.
_OF_UNITS: Final = tuple(
    dict.fromkeys(("id", "idUctovnychZavierok", *filing_rules.UNIT, "nazovUJ", "mesto",
                   *assemble.CARRIED, *assemble.DAYS))
)  # fmt: skip
Year = int | Iterable[int] | None
Given = pl.DataFrame | pl.LazyFrame | pl.Series | int | str | Iterable[int | str]
# Units whose rows are finished together. An error loses those of one chunk, which matters where
# they took requests over a network. In process each chunk adds the time of several hundred units.
_CHUNK: Final = 100
_LARGE_CHUNK: Final = 2_000
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
_STATEMENTS_OF_A_UNIT: Final = 12  # of a unit whose record is not known
_REPORTS_OF_A_FILING: Final = 1.7  # tables, and in every other filing notes or an audit
_REPORTS_OF_AN_OLD_FILING: Final = 2.7
_LAST_OLD_YEAR: Final = 2013  # the last year of two reports, balance sheet and income statement


def filings(
    source: Source,
    units: Given,
    year: Year,
    *,
    consolidated: bool,
    filed_until: str | date | None,
    max_requests: int | None,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the filings of units; see `Register.filings`."""
    years, until = years_of(year), day_of(filed_until)
    nothing = pl.DataFrame(schema=filing_rules.FILINGS)
    found = _units_found(
        source, units, years, max_requests, nothing, reports=False, progress=progress
    )
    records = found.records
    wanted = Wanted(years, consolidated, filed_until=until)
    if (answer := source.filings(records, wanted)) is not None:
        return found.with_nobody(answer, years)

    def finish(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        return filed

    rows = _by_chunks(
        source, records, years, nothing, finish,
        expected=found.expected, consolidated=consolidated, until=until, progress=progress,
    )  # fmt: skip
    return found.with_nobody(rows, years)


def plan(source: Source, units: Given, years: Sequence[int] | None) -> pl.DataFrame:
    """Return how many requests the figures take; see `Register.financials`."""
    records = _records_given(units)
    given = given_units(units) if records is None else None
    return _expected_requests(source, records, given, years)


def _expected_requests(
    source: Source,
    records: pl.DataFrame | None,
    given: pl.DataFrame | None,
    years: Sequence[int] | None,
) -> pl.DataFrame:
    """Return how many requests are to be expected; see *dry_run* of `Register.financials`.

    Args:
        source: What answers.
        records: Of the units, None where they are still to be fetched.
        given: What `given_units` returns, None where there are records.
        years: Years that are wanted, None for all.
    """
    cost, fetched = source.cost, 0
    if records is not None:
        counts = cost * records["idUctovnychZavierok"].list.n_unique().fill_null(0)
    else:
        assert given is not None
        units = cost * given.n_unique()  # as a rule an IČO is that of one
        fetched = units + lookups(source, given)
        counts = pl.repeat(_STATEMENTS_OF_A_UNIT, units, eager=True)
    statements = int(counts.sum())
    if years is None:
        likely, reports = statements, statements * _REPORTS_OF_A_FILING
    else:
        # One of each year since, and the one of the year before, whose day of filing ends the walk.
        likely = int(counts.clip(0, max(2, source.session.today().year - years[0] + 2)).sum())
        old_years = sum(year <= _LAST_OLD_YEAR for year in years)
        new_years = len(years) - old_years
        each = new_years * _REPORTS_OF_A_FILING + old_years * _REPORTS_OF_AN_OLD_FILING
        reports = float(counts.clip(0, len(years)).sum()) * each / len(years)
    requests: dict[str, tuple[int, int | None]] = {
        "units": (fetched, fetched),
        "statements": (likely, statements),
        "reports": (round(reports), None),
    }
    return plan_of(source, requests)


def plan_of(source: Source, requests: Mapping[str, tuple[int, int | None]]) -> pl.DataFrame:
    """Return a plan: per collection the requests to be expected, and how many there can be."""
    rows = [
        (name, number, most, *source.session.seconds_of(number), number * _BYTES[name])
        for name, (number, most) in requests.items()
    ]
    return pl.DataFrame(rows, schema=_PLAN, orient="row")


def items(
    source: Source,
    frame: pl.DataFrame | pl.LazyFrame | str | None,
    activity: item_rules.Activity,
) -> pl.DataFrame:
    """Read named line items out of cells, or list the items; see `Register.items`."""
    arguments.one_of("activity", activity, get_args(item_rules.Activity))
    if frame is None or isinstance(frame, str):
        return item_rules.listed(frame)
    frame = given_frames.collected("frame", frame)
    absent = [name for name in CELLS if name not in frame.columns]
    if absent:
        raise invalid(
            "frame", ..., f": no column {absent[0]!r}", give="what fk.reports.cells returns"
        )
    return item_rules.items_of(frame, register_first(source), activity)


def financials(
    source: Source,
    units: Given,
    year: Year,
    *,
    consolidated: bool,
    from_previous: bool,
    filed_until: str | date | None,
    items: str | Sequence[str] | None,
    family: str | Sequence[str] | None,
    activity: item_rules.Activity,
    lookup: Lookup,
    dry_run: bool,
    max_requests: int | None,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the figures of units; see `Register.financials`."""
    years = years_of(year)
    arguments.one_of("activity", activity, get_args(item_rules.Activity))
    nothing = pl.DataFrame(schema=assemble.schema(chosen(items, family)))
    until = day_of(filed_until)
    if dry_run:
        return plan(source, units, years)
    found = _units_found(
        source, units, years, max_requests, nothing, reports=True, progress=progress
    )
    records = found.records
    wanted = Wanted(years, consolidated, from_previous, activity, until)
    if (answer := source.figures(records, wanted)) is not None:
        return found.with_nobody(answer.select(nothing.columns), years)
    with attaching(lambda: nothing, lambda: "interrupted before the first unit was finished"):
        revision = nace.of_codes(pl.col("skNace"), lookup("activities")["code"])
    records = records.with_columns(nace=revision)

    def finish(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        choice = choice_of_filings(source, filed, advance)
        taken = choice.taken()
        readings = choice.readings
        if activity != "total":  # which filing is taken does not depend on it
            reader = FigureReader(shipped_first(source), register_first(source), activity)
            readings = reader.of_tables(choice.reports)
        return assemble.assembled(
            taken, chunk, choice.listed, readings, from_previous=from_previous
        )

    rows = _by_chunks(
        source, records, years, nothing, finish,
        expected=found.expected, consolidated=consolidated, until=until, progress=progress,
    )  # fmt: skip
    return found.with_nobody(rows, years)


def statement(
    source: Source,
    unit: int | str | pl.DataFrame | pl.LazyFrame,
    years: int | Iterable[int] | None,
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
    record = _record_of_one(source, unit)
    filed = filings(
        source, record, wanted_years,
        consolidated=False, filed_until=None, max_requests=None, progress=None,
    )  # fmt: skip
    if newest is not None:
        readable = filed.filter(pl.col("reason").is_null())
        wanted_years = readable["year"].unique().sort().tail(newest).to_list() or None
    if wanted_years is not None:
        filed = filed.filter(pl.col("year").is_in(wanted_years))
    figures, listed = figures_and_reports(source, record, filed, wanted_years)
    return history(
        record.row(0, named=True), figures, listed, shipped_first(source), table,
        source=source_name, blanks=blanks, lang=lang,
    )  # fmt: skip


@dataclass(frozen=True)
class _Found:
    """The units of a call.

    Attributes:
        records: Theirs, each once.
        expected: How many requests their filings or figures are expected to take.
        order: ``id`` and ``ico`` in the order given, where IČO were; one of nobody has no id.
        reason: Why an IČO has no unit.
    """

    records: pl.DataFrame
    expected: int
    order: pl.DataFrame
    reason: str

    def with_nobody(self, rows: pl.DataFrame, years: Sequence[int] | None) -> pl.DataFrame:
        """Return filings or figures with a row, or one per year, for each IČO of nobody."""
        if not self.order["id"].null_count():
            return rows
        places = self.order.unique(maintain_order=True).with_row_index("place")
        of_nobody = places.filter(pl.col("id").is_null())
        wanted = pl.DataFrame({"year": [None] if years is None else years}, {"year": pl.Int32})
        known = {"counts": False, "has_figures": False, "source_column": "current"}
        absent = of_nobody.join(wanted, how="cross").with_columns(
            pl.lit(value).cast(rows.schema[name]).alias(name)
            for name, value in {**known, "reason": self.reason}.items()
            if name in rows.columns
        )
        first = places.drop_nulls("id").unique("id", keep="first").select("place", unit_id="id")
        placed = rows.join(first, on="unit_id", how="left", maintain_order="left")
        together = pl.concat([placed, absent.drop("id")], how="diagonal")
        return together.sort("place", maintain_order=True).select(rows.columns)


def _units_found(
    source: Source,
    units: Given,
    years: Sequence[int] | None,
    most: int | None,
    nothing: pl.DataFrame,
    *,
    reports: bool,
    progress: bool | None,
) -> _Found:
    """Return the records of the units in the arguments, each once, and the requests expected.

    An error has *nothing* in ``.partial``, the empty result.

    Raises:
        UsageError: Before the first request, if the work takes too many.
    """
    records = _records_given(units)
    given = None if records is not None else given_units(units)
    if records is not None:
        records = records.unique("id", keep="first", maintain_order=True)
    expected, at_most = _expected(source, records, given, years, reports=reports)
    refuse_long_work(expected, source.session, most, at_most)
    order = GIVEN.to_frame()
    if given is not None:
        text = "interrupted before the first unit was finished"
        with attaching(lambda: nothing, lambda: text, going_on=source.session.going_on()):
            order = looked_up(source, given, progress)
            ids = order["id"].drop_nulls().unique(maintain_order=True)
            records = records_or_ids("units", ids, source)
        # The records show how many statements there are; before, their number was a guess.
        expected, at_most = _expected(source, records, None, years, reports=reports)
        sent = lookups(source, given) + ids.len()
        refuse_long_work(sent + expected, source.session, most, sent + at_most)
    assert records is not None
    part = source.part()
    is_part = part.extract or part.since is not None
    return _Found(records, expected, order, "not_held" if is_part else "no_such_unit")


def _expected(
    source: Source,
    records: pl.DataFrame | None,
    given: pl.DataFrame | None,
    years: Sequence[int] | None,
    *,
    reports: bool,
) -> tuple[int, int]:
    """Return how many requests filings take, or with *reports* figures: expected, and at most."""
    plans = _expected_requests(source, records, given, years).filter(
        (pl.col("collection") != "reports") | reports
    )
    return int(plans["requests"].sum()), int(plans["at_most"].fill_null(plans["requests"]).sum())


def _by_chunks(
    source: Source,
    units: pl.DataFrame,
    years: Sequence[int] | None,
    nothing: pl.DataFrame,
    finish: Callable[[pl.DataFrame, pl.DataFrame, Advance], pl.DataFrame],
    *,
    expected: int,
    consolidated: bool,
    until: date | None,
    progress: bool | None,
) -> pl.DataFrame:
    """Find the filings of units chunk by chunk and finish each, so that an error loses one.

    Args:
        source: What answers.
        units: Records of the units.
        years: Years that are wanted, None for all.
        nothing: The result without a row.
        finish: Returns the rows of a chunk of units, out of their filings.
        expected: How many requests are to be expected.
        consolidated: Whether consolidated filings are wanted instead of individual ones.
        until: The last day of filing, None for any.
        progress: Whether a bar is shown.
    """
    chunks: list[pl.DataFrame] = []
    first_year = None if years is None else years[0]
    if first_year is not None and until is not None:
        first_year = min(first_year, until.year)  # whether anything was filed by then

    def rows_so_far() -> pl.DataFrame:
        return pl.concat([nothing, *(chunk.select(nothing.columns) for chunk in chunks)])

    def text() -> str:
        number = sum(chunk["unit_id"].n_unique() for chunk in chunks)
        message = f"interrupted after {number:,} of {units.height:,} units"
        return f"{message}, whose rows are in .partial"

    with (
        attaching(rows_so_far, text, going_on=source.session.going_on()),
        bar("requests", expected, watched=source.session.watched, progress=progress) as advance,
    ):
        size = _CHUNK if source.session.exchange.base_url.startswith("http") else _LARGE_CHUNK
        for chunk in units.iter_slices(size):
            statements = _statements_of(source, chunk, first_year, advance)
            filed = filing_rules.by_rule(
                chunk, statements, years, consolidated=consolidated, filed_until=until
            )
            chunks.append(finish(chunk, filed, advance))
    return rows_so_far()


def _statements_of(
    source: Source, units: pl.DataFrame, year: int | None, advance: Advance
) -> pl.DataFrame:
    """Fetch the statements of units in which all filings of a year and of later ones are.

    Args:
        source: What answers.
        units: Records of units.
        year: The earliest that is wanted, None for all statements.
        advance: Counts the requests.
    """
    listed_ids = filing_rules.held_by(units)

    def fetched(ids: pl.Series) -> pl.DataFrame:
        # The number of requests was checked before the first one.
        records = records_or_ids("statements", ids, source)
        advance(ids.len())
        return records

    statements = [KINDS["statements"].frame([])]
    if year is None:
        ids = listed_ids["statement_id"].unique(maintain_order=True)
        return fetched(ids) if ids.len() else statements[0]
    way_down = filing_order.WayDown(listed_ids, year)
    while (ids := way_down.next_ids()).len():
        statements.append(fetched(ids))
        way_down.add(filing_rules.known_of(statements[-1]))
    return pl.concat(statements)


def years_of(year: Year, name: str = "year") -> list[int] | None:
    """Return the years of an argument, ascending; None is all of them."""
    return None if year is None else arguments.years(name, year)


def day_of(filed_until: str | date | None) -> date | None:
    """Return the last day of filing of an argument, None for any."""
    return None if filed_until is None else arguments.day("filed_until", filed_until)


def _records_given(units: Given) -> pl.DataFrame | None:
    """Return the records of units that were given, None for ids."""
    if isinstance(units, pl.LazyFrame):
        units = units.collect()
    if not isinstance(units, pl.DataFrame) or not {"id", _OF_UNITS[1]} <= {*units.columns}:
        return None
    if units.schema["idUctovnychZavierok"] not in (pl.List(pl.Int64), pl.List(pl.Null), pl.Null):
        raise invalid(
            "units",
            ...,
            f": the column 'idUctovnychZavierok' is {units.schema['idUctovnychZavierok']}",
            give="records as fk.units.get returns them",
        )
    given_frames.ids(units, "units")
    schema = pl.Schema({name: KINDS["units"].schema[name] for name in _OF_UNITS})
    for name in _OF_UNITS[2:]:
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


def choice_of_filings(source: Source, filed: pl.DataFrame, advance: Advance) -> Choice:
    """Fetch the reports that show which filing of each unit and year is taken.

    Args:
        source: What answers.
        filed: Result of `filings.by_rule`.
        advance: Counts the requests.
    """
    reader = FigureReader(shipped_first(source), register_first(source), "total")
    choice = Choice(filed, KINDS["reports"].frame([]), reader.of_tables)
    while (ids := choice.wanted()).len():
        choice.add(records_or_ids("reports", ids, source))
        advance(ids.len())
    return choice


def figures_and_reports(
    source: Source, unit: pl.DataFrame, filed: pl.DataFrame, years: Sequence[int] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the figures of a unit, as of `financials`, and the reports that they are read from.

    Args:
        source: What answers.
        unit: Its record.
        filed: Its filings in these years, as `filings` returns them.
        years: None is every year.
    """
    figures = source.figures(unit, Wanted(years))
    if figures is None:
        choice = choice_of_filings(source, filed, lambda n: None)
        sources, listed = choice.taken(), choice.listed
        figures = assemble.assembled(sources, unit, listed, choice.readings, from_previous=False)
        return figures, listed
    sources = filed.join(figures, on="statement_id", how="semi")
    ids = report_ids(sources)
    reports = records_or_ids("reports", ids["report_id"].unique(maintain_order=True), source)
    return figures, listed_reports(ids, reports)


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
            records = records_of_given(source, given, keep=False)
        except NotFound as error:
            if given["id"].is_null().any():
                raise
            raise NotFound(f"the register has no unit {error.ids[0]}", ids=error.ids) from None
    value = unit if isinstance(unit, str) else ...
    return one_unit(records.unique("id", maintain_order=True), "unit", value)
