"""A statement of one unit over years: the filings that count, and their reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.finding import one_unit
from finstat_kit.client.collections.records import kept_records
from finstat_kit.client.methods.contents import form_lookup
from finstat_kit.client.methods.filings import filings, units_given, years_of
from finstat_kit.client.methods.financials import chosen
from finstat_kit.client.session import Session
from finstat_kit.frames.financials import assemble
from finstat_kit.frames.financials.history import STATEMENTS, History, Statement, history
from finstat_kit.protocol.wire import MAX_ID

_FIRST_YEAR = 1990  # below it is a number of years


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
