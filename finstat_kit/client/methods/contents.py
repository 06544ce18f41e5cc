"""The content of reports: their cells, failing sums, and the form as it was filed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final, TypeVar

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.methods.downloads import download
from finstat_kit.client.methods.templates import Templates
from finstat_kit.errors import Interrupted, UsageError, warn
from finstat_kit.frames import cells as reading, reasons
from finstat_kit.frames.as_filed import Filed, as_filed
from finstat_kit.frames.check_sums import CHECKS, check
from finstat_kit.protocol import forms, wire
from finstat_kit.protocol.forms import Form
from finstat_kit.transport.threads import heeding_interrupts

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

_WITHOUT: Final = (
    "some reports gave no number; fk.reports_without_cells(reports) lists them with the reasons"
)


class Contents(Templates):
    """The names of a register that read reports.

    All work on frames of records as `reports.get` returns them, with no second request for them.
    """

    def _language(self, lang: Lang | None) -> Lang:
        """Return the language of an argument; None is the register's."""
        raise NotImplementedError

    def cells(self, reports: Frame, *, labels: bool = False, blanks: bool = False) -> Frame:
        """Read reports into tidy cells: one row per filled cell.

        The key of a cell is template, table, row and column; printed numbers and designations
        repeat. The forms of businesses (699, 687, 21, 22) come with the package; another template
        is requested once from ``/api/sablona``, when the first report of it is read. Where the
        length of a table does not fit the template, no number of that report comes out.

        Args:
            reports: Records, as `reports.get` returns them; a LazyFrame stays lazy, is read in
                batches and needs little memory where the query streams.
            labels: Add the captions of the rows.
            blanks: Give a row to blank cells too; their value is null.

        Returns:
            In the order of the reports and of the form: ``report_id`` (Int64), ``template``
            (Int32), ``table``, ``row``, ``column`` (Int16, from 0), ``number`` (Int32, of the row
            as printed; null on forms without), ``period`` (Enum ``current``, ``previous``; null on
            forms without), ``measure`` (Enum ``gross``, ``correction``, ``net``, ``main``,
            ``business``, ``total``, ``untaxed``, ``taxed``, ``other``; null where the column has
            none) and ``value`` (Float64, euro; exact to the cent below 10^13; null where what was
            filed is no number). With *labels* also ``label_sk`` and ``label_en`` (String, English
            where the register has it).

        Raises:
            UsageError: No frame of reports, or a template has to be requested and no register is
                chosen.
            RegisterError: A template cannot be fetched.
            Interrupted: Ctrl-C while a template was requested.

        Warns:
            UserWarning: Once, if some reports gave no number; see `reports_without_cells`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [["5", "", "3", "7"], *[[""] * 4] * 77], [["9", ""]] * 67, [["1", ""]] * 61
            >>> report = {"id": 1, "idSablony": 699, "tabulky": [sum(t, []) for t in tables]}
            >>> assets = fk.cells(pl.DataFrame([report])).filter(table=0)
            >>> assets.select("number", "period", "measure", "value").rows()
            [(1, 'current', 'gross', 5.0), (1, 'current', 'net', 3.0), (1, 'previous', 'net', 7.0)]
        """
        schema = reading.schema_of_cells(labels=labels)
        reader = reading.Reader(self._forms_at_call(), labels=labels, blanks=blanks)
        warned = threading.Event()

        def read(batch: pl.DataFrame) -> pl.DataFrame:
            found, without = reader.read(batch)
            if not warned.is_set() and reading.some_reports_lack_numbers(found, without):
                warned.set()
                warn(_WITHOUT)
            return found

        return _over(reports, schema, read)

    def reports_without_cells(self, reports: Frame) -> Frame:
        """List the reports and tables that gave no number, each with the first reason that applies.

        Args:
            reports: Records, as `reports.get` returns them; a LazyFrame stays lazy.

        Returns:
            In the order of the reports: ``report_id`` (Int64), ``table`` (Int16, null where the
            reason is the whole report's) and ``reason`` (Enum): ``deleted``, ``non_public``,
            ``unreadable`` (no record), ``attachments_only`` (files and no tables), ``no_content``,
            ``template_missing``, ``template_mismatch`` (another number of tables),
            ``no_tables_in_template``, ``length_mismatch`` (no number of the whole report is read),
            ``not_a_number`` (a filled cell is none; its value is null) or ``all_blank``.

        Raises:
            UsageError, RegisterError, Interrupted: As `cells`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [[""] * 46, [""] * 44, [""] * 75]  # the last is one cell short
            >>> report = {"id": 1, "idSablony": 687, "tabulky": tables}
            >>> fk.reports_without_cells(pl.DataFrame([report])).rows()
            [(1, 2, 'length_mismatch')]
        """
        reader = reading.Reader(self._forms_at_call())
        return _over(reports, reasons.WITHOUT, lambda batch: reader.read(batch)[1])

    def check_reports(self, reports: Frame) -> Frame:
        """Check the sums that a form states in its captions on each report, in every column.

        A blank addend counts as 0; a sum of nothing but blanks is not checked. A few in a hundred
        filings fail: a filer's slip, not an error of reading.

        Args:
            reports: Records, as `reports.get` returns them; a LazyFrame stays lazy.

        Returns:
            One row per report, in order: ``report_id`` (Int64), ``template`` (Int32),
            ``checked``, ``failing`` (Int32: sums), ``balance_difference`` (Float64, euro: total
            assets less equity and liabilities; null on forms without both), ``failures`` (List of
            Struct ``table``, ``row``, ``column``, ``number``, ``label_sk``, ``stated``,
            ``computed``; null where all hold) and ``reasons`` (List of Enum, as
            `reports_without_cells` gives them; null where there are none).

        Raises:
            UsageError, RegisterError, Interrupted: As `cells`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [["7", ""] + [""] * 44, [""] * 44, [""] * 76]  # row 1 is rows 2 + 14
            >>> report = {"id": 1, "idSablony": 687, "tabulky": tables}
            >>> checks = fk.check_reports(pl.DataFrame([report]))
            >>> checks.select("checked", "failing", "balance_difference").row(0)
            (2, 2, 7.0)
            >>> checks["failures"][0][0]["label_sk"]
            'SPOLU MAJETOK r. 02 + r. 14'
        """
        form_of = self._forms_at_call()
        return _over(reports, CHECKS, lambda batch: check(batch, form_of))

    def as_filed(
        self,
        report: pl.DataFrame | pl.LazyFrame,
        *,
        lang: Lang | None = None,
        filled: bool = False,
        title: bool | None = None,
    ) -> Filed:
        r"""Show one report as people know the form: its rows in order, its columns side by side.

        Args:
            report: One record, as `reports.get` returns it.
            lang: ``"sk"`` or ``"en"``; None is the register's own. Where the register has no
                English caption the Slovak one stands, marked ``[sk]``.
            filled: Only rows with a filled cell.
            title: Whether the title page is shown; None leaves out that of a natural person.

        Returns:
            A `Filed`: text where it is printed, a table in Jupyter. In euro, as filed; a report
            without numbers shows why.

        Raises:
            UsageError: Not one report.
            RegisterError, Interrupted: As `cells`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [["1250", "", *[""] * 44], [""] * 44, [""] * 76]
            >>> report = pl.DataFrame([{"id": 5, "idSablony": 687, "tabulky": tables}])
            >>> fk.as_filed(report, lang="sk", filled=True).parts[0].lines[0].values
            ['1\xa0250', '']
        """
        return as_filed(
            report, self._forms_at_call(), lang=self._language(lang), filled=filled, title=title
        )

    def download(
        self,
        attachments: pl.DataFrame,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = wire.FILE_CAP,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Download files of reports into a folder.

        From ``/domain/financialreport/attachment``, one request per file. A file that is there and
        right is not requested again, so an interrupted download resumes by the same call; each
        appears whole or not at all, and one that fails does not stop the others.

        Args:
            attachments: What `attachments` returns.
            folder: Where to; it is made if its parent is there. Names begin with the file's id
                and are made safe.
            max_bytes: No file larger than this; one per connection is held in memory.
            max_requests: Maximum number of requests; None is 10,000 for a real host and no limit
                elsewhere.
            progress: Show a bar; None shows one for a real host on a terminal or in a notebook.

        Returns:
            One row per file: ``id`` (Int64), ``path`` (String, null where it failed), ``bytes``
            (Int64), ``checked`` (Boolean: its SHA-256 is that of its record), ``status`` (Enum
            ``downloaded``, ``kept``, ``failed``) and ``problem`` (String, null where there is
            none).

        Raises:
            UsageError: No such frame, no place for the folder, or more than *max_requests*.
            Interrupted: Ctrl-C; the rows so far are in ``.partial``.

        Example:
            >>> import finstat_kit as fk
            >>> import tempfile
            >>> with fk.using(fk.sample()), tempfile.TemporaryDirectory() as folder:
            ...     reports = fk.annual_reports.get(fk.annual_reports.ids(limit=2))
            ...     fk.download(fk.attachments(reports), folder)["status"].to_list()
            ['downloaded', 'downloaded']
        """
        return download(
            attachments,
            folder,
            self._now()._own_session(),
            max_bytes=arguments.whole("max_bytes", max_bytes, 1, 2**31),
            max_requests=max_requests,
            progress=progress,
        )

    def _forms_at_call(self) -> reading.FormOf:
        """Return what looks a form up: in the package, else in the register current now."""
        none: UsageError | None = None
        try:
            now = self._now()
        except UsageError as error:  # reports of the forms that the package has need no register
            none = error

        def form_of(template: int) -> Form | None:
            own = forms.shipped(template)
            if own is not None:
                return own
            if none is not None:
                raise UsageError(f"template {template} has to be requested: {none}")

            def fetch(stop: threading.Event) -> Iterator[tuple[Form | None]]:
                yield (now._form(template, refresh=False, stop=stop),)

            try:
                with closing(heeding_interrupts(fetch)) as fetched:
                    (found,) = next(fetched)
            except KeyboardInterrupt as interrupt:
                raise _interrupted(template) from interrupt
            return found

        return form_of


def _interrupted(template: int | None = None) -> Interrupted:
    what = "cells were read" if template is None else f"template {template} was requested"
    return Interrupted(f"interrupted while {what}; nothing is kept of the reports read before")


def _over(reports: Frame, schema: pl.Schema, read: Callable[[pl.DataFrame], pl.DataFrame]) -> Frame:
    """Read a frame of reports: at once, or batch by batch when it is collected."""
    columns = reading.checked(reports)
    if isinstance(reports, pl.DataFrame):
        return read(reports.lazy().select(n for n in reasons.READ if n in columns).collect())
    narrow = reports.select(name for name in reasons.READ if name in columns)
    return _interruptible(narrow.map_batches(read, schema=schema, streamable=True))


def _interruptible(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Make a LazyFrame, and what is derived from it, raise `Interrupted` at Ctrl-C.

    A scan of a register has its own way, which keeps the rows before it.
    """
    if type(frame) is not pl.LazyFrame:
        return frame

    class Read(pl.LazyFrame):
        # Whatever polars takes and returns: its arguments differ from version to version.
        def collect(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            try:
                try:
                    return super().collect(*arguments, **options)
                except KeyboardInterrupt:
                    time.sleep(0)  # Python raises the same Ctrl-C once more, here
                    raise
            except Interrupted:
                raise
            except KeyboardInterrupt as interrupt:
                raise _interrupted() from interrupt

    return Read._from_pyldf(frame._ldf)
