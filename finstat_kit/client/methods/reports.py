"""What reports contain: cells, sums, the form as it was filed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.client.source import Source
from finstat_kit.errors import warn
from finstat_kit.frames.financials.assemble import form_order
from finstat_kit.frames.reports import cells as report_cells, check_sums
from finstat_kit.frames.reports.check_sums import CHECKS
from finstat_kit.frames.reports.currency import CURRENCY_COLUMNS, EURO, of_reports
from finstat_kit.frames.reports.filed import Filed, as_filed, together
from finstat_kit.given_frames import Frame

_NO_NUMBER: Final = 'some reports gave no number; fk.reports.check(reports)["reasons"] lists why'
_NO_EURO: Final = 'some amounts are not in euro; fk.reports.check(reports)["reasons"] lists whose'


def cells(source: Source, reports: Frame, *, labels: bool, blanks: bool) -> Frame:
    """Read reports into tidy cells; see `Reports.cells`."""
    schema = report_cells.schema_of_cells(labels=labels)
    reader = report_cells.CellReader(source.shipped_first, labels=labels, blanks=blanks)
    warned: set[str] = set()

    def read(batch: pl.DataFrame) -> pl.DataFrame:
        cells, without = reader.read(batch)
        if _NO_NUMBER not in warned and report_cells.some_reports_lack_numbers(cells, without):
            warned.add(_NO_NUMBER)
            warn(_NO_NUMBER)
        foreign = batch.filter(of_reports(batch.schema) != EURO)["id"]
        if _NO_EURO not in warned and cells["report_id"].is_in(foreign.implode()).any():
            warned.add(_NO_EURO)
            warn(_NO_EURO)
        return cells

    return _read_in_batches(reports, schema, read, also=CURRENCY_COLUMNS)


def check(source: Source, reports: Frame) -> Frame:
    """Check the sums of reports; see `Reports.check`."""
    form_of = source.shipped_first
    return _read_in_batches(
        reports, CHECKS, lambda batch: check_sums.check(batch, form_of), also=CURRENCY_COLUMNS
    )


def reports_as_filed(
    source: Source,
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
        as_filed(one, source.shipped_first, lang=lang, filled=filled, title=title) for one in each
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


def _read_in_batches(
    reports: Frame,
    schema: pl.Schema,
    read: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    also: tuple[str, ...] = (),
) -> Frame:
    """Read a frame of reports: immediately, or batch by batch when it is collected.

    Args:
        reports: Records of reports.
        schema: The columns of the result.
        read: Reads records.
        also: Further columns that are read.
    """
    columns = report_cells.checked(reports)
    names = [name for name in (*report_cells.RECORD_COLUMNS, *also) if name in columns]
    if isinstance(reports, pl.DataFrame):
        return read(reports.lazy().select(names).collect())
    return reports.select(names).map_batches(read, schema=schema, streamable=True)
