"""From units to figures: filings, their reports, items by name, and one statement over years."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.collection import one_unit
from finstat_kit.client.collections.records import kept_records
from finstat_kit.client.methods.contents import form, form_lookup
from finstat_kit.client.methods.filings import (
    Given,
    Year,
    by_chunks,
    filings,
    plan,
    units_given,
    years_of,
)
from finstat_kit.client.session import Session
from finstat_kit.errors import UsageError
from finstat_kit.frames.financials import (
    assemble,
    content,
    items as reading,
)
from finstat_kit.frames.financials.history import STATEMENTS, History, Statement, history
from finstat_kit.frames.reports.cells import CELLS, FormOf
from finstat_kit.progress import Advance
from finstat_kit.protocol.forms import form as forms
from finstat_kit.protocol.forms.form import Form
from finstat_kit.protocol.records.decode import KINDS
from finstat_kit.protocol.wire import MAX_ID

_FIRST_YEAR = 1990  # below it is a number of years


def items(
    session: Session, frame: pl.DataFrame | pl.LazyFrame | None, activity: reading.Activity
) -> pl.DataFrame:
    """Read named line items out of cells, or list the items; see `Register.items`."""
    arguments.one_of("activity", activity, get_args(reading.Activity))
    if frame is None:
        return reading.listed()
    frame = arguments.collected("frame", frame)
    absent = [name for name in CELLS if name not in frame.columns]
    if absent:
        raise UsageError(
            f": no column {absent[0]!r}", argument="frame", cure="give what fk.cells returns"
        )
    return reading.items_of(frame, live_forms(session), activity)


def financials(
    session: Session,
    units: Given,
    year: Year,
    *,
    ico: str | None,
    consolidated: bool,
    from_previous: bool,
    items: str | Sequence[str] | None,
    activity: reading.Activity,
    dry_run: bool,
    max_requests: int | None,
    progress: bool | None,
) -> pl.DataFrame:
    """Return the figures of units; see `Register.financials`."""
    years = years_of(year)
    arguments.one_of("activity", activity, get_args(reading.Activity))
    columns = assemble.schema(reading.chosen(items)).names()

    def shape(figures: pl.DataFrame) -> pl.DataFrame:
        return assemble.with_own_items(figures) if items is None else figures.select(columns)

    if dry_run:
        return plan(session, units, year, ico)
    records = units_given(session, units, ico, years, max_requests)
    if session.copy is not None:
        figures = session.copy.figures(
            records, years, consolidated=consolidated, from_previous=from_previous,
            activity=activity,
        )  # fmt: skip
        return shape(figures)

    def finish(chunk: pl.DataFrame, filed: pl.DataFrame, advance: Advance) -> pl.DataFrame:
        choice = chosen(session, filed, advance)
        taken = choice.taken()
        figures = choice.content
        if activity != "total":  # which filing is taken does not depend on it
            contents = content.Contents(form_lookup(session), live_forms(session), activity)
            figures = contents.of_tables(choice.reports)
        return assemble.assembled(taken, chunk, choice.listed, figures, from_previous=from_previous)

    return by_chunks(
        session, records, years, finish, consolidated=consolidated, progress=progress, shape=shape
    )


def chosen(session: Session, filed: pl.DataFrame, advance: Advance) -> assemble.Choice:
    """Fetch the reports that show which filing of each unit and year is taken.

    Args:
        session: Of the register.
        filed: Result of `filings.by_rule`.
        advance: Counts the requests.
    """
    contents = content.Contents(form_lookup(session), live_forms(session), "total")
    choice = assemble.Choice(filed, KINDS["reports"].frame([]), contents.of_tables)
    while (ids := choice.wanted()).len():
        choice.add(kept_records("reports", ids, session))
        advance(ids.len())
    return choice


def live_forms(session: Session) -> FormOf:
    """Return a function that looks up the register's own form, else the package's."""

    def live(template: int) -> Form | None:
        return form(session, template) or forms.shipped(template)

    return live


def statement_history(
    session: Session,
    unit: int | pl.DataFrame | pl.LazyFrame,
    years: int | Iterable[int] | None,
    table: Statement,
    *,
    blanks: bool,
    lang: arguments.Lang,
    source: str,
) -> History:
    """Return a statement over years; see `Register.statement_history`."""
    arguments.one_of("table", table, STATEMENTS)
    newest = None
    if isinstance(years, int) and years < _FIRST_YEAR:
        newest, years = arguments.whole("years", years, 1, 100), None
    wanted = years_of(years, "years")
    record = _one(session, unit)
    filed = filings(
        session, record, wanted, ico=None, consolidated=False, max_requests=None, progress=None
    )
    if newest is not None:
        wanted = filed.drop_nulls("year")["year"].unique().sort().tail(newest).to_list() or None
    if wanted is not None:
        filed = filed.filter(pl.col("year").is_in(wanted))
    figures, listed = by_year(session, record, filed, wanted)
    return history(
        record.row(0, named=True), figures, listed, form_lookup(session), table,
        source=source, blanks=blanks, lang=lang,
    )  # fmt: skip


def by_year(
    session: Session, unit: pl.DataFrame, filed: pl.DataFrame, years: Sequence[int] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the figures of a unit, as of `financials`, and the reports that they are read from.

    Args:
        session: Of the register.
        unit: Its record.
        filed: Its filings in these years, as `filings` returns them.
        years: None is every year.
    """
    if session.copy is None:
        choice = chosen(session, filed, lambda n: None)
        taken, listed = choice.taken(), choice.listed
        return assemble.assembled(taken, unit, listed, choice.content, from_previous=False), listed
    figures = session.copy.figures(
        unit, years, consolidated=False, from_previous=False, activity="total"
    )
    taken = filed.join(figures, on="statement_id", how="semi")
    ids = assemble.report_ids(taken)
    reports = kept_records("reports", ids["report_id"].unique(maintain_order=True), session)
    return figures, assemble.listed_reports(ids, reports)


def _one(session: Session, unit: int | pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    if not isinstance(unit, pl.DataFrame | pl.LazyFrame):
        unit = arguments.whole("unit", unit, 0, MAX_ID)
    return one_unit(units_given(session, unit, None, None, None), "unit")
