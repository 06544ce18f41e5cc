"""From units to figures: filings, their reports, and items by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.records import kept_records
from finstat_kit.client.methods.contents import form_lookup
from finstat_kit.client.methods.filings import Given, Year, by_chunks, plan, units_given, years_of
from finstat_kit.client.methods.templates import form
from finstat_kit.client.session import Session
from finstat_kit.errors import UsageError
from finstat_kit.frames.financials import assemble as assembling, content, items as reading
from finstat_kit.frames.reports.cells import CELLS, FormOf
from finstat_kit.progress import Advance
from finstat_kit.protocol.forms import form as forms
from finstat_kit.protocol.forms.form import Form
from finstat_kit.protocol.records.decode import KINDS


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
    columns = assembling.schema(reading.chosen(items)).names()

    def shape(figures: pl.DataFrame) -> pl.DataFrame:
        return assembling.with_own_items(figures) if items is None else figures.select(columns)

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
        return assembling.assembled(
            taken, chunk, choice.listed, figures, from_previous=from_previous
        )

    return by_chunks(
        session, records, years, finish, consolidated=consolidated, progress=progress, shape=shape
    )


def chosen(session: Session, filed: pl.DataFrame, advance: Advance) -> assembling.Choice:
    """Fetch the reports that show which filing of each unit and year is taken.

    Args:
        session: Of the register.
        filed: Result of `filings.by_rule`.
        advance: Counts the requests.
    """
    contents = content.Contents(form_lookup(session), live_forms(session), "total")
    choice = assembling.Choice(filed, KINDS["reports"].frame([]), contents.of_tables)
    while (ids := choice.wanted()).len():
        choice.add(kept_records("reports", ids, session))
        advance(ids.len())
    return choice


def live_forms(session: Session) -> FormOf:
    """Return a function that looks up the register's own form, else the package's."""

    def live(template: int) -> Form | None:
        return form(session, template) or forms.shipped(template)

    return live
