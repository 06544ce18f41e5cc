"""Filings and figures of units by requests: chunk by chunk, so that an error loses one chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from finstat_kit.client.session import Session
from finstat_kit.client.source import Allowance, Source, Wanted
from finstat_kit.frames.financials import assemble, filing_order, filings as filing_rules
from finstat_kit.frames.financials.choice import Choice
from finstat_kit.frames.financials.readings import FigureReader
from finstat_kit.frames.places import nace
from finstat_kit.progress import Advance
from finstat_kit.protocol.records import KINDS

# Units whose rows are finished together. An error loses those of one chunk, which matters where
# they took requests over a network. In process each chunk adds the time of several hundred units.
_CHUNK: Final = 100
_LARGE_CHUNK: Final = 2_000
_STATEMENTS_OF_A_UNIT: Final = 12  # of a unit whose record is not known
_REPORTS_OF_A_FILING: Final = 1.7  # tables, and in every other filing notes or an audit
_REPORTS_OF_AN_OLD_FILING: Final = 2.7
_LAST_OLD_YEAR: Final = 2013  # the last year of two reports, balance sheet and income statement
RowsOfChunk = Callable[[pl.DataFrame, pl.DataFrame, Advance], pl.DataFrame]


def requests_of(
    session: Session, units: pl.DataFrame | int, wanted: Wanted
) -> dict[str, tuple[int, int]]:
    """Return how many requests figures take, by collection: to be expected, and at most.

    Args:
        session: Of the register.
        units: Records of the units, or their number.
        wanted: What is wanted of them.
    """
    years = wanted.years
    if isinstance(units, int):
        fetched, counts = units, pl.repeat(_STATEMENTS_OF_A_UNIT, units, eager=True)
    else:
        fetched, counts = 0, units["idUctovnychZavierok"].list.n_unique().fill_null(0)
    statements = int(counts.sum())
    if years is None:
        likely, reports = statements, statements * _REPORTS_OF_A_FILING
    else:
        # One of each year since, and the one of the year before, whose day of filing ends the walk.
        likely = int(counts.clip(0, max(2, session.today().year - years[0] + 2)).sum())
        old_years = sum(year <= _LAST_OLD_YEAR for year in years)
        new_years = len(years) - old_years
        each = new_years * _REPORTS_OF_A_FILING + old_years * _REPORTS_OF_AN_OLD_FILING
        reports = float(counts.clip(0, len(years)).sum()) * each / len(years)
    requests = {"units": (fetched, fetched), "statements": (likely, statements)}
    return requests | {"reports": (round(reports), round(reports))}


def filings(
    source: Source, units: pl.DataFrame, wanted: Wanted, progress: bool | None
) -> pl.DataFrame:
    """Return the filings of units; see `Register.filings`."""
    nothing = pl.DataFrame(schema=filing_rules.FILINGS)
    expected = requests_of(source.session, units, wanted)["statements"][0]

    def rows_of_chunk(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        return filed

    return _by_chunks(source, units, wanted, rows_of_chunk, nothing, expected, progress)


def figures(
    source: Source, units: pl.DataFrame, wanted: Wanted, progress: bool | None
) -> pl.DataFrame:
    """Return the figures of units; see `Register.financials`."""
    nothing = pl.DataFrame(schema=assemble.schema(wanted.items))
    expected = sum(likely for likely, _ in requests_of(source.session, units, wanted).values())
    with source.session.working("units", units.height, lambda: nothing, progress=False):
        activities = source.codelist("activities")["code"]
    units = units.with_columns(nace=nace.of_codes(pl.col("skNace"), activities))

    def rows_of_chunk(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        choice = _choice_of_filings(source, filed, advance)
        taken, readings = choice.taken(), choice.readings
        if wanted.activity != "total":  # which filing is taken does not depend on it
            reader = FigureReader(source.shipped_first, source.register_first, wanted.activity)
            readings = reader.of_tables(choice.reports)
        return assemble.assembled(
            taken, chunk, choice.listed, readings, from_previous=wanted.from_previous
        )

    return _by_chunks(source, units, wanted, rows_of_chunk, nothing, expected, progress)


def figures_and_reports(
    source: Source, unit: pl.DataFrame, filed: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the figures of a unit, and the reports; see `Source.figures_and_reports`."""
    choice = _choice_of_filings(source, filed, lambda n: None)
    taken, listed = choice.taken(), choice.listed
    figures = assemble.assembled(taken, unit, listed, choice.readings, from_previous=False)
    return figures, listed


def _by_chunks(
    source: Source,
    units: pl.DataFrame,
    wanted: Wanted,
    rows_of_chunk: RowsOfChunk,
    nothing: pl.DataFrame,
    expected: int,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the rows of units, chunk by chunk.

    Args:
        source: What answers.
        units: Records of the units.
        wanted: What is wanted of them.
        rows_of_chunk: Returns the rows of a chunk of units, out of their filings.
        nothing: The result without a row.
        expected: How many requests are to be expected.
        progress: As given by the user.
    """
    chunks = [nothing]
    first_year = None if wanted.years is None else wanted.years[0]
    if first_year is not None and wanted.filed_until is not None:
        first_year = min(first_year, wanted.filed_until.year)  # whether anything was filed by then
    session = source.session
    size = _CHUNK if session.exchange.base_url.startswith("http") else _LARGE_CHUNK
    with session.working("requests", expected, lambda: pl.concat(chunks), progress) as advance:
        for chunk in units.iter_slices(size):
            statements = _statements_of(source, chunk, first_year, advance)
            filed = filing_rules.by_rule(
                chunk, statements, wanted.years,
                consolidated=wanted.consolidated, filed_until=wanted.filed_until,
            )  # fmt: skip
            chunks.append(rows_of_chunk(chunk, filed, advance).select(nothing.columns))
    return pl.concat(chunks)


def _records(source: Source, name: str, ids: pl.Series, advance: Advance) -> pl.DataFrame:
    """Return records, the number of which was checked before the first of them."""
    records = source.records(name, ids, Allowance(ids.len(), progress=False), null_rows=True)
    advance(ids.len())
    return records


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
    statements = [KINDS["statements"].frame([])]
    if year is None:
        ids = listed_ids["statement_id"].unique(maintain_order=True)
        return _records(source, "statements", ids, advance) if ids.len() else statements[0]
    way_down = filing_order.WayDown(listed_ids, year)
    while (ids := way_down.next_ids()).len():
        statements.append(_records(source, "statements", ids, advance))
        way_down.add(filing_rules.known_of(statements[-1]))
    return pl.concat(statements)


def _choice_of_filings(source: Source, filed: pl.DataFrame, advance: Advance) -> Choice:
    """Fetch the reports that show which filing of each unit and year is taken."""
    reader = FigureReader(source.shipped_first, source.register_first, "total")
    choice = Choice(filed, KINDS["reports"].frame([]), reader.of_tables)
    while (ids := choice.wanted()).len():
        choice.add(_records(source, "reports", ids, advance))
    return choice
