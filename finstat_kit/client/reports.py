"""The reports of a register: their records, and what is in them: cells, sums, files."""

from __future__ import annotations

import os

import polars as pl

from finstat_kit.client import methods
from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.source import Allowance
from finstat_kit.frames.reports import attachments
from finstat_kit.given_frames import Frame
from finstat_kit.protocol import wire


class Documents(Collection):
    """A collection whose records have files: reports, annual reports."""

    def files(self, reports: Frame) -> Frame:
        """List the files of reports or annual reports. Sends no request; see `download`.

        Args:
            reports: Records, as `get` returns them; a LazyFrame stays lazy.

        Returns:
            One row per file, in the order of the records: ``report_id`` (Int64, the record's id),
            ``id`` (Int64, the file's), ``meno``, ``mimeType`` (String), ``velkostPrilohy`` (Int64,
            bytes), ``pocetStran`` (Int64, pages; 0 for real files too), ``digest`` (String, SHA-256
            in hexadecimal) and ``jazyk`` (String).

        Raises:
            UsageError: *reports* is not a frame of records with files.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> files = [{"id": 7, "meno": "notes.pdf"}, {"id": 8, "meno": "audit.pdf"}]
            >>> reports = pl.DataFrame({"id": [1, 2], "prilohy": [files, None]})
            >>> fk.reports.files(reports).select("report_id", "id", "meno").rows()
            [(1, 7, 'notes.pdf'), (1, 8, 'audit.pdf')]
        """
        return attachments.files(reports)

    def download(
        self,
        files: pl.DataFrame,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = wire.FILE_CAP,
        max_requests: int | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Download files of reports into a folder.

        From ``/domain/financialreport/attachment``, one request per file. A file that already
        exists with the right content is not requested again, so the same call resumes an
        interrupted download. Each file appears whole or not at all, and a failure does not stop
        the others.

        Args:
            files: What `files` returns.
            folder: Target folder; created if its parent exists. Names begin with the file's id
                and are sanitized.
            max_bytes: Maximum size of a file; one per connection is held in memory.
            max_requests: Maximum number of requests; None is 10,000 for a real host and no limit
                elsewhere.
            progress: Show a bar; None shows one for a real host on a terminal or in a notebook.

        Returns:
            One row per file: ``id`` (Int64), ``path`` (String, null if it failed), ``bytes``
            (Int64), ``checked`` (Boolean: its SHA-256 is that of its record), ``status`` (Enum
            ``downloaded``, ``kept``, ``failed``) and ``problem`` (String, null if there is
            none).

        Raises:
            UsageError: *files* is not such a frame, the folder cannot be created, or more
                than *max_requests* are needed.
            Interrupted: Ctrl-C; the rows so far are in ``.partial``.

        Example:
            >>> import finstat_kit as fk
            >>> import tempfile
            >>> with fk.using(fk.sample()), tempfile.TemporaryDirectory() as folder:
            ...     reports = fk.annual_reports.get(fk.annual_reports.ids(limit=2))
            ...     files = fk.annual_reports.files(reports)
            ...     fk.annual_reports.download(files, folder)["status"].to_list()
            ['downloaded', 'downloaded']
        """
        allowance = Allowance(max_requests, progress)
        return methods.downloads.download(self._source, files, folder, max_bytes, allowance)


class Reports(Documents):
    """The reports: records, and what is in them."""

    def cells(self, reports: Frame, *, labels: bool = False, blanks: bool = False) -> Frame:
        """Read reports into tidy cells: one row per filled cell.

        The key of a cell is template, table, row and column; printed numbers and designations
        repeat. The forms of businesses (699, 687, 21, 22), public bodies (690 and 727, 684 and
        696, 522 and 521) and non-profits (1180, 385, 1164, 383) come with the package; another
        template is requested once from ``/api/sablona``, when the first report of it is read. If
        the length of a table does not fit the template, that report gives no cells.

        Args:
            reports: Records, as `get` returns them; a LazyFrame stays lazy, is read in batches and
                needs little memory where the query streams.
            labels: Whether to add the captions of the rows.
            blanks: Whether blank cells have rows too; their value is null.

        Returns:
            In the order of the reports and of the form: ``report_id`` (Int64), ``template``
            (Int32), ``table``, ``row``, ``column`` (Int16, from 0), ``number`` (Int32, of the row
            as printed; null on forms without), ``period`` (Enum ``current``, ``previous``; null on
            forms without), ``measure`` (Enum ``gross``, ``correction``, ``net``, ``main``,
            ``business``, ``total``, ``untaxed``, ``taxed``, ``other``; null where the column has
            none) and ``value`` (Float64, in euro or the currency that the report names, or in
            korunas until 2008; exact to the cent below 10^13; null if the text filed is not a
            number). With *labels* also ``label_sk`` and ``label_en`` (String, as
            `template`).

        Raises:
            UsageError: *reports* is not a frame of reports.
            RegisterError: A template cannot be fetched.
            Interrupted: Ctrl-C while a template was requested.

        Warns:
            RegisterWarning: Once, if some reports gave no number, and once, if some amounts are
                not in euro; see ``reasons`` of `check`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [["5", "", "3", "7"], *[[""] * 4] * 77], [["9", ""]] * 67, [["1", ""]] * 61
            >>> report = {"id": 1, "idSablony": 699, "tabulky": [sum(t, []) for t in tables]}
            >>> with fk.using(fk.sample()):
            ...     cells = fk.reports.cells(pl.DataFrame([report]))
            >>> cells.filter(table=0).select("number", "period", "measure", "value").rows()
            [(1, 'current', 'gross', 5.0), (1, 'current', 'net', 3.0), (1, 'previous', 'net', 7.0)]
        """
        return methods.reports.cells(self._source, reports, labels=labels, blanks=blanks)

    def check(self, reports: Frame) -> Frame:
        """Check the sums that the captions of a form state, and the two sides of the balance.

        A few percent of filings fail: a filer's mistake, not an error of reading. The page
        "Statements and forms" says which mistakes are seen.

        Args:
            reports: Records, as `get` returns them; a LazyFrame stays lazy.

        Returns:
            One row per report, in order: ``report_id`` (Int64), ``template`` (Int32), ``checked``
            and ``failing`` (Int32: sums, each column of a row is one), the differences below,
            ``failures`` (List of Struct ``table``, ``row``, ``column``, ``number``, ``label_sk``,
            ``stated``, ``computed``; null where all hold) and ``reasons`` (List of
            Struct ``table`` Int16 and ``reason`` Enum: why the report, or one table of it,
            has no numbers; null if all have): ``deleted``, ``non_public``, ``unreadable`` (no
            record), ``attachments_only`` (files and no tables), ``no_content``,
            ``template_missing``, ``template_mismatch`` (another number of tables),
            ``no_tables_in_template``, ``length_mismatch`` (no number of the whole report is read),
            ``not_a_number`` (a filled cell is not a number; its value is null), ``all_blank``, or
            of a report with numbers ``other_currency`` (they are not in euro).

            The differences are in the currency of the report (Float64), null where a form or a
            frame has nothing to compare; only those of sums are counted in ``failing``:

            - ``largest_difference``: that of the sum that fails by most; 0 if all hold.
            - ``balance_difference``: total assets less equity and liabilities.

        Raises:
            UsageError, RegisterError, Interrupted: As `cells`.

        Example:
            >>> import finstat_kit as fk
            >>> import polars as pl
            >>> tables = [["7", ""] + [""] * 44, [""] * 44, [""] * 76]  # row 1 is rows 2 + 14
            >>> report = {"id": 1, "idSablony": 687, "tabulky": tables}
            >>> _ = fk.use(fk.sample())
            >>> checks = fk.reports.check(pl.DataFrame([report]))
            >>> checks.select("checked", "failing", "balance_difference").row(0)
            (2, 2, 7.0)
            >>> checks["failures"][0][0]["label_sk"]
            'SPOLU MAJETOK r. 02 + r. 14'
            >>> tables[2] = [""] * 75  # one cell short
            >>> fk.reports.check(pl.DataFrame([report]))["reasons"][0].to_list()
            [{'table': 2, 'reason': 'length_mismatch'}]
        """
        return methods.reports.check(self._source, reports)
