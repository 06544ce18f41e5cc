"""Filings and figures of units by requests: chunk by chunk, so that an error loses one chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from finstat_kit.arguments import FIRST_YEAR, LATEST, given_years
from finstat_kit.client.session import Session
from finstat_kit.client.source import Allowance, Source, Wanted
from finstat_kit.frames.financials import assemble, filing_order, filings as filing_rules
from finstat_kit.frames.financials.choice import Choice
from finstat_kit.frames.financials.latest import Latest
from finstat_kit.frames.financials.readings import FigureReader
from finstat_kit.frames.places import nace
from finstat_kit.progress import Advance
from finstat_kit.protocol.records import KINDS

# Units whose rows are finished together. An error loses those of one chunk, which matters where
# they took requests over a network. In process each chunk adds the time of several hundred units.
_CHUNK: Final = 100
_LARGE_CHUNK: Final = 2_000
_STATEMENTS_OF_A_UNIT: Final = 12  # of a unit whose record is not known
# The newest, and those down to one that was filed long before the year of the newest.
_DOWN_TO_THE_LATEST: Final = 3
_REPORTS_OF_A_FILING: Final = 1.7  # tables, and in every other filing notes or an audit
_REPORTS_OF_AN_OLD_FILING: Final = 2.7
_LAST_OLD_YEAR: Final = 2013  # the last year of two reports, balance sheet and income statement


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
    if isinstance(years, str):
        likely = int(counts.clip(0, _DOWN_TO_THE_LATEST).sum())
        reports = float(counts.clip(0, 1).sum()) * _REPORTS_OF_A_FILING
    elif years is None:
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
    is_latest = wanted.years == LATEST
    figures_of = _Figures(source, wanted)

    def rows_of_chunk(chunk: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        if is_latest:
            return _latest(source, chunk, wanted, figures_of, advance).filings()
        return _filed(source, chunk, wanted, advance)

    requests = requests_of(source.session, units, wanted)
    expected = sum(requests[n][0] for n in ("statements", "reports")[: 1 + is_latest])
    return _by_chunks(source, units, rows_of_chunk, nothing, expected, progress)


def figures(
    source: Source, units: pl.DataFrame, wanted: Wanted, progress: bool | None
) -> pl.DataFrame:
    """Return the figures of units; see `Register.financials`."""
    nothing = pl.DataFrame(schema=assemble.schema(wanted.items))
    expected = sum(likely for likely, _ in requests_of(source.session, units, wanted).values())
    with source.session.working("units", units.height, lambda: nothing, progress=False):
        activities = source.codelist("activities")["code"]
    units = units.with_columns(nace=nace.of_codes(pl.col("skNace"), activities))
    figures_of = _Figures(source, wanted)

    def rows_of_chunk(chunk: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        if wanted.years == LATEST:
            return _latest(source, chunk, wanted, figures_of, advance).figures()
        return figures_of(chunk, _filed(source, chunk, wanted, advance), advance)

    return _by_chunks(source, units, rows_of_chunk, nothing, expected, progress)


def figures_and_reports(
    source: Source, unit: pl.DataFrame, filed: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the figures of a unit, and the reports; see `Source.figures_and_reports`."""
    figures_of = _Figures(source, Wanted(LATEST))
    if filed is not None:
        return figures_of(unit, filed, lambda n: None), figures_of.listed
    # Where the last year that was looked at is not the one returned, none has a report.
    latest = _latest(source, unit, Wanted(LATEST), figures_of, lambda n: None)
    return latest.figures(), figures_of.listed


class _Figures:
    """Reads the figures of units out of their filings.

    Args:
        source: What answers.
        wanted: What is wanted of them.

    Attributes:
        listed: As of `Choice.listed`, of the filings that were read last.
    """

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self._source = source
        self._wanted = wanted
        self.listed = pl.DataFrame()

    def __call__(self, units: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        """Return the figures of units."""
        source, activity = self._source, self._wanted.activity
        choice = _choice_of_filings(source, filed, advance)
        taken, readings, self.listed = choice.taken(), choice.readings, choice.listed
        if activity != "total":  # which filing is taken does not depend on it
            reader = FigureReader(source.shipped_first, source.register_first, activity)
            readings = reader.of_tables(choice.reports)
        return assemble.assembled(
            taken, units, self.listed, readings, from_previous=self._wanted.from_previous
        )


def _by_chunks(
    source: Source,
    units: pl.DataFrame,
    rows_of_chunk: Callable[[pl.DataFrame, Advance], pl.DataFrame],
    nothing: pl.DataFrame,
    expected: int,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the rows of units, chunk by chunk.

    Args:
        source: What answers.
        units: Records of the units.
        rows_of_chunk: Returns the rows of a chunk of units.
        nothing: The result without a row.
        expected: How many requests are to be expected.
        progress: As given by the user.
    """
    chunks = [nothing]
    session = source.session
    size = _CHUNK if session.exchange.base_url.startswith("http") else _LARGE_CHUNK
    with session.working("requests", expected, lambda: pl.concat(chunks), progress) as advance:
        for chunk in units.iter_slices(size):
            rows = rows_of_chunk(chunk, advance)
            chunks.append(rows.select(nothing.columns))
    return pl.concat(chunks)


def _filed(source: Source, units: pl.DataFrame, wanted: Wanted, advance: Advance) -> pl.DataFrame:
    """Fetch the filings of units in the wanted years."""
    years = given_years(wanted.years)
    first_year = None if years is None else years[0]
    if first_year is not None and wanted.filed_until is not None:
        first_year = min(first_year, wanted.filed_until.year)  # whether anything was filed by then
    statements = _statements_of(source, units, first_year, advance)
    return filing_rules.by_rule(
        units, statements, years, consolidated=wanted.consolidated, filed_until=wanted.filed_until
    )


def _latest(
    source: Source, units: pl.DataFrame, wanted: Wanted, figures_of: _Figures, advance: Advance
) -> Latest:
    """Find the last years with figures of units: statement by statement, from the newest down.

    The filings of a year are known as those of `_statements_of` are.

    Args:
        source: What answers.
        units: Records of units, each once.
        wanted: What is wanted of them.
        figures_of: Returns the figures of filings.
        advance: Counts the requests.
    """
    latest, statements, until = Latest(units), KINDS["statements"].frame([]), wanted.filed_until
    while latest.open_ids.len():
        open_units = latest.open_units
        filed = filing_rules.by_rule(
            open_units, statements, None, consolidated=wanted.consolidated, filed_until=until
        )
        # Where no year is known yet, or figures of none that is, the way leads on down.
        years = dict.fromkeys(latest.open_ids, FIRST_YEAR)
        for unit_id, year in latest.newest(filed).iter_rows():
            years[unit_id] = year if until is None else min(year, until.year)
        way_down = filing_order.WayDown(filing_rules.held_by(open_units), years)
        way_down.add(filing_rules.known_of(statements))
        if (ids := way_down.next_ids()).len():
            statements = pl.concat([statements, _records(source, "statements", ids, advance)])
        elif (rows := latest.next_filings(filed)).height:
            their_units = units.filter(pl.col("id").is_in(rows["unit_id"].implode()))
            latest.add(rows, figures_of(their_units, rows, advance))
    return latest


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
