"""The forms of a register, each fetched once, and the content of reports: cells, sums, as filed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Frame, Lang
from finstat_kit.client.collections.scan import collected_within
from finstat_kit.client.session import Session
from finstat_kit.errors import Either, NotFound, holding, warn
from finstat_kit.frames.financials.assemble import form_order
from finstat_kit.frames.reports import cells as reading, templates as frames
from finstat_kit.frames.reports.check_sums import CHECKS, COMPARED_COLUMNS, check
from finstat_kit.frames.reports.filed import Filed, as_filed, together
from finstat_kit.protocol import forms, requests
from finstat_kit.protocol.forms import Form
from finstat_kit.transport.threads import heeding_interrupts

_NO_NUMBER: Final = 'some reports gave no number; fk.check_reports(reports)["reasons"] lists why'
_LARGEST_TEMPLATE: Final = 2**31 - 1  # the largest value of a column `template`


def cells(session: Session, reports: Frame, *, labels: bool, blanks: bool) -> Frame:
    """Read reports into tidy cells; see `Register.cells`."""
    schema = reading.schema_of_cells(labels=labels)
    reader = reading.Reader(form_lookup(session), labels=labels, blanks=blanks)
    warned = threading.Event()

    def read(batch: pl.DataFrame) -> pl.DataFrame:
        cells, without = reader.read(batch)
        if not warned.is_set() and reading.some_reports_lack_numbers(cells, without):
            warned.set()
            warn(_NO_NUMBER)
        return cells

    return _over(reports, schema, read)


def check_reports(session: Session, reports: Frame) -> Frame:
    """Check the sums of reports; see `Register.check_reports`."""
    form_of = form_lookup(session)
    return _over(reports, CHECKS, lambda batch: check(batch, form_of), together=COMPARED_COLUMNS)


def as_printed(
    session: Session,
    report: pl.DataFrame | pl.LazyFrame,
    *,
    lang: Lang,
    filled: bool,
    title: bool | None,
) -> Filed:
    """Return the reports of one statement laid out as their forms; see `Register.as_filed`."""
    reports = report.collect() if isinstance(report, pl.LazyFrame) else report
    each = [reports]
    if _are_of_one_statement(reports):
        each = list(reports.sort(form_order(), nulls_last=True, maintain_order=True).iter_slices(1))
    forms = [
        as_filed(one, form_lookup(session), lang=lang, filled=filled, title=title) for one in each
    ]
    return together(forms)


def _are_of_one_statement(reports: object) -> bool:
    return (
        isinstance(reports, pl.DataFrame)
        and reports.height > 1
        and {"idUctovnejZavierky", "idSablony"} <= {*reports.columns}
        and reports["idUctovnejZavierky"].null_count() == 0
        and reports["idUctovnejZavierky"].n_unique() == 1
    )


def form_lookup(session: Session) -> reading.FormOf:
    """Return a function that looks a form up: in the package, else in the register."""

    def form_of(template: int) -> Form | None:
        shipped = forms.shipped(template)
        if shipped is not None:
            return shipped

        def fetch(stop: threading.Event) -> Iterator[tuple[Form | None]]:
            yield (fetched_form(session, template, stop=stop),)

        text = (
            f"interrupted while template {template} was requested; the reports read before it are "
            "lost"
        )
        with holding(lambda: None, lambda: text), closing(heeding_interrupts(fetch)) as fetched:
            (requested,) = next(fetched)
        return requested

    return form_of


def _over(
    reports: Frame,
    schema: pl.Schema,
    read: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    together: tuple[str, ...] = (),
) -> Frame:
    """Read a frame of reports: immediately, or batch by batch when it is collected.

    Args:
        reports: Records of reports.
        schema: The columns of the result.
        read: Reads records.
        together: Further columns, by which reports are compared: not in batches.
    """
    columns = reading.checked(reports)
    names = [name for name in (*reading.RECORD_COLUMNS, *together) if name in columns]
    if isinstance(reports, pl.DataFrame):
        return read(reports.lazy().select(names).collect())
    text = "interrupted while cells were read; the reports read before are lost"
    read_lazily = reports.select(names).map_batches(read, schema=schema, streamable=not together)
    # A scan of a register keeps the rows before an interruption by itself.
    if type(reports) is not pl.LazyFrame:
        return read_lazily
    return collected_within(read_lazily, lambda: holding(lambda: None, lambda: text))


def fetched_form(
    session: Session, template: int, *, refresh: bool = False, stop: threading.Event | None = None
) -> Form | None:
    """Return a form, None where the register has no template of that id.

    Threads that need the same form wait for the one that requests it.
    """
    if session.copy is not None and (copied := session.copy.form(template)) is not None:
        return copied
    forms = session.fetched.forms
    with session.fetched.lock:
        if template not in forms or refresh:
            try:
                request = requests.template(template)
                forms[template] = session.cached_for_the_day(request, stop, refresh=refresh)
            except NotFound:
                forms[template] = None
        return forms[template]


def listed_templates(session: Session, *, refresh: bool) -> pl.DataFrame:
    """Return a row for each template; see `Register.templates`."""
    fetched = session.fetched
    with fetched.lock:
        if fetched.listed_forms is None or refresh:
            fetched.listed_forms, with_tables = session.cached_for_the_day(
                requests.templates(), refresh=refresh
            )
            if with_tables:
                fetched.forms |= {form.id: form for form in fetched.listed_forms}
        rows = []
        for listed_form in fetched.listed_forms:
            whole = fetched.forms.get(listed_form.id)
            rows.append((whole or listed_form, whole is not None))
    return frames.listed(rows)


def template_part(session: Session, template: int, part: str, *, refresh: bool) -> pl.DataFrame:
    """Return the rows or the columns of a form; see `Register.template`."""
    template = arguments.whole("template", template, 0, _LARGEST_TEMPLATE)
    requested = fetched_form(session, template, refresh=refresh)
    if requested is None:
        raise NotFound(
            f"the register has no template {template}",
            cure=Either("fk.templates() lists those it has"),
            ids=[template],
        )
    return frames.rows_of(requested) if part == "rows" else frames.columns_of(requested)
